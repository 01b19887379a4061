"""The type of a stream: declared, or read from the annotations of the function that makes it."""

from __future__ import annotations

from typing import Any

from penstock.common import TypeInformation
from penstock.common.typeinfo import return_type_of
from penstock.graph.specs import (
    FilterSpec,
    FlatMapSpec,
    KeyedProcessSpec,
    MapSpec,
    OperatorSpec,
    ProcessSpec,
    ReduceSpec,
    TimestampsSpec,
)
from penstock.graph.transformations import (
    OperatorTransformation,
    SideOutputTransformation,
    Transformation,
)

#: The method that makes the results, and whether it makes many of them at a time.
_RESULTS: dict[type[OperatorSpec], tuple[str, bool]] = {
    MapSpec: ("map", False),
    FlatMapSpec: ("flat_map", True),
    ProcessSpec: ("process_element", True),
    KeyedProcessSpec: ("process_element", True),
}
_KEEP_TYPE = (FilterSpec, ReduceSpec, TimestampsSpec)


def type_of(transformation: Transformation) -> TypeInformation | None:
    """Return the type of a stream's records, None if nothing is known of it."""
    declared: TypeInformation | None = transformation.output_type
    if declared is not None or isinstance(transformation, SideOutputTransformation):
        return declared
    if not isinstance(transformation, OperatorTransformation):
        return type_of(transformation.inputs[0])
    if isinstance(transformation.spec, _KEEP_TYPE):
        return type_of(transformation.inputs[0])
    method, many = _RESULTS.get(type(transformation.spec), ("", False))
    if not method:
        return None
    function: Any = transformation.spec.function  # type: ignore[attr-defined]
    return return_type_of(getattr(function, method, function), of_elements=many)
