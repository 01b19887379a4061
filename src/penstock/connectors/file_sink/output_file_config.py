"""How parts are named."""

from __future__ import annotations

from penstock.errors import ConfigurationError

DEFAULT_PREFIX = "part"


class OutputFileConfig:
    """Prefix and suffix of the names of parts.

    >>> config = OutputFileConfig.builder().with_part_suffix(".txt").build()
    >>> config.part_name(0, 3)
    'part-0-3.txt'
    """

    def __init__(self, part_prefix: str = DEFAULT_PREFIX, part_suffix: str = "") -> None:
        for what, text in (("prefix", part_prefix), ("suffix", part_suffix)):
            if not isinstance(text, str) or "/" in text:
                raise ConfigurationError(
                    f"the {what} of a part's name must be text without a slash",
                    where="OutputFileConfig",
                    got=repr(text),
                    todo="choose folders with a bucket assigner",
                )
        self._prefix = part_prefix
        self._suffix = part_suffix

    @staticmethod
    def builder() -> OutputFileConfig.OutputFileConfigBuilder:
        """Return a builder."""
        return OutputFileConfig.OutputFileConfigBuilder()

    def get_part_prefix(self) -> str:
        """Return what part names start with."""
        return self._prefix

    def get_part_suffix(self) -> str:
        """Return what part names end with."""
        return self._suffix

    def part_name(self, subtask: int, count: int) -> str:
        """Return the name of a finished part."""
        return f"{self._prefix}-{subtask}-{count}{self._suffix}"

    class OutputFileConfigBuilder:
        """Make an `OutputFileConfig`."""

        def __init__(self) -> None:
            self._prefix = DEFAULT_PREFIX
            self._suffix = ""

        def with_part_prefix(self, prefix: str) -> OutputFileConfig.OutputFileConfigBuilder:
            """Set what part names start with; default: `part`."""
            self._prefix = prefix
            return self

        def with_part_suffix(self, suffix: str) -> OutputFileConfig.OutputFileConfigBuilder:
            """Set what part names end with, such as `.txt`; default: nothing."""
            self._suffix = suffix
            return self

        def build(self) -> OutputFileConfig:
            """Return the settings."""
            return OutputFileConfig(self._prefix, self._suffix)
