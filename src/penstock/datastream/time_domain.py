"""Time domains under PyFlink's module path."""

from penstock.core.time import TimeDomain

__all__ = ["TimeDomain"]
