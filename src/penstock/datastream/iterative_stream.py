"""Iterations: a part of a stream goes back to where it came from."""

from __future__ import annotations

import itertools

from penstock.connectors.feedback import FeedbackSink, FeedbackSource
from penstock.datastream.stream import DataStream
from penstock.errors import GraphError
from penstock.graph.call_site import capture_call_site
from penstock.graph.function_checks import require_object
from penstock.graph.specs import SinkSpec, SourceSpec
from penstock.graph.transformations import OperatorTransformation, UnionTransformation

_numbers = itertools.count(1)


class IterativeStream(DataStream):
    """A stream, and what is sent back to it by `close_with`.

    >>> from penstock.datastream import StreamExecutionEnvironment
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> iteration = env.from_collection([3, 5]).iterate()
    >>> less = iteration.map(lambda number: number - 1)
    >>> back = iteration.close_with(less.filter(lambda number: number > 0))
    >>> done = less.filter(lambda number: number <= 0)
    """

    def __init__(self, source: DataStream, wait_ms: int) -> None:
        self._name = f"iteration-{next(_numbers)}"
        self._closed = False
        before = source._transformation
        spec = SourceSpec(FeedbackSource(wait_ms), fed_by=self._name)
        head = OperatorTransformation("Iteration Head", spec, [], 1, before.output_type)
        head.force_non_parallel()
        super().__init__(
            source._environment, UnionTransformation([before, head], before.output_type)
        )

    def close_with(self, feedback_stream: DataStream) -> DataStream:
        """Send the records of a stream back to the beginning of the iteration.

        They come again with the next batch, each exactly once. Call it once for each iteration.

        :param feedback_stream: made from this stream; of the same type.
        :returns: the stream that is sent back.
        :raises GraphError: if the iteration has been closed already.
        """
        require_object("close_with()", feedback_stream, DataStream)
        self._require_same_environment("close_with()", feedback_stream)
        if self._closed:
            raise GraphError(
                "an iteration is closed once",
                where=str(capture_call_site()),
                todo="send the union of the streams back: close_with(a.union(b))",
            )
        self._closed = True
        sink = SinkSpec(FeedbackSink(), feeds=self._name)
        tail = feedback_stream._add_operator(
            "Iteration Tail", sink, [feedback_stream._transformation]
        )
        tail.follows_input = True
        return feedback_stream
