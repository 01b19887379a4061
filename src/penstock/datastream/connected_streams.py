"""Two streams of any types, worked on by one operator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.common import TypeInformation
from penstock.core.functions import (
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    FlatMapFunction,
    Function,
    KeyedCoProcessFunction,
    MapFunction,
)
from penstock.core.functions.co_map import TwoFlatMaps, TwoMaps
from penstock.datastream.keyed_stream import KeyedStream
from penstock.datastream.stream import DataStream
from penstock.errors import GraphError
from penstock.graph.call_site import capture_call_site
from penstock.graph.function_checks import (
    require_arguments,
    require_function,
    require_no_generator,
    require_object,
)
from penstock.graph.specs import (
    CoFlatMapSpec,
    CoMapSpec,
    CoProcessSpec,
    KeyedCoProcessSpec,
    OperatorSpec,
)


class ConnectedStreams:
    """What `connect` returns: a pair of streams whose operator may keep shared state.

    The operator works under keys if both streams are keyed, before `connect` or by `key_by` here.
    """

    def __init__(self, stream1: DataStream, stream2: DataStream) -> None:
        self._stream1 = stream1
        self._stream2 = stream2

    def key_by(
        self, key_selector1: Any, key_selector2: Any, key_type: TypeInformation | None = None
    ) -> ConnectedStreams:
        """Partition both streams, by keys of the same type."""
        return ConnectedStreams(
            self._stream1.key_by(key_selector1, key_type),
            self._stream2.key_by(key_selector2, key_type),
        )

    def map(
        self,
        func: CoMapFunction[Any, Any, Any] | Function | Callable[[Any], Any],
        func2: Function | Callable[[Any], Any] | TypeInformation | None = None,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Turn every record of both streams into one other; None means no result.

        :param func: a CoMapFunction; or what a record of the first stream becomes.
        :param func2: what a record of the second stream becomes, if `func` is for the first.
        """
        if isinstance(func2, TypeInformation):  # the second parameter in PyFlink
            func2, output_type = None, func2
        if func2 is not None:
            for each in (func, func2):
                require_function("map()", each, MapFunction)
                require_arguments("the function of map()", each, map=1)
                require_no_generator("map()", each, "map")
            func = TwoMaps(func, func2)
        require_object("map()", func, CoMapFunction)
        return self._transform("Co-Map", CoMapSpec(func, keyed=self._is_keyed()), output_type)

    def flat_map(
        self,
        func: CoFlatMapFunction[Any, Any, Any] | Function | Callable[[Any], Any],
        func2: Function | Callable[[Any], Any] | TypeInformation | None = None,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Turn every record of both streams into any number of others.

        :param func: a CoFlatMapFunction; or what a record of the first stream becomes.
        :param func2: what a record of the second stream becomes, if `func` is for the first.
        """
        if isinstance(func2, TypeInformation):  # the second parameter in PyFlink
            func2, output_type = None, func2
        if func2 is not None:
            for each in (func, func2):
                require_function("flat_map()", each, FlatMapFunction)
                require_arguments("the function of flat_map()", each, flat_map=1)
            func = TwoFlatMaps(func, func2)
        require_object("flat_map()", func, CoFlatMapFunction)
        return self._transform(
            "Co-Flat Map", CoFlatMapSpec(func, keyed=self._is_keyed()), output_type
        )

    def process(
        self,
        func: CoProcessFunction[Any, Any] | KeyedCoProcessFunction[Any, Any, Any],
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Call a process function for every record of both streams.

        :param func: a KeyedCoProcessFunction needs both streams keyed; a CoProcessFunction has
            keyed state and timers if they are.
        :raises GraphError: if the function needs keys and a stream has none.
        """
        require_object("process()", func, CoProcessFunction, KeyedCoProcessFunction)
        require_arguments("process()", func, process_element1=2, process_element2=2, on_timer=2)
        if self._is_keyed():
            return self._transform("Keyed Co-Process", KeyedCoProcessSpec(func), output_type)
        if isinstance(func, KeyedCoProcessFunction):
            self._refuse_unkeyed()
        return self._transform("Co-Process", CoProcessSpec(func), output_type)

    def get_first_input(self) -> DataStream:
        """Return the first stream."""
        return self._stream1

    def get_second_input(self) -> DataStream:
        """Return the second stream."""
        return self._stream2

    def _is_keyed(self) -> bool:
        return isinstance(self._stream1, KeyedStream) and isinstance(self._stream2, KeyedStream)

    def _refuse_unkeyed(self) -> None:
        states = [
            "keyed" if isinstance(stream, KeyedStream) else "not keyed"
            for stream in (self._stream1, self._stream2)
        ]
        raise GraphError(
            "a KeyedCoProcessFunction needs both connected streams keyed",
            where=str(capture_call_site()),
            got=f"first stream {states[0]}, second stream {states[1]}",
            todo="call key_by(selector1, selector2) on the connected streams",
        )

    def _transform(
        self, name: str, spec: OperatorSpec, output_type: TypeInformation | None
    ) -> DataStream:
        inputs = [self._stream1._transformation, self._stream2._transformation]
        operator = self._stream1._add_operator(name, spec, inputs, output_type)
        return DataStream(self._stream1.get_execution_environment(), operator)
