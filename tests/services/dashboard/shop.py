"""A shop's sales by seller and five seconds, in another currency: for ever, with some late ones.

Run it with a folder for the results; `--fail-at N` makes sale number N one that cannot be read.
"""

import argparse
import logging
import time

from penstock.common import Duration, Encoder, Time, WatermarkStrategy
from penstock.common.watermark_strategy import TimestampAssigner
from penstock.core.functions import BroadcastProcessFunction, MapFunction
from penstock.core.output_tag import OutputTag
from penstock.core.state import MapStateDescriptor
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors import DataGeneratorSource, FileSink
from penstock.datastream.window import TumblingEventTimeWindows

RATE = 400
SELLERS = ["ada", "ada", "ada", "bob", "cyd", "dan", "eve", "fay"]
LATE = OutputTag("late sales")
RATES = MapStateDescriptor("rates")
log = logging.getLogger("shop")


class AtSale(TimestampAssigner):
    """The time that stands in a sale."""

    def extract_timestamp(self, value, record_timestamp):
        return int(value.split(",")[2])


class AtRate(TimestampAssigner):
    """The time of a rate of exchange."""

    def extract_timestamp(self, value, record_timestamp):
        return value[1]


class ReadSale(MapFunction):
    """Cut a line into seller, cents and time."""

    def open(self, runtime_context):
        log.warning("the shop is open")
        self.large = runtime_context.get_metrics_group().counter("largeSales")

    def map(self, value):
        seller, cents, at = value.split(",")
        if int(cents) > 9_000:
            self.large.inc()
        return seller, int(cents), int(at)


class Convert(BroadcastProcessFunction):
    """Apply the latest rate of exchange."""

    def process_element(self, value, ctx):
        rate = ctx.get_broadcast_state(RATES).get("EUR") or 1.0
        yield f"{value[0]} {value[1] * rate:.0f}"

    def process_broadcast_element(self, value, ctx):
        ctx.get_broadcast_state(RATES).put("EUR", value[0])


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("folder")
    options.add_argument("--fail-at", type=int, default=-1)
    given = options.parse_args()
    fail_at, begin = given.fail_at, int(time.time() * 1000)

    def sale(index: int) -> str:
        at = begin + index * 1000 // RATE - (15_000 if index % 500 == 499 else 0)
        cents = "12.50 EUR" if index == fail_at else str(index * 37 % 10_000)
        return f"{SELLERS[index % len(SELLERS)]},{cents},{at}"

    env = StreamExecutionEnvironment.get_execution_environment()
    in_order = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(2))
    lines = env.from_source(
        DataGeneratorSource(sale, rate=RATE),
        in_order.with_timestamp_assigner(AtSale()),
        "sales",
    ).uid("sales")
    rates = env.from_source(
        DataGeneratorSource(lambda index: (1 + index % 10 / 100, begin + index * 1000), rate=1),
        in_order.with_timestamp_assigner(AtRate()),
        "exchange rates",
    ).uid("rates")
    windows = (
        lines.map(ReadSale())
        .name("read sale")
        .uid("read")
        .key_by(lambda one: one[0])
        .window(TumblingEventTimeWindows.of(Time.seconds(5)))
        .side_output_late_data(LATE)
        .reduce(lambda a, b: (a[0], a[1] + b[1], b[2]))
        .name("sales by seller")
        .uid("windows")
    )
    late = windows.get_side_output(LATE).map(str).name("late ones").uid("late")
    late.sink_to(_files(given.folder, "late")).name("late").uid("late-files")
    converted = windows.connect(rates.broadcast(RATES)).process(Convert())
    converted.name("convert").uid("convert").sink_to(_files(given.folder, "sales")).name(
        "results"
    ).uid("result-files")
    env.execute("sales by seller")


def _files(folder: str, name: str) -> FileSink:
    return FileSink.for_row_format(f"{folder}/{name}", Encoder.simple_string_encoder()).build()


if __name__ == "__main__":
    main()
