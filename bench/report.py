"""What was measured, as a file and as one table."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from bench.engines.query_program import ALL_QUERIES
from bench.measure import ENGINES, Measurement
from bench.quiet import QUIET_CORES
from bench.workloads.catalog import WORKLOADS
from bench.workloads.pace import LATENCY, LATENCY_TITLE

FAILED = "failed"
OURS = "penstock"


def machine() -> dict[str, Any]:
    """Return what the figures depend on."""
    model = platform.processor() or platform.machine()
    cpus = Path("/proc/cpuinfo")
    if cpus.exists():
        names = [line for line in cpus.read_text().splitlines() if line.startswith("model name")]
        model = names[0].partition(":")[2].strip() if names else model
    pages = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    home = os.environ.get("JAVA_HOME")
    command = [f"{home}/bin/java" if home else "java", "-version"]
    java = subprocess.run(command, capture_output=True, text=True).stderr
    return {
        "cpu": model,
        "cores": os.cpu_count(),
        "memory_gb": round(pages / 2**30),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "java": java.split('"')[1] if '"' in java else "unknown",
    }


@dataclass
class Report:
    """All measurements by workload and engine, the newest of each."""

    path: Path
    machine: dict[str, Any] = field(default_factory=machine)
    found: dict[tuple[str, str], Measurement] = field(default_factory=dict)
    growth: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def read(cls, path: Path) -> Report:
        """Return what is in a file, if it was measured on this machine."""
        report = cls(path)
        if path.exists():
            content = json.loads(path.read_text())
            if content["machine"] == report.machine:
                for each in content["measurements"]:
                    report.add(Measurement(**each))
                report.growth = content["growth"]
        return report

    def add(self, found: Measurement, again: bool = False) -> None:
        """Take a measurement in, in place of an earlier one or as a further round of it."""
        place = (found.workload, found.engine)
        before = self.found.get(place)
        self.found[place] = found.after(before) if again and before is not None else found

    def write(self) -> None:
        """Write everything to the file."""
        content = {
            "machine": self.machine,
            "measurements": [asdict(each) for each in self.found.values()],
            "growth": self.growth,
        }
        self.path.write_text(json.dumps(content, indent=1) + "\n")

    def ratio(self, workload: str, engine: str) -> float | None:
        """Return how many times as fast Penstock is as an engine; of SQL, by processors' time."""
        ours = self.found.get((workload, OURS))
        theirs = self.found.get((workload, engine))
        if ours is None or theirs is None or not ours.rate or not theirs.rate:
            return None
        if ours.processor_rate and theirs.processor_rate:
            return ours.processor_rate / theirs.processor_rate
        return ours.rate / theirs.rate

    def line(self, found: Measurement) -> str:
        """Return a measurement as a line of text."""
        if found.error:
            told = f"{FAILED}: {found.error}"
        elif found.latency:
            told = "{p50_ms} ms at p50, {p99_ms} ms at p99, {rate} records/s".format(
                **found.latency
            )
        else:
            sizes = ", ".join(f"{run['records']:,} in {run['seconds']:.1f} s" for run in found.runs)
            told = f"{found.rate:,.0f} records/s ({sizes})"
        if found.processor_rate and not found.error:
            told += f", {found.processor_rate:,.0f} for each second of a processor"
        return f"{found.workload:9} {found.engine:16} {told}"


