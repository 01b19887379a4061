"""What all windowed streams let the user say: when a window fires, how late records may be."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, TypeVar

from penstock.common import Duration, Time
from penstock.common.time import to_milliseconds
from penstock.core.output_tag import OutputTag
from penstock.core.windowing import Evictor, MergingWindowAssigner, Trigger, WindowAssigner
from penstock.errors import WindowConfigError
from penstock.graph.call_site import capture_call_site
from penstock.graph.function_checks import require_object

if TYPE_CHECKING:
    from penstock.datastream.stream_execution_environment import StreamExecutionEnvironment

Windows = TypeVar("Windows", bound="WindowSettings")


class WindowSettings:
    """Base of windowed streams and windowed joins. Setters return the object itself."""

    def __init__(
        self,
        environment: StreamExecutionEnvironment,
        assigner: WindowAssigner[Any, Any],
        trigger: Trigger[Any, Any] | None = None,
        evictor: Evictor[Any, Any] | None = None,
    ) -> None:
        require_object("window()", assigner, WindowAssigner)
        self._environment = environment
        self._assigner = assigner
        self._trigger = trigger or assigner.get_default_trigger(environment)
        self._evictor = evictor
        self._lateness = 0
        self._late_tag: OutputTag[Any] | None = None

    def get_execution_environment(self) -> StreamExecutionEnvironment:
        """Return the environment that the stream belongs to."""
        return self._environment

    def trigger(self: Windows, trigger: Trigger[Any, Any]) -> Windows:
        """Say when windows fire, instead of the assigner's own trigger.

        :raises WindowConfigError: if windows merge and the trigger cannot.
        """
        require_object("trigger()", trigger, Trigger)
        if isinstance(self._assigner, MergingWindowAssigner) and not trigger.can_merge():
            raise WindowConfigError(
                "windows that merge need a trigger that can merge",
                where=str(capture_call_site()),
                got=f"{self._assigner!r} with {trigger!r}",
                todo="define can_merge() and on_merge() of the trigger, or use another one",
            )
        self._trigger = trigger
        return self

    def evictor(self: Windows, evictor: Evictor[Any, Any]) -> Windows:
        """Remove elements before or after the window's function is called.

        All elements of a window are kept then, also with a function that combines them.
        """
        require_object("evictor()", evictor, Evictor)
        self._evictor = evictor
        return self

    def allowed_lateness(self: Windows, time_ms: int | Time | Duration) -> Windows:
        """Keep each window for so long after the watermark passes its end.

        An element that is late, but not later than that, fires its window again. Default: zero.

        :param time_ms: milliseconds or a span; without effect in processing time.
        :raises WindowConfigError: if negative.
        """
        lateness = to_milliseconds(time_ms)
        if lateness < 0:
            raise WindowConfigError(
                "the allowed lateness must not be negative",
                where=str(capture_call_site()),
                got=f"{lateness} ms",
                todo="pass zero or more",
            )
        if lateness and not self._assigner.is_event_time():
            warnings.warn(
                f"allowed_lateness() has no effect on {self._assigner!r}: "
                "no element is late in processing time",
                stacklevel=2,
            )
        self._lateness = lateness
        return self

    def side_output_late_data(self: Windows, output_tag: OutputTag[Any]) -> Windows:
        """Send elements that are too late to a side output of the result."""
        require_object("side_output_late_data()", output_tag, OutputTag)
        self._late_tag = output_tag
        return self

    def _spec_settings(self) -> dict[str, Any]:
        """Return the part of a spec that this class knows."""
        return {
            "assigner": self._assigner,
            "trigger": self._trigger,
            "evictor": self._evictor,
            "allowed_lateness": self._lateness,
            "late_tag": None if self._late_tag is None else self._late_tag.tag_id,
        }

    def _name(self) -> str:
        return type(self._assigner).__name__

    def _description(self, function: Any) -> str:
        parts = [repr(self._assigner), type(self._trigger).__name__]
        if self._evictor is not None:
            parts.append(type(self._evictor).__name__)
        parts.append(getattr(function, "__name__", type(function).__name__))
        return f"Window({', '.join(parts)})"
