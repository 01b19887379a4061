"""The read model of a job: what is known of it, for everybody who shows it.

A `JobFacts` (`job_facts.py`) is told what happens: changes of state, batches, checkpoints,
failures. Its `snapshot()` is plain data (`snapshot.py`), which goes over a socket or into a file
and comes back as the same. REST answers, the archive, Prometheus and the notebook view are
functions of it.
"""
