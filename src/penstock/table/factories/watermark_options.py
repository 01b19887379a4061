"""`scan.watermark.*`: how a table whose source makes watermarks by split makes them."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.common import Duration
from penstock.common.option_values import parse_duration
from penstock.common.watermark_strategy import WatermarkStrategy
from penstock.errors import ValidationError
from penstock.table.factories.base import TableContext

_PREFIX = "scan.watermark."
_ALIGNMENT = ("alignment.group", "alignment.max-drift")


@dataclass(frozen=True)
class WatermarkSettings:
    """What a table's options say of its watermarks.

    :param eager: a watermark behind every row, rather than now and then.
    :param idle: after how many milliseconds a silent split is left out.
    """

    eager: bool = False
    idle: int | None = None
    alignment: tuple[str, Duration, Duration | None] | None = None

    def applied(self, strategy: WatermarkStrategy, idle: int) -> WatermarkStrategy:
        """Return a strategy with these settings.

        :param idle: the environment's own idle timeout; 0: none.
        """
        timeout = idle if self.idle is None else self.idle
        if timeout:
            strategy = strategy.with_idleness(Duration.of_millis(timeout))
        if self.alignment is not None:
            strategy = strategy.with_watermark_alignment(*self.alignment)
        return strategy


def watermark_settings(context: TableContext) -> WatermarkSettings:
    """Return what a table's options say.

    :raises ValidationError: if one has no such value, or half of an alignment is missing.
    """
    options = {
        key.removeprefix(_PREFIX): value
        for key, value in context.options.items()
        if key.startswith(_PREFIX)
    }
    emit = options.get("emit.strategy", "on-periodic").lower()
    if emit not in ("on-periodic", "on-event"):
        raise ValidationError(
            f"the option '{_PREFIX}emit.strategy' has no such value",
            where=f"table {context.name}",
            got=emit,
            todo="use on-periodic or on-event",
        )
    given = [key for key in _ALIGNMENT if key in options]
    if len(given) == 1:
        raise ValidationError(
            "a group of aligned watermarks has a name and a largest drift",
            where=f"table {context.name}",
            got=f"only '{_PREFIX}{given[0]}'",
            todo="add the other: " + " or ".join(f"'{_PREFIX}{key}'" for key in _ALIGNMENT),
        )
    alignment = None
    if given:
        interval = options.get("alignment.update-interval")
        alignment = (
            options["alignment.group"], parse_duration(options["alignment.max-drift"]),
            None if interval is None else parse_duration(interval),
        )  # fmt: skip
    idle = options.get("idle-timeout")
    return WatermarkSettings(
        emit == "on-event", None if idle is None else parse_duration(idle).to_millis(), alignment
    )
