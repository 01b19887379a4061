"""Attributes of a log record that comes from a worker."""

from __future__ import annotations

#: The job's id, and `name (subtask)`.
JOB, OPERATOR = "penstock_job", "penstock_operator"
