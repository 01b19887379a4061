"""Run a DataSet program on a carrier: what to compute, in which order, and what to keep."""

from __future__ import annotations

import time
import uuid
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from penstock.common import JobExecutionResult
from penstock.core.functions import Accumulator
from penstock.execution.batch import BatchRequest, BatchResult
from penstock.graph.dataset.nodes import (
    BulkIterationNode,
    DeltaIterationNode,
    IterationAggregator,
    Node,
    PlaceholderNode,
    SinkKind,
    SinkNode,
    needs,
    reachable,
)
from penstock.runtime.dataset import each, grouped
from penstock.runtime.dataset.carrier import Carrier, Partitions
from penstock.runtime.dataset.context import Place, Reporter, Surroundings
from penstock.runtime.dataset.routes import HashRoute
from penstock.runtime.dataset.sending import ReceiveStage, RepackStage, SendByKey
from penstock.runtime.dataset.translate import Translator

#: Totals that subtasks have reported: by node, superstep and subtask.
Totals = dict[tuple[int, int, int], tuple[dict[str, Any], dict[str, Any]]]


class Reports:
    """Reports of subtasks in this process; one of the same place replaces another."""

    def __init__(self) -> None:
        self._reports: Totals = {}

    def add(self, report: dict[Any, Any]) -> None:
        """Take a report."""
        self._reports.update(report)

    def totals(self) -> Totals:
        """Return all that were taken."""
        return self._reports


class Execution:
    """One run of a program: knows what has been computed, and lets go of it at the end."""

    def __init__(
        self, carrier: Carrier, parallelism: int, around: Surroundings, totals: Callable[[], Totals]
    ) -> None:
        self._carrier = carrier
        self._parallelism = parallelism
        self._around = around
        self._totals = totals
        self._kept: list[Partitions] = []

    def evaluate(
        self,
        targets: list[Node],
        known: Mapping[int, Partitions],
        around: Surroundings | None = None,
    ) -> dict[int, Partitions]:
        """Return the partitions of all nodes that the targets need and that can be computed.

        What hangs on a placeholder that is not `known` is left for the iteration it belongs to.
        """
        around = around or self._around
        done = dict(known)
        order = reachable(targets)
        users = Counter(need.id for node in order for need in needs(node))
        open_nodes = _unbound(order, known)
        read_each_step = {
            need.id for node in order if node.id in open_nodes for need in needs(node)
        }
        translator = Translator(self._carrier, self._parallelism, around)
        for node in order:
            if node.id in done or node.id in open_nodes:
                continue
            done[node.id] = self._compute(node, done, translator, around)
            if users[node.id] > 1 or node.id in read_each_step:
                done[node.id] = self.keep(done[node.id])
        return done

    def keep(self, partitions: Partitions) -> Partitions:
        """Have something computed once, until the end of the run."""
        kept = partitions.keep()
        self._kept.append(kept)
        return kept

    def release(self) -> None:
        """Let go of everything that was kept."""
        for partitions in self._kept:
            partitions.release()

    def place(self, node: Node, done: Mapping[int, Partitions], around: Surroundings) -> Place:
        """Return where the stages of a node stand, with its broadcast sets."""
        tables = {
            name: self._carrier.broadcast(done[given.id].collect())
            for name, given in node.broadcast.items()
        }
        site = str(node.site) if node.site else None
        width = node.parallelism or self._parallelism
        return Place(node.id, node.name, site, width, around, tables, node.parameters)

    def _compute(
        self,
        node: Node,
        done: dict[int, Partitions],
        translator: Translator,
        around: Surroundings,
    ) -> Partitions:
        if isinstance(node, BulkIterationNode):
            return self._bulk(node, done, around)
        if isinstance(node, DeltaIterationNode):
            return self._delta(node, done, around)
        inputs = [done[each.id] for each in node.inputs]
        if isinstance(node, SinkNode):
            return inputs[0]
        return translator.translate(node, inputs, self.place(node, done, around))

    # --- iterations -----------------------------------------------------------------------

    def _bulk(
        self, node: BulkIterationNode, done: dict[int, Partitions], around: Surroundings
    ) -> Partitions:
        current = done[node.inputs[0].id].settled()
        previous: dict[str, Any] = {}
        targets = [node.result] + ([node.termination] if node.termination is not None else [])
        for step in range(1, node.max_iterations + 1):
            here = self._superstep(around, step, node.aggregators, previous)
            found = self.evaluate(targets, {**done, node.placeholder.id: current}, here)
            before, current = current, found[node.result.id].settled()
            ended = node.termination is not None and _is_empty(found[node.termination.id])
            before.release()
            previous, converged = self._converged(node.aggregators, step)
            if ended or converged:
                break
        self._kept.append(current)
        return current

    def _delta(
        self, node: DeltaIterationNode, done: dict[int, Partitions], around: Surroundings
    ) -> Partitions:
        place = self.place(node, done, around)
        width, key, tools = place.parallelism, node.key, self._carrier.tools
        route = HashRoute(width)
        first, workset = (done[given.id] for given in node.inputs)
        sent = first.exchange(SendByKey(place, key, route, width, tools), width)
        solution = sent.through(ReceiveStage(place, tools)).settled()
        workset = workset.settled()
        previous: dict[str, Any] = {}
        for step in range(1, node.max_iterations + 1):
            if _is_empty(workset):
                break
            here = self._superstep(around, step, node.aggregators, previous)
            known = {**done, node.solution.id: solution, node.workset.id: workset}
            found = self.evaluate([node.delta, node.next_workset], known, here)
            delta = self.keep(found[node.delta.id])
            changes = delta.exchange(SendByKey(place, key, route, width, tools, tag=1), width)
            both = solution.through(RepackStage(place, tools, 0)).merged(changes)
            before = solution, workset
            solution = both.through(grouped.LatestStage(place, key, tools)).settled()
            workset = found[node.next_workset.id].settled()
            for old in before:
                old.release()
            previous, converged = self._converged(node.aggregators, step)
            if converged:
                break
        self._kept += [solution, workset]
        return solution

    def _superstep(
        self,
        around: Surroundings,
        step: int,
        aggregators: Mapping[str, IterationAggregator],
        previous: dict[str, Any],
    ) -> Surroundings:
        own = {name: each.aggregator for name, each in aggregators.items()}
        return replace(around, step=step, aggregators=own, previous=previous)

    def _converged(
        self, aggregators: Mapping[str, IterationAggregator], step: int
    ) -> tuple[dict[str, Any], bool]:
        """Return the aggregates of a superstep, and whether one of them ends the iteration."""
        values: dict[str, Any] = {}
        converged = False
        for name, registered in aggregators.items():
            aggregator = registered.aggregator
            aggregator.reset()
            for (_, at, _), (_, aggregates) in sorted(self._totals().items(), key=_by_place):
                if at == step and name in aggregates:
                    aggregator.aggregate(aggregates[name])
            values[name] = aggregator.get_aggregate()
            aggregator.reset()
            criterion = registered.criterion
            converged |= criterion is not None and criterion.is_converged(step, values[name])
        return values, converged


