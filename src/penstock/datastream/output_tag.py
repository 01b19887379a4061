"""Side outputs under PyFlink's module path."""

from penstock.core.output_tag import OutputTag

__all__ = ["OutputTag"]
