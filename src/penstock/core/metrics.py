"""Metrics that user functions keep: counters, gauges, meters and distributions."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from typing import Any

from penstock.errors import ProgramError, show_value

_log = logging.getLogger(__name__)


class Metric(ABC):
    """Base of all metrics."""

    @abstractmethod
    def report(self) -> Any:
        """Return the current reading: a number, or a dict of numbers."""

    def save(self) -> dict[str, Any]:
        """Return what a metric of this kind must know to go on from here; picklable."""
        return {name: value for name, value in vars(self).items() if not callable(value)}

    def restore(self, saved: dict[str, Any]) -> None:
        """Undo `save`."""
        vars(self).update(saved)


class Counter(Metric):
    """Count something.

    >>> counter = Counter()
    >>> counter.inc(3)
    >>> counter.get_count()
    3
    """

    def __init__(self) -> None:
        self._count = 0

    def inc(self, n: int = 1) -> None:
        """Count `n` up."""
        self._count += n

    def dec(self, n: int = 1) -> None:
        """Count `n` down."""
        self._count -= n

    def get_count(self) -> int:
        """Return the count."""
        return self._count

    def report(self) -> int:
        """Return the count."""
        return self._count


class Gauge(Metric):
    """Read a value whenever a report is made."""

    def __init__(self, read: Callable[[], int | float]) -> None:
        self._read = read

    def get_value(self) -> int | float:
        """Return the value as it is now."""
        return self._read()

    def report(self) -> int | float:
        """Return the value as it is now."""
        return self._read()


class Distribution(Metric):
    """Keep sum, count, minimum and maximum of the values given."""

    def __init__(self) -> None:
        self._count = 0
        self._sum: int | float = 0
        self._min: int | float | None = None
        self._max: int | float | None = None

    def update(self, value: int | float) -> None:
        """Take one value."""
        self._count += 1
        self._sum += value
        self._min = value if self._min is None else min(self._min, value)
        self._max = value if self._max is None else max(self._max, value)

    def report(self) -> dict[str, int | float | None]:
        """Return count, sum, min, max and mean."""
        mean = self._sum / self._count if self._count else None
        return {
            "count": self._count,
            "sum": self._sum,
            "min": self._min,
            "max": self._max,
            "mean": mean,
        }


class Meter(Metric):
    """Measure how often something happens.

    :param clock: gives processing time in epoch milliseconds.
    :param time_span_in_seconds: over which the rate is averaged.
    """

    def __init__(self, clock: Callable[[], int], time_span_in_seconds: int = 60) -> None:
        self._clock = clock
        self._span = time_span_in_seconds
        self._count = 0
        self._buckets: deque[tuple[int, int]] = deque()  # (second, events in it)

    def mark_event(self, value: int = 1) -> None:
        """Note that something happened `value` times."""
        second = self._clock() // 1000
        self._count += value
        if self._buckets and self._buckets[-1][0] == second:
            value += self._buckets.pop()[1]
        self._buckets.append((second, value))
        self._forget_before(second - self._span)

    def get_count(self) -> int:
        """Return how often it happened in all."""
        return self._count

    def get_rate(self) -> float:
        """Return how often it happened a second, over the time span."""
        self._forget_before(self._clock() // 1000 - self._span)
        return sum(events for _, events in self._buckets) / self._span

    def report(self) -> dict[str, int | float]:
        """Return count and rate."""
        return {"count": self._count, "rate": self.get_rate()}

    def _forget_before(self, second: int) -> None:
        while self._buckets and self._buckets[0][0] <= second:
            self._buckets.popleft()


class MetricGroup:
    """Make metrics and give them names. Groups inside groups make the names longer.

    Asking again for a name gives the metric that has it already.

    :param clock: gives processing time in epoch milliseconds, for meters.
    :param scope: components in front of every name.

    >>> group = MetricGroup(clock=lambda: 0, scope=("map", "0"))
    >>> group.add_group("parser").counter("broken").inc()
    >>> group.report()
    {'map.0.parser.broken': 1}
    """

    def __init__(
        self,
        clock: Callable[[], int],
        scope: tuple[str, ...] = (),
        variables: dict[str, str] | None = None,
        metrics: dict[str, Metric] | None = None,
    ) -> None:
        self._clock = clock
        self._scope = scope
        self._variables = dict(variables or {})
        self._metrics: dict[str, Metric] = {} if metrics is None else metrics

    def add_group(self, name: str, extra: str | None = None) -> MetricGroup:
        """Return a group inside this one; with `extra` it also defines the variable `<name>`."""
        scope = (*self._scope, name) if extra is None else (*self._scope, name, extra)
        variables = self._variables if extra is None else {**self._variables, f"<{name}>": extra}
        return MetricGroup(self._clock, scope, variables, self._metrics)

    def counter(self, name: str) -> Counter:
        """Return the counter of this name."""
        return self._find(name, Counter, Counter)

    def gauge(self, name: str, obj: Callable[[], int | float]) -> None:
        """Report what `obj()` returns under this name."""
        self._metrics[self.get_metric_identifier(name)] = Gauge(obj)

    def meter(self, name: str, time_span_in_seconds: int = 60) -> Meter:
        """Return the meter of this name."""
        return self._find(name, Meter, lambda: Meter(self._clock, time_span_in_seconds))

    def distribution(self, name: str) -> Distribution:
        """Return the distribution of this name."""
        return self._find(name, Distribution, Distribution)

    def find(self, name: str) -> Metric | None:
        """Return the metric of this name, None if nobody has made it."""
        return self._metrics.get(self.get_metric_identifier(name))

    def get_scope_components(self) -> list[str]:
        """Return the components that stand in front of every name."""
        return list(self._scope)

    def get_all_variables(self) -> dict[str, str]:
        """Return the variables of this group and of those around it."""
        return dict(self._variables)

    def get_metric_identifier(self, metric_name: str) -> str:
        """Return the full name of a metric of this group."""
        return ".".join((*self._scope, metric_name))

    def report(self) -> dict[str, Any]:
        """Return the readings of all metrics made by this group and those inside it."""
        return {name: reading for name, (_, reading) in self.readings().items()}

    def readings(self) -> dict[str, tuple[str, Any]]:
        """Return the same with the kinds of the metrics: `counter`, `gauge` and so on."""
        prefix = self.get_metric_identifier("")
        readings = {}
        for name, metric in self._metrics.items():
            if name.startswith(prefix):
                try:
                    readings[name] = (type(metric).__name__.lower(), metric.report())
                except Exception:
                    # A gauge calls the user's function: a reading is not worth failing a job for.
                    _log.warning("metric %r cannot be read", name, exc_info=True)
        return readings

    def save(self) -> dict[str, tuple[str, dict[str, Any]]]:
        """Return what all metrics must know to go on from here; gauges are read, not kept."""
        return {
            name: (type(metric).__name__, metric.save())
            for name, metric in self._metrics.items()
            if not isinstance(metric, Gauge)
        }

    def restore(self, saved: dict[str, tuple[str, dict[str, Any]]]) -> None:
        """Undo `save`, also for metrics that have not been asked for yet."""
        makers: dict[str, Callable[[], Metric]] = {
            "Counter": Counter,
            "Distribution": Distribution,
            "Meter": lambda: Meter(self._clock),
        }
        for name, (kind, state) in saved.items():
            if name not in self._metrics:
                self._metrics[name] = makers[kind]()
            self._metrics[name].restore(state)

    def _find(self, name: str, kind: type[Any], make: Callable[[], Any]) -> Any:
        identifier = self.get_metric_identifier(name)
        metric = self._metrics.setdefault(identifier, make())
        if not isinstance(metric, kind):
            raise ProgramError(
                f"metric {identifier!r} exists already as another kind",
                got=f"asked for {kind.__name__}, is {type(metric).__name__}",
                todo=f"choose another name than {show_value(name)}",
            )
        return metric
