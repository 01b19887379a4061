"""The SQL queries on Spark SQL: batch queries over the same input, so final rows only.

python -m bench.engines.tables_spark sql-projection nexmark-q0
"""

from __future__ import annotations

import pandas as pd
import pyspark
from pyspark.sql import functions as F
from pyspark.sql.types import LongType

from bench.engines.pyspark_query import session
from bench.engines.query_program import created, main
from bench.workloads import queries
from bench.workloads.answers import final


def mixed(value: int, number: int) -> int:
    return queries.mixed(value, number)


def averaged(values: pd.Series, weights: pd.Series) -> int:
    return int((values * weights).sum() // weights.sum())


#: A function called for each row, and one called with the columns of a group.
FUNCTIONS = {
    "mixed": lambda: F.udf(mixed, LongType()),
    "averaged": lambda: F.pandas_udf(averaged, LongType(), F.PandasUDFType.GROUPED_AGG),
}


def prepare(query, records, folder, collect, settings):
    """Create the tables of a query; return what runs it."""
    spark = session()
    for statement in created(query, records, 1):
        spark.sql(statement)
    for name in query.functions:
        spark.udf.register(name, FUNCTIONS[name]())
    result = spark.sql(query.flink if query.spark is None else query.spark)
    if collect:
        return lambda: final((True, tuple(row)) for row in result.collect())
    return lambda: result.write.format("noop").mode("overwrite").save()


if __name__ == "__main__":
    main(prepare, "pyspark", pyspark.__version__)
