"""What fills a tool's tree: ADBC's get_objects, get_table_schema, get_table_types and get_info."""

import re

import adbc_driver_flightsql.dbapi
import pyarrow.parquet as pq
import pytest

from conftest import TABLES


def objects(connection, depth, **filters):
    return connection.adbc_get_objects(depth=depth, **filters).read_all().to_pylist()


def catalog_named_fulmar(connection, depth, **filters):
    [catalog] = [c for c in objects(connection, depth, **filters) if c["catalog_name"] == "fulmar"]
    return catalog


def main_schema(connection, depth, **filters):
    schemas = catalog_named_fulmar(connection, depth, **filters)["catalog_db_schemas"]
    [schema] = [s for s in schemas if s["db_schema_name"] == "main"]
    return schema


def test_catalogs(connection):
    assert catalog_named_fulmar(connection, "catalogs")["catalog_db_schemas"] is None


def test_schemas(connection):
    assert main_schema(connection, "db_schemas")["db_schema_tables"] is None


def test_tables(connection):
    tables = main_schema(connection, "tables")["db_schema_tables"]
    assert {t["table_name"] for t in tables} >= TABLES.keys()
    assert {t["table_type"] for t in tables} <= set(connection.adbc_get_table_types())
    assert all(not t["table_columns"] for t in tables)


@pytest.mark.parametrize("depth", ["columns", "all"])
def test_columns(connection, depth, data):
    tables = {t["table_name"]: t for t in main_schema(connection, depth)["db_schema_tables"]}
    for name in TABLES:
        files = sorted((data / name).glob("**/*.parquet"))
        columns = [c["column_name"] for c in tables[name]["table_columns"]]
        assert columns[: len(pq.read_schema(files[0]))] == pq.read_schema(files[0]).names, name
        assert [c["ordinal_position"] for c in tables[name]["table_columns"]] == list(range(1, len(columns) + 1))


def test_filters(connection):
    tables = main_schema(connection, "tables", table_name_filter="orders%")["db_schema_tables"]
    assert {t["table_name"] for t in tables} == {name for name in TABLES if name.startswith("orders")}
    [table] = main_schema(connection, "all", table_name_filter="orders", column_name_filter="%_id")["db_schema_tables"]
    assert [c["column_name"] for c in table["table_columns"]] == ["order_id", "customer_id"]
    assert objects(connection, "all", catalog_filter="nowhere") == []
    # Some drivers list the catalog with nothing below it.
    assert all(not s["db_schema_tables"] for c in objects(connection, "all", db_schema_filter="nowhere") for s in c["catalog_db_schemas"] or [])


@pytest.mark.parametrize("place", [{}, {"db_schema_filter": "main"}, {"catalog_filter": "fulmar", "db_schema_filter": "main"}])
def test_table_schema_is_what_a_query_returns(connection, place):
    for name in TABLES:
        schema = connection.adbc_get_table_schema(name, **place)
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT * FROM {name} LIMIT 1")
            result = cursor.fetch_arrow_table().schema
        assert schema.names == result.names
        for column, other in zip(schema, result):
            assert column.equals(other), f"{name}: {column} is not {other}"


def test_the_schema_of_a_missing_table_is_an_error(connection):
    # The driver makes this error itself, and says no more than its kind.
    with pytest.raises(adbc_driver_flightsql.dbapi.Error, match="NOT_FOUND"):
        connection.adbc_get_table_schema("no_such_table")


def test_info_names_the_product_and_its_version(connection):
    info = connection.adbc_get_info()
    assert info["vendor_name"].lower() == "fulmar"
    assert info["vendor_version"]
    assert info["vendor_arrow_version"]
    assert info["driver_name"]


def test_system_tables_answer(connection):
    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM system.tables")
        assert cursor.fetch_arrow_table().num_rows >= len(TABLES)
        cursor.execute("SELECT count(*) AS n FROM orders WHERE order_id < 10")
        cursor.fetchall()
        cursor.execute("SELECT * FROM system.queries")
        assert cursor.fetch_arrow_table().num_rows > 0


def test_explain_names_the_files_that_are_ruled_out(connection):
    with connection.cursor() as cursor:
        cursor.execute("EXPLAIN SELECT order_id FROM orders WHERE order_date >= DATE '2024-03-01' AND order_date < DATE '2024-03-15'")
        text = " ".join(map(str, cursor.fetchall()))
    assert re.search(r"12 files -> .* -> 1 after bounds \(11 skipped\)", text), text
