"""Names that the Table API gives to columns that the program does not name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from sqlglot import exp

from penstock.errors import ValidationError
from penstock.graph.relational.functions import catalog

_WINDOW_PROPERTIES = ("_START", "_END", "_ROWTIME", "_PROCTIME")


def named(items: list[Any], is_user_aggregate: Callable[[str], bool]) -> list[Any]:
    """Return the items of a projection, each with the name that Flink gives it.

    `EXPR$n` is the n-th aggregate or bound of a window in a group, `a-INT` a column that is cast,
    `_cn` anything else in place n.

    :raises ValidationError: if two have the same name.
    """

    def is_aggregate(node: Any) -> bool:
        if not isinstance(node, exp.Anonymous):
            return False
        name = str(node.this)
        if name.upper() in catalog.AGGREGATES or name.endswith(_WINDOW_PROPERTIES):
            return True
        return is_user_aggregate(name)

    # Equal aggregates are one.
    aggregates: dict[Any, int] = {}
    for item in items:
        for node in _outside_of_windows(item):
            if is_aggregate(node):
                aggregates.setdefault(node, len(aggregates))
    done = []
    for place, item in enumerate(items):
        if isinstance(item, exp.Alias | exp.Column | exp.Star | exp.Dot):
            done.append(item)
            continue
        name = f"_c{place}"
        if item in aggregates:
            name = f"EXPR${aggregates[item]}"
        elif isinstance(item, exp.Cast) and isinstance(item.this, exp.Column):
            name = f"{item.this.name}-{item.args['to'].this}"
        done.append(exp.alias_(item, name, quoted=True))
    _check_different([str(item.alias_or_name) for item in done if not item.is_star])
    return done


def _check_different(names: list[str]) -> None:
    for name in names:
        if name and names.count(name) > 1:
            raise ValidationError(
                f"two columns have the name {name!r}", got=f"columns {', '.join(names)}",
                todo="give one of them another name with alias(...)",
            )  # fmt: skip


def _outside_of_windows(item: Any) -> Iterator[Any]:
    """Yield the nodes of a tree that stand in no OVER window."""
    nodes = item.dfs(prune=lambda node: isinstance(node, exp.Window))
    return (node for node in nodes if not isinstance(node, exp.Window))
