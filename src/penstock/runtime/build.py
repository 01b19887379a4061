"""From an operator's description to the operator that does it."""

from __future__ import annotations

from collections.abc import Callable

from penstock.graph import specs
from penstock.graph.plan import PlanOperator
from penstock.runtime.context import OperatorRuntimeContext
from penstock.runtime.operators.async_wait import AsyncWaitOperator
from penstock.runtime.operators.base import Operator
from penstock.runtime.operators.broadcast_batch import (
    make_broadcast_operator,
    make_keyed_broadcast_operator,
)
from penstock.runtime.operators.cep import CepOperator
from penstock.runtime.operators.co import (
    CoFlatMapOperator,
    CoMapOperator,
    CoProcessOperator,
    KeyedCoProcessOperator,
)
from penstock.runtime.operators.co_group import make_co_group_operator
from penstock.runtime.operators.interval_join import IntervalJoinOperator
from penstock.runtime.operators.process import KeyedProcessOperator, ProcessOperator
from penstock.runtime.operators.reduce import FoldOperator, ReduceOperator
from penstock.runtime.operators.sink import SinkFunctionOperator, SinkOperator
from penstock.runtime.operators.source import SourceOperator
from penstock.runtime.operators.stateless import FilterOperator, FlatMapOperator, MapOperator
from penstock.runtime.operators.table.build import TABLE_OPERATORS
from penstock.runtime.operators.timestamps import TimestampsOperator
from penstock.runtime.operators.window_choice import make_window_operator
from penstock.runtime.operators.with_state import WithStateOperator
from penstock.runtime.scope import Scope

#: Makes an operator of its plan: an operator's class, or a function that chooses one.
OperatorMaker = Callable[[PlanOperator, OperatorRuntimeContext, Scope], Operator]

OPERATORS: dict[type[specs.OperatorSpec], OperatorMaker] = {
    specs.SourceSpec: SourceOperator,
    specs.MapSpec: MapOperator,
    specs.FlatMapSpec: FlatMapOperator,
    specs.FilterSpec: FilterOperator,
    specs.TimestampsSpec: TimestampsOperator,
    specs.ReduceSpec: ReduceOperator,
    specs.FoldSpec: FoldOperator,
    specs.ProcessSpec: ProcessOperator,
    specs.KeyedProcessSpec: KeyedProcessOperator,
    specs.CoMapSpec: CoMapOperator,
    specs.CoFlatMapSpec: CoFlatMapOperator,
    specs.CoProcessSpec: CoProcessOperator,
    specs.KeyedCoProcessSpec: KeyedCoProcessOperator,
    specs.WithStateSpec: WithStateOperator,
    specs.BroadcastProcessSpec: make_broadcast_operator,
    specs.KeyedBroadcastProcessSpec: make_keyed_broadcast_operator,
    specs.AsyncWaitSpec: AsyncWaitOperator,
    specs.WindowSpec: make_window_operator,
    specs.CoGroupSpec: make_co_group_operator,
    specs.IntervalJoinSpec: IntervalJoinOperator,
    specs.CepSpec: CepOperator,
    specs.SinkSpec: SinkOperator,
    specs.SinkFunctionSpec: SinkFunctionOperator,
    **TABLE_OPERATORS,
}
