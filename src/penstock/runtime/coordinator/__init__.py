"""The coordinator: what a job does in the user's process, beside the engine that runs it.

It hosts the sources' enumerators and the sinks' committers, decides when a batch is worth running
and what it reads, records what each batch produced, and publishes a record once the engine's log
holds the batch.
"""
