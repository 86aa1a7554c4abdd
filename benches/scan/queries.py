"""The thirteen queries. Each is told once, as parts from which SQL and the expressions of data frames are made."""

import datetime
from dataclasses import dataclass
from decimal import Decimal

COUNT, REVENUE = "count(*)", "sum(l_extendedprice * l_discount)"


@dataclass(frozen=True)
class Query:
    """One query. `select` and `where` empty mean all columns and all rows."""

    name: str
    table: str
    # Columns whose values must be equal between engines: none when any rows are right.
    checked: tuple
    select: tuple = ()
    # (column, operator, value), all of which must hold.
    where: tuple = ()
    aggregate: str | None = None
    order_by: str | None = None
    limit: int | None = None

    def sql(self, source="t"):
        """The statement over a table or table function."""
        alias = {COUNT: "n", REVENUE: "revenue"}.get(self.aggregate)
        columns = f"{self.aggregate} AS {alias}" if alias else ", ".join(self.select) or "*"
        parts = [f"SELECT {columns} FROM {source}"]
        if self.where:
            parts.append(
                "WHERE " + " AND ".join(f"{column} {sign} {literal(value)}" for column, sign, value in self.where)
            )
        if self.order_by:
            parts.append(f"ORDER BY {self.order_by} DESC")
        if self.limit:
            parts.append(f"LIMIT {self.limit}")
        return " ".join(parts)


def literal(value):
    return f"DATE '{value}'" if isinstance(value, datetime.date) else str(value)


def queries(order_id, customer_id):
    """All queries by name; the two values exist in the data."""
    fortnight = between("order_date", datetime.date(2024, 3, 1), datetime.date(2024, 3, 15))
    three, found = ("order_id", "customer_id", "amount"), ("order_id", "order_date", "amount")
    orders = ("order_id", "customer_id", "order_date", "amount", "status", "country", "note")
    point, customer = (("order_id", "=", order_id),), (("customer_id", "=", customer_id),)
    q6 = (
        *between("l_shipdate", datetime.date(1994, 1, 1), datetime.date(1995, 1, 1)),
        ("l_discount", ">=", Decimal("0.05")),
        ("l_discount", "<=", Decimal("0.07")),
        ("l_quantity", "<", 24),
    )
    every = [
        *(
            Query(f"fortnight_{layout}", table, three, three, fortnight)
            for layout, table in [
                ("month", "orders_by_month"),
                ("sorted", "orders_sorted"),
                ("paged", "orders_paged"),
                ("shuffled", "orders_shuffled"),
            ]
        ),
        Query("point_sorted", "orders_sorted", orders, where=point),
        Query("point_paged", "orders_paged", orders, where=point),
        Query("customer_sorted", "orders_sorted", found, found, customer),
        Query("customer_bloom", "orders_bloom", found, found, customer),
        Query("limit10_month", "orders_by_month", (), limit=10),
        Query("count_sorted", "orders_sorted", ("n",), where=fortnight, aggregate=COUNT),
        Query("count_month", "orders_by_month", ("n",), where=fortnight, aggregate=COUNT),
        # Rows of equal amounts may take each other's place.
        Query("topk_sorted", "orders_sorted", ("amount",), order_by="amount", limit=10),
        Query("q6_lineitem", "lineitem", ("revenue",), where=q6, aggregate=REVENUE),
    ]
    return {query.name: query for query in every}


def between(column, first, end):
    return ((column, ">=", first), (column, "<", end))


# The names alone, for flags.
NAMES = list(queries(0, 0))
