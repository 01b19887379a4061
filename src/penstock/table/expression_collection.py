"""Methods of `Expression` for arrays, maps, bitmaps and times."""

from __future__ import annotations

from typing import Any

from penstock.graph.relational import types as t
from penstock.table.expression_base import ExpressionBase


class CollectionMethods(ExpressionBase):
    """Part of `Expression`: arrays, maps, bitmaps and times."""

    def at(self, index: Any) -> Any:
        """Return an element by its index from 1, or by its key."""
        return self._call("ITEM", index)

    @property
    def cardinality(self) -> Any:
        """Return how many elements there are."""
        return self._call("CARDINALITY")

    @property
    def element(self) -> Any:
        """Return the only element."""
        return self._call("ELEMENT")

    def array_append(self, addition: Any) -> Any:
        """Return the array with one more at the end."""
        return self._call("ARRAY_APPEND", addition)

    def array_contains(self, needle: Any) -> Any:
        """Return whether it is in the array."""
        return self._call("ARRAY_CONTAINS", needle)

    def array_distinct(self) -> Any:
        """Return each element once."""
        return self._call("ARRAY_DISTINCT")

    def array_position(self, needle: Any) -> Any:
        """Return where it is in the array; or 0."""
        return self._call("ARRAY_POSITION", needle)

    def array_prepend(self, addition: Any) -> Any:
        """Return the array with one more in front."""
        return self._call("ARRAY_PREPEND", addition)

    def array_remove(self, needle: Any) -> Any:
        """Return the array without such elements."""
        return self._call("ARRAY_REMOVE", needle)

    def array_reverse(self) -> Any:
        """Return the array backwards."""
        return self._call("ARRAY_REVERSE")

    def array_slice(self, start_offset: Any, end_offset: Any = None) -> Any:
        """Return a part of the array."""
        return self._call_given("ARRAY_SLICE", start_offset, end_offset)

    def array_sort(self, ascending_order: Any = None, null_first: Any = None) -> Any:
        """Return the array in order."""
        return self._call_given("ARRAY_SORT", ascending_order, null_first)

    def array_union(self, array: Any) -> Any:
        """Return what is in either array."""
        return self._call("ARRAY_UNION", array)

    def array_concat(self, *arrays: Any) -> Any:
        """Return the arrays one after the other."""
        return self._call("ARRAY_CONCAT", *arrays)

    def array_max(self) -> Any:
        """Return the greatest element."""
        return self._call("ARRAY_MAX")

    def array_join(self, delimiter: Any, null_replacement: Any = None) -> Any:
        """Return the texts of the array, joined."""
        return self._call_given("ARRAY_JOIN", delimiter, null_replacement)

    def array_min(self) -> Any:
        """Return the least element."""
        return self._call("ARRAY_MIN")

    def array_except(self, array: Any) -> Any:
        """Return what is in this array only."""
        return self._call("ARRAY_EXCEPT", array)

    def array_intersect(self, array: Any) -> Any:
        """Return what is in both arrays."""
        return self._call("ARRAY_INTERSECT", array)

    @property
    def map_keys(self) -> Any:
        """Return the keys."""
        return self._call("MAP_KEYS")

    def map_union(self, *maps: Any) -> Any:
        """Return all entries; later maps win."""
        return self._call("MAP_UNION", *maps)

    @property
    def map_values(self) -> Any:
        """Return the values."""
        return self._call("MAP_VALUES")

    @property
    def map_entries(self) -> Any:
        """Return keys and values as rows."""
        return self._call("MAP_ENTRIES")

    def bitmap_and(self, bitmap2: Any) -> Any:
        """Return what is in both bitmaps."""
        return self._call("BITMAP_AND", bitmap2)

    def bitmap_andnot(self, bitmap2: Any) -> Any:
        """Return what is in this bitmap only."""
        return self._call("BITMAP_ANDNOT", bitmap2)

    def bitmap_and_agg(self) -> Any:
        """Return what is in all bitmaps of the group."""
        return self._call("BITMAP_AND_AGG")

    def bitmap_and_cardinality_agg(self) -> Any:
        """Return how many numbers are in all bitmaps of the group."""
        return self._call("BITMAP_AND_CARDINALITY_AGG")

    def bitmap_build(self) -> Any:
        """Return the bitmap of this array."""
        return self._call("BITMAP_BUILD")

    def bitmap_build_agg(self) -> Any:
        """Return the numbers of the group as a bitmap."""
        return self._call("BITMAP_BUILD_AGG")

    def bitmap_build_cardinality_agg(self) -> Any:
        """Return how many different numbers the group has."""
        return self._call("BITMAP_BUILD_CARDINALITY_AGG")

    def bitmap_cardinality(self) -> Any:
        """Return how many numbers there are."""
        return self._call("BITMAP_CARDINALITY")

    def bitmap_from_bytes(self) -> Any:
        """Return the bitmap in these bytes."""
        return self._call("BITMAP_FROM_BYTES")

    def bitmap_or(self, bitmap2: Any) -> Any:
        """Return what is in either bitmap."""
        return self._call("BITMAP_OR", bitmap2)

    def bitmap_or_agg(self) -> Any:
        """Return what is in any bitmap of the group."""
        return self._call("BITMAP_OR_AGG")

    def bitmap_or_cardinality_agg(self) -> Any:
        """Return how many numbers are in any bitmap of the group."""
        return self._call("BITMAP_OR_CARDINALITY_AGG")

    def bitmap_to_array(self) -> Any:
        """Return the numbers in order."""
        return self._call("BITMAP_TO_ARRAY")

    def bitmap_to_bytes(self) -> Any:
        """Return the bitmap as bytes."""
        return self._call("BITMAP_TO_BYTES")

    def bitmap_to_string(self) -> Any:
        """Return the bitmap as text."""
        return self._call("BITMAP_TO_STRING")

    def bitmap_xor(self, bitmap2: Any) -> Any:
        """Return what is in one of the bitmaps."""
        return self._call("BITMAP_XOR", bitmap2)

    def bitmap_xor_agg(self) -> Any:
        """Return what is in an odd number of bitmaps of the group."""
        return self._call("BITMAP_XOR_AGG")

    def bitmap_xor_cardinality_agg(self) -> Any:
        """Return how many numbers that is."""
        return self._call("BITMAP_XOR_CARDINALITY_AGG")

    @property
    def to_date(self) -> Any:
        """Return this text or timestamp as a day."""
        return self._cast_to(t.DATE)

    @property
    def to_time(self) -> Any:
        """Return this text or timestamp as a time of day."""
        return self._cast_to(t.TimeType(0))

    @property
    def to_timestamp(self) -> Any:
        """Return this text or day as a timestamp."""
        return self._cast_to(t.TimestampType(3))
