"""pyarrow.flight, with the Flight SQL commands made by hand: endpoints, locations, schemas and scan reports."""

import json

import pyarrow as pa
import pyarrow.flight
import pyarrow.parquet as pq
import pytest

import flight_sql
from conftest import FORTNIGHT, MANY_FILES

REUSE = b"arrow-flight-reuse-connection"


@pytest.fixture
def client(server):
    with pa.flight.connect(f"grpc+tcp://{server.host}:{server.port}") as client:
        yield client


def ask(client, sql, **options):
    return client.get_flight_info(flight_sql.statement(sql), **options)


def open_at(location, ticket):
    """Opens a ticket at one location, through a connection of its own."""
    with pa.flight.connect(location) as server:
        return flight_sql.read(server.do_get(ticket))


def direct(endpoint):
    """The locations that name a server, the preferred one first."""
    return [location for location in endpoint.locations if not location.uri.startswith(REUSE)]


def test_every_endpoint_opens_at_each_of_its_locations(client, right, rows_of):
    info = ask(client, "SELECT * FROM orders")
    assert len(info.endpoints) == 12
    parts = []
    for endpoint in info.endpoints:
        assert direct(endpoint), "an endpoint names no server"
        parts.append([open_at(location, endpoint.ticket)[0] for location in direct(endpoint)])
        assert all(rows_of(part) == rows_of(parts[-1][0]) for part in parts[-1])
    whole = pa.concat_tables(part[0] for part in parts)
    assert rows_of(whole) == rows_of(right("SELECT * FROM orders"))


def test_every_endpoint_opens_at_the_planner_too(client, right, rows_of):
    info = ask(client, "SELECT order_id, amount FROM orders WHERE order_id % 3 = 0")
    whole = pa.concat_tables(flight_sql.read(client.do_get(e.ticket))[0] for e in info.endpoints)
    assert rows_of(whole) == rows_of(right("SELECT order_id, amount FROM orders WHERE order_id % 3 = 0"))


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM orders",
        "SELECT * FROM customers",
        "SELECT * FROM awkward",
        "SELECT order_id AS id, amount * 2 AS twice, status || country AS both FROM orders",
        "SELECT status, count(*), avg(amount) FROM orders GROUP BY status",
        "SELECT count(*) FROM orders",
        "SELECT * FROM orders WHERE order_id < 0",
        "SELECT * FROM orders ORDER BY order_id LIMIT 3",
        "SELECT 1 AS one, NULL AS nothing",
        "EXPLAIN SELECT * FROM orders",
    ],
)
def test_the_schema_of_the_answer_is_the_schema_of_every_stream(client, sql):
    descriptor = flight_sql.statement(sql)
    info = client.get_flight_info(descriptor)
    assert info.endpoints
    assert client.get_schema(descriptor).schema.equals(info.schema)
    for endpoint in info.endpoints:
        reader = client.do_get(endpoint.ticket)
        assert reader.schema.equals(info.schema)
        reader.read_all()


def test_the_last_message_of_a_scan_brings_its_report(client):
    info = ask(client, FORTNIGHT.format("orders"))
    [endpoint] = info.endpoints
    table, last = open_at(direct(endpoint)[0], endpoint.ticket)
    report = json.loads(last)
    counts = report["counts"]
    assert report["complete"] is True and report["error"] is None
    assert 1 <= counts["requests"] <= 6
    assert 0 < counts["bytes_needed"] <= counts["bytes_fetched"]
    assert counts["rows_returned"] == table.num_rows
    assert len(report["tasks"]) == 1 and "2024-03" in report["tasks"][0]["path"]


