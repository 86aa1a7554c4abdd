"""What the benchmarks count and how they write it: the parts that need no engine."""

import datetime
import decimal
import pathlib
import sys

import pyarrow
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from benches import markdown  # noqa: E402
from benches.failure import Failure, chosen  # noqa: E402
from benches.scan.answers import answer, must_agree  # noqa: E402
from benches.scan.queries import queries  # noqa: E402
from benches.store.counts import Request, counts  # noqa: E402
from benches.store.objects import Objects  # noqa: E402


def get(started, ended):
    return Request("GET", "key", started, ended, 10)


def test_depth_is_the_longest_chain_of_requests_that_follow_each_other():
    waves = [get(0.00, 0.03), get(0.00, 0.05), get(0.06, 0.09), get(0.06, 0.10), get(0.11, 0.14)]
    assert counts(waves) == {"kinds": {"GET": 5}, "bytes": 50, "depth": 3}
    assert counts([]) == {"kinds": {}, "bytes": 0, "depth": 0}


def test_a_listing_is_paged_and_shows_folders(tmp_path):
    for month in ("01", "02"):
        folder = tmp_path / f"month={month}"
        folder.mkdir()
        (folder / "part-0.parquet").write_bytes(b"1234")
    (tmp_path / "part-1.parquet").write_bytes(b"12")
    objects = Objects([("tables/orders", tmp_path)])
    months = ["tables/orders/month=01/", "tables/orders/month=02/"]
    assert objects.page("tables/orders/", "/", "", 2) == (months, months[1])
    assert objects.page("tables/orders/", "/", months[1], 2) == (["tables/orders/part-1.parquet"], None)
    assert objects.page("tables/", "", "", 9)[0] == objects.keys
    assert "<Size>2</Size>" in objects.listing("lake", {"prefix": "tables/orders/part"}).decode()


def test_answers_are_equal_whatever_their_order_and_types():
    one = pyarrow.table({"id": [1, 2], "day": [datetime.date(2024, 3, 1)] * 2, "amount": [1.5, 2.25]})
    two = pyarrow.table(
        {
            "amount": [decimal.Decimal("2.25"), decimal.Decimal("1.50")],
            "day": [datetime.datetime(2024, 3, 1)] * 2,
            "id": [2, 1],
        }
    )
    columns = ("id", "day", "amount")
    assert answer(one, columns) == answer(two, columns)
    assert answer(one, columns) != answer(one.set_column(2, "amount", pyarrow.array([2.25, 1.5])), columns)


def test_engines_that_disagree_are_named_with_the_query():
    with pytest.raises(Failure, match="point_paged: the engines disagree: DuckDB has 2 rows"):
        must_agree("point_paged", {"Fulmar": (1, 7), "DuckDB": (2, 7), "Polars": (1, 7)})


def test_a_query_is_the_same_as_sql():
    sql = queries(5, 6)["customer_bloom"].sql("orders")
    assert sql == "SELECT order_id, order_date, amount FROM orders WHERE customer_id = 6"


def test_a_section_replaces_only_itself(tmp_path):
    path = tmp_path / "docs" / "benchmarks.md"
    markdown.replace_section(path, "One", "first\n\n### Part\n\ntext")
    markdown.replace_section(path, "Two", "second")
    markdown.replace_section(path, "One", "third")
    text = path.read_text()
    assert text.startswith("# Benchmarks\n") and "first" not in text and "Part" not in text
    assert text.endswith("## One\n\nthird\n\n## Two\n\nsecond\n")


def test_a_wrong_name_is_refused_with_the_right_ones():
    assert chosen(None, ["a", "b"], "engine") == ["a", "b"]
    assert chosen("b", ["a", "b"], "engine") == ["b"]
    with pytest.raises(Failure, match="no engine is called c: there are a, b"):
        chosen("c", ["a", "b"], "engine")
