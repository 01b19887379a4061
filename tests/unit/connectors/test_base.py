from __future__ import annotations

import penstock.connectors
from penstock.connectors.base import DeliveryGuarantee, Sink, Source
from penstock.core import io


def test_guarantees_have_flink_s_names() -> None:
    assert [g.name for g in DeliveryGuarantee] == ["EXACTLY_ONCE", "AT_LEAST_ONCE", "NONE"]


def test_base_classes_are_the_contracts() -> None:
    assert (Source, Sink) == (io.Source, io.Sink)


def test_every_connector_states_its_guarantee() -> None:
    table = penstock.connectors.__doc__ or ""
    for name in ("collection", "number sequence", "data generator", "text files", "socket",
                 "source function", "print", "text file", "CSV", "collect"):  # fmt: skip
        assert name in table