def table(report: Report) -> str:
    """Return the one table, in Markdown."""
    engines = _engines(report, [*WORKLOADS, LATENCY])
    peers = [name for name in engines if name != OURS]
    header = ["workload", *engines, *(f"times {peer}" for peer in peers)]
    lines = [_caption(report), "", _row(header), _row(["---"] * len(header))]
    for workload in WORKLOADS.values():
        rates = [_cell(report, workload.name, engine, _rate) for engine in engines]
        ratios = [_ratio(report.ratio(workload.name, peer)) for peer in peers]
        lines.append(_row([workload.title, *rates, *ratios]))
    cells = [_cell(report, LATENCY, engine, _latency) for engine in engines]
    lines.append(_row([LATENCY_TITLE, *cells, *([""] * len(peers))]))
    lines += _query_table(report)
    engines = _engines(report, [*WORKLOADS, LATENCY, *ALL_QUERIES])
    notes = [report.line(each) for each in report.found.values() if each.error]
    lines += ["", *(f"- {engine}: {ENGINES[engine].note}." for engine in engines)]
    lines += ["", *(f"- {note}" for note in notes)]
    if report.growth:
        lines += ["", "How Penstock's keyed count grows:", ""]
        lines += [_row(["varied", "", "records/s"]), _row(["---"] * 3)]
        for each in report.growth:
            lines.append(_row([each["varied"], f"{each['value']:,}", f"{each['rate']:,.0f}"]))
    return "\n".join(lines).rstrip() + "\n"


def _engines(report: Report, workloads: list[str]) -> list[str]:
    """Return the engines that were measured on some of the workloads."""
    measured = {engine for workload, engine in report.found if workload in workloads}
    return [name for name in ENGINES if name in measured]


def _query_table(report: Report) -> list[str]:
    engines = _engines(report, list(ALL_QUERIES))
    if not engines:
        return []
    peers = [name for name in engines if name != OURS]
    header = ["query", *engines, *(f"times {peer}" for peer in peers)]
    lines = [
        "",
        "SQL: rows that are read a second / for each second of a processor. Ratios are of ",
    ]
    lines[-1] += "the latter, which others on the machine change less."
    lines += ["", _row(header), _row(["---"] * len(header))]
    for query in ALL_QUERIES.values():
        rates = [_cell(report, query.name, engine, _both_rates) for engine in engines]
        ratios = [_ratio(report.ratio(query.name, peer)) for peer in peers]
        lines.append(_row([query.title, *rates, *ratios]))
    return lines


def growth_line(found: dict[str, Any]) -> str:
    """Return one figure of how cost grows as a line of text."""
    return f"{found['value']:>12,} {found['varied']:12} {found['rate']:>10,.0f} records/s"


def _caption(report: Report) -> str:
    found = list(report.found.values())
    days = sorted({each.measured_at[:10] for each in found})
    dates = " to ".join(_day(day) for day in ([days[0], days[-1]] if len(days) > 1 else days))
    quiet = sum(each.others is not None and each.others < QUIET_CORES for each in found)
    versions = sorted(
        {f"{each.engine.split()[0]} {each.version}" for each in found if each.version}
    )
    here = report.machine
    return (
        f"Marginal rates in records a second; latency in ms as p50 / p99 (records a second). "
        f"{here['cores']} cores ({here['cpu']}), {here['memory_gb']} GB, {here['system']}, "
        f"Python {here['python']}, Java {here['java']}; {', '.join(versions)}; {dates}; "
        f"{_rounds(found)}; "
        f"{quiet} of {len(found)} measured while others used less than {QUIET_CORES} cores."
    )


def _rounds(found: list[Measurement]) -> str:
    most = max((each.rounds for each in found), default=0)
    return f"medians of up to {most} rounds" if most > 1 else "one round"


def _day(day: str) -> str:
    return f"{datetime.fromisoformat(day):%d %B %Y}".lstrip("0")


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _cell(report: Report, workload: str, engine: str, show: Callable[[Measurement], str]) -> str:
    found = report.found.get((workload, engine))
    if found is None:
        return ""
    return FAILED if found.error else show(found)


def _rate(found: Measurement) -> str:
    return f"{found.rate:,.0f}"


def _both_rates(found: Measurement) -> str:
    return f"{found.rate:,.0f} / {found.processor_rate:,.0f}"


def _latency(found: Measurement) -> str:
    return "{p50_ms} / {p99_ms} ({rate:,})".format(**(found.latency or {}))


def _ratio(ratio: float | None) -> str:
    return "" if ratio is None else f"{ratio:.1f}" if ratio < 20 else f"{ratio:.0f}"
