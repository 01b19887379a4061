"""Install the packages that a requirements file names, for the workers of a job only."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from penstock.errors import ConfigurationError

#: Lines of pip's output that an error shows.
_SHOWN_LINES = 5


@dataclass(frozen=True)
class Requirements:
    """A requirements file.

    :param packages: folder of packages to install from; None for pip's usual places.
    """

    file: Path
    packages: Path | None = None

    def install(self, folder: Path, executable: str) -> None:
        """Install them into a folder.

        :param executable: the interpreter that the packages are for.
        :raises ConfigurationError: with pip's last words, if it fails.
        """
        command = [executable, "-m", "pip", "install"]
        command += ["--disable-pip-version-check", "--no-input", "--quiet", "--ignore-installed"]
        command += ["--target", str(folder), "-r", str(self.file)]
        if self.packages is not None:
            command += ["--no-index", "--find-links", str(self.packages)]
        try:
            done = subprocess.run(command, capture_output=True, text=True)
        except OSError as error:
            raise self._failure(f"{type(error).__name__}: {error}") from None
        if done.returncode != 0:
            lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
            raise self._failure("\n".join(lines[-_SHOWN_LINES:]))
        folder.mkdir(exist_ok=True)  # pip makes none for an empty file

    def _failure(self, got: str) -> ConfigurationError:
        return ConfigurationError(
            "the requirements of the job cannot be installed",
            where=f"configuration key python.requirements: {self.file}",
            got=got,
            todo="correct the file, or give a folder with the packages beside it",
        )
