"""What all streams are made of: a place in the graph, and operators that are added behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.common import TypeInformation
from penstock.graph.function_checks import require_type
from penstock.graph.specs import OperatorSpec
from penstock.graph.transformations import OperatorTransformation, Transformation

if TYPE_CHECKING:
    from penstock.datastream.stream_execution_environment import StreamExecutionEnvironment


class StreamBase:
    """Base of streams."""

    _environment: StreamExecutionEnvironment
    _transformation: Transformation

    def _add_operator(
        self,
        name: str,
        spec: OperatorSpec,
        inputs: list[Transformation],
        output_type: TypeInformation | None = None,
    ) -> OperatorTransformation:
        require_type("output_type", output_type)
        parallelism = self._environment.get_parallelism()
        operator = OperatorTransformation(name, spec, inputs, parallelism, output_type)
        operator.follows_input = not self._environment.is_parallelism_set()
        self._environment.add_operator(operator)
        return operator
