"""What runs a DataSet program: the protocol between the API and an engine."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from typing import Any

from penstock.common import JobExecutionResult
from penstock.errors import ConfigurationError
from penstock.graph.dataset.nodes import SinkNode

#: Entry point group under which engines for DataSet programs are registered.
BATCH_ENGINES = "penstock.batch_engines"


@dataclass(frozen=True)
class BatchRequest:
    """A program as the API hands it over: everything that its sinks need."""

    sinks: list[SinkNode]
    parallelism: int
    configuration: dict[str, str] = field(default_factory=dict)
    job_name: str = ""
    #: Registered files: name and path.
    cached_files: Mapping[str, str] = field(default_factory=dict)
    job_parameters: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class BatchResult:
    """What came out: the job's result, and what `collect` and `count` asked for, by sink."""

    job: JobExecutionResult
    values: dict[int, Any]


class BatchEngine(ABC):
    """Runs DataSet programs. Made anew, without arguments, for each execution."""

    @abstractmethod
    def run(self, request: BatchRequest) -> BatchResult:
        """Run a program and return when it has ended.

        :raises JobError: if it failed.
        """


def find_batch_engine(name: str) -> BatchEngine:
    """Return the engine that is registered under a name.

    :raises ConfigurationError: if there is none of that name.
    """
    known = {point.name: point for point in entry_points(group=BATCH_ENGINES)}
    if name not in known:
        raise ConfigurationError(
            "there is no engine for DataSet programs of that name",
            got=repr(name),
            todo=f"use one of: {', '.join(sorted(known)) or 'none is installed'}",
        )
    engine: BatchEngine = known[name].load()()
    return engine
