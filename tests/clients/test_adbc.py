"""The ADBC Flight SQL driver: statements, parameters, many endpoints, several cursors, errors."""

import concurrent.futures
import datetime

import adbc_driver_flightsql.dbapi
import pyarrow as pa
import pytest

from conftest import FORTNIGHT, MANY_FILES, ORDERS

Error = adbc_driver_flightsql.dbapi.Error


def fetch(connection, sql, parameters=None):
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        return cursor.fetch_arrow_table()


@pytest.mark.parametrize("name", ["orders", "main.orders", "fulmar.main.orders", '"fulmar"."main"."orders"'])
def test_the_fortnight_returns_the_right_rows_under_every_name_of_the_table(connection, right, rows_of, name):
    got = fetch(connection, FORTNIGHT.format(name))
    expected = right(FORTNIGHT.format("orders"))
    assert got.num_rows > 1000
    assert rows_of(got) == rows_of(expected)
    assert got.schema.types == [pa.int64(), pa.int64(), pa.float64()]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM orders WHERE order_id BETWEEN 100 AND 130",
        "SELECT order_id, upper(status) AS s FROM orders WHERE country IN ('UK', 'DE') AND order_id < 500",
        "SELECT status, count(*) AS n, round(sum(amount), 2) AS total FROM orders GROUP BY status",
        "SELECT count(*) AS n FROM orders",
        "SELECT o.order_id, c.name FROM orders o JOIN customers c ON o.customer_id = c.customer_id WHERE o.order_id < 50",
        "SELECT order_id, row_number() OVER (PARTITION BY status ORDER BY order_id) AS r FROM orders WHERE order_id < 100",
        "WITH big AS (SELECT * FROM orders WHERE amount > 300) SELECT country, count(*) AS n FROM big GROUP BY country",
        "SELECT order_id FROM orders WHERE order_id < 5 UNION ALL SELECT customer_id FROM customers WHERE customer_id < 5",
        "SELECT order_id FROM orders_paged WHERE note LIKE '%7' AND order_id < 1000",
    ],
)
def test_queries_return_the_rows_that_duckdb_finds_in_the_same_files(connection, right, rows_of, sql):
    got = fetch(connection, sql)
    assert got.num_rows > 0
    assert rows_of(got) == rows_of(right(sql))


def test_a_global_order_and_limit_hold_across_files(connection, right):
    sql = "SELECT order_id, amount FROM orders ORDER BY amount DESC, order_id LIMIT 25"
    assert fetch(connection, sql).to_pylist() == right(sql).to_pylist()


def test_strings_leave_as_plain_strings(connection):
    assert fetch(connection, "SELECT status, note FROM orders LIMIT 1").schema.types == [pa.string(), pa.string()]


def test_no_rows_still_bring_the_schema(connection):
    got = fetch(connection, "SELECT order_id, order_date, status FROM orders WHERE order_id < 0")
    assert got.num_rows == 0
    assert got.schema.types == [pa.int64(), pa.date32(), pa.string()]


def test_a_query_without_a_table_works(connection):
    assert fetch(connection, "SELECT 1 + 1 AS two, 'x' AS x").to_pylist() == [{"two": 2, "x": "x"}]


@pytest.mark.parametrize(
    ("where", "parameters"),
    [
        ("order_id = ?", (1234,)),
        ("order_id = $1", (1234,)),
        ("order_id BETWEEN ? AND ?", (10, 20)),
        ("status = ? AND order_id < ?", ("paid", 200)),
        ("order_date >= ? AND order_date < ?", (datetime.date(2024, 3, 1), datetime.date(2024, 3, 2))),
        ("amount > ? AND order_id < 2000", (250.5,)),
        ("order_id = ?", (-1,)),
    ],
)
def test_parameters_find_what_literals_find(connection, right, rows_of, where, parameters):
    literal = where.replace("$1", "?")
    for value in parameters:
        literal = literal.replace("?", f"DATE '{value}'" if isinstance(value, datetime.date) else repr(value), 1)
    got = fetch(connection, f"SELECT order_id, amount FROM orders WHERE {where}", parameters)
    assert rows_of(got) == rows_of(right(f"SELECT order_id, amount FROM orders WHERE {literal}"))


def test_a_parameter_that_is_null_matches_nothing(connection):
    assert fetch(connection, "SELECT order_id FROM orders WHERE status = ?", (None,)).num_rows == 0


def test_parameters_work_where_the_planner_runs_the_query(connection, right):
    sql = "SELECT count(*) AS n, max(order_id) AS m FROM orders WHERE order_id < {} AND status <> {}"
    got = fetch(connection, sql.format("?", "?"), (5000, "paid"))
    assert got.to_pylist() == right(sql.format(5000, "'paid'")).to_pylist()


def test_one_cursor_runs_the_same_statement_with_other_values(connection):
    with connection.cursor() as cursor:
        for order in (7, 40_000, 7):
            cursor.execute("SELECT order_id FROM orders WHERE order_id = ?", (order,))
            assert cursor.fetchall() == [(order,)]


