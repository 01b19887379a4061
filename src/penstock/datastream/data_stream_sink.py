"""The end of a stream."""

from __future__ import annotations

from penstock.datastream.operator_settings import OperatorSettings
from penstock.graph.transformations import OperatorTransformation


class DataStreamSink(OperatorSettings):
    """A sink that was added to a stream: what `print`, `add_sink` and `sink_to` return."""

    def __init__(self, transformation: OperatorTransformation) -> None:
        self._transformation = transformation
