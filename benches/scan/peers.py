"""How each other engine is asked. A function prepares a session and returns what the clock covers: to register the
table, plan, read, and hand over the whole result as Arrow. It must not know how it is measured.
"""

import functools
import operator
from decimal import Decimal

from .queries import COUNT, REVENUE

REGION, KEY, SECRET = "us-east-1", "key", "secret"
SIGNS = {"=": operator.eq, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


def datafusion(query, place, endpoint):
    import datafusion
    from datafusion.object_store import AmazonS3

    config = datafusion.SessionConfig({"datafusion.execution.parquet.pushdown_filters": "true"})
    context = datafusion.SessionContext(config)
    bucket = place.split("/")[0]
    store = AmazonS3(
        bucket_name=bucket,
        endpoint=f"http://{endpoint}",
        access_key_id=KEY,
        secret_access_key=SECRET,
        region=REGION,
        allow_http=True,
    )
    context.register_object_store(f"s3://{bucket}/", store)

    def run():
        context.register_parquet("t", f"s3://{place}")
        return context.sql(query.sql()).to_arrow_table()

    return run


def duckdb(query, place, endpoint):
    import duckdb
    from duckdb_extensions import import_extension

    connection = duckdb.connect()
    import_extension("httpfs")
    connection.execute("LOAD httpfs")
    secret = f"KEY_ID '{KEY}', SECRET '{SECRET}', ENDPOINT '{endpoint}', URL_STYLE 'path', USE_SSL false"
    connection.execute(f"CREATE SECRET (TYPE s3, {secret})")
    return lambda: connection.execute(query.sql(f"read_parquet('s3://{files(place)}')")).to_arrow_table()


def chdb(query, place, endpoint):
    import chdb
    import pyarrow

    chdb.query("SELECT 1")
    source = f"s3('http://{endpoint}/{files(place)}', '{KEY}', '{SECRET}', 'Parquet')"

    def run():
        answer = chdb.query(query.sql(source), "Arrow")
        return pyarrow.ipc.open_file(pyarrow.BufferReader(answer.bytes())).read_all()

    return run


def polars(query, place, endpoint):
    import polars

    options = {
        "aws_endpoint_url": f"http://{endpoint}",
        "aws_access_key_id": KEY,
        "aws_secret_access_key": SECRET,
        "aws_region": REGION,
        "aws_allow_http": "true",
    }

    def run():
        frame = polars.scan_parquet(f"s3://{files(place)}", storage_options=options)
        if query.where:
            frame = frame.filter(*comparisons(query, polars.col))
        if query.aggregate == COUNT:
            frame = frame.select(n=polars.len())
        elif query.aggregate == REVENUE:
            # A product keeps the scale of its factors, so it would lose cents.
            discount = polars.col("l_discount").cast(polars.Decimal(38, 4))
            frame = frame.select((polars.col("l_extendedprice") * discount).sum())
        elif query.select:
            frame = frame.select(query.select)
        if query.order_by:
            frame = frame.sort(query.order_by, descending=True)
        if query.limit:
            frame = frame.head(query.limit)
        return frame.collect().to_arrow()

    return run


def pyarrow(query, place, endpoint):
    import pyarrow.dataset
    import pyarrow.fs

    store = pyarrow.fs.S3FileSystem(
        access_key=KEY, secret_key=SECRET, endpoint_override=endpoint, scheme="http", region=REGION
    )
    conditions = comparisons(query, pyarrow.dataset.field, of_pyarrow)
    kept = functools.reduce(operator.and_, conditions) if conditions else None

    def run():
        dataset = pyarrow.dataset.dataset(place.rstrip("/"), filesystem=store, format="parquet")
        return pyarrow_answer(query, dataset, kept)

    return run


def pyarrow_answer(query, dataset, kept):
    import pyarrow
    import pyarrow.compute as pc

    if query.aggregate == COUNT:
        return pyarrow.table({"n": [dataset.count_rows(filter=kept)]})
    if query.aggregate == REVENUE:
        rows = dataset.to_table(columns=["l_extendedprice", "l_discount"], filter=kept)
        revenue = pc.sum(pc.multiply(rows["l_extendedprice"], rows["l_discount"]))
        return pyarrow.table({"revenue": [revenue.as_py()]})
    if query.order_by:
        rows = dataset.to_table(filter=kept)
        return rows.take(pc.select_k_unstable(rows, query.limit, [(query.order_by, "descending")]))
    if query.limit:
        return dataset.head(query.limit)
    return dataset.to_table(columns=list(query.select) or None, filter=kept)


def of_pyarrow(column, value):
    """The one case in which pyarrow compares no column of decimals with a number."""
    return Decimal(value) if column == "l_quantity" else value


def comparisons(query, column_of, value_of=lambda _, value: value):
    return [SIGNS[sign](column_of(column), value_of(column, value)) for column, sign, value in query.where]


def files(place):
    """A glob of all files for engines that expand it themselves."""
    return f"{place}**/*.parquet" if place.endswith("/") else place


PEERS = {"datafusion": datafusion, "duckdb": duckdb, "polars": polars, "pyarrow": pyarrow, "chdb": chdb}