def run_program(
    request: BatchRequest, carrier: Carrier, reporter: Reporter, totals: Callable[[], Totals]
) -> BatchResult:
    """Run a program and return what its sinks ask for.

    :param totals: returns what has arrived at the reporter.
    """
    began = time.monotonic()
    job_id = uuid.uuid4().hex
    around = Surroundings(job_id, reporter, request.cached_files, request.job_parameters)
    execution = Execution(carrier, request.parallelism, around, totals)
    try:
        done = execution.evaluate(list(request.sinks), {})
        values = {
            sink.id: _finish(sink, done[sink.id], execution.place(sink, done, around), carrier)
            for sink in request.sinks
        }
    finally:
        execution.release()
    runtime = int((time.monotonic() - began) * 1000)
    return BatchResult(JobExecutionResult(job_id, runtime, _accumulators(totals())), values)


def _finish(sink: SinkNode, data: Partitions, place: Place, carrier: Carrier) -> Any:
    if sink.kind is SinkKind.COLLECT:
        return data.collect()
    if sink.kind is SinkKind.COUNT:
        return sum(data.through(each.CountStage(place)).collect())
    width = sink.parallelism or data.count
    if width != data.count:
        data = data.fewer(width) if data.count > width else data
    place = replace(place, parallelism=data.count)
    if sink.sort:
        data = data.through(grouped.SortStage(place, sink.sort, carrier.tools))
    sink.output.initialize_global(data.count)
    written = sum(data.through(each.OutputStage(place, sink.output)).collect())
    sink.output.finalize_global(data.count)
    return written


def _unbound(order: list[Node], known: Mapping[int, Partitions]) -> set[int]:
    """Return the nodes that hang on a placeholder which is not known."""
    hanging: dict[int, set[int]] = {}
    for node in order:
        if node.id in known:
            hanging[node.id] = set()
        elif isinstance(node, PlaceholderNode):
            hanging[node.id] = {node.id}
        else:
            found = set().union(*(hanging[need.id] for need in needs(node)))
            hanging[node.id] = found - _own_placeholders(node)
    return {number for number, placeholders in hanging.items() if placeholders}


def _own_placeholders(node: Node) -> set[int]:
    if isinstance(node, BulkIterationNode):
        return {node.placeholder.id}
    if isinstance(node, DeltaIterationNode):
        return {node.solution.id, node.workset.id}
    return set()


def _is_empty(data: Partitions) -> bool:
    probe = Place(0, "emptiness", None, data.count, Surroundings("", Reports()))
    return not data.through(each.LimitStage(probe, 1)).collect()


def _by_place(item: tuple[tuple[int, int, int], Any]) -> tuple[int, int, int]:
    return item[0]


def _accumulators(totals: Totals) -> dict[str, Any]:
    merged: dict[str, Accumulator[Any, Any]] = {}
    for _, (accumulators, _) in sorted(totals.items(), key=_by_place):
        for name, accumulator in accumulators.items():
            if name in merged:
                merged[name].merge(accumulator)
            else:
                merged[name] = accumulator.clone()
    return {name: accumulator.get_local_value() for name, accumulator in merged.items()}
