"""Statements that change the catalog, through ADBC, against a server of their own."""

import adbc_driver_flightsql.dbapi
import pytest

from local_server import LocalServer


@pytest.fixture
def server(binary, make_table, tmp_path):
    make_table(tmp_path / "data", "customers")
    make_table(tmp_path / "elsewhere", "orders")
    with LocalServer(binary, tmp_path / "data", tmp_path / "state") as running:
        yield running


def count(cursor, table):
    cursor.execute(f"SELECT count(*) FROM {table}")
    return cursor.fetchone()[0]


def test_an_external_table_is_made_read_refreshed_and_dropped(server, tmp_path):
    folder = tmp_path / "elsewhere/orders"
    files = sorted(folder.glob("**/*.parquet"))
    hidden = files[0].with_suffix(".hidden")
    files[0].rename(hidden)
    with adbc_driver_flightsql.dbapi.connect(server.uri, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.executescript(f"CREATE EXTERNAL TABLE elsewhere STORED AS PARQUET LOCATION '{folder}'")
        eleven = count(cursor, "elsewhere")
        hidden.rename(files[0])
        assert count(cursor, "elsewhere") == eleven
        cursor.executescript("REFRESH TABLE elsewhere")
        assert count(cursor, "elsewhere") > eleven
        cursor.executescript("DROP TABLE elsewhere")
        with pytest.raises(adbc_driver_flightsql.dbapi.Error, match="elsewhere"):
            count(cursor, "elsewhere")
    assert files[0].exists()


def test_hive_partitions_become_a_typed_column(server, tmp_path):
    folder = tmp_path / "elsewhere/orders"
    with adbc_driver_flightsql.dbapi.connect(server.uri, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute(f"CREATE EXTERNAL TABLE parted STORED AS PARQUET PARTITIONED BY (month) LOCATION '{folder}'")
        cursor.execute("SELECT DISTINCT month FROM parted ORDER BY month")
        months = [str(row[0]) for row in cursor.fetchall()]
        assert months == [f"2024-{month:02}" for month in range(1, 13)]
        cursor.execute("SELECT count(*), min(order_date) FROM parted WHERE month = '2024-03'")
        assert str(cursor.fetchone()[1]) == "2024-03-01"


def test_a_statement_that_fails_leaves_no_table_behind(server, tmp_path):
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken/part-0.parquet").write_bytes(b"PAR1 this is not a Parquet file PAR1")
    with adbc_driver_flightsql.dbapi.connect(server.uri, autocommit=True) as connection, connection.cursor() as cursor:
        with pytest.raises(adbc_driver_flightsql.dbapi.Error, match="part-0.parquet"):
            cursor.execute(f"CREATE EXTERNAL TABLE broken STORED AS PARQUET LOCATION '{tmp_path}/broken'")
            cursor.fetchall()
        with pytest.raises(adbc_driver_flightsql.dbapi.Error, match="broken"):
            count(cursor, "broken")


def test_tables_are_there_after_a_restart_and_files_that_came_are_found(server, tmp_path, binary):
    folder = tmp_path / "elsewhere/orders"
    with adbc_driver_flightsql.dbapi.connect(server.uri, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute(f"CREATE EXTERNAL TABLE kept STORED AS PARQUET LOCATION '{folder}'")
        cursor.fetchall()
        rows = count(cursor, "kept")
    server.__exit__()
    (tmp_path / "data/arrived").mkdir()
    (tmp_path / "data/arrived/part-0.parquet").write_bytes(next(folder.glob("**/*.parquet")).read_bytes())
    with server, adbc_driver_flightsql.dbapi.connect(server.uri, autocommit=True) as connection, connection.cursor() as cursor:
        assert count(cursor, "kept") == rows
        assert count(cursor, "arrived") > 0
