"""What a scan asks an object store for, counted by the store, at a size where it matters: two million orders.

Services are cold and the catalog is warm: it has seen the files, and no Flight server has. The report of each ticket
must agree with what the store has counted.
"""

import contextlib
import shutil
import sqlite3
import subprocess
import time
from dataclasses import dataclass, field

import adbc_driver_flightsql.dbapi
import pytest

from conftest import FORTNIGHT
from counting_store import CountingStore
from local_server import LocalServer

ROWS = 2_000_000
KINDS = ["orders-by-month", "orders-sorted", "orders-shuffled", "orders-paged", "orders-paged-dictionary", "orders-bloom"]
POINT = "SELECT order_id, customer_id, amount FROM {} WHERE order_id = 1234000"


@pytest.fixture(scope="module")
def lake(binary, tmp_path_factory):
    """The tables in a bucket, with the state of a catalog that knows them."""
    folder = tmp_path_factory.mktemp("scan-counts")
    made = [
        subprocess.Popen([binary, "fixtures", "--kind", kind, "--rows", str(ROWS), folder / "lake" / named(kind)])
        for kind in KINDS
    ]
    assert [child.wait(300) for child in made] == [0] * len(KINDS)
    with CountingStore(folder) as store, pytest.MonkeyPatch.context() as patch:
        for name, value in store.environment.items():
            patch.setenv(name, value)
        with LocalServer(binary, "s3://lake", folder / "state"):
            pass
        yield Lake(binary, folder, store)


@dataclass
class Lake:
    binary: str
    folder: object
    store: object
    seen: set = field(default_factory=set)

    @contextlib.contextmanager
    def cold(self, profile, footers="0", state=None):
        """Services that have opened no file; their tickets carry so many bytes of footers at most."""
        flags = ["--store-profile", profile, "--ticket-footers", footers]
        with LocalServer(self.binary, "s3://lake", state or self.folder / "state", flags=flags) as server:
            with adbc_driver_flightsql.dbapi.connect(server.uri, autocommit=True) as connection:
                self.store.take()
                yield Client(self, connection)

    def ask(self, connection, sql):
        """What the store counted for a query of one ticket, and what that ticket's report says."""
        with connection.cursor() as cursor:
            cursor.execute(sql)
            rows = cursor.fetch_arrow_table().num_rows
            requests, size = self.store.take()
            report = self.report(cursor)
        assert set(requests) <= {"GET"}, "neither LIST nor HEAD"
        assert (report["requests"], report["bytes_fetched"]) == (requests.get("GET", 0), size)
        assert report["rows_returned"] == rows
        return report

    def report(self, cursor):
        """The report that was not there before, once it has arrived."""
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            cursor.execute("SELECT * FROM fulmar.system.tickets")
            reports = cursor.fetch_arrow_table().to_pylist()
            if new := [report for report in reports if report["ticket_id"] not in self.seen]:
                [report] = new
                self.seen.add(report["ticket_id"])
                return report
            time.sleep(0.05)
        raise AssertionError("no report has arrived")


@dataclass
class Client:
    lake: Lake
    connection: object

    def __call__(self, sql):
        return self.lake.ask(self.connection, sql)

    def predicted(self, sql):
        """What EXPLAIN says of the reading, which reads nothing."""
        with self.connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN {sql}")
            plan = cursor.fetch_arrow_table()["plan"].to_pylist()[-1]
        assert self.lake.store.take() == ({}, 0)
        return plan.splitlines()[1].strip()


# Query, table, profile of the store: requests, waves, bytes fetched, bytes needed.
EXPECTED = {
    ("fortnight", "orders_by_month", "balanced"): (2, 2, 1_908_054, 1_123_498),
    ("fortnight", "orders_by_month", "bytes"): (5, 2, 1_129_483, 1_123_498),
    ("fortnight", "orders_paged", "balanced"): (5, 2, 1_205_039, 1_136_051),
    ("fortnight", "orders_paged", "bytes"): (5, 2, 1_205_039, 1_136_051),
    ("fortnight", "orders_paged_dictionary", "balanced"): (7, 2, 10_435_581, 9_709_638),
    ("fortnight", "orders_paged_dictionary", "bytes"): (10, 2, 9_731_811, 9_709_638),
    ("fortnight", "orders_sorted", "balanced"): (3, 2, 5_478_874, 5_478_874),
    ("fortnight", "orders_sorted", "bytes"): (3, 2, 5_478_874, 5_478_874),
    ("fortnight", "orders_bloom", "balanced"): (3, 2, 5_478_964, 5_478_964),
    ("fortnight", "orders_shuffled", "balanced"): (11, 2, 33_508_950, 33_508_950),
    ("fortnight", "orders_shuffled", "bytes"): (11, 2, 33_508_950, 33_508_950),
    ("point", "orders_by_month", "balanced"): (4, 2, 119_110, 113_273),
    ("point", "orders_paged", "balanced"): (4, 2, 194_805, 127_585),
    ("point", "orders_paged", "bytes"): (4, 2, 194_805, 127_585),
    ("point", "orders_sorted", "balanced"): (2, 2, 2_742_334, 2_704_233),
    ("point", "orders_sorted", "bytes"): (4, 3, 2_704_233, 2_704_233),
    ("point", "orders_shuffled", "bytes"): (13, 3, 11_865_387, 11_865_387),
}
QUERIES = {"fortnight": FORTNIGHT, "point": POINT}


