"""TPC-H lineitem at scale factor 1: one file as the generator writes it, and one per month of shipping. Made once."""

import os
import pathlib
import shutil
import subprocess
import sys

from .failure import Failure

ROWS = 6_001_215
GENERATOR_SECONDS = 600
DICTIONARIES = [
    "l_returnflag",
    "l_linestatus",
    "l_shipinstruct",
    "l_shipmode",
    "l_quantity",
    "l_discount",
    "l_tax",
    "l_shipdate",
    "l_commitdate",
    "l_receiptdate",
]


def one_file(folder):
    """The file as the generator writes it, in a folder of its own."""
    return made(pathlib.Path(folder) / "one", generate) / "lineitem.parquet"


def by_month(folder):
    """The folder with `shipmonth=YYYY-MM/part-0.parquet`, each sorted by date of shipping and with a page index."""
    return made(pathlib.Path(folder) / "by-month", lambda unfinished: split(one_file(folder), unfinished))


def made(folder, make):
    """Makes a folder unless it is there: under another name first, so that an interrupted run leaves no half of it."""
    if folder.exists():
        return folder
    unfinished = folder.with_name(f".{folder.name}")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    print(f"making {folder}", flush=True)
    make(unfinished)
    unfinished.rename(folder)
    return folder


def generate(folder):
    generator = pathlib.Path(sys.executable).with_name("tpchgen-cli")
    command = [generator, "parquet", "--scale-factor", "1", "--tables", "lineitem", "--output-dir", folder]
    try:
        subprocess.run(command, check=True, timeout=GENERATOR_SECONDS)
    except (OSError, subprocess.SubprocessError) as error:
        raise Failure(f"cannot generate lineitem: {error}") from error


def split(file, folder):
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    lineitem = with_plain_strings(pq.read_table(file))
    months = pc.strftime(lineitem["l_shipdate"], "%Y-%m").combine_chunks().dictionary_encode()
    for position, month in enumerate(months.dictionary.to_pylist()):
        part = folder / f"shipmonth={month}"
        os.makedirs(part)
        rows = lineitem.filter(pc.equal(months.indices, position))
        pq.write_table(
            rows.sort_by([("l_shipdate", "ascending"), ("l_orderkey", "ascending")]),
            part / "part-0.parquet",
            write_page_index=True,
            data_page_size=64 * 1024,
            use_dictionary=DICTIONARIES,
        )


def with_plain_strings(table):
    """The table without string views, which not every function of pyarrow takes."""
    import pyarrow

    plain = [
        field.with_type(pyarrow.string()) if pyarrow.types.is_string_view(field.type) else field
        for field in table.schema
    ]
    return table.cast(pyarrow.schema(plain))
