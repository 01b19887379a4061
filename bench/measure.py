"""Run workloads on an engine, in a process of its own, and check what they gave."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from statistics import median
from typing import Any

from bench.engines.program import rate
from bench.engines.query_program import ALL_QUERIES
from bench.environments import ROOT, NoEnvironmentError, python_of
from bench.quiet import Onlooker
from bench.workloads.catalog import WORKLOADS, Workload
from bench.workloads.checksum import Checksum
from bench.workloads.pace import LATENCY

TIMEOUT_S = 400
#: How much longer than the smaller run the larger one takes at least.
SECONDS, QUICK_S = 5.0, 1.5


@dataclass(frozen=True)
class Engine:
    """How an engine's programs are started."""

    name: str
    #: Its program for the workloads on streams; None: it has none.
    program: str | None
    latency: str | None
    #: Environment of its own; None: the one of the project.
    environment: str | None = None
    options: Sequence[str] = ()
    #: How it is set up, for the reader of the table.
    note: str = ""
    #: At whose sizes it starts, and whose results it must give.
    sized_as: str = ""
    #: What it is measured on; empty: everything.
    workloads: Sequence[str] = ()
    #: Records a second at which latency is measured: more than this it cannot take.
    latency_rate: int = 20_000
    #: Its program for SQL; None: it has none.
    queries: str | None = None

    def python(self) -> str:
        return sys.executable if self.environment is None else python_of(self.environment)


_PYFLINK = Engine(
    "pyflink defaults",
    "datastream",
    "datastream_latency",
    "pyflink",
    sized_as="pyflink",
    workloads=("reduce", "state", "timer", "tumbling"),
    latency_rate=1000,
    queries="tables",
    note="PyFlink in process mode, checkpoints of the heap state every 10 s to a local folder",
)
_BYTEWAX = Engine(
    "bytewax",
    "bytewax_flow",
    "bytewax_latency",
    "bytewax",
    note="two processes with one worker each, nothing durable",
)
ENGINES = {
    engine.name: engine
    for engine in (
        Engine(
            "penstock",
            "datastream",
            "datastream_latency",
            queries="tables",
            note="default settings: all state durable with every batch",
        ),
        Engine(
            "penstock by hand",
            None,
            None,
            queries="by_hand",
            sized_as="penstock",
            note="the same work in Penstock's DataStream API",
        ),
        replace(
            _PYFLINK,
            name="pyflink",
            options=("--set", "python.fn-execution.bundle.size=20000"),
            workloads=(),
            note=f"{_PYFLINK.note}; bundles of 20,000 records, with which it is several times "
            "faster than with the default of 1,000",
        ),
        _PYFLINK,
        _BYTEWAX,
        replace(
            _BYTEWAX,
            name="bytewax durable",
            latency=None,
            options=("--recovery",),
            sized_as="bytewax",
            note="the same with recovery, state saved every 10 s and at the end",
        ),
        Engine(
            "pyspark",
            "pyspark_query",
            None,
            queries="tables_spark",
            note="plain Structured Streaming: SQL in the JVM, but for the map (`mapInArrow`), the "
            "state and the timers (`transformWithStateInPandas`); rolling results once a batch. "
            "For SQL: batch queries, final rows only",
        ),
    )
}


