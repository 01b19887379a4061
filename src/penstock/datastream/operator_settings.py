"""Settings that a program makes on one operator: name, uid, parallelism, chaining."""

from __future__ import annotations

from typing import TypeVar

from penstock.datastream.slot_sharing_group import SlotSharingGroup
from penstock.errors import GraphError
from penstock.graph.call_site import capture_call_site
from penstock.graph.transformations import (
    ChainingStrategy,
    OperatorTransformation,
    Transformation,
)
from penstock.graph.uids import check_uid_hash

Settings = TypeVar("Settings", bound="OperatorSettings")


class OperatorSettings:
    """Base of streams and sinks: what both let the user say about the operator behind them."""

    _transformation: Transformation

    def _operator(self, call: str) -> OperatorTransformation:
        """Return the operator that a setting is about.

        :raises GraphError: if the stream is a union or a repartitioned stream, which is none.
        """
        if isinstance(self._transformation, OperatorTransformation):
            return self._transformation
        kind = type(self._transformation).__name__.removesuffix("Transformation").lower()
        raise GraphError(
            f"{call} has nothing to work on: a {kind} stream is not an operator",
            where=str(capture_call_site()),
            todo=f"call {call} on the operator in front of it or behind it",
        )

    def name(self: Settings, name: str) -> Settings:
        """Set the operator's name, as metrics, plans and errors show it."""
        self._operator("name()").name = name
        return self

    def uid(self: Settings, uid: str) -> Settings:
        """Set the id by which the operator's state is found again in a later run.

        Must be unique in the job.
        """
        if not isinstance(uid, str) or not uid:
            raise GraphError(
                "a uid must be a string that is not empty",
                where=str(capture_call_site()),
                got=repr(uid),
                todo="pass a name of your own, for instance uid('orders-by-user')",
            )
        self._operator("uid()").uid = uid
        return self

    def set_uid_hash(self: Settings, uid_hash: str) -> Settings:
        """Set the operator's generated id itself, 32 hexadecimal digits."""
        check_uid_hash(uid_hash)
        self._operator("set_uid_hash()").uid_hash = uid_hash
        return self

    def set_parallelism(self: Settings, parallelism: int) -> Settings:
        """Set the number of subtasks; wins over the environment's."""
        self._operator("set_parallelism()").set_parallelism(parallelism)
        return self

    def set_max_parallelism(self: Settings, max_parallelism: int) -> Settings:
        """Set the number of key groups: the largest parallelism that state can be moved to."""
        self._operator("set_max_parallelism()").set_max_parallelism(max_parallelism)
        return self

    def set_description(self: Settings, description: str) -> Settings:
        """Set a longer text than the name, for plans and the dashboard."""
        self._operator("set_description()").description = description
        return self

    def disable_chaining(self: Settings) -> Settings:
        """Keep this operator out of any chain."""
        self._operator("disable_chaining()").chaining = ChainingStrategy.NEVER
        return self

    def slot_sharing_group(self: Settings, slot_sharing_group: str | SlotSharingGroup) -> Settings:
        """Put the operator into a slot sharing group; its followers inherit it.

        Operators of different groups are not chained. Slots are Spark's to place, so the resources
        of a group are kept for the plan only.
        """
        group = slot_sharing_group
        name = group.get_name() if isinstance(group, SlotSharingGroup) else group
        self._operator("slot_sharing_group()").slot_sharing_group = name
        return self
