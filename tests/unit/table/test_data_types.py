"""DataTypes makes Flink's types, and refuses what has no meaning."""

from __future__ import annotations

import pytest

from penstock.errors import ConfigurationError
from penstock.table.types import DataTypes


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (DataTypes.INT(), "INT"),
        (DataTypes.INT(False), "INT NOT NULL"),
        (DataTypes.INT(nullable=False).nullable(), "INT"),
        (DataTypes.BIGINT().not_null(), "BIGINT NOT NULL"),
        (DataTypes.DECIMAL(10, 2), "DECIMAL(10, 2)"),
        (DataTypes.STRING(), "STRING"),
        (DataTypes.CHAR(3), "CHAR(3)"),
        (DataTypes.VARBINARY(3), "VARBINARY(3)"),
        (DataTypes.TIME(3), "TIME(3)"),
        (DataTypes.TIMESTAMP(3), "TIMESTAMP(3)"),
        (DataTypes.TIMESTAMP_LTZ(3), "TIMESTAMP_LTZ(3)"),
        (DataTypes.ARRAY(DataTypes.INT()), "ARRAY<INT>"),
        (DataTypes.MAP(DataTypes.STRING(), DataTypes.INT()), "MAP<STRING, INT>"),
        (DataTypes.MULTISET(DataTypes.INT()), "MULTISET<INT>"),
        (DataTypes.ROW([DataTypes.FIELD("a", DataTypes.INT())]), "ROW<`a` INT>"),
        (DataTypes.ROW([DataTypes.INT(), DataTypes.STRING()]), "ROW<`f0` INT, `f1` STRING>"),
        (DataTypes.INTERVAL(DataTypes.DAY(), DataTypes.SECOND(3)), "INTERVAL DAY(2) TO SECOND(3)"),
        (DataTypes.INTERVAL(DataTypes.YEAR()), "INTERVAL YEAR(2)"),
        (DataTypes.NULL(), "NULL"),
    ],
    ids=str,
)
def test_a_type_is_flinks(made: object, text: str) -> None:
    assert str(made) == text


def test_numbers_out_of_range_are_refused() -> None:
    with pytest.raises(ConfigurationError) as caught:
        DataTypes.DECIMAL(39, 0)
    assert str(caught.value) == "DECIMAL takes a number from 1 to 38\n  got:   39"
    with pytest.raises(ConfigurationError) as caught:
        DataTypes.INTERVAL(DataTypes.YEAR(), DataTypes.DAY())
    assert str(caught.value) == (
        "an interval is of years and months, or of days and less\n  got:   YEAR TO DAY"
    )
