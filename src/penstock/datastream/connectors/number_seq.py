"""The number sequence under PyFlink's module path."""

from penstock.connectors.number_sequence import NumberSequenceSource

__all__ = ["NumberSequenceSource"]
