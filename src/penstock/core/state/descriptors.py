"""Descriptors: the name, the type and the life of a state, given to ask the runtime for it."""

from __future__ import annotations

from typing import Any

from penstock.core.state.ttl import StateTtlConfig
from penstock.errors import ConfigurationError, show_value


class StateDescriptor:
    """Base of all descriptors.

    :param name: name of the state; unique within its function.
    :param type_info: type of what is stored; pickled objects if left out.
    """

    #: Which kind of state is described; two descriptors of one name must be of one kind.
    kind: str = ""

    def __init__(self, name: str, type_info: Any = None) -> None:
        if not isinstance(name, str) or not name:
            raise ConfigurationError(
                "a state needs a name",
                where=type(self).__name__,
                got=f"name={show_value(name)}",
                todo="give a non-empty string that no other state of the function has",
            )
        self.name = name
        self.type_info = type_info
        self.ttl_config: StateTtlConfig | None = None

    def get_name(self) -> str:
        """Return the name."""
        return self.name

    def enable_time_to_live(self, ttl_config: StateTtlConfig) -> None:
        """Let entries expire. Replaces settings made before."""
        self.ttl_config = ttl_config

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.name == self.name

    def __hash__(self) -> int:
        return hash((self.kind, self.name))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"


class ValueStateDescriptor(StateDescriptor):
    """Describe one value.

    :param default_value: what `value()` returns while nothing has been stored.
    """

    kind = "value"

    def __init__(self, name: str, value_type_info: Any = None, default_value: Any = None) -> None:
        super().__init__(name, value_type_info)
        self.default_value = default_value


class ListStateDescriptor(StateDescriptor):
    """Describe a list."""

    kind = "list"

    def __init__(self, name: str, elem_type_info: Any = None) -> None:
        super().__init__(name, elem_type_info)


class MapStateDescriptor(StateDescriptor):
    """Describe a map, kept by key or broadcast."""

    kind = "map"

    def __init__(self, name: str, key_type_info: Any = None, value_type_info: Any = None) -> None:
        super().__init__(name, value_type_info)
        self.key_type_info = key_type_info
        self.value_type_info = value_type_info


class ReducingStateDescriptor(StateDescriptor):
    """Describe a value that is reduced as elements are added.

    :param reduce_function: a `ReduceFunction` or a callable of two values.
    """

    kind = "reducing"

    def __init__(self, name: str, reduce_function: Any, type_info: Any = None) -> None:
        super().__init__(name, type_info)
        if not callable(reduce_function) and not hasattr(reduce_function, "reduce"):
            raise _wrong_function(self, "a ReduceFunction or a callable of two values")
        self.reduce_function = reduce_function

    def get_reduce_function(self) -> Any:
        """Return the function as it was given."""
        return self.reduce_function


class AggregatingStateDescriptor(StateDescriptor):
    """Describe an accumulator that grows as elements are added.

    :param agg_function: an `AggregateFunction`.
    :param state_type_info: type of the accumulator.
    """

    kind = "aggregating"

    def __init__(self, name: str, agg_function: Any, state_type_info: Any = None) -> None:
        super().__init__(name, state_type_info)
        if not hasattr(agg_function, "create_accumulator"):
            raise _wrong_function(self, "an AggregateFunction")
        self.agg_function = agg_function

    def get_agg_function(self) -> Any:
        """Return the function as it was given."""
        return self.agg_function


def _wrong_function(descriptor: StateDescriptor, wanted: str) -> ConfigurationError:
    return ConfigurationError(
        f"state {descriptor.name!r} needs {wanted}", where=type(descriptor).__name__
    )
