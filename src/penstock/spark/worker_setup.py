"""What a worker does before it loads its first job: make the job's dependencies usable.

Loaded by every worker, so it loads little itself.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from pyspark import SparkFiles

#: The dependencies' folder and the name under which Spark distributes it, in the environment.
VARIABLE = "PENSTOCK_DEPENDENCIES"
#: In the folder: which parts of it go on the path, and whether there are archives.
LAYOUT = "layout.json"
#: In the folder: the unpacked archives.
ARCHIVE_FOLDER = "archives"

_active = False


def activate_dependencies() -> None:
    """Make the job's dependencies usable in this process. May be called again."""
    global _active
    text = os.environ.get(VARIABLE)
    if text is None or _active:
        return
    _active = True
    path, name = json.loads(text)
    folder = Path(path if os.path.isdir(path) else SparkFiles.get(name)).absolute()
    layout = json.loads((folder / LAYOUT).read_text(encoding="utf-8"))
    sys.path[:0] = [str(folder / part) for part in layout["path"]]
    if layout["archives"]:
        os.chdir(folder / ARCHIVE_FOLDER)
