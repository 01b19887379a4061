"""What every part of `Expression` stands on: a tree, and how calls are made from it."""

from __future__ import annotations

from typing import Any

from penstock.graph.relational.types import LogicalType
from penstock.table.expression_tree import call, cast_tree, literal


class ExpressionBase:
    """A tree of the SQL parser's."""

    def __init__(self, tree: Any) -> None:
        self._tree = tree

    @property
    def tree(self) -> Any:
        """The tree, as the SQL parser makes it; not to be changed."""
        return self._tree

    def _call(self, name: str, *args: Any) -> Any:
        """Return the call of a built-in function with this as its first argument."""
        return type(self)(call(name, self._tree.copy(), *(tree_of(arg) for arg in args)))

    def _cast_to(self, data_type: LogicalType) -> Any:
        """Return the value as another type."""
        return type(self)(cast_tree(self._tree.copy(), data_type))

    def _call_given(self, name: str, *args: Any) -> Any:
        """Return the call with the arguments that were given; None stands for one that was not."""
        return self._call(name, *(arg for arg in args if arg is not None))


def tree_of(value: Any) -> Any:
    """Return the tree of an expression, or of a Python value as a literal."""
    return value.tree.copy() if isinstance(value, ExpressionBase) else literal(value)
