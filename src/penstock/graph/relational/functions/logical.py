"""Three-valued logic. AND, OR and NOT are emitted by the code generator itself."""

from __future__ import annotations

from penstock.graph.relational.functions.function import Function, Rewrite, scalar
from penstock.graph.relational.types import BOOLEAN

_ONE = "boolean"

FUNCTIONS: list[Function | Rewrite] = [
    scalar("AND", "boolean, boolean...", BOOLEAN, "", "TRUE if all are; FALSE if one is."),
    scalar("OR", "boolean, boolean...", BOOLEAN, "", "TRUE if one is; FALSE if all are."),
    scalar("NOT", _ONE, BOOLEAN, "not $0", "FALSE if TRUE, TRUE if FALSE, NULL if NULL."),
    scalar("IS TRUE", _ONE, BOOLEAN, "$0 is True", "Whether it is TRUE.", nulls="never"),
    scalar("IS FALSE", _ONE, BOOLEAN, "$0 is False", "Whether it is FALSE.", nulls="never"),
    scalar("IS NOT TRUE", _ONE, BOOLEAN, "$0 is not True", "FALSE or NULL.", nulls="never"),
    scalar("IS NOT FALSE", _ONE, BOOLEAN, "$0 is not False", "TRUE or NULL.", nulls="never"),
    scalar("IS UNKNOWN", _ONE, BOOLEAN, "$0 is None", "Whether it is NULL.", nulls="never"),
    scalar("IS NOT UNKNOWN", _ONE, BOOLEAN, "$0 is not None", "TRUE or FALSE.", nulls="never"),
]
