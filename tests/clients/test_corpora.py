"""Parquet files that nobody here wrote, each through the whole service: the stated rows come back, or a clear error does.

The files and their answers are read from FULMAR_CORPORA (default: ../shared/corpora beside the repository); without it the
tests are skipped. One server serves all of them, so a file that takes it down fails the next ones too.
"""

import importlib.util
import json
import os
import pathlib

import adbc_driver_flightsql.dbapi
import pytest

from local_server import LocalServer

ROOT = pathlib.Path(__file__).resolve().parents[2]
CORPUS = pathlib.Path(os.environ.get("FULMAR_CORPORA") or ROOT.parent / "shared/corpora") / "parquet"
ANSWERS = sorted((CORPUS / "expected").glob("*.json"))
MOST_MEMORY = 512 << 20

pytestmark = pytest.mark.skipif(not ANSWERS, reason=f"no corpus of Parquet files at {CORPUS} (set FULMAR_CORPORA)")


@pytest.fixture(scope="module")
def canon():
    """The one plain form of rows in which answers are stated."""
    spec = importlib.util.spec_from_file_location("canon", CORPUS / "canon.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def lake(binary, make_table, tmp_path_factory):
    """A server over another table, to which the tests add those of the corpus one by one."""
    data = tmp_path_factory.mktemp("data")
    make_table(data, "customers")
    with LocalServer(binary, data, tmp_path_factory.mktemp("state")) as running:
        yield running


def peak_memory(server):
    """Bytes of memory that the server has held at most."""
    status = pathlib.Path(f"/proc/{server.child.pid}/status").read_text()
    return next(int(line.split()[1]) << 10 for line in status.splitlines() if line.startswith("VmHWM"))


def read(server, file):
    """All rows of a file, or the error that says why not."""
    with adbc_driver_flightsql.dbapi.connect(server.uri, autocommit=True) as connection, connection.cursor() as cursor:
        try:
            cursor.execute(f"CREATE EXTERNAL TABLE t STORED AS PARQUET LOCATION '{file}'")
            cursor.fetchall()
            try:
                cursor.execute("SELECT * FROM t")
                return cursor.fetch_arrow_table()
            finally:
                cursor.execute("DROP TABLE t")
                cursor.fetchall()
        except adbc_driver_flightsql.dbapi.Error as error:
            return str(error)


def is_right(answer, found):
    """Whether rows are the stated ones; some files have several right answers."""
    if answer.get("digest") is None:
        return found["rows"] == answer["rows"]
    return found["digest"] in [answer["digest"], *answer.get("also_accepted", [])]


@pytest.mark.parametrize("path", ANSWERS, ids=lambda path: path.name.removesuffix(".json"))
def test_a_file_gives_its_rows_or_a_clear_error(lake, canon, path):
    answer = json.loads(path.read_text())
    file = CORPUS / answer["file"]
    found = read(lake, file)
    assert lake.child.poll() is None, "the server has ended"
    if isinstance(found, str):
        assert answer["expect"] != "rows", found
        assert file.name in found and "\n" not in found.strip().removeprefix("\n"), found
        assert "panicked" not in found, found
    else:
        assert answer["expect"] != "error", "rows of a file that must be refused"
        summary = canon.summarize(found)
        if "digest" in answer or answer["expect"].startswith("rows"):
            assert is_right(answer, summary), f"{summary['rows']} rows: {summary['columns']}"
        else:
            pytest.fail(f"made-up rows of a damaged file: {summary['rows']}")
    assert peak_memory(lake) < MOST_MEMORY
