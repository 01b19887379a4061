"""Folders of uploaded files. A file is known by its name alone, so that no path leads out."""

from __future__ import annotations

import os
import re
import uuid
from pathlib import Path
from typing import Any

from penstock.errors import RequestError

_LONGEST_NAME = 100


class Uploads:
    """One folder; each file in it is named `<uuid>_<the name that it came with>`.

    :param pattern: what such a name must be, once odd letters in it are replaced.
    :param refusal: what is said of other names.
    """

    def __init__(self, folder: Path, pattern: str, refusal: str) -> None:
        self._folder = folder
        self._name = re.compile(pattern)
        self._id = re.compile(f"[0-9a-f-]{{36}}_{pattern}")
        self._refusal = refusal

    def keep(self, body: dict[str, Any]) -> Path:
        """Keep a file: a form with a file, or JSON with `name` and `content`.

        :raises RequestError: if there is no file in the request, or its name is refused.
        """
        name, content = _upload_of(body)
        safe = re.sub(r"[^A-Za-z0-9._-]+", "_", os.path.basename(name))[-_LONGEST_NAME:].lstrip(
            "._-"
        )
        if not self._name.fullmatch(safe):
            raise RequestError(400, self._refusal)
        self._folder.mkdir(exist_ok=True, mode=0o700)
        path = self._folder / f"{uuid.uuid4()}_{safe}"
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with open(handle, "wb") as file:
            file.write(content)
        return path

    def all(self) -> list[Path]:
        """Return the files."""
        if not self._folder.is_dir():
            return []
        return [
            path
            for path in self._folder.iterdir()
            if self._id.fullmatch(path.name) and path.is_file() and not path.is_symlink()
        ]

    def find(self, wanted: str) -> Path | None:
        """Return a file by its id."""
        return next((path for path in self.all() if path.name == wanted), None)


def given_name(path: Path) -> str:
    """Return the name that an uploaded file came with."""
    return path.name.partition("_")[2]


def _upload_of(body: dict[str, Any]) -> tuple[str, bytes]:
    for value in body.values():
        if isinstance(value, tuple):
            return value
    name, content = body.get("name"), body.get("content")
    if not isinstance(name, str) or not isinstance(content, str):
        raise RequestError(400, "Send one file as a form, or JSON with name and content.")
    return name, content.encode()
