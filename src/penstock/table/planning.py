"""From the nodes of a table to a job, and to its explanation."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from penstock.common import Types
from penstock.common.options import JOB_NAME, RUNTIME_MODE
from penstock.connectors.collect import CollectSink, open_collector
from penstock.datastream import StreamExecutionEnvironment
from penstock.execution.executor import JobHandle
from penstock.graph.relational.algebra import Node, SinkNode, Sort
from penstock.graph.relational.changelog import Changes, kinds_of
from penstock.graph.relational.codegen.rows import order_program
from penstock.graph.relational.mini_batches import mini_batch_size, two_phase
from penstock.graph.relational.planner.rules import optimise
from penstock.graph.relational.specs import ConvertSpec, MaterializeSpec
from penstock.graph.relational.translate import make_translator
from penstock.graph.relational.translator import Translated, TranslationSettings, Translator
from penstock.graph.relational.types import PointInTimeType, RowType, TimeAttribute
from penstock.graph.specs import Global, SinkSpec
from penstock.graph.transformations import (
    OperatorTransformation,
    PartitionTransformation,
    Transformation,
)
from penstock.table.bridge import RowsToRecords
from penstock.table.table_config import TableConfig
from penstock.table.table_result import TableResult


@dataclass
class _Named:
    """What stands for the target of rows that go to the program."""

    name: str
    kinds: frozenset[str] = field(default_factory=frozenset)


class Planner:
    """Plan and run the tables of one environment."""

    def __init__(self, env: StreamExecutionEnvironment, config: TableConfig, batch: bool) -> None:
        self.env = env
        self.config = config
        self.batch = batch
        self._streams: Translator | None = None

    def settings(self) -> TranslationSettings:
        """Return what translation must know."""
        self._copy_settings()
        # Final rows are not counted by updates: in BATCH mode there is nothing to wait with.
        tables = {} if self.batch else self.config.to_map()
        return TranslationSettings(
            parallelism=self.env.get_parallelism(),
            zone=self.config.get_local_timezone(),
            batch=self.batch,
            state_ttl=self.config.state_ttl(),
            idle_timeout=self.config.idle_timeout(),
            mini_batch=mini_batch_size(tables),
            two_phase=two_phase(tables),
        )

    # ---- streams -------------------------------------------------------------------------------

    def translated(
        self, node: Node, translator: Translator, update_before: bool = True
    ) -> tuple[Translated, Node]:
        """Return the operators of a plan and the plan; in BATCH mode, of its final rows."""
        if self.batch:
            return self._final(node, translator)
        plan = optimise(node, two_phase=translator.settings.two_phase)
        kinds_of(plan)
        return translator.translate(plan, update_before), plan

    def _final(self, node: Node, translator: Translator) -> tuple[Translated, Node]:
        """Return the final rows; putting them in order is the last step."""
        sort = node if isinstance(node, Sort) else None
        plan = optimise(node if sort is None else sort.input)
        done = translator.translate(plan)
        if sort is None and done.changes.insert_only:
            return done, plan
        width = len(plan.schema.fields)
        spec = MaterializeSpec(width, done.has_kinds)
        source: Transformation = done.source
        if sort is not None:
            order = order_program(sort.keys, translator.settings.zone) if sort.keys else None
            spec = MaterializeSpec(width, done.has_kinds, order, sort.offset, sort.fetch)
            source = PartitionTransformation(source, Global())
        operator = translator.add(plan, spec, [source], single=True, name="Materialize")
        return Translated(operator, Changes(frozenset("I"))), plan

    def to_stream(
        self,
        node: Node,
        translator: Translator,
        *,
        flag: bool = False,
        append: bool = False,
        update_before: bool = True,
        collected: bool = False,
    ) -> tuple[Transformation, Changes]:
        """Return the rows of a node as records."""
        done, plan = self.translated(node, translator, update_before)
        time = _row_time(node.schema) if append or done.changes.insert_only else None
        convert = RowsToRecords(node.schema, done.has_kinds, time, flag, collected)
        operator = translator.add(
            plan, ConvertSpec(convert), [done.source], name="TableToStream", changes=done.has_kinds
        )
        if flag:
            operator.output_type = Types.TUPLE([Types.BOOLEAN(), Types.PICKLED_BYTE_ARRAY()])
        return operator, done.changes

    def stream_translator(self) -> Translator:
        """Return the translator whose operators belong to the environment's next job.

        All conversions of one job share it: what they have in common is made once.
        """
        settings = self.settings()
        settings.add_operator = self.env.add_operator
        if self._streams is None or not self._streams_are_pending():
            self._streams = make_translator(settings)
        self._streams.settings = settings
        return self._streams

    def _streams_are_pending(self) -> bool:
        assert self._streams is not None
        return any(operator in self._streams.added for operator in self.env._operators)

    # ---- jobs ----------------------------------------------------------------------------------

    def collect(self, node: Node, job_name: str = "collect") -> TableResult:
        """Run a query and bring its rows to the program."""
        translator = make_translator(self.settings())
        stream, changes = self.to_stream(node, translator, collected=True)
        collector = open_collector()
        sink = OperatorTransformation(
            "Collect table sink", SinkSpec(CollectSink(collector.id)), [stream],
            self.env.get_parallelism(),
        )  # fmt: skip
        sink.follows_input, sink.keeps_order = True, not changes.insert_only
        handle = self.submit([sink], job_name)
        return TableResult(
            node.schema, handle=handle, collector=collector, streaming=not self.batch,
            zone=self.config.get_local_timezone(),
        )  # fmt: skip

    def insert(self, sinks: list[tuple[Node, Any]], job_name: str) -> JobHandle:
        """Run queries into tables, as one job."""
        return self.submit(self.insert_operators(sinks, make_translator(self.settings())), job_name)

    def insert_operators(
        self, sinks: list[tuple[Node, Any]], translator: Translator
    ) -> list[OperatorTransformation]:
        """Return the operators that end in the sinks' tables."""
        roots = []
        for node, table in sinks:
            update_before = table.wants_update_before()
            done, plan = self.translated(node, translator, update_before)
            table.check_changes(done.changes, node)
            roots.append(table.add_sink(translator, SinkNode(node.schema, plan, table), done))
        return roots

    def submit(self, roots: list[OperatorTransformation], job_name: str) -> JobHandle:
        """Start a job of these sinks; what else the environment has built is not part of it."""
        held, self.env._operators = self.env._operators, list(roots)
        try:
            return self.env.submit(self.config.get(JOB_NAME.key, "") or job_name)
        finally:
            self.env._operators = held

    def plan_text(self, roots: list[Any]) -> str:
        """Return the physical plan of operators as text, level by level."""
        held, self.env._operators = self.env._operators, list(roots)
        try:
            return self.env.explain()
        finally:
            self.env._operators = held

    def _copy_settings(self) -> None:
        """Take settings of the job as a whole from the table environment."""
        configuration = self.env._configuration
        for key, value in self.config.to_map().items():
            if not key.startswith(("table.", "sql-client.", "python.")):
                configuration.set_string(key, value)
        configuration.set_string(RUNTIME_MODE.key, "BATCH" if self.batch else "STREAMING")


def _row_time(schema: RowType) -> int | None:
    for i, column in enumerate(schema.fields):
        kind = column.type
        if isinstance(kind, PointInTimeType) and kind.attribute is TimeAttribute.ROWTIME:
            return i
    return None
