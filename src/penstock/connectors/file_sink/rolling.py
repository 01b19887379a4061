"""When a part is finished and the next one begins: rolling policies."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Generic, TypeVar

from penstock.common.time import Duration
from penstock.errors import ConfigurationError

T = TypeVar("T")
DEFAULT_PART_SIZE = 128 * 1024 * 1024
DEFAULT_INTERVAL = 60 * 1000


class PartFileInfo(ABC):
    """What a policy is told about an open part."""

    @abstractmethod
    def get_bucket_id(self) -> str:
        """Return the part's bucket."""

    @abstractmethod
    def get_creation_time(self) -> int:
        """Return the processing time of the part's first record."""

    @abstractmethod
    def get_size(self) -> int:
        """Return the length so far in bytes.

        Of a bulk format: of what has been set aside for it, which is added to now and then.
        """

    @abstractmethod
    def get_last_update_time(self) -> int:
        """Return the processing time of the part's last record."""


class RollingPolicy(ABC, Generic[T]):
    """Decide when a part is finished."""

    @abstractmethod
    def should_roll_on_checkpoint(self, part_file_state: PartFileInfo) -> bool:
        """Tell whether the part ends with this checkpoint."""

    @abstractmethod
    def should_roll_on_event(self, part_file_state: PartFileInfo, element: T) -> bool:
        """Tell whether the part ends in front of this record."""

    @abstractmethod
    def should_roll_on_processing_time(
        self, part_file_state: PartFileInfo, current_time: int
    ) -> bool:
        """Tell whether the part ends now. Asked every bucket check interval."""

    def next_roll_time(self, part_file_state: PartFileInfo) -> int | None:
        """Return before when `should_roll_on_processing_time` will certainly say no.

        None: it never says yes. The default knows nothing, so the job wakes up for every check.
        """
        return part_file_state.get_last_update_time()

    @staticmethod
    def default_rolling_policy(
        part_size: int = DEFAULT_PART_SIZE,
        rollover_interval: int = DEFAULT_INTERVAL,
        inactivity_interval: int = DEFAULT_INTERVAL,
    ) -> DefaultRollingPolicy:
        """Return a policy by size, age and inactivity.

        :param part_size: a part ends in front of the record that comes when it is longer, in bytes.
        :param rollover_interval: a part ends when it is that old, in milliseconds.
        :param inactivity_interval: a part ends when it has had no record for so long.
        """
        return DefaultRollingPolicy(part_size, rollover_interval, inactivity_interval)

    @staticmethod
    def on_checkpoint_rolling_policy() -> OnCheckpointRollingPolicy:
        """Return a policy that ends all parts with every checkpoint."""
        return OnCheckpointRollingPolicy()


class DefaultRollingPolicy(RollingPolicy[Any]):
    """End a part by its size, its age, or after a time without records.

    >>> policy = DefaultRollingPolicy.builder().with_rollover_interval(15 * 60 * 1000).build()
    """

    def __init__(
        self,
        part_size: int = DEFAULT_PART_SIZE,
        rollover_interval: int = DEFAULT_INTERVAL,
        inactivity_interval: int = DEFAULT_INTERVAL,
    ) -> None:
        self.part_size = _positive("part size", part_size)
        self.rollover_interval = _positive("rollover interval", rollover_interval)
        self.inactivity_interval = _positive("inactivity interval", inactivity_interval)

    @staticmethod
    def builder() -> DefaultRollingPolicyBuilder:
        """Return a builder that starts with the defaults."""
        return DefaultRollingPolicyBuilder()

    def should_roll_on_checkpoint(self, part_file_state: PartFileInfo) -> bool:
        return part_file_state.get_size() > self.part_size

    def should_roll_on_event(self, part_file_state: PartFileInfo, element: Any) -> bool:
        return part_file_state.get_size() > self.part_size

    def should_roll_on_processing_time(
        self, part_file_state: PartFileInfo, current_time: int
    ) -> bool:
        return current_time >= self.next_roll_time(part_file_state)

    def next_roll_time(self, part_file_state: PartFileInfo) -> int:
        return min(
            part_file_state.get_creation_time() + self.rollover_interval,
            part_file_state.get_last_update_time() + self.inactivity_interval,
        )


class DefaultRollingPolicyBuilder:
    """Make a `DefaultRollingPolicy`. Times are `Duration`s or milliseconds."""

    def __init__(self) -> None:
        self._size = DEFAULT_PART_SIZE
        self._rollover = DEFAULT_INTERVAL
        self._inactivity = DEFAULT_INTERVAL

    def with_max_part_size(self, size: int) -> DefaultRollingPolicyBuilder:
        """Set the size in bytes beyond which a part gets no more records."""
        self._size = size
        return self

    def with_rollover_interval(self, interval: Duration | int) -> DefaultRollingPolicyBuilder:
        """Set the age at which a part ends."""
        self._rollover = _milliseconds(interval)
        return self

    def with_inactivity_interval(self, interval: Duration | int) -> DefaultRollingPolicyBuilder:
        """Set the time without records after which a part ends."""
        self._inactivity = _milliseconds(interval)
        return self

    def build(self) -> DefaultRollingPolicy:
        """Return the policy.

        :raises ConfigurationError: if a number is not above zero.
        """
        return DefaultRollingPolicy(self._size, self._rollover, self._inactivity)


class CheckpointRollingPolicy(RollingPolicy[T]):
    """Base of policies that end every part with the checkpoint, and others when they like."""

    def should_roll_on_checkpoint(self, part_file_state: PartFileInfo) -> bool:
        return True


class OnCheckpointRollingPolicy(CheckpointRollingPolicy[Any]):
    """End all parts with every checkpoint, and only then."""

    def should_roll_on_event(self, part_file_state: PartFileInfo, element: Any) -> bool:
        return False

    def should_roll_on_processing_time(
        self, part_file_state: PartFileInfo, current_time: int
    ) -> bool:
        return False

    def next_roll_time(self, part_file_state: PartFileInfo) -> None:
        return None


def _milliseconds(interval: Duration | int) -> int:
    return interval.to_millis() if isinstance(interval, Duration) else interval


def _positive(name: str, value: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
        raise ConfigurationError(
            f"the {name} of a rolling policy must be a whole number above zero",
            where="DefaultRollingPolicy",
            got=repr(value),
            todo="pass bytes for the size, milliseconds for the intervals",
        )
    return value
