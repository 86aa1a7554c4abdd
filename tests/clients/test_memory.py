"""What a Flight server's memory is bounded by: not by the size of files, and not by clients that stop reading.

The services run apart, so that the process that is measured does nothing else.
"""

import contextlib
import os
import pathlib
import re
import subprocess
import threading
import time

import adbc_driver_flightsql.dbapi
import numpy
import pyarrow
import pyarrow.parquet
import pytest

from local_server import own_environment

MIB = 1024 * 1024
START_SECONDS, STOP_SECONDS = 60, 40
KEY = "test:" + "5a" * 16
CLIENTS = 64

pytestmark = pytest.mark.skipif(not pathlib.Path("/proc/self/status").exists(), reason="memory is read from /proc")


class FlightServer:
    """A Flight server with a catalog and a planner of its own."""

    def __init__(self, pid, uri):
        self.pid, self.uri = pid, uri
        self.idle = self.memory("VmRSS")

    def memory(self, which):
        status = pathlib.Path(f"/proc/{self.pid}/status").read_text()
        return int(re.search(rf"{which}:\s+(\d+) kB", status)[1]) * 1024

    def above_idle(self):
        """The most that it occupied so far, beyond what it did before the first query."""
        return self.memory("VmHWM") - self.idle

    def connect(self):
        return adbc_driver_flightsql.dbapi.connect(self.uri, autocommit=True)


@contextlib.contextmanager
def service(binary, folder, name, *flags):
    """A service until the end of the block; the value is its process and its address."""
    address = folder / f"{name}.address"
    words = [binary, name, "--listen", "127.0.0.1:0", "--address-file", address, *flags]
    environment = own_environment() | {"FULMAR_TICKET_KEYS": KEY}
    with open(folder / f"{name}.log", "w") as log:
        child = subprocess.Popen([*map(str, words)], env=environment, stdout=log, stderr=subprocess.STDOUT)
        try:
            deadline = time.monotonic() + START_SECONDS
            while not (address.exists() and address.read_text().strip()):
                assert child.poll() is None and time.monotonic() < deadline, (folder / f"{name}.log").read_text()
                time.sleep(0.02)
            yield child, "http://" + address.read_text().strip().split("://")[-1]
        finally:
            child.terminate()
            child.wait(STOP_SECONDS)


@contextlib.contextmanager
def flight_server(binary, folder, *flags):
    with contextlib.ExitStack() as services:
        start = lambda *words: services.enter_context(service(binary, folder, *words))  # noqa: E731
        _, catalog = start("catalog", "--database", folder / "catalog.db", "--warehouse", folder / "warehouse")
        child, address = start("flight-server", "--catalog", catalog, *flags)
        _, planner = start("planner", "--catalog", catalog, "--flight-servers", address)
        yield FlightServer(child.pid, planner.replace("http", "grpc"))


def random_table(path, rows, columns, page_index=True):
    """A file of one row group, which no encoding makes small."""
    random = numpy.random.default_rng(7)
    numbers = {f"c{number}": random.integers(0, 2**62, rows) for number in range(columns)}
    path.parent.mkdir()
    pyarrow.parquet.write_table(
        pyarrow.table(numbers), path, row_group_size=rows, write_page_index=page_index, use_dictionary=False
    )
    return path.stat().st_size


def create(server, name, folder):
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute(f"CREATE EXTERNAL TABLE {name} STORED AS PARQUET LOCATION '{folder}'")
        cursor.fetchall()


@pytest.mark.parametrize("page_index", [True, False], ids=["page index", "no page index"])
def test_a_large_file_of_one_row_group_is_streamed_in_bounded_memory(binary, tmp_path, page_index):
    size = random_table(tmp_path / "numbers" / "part-0.parquet", 10_000_000, 6, page_index)
    assert size > 400 * MIB
    with flight_server(binary, tmp_path) as server:
        create(server, "numbers", tmp_path / "numbers")
        with server.connect() as connection, connection.cursor() as cursor:
            cursor.execute("SELECT * FROM numbers")
            rows = sum(batch.num_rows for batch in cursor.fetch_record_batch())
        assert rows == 10_000_000
        assert server.above_idle() < 256 * MIB


def test_many_clients_half_of_whom_stop_reading_share_the_memory_that_is_set(binary, tmp_path):
    random_table(tmp_path / "numbers" / "part-0.parquet", 500_000, 6)
    with flight_server(binary, tmp_path, "--memory-limit", "256MiB", "--max-tickets", CLIENTS // 2) as server:
        create(server, "numbers", tmp_path / "numbers")
        readers_are_done, results = threading.Event(), {}

        def read(number, stops):
            with server.connect() as connection, connection.cursor() as cursor:
                cursor.execute("SELECT * FROM numbers")
                batches = cursor.fetch_record_batch()
                rows = batches.read_next_batch().num_rows
                if stops:
                    assert readers_are_done.wait(300)
                results[number] = rows + sum(batch.num_rows for batch in batches)

        def all_of(numbers, stops):
            threads = [threading.Thread(target=read, args=(number, stops)) for number in numbers]
            for thread in threads:
                thread.start()
            return threads

        stopped = all_of(range(0, CLIENTS, 2), True)
        for thread in all_of(range(1, CLIENTS, 2), False):
            thread.join()
        assert len(results) == CLIENTS // 2
        readers_are_done.set()
        for thread in stopped:
            thread.join()
        assert set(results.values()) == {500_000} and len(results) == CLIENTS
        assert server.above_idle() < 256 * MIB


def test_too_little_memory_for_the_tickets_is_refused_at_the_start(binary, tmp_path):
    words = [binary, "flight-server", "--listen", "127.0.0.1:0", "--memory-limit", "64MiB"]
    environment = {**os.environ, "FULMAR_TICKET_KEYS": KEY}
    out = subprocess.run(words, capture_output=True, text=True, timeout=60, env=environment)
    assert out.returncode == 2
    assert "--memory-limit: 64 tickets at once need at least 448 MiB (see --max-tickets)" in out.stderr
