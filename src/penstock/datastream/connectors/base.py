"""What connectors have in common, under PyFlink's module path."""

from penstock.connectors.base import (
    DeliveryGuarantee,
    Sink,
    Source,
    StreamTransformer,
    SupportsPreprocessing,
)
from penstock.connectors.write_ahead import CheckpointCommitter, GenericWriteAheadSink
from penstock.core.io import (
    Committable,
    Committer,
    CommitterContext,
    EnumeratorContext,
    Position,
    ReaderContext,
    ReadLimit,
    SinkWriter,
    SourceBatch,
    SourceReader,
    SplitEnumerator,
    SplitRange,
    WriterContext,
)

__all__ = [
    "CheckpointCommitter",
    "Committable",
    "Committer",
    "CommitterContext",
    "DeliveryGuarantee",
    "EnumeratorContext",
    "GenericWriteAheadSink",
    "Position",
    "ReadLimit",
    "ReaderContext",
    "Sink",
    "SinkWriter",
    "Source",
    "SourceBatch",
    "SourceReader",
    "SplitEnumerator",
    "SplitRange",
    "StreamTransformer",
    "SupportsPreprocessing",
    "WriterContext",
]
