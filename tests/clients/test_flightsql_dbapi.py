"""flightsql-dbapi and its SQLAlchemy dialect, which read the first endpoint only: `endpoints=single` gives them every row."""

import pytest
import sqlalchemy
from flightsql import FlightSQLClient, connect, sqlalchemy as dialect  # noqa: F401 (registers itself)

from conftest import FORTNIGHT, ORDERS, TABLES

SINGLE = {"endpoints": "single"}


@pytest.fixture
def client(server):
    client = FlightSQLClient(host=server.host, port=server.port, insecure=True, metadata=SINGLE)
    yield client
    client.close()


@pytest.fixture
def cursor(client):
    with connect(client) as connection:
        yield connection.cursor()


def rows(cursor):
    """The rows of a cursor, which come as lists, sorted."""
    return sorted(map(tuple, cursor.fetchall()))


def test_without_the_header_there_are_several_endpoints(server):
    plain = FlightSQLClient(host=server.host, port=server.port, insecure=True)
    try:
        assert len(plain.execute("SELECT * FROM orders").endpoints) > 1
    finally:
        plain.close()


@pytest.mark.parametrize("table", ["orders", "orders_many"])
def test_with_the_header_there_is_one_endpoint_that_holds_every_row(client, cursor, right, table):
    sql = f"SELECT order_id FROM {table}"
    assert len(client.execute(sql).endpoints) == 1
    cursor.execute(sql)
    assert rows(cursor) == sorted(tuple(row.values()) for row in right(sql).to_pylist())


def test_the_header_may_come_with_one_call(server):
    from flightsql.client import FlightSQLCallOptions

    plain = FlightSQLClient(host=server.host, port=server.port, insecure=True)
    try:
        options = FlightSQLCallOptions(headers=[(b"endpoints", b"single")])
        assert len(plain.execute("SELECT * FROM orders", options).endpoints) == 1
    finally:
        plain.close()


def test_the_fortnight(cursor, right):
    cursor.execute(FORTNIGHT.format("orders"))
    assert rows(cursor) == sorted(tuple(r.values()) for r in right(FORTNIGHT.format("orders")).to_pylist())


def test_an_aggregate(cursor):
    cursor.execute("SELECT count(*) FROM orders")
    assert rows(cursor) == [(ORDERS,)]


def test_tables_and_schemas_are_listed(client):
    def read(info):
        return client.do_get(info.endpoints[0].ticket).read_all().to_pydict()

    assert set(read(client.get_tables())["table_name"]) >= TABLES.keys()
    assert "main" in read(client.get_db_schemas())["db_schema_name"]
    assert "fulmar" in read(client.get_catalogs())["catalog_name"]
    assert read(client.get_table_types())["table_type"]
    assert read(client.get_xdbc_type_info(None))["type_name"]


def test_sqlalchemy_connects_and_queries(server, right):
    engine = sqlalchemy.create_engine(
        f"datafusion+flightsql://{server.host}:{server.port}?insecure=True&endpoints=single"
    )
    try:
        with engine.connect() as connection:
            rows = connection.execute(sqlalchemy.text("SELECT order_id, status FROM orders WHERE order_id < 100")).fetchall()
        expected = right("SELECT order_id, status FROM orders WHERE order_id < 100").to_pylist()
        assert sorted(map(tuple, rows)) == sorted(tuple(r.values()) for r in expected)
    finally:
        engine.dispose()


def test_sqlalchemy_finds_tables_and_columns(server):
    engine = sqlalchemy.create_engine(
        f"datafusion+flightsql://{server.host}:{server.port}?insecure=True&endpoints=single"
    )
    try:
        inspector = sqlalchemy.inspect(engine)
        assert "main" in inspector.get_schema_names()
        assert set(inspector.get_table_names("main")) >= TABLES.keys()
        columns = [c["name"] for c in inspector.get_columns("orders", "main")]
        assert columns[:3] == ["order_id", "customer_id", "order_date"]
    finally:
        engine.dispose()
