"""Lists in files of another writer: with a page index only the pages that hold a wanted row are read, since pages begin
with rows then, and the rows are those that the writer's own reader finds.
"""

import random

import adbc_driver_flightsql.dbapi
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from local_server import LocalServer

ROWS = 20_000
RANGES = [(0, 1), (3_456, 3_457), (6_990, 7_010), (100, 9_000), (19_999, 20_000), (20_000, 20_001)]


@pytest.fixture(scope="module")
def lists():
    chance = random.Random(7)

    def words():
        many = chance.choice([0, 1, 2, 40])
        return None if chance.random() < 0.1 else [str(chance.random()) for _ in range(many)]

    return pa.table(
        {
            "id": range(ROWS),
            "words": [words() for _ in range(ROWS)],
            "pairs": [[{"a": n, "b": None if n % 3 else str(n)}] * (n % 5) for n in range(ROWS)],
        }
    )


@pytest.fixture(scope="module")
def asked(binary, lists, tmp_path_factory):
    folder = tmp_path_factory.mktemp("lists")
    for version in ("1.0", "2.0"):
        table = folder / f"pages_{version[0]}"
        table.mkdir()
        layout = {"data_page_version": version, "data_page_size": 4_096, "row_group_size": 7_000}
        pq.write_table(lists, table / "part-0.parquet", write_page_index=True, use_dictionary=False, **layout)
    with LocalServer(binary, folder, tmp_path_factory.mktemp("state")) as server:
        with adbc_driver_flightsql.dbapi.connect(server.uri, autocommit=True) as connection:
            with connection.cursor() as cursor:

                def ask(sql):
                    cursor.execute(sql)
                    return cursor.fetch_arrow_table()

                yield ask


@pytest.mark.parametrize("table", ["pages_1", "pages_2"])
@pytest.mark.parametrize(("start", "end"), RANGES)
def test_the_rows_are_those_of_the_writer(asked, lists, table, start, end):
    found = asked(f"SELECT words, pairs FROM {table} WHERE id >= {start} AND id < {end}")
    wanted = lists.filter(pc.and_(pc.greater_equal(lists["id"], start), pc.less(lists["id"], end)))
    assert found.to_pylist() == wanted.select(["words", "pairs"]).to_pylist()


@pytest.mark.parametrize("table", ["pages_1", "pages_2"])
def test_of_a_list_only_the_page_of_the_row_is_read(asked, table):
    plan = asked(f"EXPLAIN ANALYZE SELECT words FROM {table} WHERE id = 3456")["plan"].to_pylist()
    counts = dict(line.strip().split(": ") for line in plan[-1].splitlines() if line.startswith("  "))
    assert int(counts["pages_read"]) == 2
    assert int(counts["bytes_needed"]) < 100_000
