"""Split a stream in three: orders to pack, large ones to a second output, bad ones to a third."""

from penstock.common import Row, Types
from penstock.datastream import OutputTag, ProcessFunction, StreamExecutionEnvironment


def order_type():
    return Types.ROW_NAMED(["id", "item", "amount"], [Types.INT(), Types.STRING(), Types.DOUBLE()])


LARGE = OutputTag("large-orders", order_type())
REJECTED = OutputTag("rejected-orders", Types.STRING())

ORDERS = [
    Row(id=1, item="lamp", amount=40.0),
    Row(id=2, item="desk", amount=640.0),
    Row(id=3, item="chair", amount=-5.0),
    Row(id=4, item="shelf", amount=120.0),
    Row(id=5, item="sofa", amount=999.5),
    Row(id=6, item="", amount=12.0),
]


class Triage(ProcessFunction):
    def __init__(self, limit):
        self.limit = limit

    def process_element(self, value, ctx: "ProcessFunction.Context"):
        if not value.item:
            yield REJECTED, f"order {value.id} names no item"
        elif value.amount <= 0:
            yield REJECTED, f"order {value.id} has amount {value.amount}"
        elif value.amount > self.limit:
            yield LARGE, value
        else:
            yield value


def main():
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)

    orders = env.from_collection(ORDERS, type_info=order_type())
    accepted = orders.process(Triage(limit=500), output_type=order_type())

    accepted.map(lambda order: f"pack {order.item}", Types.STRING()).print()
    accepted.get_side_output(LARGE).map(
        lambda order: f"sign off {order.item} ({order.amount})", Types.STRING()
    ).print()
    accepted.get_side_output(REJECTED).print()

    env.execute("split by side output")


if __name__ == "__main__":
    main()
