"""A stream in which a pattern is looked for, and what to make of the matches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from penstock.common import TypeInformation
from penstock.core.output_tag import OutputTag
from penstock.core.pattern import (
    EventComparator,
    Pattern,
    PatternFlatSelectFunction,
    PatternFlatTimeoutFunction,
    PatternProcessFunction,
    PatternSelectFunction,
    PatternTimeoutFunction,
)
from penstock.core.pattern.validation import validate
from penstock.datastream.data_stream import DataStream, KeyedStream
from penstock.datastream.windowed_stream import same_key
from penstock.graph.function_checks import require_function, require_object
from penstock.graph.specs import CepSpec

Comparator = Callable[[Any, Any], int] | EventComparator[Any]
Select = Callable[[dict[str, list[Any]]], Any]


@dataclass(frozen=True)
class _Settings:
    comparator: Comparator | None
    event_time: bool = True
    late_tag: str | None = None


class PatternStream:
    """What `CEP.pattern` returns. Setters return a new object.

    Events are taken in event time, sorted by it up to the watermark, unless `in_processing_time`
    is called.
    """

    def __init__(
        self,
        input_stream: DataStream,
        pattern: Pattern,
        comparator: Comparator | None = None,
    ) -> None:
        require_object("CEP.pattern()", input_stream, DataStream)
        validate(pattern)
        if comparator is not None:
            require_function("CEP.pattern()", comparator, EventComparator)
        self._stream = input_stream
        self._pattern = pattern
        self._settings = _Settings(comparator)

    def in_processing_time(self) -> PatternStream:
        """Take events as they come, at the time of their batch."""
        return self._with(event_time=False)

    def in_event_time(self) -> PatternStream:
        """Sort events by their timestamps; each is processed when the watermark has passed it."""
        return self._with(event_time=True)

    def side_output_late_data(self, output_tag: OutputTag[Any]) -> PatternStream:
        """Send late events to a side output of the result; else they are dropped."""
        require_object("side_output_late_data()", output_tag, OutputTag)
        return self._with(late_tag=output_tag.tag_id)

    def select(
        self,
        select_function: Select | PatternSelectFunction[Any, Any] | OutputTag[Any],
        timeout_function: Any = None,
        matched_select_function: Select | PatternSelectFunction[Any, Any] | None = None,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Make one result of each match.

        Two forms, as Flink's: `select(function[, output_type])`, and
        `select(output_tag, timeout_function, function[, output_type])`. The second also makes a
        result of each partial match whose time is up and sends it to the side output.

        :param select_function: called with the match: a dict of stage names and lists of events.
        :param timeout_function: called with the partial match and the time at which it was up.
        """
        return self._select(
            ("select", PatternSelectFunction, PatternTimeoutFunction),
            (select_function, timeout_function, matched_select_function, output_type),
        )

    def flat_select(
        self,
        flat_select_function: Select | PatternFlatSelectFunction[Any, Any] | OutputTag[Any],
        flat_timeout_function: Any = None,
        matched_select_function: Select | PatternFlatSelectFunction[Any, Any] | None = None,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Make any number of results of each match; forms and parameters as `select`."""
        return self._select(
            ("flat_select", PatternFlatSelectFunction, PatternFlatTimeoutFunction),
            (flat_select_function, flat_timeout_function, matched_select_function, output_type),
        )

    def process(
        self,
        pattern_process_function: PatternProcessFunction[Any, Any],
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Call a function for each match.

        One that is a `TimedOutPartialMatchHandler` too is called for partial matches whose time is
        up as well.
        """
        require_object("process()", pattern_process_function, PatternProcessFunction)
        return self._end(pattern_process_function, "process", output_type)

    def _select(
        self, form: tuple[str, type, type], arguments: tuple[Any, Any, Any, Any]
    ) -> DataStream:
        method, kind, timeout_kind = form
        first, second, third, output_type = arguments
        call = f"{method}()"
        if not isinstance(first, OutputTag):
            require_function(call, first, kind)
            return self._end(first, method, second if output_type is None else output_type)
        require_function(call, second, timeout_kind)
        require_function(call, third, kind)
        return self._end(
            third, method, output_type, timeout_function=second, timeout_tag=first.tag_id
        )

    def _end(
        self, function: Any, method: str, output_type: TypeInformation | None, **timeouts: Any
    ) -> DataStream:
        settings = self._settings
        spec = CepSpec(
            self._pattern,
            function,
            method,
            event_time=settings.event_time,
            comparator=settings.comparator,
            late_tag=settings.late_tag,
            **timeouts,
        )
        if isinstance(self._stream, KeyedStream):
            return self._stream._transform("CepOperator", spec, output_type)
        together = self._stream.key_by(same_key)
        return together._transform("GlobalCepOperator", spec, output_type).force_non_parallel()

    def _with(self, **settings: Any) -> PatternStream:
        changed = PatternStream(self._stream, self._pattern)
        changed._settings = replace(self._settings, **settings)
        return changed
