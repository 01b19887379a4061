"""Files that a program registered and that every subtask can open."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.errors import ProgramError


class DistributedCache:
    """Tell where a registered file lies in this worker."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self._files = files

    def get_file(self, name: str) -> str:
        """Return the path of a registered file.

        :raises ProgramError: if none was registered under that name.
        """
        if name not in self._files:
            raise ProgramError(
                f"there is no cached file {name!r}",
                where="get_distributed_cache().get_file()",
                got=f"registered: {', '.join(sorted(self._files)) or 'none'}",
                todo="call env.register_cached_file(path, name) before execute()",
            )
        return self._files[name]
