"""Join goods with the items of orders: what was sold, and for how much.

Both are streams: the list of goods comes again every second, and order items refer to them. A
window join meets what falls into the same five seconds; an interval join meets each item with the
goods from two seconds before it to one second after it.
"""

import random
from decimal import Decimal
from typing import NamedTuple

from penstock.common import Time, WatermarkStrategy
from penstock.datastream import (
    JoinFunction,
    ProcessJoinFunction,
    RichSourceFunction,
    StreamExecutionEnvironment,
)
from penstock.datastream.window import TumblingEventTimeWindows

START = 1_623_549_600_000
SECONDS = 6


class Goods(NamedTuple):
    goods_id: str
    goods_name: str
    goods_price: Decimal


class OrderItem(NamedTuple):
    item_id: str
    goods_id: str
    count: int


class FactOrderItem(NamedTuple):
    goods_id: str
    goods_name: str
    count: int
    total_money: Decimal


GOODS = [
    Goods("1", "Xiaomi 12", Decimal(4890)),
    Goods("2", "iPhone 12", Decimal(12000)),
    Goods("3", "MacBook Pro", Decimal(15000)),
    Goods("4", "ThinkPad X1", Decimal(9800)),
    Goods("5", "Meizu One", Decimal(3200)),
    Goods("6", "Mate 40", Decimal(6500)),
]


class GoodsSource(RichSourceFunction):
    """Send all goods every second."""

    def __init__(self):
        self.is_cancelled = False

    def run(self, ctx):
        for second in range(SECONDS):
            for goods in GOODS:
                if self.is_cancelled:
                    return
                ctx.collect_with_timestamp(goods, START + 1000 * second)

    def cancel(self):
        self.is_cancelled = True


class OrderItemSource(RichSourceFunction):
    """Send an item every second, and one of goods that nobody knows."""

    def __init__(self, seed):
        self.is_cancelled = False
        self.seed = seed

    def run(self, ctx):
        chance = random.Random(self.seed)
        for second in range(SECONDS):
            if self.is_cancelled:
                return
            goods = chance.choice(GOODS)
            item = OrderItem(f"item-{second}", goods.goods_id, chance.randint(1, 10))
            ctx.collect_with_timestamp(item, START + 1000 * second + 500)
            ctx.collect_with_timestamp(item._replace(goods_id="111"), START + 1000 * second + 500)

    def cancel(self):
        self.is_cancelled = True


def sold(goods, item):
    return FactOrderItem(
        goods.goods_id, goods.goods_name, item.count, goods.goods_price * item.count
    )


class WindowJoin(JoinFunction):
    def join(self, first, second):
        return sold(first, second)


class IntervalJoin(ProcessJoinFunction):
    def process_element(self, left, right, ctx):
        yield sold(left, right)


def show(fact):
    return f"{fact.goods_id} {fact.goods_name}: {fact.count} for {fact.total_money}"


def main():
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    in_order = WatermarkStrategy.for_monotonous_timestamps()
    goods = env.add_source(GoodsSource()).assign_timestamps_and_watermarks(in_order)
    items = env.add_source(OrderItemSource(7)).assign_timestamps_and_watermarks(in_order)

    by_window = (
        goods.join(items)
        .where(lambda goods: goods.goods_id)
        .equal_to(lambda item: item.goods_id)
        .window(TumblingEventTimeWindows.of(Time.seconds(5)))
        .apply(WindowJoin())
    )
    by_window.map(show).print("window")

    by_interval = (
        goods.key_by(lambda goods: goods.goods_id)
        .interval_join(items.key_by(lambda item: item.goods_id))
        .between(Time.seconds(-2), Time.seconds(1))
        .process(IntervalJoin())
    )
    by_interval.map(show).print("interval")

    env.execute("goods and orders")


if __name__ == "__main__":
    main()
