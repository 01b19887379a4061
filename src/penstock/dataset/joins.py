"""Joins of two data sets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.core.batch.options import JoinHint, JoinKind
from penstock.core.functions import FlatJoinFunction, JoinFunction, Partitioner
from penstock.dataset.data_set import DataSet
from penstock.dataset.projection import PairProjection, pair
from penstock.errors import TypeMismatchError
from penstock.graph.call_site import capture_call_site
from penstock.graph.dataset.keys import UNKNOWN, Key, make_key, require_like_keys
from penstock.graph.dataset.nodes import JoinNode
from penstock.graph.function_checks import require_function


@dataclass(frozen=True)
class JoinSets:
    """Two data sets to be joined: say by what, with `where`."""

    first: DataSet
    second: DataSet
    kind: JoinKind
    hint: JoinHint
    call: str

    def where(self, *fields: Any) -> JoinSetsPredicate:
        """Say the key of the first data set: fields, or one function."""
        key = make_key(f"{self.call}.where()", fields, self.first._node.example)
        return JoinSetsPredicate(self, key)


@dataclass(frozen=True)
class JoinSetsPredicate:
    """A join whose first key is known: say the second, with `equal_to`."""

    sets: JoinSets
    key: Key

    def equal_to(self, *fields: Any) -> JoinOperator:
        """Say the key of the second data set: fields, or one function."""
        sets = self.sets
        second = sets.second
        other = sets.first._other(second, sets.call)
        key = make_key(f"{sets.call}.equal_to()", fields, other.example)
        require_like_keys(sets.call, self.key, sets.first._node.example, key, other.example)
        node = JoinNode(
            name=sets.kind.name.capitalize() + "Join" if sets.kind.name != "INNER" else "Join",
            inputs=(sets.first._node, other),
            site=capture_call_site(),
            kind=sets.kind,
            keys=(self.key, key),
            function=pair,
            hint=sets.hint,
            example=_pair_example(sets.first, second, sets.kind),
        )
        return JoinOperator(sets.first._env, node)


class JoinOperator(DataSet):
    """The pairs of a join, `(first, second)`; `with_` makes something else of them."""

    def with_(
        self,
        function: Callable[[Any, Any], Any]
        | JoinFunction[Any, Any, Any]
        | FlatJoinFunction[Any, Any, Any],
    ) -> DataSet:
        """Call a function for each pair.

        :param function: gives one record for a pair; a `FlatJoinFunction`, or a function that
            yields, gives any number. In an outer join one of its arguments may be None.
        """
        if not isinstance(function, FlatJoinFunction):
            require_function("with_()", function, JoinFunction)
        assert isinstance(self._node, JoinNode)
        self._node.function = function
        self._node.example = UNKNOWN
        self._node.site = capture_call_site()
        return self

    apply = with_

    def with_partitioner(
        self, partitioner: Callable[[Any, int], int] | Partitioner[Any]
    ) -> JoinOperator:
        """Send records where a partitioner says, instead of by their key's hash."""
        require_function("with_partitioner()", partitioner, Partitioner)
        assert isinstance(self._node, JoinNode)
        self._node.partitioner = partitioner
        return self

    def project_first(self, *fields: int | str) -> JoinOperator:
        """Make a tuple of fields of the first record; nothing: the record itself."""
        return self._project(0, fields)

    def project_second(self, *fields: int | str) -> JoinOperator:
        """Make a tuple of fields of the second record; nothing: the record itself."""
        return self._project(1, fields)

    def _project(self, side: int, fields: tuple[int | str, ...]) -> JoinOperator:
        node = self._node
        assert isinstance(node, JoinNode)
        example = node.inputs[side].example
        if fields and example is not UNKNOWN:
            make_key("projection", fields, example)
        if not isinstance(node.function, PairProjection):
            if node.function is not pair:
                raise TypeMismatchError(
                    "a join has either a function or a projection",
                    where=str(capture_call_site()),
                    todo="leave out with_(), or return what you need from its function",
                )
            node.function = PairProjection(())
            node.example = UNKNOWN
        node.function = node.function.and_(side, fields)
        return self


def _pair_example(first: DataSet, second: DataSet, kind: JoinKind) -> Any:
    left, right = first._node.example, second._node.example
    if kind is not JoinKind.INNER or left is UNKNOWN or right is UNKNOWN:
        return UNKNOWN
    return left, right
