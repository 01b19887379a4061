"""Draw the rates of all engines, workload by workload: `python -m bench.plot RESULTS PICTURE`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from statistics import median

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

COLOURS = {
    "penstock": "#0b6e4f",
    "pyflink": "#e4572e",
    "pyflink defaults": "#f4a58a",
    "bytewax": "#f2c14e",
    "bytewax durable": "#c99a2e",
    "pyspark": "#6c8ead",
}


def draw(results: Path, picture: Path) -> None:
    """Draw a group of bars for each workload, on a logarithmic scale."""
    content = json.loads(results.read_text())
    rates = {
        (each["workload"], each["engine"]): median(each["rates"])
        for each in content["measurements"]
        if each["rates"]
    }
    workloads = list(dict.fromkeys(workload for workload, _ in rates))
    engines = [engine for engine in COLOURS if any(engine == other for _, other in rates)]
    width = 0.8 / max(1, len(engines))
    figure, axes = plt.subplots(figsize=(10, 4.5), dpi=150)
    for number, engine in enumerate(engines):
        at = [(i, rates[w, engine]) for i, w in enumerate(workloads) if (w, engine) in rates]
        places = [i + (number - (len(engines) - 1) / 2) * width for i, _ in at]
        axes.bar(places, [rate for _, rate in at], width, label=engine, color=COLOURS[engine])
    axes.set_yscale("log")
    axes.set_ylabel("records a second")
    axes.set_xticks(range(len(workloads)), workloads)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", alpha=0.3)
    axes.set_axisbelow(True)
    axes.legend(ncols=len(engines), loc="lower center", bbox_to_anchor=(0.5, 1.0), frameon=False)
    here = content["machine"]
    day = max(each["measured_at"] for each in content["measurements"])[:10]
    figure.text(0.99, 0.01, f"{here['cores']} cores, {here['cpu']}, {day}", ha="right", size=7)
    figure.tight_layout()
    figure.savefig(picture)


if __name__ == "__main__":
    draw(Path(sys.argv[1]), Path(sys.argv[2]))
