"""Cross products."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.core.batch.options import CrossHint
from penstock.core.functions.batch import CrossFunction
from penstock.dataset.data_set import DataSet
from penstock.dataset.projection import PairProjection, pair
from penstock.graph.call_site import capture_call_site
from penstock.graph.dataset.nodes import CrossNode
from penstock.graph.function_checks import require_function


class CrossOperator(DataSet):
    """All pairs of two data sets, `(first, second)`; `with_` makes something else of them."""

    def __init__(self, first: DataSet, second: DataSet, hint: CrossHint) -> None:
        other = first._other(second, "cross()")
        node = CrossNode(
            name="Cross",
            inputs=(first._node, other),
            site=capture_call_site(),
            function=pair,
            hint=hint,
        )
        super().__init__(first._env, node)

    def with_(self, function: Callable[[Any, Any], Any] | CrossFunction[Any, Any, Any]) -> DataSet:
        """Call a function for each pair; it returns one record."""
        require_function("with_()", function, CrossFunction)
        self._cross.function = function
        self._cross.site = capture_call_site()
        return self

    apply = with_

    def project_first(self, *fields: int | str) -> CrossOperator:
        """Make a tuple of fields of the first record; nothing: the record itself."""
        return self._project(0, fields)

    def project_second(self, *fields: int | str) -> CrossOperator:
        """Make a tuple of fields of the second record; nothing: the record itself."""
        return self._project(1, fields)

    def _project(self, side: int, fields: tuple[int | str, ...]) -> CrossOperator:
        function = self._cross.function
        projection = function if isinstance(function, PairProjection) else PairProjection(())
        self._cross.function = projection.and_(side, fields)
        return self

    @property
    def _cross(self) -> CrossNode:
        assert isinstance(self._node, CrossNode)
        return self._node
