"""Where to begin and where to stop reading a topic: names of PyFlink's Kafka module."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from penstock.errors import ConfigurationError


class KafkaOffsetResetStrategy(Enum):
    """What to do where there is no offset to begin at, or its record is gone."""

    LATEST = 0
    EARLIEST = 1
    NONE = 2


@dataclass(frozen=True)
class KafkaTopicPartition:
    """One partition of a topic."""

    topic: str
    partition: int


@dataclass(frozen=True)
class KafkaOffsetsInitializer:
    """Choose an offset in each partition. Use the static methods.

    >>> KafkaOffsetsInitializer.timestamp(1_700_000_000_000).kind
    'timestamp'
    """

    kind: str
    at: int = 0
    specific: tuple[tuple[KafkaTopicPartition, int], ...] = ()
    reset: KafkaOffsetResetStrategy = KafkaOffsetResetStrategy.EARLIEST

    @staticmethod
    def committed_offsets(
        offset_reset_strategy: KafkaOffsetResetStrategy = KafkaOffsetResetStrategy.NONE,
    ) -> KafkaOffsetsInitializer:
        """Return the offsets that the consumer group has committed."""
        return KafkaOffsetsInitializer("committed", reset=offset_reset_strategy)

    @staticmethod
    def timestamp(timestamp: int) -> KafkaOffsetsInitializer:
        """Return the first record whose timestamp is not before this one, in epoch milliseconds."""
        latest = KafkaOffsetResetStrategy.LATEST
        return KafkaOffsetsInitializer("timestamp", at=timestamp, reset=latest)

    @staticmethod
    def earliest() -> KafkaOffsetsInitializer:
        """Return the first record that there is."""
        return KafkaOffsetsInitializer("earliest")

    @staticmethod
    def latest() -> KafkaOffsetsInitializer:
        """Return the end: only what comes later."""
        return KafkaOffsetsInitializer("latest", reset=KafkaOffsetResetStrategy.LATEST)

    @staticmethod
    def offsets(
        offsets: dict[KafkaTopicPartition, int],
        offset_reset_strategy: KafkaOffsetResetStrategy = KafkaOffsetResetStrategy.EARLIEST,
    ) -> KafkaOffsetsInitializer:
        """Return these offsets; partitions that are not among them follow the strategy."""
        for partition, offset in offsets.items():
            if not isinstance(partition, KafkaTopicPartition) or not isinstance(offset, int):
                raise ConfigurationError(
                    "offsets must be whole numbers by KafkaTopicPartition",
                    where="KafkaOffsetsInitializer.offsets()",
                    got=f"{partition!r}: {offset!r}",
                )
        chosen = tuple(offsets.items())
        return KafkaOffsetsInitializer("specific", specific=chosen, reset=offset_reset_strategy)
