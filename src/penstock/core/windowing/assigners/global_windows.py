"""The global window: everything of a key in one window, which only a trigger can end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.core.windowing.assigners.base import WindowAssigner
from penstock.core.windowing.serializers import GlobalWindowSerializer
from penstock.core.windowing.triggers.never import NeverTrigger
from penstock.core.windowing.windows import GlobalWindow


@dataclass(frozen=True)
class GlobalWindows(WindowAssigner[Any, GlobalWindow]):
    """Put everything into one window. It never fires unless a trigger is given."""

    @staticmethod
    def create() -> GlobalWindows:
        """Return the assigner."""
        return GlobalWindows()

    def assign_windows(
        self, element: Any, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> list[GlobalWindow]:
        return [GlobalWindow.get()]

    def get_default_trigger(self, env: Any = None) -> NeverTrigger:
        return NeverTrigger()

    def get_window_serializer(self) -> GlobalWindowSerializer:
        return GlobalWindowSerializer()

    def is_event_time(self) -> bool:
        return False
