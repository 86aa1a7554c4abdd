"""What every client test needs: tables, one `fulmar local` that serves them, and the rows that are right.

The binary is the one in FULMAR_BIN. The right rows come from DuckDB and pyarrow reading the same files directly.
"""

import os
import subprocess

import adbc_driver_flightsql.dbapi
import duckdb
import pytest

from local_server import LocalServer

ORDERS = 60_000
MANY_FILES = 300
# Table: the arguments of `fulmar fixtures`.
TABLES = {
    "orders": ["--kind", "orders-by-month", "--rows", ORDERS],
    "orders_paged": ["--kind", "orders-paged", "--rows", ORDERS],
    "orders_many": ["--kind", "orders-many", "--rows", 30_000, "--files", MANY_FILES],
    "customers": ["--kind", "customers", "--rows", ORDERS // 10],
    "awkward": ["--kind", "awkward", "--rows", 3_000],
}
FORTNIGHT = (
    "SELECT order_id, customer_id, amount FROM {} "
    "WHERE order_date >= DATE '2024-03-01' AND order_date < DATE '2024-03-15'"
)


@pytest.fixture(scope="session")
def binary():
    path = os.environ.get("FULMAR_BIN")
    assert path, "set FULMAR_BIN to the fulmar binary"
    return path


@pytest.fixture(scope="session")
def make_table(binary):
    """Writes one of TABLES as a sub-folder."""

    def make(folder, name):
        words = [binary, "fixtures", *map(str, TABLES[name]), str(folder / name)]
        out = subprocess.run(words, capture_output=True, text=True, timeout=120)
        assert out.returncode == 0, f"{words}: {out.stdout}{out.stderr}"

    return make


@pytest.fixture(scope="session")
def data(make_table, tmp_path_factory):
    """A folder with all of TABLES."""
    folder = tmp_path_factory.mktemp("data")
    for name in TABLES:
        make_table(folder, name)
    return folder


@pytest.fixture(scope="session")
def server(binary, data, tmp_path_factory):
    with LocalServer(binary, data, tmp_path_factory.mktemp("state")) as running:
        yield running


@pytest.fixture
def connection(server):
    with adbc_driver_flightsql.dbapi.connect(server.uri, autocommit=True) as connection:
        yield connection


@pytest.fixture(scope="session")
def right(data):
    """Runs SQL in DuckDB over the same files; returns an Arrow table."""
    reference = duckdb.connect()
    for name in TABLES:
        # Months are strings to us; DuckDB would guess.
        hive = "hive_partitioning=true, hive_types={'month': VARCHAR}" if name == "orders" else "hive_partitioning=false"
        if name != "awkward":  # which has types that DuckDB lacks
            reference.execute(f"CREATE VIEW {name} AS FROM read_parquet('{data / name}/**/*.parquet', {hive})")
    return lambda sql: reference.execute(sql).to_arrow_table()


@pytest.fixture(scope="session")
def rows_of():
    """The rows of an Arrow table as sorted tuples, for comparisons in which order means nothing."""
    return lambda table: sorted(map(tuple, (row.values() for row in table.to_pylist())), key=repr)
