"""Complex event processing: patterns over streams of events.

The names are Flink's, in snake case. A pattern is built from `Pattern.begin(...)`;
`CEP.pattern(stream, pattern)` looks for it in a stream; `penstock.cep.testing.match` tries it on
a few events.
"""

from penstock.cep.cep import CEP
from penstock.cep.pattern_stream import PatternStream
from penstock.core.pattern import (
    AfterMatchSkipStrategy,
    EventComparator,
    GroupPattern,
    IterativeCondition,
    Pattern,
    PatternFlatSelectFunction,
    PatternFlatTimeoutFunction,
    PatternProcessFunction,
    PatternSelectFunction,
    PatternTimeoutFunction,
    Quantifier,
    RichIterativeCondition,
    RichPatternFlatSelectFunction,
    RichPatternSelectFunction,
    SimpleCondition,
    TimedOutPartialMatchHandler,
    WithinType,
)

__all__ = [
    "CEP",
    "AfterMatchSkipStrategy",
    "EventComparator",
    "GroupPattern",
    "IterativeCondition",
    "Pattern",
    "PatternFlatSelectFunction",
    "PatternFlatTimeoutFunction",
    "PatternProcessFunction",
    "PatternSelectFunction",
    "PatternStream",
    "PatternTimeoutFunction",
    "Quantifier",
    "RichIterativeCondition",
    "RichPatternFlatSelectFunction",
    "RichPatternSelectFunction",
    "SimpleCondition",
    "TimedOutPartialMatchHandler",
    "WithinType",
]