@pytest.mark.parametrize(("query", "table", "profile"), EXPECTED, ids=["-".join(case) for case in EXPECTED])
def test_a_scan_asks_for_this_and_no_more(lake, query, table, profile):
    with lake.cold(profile) as ask:
        first = ask(QUERIES[query].format(table))
        again = ask(QUERIES[query].format(table))
    assert counted(first) == EXPECTED[query, table, profile]
    # The footer is known now.
    assert counted(again)[:2] == (first["requests"] - 1, first["waves"] - 1)
    assert again["footer_cache_hits"] == 1
    # A server that has never seen the file reads as much when the footer comes with the ticket.
    with lake.cold(profile, footers="1MiB") as ask:
        predicted = ask.predicted(QUERIES[query].format(table))
        given = ask(QUERIES[query].format(table))
    assert counted(given) == counted(again)
    if profile == "balanced":
        # EXPLAIN goes by the default profile; here only bounds decide what is read.
        expected = f"predicted: {given['requests']} requests, {given['bytes_fetched']} of "
        assert predicted.startswith(expected)
    assert (given["footers_in_ticket"], given["footer_cache_hits"]) == (1, 0)


def test_a_hole_is_shorter_than_a_round_trip_and_no_pages_are_read_for_nothing(lake):
    footer = {"orders_by_month": 6_000, "orders_paged": 75_000}
    for table, end in footer.items():
        for profile in ("balanced", "bytes"):
            _, _, fetched, needed = EXPECTED["fortnight", table, profile]
            if (table, profile) == ("orders_by_month", "balanced"):
                assert fetched - needed < 2_400_000
            else:
                assert fetched <= 1.05 * needed + end


def test_where_whole_pages_match_the_pages_of_the_filter_are_not_read(lake):
    with lake.cold("bytes") as ask:
        filtered = ask("SELECT amount FROM orders_paged WHERE order_date >= DATE '2024-03-01'")
    assert filtered["pages_read"] == 206, "one page of order_date, where March begins; the others match whole"


def test_a_catalog_learns_the_footers_that_it_lacks(lake, tmp_path):
    state = tmp_path / "state"
    shutil.copytree(lake.folder / "state", state)
    database = state / "catalog" / "catalog.sqlite"
    known = "SELECT count(*) FROM footers JOIN files USING (file_id) WHERE path LIKE '%/orders_paged/%'"
    with contextlib.closing(sqlite3.connect(database)) as catalog:
        assert catalog.execute(known).fetchone() == (1,)
        catalog.execute("PRAGMA foreign_keys = ON")
        catalog.execute("DELETE FROM footers")
        catalog.commit()
    # Where pages are no use, the page index is not read either, and half a footer is not told.
    seen = [("SELECT amount FROM orders_paged", 0), (FORTNIGHT.format("orders_paged"), 1)]
    for sql, learned in seen:
        with lake.cold("balanced", "1MiB", state) as ask:
            assert ask(sql)["footers_in_ticket"] == 0
        with contextlib.closing(sqlite3.connect(database)) as catalog:
            assert catalog.execute(known).fetchone() == (learned,)
    with lake.cold("balanced", "1MiB", state) as ask:
        told = ask(FORTNIGHT.format("orders_paged"))
    assert (told["footers_in_ticket"], told["requests"], told["waves"]) == (1, 4, 1)


def counted(report):
    return tuple(report[name] for name in ("requests", "waves", "bytes_fetched", "bytes_needed"))


def named(kind):
    return kind.replace("-", "_")
