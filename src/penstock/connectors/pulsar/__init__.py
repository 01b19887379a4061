"""Pulsar as a source and as a sink."""

from penstock.connectors.pulsar.cursors import RangeGenerator, StartCursor, StopCursor
from penstock.connectors.pulsar.sink import (
    MessageDelayer,
    PulsarSink,
    PulsarSinkBuilder,
    TopicRoutingMode,
)
from penstock.connectors.pulsar.source import PulsarSource, PulsarSourceBuilder

__all__ = [
    "MessageDelayer",
    "PulsarSink",
    "PulsarSinkBuilder",
    "PulsarSource",
    "PulsarSourceBuilder",
    "RangeGenerator",
    "StartCursor",
    "StopCursor",
    "TopicRoutingMode",
]
