"""Files as sources and sinks, under PyFlink's module path."""

from penstock.connectors.file_sink import (
    BasePathBucketAssigner,
    BucketAssigner,
    CheckpointRollingPolicy,
    DateTimeBucketAssigner,
    DefaultRollingPolicy,
    EventTimeBucketAssigner,
    FileCompactor,
    FileCompactStrategy,
    FileSink,
    OnCheckpointRollingPolicy,
    OutputFileConfig,
    PartFileInfo,
    RollingPolicy,
    StreamingFileSink,
)
from penstock.connectors.file_source.source import (
    FileEnumeratorProvider,
    FileSource,
    FileSourceBuilder,
    FileSplitAssignerProvider,
)
from penstock.connectors.file_source.stream_format import BulkFormat, StreamFormat

__all__ = [
    "BasePathBucketAssigner",
    "BucketAssigner",
    "BulkFormat",
    "CheckpointRollingPolicy",
    "DateTimeBucketAssigner",
    "DefaultRollingPolicy",
    "EventTimeBucketAssigner",
    "FileCompactStrategy",
    "FileCompactor",
    "FileEnumeratorProvider",
    "FileSink",
    "FileSource",
    "FileSourceBuilder",
    "FileSplitAssignerProvider",
    "OnCheckpointRollingPolicy",
    "OutputFileConfig",
    "PartFileInfo",
    "RollingPolicy",
    "StreamFormat",
    "StreamingFileSink",
]
