"""Each operator description has the one entry that turns it into a running operator."""

from __future__ import annotations

import inspect

import pytest

from penstock.graph import specs
from penstock.graph.relational import specs as table_specs
from penstock.runtime.build import OPERATORS

SPECS = [
    value
    for module in (specs, table_specs)
    for _, value in inspect.getmembers(module, inspect.isclass)
    if issubclass(value, specs.OperatorSpec) and value is not specs.OperatorSpec
]


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.__name__)
def test_every_spec_has_an_operator(spec: type) -> None:
    assert spec in OPERATORS


def test_no_operator_without_a_spec() -> None:
    assert set(OPERATORS) <= set(SPECS)
