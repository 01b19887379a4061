"""Keyed state in rich functions: in a map, in a flat map and in a process function."""

from penstock.common import Types
from penstock.datastream import (
    FlatMapFunction,
    KeyedProcessFunction,
    MapFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from penstock.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    ValueStateDescriptor,
)

PAYMENTS = [("ann", 10), ("bob", 5), ("ann", 20), ("bob", 7), ("ann", 30), ("ann", 5), ("bob", 7)]
PAYMENT = Types.TUPLE([Types.STRING(), Types.INT()])


class RunningTotal(MapFunction):
    """Add up what each person has paid."""

    def __init__(self):
        self.total = None

    def open(self, runtime_context: RuntimeContext):
        self.total = runtime_context.get_state(ValueStateDescriptor("total", Types.INT()))

    def map(self, value):
        name, amount = value
        total = (self.total.value() or 0) + amount
        self.total.update(total)
        return f"total   {name} {total}"


class PairsOfPayments(FlatMapFunction):
    """Give the average of every two payments of a person."""

    def open(self, runtime_context: RuntimeContext):
        self.seen = runtime_context.get_list_state(ListStateDescriptor("seen", Types.INT()))

    def flat_map(self, value):
        name, amount = value
        self.seen.add(amount)
        seen = list(self.seen.get())
        if len(seen) == 2:
            yield f"average {name} {sum(seen) / 2}"
            self.seen.clear()


class Repeated(KeyedProcessFunction):
    """Tell of an amount that a person has paid before."""

    def open(self, runtime_context: RuntimeContext):
        descriptor = MapStateDescriptor("amounts", Types.INT(), Types.INT())
        self.amounts = runtime_context.get_map_state(descriptor)
        self.task = runtime_context.get_index_of_this_subtask()

    def process_element(self, value, ctx: "KeyedProcessFunction.Context"):
        _, amount = value
        times = (self.amounts.get(amount) or 0) + 1
        self.amounts.put(amount, times)
        if times > 1:
            yield f"again   {ctx.get_current_key()} {amount} x{times} (subtask {self.task})"


def main():
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)

    payments = env.from_collection(PAYMENTS, type_info=PAYMENT).key_by(
        lambda payment: payment[0], key_type=Types.STRING()
    )

    payments.map(RunningTotal(), output_type=Types.STRING()).print()
    payments.flat_map(PairsOfPayments(), output_type=Types.STRING()).print()
    payments.process(Repeated(), output_type=Types.STRING()).print()

    env.execute("rich map with state")


if __name__ == "__main__":
    main()
