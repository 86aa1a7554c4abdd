"""Polars and pandas, both through ADBC."""

import pandas as pd
import polars as pl

from conftest import FORTNIGHT, ORDERS

BY_COUNTRY = "SELECT country, count(*) AS n FROM orders GROUP BY country ORDER BY country"


def test_polars_reads_the_fortnight(connection, right):
    frame = pl.read_database(FORTNIGHT.format("orders"), connection).sort("order_id")
    assert frame.schema == {"order_id": pl.Int64, "customer_id": pl.Int64, "amount": pl.Float64}
    assert frame.equals(pl.from_arrow(right(FORTNIGHT.format("orders") + " ORDER BY order_id")))


def test_polars_passes_parameters(connection):
    sql = "SELECT order_id FROM orders WHERE order_id >= ? AND order_id < ?"
    frame = pl.read_database(sql, connection, execute_options={"parameters": [100, 110]})
    assert sorted(frame["order_id"]) == list(range(100, 110))


def test_polars_reads_batch_by_batch(connection):
    batches = pl.read_database("SELECT order_id FROM orders", connection, iter_batches=True, batch_size=1000)
    assert sum(frame.height for frame in batches) == ORDERS


def test_polars_reads_strings_and_dates(connection, right):
    sql = "SELECT order_id, order_date, status, note FROM orders WHERE order_id < 500"
    frame = pl.read_database(sql, connection).sort("order_id")
    assert frame.equals(pl.from_arrow(right(sql + " ORDER BY order_id")))


def test_pandas_reads_the_fortnight(connection, right):
    frame = pd.read_sql(FORTNIGHT.format("orders"), connection).sort_values("order_id", ignore_index=True)
    expected = right(FORTNIGHT.format("orders") + " ORDER BY order_id").to_pandas()
    pd.testing.assert_frame_equal(frame, expected)


def test_pandas_reads_groups(connection, right):
    pd.testing.assert_frame_equal(pd.read_sql(BY_COUNTRY, connection), right(BY_COUNTRY).to_pandas())


def test_pandas_lists_no_table_that_is_not_there(connection):
    frame = pd.read_sql("SELECT * FROM orders WHERE order_id < 0", connection)
    assert frame.empty and "note" in frame.columns
