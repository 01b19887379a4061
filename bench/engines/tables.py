"""The SQL queries on tables: one program for Penstock and for PyFlink.

It runs on whichever of the two its environment has. Results go into `blackhole`; the run that is
checked collects them.

    python -m bench.engines.tables sql-projection nexmark-q0
"""

from __future__ import annotations

import sys
from importlib.metadata import version

from bench.engines.query_program import created, main
from bench.workloads import queries
from bench.workloads.answers import final

try:
    from penstock.common import Row
    from penstock.table import DataTypes, EnvironmentSettings, TableEnvironment
    from penstock.table.udf import AggregateFunction, udaf, udf

    ENGINE, VERSION = "penstock", version("penstock")
except ModuleNotFoundError:
    from pyflink.common import Row
    from pyflink.table import DataTypes, EnvironmentSettings, TableEnvironment
    from pyflink.table.udf import AggregateFunction, udaf, udf

    ENGINE, VERSION = "pyflink", version("apache-flink")

PARALLELISM = 2
#: Kinds of changes by which a row comes.
COMES = (0, 2)


class Averaged(AggregateFunction):
    """A weighted mean, cut to a whole number."""

    def create_accumulator(self):
        return Row(0, 0)

    def get_value(self, accumulator):
        return accumulator[0] // accumulator[1] if accumulator[1] else None

    def accumulate(self, accumulator, value, weight):
        accumulator[0] += value * weight
        accumulator[1] += weight

    def retract(self, accumulator, value, weight):
        accumulator[0] -= value * weight
        accumulator[1] -= weight

    def get_result_type(self):
        return DataTypes.BIGINT()

    def get_accumulator_type(self):
        fields = [DataTypes.FIELD("total", DataTypes.BIGINT())]
        return DataTypes.ROW([*fields, DataTypes.FIELD("weight", DataTypes.BIGINT())])


def mixed(value, number):
    return queries.mixed(value, number)


def functions():
    """Return the functions of the queries by name; new ones each time, as jobs pickle them."""
    return {
        "mixed": udf(mixed, result_type=DataTypes.BIGINT()),
        "averaged": udaf(Averaged()),
    }


def environment(batch, folder, settings):
    mode = EnvironmentSettings.in_batch_mode if batch else EnvironmentSettings.in_streaming_mode
    made = TableEnvironment.create(mode())
    defaults = {"parallelism.default": str(PARALLELISM), "table.local-time-zone": "UTC"}
    if ENGINE == "pyflink":
        defaults["python.executable"] = sys.executable
        if not batch:
            defaults["execution.checkpointing.interval"] = "10 s"
            defaults["execution.checkpointing.dir"] = f"file://{folder}/checkpoints"
    for key, value in {**defaults, **settings}.items():
        made.get_config().set(key, value)
    return made


def prepare(query, records, folder, collect, settings):
    """Create the tables of a query; return what runs it."""
    env = environment(query.batch, folder, settings)
    for statement in created(query, records, 0):
        env.execute_sql(statement)
    for name in query.functions:
        env.create_temporary_function(name, functions()[name])
    if collect:
        return lambda: _final_rows(env.execute_sql(query.flink))
    env.execute_sql(
        f"CREATE TEMPORARY TABLE results ({query.result}) WITH ('connector' = 'blackhole')"
    )
    return lambda: _run(env, f"INSERT INTO results {query.flink}")


def _run(env, statement):
    env.execute_sql(statement).wait()


def _final_rows(result):
    with result.collect() as rows:
        return final((row.get_row_kind().value in COMES, tuple(row)) for row in rows)


if __name__ == "__main__":
    main(prepare, ENGINE, VERSION)
