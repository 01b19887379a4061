"""Patterns of complex event processing: what users build, as plain data for the runtime."""

from penstock.core.pattern.conditions import (
    IterativeCondition,
    RichIterativeCondition,
    SimpleCondition,
)
from penstock.core.pattern.functions import (
    EventComparator,
    PatternFlatSelectFunction,
    PatternFlatTimeoutFunction,
    PatternProcessFunction,
    PatternSelectFunction,
    PatternTimeoutFunction,
    RichPatternFlatSelectFunction,
    RichPatternSelectFunction,
    TimedOutPartialMatchHandler,
)
from penstock.core.pattern.pattern import GroupPattern, Pattern, WithinType
from penstock.core.pattern.quantifier import ConsumingStrategy, Quantifier, Times
from penstock.core.pattern.skip import AfterMatchSkipStrategy

__all__ = [
    "AfterMatchSkipStrategy",
    "ConsumingStrategy",
    "EventComparator",
    "GroupPattern",
    "IterativeCondition",
    "Pattern",
    "PatternFlatSelectFunction",
    "PatternFlatTimeoutFunction",
    "PatternProcessFunction",
    "PatternSelectFunction",
    "PatternTimeoutFunction",
    "Quantifier",
    "RichIterativeCondition",
    "RichPatternFlatSelectFunction",
    "RichPatternSelectFunction",
    "SimpleCondition",
    "TimedOutPartialMatchHandler",
    "Times",
    "WithinType",
]
