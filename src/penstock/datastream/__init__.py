"""The DataStream API: programs over streams of records, as in `pyflink.datastream`.

- `StreamExecutionEnvironment`: where a program begins and is executed.
- `DataStream`, `KeyedStream`, `ConnectedStreams`, `SplitStream`: streams and what is done to them;
  `DataStreamSink`: where they end.
- Functions, one method to write each: `MapFunction`, `FlatMapFunction`, `FilterFunction`,
  `ReduceFunction`, `KeySelector`, `Partitioner`, `CoMapFunction`, `CoFlatMapFunction`,
  `SourceFunction`, `SinkFunction`; process functions with state, timers and side outputs:
  `ProcessFunction`, `KeyedProcessFunction`, `CoProcessFunction`, `KeyedCoProcessFunction`,
  `BroadcastProcessFunction`, `KeyedBroadcastProcessFunction`.
- `BroadcastStream`, `BroadcastConnectedStream`: what every subtask is told, as broadcast state;
  `AsyncDataStream`: functions that wait for answers from outside.
- Windows: `WindowedStream` and `AllWindowedStream`, with what is in `penstock.datastream.window`;
  `JoinedStreams`, `CoGroupedStreams` and `IntervalJoin`.
- `RuntimeContext`: what a function can ask of its place; `TimerService`, `OutputTag`.
- Settings: `CheckpointConfig`, `CheckpointingMode`, `ExternalizedCheckpointRetention`,
  `RuntimeExecutionMode`, `TimeCharacteristic`, `SlotSharingGroup`, state backends and
  checkpoint storages.

>>> from penstock.datastream import StreamExecutionEnvironment
>>> env = StreamExecutionEnvironment.get_execution_environment()
>>> counts = (
...     env.from_collection(["to be", "or not to be"])
...     .flat_map(lambda line: [(word, 1) for word in line.split()])
...     .key_by(lambda pair: pair[0])
...     .sum(1)
... )
"""

from penstock.common import (
    AscendingTimestampExtractor,
    AssignerWithPeriodicWatermarks,
    AssignerWithPunctuatedWatermarks,
    BoundedOutOfOrdernessTimestampExtractor,
)
from penstock.connectors.file_source.source import FileProcessingMode
from penstock.connectors.text_sink import WriteMode
from penstock.datastream.checkpoint_config import (
    CheckpointConfig,
)
from penstock.datastream.checkpoint_storage import (
    CheckpointStorage,
    CustomCheckpointStorage,
    FileSystemCheckpointStorage,
    JobManagerCheckpointStorage,
)
from penstock.datastream.checkpointing_mode import (
    CheckpointingMode,
)
from penstock.datastream.connectors.base import (
    DeliveryGuarantee,
)
from penstock.datastream.data_stream import (
    AllWindowedStream,
    AsyncDataStream,
    BroadcastConnectedStream,
    BroadcastStream,
    CloseableIterator,
    CoGroupedStreams,
    ConnectedStreams,
    DataStream,
    DataStreamSink,
    IntervalJoin,
    IntervalJoined,
    IterativeStream,
    JoinedStreams,
    KeyedStream,
    SplitStream,
    WindowedStream,
)
from penstock.datastream.execution_mode import (
    RuntimeExecutionMode,
)
from penstock.datastream.externalized_checkpoint_retention import (
    ExternalizedCheckpointCleanup,
    ExternalizedCheckpointRetention,
)
from penstock.datastream.functions import (
    Accumulator,
    AggregateFunction,
    AllWindowFunction,
    AsyncFunction,
    AsyncFunctionDescriptor,
    AsyncRetryPredicate,
    AsyncRetryStrategy,
    AverageAccumulator,
    BaseBroadcastProcessFunction,
    BroadcastProcessFunction,
    CheckpointedFunction,
    CoFlatMapFunction,
    CoGroupFunction,
    CoMapFunction,
    CoProcessFunction,
    DoubleCounter,
    DoubleMaximum,
    DoubleMinimum,
    FilterFunction,
    FlatJoinFunction,
    FlatMapFunction,
    FoldFunction,
    Function,
    FunctionInitializationContext,
    FunctionSnapshotContext,
    Histogram,
    IntCounter,
    IntMaximum,
    IntMinimum,
    JoinFunction,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    KeyedStateStore,
    KeySelector,
    ListAccumulator,
    LongCounter,
    LongMaximum,
    LongMinimum,
    MapFunction,
    OutputSelector,
    ParallelSourceFunction,
    Partitioner,
    ProcessAllWindowFunction,
    ProcessFunction,
    ProcessJoinFunction,
    ProcessWindowFunction,
    ReduceFunction,
    RichAggregateFunction,
    RichAllWindowFunction,
    RichAsyncFunction,
    RichCoFlatMapFunction,
    RichCoGroupFunction,
    RichCoMapFunction,
    RichFilterFunction,
    RichFlatJoinFunction,
    RichFlatMapFunction,
    RichFoldFunction,
    RichJoinFunction,
    RichMapFunction,
    RichParallelSourceFunction,
    RichReduceFunction,
    RichSinkFunction,
    RichSourceFunction,
    RichWindowFunction,
    RuntimeContext,
    SinkFunction,
    SourceFunction,
    TwoPhaseCommitSinkFunction,
    WindowFunction,
)
from penstock.datastream.output_tag import (
    OutputTag,
)
from penstock.datastream.slot_sharing_group import (
    MemorySize,
    SlotSharingGroup,
)
from penstock.datastream.state_backend import (
    CustomStateBackend,
    EmbeddedRocksDBStateBackend,
    FsStateBackend,
    HashMapStateBackend,
    MemoryStateBackend,
    PredefinedOptions,
    RocksDBStateBackend,
    StateBackend,
)
from penstock.datastream.stream_execution_environment import (
    StreamExecutionEnvironment,
)
from penstock.datastream.time_characteristic import (
    TimeCharacteristic,
)
from penstock.datastream.time_domain import (
    TimeDomain,
)
from penstock.datastream.timerservice import (
    TimerService,
)
from penstock.datastream.window import (
    CountWindow,
    GlobalWindow,
    MergingWindowAssigner,
    TimeWindow,
    Trigger,
    TriggerResult,
    Window,
    WindowAssigner,
)

