"""How each server is started over lineitem, and how it is asked. It must not measure anything."""

import contextlib
import socket
from dataclasses import dataclass, field
from pathlib import Path

from .. import lineitem
from ..children import Server, python
from . import fulmar

# The bare server loads all of lineitem first, and so does one of the others.
START_SECONDS = 120


@dataclass
class Serving:
    """A server that answers: for `adbc` statements over `table`, or `flight` for its one stream."""

    uri: str
    server: Server
    table: str = "lineitem"
    client: str = "adbc"
    beside: dict = field(default_factory=dict)


@dataclass(frozen=True)
class Place:
    """Where programs and files are."""

    fulmar: Path
    peers: Path | None
    tpch: Path
    scratch: Path


@contextlib.contextmanager
def bare(place):
    with Server(python("flight.bare", lineitem.one_file(place.tpch)), place.scratch / "log") as server:
        port = server.wait_until(lambda: server.log.read_text().strip(), START_SECONDS)
        yield Serving(f"grpc://127.0.0.1:{port.splitlines()[-1]}", server, client="flight")


@contextlib.contextmanager
def fulmar_one_file(place):
    folder = lineitem.one_file(place.tpch).parent
    with fulmar.services(place.fulmar, place.scratch, folder) as (uri, server, beside):
        yield Serving(uri, server, beside=beside)


@contextlib.contextmanager
def fulmar_many_files(place):
    folder = lineitem.by_month(place.tpch)
    with fulmar.services(place.fulmar, place.scratch, folder) as (uri, server, beside):
        yield Serving(uri, server, beside=beside)


@contextlib.contextmanager
def sail(place):
    port = free_port()
    command = [place.peers / "sail", "flight", "server", "--ip", "127.0.0.1", "--port", port]
    with listening(command, port, place) as server:
        yield Serving(f"grpc://127.0.0.1:{port}", server, f"parquet.`{lineitem.one_file(place.tpch)}`")


@contextlib.contextmanager
def roapi(place, options=""):
    port = free_port()
    addresses = [("flight-sql", port), ("http", free_port()), ("postgres", free_port())]
    command = [place.peers / "roapi", "--table", f"lineitem={lineitem.one_file(place.tpch)},format=parquet{options}"]
    command += [word for name, at in addresses for word in (f"--addr-{name}", f"127.0.0.1:{at}")]
    with listening(command, port, place) as server:
        yield Serving(f"grpc://127.0.0.1:{port}", server)


def roapi_file(place):
    return roapi(place, ",use_memory_table=false")


@contextlib.contextmanager
def listening(command, port, place):
    """A program that is ready when its port is."""

    def connected():
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return True

    with Server(command, place.scratch / "log") as server:
        server.wait_until(connected, START_SECONDS)
        yield server


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


# By name: how it is started and what it is called; the last two come from packages of their own.
OURS = {"fulmar": (fulmar_one_file, "Fulmar"), "fulmar-files": (fulmar_many_files, "Fulmar, 84 files")}
PEERS = {
    "sail": (sail, "Sail"),
    "roapi": (roapi, "ROAPI, table in memory"),
    "roapi-file": (roapi_file, "ROAPI, from the file"),
}
SERVERS = {"bare": (bare, "bare pyarrow.flight, table in memory"), **OURS, **PEERS}
