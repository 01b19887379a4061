"""What is asked of one job."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.errors import RequestError
from penstock.execution.facts.snapshot import (
    CheckpointEntry,
    JobSnapshot,
    VertexFacts,
    VertexSubtask,
)


@dataclass(frozen=True)
class Question:
    """A snapshot, and what path and query say."""

    job: JobSnapshot
    #: Values of the path's parameters by name: `vertexid`, `subtaskindex` and so on.
    path: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)

    def vertex(self) -> VertexFacts:
        """Return the vertex that the path names.

        :raises RequestError: if the job has none of that id.
        """
        wanted = self.path["vertexid"]
        for vertex in self.job.vertices:
            if vertex.id == wanted:
                return vertex
        raise RequestError(404, f"Vertex {wanted} of job {self.job.job_id} not found")

    def subtask(self) -> VertexSubtask:
        """Return the subtask that the path names."""
        index, vertex = self._number("subtaskindex"), self.vertex()
        for subtask in vertex.subtasks:
            if subtask.index == index:
                return subtask
        raise RequestError(404, f"Vertex {vertex.id} has no subtask {index}")

    def checkpoint(self) -> CheckpointEntry:
        """Return the checkpoint that the path names."""
        number = self._number("checkpointid")
        for entry in self.job.checkpoints.history:
            if entry.number == number:
                return entry
        raise RequestError(404, f"Could not find checkpointing statistics for checkpoint {number}.")

    def _number(self, name: str) -> int:
        return number_of(self.path[name], name)

    def query_number(self, name: str, default: int) -> int:
        """Return a number of the query."""
        text = self.query.get(name)
        return default if text is None else number_of(text, name)


def number_of(text: str, name: str) -> int:
    """Return a parameter as a number.

    :raises RequestError: if it is none.
    """
    try:
        return int(text)
    except ValueError:
        raise RequestError(
            400,
            "Bad request, could not parse parameters: "
            f'Cannot resolve path parameter ({name}) from value "{text}".',
        ) from None
