"""LIKE, SIMILAR TO and regular expressions in Java's syntax."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from penstock.errors import EvaluationError

_POSIX = {
    "Alpha": "A-Za-z", "Digit": "0-9", "Alnum": "A-Za-z0-9", "Upper": "A-Z", "Lower": "a-z",
    "Punct": "!-/:-@\\[-`{-~", "Space": "\\s", "XDigit": "0-9A-Fa-f", "Blank": " \\t",
    "L": "^\\W\\d_", "Lu": "A-Z", "Ll": "a-z", "N": "0-9", "Nd": "0-9", "IsAlphabetic": "^\\W\\d_",
}  # fmt: skip
_CLASS = re.compile(r"\\(p|P)\{(\w+)\}")
_NAMED = re.compile(r"\(\?<([A-Za-z]\w*)>")


@lru_cache(maxsize=1024)
def compile_java(pattern: str) -> re.Pattern[str]:
    """Compile a regular expression of Java's. Digits, words and spaces are ASCII as there.

    :raises re.error: if it is not valid.
    """

    def posix(match: re.Match[str]) -> str:
        body = _POSIX.get(match[2])
        if body is None:
            raise re.error(f"unknown class {match[0]}")
        negated = (match[1] == "P") is not body.startswith("^")
        inside = body.removeprefix("^")
        before = match.string[: match.start()]
        if before.count("[") - before.count("\\[") > before.count("]") - before.count("\\]"):
            return inside
        return f"[{'^' if negated else ''}{inside}]"

    text = _CLASS.sub(posix, pattern)
    text = _NAMED.sub(r"(?P<\1>", text)
    return re.compile(text.replace("\\z", "\\Z"), re.ASCII)


def _escape_of(escape: str | None, what: str) -> str | None:
    if escape is not None and len(escape) != 1:
        raise EvaluationError(f"{what} takes one character behind ESCAPE", got=repr(escape))
    return escape


def _like_regex(pattern: str, escape: str | None) -> str:
    mark = _escape_of(escape, "LIKE")
    pieces, position = [], 0
    while position < len(pattern):
        character = pattern[position]
        following = pattern[position + 1 : position + 2]
        if mark is not None and character == mark and following in ("%", "_", mark):
            pieces.append(re.escape(following))
            position += 1
        elif mark is not None and character == mark:
            raise EvaluationError(
                "LIKE: the escape character stands before %, _ or itself only", got=repr(pattern)
            )
        else:
            pieces.append({"%": "(?:.|\n)*", "_": "(?:.|\n)"}.get(character, re.escape(character)))
        position += 1
    return "".join(pieces)


@lru_cache(maxsize=1024)
def like_matcher(pattern: str, escape: str | None = None) -> Callable[[str], bool]:
    """Return the test of LIKE for one pattern; simple patterns need no regular expression."""
    body = pattern.strip("%")
    if escape is None and not re.search(r"[%_]", body):
        front, back = pattern.startswith("%"), pattern.endswith("%")
        if not body:
            return (lambda text: True) if pattern else (lambda text: text == "")
        if front and back:
            return lambda text: body in text
        if front:
            return lambda text: text.endswith(body)
        return (lambda text: text.startswith(body)) if back else (lambda text: text == body)
    match = re.compile(_like_regex(pattern, escape)).fullmatch
    return lambda text: match(text) is not None


def like(text: str, pattern: str, escape: str | None = None) -> bool:
    """Return whether a text fits a pattern of % and _."""
    return like_matcher(pattern, escape)(text)


@lru_cache(maxsize=1024)
def similar_matcher(pattern: str, escape: str | None = None) -> Callable[[str], bool]:
    """Return the test of SIMILAR TO for one pattern."""
    mark = _escape_of(escape, "SIMILAR TO")
    pieces, position, inside = [], 0, False
    while position < len(pattern):
        character = pattern[position]
        if mark is not None and character == mark and position + 1 < len(pattern):
            position += 1
            pieces.append(re.escape(pattern[position]))
        elif inside:
            pieces.append("\\" + character if character == "\\" else character)
            inside = character != "]"
        elif character in "%_":
            pieces.append("(?:.|\n)*" if character == "%" else "(?:.|\n)")
        else:
            pieces.append(character)
            inside = character == "["
        position += 1
    text = re.sub(r"\[:(\w+):\]", lambda m: _POSIX.get(m[1].capitalize(), m[0]), "".join(pieces))
    try:
        match = re.compile(text).fullmatch
    except re.error as error:
        raise EvaluationError(f"SIMILAR TO: {error}", got=repr(pattern)) from None
    return lambda value: match(value) is not None


def similar(text: str, pattern: str, escape: str | None = None) -> bool:
    """Return whether a text fits a SQL regular expression."""
    return similar_matcher(pattern, escape)(text)


def find(text: str, pattern: str) -> bool:
    """Return whether some part of a text fits: REGEXP. A wrong pattern fits nothing."""
    try:
        return compile_java(pattern).search(text) is not None
    except re.error:
        return False


def replace(text: str, pattern: str, replacement: str) -> str | None:
    """Replace all parts that fit by a text, taken as it is. NULL for a wrong pattern."""
    try:
        return compile_java(pattern).sub(lambda match: replacement, text)
    except re.error:
        return None


def extract(text: str, pattern: str, group: int = 0) -> str | None:
    """Return a group of the first part that fits."""
    try:
        match = compile_java(pattern).search(text)
        return None if match is None else match.group(int(group))
    except (re.error, IndexError):
        return None


def extract_all(text: str, pattern: str, group: int = 1) -> list[str | None] | None:
    """Return a group of every part that fits."""
    try:
        compiled = compile_java(pattern)
        if group < 0 or group > compiled.groups:
            return None
        return [match.group(int(group)) for match in compiled.finditer(text)]
    except re.error:
        return None


def count(text: str, pattern: str) -> int | None:
    """Return how many parts fit."""
    try:
        return sum(1 for _ in compile_java(pattern).finditer(text))
    except re.error:
        return None


def position(text: str, pattern: str) -> int | None:
    """Return where the first part that fits begins, from 1; 0 if none does."""
    try:
        match = compile_java(pattern).search(text)
    except re.error:
        return None
    return 0 if match is None else match.start() + 1


def substring(text: str, pattern: str) -> str | None:
    """Return the first part that fits."""
    return extract(text, pattern, 0)
