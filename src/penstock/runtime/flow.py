"""How many records go in and out of each operator of a task, without looking at each of them.

A chunk says how many records it has, and so does what an exchange sends. Between operators of one
task the numbers follow from these wherever an operator gives one record for each: `map`,
timestamps, a rolling `reduce`. Only where neither side tells are records counted, by an iterator of
Python's own that they pass through.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.graph.plan import PlanEdge
from penstock.runtime.exchange import ExchangeWriter
from penstock.runtime.operators.base import Operator

#: An output of an operator: its id, and the tag of a side output; None is the main one.
OutputPlace = tuple[int, str | None]


class Flow:
    """Tell what the operators of one task took and gave since the last time."""

    def __init__(self, operators: Sequence[Operator], writers: dict[int, ExchangeWriter]) -> None:
        self._operators = {operator.plan.id: operator for operator in operators}
        self._writers = writers
        #: Records that came to an operator from outside of the task.
        self.fed: dict[int, int] = dict.fromkeys(self._operators, 0)

    def counted(self, operator: Operator) -> set[str | None]:
        """Return the outputs of an operator whose records somebody must count."""
        tags = {None, *(edge.output_tag for edge in operator.plan.outputs)}
        return {tag for tag in tags if self._must_count(operator, tag)}

    def take(self) -> dict[int, tuple[int, int, int]]:
        """Return how many records each operator took, gave, and sent out of its chain.

        And begin anew.
        """
        known: dict[OutputPlace, int] = {}
        taken = {}
        for number, operator in self._operators.items():
            took = self._input(operator, known)
            gave = took if operator.is_end else self._given(operator, known)
            sent = took if operator.is_end else self._sent(operator, known)
            taken[number] = (took, gave, sent)
        self.fed = dict.fromkeys(self._operators, 0)
        for operator in self._operators.values():
            for counter in operator.output.counters.values():
                counter.reset()
        for writer in self._writers.values():
            writer.sent = 0
        return taken

    def _input(self, operator: Operator, known: dict[OutputPlace, int]) -> int:
        local = [edge for edge in operator.plan.inputs if edge.source in self._operators]
        sent = (self._output((edge.source, edge.output_tag), known) for edge in local)
        return self.fed[operator.plan.id] + sum(sent)

    def _given(self, operator: Operator, known: dict[OutputPlace, int]) -> int:
        tags = {None, *(edge.output_tag for edge in operator.plan.outputs)}
        return sum(self._output((operator.plan.id, tag), known) for tag in tags)

    def _sent(self, operator: Operator, known: dict[OutputPlace, int]) -> int:
        """Return how many records left the chain here, once for each edge that takes them."""
        return sum(
            self._carried(edge)
            if edge.crosses
            else self._output((operator.plan.id, edge.output_tag), known)
            for edge in operator.plan.outputs
            if edge.crosses or self._operators[edge.target].plan.vertex != operator.plan.vertex
        )

    def _carried(self, edge: PlanEdge) -> int:
        writer = self._writers[edge.id]
        return writer.sent // writer.copies

    def _output(self, place: OutputPlace, known: dict[OutputPlace, int]) -> int:
        if place not in known:
            known[place] = self._find(place, known)
        return known[place]

    def _find(self, place: OutputPlace, known: dict[OutputPlace, int]) -> int:
        number, tag = place
        operator = self._operators[number]
        edges = _edges(operator, tag)
        for edge in edges:
            if edge.crosses:
                return self._carried(edge)
        for edge in edges:
            if self._tells(edge):
                return self._output((edge.target, None), known)
        if tag is None and operator.one_to_one:
            return self._input(operator, known)
        return operator.output.counters[tag].count

    def _must_count(self, operator: Operator, tag: str | None) -> bool:
        edges = _edges(operator, tag)
        if operator.is_end or (tag is None and operator.one_to_one):
            return False
        return not any(edge.crosses or self._tells(edge) for edge in edges)

    def _tells(self, edge: PlanEdge) -> bool:
        """Return whether the number of an edge's records is that of the records behind it."""
        if edge.crosses:
            return False
        target = self._operators[edge.target]
        if not target.one_to_one or len(target.plan.inputs) > 1:
            return False
        return any(next_.crosses or self._tells(next_) for next_ in _edges(target, None))


def _edges(operator: Operator, tag: str | None) -> list[PlanEdge]:
    return [edge for edge in operator.plan.outputs if edge.output_tag == tag]
