"""Uploaded scripts: the counterpart of Flink's jars."""

from __future__ import annotations

import os
import re
import shlex
import uuid
from pathlib import Path
from typing import Any

from penstock.common.options import CLAIM_MODE, IGNORE_UNCLAIMED, PARALLELISM, RECOVERY_PATH
from penstock.errors import RequestError
from penstock.server.context import Asked, Context, Endpoint
from penstock.server.jobs import Submission

_ID = re.compile(r"[0-9a-f-]{36}_[A-Za-z0-9][A-Za-z0-9._-]*\.py")
_LONGEST_NAME = 100


def endpoints(context: Context) -> list[Endpoint]:
    """Return the endpoints of scripts, and Flink's list of jars, which is empty."""
    scripts = _Scripts(context)
    return [
        Endpoint("POST", "/scripts/upload", scripts.upload),
        Endpoint("GET", "/scripts", scripts.list),
        Endpoint("POST", "/scripts/:scriptid/run", scripts.run),
        Endpoint("DELETE", "/scripts/:scriptid", scripts.delete),
        Endpoint("GET", "/jars", scripts.list_jars),
        Endpoint("GET", "/penstock/session", scripts.session),
    ]


class _Scripts:
    def __init__(self, context: Context) -> None:
        self._jobs = context.jobs

    def upload(self, asked: Asked) -> dict[str, str]:
        """Keep a script: a form with a file, or JSON with `name` and `content`."""
        name, content = _upload_of(asked.body)
        folder = self._folder()
        safe = re.sub(r"[^A-Za-z0-9._-]+", "_", os.path.basename(name))[-_LONGEST_NAME:].lstrip(
            "._-"
        )
        if not safe.endswith(".py") or safe == "py":
            raise RequestError(400, "Only Python scripts (.py) can be uploaded.")
        script = folder / f"{uuid.uuid4()}_{safe}"
        handle = os.open(script, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with open(handle, "wb") as file:
            file.write(content)
        return {"filename": str(script), "id": script.name, "status": "success"}

    def list(self, asked: Asked) -> dict[str, Any]:
        """List the scripts, the latest first."""
        found: list[tuple[int, str]] = []
        for path in self._folder().iterdir():
            if _ID.fullmatch(path.name) and path.is_file() and not path.is_symlink():
                found.append((int(path.stat().st_mtime * 1000), path.name))
        files = [
            {"id": name, "name": name.partition("_")[2], "uploaded": when}
            for when, name in sorted(found, reverse=True)
        ]
        return {"address": asked.address, "files": files}

    def run(self, asked: Asked) -> dict[str, str]:
        """Run a script as a job."""
        script = self._find(asked.path["scriptid"])
        name = script.name.partition("_")[2]
        submission = Submission(script, name, _arguments(asked.body), _settings(asked.body))
        return {"jobid": self._jobs.submit(submission)}

    def delete(self, asked: Asked) -> dict[str, str]:
        """Remove a script."""
        self._find(asked.path["scriptid"]).unlink(missing_ok=True)
        return {}

    def list_jars(self, asked: Asked) -> dict[str, Any]:
        """Answer `/jars`: there are none."""
        return {"address": asked.address, "files": []}

    def session(self, asked: Asked) -> dict[str, str]:
        """Answer where jobs that are started by hand leave what is known of them."""
        folder = self._jobs.facts_folder()
        if folder is None:
            raise RequestError(404, "This server is no session.")
        return {"facts-dir": str(folder)}

    def _folder(self) -> Path:
        folder = self._jobs.uploads()
        if folder is None:
            raise RequestError(405, "This server runs no scripts.")
        return folder

    def _find(self, wanted: str) -> Path:
        """Return a script of the folder: by its name alone, so that no path leads out of it."""
        for path in self._folder().iterdir():
            if path.name == wanted and _ID.fullmatch(wanted) and not path.is_symlink():
                return path
        raise RequestError(404, f"Script {wanted} not found")


def _upload_of(body: dict[str, Any]) -> tuple[str, bytes]:
    for value in body.values():
        if isinstance(value, tuple):
            return value
    name, content = body.get("name"), body.get("content")
    if not isinstance(name, str) or not isinstance(content, str):
        raise RequestError(400, "Send one file as a form, or JSON with name and content.")
    return name, content.encode()


def _arguments(body: dict[str, Any]) -> tuple[str, ...]:
    listed = body.get("programArgsList")
    if listed is not None:
        if not isinstance(listed, list):
            raise RequestError(400, "Field programArgsList must be a list.")
        return tuple(map(str, listed))
    try:
        return tuple(shlex.split(str(body.get("programArgs") or "")))
    except ValueError as error:
        raise RequestError(400, f"Field programArgs cannot be read: {error}") from None


def _settings(body: dict[str, Any]) -> dict[str, str]:
    given = body.get("flinkConfiguration") or {}
    if not isinstance(given, dict):
        raise RequestError(400, "Field flinkConfiguration must be an object.")
    named = {
        PARALLELISM.key: body.get("parallelism"),
        RECOVERY_PATH.key: body.get("savepointPath"),
        CLAIM_MODE.key: body.get("claimMode"),
        IGNORE_UNCLAIMED.key: "true" if body.get("allowNonRestoredState") else None,
    }
    found = {str(key): str(value) for key, value in given.items()}
    return found | {key: str(value) for key, value in named.items() if value}
