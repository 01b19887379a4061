"""Every public name of PyFlink's is there under Penstock's path, or stands in the ledger."""

from __future__ import annotations

import pytest

from tests.parity.ledger import covered, exists, gaps, pyflink_names

LEDGER = gaps()
NAMES = pyflink_names()


@pytest.mark.parametrize("owner", [owner for owner in NAMES if not covered(owner, LEDGER)])
def test_names_that_are_not_in_the_ledger_exist(owner: str) -> None:
    absent = [name for name in NAMES[owner] if not covered(name, LEDGER) and not exists(name)]
    assert absent == [], "write them, or give a reason in tests/parity/gaps.toml"


@pytest.mark.parametrize("name", sorted(LEDGER))
def test_a_gap_is_open_and_has_a_reason(name: str) -> None:
    assert any(name in group for group in NAMES.values()), (
        f"{name} is no name of PyFlink's: remove it from gaps.toml"
    )
    assert not exists(name), f"{name} is there now: remove it from gaps.toml"
    assert len(LEDGER[name]) > 20, f"{name}: say why it is missing"


def test_a_gap_stands_once() -> None:
    below = [
        name for name in LEDGER if covered(name, {k: v for k, v in LEDGER.items() if k != name})
    ]
    assert below == [], "already covered by the line of the name above"


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("pyflink.common.Row", True),
        ("pyflink.common.Row.as_dict", True),
        ("pyflink.common.Row.as_dict(recursive)", True),
        ("pyflink.common.Row.as_dict(recursively)", False),
        ("pyflink.common.Row.as_list", False),
        ("pyflink.common.Rows.as_dict", False),
        ("pyflink.uncommon.Row", False),
        ("pyflink.datastream.state.StateTtlConfig.UpdateType(boundary)", True),
    ],
)
def test_the_ledger_can_tell(name: str, answer: bool) -> None:
    assert exists(name) is answer


def test_a_gap_covers_what_is_below_it() -> None:
    ledger = {"pyflink.a.B": "", "pyflink.c": ""}
    assert covered("pyflink.a.B", ledger)
    assert covered("pyflink.a.B.method(parameter)", ledger)
    assert covered("pyflink.c.D", ledger)
    assert not covered("pyflink.a.Bee", ledger)
    assert not covered("pyflink.a", ledger)
