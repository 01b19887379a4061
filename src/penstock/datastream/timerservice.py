"""Timers under PyFlink's module path."""

from penstock.core.time import TimerService

__all__ = ["TimerService"]
