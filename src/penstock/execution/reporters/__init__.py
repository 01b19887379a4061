"""Reporters: who tells systems outside of the metrics of a job.

The settings are Flink's: `metrics.reporters` names them, `metrics.reporter.<name>.factory.class` or
`.class` says what each is. A reporter is found by the entry point group `penstock.reporters`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from importlib.metadata import entry_points
from typing import Protocol

from penstock.common.options import REPORTERS
from penstock.execution.facts.snapshot import JobSnapshot

#: Entry point group under which reporters are registered.
REPORTER_POINTS = "penstock.reporters"
#: What a class of Flink's is here.
_CLASSES = {"PrometheusReporter": "prom"}

_log = logging.getLogger(__name__)

Ask = Callable[[], JobSnapshot]


class Reporter(Protocol):
    """Tells of one job, from when it is made until it is closed."""

    def close(self) -> None:
        """End."""


class ReporterFactory(Protocol):
    """Makes reporters of one kind."""

    def __call__(self, name: str, snapshot: Ask, settings: Mapping[str, str]) -> Reporter:
        """Start to tell of a job.

        :param name: the reporter's, as the settings have it.
        :param snapshot: returns what is known of the job.
        """


def start_reporters(snapshot: Ask, settings: Mapping[str, str]) -> Callable[[], None]:
    """Start the reporters that the settings name; return how to end them.

    One that cannot be started is logged: the job runs all the same, as in Flink.
    """
    started: list[Reporter] = []
    for name in REPORTERS.read(settings):
        try:
            started.append(_factory(name, settings)(name, snapshot, settings))
        except Exception as error:
            _log.warning("metrics reporter %r cannot be started: %s", name, error)

    def stop() -> None:
        while started:
            started.pop().close()

    return stop


def _factory(name: str, settings: Mapping[str, str]) -> ReporterFactory:
    wanted = kind_of(name, settings)
    points = {point.name: point for point in entry_points(group=REPORTER_POINTS)}
    if wanted not in points:
        known = ", ".join(sorted(points)) or "none"
        raise LookupError(f"there is no reporter {wanted!r}; there are: {known}")
    try:
        factory: ReporterFactory = points[wanted].load()
    except ImportError as error:
        raise ImportError(f"{error}; pip install 'penstock[server]' has what it takes") from None
    return factory


def kind_of(name: str, settings: Mapping[str, str]) -> str:
    """Return what a reporter is: the name itself, if no class is set for it.

    >>> flinks = "org.apache.flink.metrics.prometheus.PrometheusReporterFactory"
    >>> kind_of("my", {"metrics.reporter.my.factory.class": flinks})
    'prom'
    """
    for key in (f"metrics.reporter.{name}.factory.class", f"metrics.reporter.{name}.class"):
        if key in settings:
            own = settings[key].rpartition(".")[2].removesuffix("Factory")
            return _CLASSES.get(own, own)
    return name
