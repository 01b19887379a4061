"""Iterations: the same operators, again and again, over their own result."""

from __future__ import annotations

from typing import Any

from penstock.core.batch.aggregators import Aggregator, ConvergenceCriterion
from penstock.dataset.data_set import DataSet
from penstock.errors import GraphError
from penstock.graph.call_site import capture_call_site
from penstock.graph.dataset.keys import Key
from penstock.graph.dataset.nodes import (
    BulkIterationNode,
    DeltaIterationNode,
    IterationAggregator,
    Node,
    reachable,
)


class _Aggregators:
    """Base: aggregators of an iteration."""

    _aggregators: dict[str, IterationAggregator]

    def register_aggregator(self, name: str, aggregator: Aggregator[Any]) -> Any:
        """Give functions of the iteration an aggregator to add to."""
        self._aggregators[name] = IterationAggregator(aggregator)
        return self

    def register_aggregation_convergence_criterion(
        self, name: str, aggregator: Aggregator[Any], convergence_check: ConvergenceCriterion[Any]
    ) -> Any:
        """Register an aggregator, and end the iteration when a criterion on its value is met."""
        self._aggregators[name] = IterationAggregator(aggregator, convergence_check)
        return self


class IterativeDataSet(_Aggregators, DataSet):
    """What a bulk iteration works on: its first input, then the result of the step before.

    >>> from penstock.dataset import ExecutionEnvironment
    >>> env = ExecutionEnvironment.create_collections_environment()
    >>> loop = env.from_elements(1).iterate(10)
    >>> loop.close_with(loop.map(lambda n: 2 * n)).collect()
    [1024]
    """

    def __init__(self, initial: DataSet, max_iterations: int) -> None:
        super().__init__(initial._env, initial._placeholder("Bulk Iteration"))
        self._initial = initial
        self._max = max_iterations
        self._aggregators = {}

    def close_with(
        self, iteration_result: DataSet, termination_criterion: DataSet | None = None
    ) -> DataSet:
        """Say what a step computes, and return the result of the last one.

        :param termination_criterion: the iteration ends when this is empty after a step.
        :raises GraphError: if the step does not begin with this data set.
        """
        result = self._other(iteration_result, "close_with()")
        _require_loop(self._node, result)
        ends = None
        if termination_criterion is not None:
            ends = self._other(termination_criterion, "close_with()")
        node = BulkIterationNode(
            name="Bulk Iteration",
            inputs=(self._initial._node,),
            site=capture_call_site(),
            placeholder=self._node,  # type: ignore[arg-type]
            max_iterations=self._max,
            result=result,
            termination=ends,
            aggregators=self._aggregators,
        )
        return DataSet(self._env, node)

    def get_max_iterations(self) -> int:
        """Return the most steps that are done."""
        return self._max


class DeltaIteration(_Aggregators):
    """A delta iteration: each step changes the solution set and makes the next workset."""

    def __init__(self, solution: DataSet, workset: DataSet, max_iterations: int, key: Key) -> None:
        self._initial = solution
        self._initial_workset = workset
        self._max = max_iterations
        self._key = key
        self._aggregators = {}
        self._name = "Delta Iteration"
        self._solution = DataSet(solution._env, solution._placeholder("Solution Set"))
        self._workset = DataSet(solution._env, workset._placeholder("Workset"))

    def get_solution_set(self) -> DataSet:
        """Return the solution set as it is at the beginning of a step."""
        return self._solution

    def get_workset(self) -> DataSet:
        """Return what a step works on."""
        return self._workset

    def name(self, name: str) -> DeltaIteration:
        """Name the iteration."""
        self._name = name
        return self

    def set_solution_set_unmanaged(self, unmanaged: bool) -> DeltaIteration:
        """Accept a wish about memory; Spark keeps the solution set."""
        return self

    def close_with(self, solution_set_delta: DataSet, new_workset: DataSet) -> DataSet:
        """Say what a step computes, and return the solution set after the last one.

        The iteration ends when the workset is empty.

        :param solution_set_delta: records that replace those of the same key, or are new.
        """
        initial = self._initial
        delta = initial._other(solution_set_delta, "close_with()")
        node = DeltaIterationNode(
            name=self._name,
            inputs=(initial._node, initial._other(self._initial_workset, "iterate_delta()")),
            site=capture_call_site(),
            example=initial._node.example,
            solution=self._solution._node,  # type: ignore[arg-type]
            workset=self._workset._node,  # type: ignore[arg-type]
            key=self._key,
            max_iterations=self._max,
            delta=delta,
            next_workset=initial._other(new_workset, "close_with()"),
            aggregators=self._aggregators,
        )
        return DataSet(initial._env, node)


def _require_loop(placeholder: Node, result: Node) -> None:
    if all(node is not placeholder for node in reachable([result])):
        raise GraphError(
            "the step of an iteration does not use the iteration's own data set",
            where=f"close_with() at {capture_call_site()}",
            todo="build the step from what iterate() returned",
        )
