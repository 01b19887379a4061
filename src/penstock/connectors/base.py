"""What sources and sinks have in common: names of `pyflink.datastream.connectors.base`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import Enum
from typing import Any

from penstock.core.io import Sink, Source

__all__ = ["DeliveryGuarantee", "Sink", "Source", "StreamTransformer", "SupportsPreprocessing"]


class DeliveryGuarantee(Enum):
    """How often a record reaches what is behind a sink, failures included."""

    #: Once, and visible only when the batch is durable.
    EXACTLY_ONCE = 0
    #: Never lost; after a failure some records may arrive twice.
    AT_LEAST_ONCE = 1
    #: After a failure records may be lost or arrive twice.
    NONE = 2


class StreamTransformer(ABC):
    """Change a stream in front of a sink."""

    @abstractmethod
    def apply(self, ds: Any) -> Any:
        """Return the stream that the sink takes instead of `ds`."""


class SupportsPreprocessing(ABC):
    """Mixed into a sink that wants its stream changed first."""

    @abstractmethod
    def get_transformer(self) -> StreamTransformer | None:
        """Return what `sink_to` applies to the stream; None: nothing."""
