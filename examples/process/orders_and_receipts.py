"""Match payments of orders with receipts of the bank, from two files, at parallelism 3.

Both streams are keyed by the number of the transaction, so that both sides of a match meet in the
same subtask. The first function keeps in plain attributes what waits for its other side; the second
one works in event time and reports what has waited for five seconds.
"""

import tempfile
from dataclasses import dataclass
from pathlib import Path

from penstock.common import WatermarkStrategy
from penstock.datastream import (
    CoProcessFunction,
    KeyedCoProcessFunction,
    OutputTag,
    StreamExecutionEnvironment,
)
from penstock.datastream.state import ValueStateDescriptor

ORDERS = """\
34729,create,,1558430842
34730,create,,1558430843
34729,pay,sd76f87d6,1558430844
34730,pay,3hu3k2432,1558430845
34731,create,,1558430846
34731,pay,35jue34we,1558430849
34732,pay,32h3h4b4t,1558430852
"""
RECEIPTS = """\
3hu3k2432,wechat,1558430846
sd76f87d6,alipay,1558430847
35jue34we,alipay,1558430852
8fdsfae83,wechat,1558430858
"""
UNMATCHED = OutputTag("unmatched")


@dataclass
class Order:
    order: str
    event: str
    transaction: str
    second: int


@dataclass
class Receipt:
    transaction: str
    channel: str
    second: int


def order(line):
    number, event, transaction, second = line.split(",")
    return Order(number, event, transaction, int(second))


def receipt(line):
    transaction, channel, second = line.split(",")
    return Receipt(transaction, channel, int(second))


class Match(CoProcessFunction):
    """Keep in attributes what has come without its other side."""

    def __init__(self):
        self.orders = {}
        self.receipts = {}

    def process_element1(self, order, ctx):
        if order.transaction in self.receipts:
            del self.receipts[order.transaction]
            yield f"order {order.order} is paid"
        else:
            self.orders[order.transaction] = order

    def process_element2(self, receipt, ctx):
        if receipt.transaction in self.orders:
            yield f"order {self.orders.pop(receipt.transaction).order} is paid"
        else:
            self.receipts[receipt.transaction] = receipt


class MatchInTime(KeyedCoProcessFunction):
    """Keep in state what has come without its other side, for five seconds."""

    def open(self, context):
        self.order = context.get_state(ValueStateDescriptor("order"))
        self.receipt = context.get_state(ValueStateDescriptor("receipt"))

    def process_element1(self, order, ctx):
        if self.receipt.value() is not None:
            self.receipt.clear()
            yield f"order {order.order} is paid"
        else:
            self.order.update(order)
            ctx.timer_service().register_event_time_timer(ctx.timestamp() + 5000)

    def process_element2(self, receipt, ctx):
        if self.order.value() is not None:
            yield f"order {self.order.value().order} is paid"
            self.order.clear()
        else:
            self.receipt.update(receipt)
            ctx.timer_service().register_event_time_timer(ctx.timestamp() + 5000)

    def on_timer(self, timestamp, ctx):
        if self.order.value() is not None:
            yield UNMATCHED, f"order {self.order.value().order} has no receipt"
            self.order.clear()
        if self.receipt.value() is not None:
            yield UNMATCHED, f"receipt {ctx.get_current_key()} has no order"
            self.receipt.clear()


def main():
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(3)
    with tempfile.TemporaryDirectory() as folder:
        order_log, receipt_log = Path(folder, "OrderLog.csv"), Path(folder, "ReceiptLog.csv")
        order_log.write_text(ORDERS)
        receipt_log.write_text(RECEIPTS)
        orders = env.read_text_file(str(order_log)).map(order)
        payments = orders.filter(lambda order: order.event == "pay")
        receipts = env.read_text_file(str(receipt_log)).map(receipt)

        both = payments.key_by(lambda o: o.transaction).connect(
            receipts.key_by(lambda r: r.transaction)
        )
        both.process(Match()).map(lambda text: f"by attributes: {text}").print("match")

        in_order = WatermarkStrategy.for_monotonous_timestamps()
        in_order = in_order.with_timestamp_assigner(lambda value, _: value.second * 1000)
        both = payments.assign_timestamps_and_watermarks(in_order).connect(
            receipts.assign_timestamps_and_watermarks(in_order)
        )
        matched = both.key_by(lambda o: o.transaction, lambda r: r.transaction)
        matched = matched.process(MatchInTime())
        matched.map(lambda text: f"in time: {text}").print("match")
        matched.get_side_output(UNMATCHED).print("unmatched")
        env.execute("orders and receipts")


if __name__ == "__main__":
    main()
