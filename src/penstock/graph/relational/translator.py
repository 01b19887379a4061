"""What translates a plan into operators: dispatch, names, and the parts that rules share."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from penstock.common.watermark_strategy import WatermarkStrategy
from penstock.errors import ValidationError
from penstock.graph.relational import algebra as a
from penstock.graph.relational.changelog import Changes
from penstock.graph.relational.codegen.chunks import Session
from penstock.graph.relational.distribution import parted_by
from penstock.graph.relational.physical import LocalAggregate
from penstock.graph.relational.types import (
    ArrayType,
    BitmapType,
    LocalZonedTimestampType,
    LogicalType,
    MapType,
    MultisetType,
    RawType,
    RowType,
    VariantType,
)
from penstock.graph.specs import Hash, OperatorSpec
from penstock.graph.transformations import (
    OperatorTransformation,
    PartitionTransformation,
    Transformation,
)

#: Types whose values can be changed by who has them.
_CHANGEABLE = (ArrayType, MultisetType, MapType, RowType, RawType, VariantType, BitmapType)


class OneKey:
    """The key of rows that all belong together."""

    def get_key(self, row: Any) -> tuple[()]:
        """Return the same for every row."""
        return ()


@dataclass
class TranslationSettings:
    """What the environment says about a job's tables."""

    parallelism: int = 1
    zone: str = "UTC"
    batch: bool = False
    state_ttl: int = 0  # milliseconds; 0: state is kept for ever
    mini_batch: int = 0  # rows of a mini-batch; 0: every row updates results
    two_phase: bool = False  # whether aggregates are made in front of the exchange as well
    idle_timeout: int = 0  # milliseconds; 0: a silent source holds watermarks back
    add_operator: Callable[[OperatorTransformation], None] = lambda operator: None


@dataclass(frozen=True)
class Translated:
    """The output of a node: where its rows come from, and what changes they carry."""

    source: Transformation
    changes: Changes

    @property
    def has_kinds(self) -> bool:
        """Whether a kind stands behind the columns of each row."""
        return not self.changes.insert_only


class Translator:
    """Translate the plans of one job; what they share is made once."""

    def __init__(self, settings: TranslationSettings, rules: dict[type, Rule]) -> None:
        self._rules = rules
        self.settings = settings
        self.session = Session(settings.zone)
        self._done: dict[tuple[a.Node, bool], Translated] = {}
        self._nodes: dict[int, a.Node] = {}  # by the transformation that has a node's rows
        self._uids: dict[str, int] = {}
        self.added: list[OperatorTransformation] = []
        #: How scans make watermarks, for tables that make them by split.
        self.strategies: dict[a.Node, WatermarkStrategy] = {}
        #: What each node's output carries, for `explain`.
        self.changes: dict[a.Node, Changes] = {}

    def translate(self, node: a.Node, update_before: bool = True) -> Translated:
        """Return the operators of a plan.

        :param update_before: whether the consumer needs the row before each update.
        """
        key = (node, update_before)
        if key not in self._done:
            rule = self._rules.get(type(node))
            if rule is None:
                raise ValidationError(
                    f"{node.title()} cannot be executed", got=node.describe(),
                    todo="write the query in another way",
                )  # fmt: skip
            self._done[key] = rule(self, node, update_before)
        done = self._done[key]
        self._nodes[done.source.id] = node
        self.changes[node] = done.changes
        return done

    # ---- building blocks -----------------------------------------------------------------------

    def add(
        self, node: a.Node, spec: OperatorSpec, inputs: Sequence[Transformation], *,
        single: bool = False, name: str | None = None, changes: bool = False,
    ) -> OperatorTransformation:  # fmt: skip
        """Add an operator for a node; its uid follows from what the node does.

        :param changes: whether its input has changes: they must stay in order.
        """
        title = name or node.title()
        operator = OperatorTransformation(title, spec, inputs, self.settings.parallelism)
        operator.description = f"{title}({node.describe()})"
        operator.uid = self._uid(title, node)
        operator.follows_input = bool(inputs)
        operator.keeps_order = changes
        if single:
            operator.force_non_parallel()
        self.settings.add_operator(operator)
        self.added.append(operator)
        return operator

    def _uid(self, title: str, node: a.Node) -> str:
        """Name an operator by what it does and by the tables it reads, not by its place."""
        tables = sorted({scan.table.name for scan in node.walk() if isinstance(scan, a.Scan)})
        text = "\n".join([title, node.describe(), *tables])
        digest = hashlib.sha256(text.encode()).hexdigest()[:16]
        count = self._uids[digest] = self._uids.get(digest, 0) + 1
        return f"sql-{title}-{digest}" + (f"-{count}" if count > 1 else "")

    def keyed(
        self, source: Transformation, columns: Sequence[int], node: a.Node | None = None
    ) -> PartitionTransformation:
        """Return the rows parted by some columns; by an exchange, if they are not already.

        :param node: the node whose rows and columns these are, if it is not the source's own.
        """
        selector: Any = itemgetter(*columns) if columns else OneKey()
        own = self._nodes.get(source.id)
        node = own if node is None else node
        settled = node is not None and tuple(columns) in parted_by(node)
        immutable = own is not None and own is node and _is_immutable(own)
        return PartitionTransformation(source, Hash(selector, settled, immutable))

    def zone_of(self, kind: LogicalType) -> str | None:
        """Return the session's zone if values of a type are shown in it."""
        return self.settings.zone if isinstance(kind, LocalZonedTimestampType) else None


def _is_immutable(node: a.Node) -> bool:
    """Tell whether the rows of a node hold nothing that can change."""
    if isinstance(node, LocalAggregate):  # its rows are accumulators, of whatever they need
        return False
    return not any(isinstance(field.type, _CHANGEABLE) for field in node.schema.fields)


#: Translates one kind of node; told whether the consumer needs the row before each update.
Rule = Callable[[Translator, Any, bool], Translated]
