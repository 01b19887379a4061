"""Stateful functions in one expression: the state of the key goes in, the new state comes out."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from penstock.common import TypeInformation
from penstock.core.functions import Function
from penstock.graph.function_checks import require_function
from penstock.graph.specs import OperatorSpec, WithStateSpec
from penstock.graph.transformations import Transformation

if TYPE_CHECKING:
    from penstock.datastream.stream import DataStream


class KeyedShortcuts:
    """The part of a keyed stream that keeps one value a key between calls of a function.

    >>> from penstock.datastream import StreamExecutionEnvironment
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> words = env.from_collection(["to", "be", "or", "not", "to", "be"])
    >>> numbered = words.key_by(lambda word: word).map_with_state(
    ...     lambda word, count: ((word, (count or 0) + 1), (count or 0) + 1)
    ... )
    """

    _transformation: Transformation

    if TYPE_CHECKING:

        def _transform(
            self, name: str, spec: OperatorSpec, output_type: TypeInformation | None = None
        ) -> DataStream: ...

    def map_with_state(
        self,
        func: Callable[[Any, Any], tuple[Any, Any]],
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Turn every record into one other, with the state of its key.

        :param func: a function of the record and the state (None if there is none), which returns
            the result and the new state (None clears it).
        """
        require_function("map_with_state()", func, Function)
        return self._transform("MapWithState", WithStateSpec(func, "map"), output_type)

    def flat_map_with_state(
        self,
        func: Callable[[Any, Any], tuple[Iterable[Any], Any]],
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Turn every record into any number of others, with the state of its key.

        :param func: a function of the record and the state (None if there is none), which returns
            an iterable of results and the new state (None clears it).
        """
        require_function("flat_map_with_state()", func, Function)
        return self._transform("FlatMapWithState", WithStateSpec(func, "flat_map"), output_type)

    def filter_with_state(self, func: Callable[[Any, Any], tuple[bool, Any]]) -> DataStream:
        """Keep some of the records, chosen with the state of their key.

        :param func: a function of the record and the state (None if there is none), which returns
            whether to keep the record and the new state (None clears it).
        """
        require_function("filter_with_state()", func, Function)
        return self._transform(
            "FilterWithState", WithStateSpec(func, "filter"), self._transformation.output_type
        )
