"""Count the app channels of a shop's log: a stream becomes a table, and a table a stream.

The log has one JSON object a line. Every 10 seconds of event time the visits of each channel are
counted, once with the Table API and once with SQL; a running count shows what a retract stream is.
"""

import json
from dataclasses import dataclass

from penstock.common import WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.table import StreamTableEnvironment
from penstock.table.window import Tumble

LINES = [
    '{"mid": "mid_1", "ch": "appstore", "ts": 1000}',
    '{"mid": "mid_2", "ch": "huawei", "ts": 2000}',
    '{"mid": "mid_3", "ch": "appstore", "ts": 9500}',
    '{"mid": "mid_4", "ch": "appstore", "ts": 12000}',
    '{"mid": "mid_5", "ch": "xiaomi", "ts": 15000}',
    '{"mid": "mid_6", "ch": "huawei", "ts": 21000}',
]


@dataclass
class EcommerceLog:
    mid: str
    ch: str
    ts: int


def parse(line: str) -> EcommerceLog:
    return EcommerceLog(**json.loads(line))


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    t_env = StreamTableEnvironment.create(env)
    logs = env.from_collection(LINES).map(parse)

    # The columns are the fields of the class.
    table = t_env.from_data_stream(logs).select("mid, ch").filter("ch = 'appstore'")
    t_env.to_append_stream(table).print("append")

    strategy = WatermarkStrategy.for_monotonous_timestamps()
    timed = logs.assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(lambda log, _: log.ts)
    )
    visits = t_env.from_data_stream(timed, "mid, ch, ts.rowtime")
    counts = (
        visits.window(Tumble.over("10000.millis").on("ts").alias("tt"))
        .group_by("ch, tt")
        .select("ch, ch.count as c")
    )
    t_env.to_append_stream(counts).print("window")

    t_env.register_table("visits", visits)
    in_sql = t_env.sql_query(
        "SELECT ch, COUNT(ch) AS c, TUMBLE_END(ts, INTERVAL '10' SECOND) AS until "
        "FROM visits GROUP BY ch, TUMBLE(ts, INTERVAL '10' SECOND)"
    )
    t_env.to_append_stream(in_sql).print("sql")

    # Without a window the count of a channel changes: what was right before is taken back.
    running = visits.group_by("ch").select("ch, ch.count as c")
    t_env.to_retract_stream(running).filter(lambda change: change[0]).print("new")
    t_env.to_retract_stream(running).print("retract")
    env.execute("channels")


if __name__ == "__main__":
    main()
