"""Numbers that PyFlink has a name for."""

#: The largest number of 64 bits.
MAX_LONG_VALUE = (1 << 63) - 1
#: The smallest number of 64 bits.
MIN_LONG_VALUE = -(1 << 63)

__all__ = ["MAX_LONG_VALUE", "MIN_LONG_VALUE"]
