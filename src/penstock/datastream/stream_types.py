"""The type of a stream: declared, or read from the annotations of the function that makes it."""

from __future__ import annotations

from typing import Any

from penstock.common import TypeInformation
from penstock.common.typeinfo import return_type_of
from penstock.graph.transformations import (
    OperatorTransformation,
    SideOutputTransformation,
    Transformation,
)


def type_of(transformation: Transformation) -> TypeInformation | None:
    """Return the type of a stream's records, None if nothing is known of it."""
    declared: TypeInformation | None = transformation.output_type
    if declared is not None or isinstance(transformation, SideOutputTransformation):
        return declared
    if not isinstance(transformation, OperatorTransformation):
        return type_of(transformation.inputs[0])
    spec = transformation.spec
    if spec.keeps_type:
        return type_of(transformation.inputs[0])
    if not spec.result_method:
        return None
    function: Any = spec.function  # type: ignore[attr-defined]
    method = getattr(function, spec.result_method, function)
    return return_type_of(method, of_elements=spec.many_results)
