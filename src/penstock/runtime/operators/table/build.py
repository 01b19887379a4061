"""From the description of a table's operator to the operator that does it."""

from __future__ import annotations

from typing import Any

from penstock.graph.relational import specs
from penstock.runtime.operators.table.calc import CalcOperator, ConvertOperator
from penstock.runtime.operators.table.correlate import CorrelateOperator
from penstock.runtime.operators.table.deduplicate import DeduplicateOperator, NormalizeOperator
from penstock.runtime.operators.table.group_aggregate import GroupAggregateOperator
from penstock.runtime.operators.table.join import make_join_operator
from penstock.runtime.operators.table.limit import LimitOperator, MaterializeOperator
from penstock.runtime.operators.table.match import MatchOperator
from penstock.runtime.operators.table.mini_batch import (
    BundleAggregateOperator,
    BundleDeduplicateOperator,
    LocalAggregateOperator,
)
from penstock.runtime.operators.table.over import OverOperator
from penstock.runtime.operators.table.rank import RankOperator
from penstock.runtime.operators.table.sessions import SessionTableOperator
from penstock.runtime.operators.table.slices import SliceOperator, make_sliced_operator
from penstock.runtime.operators.table.table_aggregate import TableAggregateOperator
from penstock.runtime.operators.table.timed import FirstRowOperator, TemporalSortOperator
from penstock.runtime.operators.table.timed_joins import (
    IntervalJoinTableOperator,
    LookupJoinOperator,
    TemporalJoinOperator,
    WindowJoinOperator,
)
from penstock.runtime.operators.table.watermarks import RowWatermarkOperator
from penstock.runtime.operators.table.window_rank import SetOperator, WindowRankOperator
from penstock.runtime.operators.table.windows import WindowAggregateOperator, WindowTableOperator

TABLE_OPERATORS: dict[Any, Any] = {
    specs.CalcSpec: CalcOperator,
    specs.ConvertSpec: ConvertOperator,
    specs.GroupAggregateSpec: GroupAggregateOperator,
    specs.BundleAggregateSpec: BundleAggregateOperator,
    specs.LocalAggregateSpec: LocalAggregateOperator,
    specs.WatermarkSpec: RowWatermarkOperator,
    specs.WindowTableSpec: WindowTableOperator,
    specs.SessionTableSpec: SessionTableOperator,
    specs.WindowAggregateSpec: WindowAggregateOperator,
    specs.SliceSpec: SliceOperator,
    specs.SlicedWindowSpec: make_sliced_operator,
    specs.JoinSpec: make_join_operator,
    specs.RankSpec: RankOperator,
    specs.DeduplicateSpec: DeduplicateOperator,
    specs.BundleDeduplicateSpec: BundleDeduplicateOperator,
    specs.NormalizeSpec: NormalizeOperator,
    specs.LimitSpec: LimitOperator,
    specs.MaterializeSpec: MaterializeOperator,
    specs.FirstRowSpec: FirstRowOperator,
    specs.TemporalSortSpec: TemporalSortOperator,
    specs.OverSpec: OverOperator,
    specs.CorrelateSpec: CorrelateOperator,
    specs.IntervalJoinTableSpec: IntervalJoinTableOperator,
    specs.WindowJoinSpec: WindowJoinOperator,
    specs.TemporalJoinSpec: TemporalJoinOperator,
    specs.LookupJoinSpec: LookupJoinOperator,
    specs.WindowRankSpec: WindowRankOperator,
    specs.SetOperationSpec: SetOperator,
    specs.TableAggregateSpec: TableAggregateOperator,
    specs.MatchSpec: MatchOperator,
}
