"""How a stream gets its timestamps and watermarks."""

from __future__ import annotations

import copy
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

from penstock.common.time import Duration, Time, to_milliseconds
from penstock.common.timestamp_assigners import (
    AssignerWithPeriodicWatermarks,
    AssignerWithPunctuatedWatermarks,
    PeriodicAssignerGenerator,
    PunctuatedAssignerGenerator,
)
from penstock.common.watermark import MIN_WATERMARK, Watermark, WatermarkOutput
from penstock.common.watermark_generators import (
    AscendingTimestampsWatermarks,
    BoundedOutOfOrdernessWatermarks,
    NoWatermarks,
    WatermarkGenerator,
)
from penstock.errors import ConfigurationError, show_value

__all__ = [
    "NO_TIMESTAMP",
    "AscendingTimestampsWatermarks",
    "AssignerWithPeriodicWatermarks",
    "AssignerWithPeriodicWatermarksWrapper",
    "AssignerWithPunctuatedWatermarks",
    "BoundedOutOfOrdernessWatermarks",
    "NoWatermarks",
    "TimestampAssigner",
    "Watermark",
    "WatermarkAlignment",
    "WatermarkGenerator",
    "WatermarkOutput",
    "WatermarkStrategy",
    "WatermarkStrategyContext",
]

T = TypeVar("T")

#: What a timestamp assigner is given for a record that has no timestamp yet.
NO_TIMESTAMP = MIN_WATERMARK

AssignTimestamp = Callable[[Any, int], int]


class TimestampAssigner(ABC, Generic[T]):
    """Read the timestamp out of a record."""

    @abstractmethod
    def extract_timestamp(self, value: T, record_timestamp: int) -> int:
        """Return the record's timestamp in epoch milliseconds.

        :param record_timestamp: the one that it has already, from its source for instance;
            `NO_TIMESTAMP` if it has none.
        """


@dataclass(frozen=True)
class WatermarkAlignment:
    """Sources of one group wait for each other when one runs ahead too far."""

    group: str
    max_drift_ms: int
    update_interval_ms: int


class WatermarkStrategyContext:
    """What a strategy knows of the operator that it makes its parts for."""

    def __init__(self, metric_group: Any = None) -> None:
        self._metric_group = metric_group

    def get_metric_group(self) -> Any:
        """Return the operator's group of metrics."""
        return self._metric_group