def test_reports_of_packed_tickets_stay_per_file_and_add_up(client):
    info = ask(client, "SELECT order_id FROM orders_many")
    assert 1 < len(info.endpoints) <= 16
    locations = {location.uri for endpoint in info.endpoints for location in endpoint.locations}
    assert len(locations) <= 20
    reports = [json.loads(open_at(direct(e)[0], e.ticket)[1]) for e in info.endpoints]
    tasks = [task for report in reports for task in report["tasks"]]
    assert len({task["path"] for task in tasks}) == len(tasks) == MANY_FILES
    for report in reports:
        for count in ("requests", "bytes_fetched", "rows_returned"):
            assert report["counts"][count] == sum(task["counts"][count] for task in report["tasks"]), count
    assert sum(report["counts"]["rows_returned"] for report in reports) == 30_000


def test_the_header_gives_a_single_endpoint(client):
    options = pa.flight.FlightCallOptions(headers=[(b"endpoints", b"single")])
    info = ask(client, "SELECT order_id FROM orders", options=options)
    assert len(info.endpoints) == 1
    assert flight_sql.read(client.do_get(info.endpoints[0].ticket))[0].num_rows == 60_000


def test_a_ticket_works_twice(client):
    [endpoint] = ask(client, FORTNIGHT.format("orders")).endpoints
    first, second = (flight_sql.read(client.do_get(endpoint.ticket))[0] for _ in range(2))
    assert first.equals(second)


@pytest.mark.parametrize("spoil", [lambda t: t[:-1], lambda t: t + b"x", lambda t: b"", lambda t: b"made up", lambda t: t[:40] + bytes([t[40] ^ 1]) + t[41:]])
def test_a_ticket_that_was_altered_is_refused_and_serving_goes_on(client, spoil):
    [endpoint] = ask(client, FORTNIGHT.format("orders")).endpoints
    spoiled = pa.flight.Ticket(spoil(endpoint.ticket.ticket))
    for location in direct(endpoint):
        with pytest.raises((pa.ArrowInvalid, pa.flight.FlightError), match="(?i)ticket"):
            open_at(location, spoiled)
    with pytest.raises((pa.ArrowInvalid, pa.flight.FlightError), match="(?i)ticket"):
        client.do_get(spoiled).read_all()
    assert open_at(direct(endpoint)[0], endpoint.ticket)[0].num_rows > 0


def test_a_stream_that_is_dropped_leaves_the_server_serving(client):
    info = ask(client, "SELECT * FROM orders")
    for endpoint in info.endpoints:
        reader = client.do_get(endpoint.ticket)
        reader.read_chunk()
        reader.cancel()
    assert flight_sql.read(client.do_get(info.endpoints[0].ticket))[0].num_rows > 0


def test_a_command_that_does_not_exist_is_refused_by_name(client):
    with pytest.raises((pa.ArrowNotImplementedError, pa.ArrowInvalid, pa.flight.FlightError)):
        client.get_flight_info(flight_sql.command("CommandThatIsNot"))


def test_every_arrow_type_arrives_as_it_was_written(client, data):
    files = sorted((data / "awkward").glob("**/*.parquet"))
    expected = pa.concat_tables(pq.read_table(file) for file in files)
    info = ask(client, "SELECT * FROM awkward")
    got = pa.concat_tables(flight_sql.read(client.do_get(e.ticket))[0] for e in info.endpoints)
    assert got.num_rows == expected.num_rows == 3000
    assert got.column_names == expected.column_names
    for name in expected.column_names:
        if not name.startswith("interval"):  # pyarrow can hold these two types, but not show their values
            assert by_id(got, name) == by_id(expected, name), name


def by_id(table, name):
    """The values of a column in order of `id`, as text, which tells them apart: NaN is itself, and -0.0 is not 0.0."""
    column = table.column(name)
    if pa.types.is_temporal(column.type):
        # Whole numbers keep nanoseconds; and what pyarrow reads as a number from a file is a time in Arrow.
        column = column.cast(pa.int32() if column.type.bit_width == 32 else pa.int64())
    rows = zip(table.column("id").to_pylist(), column.to_pylist())
    return [repr(value) for _, value in sorted(rows, key=lambda row: row[0])]