def test_preparing_tells_the_parameters_and_executing_schema_the_result(connection):
    with connection.cursor() as cursor:
        parameters = cursor.adbc_prepare("SELECT order_id, status FROM orders WHERE order_id = ?")
        assert len(parameters) == 1 and parameters.types == [pa.int64()]
        schema = cursor.adbc_execute_schema("SELECT order_id, status FROM orders")
        assert schema.names == ["order_id", "status"] and schema.types == [pa.int64(), pa.string()]


def test_a_missing_parameter_is_refused_in_one_line(connection):
    with pytest.raises(Error, match="(?i)parameter|placeholder") as caught:
        fetch(connection, "SELECT order_id FROM orders WHERE order_id = $1")
    assert "\n" not in str(caught.value).strip()


def test_several_cursors_of_one_connection_stream_at_once(connection):
    statements = [f"SELECT order_id, note FROM orders WHERE order_id % 4 = {part}" for part in range(4)]
    cursors = [connection.cursor() for _ in statements]
    try:
        readers = []
        for cursor, sql in zip(cursors, statements):
            cursor.execute(sql)
            readers.append(cursor.fetch_record_batch())
        seen = [[] for _ in readers]
        unfinished = set(range(len(readers)))
        while unfinished:
            for part in sorted(unfinished):
                try:
                    seen[part] += readers[part].read_next_batch().column("order_id").to_pylist()
                except StopIteration:
                    unfinished.discard(part)
    finally:
        for cursor in cursors:
            cursor.close()
    assert [sorted(ids) for ids in seen] == [list(range(part, ORDERS, 4)) for part in range(4)]


def test_eight_clients_at_once_get_every_row(server, right):
    expected = right("SELECT count(*), sum(order_id) FROM orders_many").to_pylist()

    def client(_):
        with adbc_driver_flightsql.dbapi.connect(server.uri, autocommit=True) as own:
            table = fetch(own, "SELECT order_id FROM orders_many")
            return table.num_rows, sum(table.column(0).to_pylist())

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(client, range(8)))
    assert answers == [tuple(expected[0].values())] * 8


def test_a_stream_that_is_dropped_leaves_the_connection_usable(connection):
    for _ in range(3):
        with connection.cursor() as cursor:
            cursor.execute("SELECT * FROM orders")
            cursor.fetch_record_batch().read_next_batch()
    assert fetch(connection, "SELECT count(*) AS n FROM orders").to_pylist() == [{"n": ORDERS}]


def test_three_hundred_files_bring_every_row_from_at_most_sixteen_endpoints(connection, data, right):
    assert len(list((data / "orders_many").glob("**/*.parquet"))) == MANY_FILES
    ids = fetch(connection, "SELECT order_id FROM orders_many").column(0).to_pylist()
    assert sorted(ids) == right("SELECT order_id FROM orders_many ORDER BY 1").column(0).to_pylist()
    with connection.cursor() as cursor:
        partitions, schema = cursor.adbc_execute_partitions("SELECT order_id FROM orders_many")
        assert 1 < len(partitions) <= 16
        assert schema.names == ["order_id"]
    again = []
    for partition in partitions:
        with connection.cursor() as cursor:
            cursor.adbc_read_partition(partition)
            again += cursor.fetch_arrow_table().column(0).to_pylist()
    assert sorted(again) == sorted(ids)


def test_a_connection_with_default_settings_works(server):
    # Without autocommit the driver asks whether transactions exist; they do not, and it goes on with a warning.
    with pytest.warns(Warning, match="autocommit"):
        connection = adbc_driver_flightsql.dbapi.connect(server.uri)
    with connection:
        assert fetch(connection, "SELECT count(*) AS n FROM customers").to_pylist() == [{"n": ORDERS // 10}]


def test_a_small_message_limit_of_the_client_is_kept(server):
    # Four MiB is what gRPC clients allow unless told otherwise.
    limit = {"adbc.flight.sql.client_option.with_max_msg_size": str(4 << 20)}
    with adbc_driver_flightsql.dbapi.connect(server.uri, db_kwargs=limit, autocommit=True) as connection:
        assert fetch(connection, "SELECT * FROM orders_paged").num_rows == ORDERS


@pytest.mark.parametrize(
    ("sql", "named"),
    [
        ("SELECT * FROM no_such_table", "no_such_table"),
        ("SELECT * FROM fulmar.elsewhere.orders", "elsewhere"),
        ("SELECT no_such_column FROM orders", "no_such_column"),
        ("SELEKT 1", "SELEKT"),
        ("SELECT order_id FROM orders WHERE", "(?i)sql"),
        ("SELECT order_id + INTERVAL '1 day' FROM orders", "(?i)int64|interval"),
        ("SELECT no_such_function(order_id) FROM orders", "no_such_function"),
        ("DROP TABLE no_such_table", "no_such_table"),
        ("CREATE EXTERNAL TABLE nowhere STORED AS PARQUET LOCATION '/no/such/folder'", "/no/such/folder"),
    ],
)
def test_what_is_wrong_is_named_in_one_short_line_and_the_connection_goes_on(connection, sql, named):
    with pytest.raises(Error, match=named) as caught:
        fetch(connection, sql)
    message = str(caught.value).strip()
    assert "\n" not in message and len(message) < 1024
    assert "panic" not in message and "Internal error" not in message
    assert fetch(connection, "SELECT 1 AS one").to_pylist() == [{"one": 1}]
