"""Archives and wheels, made by the tests that need them."""

from __future__ import annotations

import zipfile
from pathlib import Path


def make_zip(path: Path, **files: str) -> Path:
    """Write a zip file; in the names of its files a double underscore stands for a slash."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name.replace("__", "/") + ".py", content)
    return path


def make_wheel(folder: Path, name: str, version: str, source: str) -> Path:
    """Write a wheel with one module, as a build tool would."""
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}-{version}-py3-none-any.whl"
    info = f"{name}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    wheel = "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    files = {f"{name}.py": source, f"{info}/METADATA": metadata, f"{info}/WHEEL": wheel}
    record = "".join(f"{file},,\n" for file in (*files, f"{info}/RECORD"))
    with zipfile.ZipFile(path, "w") as archive:
        for file, content in {**files, f"{info}/RECORD": record}.items():
            archive.writestr(file, content)
    return path
