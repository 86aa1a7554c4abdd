"""Tables in a bucket: what the store is asked for, counted by the store itself."""

import adbc_driver_flightsql.dbapi
import pytest

from conftest import FORTNIGHT
from counting_store import CountingStore
from local_server import LocalServer


@pytest.fixture
def store(make_table, tmp_path, monkeypatch):
    bucket = tmp_path / "buckets" / "lake"
    for table in ("orders", "customers"):
        make_table(bucket / "a prefix", table)
    with CountingStore(tmp_path / "buckets") as store:
        for name, value in store.environment.items():
            monkeypatch.setenv(name, value)
        yield store


def start(binary, tmp_path):
    return LocalServer(binary, "s3://lake/a prefix", tmp_path / "state")


def fetch(server, sql):
    with adbc_driver_flightsql.dbapi.connect(server.uri, autocommit=True) as connection:
        with connection.cursor() as cursor:
            cursor.execute(sql)
            return cursor.fetch_arrow_table()


def test_a_small_file_takes_one_get_and_neither_head_nor_list(binary, store, tmp_path, right, rows_of):
    with start(binary, tmp_path) as server:
        store.take()
        answer = fetch(server, FORTNIGHT.format("orders"))
        requests, size = store.take()
    assert rows_of(answer) == rows_of(right(FORTNIGHT.format("orders")))
    assert requests == {"GET": 1}, "all of the month's file"
    assert size < 200_000


def test_a_new_start_reads_no_footer_again(binary, store, tmp_path):
    with start(binary, tmp_path):
        requests, _ = store.take()
        assert requests["GET"] >= 13, "the footer of each file"
    with start(binary, tmp_path) as server:
        requests, _ = store.take()
        assert set(requests) == {"LIST"}
        assert fetch(server, "SELECT count(*) FROM orders").to_pydict() == {"count(*)": [60_000]}
        assert store.take() == ({}, 0), "footers know how many rows there are"


def test_an_object_that_changed_since_it_was_planned_is_an_error(binary, store, tmp_path):
    with start(binary, tmp_path) as server:
        part = store.root / "lake" / "a prefix" / "orders" / "month=2024-03" / "part-0.parquet"
        part.write_bytes((part.parent.parent / "month=2024-04" / "part-0.parquet").read_bytes())
        with pytest.raises(adbc_driver_flightsql.dbapi.Error, match="month=2024-03/part-0.parquet"):
            fetch(server, FORTNIGHT.format("orders"))
