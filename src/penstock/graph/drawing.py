"""Draw a plan: SVG without any library, PNG where matplotlib is installed."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from penstock.errors import ConfigurationError
from penstock.graph.layout import BOX_HEIGHT, Box, Layout, lay_out
from penstock.graph.plan import ExecutionPlan, PlanEdge
from penstock.graph.render import edge_label

_BAND_COLOURS = ("#eef4fb", "#f6f1e7")
_STYLE = "font-family: sans-serif; font-size: 12px"


def write_drawing(plan: ExecutionPlan, path: Path) -> None:
    """Write a drawing of a plan.

    :param path: its suffix, `.svg` or `.png`, says which kind.
    :raises ConfigurationError: for any other suffix, or a PNG without matplotlib.
    """
    if path.suffix == ".svg":
        path.write_text(to_svg(plan), encoding="utf-8")
    elif path.suffix == ".png":
        _write_png(plan, path)
    else:
        raise ConfigurationError(
            "a plan is drawn as SVG or PNG",
            where="draw_execution_plan()",
            got=repr(str(path)),
            todo="end the file's name with .svg or .png",
        )


def to_svg(plan: ExecutionPlan) -> str:
    """Return a plan as an SVG document."""
    layout = lay_out(plan)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{layout.width:g}" '
        f'height="{layout.height:g}" style="{_STYLE}">',
        '<defs><marker id="arrow" viewBox="0 0 10 10" refX="10" refY="5" markerWidth="7" '
        'markerHeight="7" orient="auto"><path d="M0,0 L10,5 L0,10 z" fill="#556"/></marker></defs>',
        *_svg_bands(layout),
        *(_svg_edge(layout, edge) for edge in layout.edges),
        *(_svg_box(box) for box in layout.boxes.values()),
        "</svg>",
    ]
    return "\n".join(parts)


def _svg_bands(layout: Layout) -> list[str]:
    return [
        f'<rect x="{band.x:g}" y="0" width="{band.width:g}" height="{layout.height:g}" '
        f'fill="{_BAND_COLOURS[band.level % 2]}"/>'
        f'<text x="{band.x + 8:g}" y="18" fill="#889">level {band.level}</text>'
        for band in layout.bands
    ]


def _svg_box(box: Box) -> str:
    operator = box.operator
    middle = box.x + box.width / 2
    return (
        f"<g><title>{escape(operator.name)}\nuid {escape(operator.uid)}\n"
        f"{escape(str(operator.site or ''))}</title>"
        f'<rect x="{box.x:g}" y="{box.y:g}" width="{box.width:g}" height="{BOX_HEIGHT}" rx="5" '
        f'fill="white" stroke="#557"/>'
        f'<text x="{middle:g}" y="{box.y + 19:g}" text-anchor="middle">{escape(box.label)}</text>'
        f'<text x="{middle:g}" y="{box.y + 36:g}" text-anchor="middle" fill="#778">'
        f"parallelism {operator.parallelism}</text></g>"
    )


def _ends(layout: Layout, edge: PlanEdge) -> tuple[float, float, float, float]:
    source, target = layout.boxes[edge.source], layout.boxes[edge.target]
    middle = BOX_HEIGHT / 2
    return source.x + source.width, source.y + middle, target.x, target.y + middle


def _svg_edge(layout: Layout, edge: PlanEdge) -> str:
    x1, y1, x2, y2 = _ends(layout, edge)
    bend = (x2 - x1) / 2
    dash = "" if edge.crosses else ' stroke-dasharray="4 3"'
    return (
        f'<path d="M{x1:g},{y1:g} C{x1 + bend:g},{y1:g} {x2 - bend:g},{y2:g} {x2:g},{y2:g}" '
        f'fill="none" stroke="#556"{dash} marker-end="url(#arrow)"/>'
        f'<text x="{(x1 + x2) / 2:g}" y="{(y1 + y2) / 2 - 5:g}" text-anchor="middle" '
        f'fill="#556" font-size="10">{escape(edge_label(edge))}</text>'
    )


def _write_png(plan: ExecutionPlan, path: Path) -> None:
    try:
        figures: Any = importlib.import_module("matplotlib.figure")
        patches: Any = importlib.import_module("matplotlib.patches")
    except ImportError as error:
        raise ConfigurationError(
            "a PNG drawing needs matplotlib, which is not installed",
            where="draw_execution_plan()",
            got=repr(str(path)),
            todo="install matplotlib, or end the file's name with .svg",
        ) from error
    layout = lay_out(plan)
    figure = figures.Figure(figsize=(layout.width / 72, layout.height / 72), dpi=100)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_xlim(0, layout.width)
    axes.set_ylim(layout.height, 0)
    axes.axis("off")
    for band in layout.bands:
        colour = _BAND_COLOURS[band.level % 2]
        axes.add_patch(
            patches.Rectangle((band.x, 0), band.width, layout.height, color=colour, zorder=0)
        )
        axes.text(band.x + 8, 18, f"level {band.level}", color="#888899", fontsize=8)
    for edge in layout.edges:
        x1, y1, x2, y2 = _ends(layout, edge)
        axes.annotate("", (x2, y2), (x1, y1), arrowprops={"arrowstyle": "-|>", "color": "#555566"})
        axes.text((x1 + x2) / 2, (y1 + y2) / 2 - 4, edge_label(edge), ha="center", fontsize=6)
    for box in layout.boxes.values():
        text = f"{box.label}\nparallelism {box.operator.parallelism}"
        axes.add_patch(
            patches.Rectangle((box.x, box.y), box.width, BOX_HEIGHT, fc="white", ec="#555577")
        )
        axes.text(
            box.x + box.width / 2,
            box.y + BOX_HEIGHT / 2,
            text,
            ha="center",
            va="center",
            fontsize=8,
        )
    figure.savefig(path)
