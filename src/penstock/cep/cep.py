"""The entry point of complex event processing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.cep.pattern_stream import PatternStream
from penstock.core.pattern import EventComparator, Pattern
from penstock.datastream.data_stream import DataStream


class CEP:
    """Look for patterns in a stream.

    >>> from penstock.datastream import StreamExecutionEnvironment
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> logins = env.from_collection([("ann", "fail"), ("ann", "fail")])
    >>> fails = Pattern.begin("first").where(lambda login: login[1] == "fail")
    >>> fails = fails.next("second").where(lambda login: login[1] == "fail").within(10_000)
    >>> matches = CEP.pattern(logins.key_by(lambda login: login[0]), fails)
    >>> warnings = matches.in_processing_time().select(lambda match: match["first"][0][0])
    """

    @staticmethod
    def pattern(
        input_stream: DataStream,
        pattern: Pattern,
        comparator: Callable[[Any, Any], int] | EventComparator[Any] | None = None,
    ) -> PatternStream:
        """Look for a pattern.

        :param input_stream: a keyed stream: matches are looked for in the events of each key; of
            any other all events are looked at together, in one subtask.
        :param comparator: the order of events of the same time: negative, zero or positive.
        :raises MalformedPatternError: if the pattern has no meaning.
        """
        return PatternStream(input_stream, pattern, comparator)
