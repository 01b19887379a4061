"""Contracts of user functions, one module a family; import them from here."""

from penstock.core.functions.accumulators import (
    Accumulator,
    AverageAccumulator,
    DoubleCounter,
    DoubleMaximum,
    DoubleMinimum,
    Histogram,
    IntCounter,
    IntMaximum,
    IntMinimum,
    ListAccumulator,
    LongCounter,
    LongMaximum,
    LongMinimum,
)
from penstock.core.functions.async_function import (
    AsyncFunction,
    AsyncFunctionDescriptor,
    RichAsyncFunction,
)
from penstock.core.functions.async_retry import AsyncRetryPredicate, AsyncRetryStrategy
from penstock.core.functions.base import (
    Function,
    bind_runtime_context,
)
from penstock.core.functions.broadcast_process import (
    BaseBroadcastProcessFunction,
    BroadcastProcessFunction,
    KeyedBroadcastProcessFunction,
)
from penstock.core.functions.checkpointed import (
    CheckpointedFunction,
    FunctionInitializationContext,
    FunctionSnapshotContext,
)
from penstock.core.functions.co_map import (
    CoFlatMapFunction,
    CoMapFunction,
    RichCoFlatMapFunction,
    RichCoMapFunction,
)
from penstock.core.functions.co_process import (
    CoProcessFunction,
    KeyedCoProcessFunction,
)
from penstock.core.functions.join import (
    CoGroupFunction,
    FlatJoinFunction,
    JoinFunction,
    ProcessJoinFunction,
    RichCoGroupFunction,
    RichFlatJoinFunction,
    RichJoinFunction,
)
from penstock.core.functions.key import (
    KeySelector,
    Partitioner,
)
from penstock.core.functions.map import (
    FilterFunction,
    FlatMapFunction,
    MapFunction,
    OutputSelector,
    RichFilterFunction,
    RichFlatMapFunction,
    RichMapFunction,
)
from penstock.core.functions.process import (
    KeyedProcessFunction,
    ProcessFunction,
)
from penstock.core.functions.reduce import (
    AggregateFunction,
    FoldFunction,
    ReduceFunction,
    RichAggregateFunction,
    RichFoldFunction,
    RichReduceFunction,
)
from penstock.core.functions.runtime_context import (
    RuntimeContext,
)
from penstock.core.functions.sink import (
    RichSinkFunction,
    SinkFunction,
)
from penstock.core.functions.source import (
    ParallelSourceFunction,
    RichParallelSourceFunction,
    RichSourceFunction,
    SourceFunction,
)
from penstock.core.functions.two_phase_commit import TwoPhaseCommitSinkFunction
from penstock.core.functions.window import (
    AllWindowFunction,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    RichAllWindowFunction,
    RichWindowFunction,
    WindowFunction,
)
from penstock.core.state.stores import KeyedStateStore
from penstock.core.time import TimeDomain, TimerService

__all__ = [
    "Accumulator",
    "AggregateFunction",
    "AllWindowFunction",
    "AsyncFunction",
    "AsyncFunctionDescriptor",
    "AsyncRetryPredicate",
    "AsyncRetryStrategy",
    "AverageAccumulator",
    "BaseBroadcastProcessFunction",
    "BroadcastProcessFunction",
    "CheckpointedFunction",
    "CoFlatMapFunction",
    "CoGroupFunction",
    "CoMapFunction",
    "CoProcessFunction",
    "DoubleCounter",
    "DoubleMaximum",
    "DoubleMinimum",
    "FilterFunction",
    "FlatJoinFunction",
    "FlatMapFunction",
    "FoldFunction",
    "Function",
    "FunctionInitializationContext",
    "FunctionSnapshotContext",
    "Histogram",
    "IntCounter",
    "IntMaximum",
    "IntMinimum",
    "JoinFunction",
    "KeySelector",
    "KeyedBroadcastProcessFunction",
    "KeyedCoProcessFunction",
    "KeyedProcessFunction",
    "KeyedStateStore",
    "ListAccumulator",
    "LongCounter",
    "LongMaximum",
    "LongMinimum",
    "MapFunction",
    "OutputSelector",
    "ParallelSourceFunction",
    "Partitioner",
    "ProcessAllWindowFunction",
    "ProcessFunction",
    "ProcessJoinFunction",
    "ProcessWindowFunction",
    "ReduceFunction",
    "RichAggregateFunction",
    "RichAllWindowFunction",
    "RichAsyncFunction",
    "RichCoFlatMapFunction",
    "RichCoGroupFunction",
    "RichCoMapFunction",
    "RichFilterFunction",
    "RichFlatJoinFunction",
    "RichFlatMapFunction",
    "RichFoldFunction",
    "RichJoinFunction",
    "RichMapFunction",
    "RichParallelSourceFunction",
    "RichReduceFunction",
    "RichSinkFunction",
    "RichSourceFunction",
    "RichWindowFunction",
    "RuntimeContext",
    "SinkFunction",
    "SourceFunction",
    "TimeDomain",
    "TimerService",
    "TwoPhaseCommitSinkFunction",
    "WindowFunction",
    "bind_runtime_context",
]
