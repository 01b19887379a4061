"""Connectors under PyFlink's module path."""

from penstock.connectors.data_generator import (
    DataGeneratorSource,
    GeneratorFunction,
    RateLimiterStrategy,
)
from penstock.datastream.connectors.base import (
    DeliveryGuarantee,
    Sink,
    Source,
    StreamTransformer,
    SupportsPreprocessing,
)
from penstock.datastream.connectors.file_system import (
    BucketAssigner,
    FileEnumeratorProvider,
    FileSink,
    FileSource,
    FileSourceBuilder,
    FileSplitAssignerProvider,
    OutputFileConfig,
    RollingPolicy,
    StreamFormat,
    StreamingFileSink,
)
from penstock.datastream.connectors.kafka import (
    FlinkKafkaConsumer,
    FlinkKafkaProducer,
    KafkaRecordDeserializationSchema,
    KafkaSink,
    KafkaSource,
    Semantic,
)
from penstock.datastream.connectors.number_seq import NumberSequenceSource

__all__ = [
    "BucketAssigner",
    "DataGeneratorSource",
    "DeliveryGuarantee",
    "FileEnumeratorProvider",
    "FileSink",
    "FileSource",
    "FileSourceBuilder",
    "FileSplitAssignerProvider",
    "FlinkKafkaConsumer",
    "FlinkKafkaProducer",
    "GeneratorFunction",
    "KafkaRecordDeserializationSchema",
    "KafkaSink",
    "KafkaSource",
    "NumberSequenceSource",
    "OutputFileConfig",
    "RateLimiterStrategy",
    "RollingPolicy",
    "Semantic",
    "Sink",
    "Source",
    "StreamFormat",
    "StreamTransformer",
    "StreamingFileSink",
    "SupportsPreprocessing",
]
