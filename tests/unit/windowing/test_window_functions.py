"""What window functions can ask, keep and send; what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.core.functions import (
    AggregateFunction,
    AllWindowFunction,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    ReduceFunction,
    WindowFunction,
)
from penstock.core.output_tag import OutputTag
from penstock.core.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from penstock.core.windowing import (
    CountTrigger,
    EventTimeSessionWindows,
    EventTimeTrigger,
    GlobalWindows,
    MergingWindowAssigner,
    PurgingTrigger,
    SlidingEventTimeWindows,
    TimeWindow,
    Trigger,
    TriggerResult,
    TumblingEventTimeWindows,
    Window,
    WindowAssigner,
)
from penstock.errors import MissingTimestampError, ProgramError, StateError
from penstock.graph.specs import Aggregated, Reduced, WindowSpec
from penstock.runtime.operators.window import WindowOperator
from penstock.runtime.operators.window_aligned import AlignedWindowOperator, TumblingCombineOperator
from penstock.runtime.operators.window_choice import window_operator_class
from penstock.runtime.operators.window_session import SessionWindowOperator
from penstock.runtime.operators.window_sliced import SlicedWindowOperator
from penstock.testing.harness import OperatorHarness, Record

SIDE = OutputTag("side")
TUMBLING = TumblingEventTimeWindows(10)
LONG = SlidingEventTimeWindows(100, 10)


def harness_of(assigner: Any, trigger: Any = None, **parts: Any) -> OperatorHarness:
    spec = WindowSpec(assigner, trigger or assigner.get_default_trigger(), **parts)
    return OperatorHarness(spec, lambda record: record[0], side_outputs=[SIDE], name="windows")


class Asking(ProcessWindowFunction):
    """Say all that the context knows."""

    def process(self, key, context, elements):
        context.output(SIDE, len(list(elements)))
        yield SIDE, "yielded"
        window = context.window()
        times = context.current_watermark(), context.current_processing_time()
        yield key, (window.start, window.end), times


@pytest.mark.parametrize("trigger", [EventTimeTrigger(), PurgingTrigger(EventTimeTrigger())])
def test_a_process_function_knows_window_and_time(trigger: Trigger) -> None:
    harness = harness_of(TUMBLING, trigger, function=Asking())
    harness.set_processing_time(7)
    harness.process_element(("a", 1), 3)
    harness.process_watermark(15)
    assert harness.take_records() == [("a", (0, 10), (15, 7))]
    assert harness.take_side_output(SIDE) == [Record(1, 9), Record("yielded", 9)]


class Remembering(ProcessWindowFunction):
    """Count firings of the window, of the key, and how often a window was forgotten."""

    def process(self, key, context, elements):
        own = context.window_state().get_state(ValueStateDescriptor("firings"))
        shared = context.global_state().get_state(ValueStateDescriptor("firings"))
        own.update((own.value() or 0) + 1)
        shared.update((shared.value() or 0) + 1)
        yield context.window().start, own.value(), shared.value()

    def clear(self, context):
        context.window_state().get_state(ValueStateDescriptor("firings")).clear()


@pytest.mark.parametrize("assigner", [TUMBLING, LONG], ids=str)
def test_state_of_a_window_and_state_of_the_key(assigner: WindowAssigner) -> None:
    harness = harness_of(assigner, function=Remembering(), allowed_lateness=1000)
    harness.process_element(("a", 1), 1)
    harness.process_watermark(10)
    harness.process_element(("a", 2), 2)
    harness.move()
    harness.process_element(("a", 3), 3)
    harness.process_element(("b", 3), 3)
    fired = [record for record in harness.take_records() if record[0] in (0, -90)]
    start = fired[0][0]
    assert [record for record in fired if record[0] == start] == [
        (start, 1, 1), (start, 2, 2), (start, 3, 3), (start, 1, 1)
    ]  # fmt: skip
    harness.process_watermark(10_000)
    # Only the state that is shared by the windows of a key is left.
    assert harness.state_size() == 2
    assert harness.timer_count() == 0


def test_windows_that_merge_have_no_state_of_their_own() -> None:
    harness = harness_of(EventTimeSessionWindows(5), function=Remembering())
    harness.process_element(("a", 1), 1)
    with pytest.raises(StateError) as raised:
        harness.process_watermark(10)
    assert str(raised.value) == (
        "windows that merge have no state of their own\n"
        "  where: operator 'windows', built at test:1\n"
        "  to do: use context.global_state(), or an aggregate whose accumulator is merged"
    )


class Apply(WindowFunction):
    def apply(self, key, window, inputs):
        return [(key, window.end, sum(value for _, value in inputs))]


class ApplyAll(AllWindowFunction):
    def apply(self, window, inputs):
        return [(window.end, sum(value for _, value in inputs))]


class ProcessAll(ProcessAllWindowFunction):
    def process(self, context, elements):
        yield context.window().end, sum(value for _, value in elements)


@pytest.mark.parametrize(
    ("function", "all_windows", "expected"),
    [
        (Apply(), False, ("a", 10, 3)),
        (lambda key, window, inputs: [(key, window.end, len(list(inputs)))], False, ("a", 10, 2)),
        (ApplyAll(), True, (10, 3)),
        (lambda window, inputs: [(window.end, len(list(inputs)))], True, (10, 2)),
        (ProcessAll(), True, (10, 3)),
    ],
    ids=["apply", "callable", "apply all", "callable all", "process all"],
)
def test_kinds_of_functions(function: Any, all_windows: bool, expected: tuple) -> None:
    harness = harness_of(TUMBLING, function=function, all_windows=all_windows)
    harness.process_elements([(("a", 1), 1), (("a", 2), 2)])
    harness.process_watermark(9)
    assert harness.take_records() == [expected]


class Mean(AggregateFunction):
    mergeable = True

    def create_accumulator(self):
        return 0, 0

    def add(self, value, accumulator):
        return accumulator[0] + value[1], accumulator[1] + 1

    def get_result(self, accumulator):
        return accumulator[0] / accumulator[1]

    def merge(self, acc_a, acc_b):
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


def test_an_aggregate_with_a_process_function() -> None:
    class Label(ProcessWindowFunction):
        def process(self, key, context, elements):
            (mean,) = elements
            yield key, context.window().end, mean

    harness = harness_of(TUMBLING, combine=Aggregated(Mean()), function=Label())
    harness.process_elements([(("a", 1), 1), (("a", 2), 2)])
    assert harness.state_size() == 1  # one accumulator, not two elements
    harness.process_watermark(9)
    assert harness.take_records() == [("a", 10, 1.5)]


def test_none_is_a_value_like_any_other() -> None:
    harness = harness_of(TUMBLING, combine=Reduced(lambda a, b: None))
    harness.process_elements([(("a", 1), 1), (("a", 2), 2), (("a", 3), 3)])
    harness.move()
    harness.process_element(("a", 3), 3)
    harness.process_watermark(9)
    assert harness.take_records() == [None]


def test_functions_are_opened() -> None:
    class Sum(ReduceFunction):
        def open(self, runtime_context):
            self.factor = runtime_context.get_index_of_this_subtask() + 1

        def reduce(self, value1, value2):
            return value1[0], value1[1] + self.factor * value2[1]

    harness = harness_of(TUMBLING, combine=Reduced(Sum()))
    harness.process_elements([(("a", 1), 1), (("a", 2), 2)])
    harness.process_watermark(9)
    assert harness.take_records() == [("a", 3)]


def test_a_result_that_is_changed_downstream_does_not_change_the_window() -> None:
    class Keep(AggregateFunction):
        def create_accumulator(self):
            return []

        def add(self, value, accumulator):
            accumulator.append(value[1])
            return accumulator

        def get_result(self, accumulator):
            return accumulator

        def merge(self, acc_a, acc_b):
            return acc_a + acc_b

    class Spoil(ProcessWindowFunction):
        def process(self, key, context, elements):
            (values,) = elements
            yield list(values)
            values.append("spoiled")

    for assigner in (TUMBLING, LONG, EventTimeSessionWindows(5)):
        harness = harness_of(
            assigner, combine=Aggregated(Keep()), function=Spoil(), allowed_lateness=1000
        )
        harness.process_element(("a", 1), 1)
        harness.process_watermark(500)
        harness.process_element(("a", 2), 1)
        assert harness.take_records()[-1] == [1, 2]


def test_a_record_without_a_timestamp() -> None:
    for assigner in (TUMBLING, LONG, EventTimeSessionWindows(5)):
        for parts in ({"function": Apply()}, {"combine": Aggregated(Mean())}):
            for trigger in (None, PurgingTrigger(EventTimeTrigger())):
                harness = harness_of(assigner, trigger, **parts)
                with pytest.raises(MissingTimestampError) as raised:
                    harness.process_element(("a", 7))
                assert str(raised.value) == (
                    "record has no event timestamp\n"
                    f"  where: operator 'windows', built at test:1 ({assigner!r})\n"
                    "  got:   ('a', 7)\n"
                    "  to do: call assign_timestamps_and_watermarks(...) on the stream before "
                    ".window(...)"
                )


# --- which operator does it -----------------------------------------------------------------


class Pointless(Mean):
    """An aggregate whose merge is there because the interface wants it."""

    mergeable = False

    def merge(self, acc_a, acc_b):
        return None


class Refusing(Mean):
    mergeable = False

    def merge(self, acc_a, acc_b):
        raise RuntimeError("never called")


class NotMerging(AggregateFunction):
    create_accumulator = Mean.create_accumulator
    add = Mean.add
    get_result = Mean.get_result


SHORT = SlidingEventTimeWindows(20, 10)


@pytest.mark.parametrize(
    ("spec", "operator"),
    [
        (WindowSpec(TUMBLING, EventTimeTrigger(), Aggregated(Mean())), TumblingCombineOperator),
        (WindowSpec(TUMBLING, EventTimeTrigger(), None, Apply()), AlignedWindowOperator),
        (WindowSpec(SHORT, EventTimeTrigger(), Aggregated(Mean())), AlignedWindowOperator),
        (WindowSpec(LONG, EventTimeTrigger(), Aggregated(Mean())), SlicedWindowOperator),
        (WindowSpec(LONG, EventTimeTrigger(), None, Apply()), SlicedWindowOperator),
        (WindowSpec(LONG, EventTimeTrigger(), None, Remembering()), AlignedWindowOperator),
        (WindowSpec(LONG, EventTimeTrigger(), Aggregated(Pointless())), AlignedWindowOperator),
        (WindowSpec(LONG, EventTimeTrigger(), Aggregated(Refusing())), AlignedWindowOperator),
        (WindowSpec(LONG, EventTimeTrigger(), Aggregated(NotMerging())), AlignedWindowOperator),
        (WindowSpec(LONG, CountTrigger(2), Aggregated(Mean())), WindowOperator),
        (
            WindowSpec(EventTimeSessionWindows(5), EventTimeTrigger(), Aggregated(Mean())),
            SessionWindowOperator,
        ),
        (WindowSpec(EventTimeSessionWindows(5), CountTrigger(2), None, Apply()), WindowOperator),
        (WindowSpec(GlobalWindows(), CountTrigger(2), None, Apply()), WindowOperator),
    ],
)
def test_the_quickest_operator_that_can_is_chosen(spec: WindowSpec, operator: type) -> None:
    assert window_operator_class(spec) is operator


def test_an_aggregate_that_does_not_merge_gives_right_sums_on_long_windows() -> None:
    harness = harness_of(LONG, combine=Aggregated(Pointless()))
    harness.process_elements([(("a", 1), 1), (("a", 2), 52), (("a", 6), 53)])
    harness.process_watermark(59)
    assert harness.take_records() == [1, 1, 1, 1, 1, 3]


# --- the user's own assigners, triggers and windows -----------------------------------------


class Parity(Window):
    """A window that is not of time."""

    def __init__(self, odd: bool) -> None:
        self.odd = odd

    def max_timestamp(self):
        return 100

    def __eq__(self, other):
        return isinstance(other, Parity) and self.odd == other.odd

    def __hash__(self):
        return hash(self.odd)


class ByParity(WindowAssigner):
    def assign_windows(self, element, timestamp, context):
        assert context.get_current_processing_time() == 0
        return [Parity(bool(element[1] % 2))]

    def get_default_trigger(self, env=None):
        return EventTimeTrigger()

    def get_window_serializer(self):
        return None

    def is_event_time(self):
        return True


def test_windows_of_the_users_own() -> None:
    class Odd(WindowFunction):
        def apply(self, key, window, inputs):
            yield window.odd, [value for _, value in inputs]

    harness = harness_of(ByParity(), function=Odd())
    for value in range(5):
        harness.process_element(("a", value), value)
    harness.move()
    harness.process_watermark(100)
    assert harness.take_output()[:-1] == [
        Record((False, [0, 2, 4]), 100), Record((True, [1, 3]), 100)
    ]  # fmt: skip
    assert harness.state_size() == 0


class EveryState(Trigger):
    """A trigger that keeps something in every kind of state, and merges what can be merged."""

    COUNT = ReducingStateDescriptor("count", lambda a, b: a + b)
    SEEN = ListStateDescriptor("seen")
    MEAN = AggregatingStateDescriptor("mean", Mean())
    LAST = MapStateDescriptor("last")

    def on_element(self, element, timestamp, window, ctx):
        ctx.get_partitioned_state(self.COUNT).add(1)
        ctx.get_partitioned_state(self.SEEN).add(element[1])
        ctx.get_partitioned_state(self.MEAN).add(element)
        ctx.get_partitioned_state(self.LAST).put("element", element[1])
        ctx.register_event_time_timer(window.max_timestamp())
        assert ctx.get_metric_group() is not None
        return TriggerResult.CONTINUE

    def on_event_time(self, time, window, ctx):
        assert ctx.get_current_watermark() >= time
        count = ctx.get_partitioned_state(self.COUNT).get()
        seen = sorted(ctx.get_partitioned_state(self.SEEN).get())
        mean = ctx.get_partitioned_state(self.MEAN).get()
        assert (count, mean) == (len(seen), sum(seen) / len(seen))
        return TriggerResult.FIRE_AND_PURGE

    def on_processing_time(self, time, window, ctx):
        return TriggerResult.CONTINUE

    def can_merge(self):
        return True

    def on_merge(self, window, ctx):
        for descriptor in (self.COUNT, self.SEEN, self.MEAN):
            ctx.merge_partitioned_state(descriptor)
        ctx.register_event_time_timer(window.max_timestamp())

    def clear(self, window, ctx):
        for descriptor in (self.COUNT, self.SEEN, self.MEAN, self.LAST):
            ctx.get_partitioned_state(descriptor).clear()
        ctx.delete_event_time_timer(window.max_timestamp())


@pytest.mark.parametrize("assigner", [TUMBLING, EventTimeSessionWindows(5)], ids=str)
def test_triggers_of_the_users_own(assigner: WindowAssigner) -> None:
    harness = harness_of(assigner, EveryState(), combine=Aggregated(Mean()))
    for value, time in ((1, 1), (2, 9), (6, 5)):
        harness.process_element(("a", value), time)
        harness.move()
    harness.process_watermark(13)
    assert harness.take_records() == [3.0]
    assert (harness.state_size(), harness.timer_count()) == (0, 0)


def test_a_trigger_cannot_merge_a_single_value() -> None:
    class Wrong(EveryState):
        def on_merge(self, window, ctx):
            ctx.merge_partitioned_state(ValueStateDescriptor("value"))

    harness = harness_of(EventTimeSessionWindows(5), Wrong(), combine=Aggregated(Mean()))
    harness.process_element(("a", 1), 1)
    with pytest.raises(StateError) as raised:
        harness.process_element(("a", 2), 3)
    assert str(raised.value) == (
        "only a list, reducing or aggregating state can be merged\n"
        "  where: on_merge() of operator 'windows', built at test:1\n"
        "  got:   ValueStateDescriptor 'value'\n"
        "  to do: keep what a trigger must remember of merging windows in such a state"
    )


def test_merging_must_not_move_a_window_into_the_past() -> None:
    class Shrinking(MergingWindowAssigner):
        def assign_windows(self, element, timestamp, context):
            return [TimeWindow(timestamp, timestamp + 10)]

        def merge_windows(self, windows, callback):
            windows = list(windows)
            if len(windows) > 1:
                callback.merge(windows, TimeWindow(0, 5))

        get_default_trigger = ByParity.get_default_trigger
        get_window_serializer = ByParity.get_window_serializer
        is_event_time = ByParity.is_event_time

        def __repr__(self):
            return "Shrinking()"

    harness = harness_of(Shrinking(), combine=Aggregated(Mean()))
    harness.process_element(("a", 1), 20)
    harness.process_watermark(10)
    with pytest.raises(ProgramError) as raised:
        harness.process_element(("a", 2), 21)
    assert str(raised.value) == (
        "a window must not end in the past because windows merge\n"
        "  where: operator 'windows', built at test:1 (Shrinking())\n"
        "  got:   TimeWindow(start=0, end=5) at watermark 10, time 0\n"
        "  to do: let merge_windows return a window that covers all of those that it merges"
    )
