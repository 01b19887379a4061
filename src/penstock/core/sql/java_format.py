"""Java's Formatter, for PRINTF: %[index$][flags][width][.precision]conversion."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

_SPEC = re.compile(
    r"%(?:(?P<index>\d+)\$)?(?P<flags>[-#+ 0,(<]*)(?P<width>\d+)?(?:\.(?P<precision>\d+))?"
    r"(?P<conversion>[a-zA-Z%])"
)


def formatted(template: str, values: tuple[Any, ...]) -> str:
    """Write values by a template.

    :raises ValueError: if the template is not valid for the values.

    >>> formatted("%s has %05.1f%% of %,d", ("it", 3.14159, 1234567))
    'it has 003.1% of 1,234,567'
    """
    pieces, position, turn = [], 0, 0
    for match in _SPEC.finditer(template):
        if "%" in template[position : match.start()]:
            raise ValueError("a % that begins nothing")
        pieces.append(template[position : match.start()])
        position = match.end()
        conversion = match["conversion"]
        if conversion in "n%":
            pieces.append(_placed("\n" if conversion == "n" else "%", match))
            continue
        if match["index"]:
            index = int(match["index"]) - 1
        else:
            index, turn = turn, turn + 1
        if index >= len(values):
            raise ValueError("too few values")
        text = _converted(values[index], match)
        pieces.append(text.upper() if conversion.isupper() else text)
    if "%" in template[position:]:
        raise ValueError("a % that begins nothing")
    return "".join([*pieces, template[position:]])


def _placed(text: str, match: re.Match[str]) -> str:
    width = int(match["width"] or 0)
    return text.ljust(width) if "-" in match["flags"] else text.rjust(width)


def _converted(value: Any, match: re.Match[str]) -> str:
    kind, precision = match["conversion"].lower(), match["precision"]
    if value is None or kind in "sbh":
        shown = _general(value, kind)
        return _placed(shown if precision is None else shown[: int(precision)], match)
    if kind == "c":
        if isinstance(value, str) and len(value) != 1:
            raise ValueError("%c takes one character")
        return _placed(chr(value) if isinstance(value, int) else str(value), match)
    if kind in "dox":
        if not isinstance(value, int) or isinstance(value, bool) or precision is not None:
            raise ValueError(f"%{kind} takes a whole number")
        return _number(value, match, {"d": "d", "o": "o", "x": "x"}[kind])
    if kind in "feg":
        if not isinstance(value, float | Decimal):
            raise ValueError(f"%{kind} takes a number with a fraction")
        return _number(value, match, f".{precision or 6}{kind}")
    raise ValueError(f"no conversion {kind}")


def _general(value: Any, kind: str) -> str:
    if kind == "b":
        return str(value if isinstance(value, bool) else value is not None).lower()
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _number(value: Any, match: re.Match[str], form: str) -> str:
    flags, width = match["flags"], int(match["width"] or 0)
    comma = "," if "," in flags and form[-1] in "df" else ""
    text = format(abs(value), comma + form)
    if "#" in flags and form in ("x", "o"):
        text = {"x": "0x", "o": "0"}[form] + text
    sign, end = "+" if "+" in flags else " " if " " in flags else "", ""
    if value < 0:
        sign, end = ("(", ")") if "(" in flags else ("-", "")
    if "0" in flags:
        text = text.rjust(width - len(sign) - len(end), "0")
    return _placed(sign + text + end, match)
