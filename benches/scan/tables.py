"""The files that are asked about: where they lie here and in the store, and values that they hold."""

from dataclasses import dataclass
from pathlib import Path

from ..store.handle import BUCKET

PREFIX = "tables"


@dataclass(frozen=True)
class Table:
    """One table: a folder of Parquet files."""

    name: str
    folder: Path

    @property
    def prefix(self):
        """Its folder in the store."""
        return f"{PREFIX}/{self.name}"

    def place(self):
        """Bucket and key: of the file when it is only one, so that no engine must list; else of the folder, with a
        slash at its end."""
        files = list(self.folder.rglob("*.parquet"))
        if len(files) == 1:
            return f"{BUCKET}/{self.prefix}/{files[0].relative_to(self.folder).as_posix()}"
        return f"{BUCKET}/{self.prefix}/"


def find(fixtures, names):
    """The tables that are there, by name."""
    folders = {name: Path(fixtures) / name for name in names}
    return {name: Table(name, folder) for name, folder in folders.items() if folder.is_dir()}


def values(table):
    """An order_id and a customer_id from the middle of a table of orders, and its number of rows."""
    import pyarrow.dataset as ds

    rows = ds.dataset(table.folder, format="parquet").to_table(columns=["order_id", "customer_id"])
    order, customer = int(rows.num_rows * 0.617), int(rows.num_rows * 0.42)
    return rows["order_id"][order].as_py(), rows["customer_id"][customer].as_py(), rows.num_rows
