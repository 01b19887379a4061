from __future__ import annotations

from penstock.table import DataTypes
from penstock.table.udf import udf


@udf(result_type=DataTypes.STRING())
def shout(text: str) -> str:
    return f"{text.upper()}!"
