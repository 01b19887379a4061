"""Connectors under PyFlink's module path."""

from penstock.connectors.data_generator import DataGeneratorSource
from penstock.datastream.connectors.base import (
    DeliveryGuarantee,
    Sink,
    Source,
    StreamTransformer,
    SupportsPreprocessing,
)
from penstock.datastream.connectors.number_seq import NumberSequenceSource

__all__ = [
    "DataGeneratorSource",
    "DeliveryGuarantee",
    "NumberSequenceSource",
    "Sink",
    "Source",
    "StreamTransformer",
    "SupportsPreprocessing",
]
