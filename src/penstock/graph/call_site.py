"""Where in the user's program an operator is being made."""

from __future__ import annotations

from penstock.common.caller import find_caller
from penstock.graph.specs import CallSite


def capture_call_site() -> CallSite | None:
    """Return the innermost stack frame outside the package, or None if there is none."""
    found = find_caller()
    return None if found is None else CallSite(*found)
