"""Whether engines answer the same: the rows counted, and a checksum that knows neither their order nor their types."""

import datetime
import zlib
from collections import Counter

from ..failure import Failure


def answer(table, columns):
    """(rows, checksum) of an Arrow table; a single column may have any name."""
    if table.num_columns == 1:
        columns = table.column_names[: len(columns)]
    values = [table.column(name).to_pylist() for name in columns]
    lines = ("|".join(map(text, row)) for row in zip(*values, strict=True))
    return table.num_rows, sum(zlib.crc32(line.encode()) for line in lines)


def text(value):
    """A value in the one form that all engines share: numbers with two decimals, dates without a time."""
    if value is None:
        return ""
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, (datetime.date, datetime.datetime)):
        return value.strftime("%Y-%m-%d")
    return value if isinstance(value, str) else f"{value:.2f}"


def must_agree(query, answers):
    """Fails with the names of the engines whose answer is not the commonest one."""
    commonest, count = Counter(answers.values()).most_common(1)[0]
    if count == len(answers):
        return
    others = {engine: found for engine, found in answers.items() if found != commonest}
    said = "; ".join(f"{engine} has {shown(found)}" for engine, found in others.items())
    agreeing = ", ".join(engine for engine, found in answers.items() if found == commonest)
    raise Failure(f"{query}: the engines disagree: {said}; {agreeing}: {shown(commonest)}")


def shown(found):
    rows, checksum = found
    return f"{rows} rows with checksum {checksum:x}"
