from __future__ import annotations

import pytest

from penstock.common import Duration, Time, Types, WatermarkStrategy
from penstock.core.functions import (
    AggregateFunction,
    AllWindowFunction,
    CoGroupFunction,
    FlatJoinFunction,
    ProcessAllWindowFunction,
    ProcessJoinFunction,
    ProcessWindowFunction,
    WindowFunction,
)
from penstock.core.output_tag import OutputTag
from penstock.datastream import TimeCharacteristic
from penstock.datastream.stream_execution_environment import build_plan
from penstock.datastream.window import (
    CountEvictor,
    CountTrigger,
    CountTumblingWindowAssigner,
    DeltaTrigger,
    EventTimeSessionWindows,
    EventTimeTrigger,
    GlobalWindows,
    ProcessingTimeTrigger,
    PurgingTrigger,
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from penstock.errors import GraphError, TypeMismatchError, WindowConfigError
from penstock.graph.specs import (
    Aggregated,
    CoGroupSpec,
    Folded,
    Hash,
    IntervalJoinSpec,
    Reduced,
    WindowSpec,
)

FIVE_SECONDS = TumblingEventTimeWindows.of(Time.seconds(5))
PAIR = Types.TUPLE([Types.STRING(), Types.INT()])


class Mean(AggregateFunction):
    def create_accumulator(self):
        return 0

    def add(self, value, accumulator):
        return accumulator

    def get_result(self, accumulator):
        return accumulator


class Apply(WindowFunction):
    def apply(self, key, window, inputs):
        return []


class ApplyAll(AllWindowFunction):
    def apply(self, window, inputs):
        return []


class Process(ProcessWindowFunction):
    def process(self, key, context, elements):
        return []


class ProcessAll(ProcessAllWindowFunction):
    def process(self, context, elements):
        return []


def keyed(env):
    return env.from_collection([("a", 1)], PAIR).key_by(0)


def last(env):
    return build_plan(env).operators[-1]


def text_of(caught):
    caught.value.where = "job.py:1"
    return str(caught.value)


@pytest.mark.parametrize(
    ("end", "combine", "function"),
    [
        (lambda w: w.reduce(min), Reduced, type(None)),
        (lambda w: w.reduce(min, Apply()), Reduced, Apply),
        (lambda w: w.aggregate(Mean()), Aggregated, type(None)),
        (lambda w: w.aggregate(Mean(), Process()), Aggregated, Process),
        (lambda w: w.fold(0, max), Folded, type(None)),
        (lambda w: w.sum(1), Reduced, type(None)),
        (lambda w: w.max_by(1), Reduced, type(None)),
        (lambda w: w.apply(Apply()), type(None), Apply),
        (lambda w: w.process(Process()), type(None), Process),
    ],
)
def test_the_end_of_a_windowed_stream_is_one_operator(env, end, combine, function):
    end(keyed(env).window(FIVE_SECONDS))
    operator = last(env)
    assert type(operator.spec) is WindowSpec
    assert operator.spec.keyed
    assert type(operator.spec.combine) is combine
    assert type(operator.spec.function) is function
    assert not operator.spec.all_windows
    assert operator.spec.trigger == EventTimeTrigger.create()
    assert isinstance(operator.inputs[0].partitioner, Hash)
    assert operator.name == "TumblingEventTimeWindows"


def test_a_window_is_described_in_full(env):
    stream = keyed(env).window(FIVE_SECONDS).evictor(CountEvictor.of(3)).process(Process())
    assert stream._transformation.description == (
        "Window(TumblingEventTimeWindows(size=5000, offset=0), EventTimeTrigger, CountEvictor, "
        "Process)"
    )


def test_settings_of_a_window_reach_the_spec(env):
    late = OutputTag("late")
    windowed = (
        keyed(env)
        .window(FIVE_SECONDS)
        .trigger(CountTrigger.of(2))
        .evictor(CountEvictor.of(3))
        .allowed_lateness(2000)
        .side_output_late_data(late)
    )
    stream = windowed.process(Process())
    spec = last(env).spec
    assert spec.trigger == CountTrigger.of(2)
    assert spec.evictor == CountEvictor.of(3)
    assert (spec.allowed_lateness, spec.late_tag) == (2000, "late")
    stream.get_side_output(late).map(str)
    assert last(env).inputs[0].output_tag == "late"


def test_lateness_may_be_a_span(env):
    keyed(env).window(FIVE_SECONDS).allowed_lateness(Duration.of_seconds(3)).sum(1)
    assert last(env).spec.allowed_lateness == 3000


def test_reduced_windows_keep_the_type_of_their_elements(env):
    windowed = keyed(env).window(FIVE_SECONDS)
    assert windowed.get_input_type() == PAIR
    assert windowed.sum(1).get_type() == PAIR
    assert windowed.process(Process(), Types.STRING()).get_type() == Types.STRING()


def test_windows_over_the_whole_stream_work_in_one_subtask(env):
    stream = env.from_collection([("a", 1)])
    for end, function in (
        (lambda w: w.apply(ApplyAll()), ApplyAll),
        (lambda w: w.process(ProcessAll()), ProcessAll),
        (lambda w: w.reduce(min, ProcessAll()), ProcessAll),
    ):
        end(stream.window_all(FIVE_SECONDS))
        operator = last(env)
        assert operator.spec.all_windows
        assert operator.parallelism == 1
        assert type(operator.spec.function) is function
        selector = operator.inputs[0].partitioner.key_selector
        assert selector("x") == selector("y")


@pytest.mark.parametrize(
    ("characteristic", "tumbling", "sliding"),
    [
        (
            TimeCharacteristic.ProcessingTime,
            TumblingProcessingTimeWindows,
            SlidingProcessingTimeWindows,
        ),
        (None, TumblingProcessingTimeWindows, SlidingProcessingTimeWindows),
        (TimeCharacteristic.EventTime, TumblingEventTimeWindows, SlidingEventTimeWindows),
        (TimeCharacteristic.IngestionTime, TumblingEventTimeWindows, SlidingEventTimeWindows),
    ],
)
def test_time_windows_follow_the_time_characteristic(env, characteristic, tumbling, sliding):
    if characteristic is not None:
        env.set_stream_time_characteristic(characteristic)
    keyed(env).time_window(Time.seconds(6)).sum(1)
    assert last(env).spec.assigner == tumbling.of(Time.seconds(6))
    keyed(env).time_window(Time.seconds(6), Time.seconds(2)).sum(1)
    assert last(env).spec.assigner == sliding.of(Time.seconds(6), Time.seconds(2))
    env.from_collection([1]).time_window_all(Time.seconds(6)).sum()
    assert last(env).spec.assigner == tumbling.of(Time.seconds(6))


def test_time_windows_of_records_with_timestamps_warn_if_no_time_is_named(env):
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    stream = env.from_collection([(1, 2)]).assign_timestamps_and_watermarks(strategy)
    with pytest.warns(UserWarning, match="follows processing time, although the records have"):
        stream.map(lambda pair: pair).key_by(0).time_window(Time.seconds(6)).sum(1)
    env.set_stream_time_characteristic(TimeCharacteristic.EventTime)
    stream.key_by(0).time_window(Time.seconds(6)).sum(1)


def test_count_windows(env):
    keyed(env).count_window(10).sum(1)
    spec = last(env).spec
    assert spec.assigner == CountTumblingWindowAssigner.of(10)
    assert spec.trigger == PurgingTrigger.of(CountTrigger.of(10))
    env.from_collection([1]).count_window_all(10, 2).sum()
    spec = last(env).spec
    assert spec.assigner == GlobalWindows.create()
    assert (spec.trigger, spec.evictor) == (CountTrigger.of(2), CountEvictor.of(10))


def test_a_processing_time_window_has_its_own_trigger_and_warns_of_lateness(env):
    windowed = keyed(env).window(TumblingProcessingTimeWindows.of(Time.seconds(1)))
    with pytest.warns(UserWarning, match="no element is late in processing time"):
        windowed.allowed_lateness(5)
    windowed.sum(1)
    assert last(env).spec.trigger == ProcessingTimeTrigger.create()


def test_negative_lateness(env):
    with pytest.raises(WindowConfigError) as caught:
        keyed(env).window(FIVE_SECONDS).allowed_lateness(-1)
    assert text_of(caught) == (
        "the allowed lateness must not be negative\n"
        "  where: job.py:1\n"
        "  got:   -1 ms\n"
        "  to do: pass zero or more"
    )


def test_sessions_need_a_trigger_that_merges(env):
    sessions = EventTimeSessionWindows.with_gap(Time.seconds(1))
    trigger = DeltaTrigger.of(1.0, max)
    with pytest.raises(WindowConfigError) as caught:
        keyed(env).window(sessions).trigger(trigger)
    assert text_of(caught) == (
        "windows that merge need a trigger that can merge\n"
        "  where: job.py:1\n"
        f"  got:   {sessions!r} with {trigger!r}\n"
        "  to do: define can_merge() and on_merge() of the trigger, or use another one"
    )


def test_sessions_cannot_fold(env):
    sessions = EventTimeSessionWindows.with_gap(Time.seconds(1))
    with pytest.raises(WindowConfigError) as caught:
        keyed(env).window(sessions).fold(0, max)
    assert text_of(caught) == (
        "fold() cannot be used with windows that merge\n"
        "  where: job.py:1\n"
        f"  got:   {sessions!r}\n"
        "  to do: use aggregate() with a function that defines merge(), or reduce()"
    )


def test_functions_are_of_the_right_kind(env):
    windowed = keyed(env).window(FIVE_SECONDS)
    with pytest.raises(TypeMismatchError, match=r"process\(\) needs a ProcessWindowFunction"):
        windowed.process(ProcessAll())
    with pytest.raises(TypeMismatchError, match=r"aggregate\(\) needs an AggregateFunction"):
        windowed.aggregate(min)
    with pytest.raises(TypeMismatchError, match=r"window\(\) needs a WindowAssigner"):
        keyed(env).window(5)


def pair_of_streams(env):
    return env.from_collection([("a", 1)]), env.from_collection([(1, "a")])


class Pairs(FlatJoinFunction):
    def join(self, first, second):
        return []


class Groups(CoGroupFunction):
    def co_group(self, first, second):
        return []


@pytest.mark.parametrize(
    ("start", "function", "pairs"),
    [
        (lambda a, b: a.join(b), lambda x, y: (x, y), "join"),
        (lambda a, b: a.join(b), Pairs(), "flat_join"),
        (lambda a, b: a.co_group(b), Groups(), "co_group"),
    ],
)
def test_window_joins(env, start, function, pairs):
    joined = start(*pair_of_streams(env)).where(0).equal_to(lambda right: right[1])
    joined.window(FIVE_SECONDS).allowed_lateness(7).apply(function)
    operator = last(env)
    assert type(operator.spec) is CoGroupSpec
    assert (operator.spec.pairs, operator.spec.allowed_lateness) == (pairs, 7)
    assert [edge.input_index for edge in operator.inputs] == [0, 1]
    left, right = (edge.partitioner.key_selector for edge in operator.inputs)
    assert left(("a", 1)) == right((1, "a")) == "a"


def test_a_join_needs_both_keys(env):
    one, two = pair_of_streams(env)
    with pytest.raises(GraphError) as caught:
        one.join(two).where(0).window(FIVE_SECONDS)
    assert text_of(caught) == (
        "both streams need a key before window()\n"
        "  where: job.py:1\n"
        "  got:   where() called, equal_to() missing\n"
        "  to do: write .where(key of the first).equal_to(key of the second).window(...)"
    )


class Close(ProcessJoinFunction):
    def process_element(self, left, right, ctx):
        yield left, right


def test_interval_joins(env):
    one, two = (stream.key_by(0) for stream in pair_of_streams(env))
    joined = one.interval_join(two).between(Time.seconds(-1), Time.seconds(2))
    joined.process(Close())
    spec = last(env).spec
    assert type(spec) is IntervalJoinSpec
    assert (spec.lower, spec.upper) == (-1000, 2000)
    joined.lower_bound_exclusive().upper_bound_exclusive()
    joined.side_output_left_late_data(OutputTag("l")).process(Close()).name("open")
    spec = last(env).spec
    assert (spec.lower, spec.upper) == (-999, 1999)
    assert (spec.left_late_tag, spec.right_late_tag) == ("l", None)


def test_an_interval_in_the_wrong_order(env):
    one, two = (stream.key_by(0) for stream in pair_of_streams(env))
    with pytest.raises(WindowConfigError) as caught:
        one.interval_join(two).between(Time.seconds(2), Time.seconds(1))
    assert text_of(caught) == (
        "the lower bound of an interval must not be above its upper bound\n"
        "  where: job.py:1\n"
        "  got:   from 2000 ms to 1000 ms\n"
        "  to do: pass the earlier bound first"
    )


def test_an_interval_join_in_processing_time(env):
    env.set_stream_time_characteristic(TimeCharacteristic.ProcessingTime)
    one, two = (stream.key_by(0) for stream in pair_of_streams(env))
    with pytest.raises(GraphError) as caught:
        one.interval_join(two).between(Time.seconds(1), Time.seconds(2))
    assert text_of(caught) == (
        "interval joins work in event time only\n"
        "  where: job.py:1\n"
        "  got:   time characteristic ProcessingTime\n"
        "  to do: call set_stream_time_characteristic(TimeCharacteristic.EventTime)"
    )
