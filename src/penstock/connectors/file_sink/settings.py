"""What a file sink was built with, and the messages between its two halves."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from typing import Any

from penstock.connectors.file_sink.assigners import BucketAssigner
from penstock.connectors.file_sink.compaction import FileCompactor, FileCompactStrategy
from penstock.connectors.file_sink.formats import PartFormat
from penstock.connectors.file_sink.output_file_config import OutputFileConfig
from penstock.connectors.file_sink.rolling import RollingPolicy


@dataclass(frozen=True)
class FileSinkSettings:
    """Everything that a sink's writers and its committer must know."""

    base_path: str
    part_format: PartFormat
    assigner: BucketAssigner[Any]
    policy: RollingPolicy[Any]
    config: OutputFileConfig = field(default_factory=OutputFileConfig)
    #: How often a policy is asked about time, in milliseconds; None: when the policy says.
    check_interval: int | None = None
    #: When finished parts are compacted, and how; None: they are not.
    strategy: FileCompactStrategy | None = None
    compactor: FileCompactor | None = None
    #: Registered file systems that the base path needs, by scheme.
    file_systems: dict[str, Any] = field(default_factory=dict)


@dataclass
class PreparedFiles:
    """What a writer did to files in a batch: the committable of the sink."""

    #: Segments that the state names from this batch on.
    opened: list[str] = field(default_factory=list)
    #: Parts that have ended: file, length, bucket's path, and the number in the name.
    finished: list[tuple[str, int, str, int]] = field(default_factory=list)
    #: Segments that the state names no longer.
    removed: list[str] = field(default_factory=list)
    #: The writer's input has ended.
    ended: bool = False
    #: The batch is a checkpoint, of a sink whose parts wait for some.
    checkpoint: bool = False

    def dump(self) -> bytes:
        """Return it as bytes."""
        return json.dumps(asdict(self)).encode()

    @classmethod
    def load(cls, data: bytes) -> PreparedFiles:
        """Undo `dump`."""
        return cls(**json.loads(data))


def owner_of(job_id: str, uid: str) -> str:
    """Return the digits by which a sink knows its own unfinished files, in every run of its job."""
    return hashlib.sha256(f"{job_id}\0{uid}".encode()).hexdigest()[:12]
