"""A stream with data, connected with a broadcast one."""

from __future__ import annotations

from typing import Any

from penstock.common import TypeInformation
from penstock.core.functions import BroadcastProcessFunction, KeyedBroadcastProcessFunction
from penstock.core.state import MapStateDescriptor
from penstock.datastream.broadcast_stream import BroadcastStream
from penstock.datastream.keyed_stream import KeyedStream
from penstock.datastream.stream import DataStream
from penstock.errors import GraphError
from penstock.graph.call_site import capture_call_site
from penstock.graph.function_checks import require_arguments, require_object
from penstock.graph.specs import (
    BroadcastProcessSpec,
    KeyedBroadcastProcessSpec,
    OperatorSpec,
)


class BroadcastConnectedStream:
    """What `connect(broadcast_stream)` returns.

    >>> from penstock.core.state import MapStateDescriptor
    >>> from penstock.datastream import BroadcastProcessFunction, StreamExecutionEnvironment
    >>> class Filter(BroadcastProcessFunction):
    ...     def process_element(self, value, ctx):
    ...         if ctx.get_broadcast_state(BLOCKED).get(value) is None:
    ...             yield value
    ...     def process_broadcast_element(self, value, ctx):
    ...         ctx.get_broadcast_state(BLOCKED).put(value, True)
    >>> BLOCKED = MapStateDescriptor("blocked")
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> blocked = env.from_collection(["eve"]).broadcast(BLOCKED)
    >>> allowed = env.from_collection(["ann", "eve"]).connect(blocked).process(Filter())
    """

    def __init__(self, stream: DataStream, broadcast_stream: BroadcastStream) -> None:
        self._stream = stream
        self._broadcast_stream = broadcast_stream

    def get_first_input(self) -> DataStream:
        """Return the stream with the data."""
        return self._stream

    def get_second_input(self) -> BroadcastStream:
        """Return the broadcast stream."""
        return self._broadcast_stream

    def process(
        self,
        func: BroadcastProcessFunction[Any, Any, Any]
        | KeyedBroadcastProcessFunction[Any, Any, Any, Any],
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Call a broadcast process function for every record of both streams.

        Within a batch the broadcast records come first.

        :param func: a KeyedBroadcastProcessFunction if the stream with the data is keyed, else a
            BroadcastProcessFunction.
        :raises GraphError: if it is the other one.
        """
        require_object("process()", func, BroadcastProcessFunction, KeyedBroadcastProcessFunction)
        require_arguments("process()", func, process_element=2, process_broadcast_element=2)
        keyed = isinstance(self._stream, KeyedStream)
        if keyed is not isinstance(func, KeyedBroadcastProcessFunction):
            self._refuse(func, keyed)
        descriptors = tuple(self._broadcast_stream.get_broadcast_state_descriptors())
        if keyed:
            keyed_spec = KeyedBroadcastProcessSpec(func, descriptors)
            return self._transform("Keyed Co-Process-Broadcast", keyed_spec, output_type)
        spec = BroadcastProcessSpec(func, descriptors)
        return self._transform("Co-Process-Broadcast", spec, output_type)

    def _transform(
        self, name: str, spec: OperatorSpec, output_type: TypeInformation | None
    ) -> DataStream:
        streams = (self._stream, self._broadcast_stream.get_stream())
        inputs = [stream._transformation for stream in streams]
        operator = self._stream._add_operator(name, spec, inputs, output_type)
        return DataStream(self._stream.get_execution_environment(), operator)

    def _refuse(self, func: Any, keyed: bool) -> None:
        wanted = "KeyedBroadcastProcessFunction" if keyed else "BroadcastProcessFunction"
        state = "keyed" if keyed else "not keyed"
        raise GraphError(
            f"a stream that is {state} needs a {wanted}",
            where=str(capture_call_site()),
            got=type(func).__name__,
            todo=f"write a subclass of {wanted}, or "
            + ("connect the stream without key_by()" if keyed else "call key_by() on the stream"),
        )


def require_descriptors(descriptors: tuple[Any, ...]) -> tuple[MapStateDescriptor, ...]:
    """Check the descriptors of broadcast states.

    :raises TypeMismatchError: if one is no MapStateDescriptor.
    :raises GraphError: if two have the same name.
    """
    for descriptor in descriptors:
        require_object("broadcast()", descriptor, MapStateDescriptor)
    names = [descriptor.name for descriptor in descriptors]
    if len(set(names)) < len(names):
        raise GraphError(
            "broadcast() needs descriptors of different names",
            where=str(capture_call_site()),
            got=", ".join(names),
            todo="give each broadcast state its own name",
        )
    return descriptors
