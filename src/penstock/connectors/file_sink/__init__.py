"""Files of rolling parts in buckets."""

from penstock.connectors.file_sink.assigners import (
    BasePathBucketAssigner,
    BucketAssigner,
    DateTimeBucketAssigner,
    EventTimeBucketAssigner,
)
from penstock.connectors.file_sink.compaction import FileCompactor, FileCompactStrategy
from penstock.connectors.file_sink.output_file_config import OutputFileConfig
from penstock.connectors.file_sink.rolling import (
    CheckpointRollingPolicy,
    DefaultRollingPolicy,
    OnCheckpointRollingPolicy,
    PartFileInfo,
    RollingPolicy,
)
from penstock.connectors.file_sink.sink import (
    FileSink,
    FileSinkBuilder,
    RollingFileSink,
    StreamingFileSink,
)

__all__ = [
    "BasePathBucketAssigner",
    "BucketAssigner",
    "CheckpointRollingPolicy",
    "DateTimeBucketAssigner",
    "DefaultRollingPolicy",
    "EventTimeBucketAssigner",
    "FileCompactStrategy",
    "FileCompactor",
    "FileSink",
    "FileSinkBuilder",
    "OnCheckpointRollingPolicy",
    "OutputFileConfig",
    "PartFileInfo",
    "RollingFileSink",
    "RollingPolicy",
    "StreamingFileSink",
]
