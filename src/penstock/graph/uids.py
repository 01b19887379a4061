"""Operator ids that stay the same from one run of a program to the next.

State is found again by them. An operator has the id that the user gave it, and a hash of its
place in the graph otherwise: as in Flink, such a hash changes when operators are added in front.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from penstock.errors import GraphError

if TYPE_CHECKING:
    from penstock.graph.stream_graph import StreamNode

_UID_HASH = re.compile(r"[0-9a-fA-F]{32}")


def assign_uids(nodes: Iterable[StreamNode], *, auto_uids: bool = True) -> None:
    """Give every node its `uid`. Nodes come in topological order.

    :param auto_uids: whether an operator without an id of the user's gets a generated one.
    :raises GraphError: if two operators have the same id, or one must have an id and has none.
    """
    by_id: dict[int, StreamNode] = {}
    owners: dict[str, StreamNode] = {}
    for position, node in enumerate(nodes):
        by_id[node.id] = node
        node.uid = node.user_uid or node.uid_hash or ""
        if not node.uid:
            if not auto_uids:
                raise GraphError(
                    "generated uids are switched off and this operator has no uid of its own",
                    where=node.describe(),
                    todo="call .uid('...') on it, or enable_auto_generated_uids() on the "
                    "execution config",
                )
            inputs = [f"{edge.input_index}:{by_id[edge.source].uid}" for edge in node.in_edges]
            node.uid = _structural_hash(position, inputs)
        if node.uid in owners:
            raise GraphError(
                "two operators have the same uid",
                where=node.describe(),
                got=f"uid {node.uid!r}, also used by {owners[node.uid].describe()}",
                todo="give each operator a uid of its own",
            )
        owners[node.uid] = node


def check_uid_hash(uid_hash: str) -> None:
    """Check a hash that the user wants to be used as it is.

    :raises GraphError: if it is not 32 hexadecimal digits.
    """
    if not isinstance(uid_hash, str) or not _UID_HASH.fullmatch(uid_hash):
        raise GraphError(
            "a uid hash must be 32 hexadecimal digits",
            got=repr(uid_hash),
            todo="pass a hash that an earlier run printed, or use uid('...') for a name",
        )


def _structural_hash(position: int, inputs: list[str]) -> str:
    text = "\n".join([str(position), *inputs])
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()
