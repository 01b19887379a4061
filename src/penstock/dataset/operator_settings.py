"""What every operator of a DataSet program can be given: name, parallelism, broadcast sets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from penstock.errors import ConfigurationError, GraphError, show_value
from penstock.graph.call_site import capture_call_site
from penstock.graph.dataset.nodes import Node

if TYPE_CHECKING:
    from penstock.dataset.environment import ExecutionEnvironment

S = TypeVar("S", bound="OperatorSettings")


class OperatorSettings:
    """Base of data sets and sinks: an environment and a node of its plan."""

    def __init__(self, env: ExecutionEnvironment, node: Node) -> None:
        self._env = env
        self._node = node

    def get_execution_environment(self) -> ExecutionEnvironment:
        """Return the environment that this belongs to."""
        return self._env

    def name(self: S, name: str) -> S:
        """Name the operator, for plans and messages."""
        self._node.name = name
        return self

    def set_parallelism(self: S, parallelism: int) -> S:
        """Set the number of subtasks of this operator.

        :raises ConfigurationError: if it is below 1.
        """
        if not isinstance(parallelism, int) or parallelism < 1:
            raise ConfigurationError(
                "the parallelism must be at least 1",
                where=self._node.describe(),
                got=show_value(parallelism),
                todo="pass a whole number from 1 on",
            )
        self._node.parallelism = parallelism
        return self

    def get_parallelism(self) -> int:
        """Return the number of subtasks of this operator."""
        return self._node.parallelism or self._env.get_parallelism()

    def with_broadcast_set(self: S, data: Any, name: str) -> S:
        """Give a whole data set to every subtask of this operator.

        A function reads it by `get_runtime_context().get_broadcast_variable(name)`.

        :raises GraphError: if the name is taken, or the data set is another environment's.
        """
        if name in self._node.broadcast:
            raise GraphError(
                f"there is a broadcast set {name!r} already",
                where=str(capture_call_site()),
                todo="give each broadcast set of an operator its own name",
            )
        self._node.broadcast[name] = self._other(data, "with_broadcast_set()")
        return self

    def with_parameters(self: S, parameters: Any) -> S:
        """Give a `Configuration` to the operator's function or format.

        A function reads it by `get_runtime_context().get_parameters()`.
        """
        self._node.parameters = parameters
        return self

    def _other(self, data: Any, call: str) -> Node:
        """Return the node of another data set of the same program.

        :raises GraphError: if it is none.
        """
        if not isinstance(data, OperatorSettings):
            raise GraphError(
                f"{call} needs a data set",
                where=str(capture_call_site()),
                got=show_value(data),
                todo="pass a DataSet of the same environment",
            )
        if data._env is not self._env:
            raise GraphError(
                "the two data sets belong to different environments",
                where=f"{call} at {capture_call_site()}",
                todo="make both with the same ExecutionEnvironment",
            )
        return data._node

    # What follows tells Flink's optimizer about a function. Spark needs none of it; programs that
    # say it run as they are.

    def with_forwarded_fields(self: S, *forwarded_fields: str) -> S:
        """Accept the statement that a function leaves fields as they are."""
        return self

    def with_forwarded_fields_first(self: S, *forwarded_fields: str) -> S:
        """Accept the statement that a function leaves fields of its first input as they are."""
        return self

    def with_forwarded_fields_second(self: S, *forwarded_fields: str) -> S:
        """Accept the statement that a function leaves fields of its second input as they are."""
        return self

    def set_combinable(self: S, combinable: bool) -> S:
        """Accept the statement that a group reduce function can be combined; `combine` says it."""
        return self

    def set_combine_hint(self: S, strategy: Any) -> S:
        """Accept a hint on how to combine; there is one way."""
        return self

    def returns(self: S, type_info: Any) -> S:
        """Accept the type of the records; records are of any type."""
        return self
