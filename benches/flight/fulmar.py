"""Catalog, one Flight server and planner, each a process of its own, so that their memory is told apart."""

import contextlib
import pathlib
import secrets
import subprocess

from ..children import Server
from ..failure import Failure, last_line

START_SECONDS = 60
STATEMENT_SECONDS = 120


@contextlib.contextmanager
def services(binary, folder, lineitem):
    """(uri of the planner, Flight server, others by name) over a folder of Parquet files as the table `lineitem`."""
    folder = pathlib.Path(folder)
    keys = folder / "keys"
    keys.write_text(f"key-1:{secrets.token_hex(32)}")
    keys.chmod(0o600)
    with contextlib.ExitStack() as stack:
        start = lambda name, *flags: stack.enter_context(service(binary, folder, name, flags))  # noqa: E731
        catalog, at = start("catalog", "--database", folder / "catalog.db", "--warehouse", folder / "warehouse")
        shared = ["--catalog", f"http://{at}", "--ticket-keys-file", keys]
        flight, at = start("flight-server", *shared)
        planner, at = start("planner", *shared, "--flight-servers", f"http://{at}")
        uri = f"grpc://{at}"
        statement(binary, uri, f"CREATE EXTERNAL TABLE lineitem STORED AS PARQUET LOCATION '{lineitem}'")
        yield uri, flight, {"planner": planner, "catalog": catalog}


@contextlib.contextmanager
def service(binary, folder, name, flags):
    """A service on a free port, and its address."""
    address = folder / f"{name}.address"
    command = [binary, name, "--listen", "127.0.0.1:0", "--address-file", address, *flags]
    with Server(command, folder / f"{name}.log") as server:
        read = lambda: address.exists() and address.read_text().strip()  # noqa: E731
        yield server, server.wait_until(read, START_SECONDS).split("://")[-1]


def statement(binary, uri, sql):
    """Runs a statement to its end."""
    done = subprocess.run(
        [binary, "sql", "--planner", uri, sql], capture_output=True, text=True, timeout=STATEMENT_SECONDS
    )
    if done.returncode:
        raise Failure(f"{sql}: {last_line(done.stderr, 'no reason')}")
