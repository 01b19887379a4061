"""Operator ids that stay the same from one run of a program to the next.

Everything durable is found again by them. An operator has the id that the user gave it. A generated
one is a hash of what the operator is and of what feeds it:

- *what it is*: the kind of operator, the name of the user's function (not of a lambda), and what a
  source or sink says of itself, a path for instance;
- *what feeds it*: the nearest sources, keyed operators and operators with several inputs in front
  of it, by input and side output. Maps, filters and the like in between do not count: one more of
  them moves nobody. Nor does the path of a source that feeds it;
- among operators that are alike in all of this, the number in the order of the program.

Names, parallelism, chaining and the rest of the program do not matter. (Flink's hashes count
operators from the start of the plan and take in chained outputs: there more changes move them.)
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from penstock.errors import GraphError
from penstock.graph.specs import OperatorSpec, SinkSpec, SourceSpec

if TYPE_CHECKING:
    from penstock.graph.stream_graph import StreamNode

_UID_HASH = re.compile(r"[0-9a-fA-F]{32}")
#: An operator in front of another: what it is known by, and the side outputs on the way from it.
_Ancestor = tuple[str, ...]


def assign_uids(nodes: Iterable[StreamNode], *, auto_uids: bool = True) -> None:
    """Give every node its `uid`. Nodes come in topological order.

    :param auto_uids: whether an operator without an id of the user's gets a generated one.
    :raises GraphError: if two operators have the same id, or one must have an id and has none.
    """
    owners: dict[str, StreamNode] = {}
    ancestors: dict[int, list[_Ancestor]] = {}
    alike: Counter[str] = Counter()
    for node in nodes:
        inputs = _inputs(node, ancestors)
        lineage = node.uid = node.user_uid or node.uid_hash or ""
        if not node.uid:
            if not auto_uids:
                raise GraphError(
                    "generated uids are switched off and this operator has no uid of its own",
                    where=node.describe(),
                    todo="call .uid('...') on it, or enable_auto_generated_uids() on the "
                    "execution config",
                )
            what = [type(node.spec).__name__, _own_name(node.spec), *map(repr, inputs)]
            lineage = _numbered_hash(what, alike)
            identity = _identity(node.spec)
            node.uid = _numbered_hash([*what, identity], alike) if identity else lineage
        ancestors[node.id] = _seen_behind(node, lineage, inputs)
        if node.uid in owners:
            raise GraphError(
                "two operators have the same uid",
                where=node.describe(),
                got=f"uid {node.uid!r}, also used by {owners[node.uid].describe()}",
                todo="give each operator a uid of its own",
            )
        owners[node.uid] = node


def _inputs(node: StreamNode, ancestors: dict[int, list[_Ancestor]]) -> list[tuple[int, _Ancestor]]:
    """Return what feeds a node: by input, the nearest operators that count."""
    found = []
    for edge in node.in_edges:
        tag = () if edge.output_tag is None else (edge.output_tag,)
        found += [(edge.input_index, (*ancestor, *tag)) for ancestor in ancestors[edge.source]]
    return sorted(found)


def _seen_behind(
    node: StreamNode, lineage: str, inputs: list[tuple[int, _Ancestor]]
) -> list[_Ancestor]:
    """Return what an operator behind `node` is fed by: the node, or what stands in front of it."""
    if node.spec.keyed or len(node.in_edges) != 1:
        return [(lineage,)]
    return [ancestor for _, ancestor in inputs]


def _numbered_hash(parts: list[str], alike: Counter[str]) -> str:
    text = "\n".join(parts)
    number = alike[text]
    alike[text] += 1
    return hashlib.md5(f"{text}\n{number}".encode(), usedforsecurity=False).hexdigest()


def _own_name(spec: OperatorSpec) -> str:
    for part in ("source", "sink", "function"):
        if (thing := getattr(spec, part, None)) is not None:
            return _name_of(thing)
    return ""


def _identity(spec: OperatorSpec) -> str:
    if isinstance(spec, SourceSpec):
        return str(spec.source.identity())
    return str(spec.sink.identity()) if isinstance(spec, SinkSpec) else ""


def _name_of(thing: Any) -> str:
    """Return the name of a function or of an object's class; a lambda has none."""
    name = getattr(thing, "__qualname__", None) or type(thing).__qualname__
    name = name.rpartition(".")[2]
    return "" if name == "<lambda>" else name


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
