"""When a batch counts as a checkpoint: for sinks that publish or roll with checkpoints only.

Every batch is a consistent point, so that each could be one. `enable_checkpointing(interval)` makes
them rarer: processing time is divided into spans of that length, counted from the epoch, and the
first batch of a span is the checkpoint. So all subtasks and the coordinator agree on it without a
word, and a replay, which has the time of the batch that it repeats, comes to the same answer.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.common.time import Duration


@dataclass(frozen=True)
class CheckpointTimes:
    """Tell which batches are checkpoints.

    :param interval: length of a span in milliseconds; None: every batch is a checkpoint.
    :param at_end_only: the input ends and is worked through as a whole: no checkpoint before.

    >>> CheckpointTimes(1000).passed(1999, 2000)
    True
    """

    interval: int | None = None
    at_end_only: bool = False

    @classmethod
    def of(
        cls, interval: Duration | None, pause: Duration | None = None, *, batch_mode: bool = False
    ) -> CheckpointTimes:
        """Return what a job's settings say.

        :param pause: least time between two checkpoints: a longer interval, in effect.
        """
        if interval is None:
            return cls(None, batch_mode)
        return cls(max(interval.to_millis(), 0 if pause is None else pause.to_millis()), batch_mode)

    def passed(self, last: int | None, now: int) -> bool:
        """Tell whether a batch is a checkpoint.

        :param last: time of the batch before; None if there was none.
        :param now: time of the batch.
        """
        if self.at_end_only:
            return False
        if self.interval is None:
            return True
        return last is not None and now // self.interval > last // self.interval

    def next_after(self, time: int) -> int | None:
        """Return the processing time from which on the next batch will be a checkpoint.

        None if nobody need wait for it: every batch is one, or none but the last.
        """
        if self.interval is None or self.at_end_only:
            return None
        return (time // self.interval + 1) * self.interval
