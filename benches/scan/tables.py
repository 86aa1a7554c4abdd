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
    """An order_id, a customer_id and the number of rows of a table of orders: an order that lies in the second half,
    and a customer with as many orders as customers have on average."""
    import pyarrow.compute as pc
    import pyarrow.dataset as ds

    rows = ds.dataset(table.folder, format="parquet").to_table(columns=["order_id", "customer_id"])
    order = rows["order_id"][int(rows.num_rows * 0.617)].as_py()
    customers, orders = rows["customer_id"].value_counts().flatten()
    distance = pc.abs(pc.subtract(orders, round(rows.num_rows / len(customers))))
    typical = customers.filter(pc.equal(distance, pc.min(distance)))
    return order, pc.min(typical).as_py(), rows.num_rows
