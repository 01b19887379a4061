"""Co-groups: the records of two data sets, key by key."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from penstock.core.batch.options import Order
from penstock.core.functions import CoGroupFunction, Partitioner
from penstock.dataset.data_set import DataSet
from penstock.graph.call_site import capture_call_site
from penstock.graph.dataset.keys import Key, SortKey, make_key, make_sort_key, require_like_keys
from penstock.graph.dataset.nodes import CoGroupNode
from penstock.graph.function_checks import require_function


@dataclass(frozen=True)
class CoGroupSets:
    """Two data sets to be grouped together: say by what, with `where`."""

    first: DataSet
    second: DataSet

    def where(self, *fields: Any) -> CoGroupSetsPredicate:
        """Say the key of the first data set: fields, or one function."""
        return CoGroupSetsPredicate(
            self, make_key("co_group().where()", fields, self.first._node.example)
        )


@dataclass(frozen=True)
class CoGroupSetsPredicate:
    """A co-group whose first key is known: say the second, with `equal_to`."""

    sets: CoGroupSets
    key: Key

    def equal_to(self, *fields: Any) -> CoGroupOperator:
        """Say the key of the second data set: fields, or one function."""
        first, second = self.sets.first, self.sets.second
        other = first._other(second, "co_group()")
        key = make_key("co_group().equal_to()", fields, other.example)
        require_like_keys("co_group()", self.key, first._node.example, key, other.example)
        node = CoGroupNode(
            name="CoGroup",
            inputs=(first._node, other),
            site=capture_call_site(),
            keys=(self.key, key),
            function=_both,
        )
        return CoGroupOperator(first._env, node)


class CoGroupOperator(DataSet):
    """The groups of two data sets, as two lists; `with_` makes something else of them."""

    def with_(
        self, function: Callable[[Any, Any], Any] | CoGroupFunction[Any, Any, Any]
    ) -> DataSet:
        """Call a function for each key with the records of both sides; one may have none.

        :param function: returns or yields any number of records.
        """
        require_function("with_()", function, CoGroupFunction)
        self._co_group.function = function
        self._co_group.site = capture_call_site()
        return self

    apply = with_

    def with_partitioner(
        self, partitioner: Callable[[Any, int], int] | Partitioner[Any]
    ) -> CoGroupOperator:
        """Send records where a partitioner says, instead of by their key's hash."""
        require_function("with_partitioner()", partitioner, Partitioner)
        self._co_group.partitioner = partitioner
        return self

    def sort_first_group(self, field: Any, order: Order) -> CoGroupOperator:
        """Sort the first side's records of each key."""
        return self._sort(0, field, order)

    def sort_second_group(self, field: Any, order: Order) -> CoGroupOperator:
        """Sort the second side's records of each key."""
        return self._sort(1, field, order)

    def _sort(self, side: int, field: Any, order: Order) -> CoGroupOperator:
        node = self._co_group
        key = make_sort_key("sort_group()", field, order, node.inputs[side].example)
        sorts: list[tuple[SortKey, ...]] = list(node.sorts)
        sorts[side] = (*sorts[side], key)
        node.sorts = (sorts[0], sorts[1])
        return self

    @property
    def _co_group(self) -> CoGroupNode:
        assert isinstance(self._node, CoGroupNode)
        return self._node


def _both(first: Iterable[Any], second: Iterable[Any]) -> Iterator[Any]:
    yield list(first), list(second)
