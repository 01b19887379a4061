"""Where a program's own process finds the modules that its settings name."""

from __future__ import annotations

import os
from collections.abc import Mapping

from penstock.common.options import PYTHON_FILES
from penstock.connectors.file_paths import absolute

#: Stands in front of the id of a file that was uploaded to a session.
UPLOADED = "upload:"
#: What an interpreter can import from as it is.
_IMPORTABLE = (".zip", ".whl", ".egg")


def with_program_path(
    environment: Mapping[str, str], settings: Mapping[str, str]
) -> dict[str, str]:
    """Return environment variables with which `python.files` can be imported, as by workers.

    A folder or a zip file goes on the path itself, of a module the folder that it is in. Other
    archives are for the workers alone, which unpack them.
    """
    path: list[str] = []
    for text in PYTHON_FILES.read(settings):
        file = absolute(text)
        if os.path.isdir(file):
            path.append(file)
            if os.path.exists(os.path.join(file, "__init__.py")):
                path.append(os.path.dirname(file))
        elif file.endswith(_IMPORTABLE):
            path.append(file)
        elif file.endswith(".py"):
            path.append(os.path.dirname(file))
    if not path:
        return dict(environment)
    before = environment.get("PYTHONPATH")
    return {**environment, "PYTHONPATH": os.pathsep.join([*path, *([before] if before else [])])}
