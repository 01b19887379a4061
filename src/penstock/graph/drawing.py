"""Draw a plan: SVG without any library, PNG where matplotlib is installed."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from penstock.errors import ConfigurationError
from penstock.graph.plan import ExecutionPlan
from penstock.graph.plan_layout import BOX_HEIGHT, Box, Layout, Route, lay_out
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
        *(_svg_edge(route) for route in layout.routes),
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


def _middle(route: Route) -> tuple[float, float]:
    """Return where an edge's label stands: half-way on its last stretch."""
    (x1, y1), (x2, y2) = route.points[-2:]
    return (x1 + x2) / 2, (y1 + y2) / 2


def _svg_edge(route: Route) -> str:
    (x, y), *others = route.points
    path = f"M{x:g},{y:g}"
    for to_x, to_y in others:
        bend = (to_x - x) / 2
        path += f" C{x + bend:g},{y:g} {to_x - bend:g},{to_y:g} {to_x:g},{to_y:g}"
        x, y = to_x, to_y
    dash = "" if route.edge.crosses else ' stroke-dasharray="4 3"'
    middle_x, middle_y = _middle(route)
    return (
        f'<path d="{path}" fill="none" stroke="#556"{dash} marker-end="url(#arrow)"/>'
        f'<text x="{middle_x:g}" y="{middle_y - 5:g}" text-anchor="middle" '
        f'fill="#556" font-size="10">{escape(edge_label(route.edge))}</text>'
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
    for route in layout.routes:
        *passed, last = route.points
        axes.plot([x for x, _ in passed], [y for _, y in passed], color="#555566", linewidth=1)
        arrow = {"arrowstyle": "-|>", "color": "#555566"}
        axes.annotate("", last, passed[-1], arrowprops=arrow)
        x, y = _middle(route)
        axes.text(x, y - 4, edge_label(route.edge), ha="center", fontsize=6)
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
