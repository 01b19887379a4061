"""Find orders that were not paid within fifteen minutes.

An order that is paid in time is a match; one that is not is a partial match whose time is up. A
payment that comes later than the watermark allows for goes to a side output of its own.
"""

from dataclasses import dataclass

from penstock.cep import CEP, Pattern, PatternProcessFunction, TimedOutPartialMatchHandler
from penstock.common import Configuration, Duration, WatermarkStrategy
from penstock.datastream import OutputTag, StreamExecutionEnvironment

MINUTE = 60_000
UNPAID, LATE = OutputTag("unpaid"), OutputTag("late")


@dataclass
class OrderEvent:
    order: str
    kind: str
    minute: int


EVENTS = [
    OrderEvent("A-1", "create", 0),
    OrderEvent("A-2", "create", 1),
    OrderEvent("A-1", "modify", 2),
    OrderEvent("A-1", "pay", 9),
    OrderEvent("A-3", "create", 10),
    OrderEvent("A-2", "pay", 17),
    OrderEvent("A-3", "pay", 24),
    OrderEvent("A-4", "create", 30),
    OrderEvent("A-2", "modify", 12),
]


class Payments(PatternProcessFunction, TimedOutPartialMatchHandler):
    def process_match(self, match, ctx):
        created, paid = match["create"][0], match["pay"][0]
        yield f"{created.order} paid after {paid.minute - created.minute} minutes"

    def process_timed_out_match(self, match, ctx):
        created = match["create"][0]
        ctx.output(UNPAID, f"{created.order} not paid until minute {ctx.timestamp() // MINUTE}")


def main():
    # A watermark after every record, so that the last one of so short a stream is late.
    every_record = Configuration()
    every_record.set_string("penstock.watermark.records", "1")
    env = StreamExecutionEnvironment.get_execution_environment(every_record)
    env.set_parallelism(1)
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_minutes(2))
    events = env.from_collection(EVENTS).assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(lambda event, _: event.minute * MINUTE)
    )
    payment = (
        Pattern.begin("create")
        .where(lambda event: event.kind == "create")
        .followed_by("pay")
        .where(lambda event: event.kind == "pay")
        .within(Duration.of_minutes(15))
    )
    orders = events.key_by(lambda event: event.order)
    payments = CEP.pattern(orders, payment).side_output_late_data(LATE).process(Payments())
    payments.print("paid")
    payments.get_side_output(UNPAID).print("unpaid")
    payments.get_side_output(LATE).print("late")
    env.execute("payment timeout")


if __name__ == "__main__":
    main()
