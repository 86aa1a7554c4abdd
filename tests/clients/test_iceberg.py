"""An adopted table, opened by PyIceberg and DuckDB through the metadata.json that was committed."""

import csv
import pathlib
import urllib.parse

import adbc_driver_flightsql.dbapi
import duckdb
import pyarrow as pa
import pytest
from duckdb_extensions import import_extension
from pyiceberg.table import StaticTable

from local_server import LocalServer

ADOPTED = ["orders", "customers"]


@pytest.fixture(scope="module")
def adopting(binary, make_table, tmp_path_factory):
    """A server of its own: adopting changes what the catalog holds. Yields it, its data, and the metadata by table."""
    folder = tmp_path_factory.mktemp("adopted")
    for name in ADOPTED:
        make_table(folder, name)
    before = {file: file.read_bytes() for file in folder.glob("**/*.parquet")}
    with LocalServer(binary, folder, tmp_path_factory.mktemp("adopting")) as server:
        metadata = {name: server.run("table", "adopt", name, "--planner", server.uri).strip().splitlines()[-1] for name in ADOPTED}
        yield server, before, metadata


@pytest.fixture(params=ADOPTED)
def table(request):
    return request.param


def path_of(location):
    """A local path of a path or a file: URL."""
    return urllib.parse.unquote(urllib.parse.urlparse(location).path)


def ours(server, table):
    with adbc_driver_flightsql.dbapi.connect(server.uri, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute(f"SELECT * FROM {table}")
        return cursor.fetch_arrow_table()


def same(one, other):
    """Both tables hold the same rows in some order; types may differ in width of their offsets only."""
    key = one.column_names[0]
    one, other = one.sort_by(key), other.select(one.column_names).sort_by(key)
    assert one.num_rows == other.num_rows > 0
    assert one.cast(other.schema.remove_metadata()).equals(pa.Table.from_batches(other.to_batches(), other.schema.remove_metadata()))


def test_adopting_prints_a_metadata_file_that_exists(adopting, table):
    location = adopting[2][table]
    assert location.endswith(".metadata.json")
    assert pathlib.Path(path_of(location)).is_file()


def test_adopting_leaves_the_files_as_they_were(adopting):
    server, before, _ = adopting
    assert {file: file.read_bytes() for file in server.data.glob("**/*.parquet")} == before


def test_pyiceberg_returns_the_same_rows(adopting, table):
    server, _, metadata = adopting
    same(ours(server, table), StaticTable.from_metadata(metadata[table]).scan().to_arrow())


def test_pyiceberg_prunes_by_the_bounds_that_were_committed(adopting):
    server, _, metadata = adopting
    scan = StaticTable.from_metadata(metadata["orders"]).scan("order_date >= '2024-03-01' and order_date < '2024-03-15'")
    [task] = list(scan.plan_files())
    assert "2024-03" in task.file.file_path
    fortnight = scan.to_arrow()
    dates = fortnight.column("order_date").to_pylist()
    assert dates and str(min(dates)) == "2024-03-01" and str(max(dates)) == "2024-03-14"


def test_duckdb_returns_the_same_rows(adopting, table, tmp_path):
    server, _, metadata = adopting
    connection = duckdb.connect(config={"extension_directory": str(tmp_path)})
    for extension in ("avro", "iceberg"):
        import_extension(extension, con=connection)
        connection.execute(f"LOAD {extension}")
    theirs = connection.execute(f"FROM iceberg_scan('{path_of(metadata[table])}')").to_arrow_table()
    same(ours(server, table), theirs)


def test_the_table_answers_as_before_and_has_a_snapshot(adopting, table):
    server, _, _ = adopting
    assert ours(server, table).num_rows > 0
    snapshots = server.run("table", "snapshots", table, "--format", "csv", "--planner", server.uri)
    operations = [row["operation"] for row in csv.DictReader(snapshots.splitlines())]
    assert sorted(operations) == ["adopt", "create"]
