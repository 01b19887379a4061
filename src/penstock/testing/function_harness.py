"""Harnesses for user functions: feed a function records, watermarks and time, see what it does.

No job and no Spark: a test takes milliseconds. `OneInputHarness` takes a function of one stream,
`TwoInputHarness` one of two connected streams, `BroadcastHarness` a broadcast process function.

- `process_element(value, timestamp)` (and `process_element2`, `process_broadcast_element`) feeds a
  record, `process_watermark(time)` a watermark.
- Processing time stands still until `set_processing_time` or `advance_processing_time` moves it;
  timers that are due fire then, and state whose life is over goes.
- `take_output()` gives the records and watermarks that have come out since the last call,
  `take_records()` the values alone, `take_side_output(tag)` those of a side output.
- `cut()` ends the batch and begins another; `move()` also goes on in another worker, from what was
  saved: a function must not notice either. `snapshot()` and `restore()` do so in two steps.
- `keyed_state(descriptor, key)`, `accumulators()`, `metrics()` and `timer_count()` look inside.

>>> from penstock.datastream import KeyedProcessFunction
>>> from penstock.datastream.state import ValueStateDescriptor
>>> class Count(KeyedProcessFunction):
...     def open(self, context):
...         self.count = context.get_state(ValueStateDescriptor("count"))
...     def process_element(self, value, ctx):
...         self.count.update((self.count.value() or 0) + 1)
...         ctx.timer_service().register_event_time_timer(ctx.timestamp() + 10)
...     def on_timer(self, timestamp, ctx):
...         yield ctx.get_current_key(), self.count.value()
>>> harness = OneInputHarness(Count(), key_selector=lambda word: word)
>>> harness.process_element("tea", 1)
>>> harness.process_element("tea", 2)
>>> harness.move()
>>> harness.process_watermark(11)
>>> harness.take_output()
[Record(value=('tea', 2), timestamp=11), Watermark(timestamp=11)]
>>> harness.keyed_state(ValueStateDescriptor("count"), "tea")
2
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from penstock.common import Time
from penstock.core.functions import (
    AsyncFunction,
    AsyncFunctionDescriptor,
    BroadcastProcessFunction,
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    FilterFunction,
    FlatMapFunction,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    MapFunction,
    ProcessFunction,
    ReduceFunction,
    SinkFunction,
)
from penstock.core.state import MapStateDescriptor
from penstock.errors import ConfigurationError, TypeMismatchError, show_value
from penstock.graph import specs
from penstock.testing.harness import OperatorHarness

_Make = Callable[[Any, bool], specs.OperatorSpec]

_ONE_INPUT: dict[type, _Make] = {
    KeyedProcessFunction: lambda function, keyed: specs.KeyedProcessSpec(function),
    ProcessFunction: lambda function, keyed: (
        specs.KeyedProcessSpec(function) if keyed else specs.ProcessSpec(function)
    ),
    MapFunction: lambda function, keyed: specs.MapSpec(function, keyed),
    FlatMapFunction: lambda function, keyed: specs.FlatMapSpec(function, keyed),
    FilterFunction: lambda function, keyed: specs.FilterSpec(function, keyed),
    ReduceFunction: lambda function, keyed: specs.ReduceSpec(function),
    SinkFunction: lambda function, keyed: specs.SinkFunctionSpec(function),
    AsyncFunction: lambda function, keyed: specs.AsyncWaitSpec(
        AsyncFunctionDescriptor(function, Time.seconds(10))
    ),
    AsyncFunctionDescriptor: lambda function, keyed: specs.AsyncWaitSpec(function),
}
_TWO_INPUTS: dict[type, _Make] = {
    KeyedCoProcessFunction: lambda function, keyed: specs.KeyedCoProcessSpec(function),
    CoProcessFunction: lambda function, keyed: (
        specs.KeyedCoProcessSpec(function) if keyed else specs.CoProcessSpec(function)
    ),
    CoMapFunction: lambda function, keyed: specs.CoMapSpec(function, keyed),
    CoFlatMapFunction: lambda function, keyed: specs.CoFlatMapSpec(function, keyed),
}


class OneInputHarness(OperatorHarness):
    """One subtask of a function of one stream.

    Results of an asynchronous function are all there after `cut()`, as they are at the end of a
    batch; an `AsyncFunctionDescriptor` sets its timeout, capacity, retries and order.

    :param function: a process, map, flat map, filter, reduce, sink or asynchronous function.
    :param key_selector: the key of a record, if the stream is keyed.
    :param options: see `OperatorHarness`, for instance `side_outputs=[tag]`.
    """

    def __init__(self, function: Any, key_selector: Any = None, **options: Any) -> None:
        keyed = key_selector is not None
        super().__init__(_spec_of(function, keyed, _ONE_INPUT), key_selector, **options)


class TwoInputHarness(OperatorHarness):
    """One subtask of a function of two connected streams.

    :param function: a co-process, co-map or co-flat-map function.
    :param key_selectors: the keys of records of the first and of the second stream, if keyed.
    :param options: see `OperatorHarness`, for instance `side_outputs=[tag]`.
    """

    def __init__(
        self, function: Any, key_selectors: tuple[Any, Any] | None = None, **options: Any
    ) -> None:
        keyed = key_selectors is not None
        super().__init__(_spec_of(function, keyed, _TWO_INPUTS), key_selectors, **options)


class BroadcastHarness(OperatorHarness):
    """One subtask of a broadcast process function.

    :param function: a BroadcastProcessFunction, or a KeyedBroadcastProcessFunction.
    :param descriptors: of the broadcast states, as given to `stream.broadcast(...)`.
    :param key_selector: the key of a record of the stream with the data, if it is keyed.
    :param options: see `OperatorHarness`, for instance `side_outputs=[tag]`.
    """

    def __init__(
        self,
        function: Any,
        descriptors: Sequence[MapStateDescriptor],
        key_selector: Any = None,
        **options: Any,
    ) -> None:
        spec: Any = specs.KeyedBroadcastProcessSpec
        kinds: tuple[type, ...] = (KeyedBroadcastProcessFunction,)
        if key_selector is None:
            spec, kinds = specs.BroadcastProcessSpec, (BroadcastProcessFunction,)
        if not isinstance(function, kinds):
            raise _refusal(function, kinds, keyed=key_selector is not None)
        super().__init__(spec(function, tuple(descriptors)), (key_selector, None), **options)

    def process_broadcast_element(self, value: Any, timestamp: int | None = None) -> None:
        """Feed one record of the broadcast stream."""
        self.process_element2(value, timestamp)

    def broadcast_state(self, descriptor: MapStateDescriptor) -> dict[Any, Any]:
        """Return what a broadcast state holds."""
        return dict(self.operator.context.operator_state.get_broadcast_state(descriptor).items())


def _spec_of(function: Any, keyed: bool, makers: dict[type, _Make]) -> specs.OperatorSpec:
    for kind, make in makers.items():
        if isinstance(function, kind):
            spec = make(function, keyed)
            if spec.keyed and not keyed:
                raise ConfigurationError(
                    f"a {kind.__name__} needs a key",
                    where="harness",
                    got="no key selector",
                    todo="pass key_selector=lambda record: ..., or one for each of two inputs",
                )
            return spec
    raise _refusal(function, tuple(makers), keyed=None)


def _refusal(function: Any, kinds: tuple[type, ...], *, keyed: bool | None) -> TypeMismatchError:
    names = ", ".join(kind.__name__ for kind in kinds)
    key = "" if keyed is None else f" with{'' if keyed else 'out'} a key selector"
    return TypeMismatchError(
        f"this harness{key} needs one of: {names}",
        got=f"{type(function).__name__} {show_value(function)}",
        todo="pass an object of a subclass, or use another harness of penstock.testing",
    )