class WatermarkStrategy:
    """Say how a stream gets its timestamps and watermarks. Settings make new strategies.

    A subclass may define `create_watermark_generator` and `create_timestamp_assigner` instead.

    >>> strategy = (
    ...     WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(3))
    ...     .with_timestamp_assigner(lambda event, timestamp: event["at"])
    ...     .with_idleness(Duration.of_minutes(1))
    ... )
    >>> strategy.idle_timeout_ms
    60000
    """

    #: Returns a new generator, one for each channel; None in a subclass that makes them itself.
    generator_factory: Callable[..., WatermarkGenerator[Any]] | None = None
    #: As the user gave it: an object with `extract_timestamp`, a callable, or None.
    timestamp_assigner: Any = None
    #: After how long without records a channel counts as idle, or None.
    idle_timeout_ms: int | None = None
    alignment: WatermarkAlignment | None = None

    def __init__(
        self, generator_factory: Callable[..., WatermarkGenerator[Any]] | None = None
    ) -> None:
        self.generator_factory = generator_factory

    @staticmethod
    def for_monotonous_timestamps() -> WatermarkStrategy:
        """Expect timestamps that never fall within a channel."""
        return WatermarkStrategy(AscendingTimestampsWatermarks)

    @staticmethod
    def for_bounded_out_of_orderness(max_out_of_orderness: Duration | Time) -> WatermarkStrategy:
        """Expect records that are at most so much older than the newest one before them.

        :raises ConfigurationError: if the bound is negative.
        """
        bound = Duration.of(max_out_of_orderness)
        BoundedOutOfOrdernessWatermarks(bound)  # a wrong bound is an error here, not in a worker
        return WatermarkStrategy(partial(BoundedOutOfOrdernessWatermarks, bound))

    @staticmethod
    def no_watermarks() -> WatermarkStrategy:
        """Make no watermarks, as for jobs in processing time."""
        return WatermarkStrategy(NoWatermarks)

    @staticmethod
    def for_generator(
        generator_supplier: Callable[..., WatermarkGenerator[Any]] | WatermarkGenerator[Any],
    ) -> WatermarkStrategy:
        """Use one's own generator.

        :param generator_supplier: a class or callable that makes a generator, called with a
            `WatermarkStrategyContext` if it takes an argument; or a generator, of which every
            channel gets a copy of its own.
        """
        if isinstance(generator_supplier, WatermarkGenerator):
            return WatermarkStrategy(partial(copy.deepcopy, generator_supplier))
        if callable(generator_supplier):
            return WatermarkStrategy(generator_supplier)
        raise ConfigurationError(
            "a watermark generator is needed",
            where="WatermarkStrategy.for_generator",
            got=show_value(generator_supplier),
            todo="give a WatermarkGenerator, its class, or a callable that makes one",
        )

    @staticmethod
    def for_assigner(
        assigner: AssignerWithPeriodicWatermarks[Any] | AssignerWithPunctuatedWatermarks[Any],
    ) -> WatermarkStrategy:
        """Use a classic assigner, which gives timestamps and watermarks in one object."""
        if isinstance(assigner, AssignerWithPeriodicWatermarks):
            return WatermarkStrategy(partial(PeriodicAssignerGenerator.of_copy, assigner))
        if isinstance(assigner, AssignerWithPunctuatedWatermarks):
            return WatermarkStrategy(partial(PunctuatedAssignerGenerator.of_copy, assigner))
        raise ConfigurationError(
            "neither a WatermarkStrategy nor an assigner of timestamps and watermarks",
            where="assign_timestamps_and_watermarks()",
            got=show_value(assigner),
            todo="begin with WatermarkStrategy.for_bounded_out_of_orderness(...)",
        )

    def with_timestamp_assigner(self, timestamp_assigner: Any) -> WatermarkStrategy:
        """Read timestamps out of the records.

        :param timestamp_assigner: a `TimestampAssigner`, or a callable of a record, or of a record
            and the timestamp that it has already; the result is in epoch milliseconds.
        """
        if not callable(timestamp_assigner) and not hasattr(
            timestamp_assigner, "extract_timestamp"
        ):
            raise ConfigurationError(
                "a timestamp assigner is needed",
                where="WatermarkStrategy.with_timestamp_assigner",
                got=show_value(timestamp_assigner),
                todo="give a TimestampAssigner or a function of a record",
            )
        return self._with(timestamp_assigner=timestamp_assigner)

    def with_idleness(self, idle_timeout: Duration | Time) -> WatermarkStrategy:
        """Let a channel without records for so long no longer hold back the others.

        :raises ConfigurationError: if the time is not above zero.
        """
        timeout = to_milliseconds(idle_timeout)
        if timeout <= 0:
            raise ConfigurationError(
                "the idle timeout must be above zero",
                where="WatermarkStrategy.with_idleness",
                got=show_value(idle_timeout),
            )
        return self._with(idle_timeout_ms=timeout)

    def with_watermark_alignment(
        self,
        watermark_group: str,
        max_allowed_watermark_drift: Duration | Time,
        update_interval: Duration | Time | None = None,
    ) -> WatermarkStrategy:
        """Hold back a source that runs ahead of the others of its group by more than the drift.

        :param update_interval: how often sources tell each other where they are; default 1 s.
        """
        interval = 1000 if update_interval is None else to_milliseconds(update_interval)
        drift = to_milliseconds(max_allowed_watermark_drift)
        return self._with(alignment=WatermarkAlignment(watermark_group, drift, interval))

    def create_watermark_generator(
        self, context: WatermarkStrategyContext
    ) -> WatermarkGenerator[Any]:
        """Return a new generator. Called for each channel; a subclass may define it."""
        supply = self.generator_factory
        if supply is None:
            raise ConfigurationError(
                "a watermark strategy makes no generator",
                where=type(self).__name__,
                todo="define create_watermark_generator(self, context) in the subclass",
            )
        return supply(context) if _takes_context(supply) else supply()

    def create_timestamp_assigner(self, context: WatermarkStrategyContext) -> Any:
        """Return a `TimestampAssigner` or a function, None to keep timestamps as they are.

        A subclass may define it; `with_timestamp_assigner` has precedence.
        """
        return None

    def assigner_for(
        self, generator: WatermarkGenerator[Any], context: WatermarkStrategyContext
    ) -> AssignTimestamp | None:
        """Return the function of record and old timestamp that gives the new timestamp.

        None means that records keep the timestamps that they have. A classic assigner is one with
        its generator, which is why it is asked for here: after a restart the generator is another
        object.
        """
        found = getattr(generator, "assign_timestamp", None) or self.timestamp_assigner
        if found is None:
            found = self.create_timestamp_assigner(context)
        if found is None:
            return None
        extract = getattr(found, "extract_timestamp", None)
        if extract is not None:
            return copy.deepcopy(found).extract_timestamp
        return _of_record(found) if _takes_one_argument(found) else found

    def _with(self, **settings: Any) -> WatermarkStrategy:
        changed = copy.copy(self)
        changed.__dict__.update(settings)
        return changed


class AssignerWithPeriodicWatermarksWrapper(WatermarkStrategy):
    """A strategy made of a classic assigner, under the name that PyFlink has for it."""

    def __init__(self, assigner: AssignerWithPeriodicWatermarks[Any]) -> None:
        super().__init__(WatermarkStrategy.for_assigner(assigner).generator_factory)


def _takes_context(supply: Callable[..., Any]) -> bool:
    try:
        signature = inspect.signature(supply)
        signature.bind()
    except TypeError:
        return True
    except ValueError:  # written in C, and tells nothing
        return False
    return False


def _takes_one_argument(function: Callable[..., Any]) -> bool:
    try:
        inspect.signature(function).bind(None, 0)
    except TypeError:
        return True
    except ValueError:
        # Some callables written in C tell no signature: itemgetter and the like take the record.
        return True
    return False


def _of_record(function: Callable[[Any], int]) -> AssignTimestamp:
    def assign(value: Any, record_timestamp: int) -> int:
        return function(value)

    return assign
