"""The table of the benchmark: what is in it, what it says of failures."""

from __future__ import annotations

from pathlib import Path

from bench.measure import Measurement
from bench.report import Report, table

DAY = "2026-11-16T01:02:03+00:00"
MACHINE = {
    "cpu": "some CPU",
    "cores": 2,
    "memory_gb": 24,
    "system": "Linux 6",
    "python": "3.11.7",
    "java": "17.0.15",
}
EXPECTED = """\
Marginal rates in records a second; latency in ms as p50 / p99 (records a second). 2 cores \
(some CPU), 24 GB, Linux 6, Python 3.11.7, Java 17.0.15; penstock 0.1.0, pyflink 2.3.0; \
16 November 2026; one round; 2 of 4 measured while others used less than 0.15 cores.

| workload | penstock | pyflink | times pyflink |
| --- | --- | --- | --- |
"""


def rate(workload: str, engine: str, version: str, value: float, others: float) -> Measurement:
    return Measurement(workload, engine, DAY, others, version, [value])


def a_report(folder: Path) -> Report:
    report = Report(folder / "results.json", MACHINE)
    report.add(rate("reduce", "penstock", "0.1.0", 400_000, others=2.0))
    report.add(rate("reduce", "pyflink", "2.3.0", 4000, others=0.1))
    report.add(Measurement("map", "pyflink", DAY, None, error="it broke"))
    latency = {"rate": 20_000, "p50_ms": 200, "p99_ms": 400}
    report.add(Measurement("latency", "penstock", DAY, 0.1, "0.1.0", latencies=[latency]))
    return report


def test_the_table_has_rates_ratios_latencies_and_failures(tmp_path: Path) -> None:
    text = table(a_report(tmp_path))
    assert text.startswith(EXPECTED)
    lines = text.splitlines()
    assert "| keyed rolling reduce | 400,000 | 4,000 | 100 |" in lines
    assert "| stateless map |  | failed |  |" in lines
    assert "| one keyed level, from source to sink | 200 / 400 (20,000) |  |  |" in lines
    assert "- penstock: default settings: all state durable with every batch." in lines
    assert lines[-1] == "- map       pyflink          failed: it broke"


def test_a_report_is_read_back_only_on_the_machine_it_is_of(tmp_path: Path) -> None:
    report = a_report(tmp_path)
    report.write()
    assert Report.read(report.path).found == {}
    report.machine = Report(report.path).machine
    report.write()
    assert Report.read(report.path).found == report.found


def test_further_rounds_are_told_by_their_medians(tmp_path: Path) -> None:
    report = Report(tmp_path / "results.json", MACHINE)
    for value, p99 in [(300, 900), (100, 500), (200, 400)]:
        report.add(rate("reduce", "penstock", "0.1.0", value, others=0.0), again=True)
        latency = {"rate": 20_000, "p50_ms": 200, "p99_ms": p99}
        report.add(Measurement("latency", "penstock", DAY, latencies=[latency]), again=True)
    report.add(Measurement("reduce", "penstock", DAY, error="it broke"), again=True)
    assert report.found["reduce", "penstock"].rate == 200
    assert report.found["latency", "penstock"].latency == {
        "rate": 20_000, "p50_ms": 200, "p99_ms": 500,
    }  # fmt: skip
    report.add(rate("reduce", "penstock", "0.1.0", 7, others=0.0))
    assert report.found["reduce", "penstock"].rates == [7], "measured anew, not once more"
