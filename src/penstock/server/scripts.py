"""Uploaded programs: the counterpart of Flink's jars."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

from penstock.common.options import (
    CLAIM_MODE,
    IGNORE_UNCLAIMED,
    PARALLELISM,
    PYTHON_ARCHIVES,
    PYTHON_FILES,
    PYTHON_REQUIREMENTS,
    RECOVERY_PATH,
)
from penstock.errors import RequestError
from penstock.execution.program_path import UPLOADED
from penstock.server.context import Asked, Context, Endpoint
from penstock.server.jobs import Submission
from penstock.server.uploads import Uploads, given_name

_SCRIPT = r"[A-Za-z0-9][A-Za-z0-9._-]*\.py"
_FILE = "[A-Za-z0-9][A-Za-z0-9._-]*"
_MODULE = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")
#: Folder of the files that programs need, within that of the scripts.
_FILES = "files"


def endpoints(context: Context) -> list[Endpoint]:
    """Return the endpoints of programs, and Flink's list of jars, which is empty."""
    scripts = _Scripts(context)
    return [
        Endpoint("POST", "/scripts/upload", scripts.upload),
        Endpoint("GET", "/scripts", scripts.list),
        Endpoint("POST", "/scripts/:scriptid/run", scripts.run),
        Endpoint("DELETE", "/scripts/:scriptid", scripts.delete),
        Endpoint("POST", "/modules/:module/run", scripts.run_module),
        Endpoint("POST", "/files/upload", scripts.upload_file),
        Endpoint("DELETE", "/files/:fileid", scripts.delete_file),
        Endpoint("GET", "/jars", scripts.list_jars),
        Endpoint("GET", "/penstock/session", scripts.session),
    ]


class _Scripts:
    def __init__(self, context: Context) -> None:
        self._jobs = context.jobs

    def upload(self, asked: Asked) -> dict[str, str]:
        """Keep a script: a form with a file, or JSON with `name` and `content`."""
        return _kept(self._scripts().keep(asked.body))

    def list(self, asked: Asked) -> dict[str, Any]:
        """List the scripts, the latest first."""
        found = [(int(path.stat().st_mtime * 1000), path) for path in self._scripts().all()]
        files = [
            {"id": path.name, "name": given_name(path), "uploaded": when}
            for when, path in sorted(found, reverse=True)
        ]
        return {"address": asked.address, "files": files}

    def run(self, asked: Asked) -> dict[str, str]:
        """Run a script as a job."""
        script = self._find(asked.path["scriptid"])
        return self._submit(asked, given_name(script), script=script)

    def run_module(self, asked: Asked) -> dict[str, str]:
        """Run a module of `python.files`, or one that the session has, as a job."""
        module = asked.path["module"]
        if not _MODULE.fullmatch(module):
            raise RequestError(400, f"{module!r} is not the name of a module.")
        return self._submit(asked, module, module=module)

    def delete(self, asked: Asked) -> dict[str, str]:
        """Remove a script."""
        self._find(asked.path["scriptid"]).unlink(missing_ok=True)
        return {}

    def upload_file(self, asked: Asked) -> dict[str, str]:
        """Keep a file that a program needs, until it is run: settings name it `upload:<id>`."""
        return _kept(self._files().keep(asked.body))

    def delete_file(self, asked: Asked) -> dict[str, str]:
        """Remove a file that was uploaded; jobs that were run with it have copies."""
        self._find_file(asked.path["fileid"]).unlink(missing_ok=True)
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

    def _submit(
        self, asked: Asked, name: str, *, script: Path | None = None, module: str = ""
    ) -> dict[str, str]:
        settings = _settings(asked.body)
        self._folder()
        submission = Submission(
            script,
            name,
            _arguments(asked.body),
            settings,
            module=module,
            files={wanted: self._find_file(wanted) for wanted in _uploads_in(settings)},
            interpreter=str(asked.body.get("pyClientExecutable") or ""),
        )
        return {"jobid": self._jobs.submit(submission)}

    def _folder(self) -> Path:
        folder = self._jobs.uploads()
        if folder is None:
            raise RequestError(405, "This server runs no scripts.")
        return folder

    def _scripts(self) -> Uploads:
        return Uploads(self._folder(), _SCRIPT, "Only Python scripts (.py) can be uploaded.")

    def _files(self) -> Uploads:
        folder = self._folder() / _FILES
        return Uploads(folder, _FILE, "A file needs a name of letters and digits.")

    def _find(self, wanted: str) -> Path:
        if (found := self._scripts().find(wanted)) is None:
            raise RequestError(404, f"Script {wanted} not found")
        return found

    def _find_file(self, wanted: str) -> Path:
        if (found := self._files().find(wanted)) is None:
            raise RequestError(404, f"File {wanted} not found")
        return found


def _kept(path: Path) -> dict[str, str]:
    return {"filename": str(path), "id": path.name, "status": "success"}


def _uploads_in(settings: dict[str, str]) -> list[str]:
    """Return the ids of the uploaded files that settings name."""
    texts = (settings.get(o.key, "") for o in (PYTHON_FILES, PYTHON_ARCHIVES, PYTHON_REQUIREMENTS))
    items = (item.strip().partition("#")[0] for text in texts for item in text.split(","))
    return [item.removeprefix(UPLOADED) for item in items if item.startswith(UPLOADED)]


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
