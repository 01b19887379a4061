"""Name the operator, and its place in the user's program, in errors of sources and sinks."""

from __future__ import annotations

from penstock.errors import PenstockError
from penstock.graph.plan import PlanOperator


def blame(
    error: BaseException,
    operator: PlanOperator,
    *,
    role: str,
    doing: str,
    kind: type[PenstockError],
) -> PenstockError:
    """Return an error that says which operator failed at what.

    An error that already says where it happened is returned as it is.

    :param role: `source` or `sink`.
    :param doing: what failed, as a verb: `be started`.
    :param kind: class of the error to make.
    """
    if isinstance(error, PenstockError):
        error.where = error.where or operator.describe()
        return error
    text = str(error)
    got = f"{type(error).__name__}: {text}" if text else type(error).__name__
    described = kind(f"a {role} cannot {doing}", where=operator.describe(), got=got)
    described.__cause__ = error
    return described