__all__ = [
    "Accumulator",
    "AggregateFunction",
    "AllWindowFunction",
    "AllWindowedStream",
    "AscendingTimestampExtractor",
    "AssignerWithPeriodicWatermarks",
    "AssignerWithPunctuatedWatermarks",
    "AsyncDataStream",
    "AsyncFunction",
    "AsyncFunctionDescriptor",
    "AsyncRetryPredicate",
    "AsyncRetryStrategy",
    "AverageAccumulator",
    "BaseBroadcastProcessFunction",
    "BoundedOutOfOrdernessTimestampExtractor",
    "BroadcastConnectedStream",
    "BroadcastProcessFunction",
    "BroadcastStream",
    "CheckpointConfig",
    "CheckpointStorage",
    "CheckpointedFunction",
    "CheckpointingMode",
    "CloseableIterator",
    "CoFlatMapFunction",
    "CoGroupFunction",
    "CoGroupedStreams",
    "CoMapFunction",
    "CoProcessFunction",
    "ConnectedStreams",
    "CountWindow",
    "CustomCheckpointStorage",
    "CustomStateBackend",
    "DataStream",
    "DataStreamSink",
    "DeliveryGuarantee",
    "DoubleCounter",
    "DoubleMaximum",
    "DoubleMinimum",
    "EmbeddedRocksDBStateBackend",
    "ExternalizedCheckpointCleanup",
    "ExternalizedCheckpointRetention",
    "FileProcessingMode",
    "FileSystemCheckpointStorage",
    "FilterFunction",
    "FlatJoinFunction",
    "FlatMapFunction",
    "FoldFunction",
    "FsStateBackend",
    "Function",
    "FunctionInitializationContext",
    "FunctionSnapshotContext",
    "GlobalWindow",
    "HashMapStateBackend",
    "Histogram",
    "IntCounter",
    "IntMaximum",
    "IntMinimum",
    "IntervalJoin",
    "IntervalJoined",
    "IterativeStream",
    "JobManagerCheckpointStorage",
    "JoinFunction",
    "JoinedStreams",
    "KeySelector",
    "KeyedBroadcastProcessFunction",
    "KeyedCoProcessFunction",
    "KeyedProcessFunction",
    "KeyedStateStore",
    "KeyedStream",
    "ListAccumulator",
    "LongCounter",
    "LongMaximum",
    "LongMinimum",
    "MapFunction",
    "MemorySize",
    "MemoryStateBackend",
    "MergingWindowAssigner",
    "OutputSelector",
    "OutputTag",
    "ParallelSourceFunction",
    "Partitioner",
    "PredefinedOptions",
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
    "RocksDBStateBackend",
    "RuntimeContext",
    "RuntimeExecutionMode",
    "SinkFunction",
    "SlotSharingGroup",
    "SourceFunction",
    "SplitStream",
    "StateBackend",
    "StreamExecutionEnvironment",
    "TimeCharacteristic",
    "TimeDomain",
    "TimeWindow",
    "TimerService",
    "Trigger",
    "TriggerResult",
    "TwoPhaseCommitSinkFunction",
    "Window",
    "WindowAssigner",
    "WindowFunction",
    "WindowedStream",
    "WriteMode",
]
