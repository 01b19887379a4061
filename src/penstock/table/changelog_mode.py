"""Which kinds of changes a stream of rows may have."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ChangelogMode:
    """The kinds of changes that a changelog stream has.

    >>> ChangelogMode.upsert().update_before
    False
    """

    kinds: frozenset[str]
    update_before: bool = True

    @staticmethod
    def insert_only() -> ChangelogMode:
        """Return the mode of inserts only."""
        return ChangelogMode(frozenset("I"))

    @staticmethod
    def upsert() -> ChangelogMode:
        """Return the mode of inserts, updates without the row before, and deletes; by key."""
        return ChangelogMode(frozenset("IUD"), update_before=False)

    @staticmethod
    def all() -> ChangelogMode:
        """Return the mode of inserts, updates with the row before, and deletes."""
        return ChangelogMode(frozenset("IUD"))