@dataclass
class Measurement:
    """What one workload was found to do on one engine."""

    workload: str
    engine: str
    measured_at: str
    #: Cores that others used meanwhile; None: not known.
    others: float | None = None
    version: str = ""
    #: Marginal records a second, of each round.
    rates: list[float] = field(default_factory=list)
    #: Marginal records for each second of a processor, of each round; only of SQL.
    processor_rates: list[float] = field(default_factory=list)
    #: The runs of the last round.
    runs: list[dict[str, Any]] = field(default_factory=list)
    #: Rate, p50 and p99 of each round.
    latencies: list[dict[str, int]] = field(default_factory=list)
    error: str | None = None

    @property
    def rounds(self) -> int:
        """Return how often it was measured."""
        return len(self.rates or self.latencies)

    @property
    def rate(self) -> float | None:
        """Return the median of the rates."""
        return median(self.rates) if self.rates else None

    @property
    def processor_rate(self) -> float | None:
        """Return the median of the records for each second of a processor."""
        return median(self.processor_rates) if self.processor_rates else None

    @property
    def latency(self) -> dict[str, int] | None:
        """Return the latency of the round whose p99 is the median."""
        by_p99 = sorted(self.latencies, key=lambda each: each["p99_ms"])
        return by_p99[len(by_p99) // 2] if by_p99 else None

    def after(self, before: Measurement) -> Measurement:
        """Return this one together with those of earlier rounds; a failure does not undo them."""
        if self.error or before.error:
            return before if self.error else self
        others = [each.others for each in (self, before) if each.others is not None]
        return replace(
            self,
            others=max(others, default=None),
            rates=[*before.rates, *self.rates],
            processor_rates=[*before.processor_rates, *self.processor_rates],
            latencies=[*before.latencies, *self.latencies],
        )


def measure(engine: Engine, name: str, quick: bool) -> Measurement | None:
    """Measure; None if the engine has no program for the workload."""
    if (engine.latency if name == LATENCY else engine.program) is None:
        return None
    if engine.workloads and name not in engine.workloads:
        return None
    found = Measurement(name, engine.name, _now())
    try:
        if name == LATENCY:
            _measure_latency(engine, quick, found)
        else:
            _measure_rate(engine, WORKLOADS[name], quick, found)
    except (NoEnvironmentError, ProgramError) as error:
        found.error = str(error)
    return found


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


def measure_queries(engine: Engine, names: Sequence[str], quick: bool) -> Iterator[Measurement]:
    """Measure SQL queries on an engine, all in one process; what it cannot say is left out."""
    waiting = [name for name in names if ALL_QUERIES[name].runs_on(engine.name)]
    if engine.queries is None or not waiting:
        return
    arguments = [*waiting, "--seconds", str(QUICK_S if quick else SECONDS), *engine.options]
    whole = Measurement("", engine.name, _now())
    try:
        for told in run_lines(engine, engine.queries, arguments, whole, TIMEOUT_S * len(waiting)):
            waiting.remove(told["query"])
            yield _of_query(whole, told)
    except (NoEnvironmentError, ProgramError) as error:
        for name in waiting:
            yield replace(whole, workload=name, error=str(error))


def _of_query(whole: Measurement, told: dict[str, Any]) -> Measurement:
    found = replace(whole, workload=told["query"], version=told["version"])
    found.error, found.runs = told.get("error"), told.get("runs", [])
    if found.runs:
        small, large = found.runs
        more = large["processors"] - small["processors"]
        found.others = max(small["others"], large["others"])
        found.rates = [rate(found.runs)]
        found.processor_rates = [(large["records"] - small["records"]) / more]
    return found


class ProgramError(RuntimeError):
    """A program has failed, or has given a wrong result."""


def _measure_rate(engine: Engine, workload: Workload, quick: bool, found: Measurement) -> None:
    sized_as = engine.sized_as or engine.name
    start, seconds = workload.starts[sized_as], QUICK_S if quick else SECONDS
    arguments = [workload.name, "--keys", str(workload.keys), "--start", str(start)]
    arguments += ["--seconds", str(seconds), *engine.options]
    assert engine.program is not None
    told = run_program(engine, engine.program, arguments, found)
    found.version, found.runs = told["version"], told["runs"]
    for run in found.runs:
        expected = workload.checksum(sized_as, run["records"], workload.keys)
        if Checksum(*run["checksum"]) != expected:
            raise ProgramError(
                f"wrong result for {run['records']} records: {run['checksum']} "
                f"instead of {expected.as_list()}"
            )
    found.rates = [rate(found.runs)]


def _measure_latency(engine: Engine, quick: bool, found: Measurement) -> None:
    assert engine.latency is not None
    arguments = ["--rate", str(engine.latency_rate)]
    if quick:
        arguments += ["--warm", "10", "--measured", "10"]
    told = run_program(engine, engine.latency, arguments, found)
    found.version = told["version"]
    if told["measured"] != told["expected"]:
        raise ProgramError(f"{told['measured']} results instead of {told['expected']}")
    found.latencies = [{key: told[key] for key in ("rate", "p50_ms", "p99_ms")}]


def run_program(
    engine: Engine, program: str, arguments: Sequence[str], found: Measurement
) -> dict[str, Any]:
    """Run a program of an engine and return the JSON that it prints last."""
    return list(run_lines(engine, program, arguments, found))[-1]


def run_lines(
    engine: Engine, program: str, arguments: Sequence[str], found: Measurement,
    timeout_s: int = TIMEOUT_S,
) -> Iterator[dict[str, Any]]:  # fmt: skip
    """Run a program of an engine and return the lines of JSON that it prints, as they come.

    :raises ProgramError: at the end, if the program has failed or took too long.
    """
    command = [engine.python(), "-m", f"bench.engines.{program}", *arguments]
    with tempfile.TemporaryFile("w+") as errors:
        # A group of its own: what is left of an engine that hangs is ended with it.
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            start_new_session=True,
        )
        timer = threading.Timer(timeout_s, os.killpg, (process.pid, signal.SIGKILL))
        timer.start()
        assert process.stdout is not None
        try:
            with Onlooker(process.pid) as onlooker:
                for line in process.stdout:
                    if line.startswith("{"):
                        yield json.loads(line)
                process.wait()
        finally:
            timer.cancel()
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
        found.others = onlooker.cores
        if process.returncode == -signal.SIGKILL:
            raise ProgramError(f"killed; it may have taken more than {timeout_s} seconds")
        if process.returncode:
            errors.seek(0)
            lines = [line.strip() for line in errors if line.strip()]
            raise ProgramError((lines or ["ended without a word"])[-1][:300])
