"""Collections in accumulators: PyFlink's `pyflink.table.data_view`."""

from penstock.core.functions.data_view import DataView, ListView, MapView

__all__ = ["DataView", "ListView", "MapView"]
