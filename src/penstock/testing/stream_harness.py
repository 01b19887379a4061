"""A harness for an operator as a program writes it: a window, a reduce, a join, anything.

>>> from penstock.common import Time
>>> from penstock.datastream.window import TumblingEventTimeWindows
>>> harness = StreamHarness(
...     lambda words: words.key_by(lambda word: word)
...     .window(TumblingEventTimeWindows.of(Time.milliseconds(10)))
...     .reduce(lambda first, second: f"{first} and {second}")
... )
>>> harness.process_element("tea", 3)
>>> harness.process_element("tea", 8)
>>> harness.process_element("milk", 12)
>>> harness.process_watermark(9)
>>> harness.take_records()
['tea and tea']
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.datastream import DataStream, StreamExecutionEnvironment
from penstock.errors import ConfigurationError
from penstock.graph.specs import Hash
from penstock.graph.transformations import (
    OperatorTransformation,
    PartitionTransformation,
    Transformation,
)
from penstock.testing.harness import OperatorHarness


class StreamHarness(OperatorHarness):
    """One subtask of the last operator of an expression over streams.

    Only that one is run: what stands in front of it in the expression is not, but for the choice of
    the key.

    :param build: called with a stream, or with two if it takes two; returns the stream behind the
        operator.
    :param options: see `OperatorHarness`, for instance `side_outputs=[tag]`.
    """

    def __init__(self, build: Callable[..., DataStream], **options: Any) -> None:
        env = StreamExecutionEnvironment.get_execution_environment()
        streams = [env.from_collection([None]) for _ in range(_streams_taken(build))]
        operator = build(*streams)._transformation
        if not isinstance(operator, OperatorTransformation) or not operator.inputs:
            raise ConfigurationError(
                "a harness needs a stream behind an operator",
                where="StreamHarness",
                todo="return for instance stream.key_by(...).reduce(...)",
            )
        selectors = tuple(_key_selector(each) for each in operator.inputs)
        super().__init__(operator.spec, (*selectors, None)[:2], name=operator.name, **options)


def _streams_taken(build: Callable[..., Any]) -> int:
    code = getattr(build, "__code__", None)
    return 1 if code is None else int(code.co_argcount)


def _key_selector(transformation: Transformation) -> Any:
    if isinstance(transformation, PartitionTransformation):
        partitioner = transformation.partitioner
        if isinstance(partitioner, Hash):
            return partitioner.key_selector
    return None
