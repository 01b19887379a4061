"""JSON paths: `$.a[0]['b c'].*`, with `lax` or `strict` (the default) in front."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from penstock.errors import EvaluationError

_MODE = re.compile(r"\s*(lax|strict)\s+(.*)", re.IGNORECASE | re.DOTALL)
_STEP = re.compile(
    r"""\.\.(?P<deep>[\w$-]+|\*)
      | \.?\[\s*(?P<quoted>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")\s*\]
      | \.?\[\s*(?P<indexes>-?\d+(?:\s*,\s*-?\d+)*)\s*\]
      | \.?\[\s*(?P<slice>-?\d*\s*:\s*-?\d*)\s*\]
      | \.?\[\s*\?\s*\((?P<filter>(?:[^()]|\([^()]*\))*)\)\s*\]
      | \.?\[\s*(?P<every>\*)\s*\]
      | \.(?P<star>\*)
      | \.(?P<name>[^.\[\]\s()]+)""",
    re.VERBOSE,
)
_TEST = re.compile(
    r"\s*@(?P<path>[\w.\[\]'\"-]*)\s*(?:(?P<op>==|!=|<=|>=|<|>|=~)\s*(?P<value>.+?)\s*)?$"
)


class PathError(ValueError):
    """Nothing is there, and the path is strict."""


@dataclass(frozen=True)
class Path:
    """A path that has been read: its steps, and whether it can only find one value."""

    text: str
    strict: bool
    definite: bool
    steps: tuple[Callable[[Any], Iterator[Any]], ...]

    def find(self, document: Any) -> list[Any]:
        """Return what the path finds.

        :raises PathError: if the path is strict and a step finds nothing.
        """
        found = [document]
        for step in self.steps:
            following = [value for item in found for value in step(item)]
            if not following and self.strict and self.definite:
                raise PathError(f"no results for path {self.text}")
            found = following
        return found


@lru_cache(maxsize=1024)
def parse(text: str) -> Path:
    """Read a path.

    :raises EvaluationError: if it is not valid.
    """
    match = _MODE.fullmatch(text)
    mode, body = (match[1].lower(), match[2]) if match else ("strict", text.strip())
    if not body.startswith("$"):
        raise EvaluationError(f"'{text}' is no JSON path", todo="begin it with $")
    position, steps, definite = 1, [], True
    while position < len(body):
        token = _STEP.match(body, position)
        if token is None:
            raise EvaluationError(
                f"'{text}' is no JSON path", got=body[position:], todo="write for instance $.a[0]"
            )
        position = token.end()
        kind = str(token.lastgroup)
        steps.append(_MAKERS[kind](token[kind]))
        if kind in ("deep", "slice", "filter", "every", "star") or (
            kind == "indexes" and "," in token[kind]
        ):
            definite = False
    return Path(body, mode == "strict", definite, tuple(steps))


def _member(name: str) -> Callable[[Any], Iterator[Any]]:
    def step(value: Any) -> Iterator[Any]:
        if isinstance(value, dict) and name in value:
            yield value[name]

    return step


def _quoted(text: str) -> Callable[[Any], Iterator[Any]]:
    return _member(re.sub(r"\\(.)", r"\1", text[1:-1]))


def _indexes(text: str) -> Callable[[Any], Iterator[Any]]:
    numbers = [int(number) for number in text.split(",")]

    def step(value: Any) -> Iterator[Any]:
        if isinstance(value, list):
            for number in numbers:
                if -len(value) <= number < len(value):
                    yield value[number]

    return step


def _slice(text: str) -> Callable[[Any], Iterator[Any]]:
    low, _, high = (part.strip() for part in text.partition(":"))
    span = slice(int(low) if low else None, int(high) if high else None)

    def step(value: Any) -> Iterator[Any]:
        if isinstance(value, list):
            yield from value[span]

    return step


def _every(text: str) -> Callable[[Any], Iterator[Any]]:
    def step(value: Any) -> Iterator[Any]:
        if isinstance(value, list):
            yield from value
        elif isinstance(value, dict):
            yield from value.values()

    return step


def _deep(name: str) -> Callable[[Any], Iterator[Any]]:
    def step(value: Any) -> Iterator[Any]:
        children = value.values() if isinstance(value, dict) else value
        if isinstance(value, dict) and name in value:
            yield value[name]
        if isinstance(value, dict | list):
            for child in children:
                if name == "*":
                    yield child
                yield from step(child)

    return step


def _filter(text: str) -> Callable[[Any], Iterator[Any]]:
    tests = [_test(part) for part in text.split("&&")]

    def step(value: Any) -> Iterator[Any]:
        items = value if isinstance(value, list) else [value]
        yield from (item for item in items if all(test(item) for test in tests))

    return step


def _test(text: str) -> Callable[[Any], bool]:
    match = _TEST.match(text)
    if match is None:
        raise EvaluationError("this filter of a JSON path is not known", got=text)
    path = parse("lax $" + match["path"])
    operator, literal = match["op"], _constant(match["value"])

    def test(item: Any) -> bool:
        found = path.find(item)
        if operator is None or not found:
            return bool(found) if operator is None else operator == "!="
        value = found[0]
        try:
            return bool(_COMPARE[operator](value, literal))
        except TypeError:
            return False

    return test


def _constant(text: str | None) -> Any:
    if text is None or text in ("null", "true", "false"):
        return {"true": True, "false": False}.get(str(text))
    if text[0] in "'\"/":
        return text[1:-1]
    return float(text) if re.search(r"[.eE]", text) else int(text)


_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "=~": lambda a, b: re.fullmatch(b, a),
}
_MAKERS: dict[str, Callable[[str], Callable[[Any], Iterator[Any]]]] = {
    "name": _member,
    "quoted": _quoted,
    "indexes": _indexes,
    "slice": _slice,
    "every": _every,
    "star": _every,
    "deep": _deep,
    "filter": _filter,
}
