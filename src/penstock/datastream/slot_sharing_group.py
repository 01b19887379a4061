"""Slot sharing groups and the resources that they name."""

from __future__ import annotations

from penstock.common.option_values import parse_memory
from penstock.errors import ConfigurationError


class MemorySize:
    """An amount of memory.

    >>> MemorySize.of_mebi_bytes(2).get_kibi_bytes()
    2048
    """

    def __init__(self, bytes_size: int) -> None:
        if bytes_size < 0:
            raise ConfigurationError(
                "an amount of memory must not be negative",
                where="MemorySize(bytes_size)",
                got=repr(bytes_size),
                todo="pass zero or more bytes",
            )
        self._bytes = bytes_size

    @staticmethod
    def of_mebi_bytes(mebi_bytes: int) -> MemorySize:
        """Return an amount of so many times 1024 * 1024 bytes."""
        return MemorySize(mebi_bytes << 20)

    def get_bytes(self) -> int:
        """Return the number of bytes."""
        return self._bytes

    def get_kibi_bytes(self) -> int:
        """Return the number of whole KiB."""
        return self._bytes >> 10

    def get_mebi_bytes(self) -> int:
        """Return the number of whole MiB."""
        return self._bytes >> 20

    def get_gibi_bytes(self) -> int:
        """Return the number of whole GiB."""
        return self._bytes >> 30

    def get_tebi_bytes(self) -> int:
        """Return the number of whole TiB."""
        return self._bytes >> 40

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MemorySize) and self._bytes == other._bytes

    def __hash__(self) -> int:
        return hash(self._bytes)

    def __lt__(self, other: MemorySize) -> bool:
        return self._bytes < other._bytes

    def __repr__(self) -> str:
        return f"{self._bytes} bytes"


class SlotSharingGroup:
    """A named group of operators, with the resources that its slots should have.

    >>> SlotSharingGroup.builder("heavy").set_cpu_cores(2.0).build().get_name()
    'heavy'
    """

    def __init__(
        self,
        name: str,
        cpu_cores: float | None = None,
        task_heap_memory: MemorySize | None = None,
        task_off_heap_memory: MemorySize | None = None,
        managed_memory: MemorySize | None = None,
        external_resources: dict[str, float] | None = None,
    ) -> None:
        self._name = name
        self._cpu_cores = cpu_cores
        self._task_heap_memory = task_heap_memory
        self._task_off_heap_memory = task_off_heap_memory
        self._managed_memory = managed_memory
        self._external_resources = dict(external_resources or {})

    @staticmethod
    def builder(name: str) -> SlotSharingGroup.Builder:
        """Return a builder for a group of that name."""
        return SlotSharingGroup.Builder(name)

    def get_name(self) -> str:
        """Return the group's name."""
        return self._name

    def get_cpu_cores(self) -> float | None:
        """Return the number of cores asked for."""
        return self._cpu_cores

    def get_task_heap_memory(self) -> MemorySize | None:
        """Return the heap memory asked for."""
        return self._task_heap_memory

    def get_task_off_heap_memory(self) -> MemorySize | None:
        """Return the off-heap memory asked for."""
        return self._task_off_heap_memory

    def get_managed_memory(self) -> MemorySize | None:
        """Return the managed memory asked for."""
        return self._managed_memory

    def get_external_resources(self) -> dict[str, float]:
        """Return other resources asked for, by name."""
        return dict(self._external_resources)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SlotSharingGroup) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash(self._name)

    class Builder:
        """Collect the parts of a group."""

        def __init__(self, name: str) -> None:
            self._name = name
            self._cpu_cores: float | None = None
            self._heap: MemorySize | None = None
            self._off_heap: MemorySize | None = None
            self._managed: MemorySize | None = None
            self._external: dict[str, float] = {}

        def set_cpu_cores(self, cpu_cores: float) -> SlotSharingGroup.Builder:
            """Ask for so many cores."""
            self._cpu_cores = cpu_cores
            return self

        def set_task_heap_memory(self, memory: MemorySize | str) -> SlotSharingGroup.Builder:
            """Ask for so much heap memory."""
            self._heap = _memory(memory)
            return self

        def set_task_heap_memory_mb(self, mebi_bytes: int) -> SlotSharingGroup.Builder:
            """Ask for so many MiB of heap memory."""
            self._heap = MemorySize.of_mebi_bytes(mebi_bytes)
            return self

        def set_task_off_heap_memory(self, memory: MemorySize | str) -> SlotSharingGroup.Builder:
            """Ask for so much off-heap memory."""
            self._off_heap = _memory(memory)
            return self

        def set_task_off_heap_memory_mb(self, mebi_bytes: int) -> SlotSharingGroup.Builder:
            """Ask for so many MiB of off-heap memory."""
            self._off_heap = MemorySize.of_mebi_bytes(mebi_bytes)
            return self

        def set_managed_memory(self, memory: MemorySize | str) -> SlotSharingGroup.Builder:
            """Ask for so much managed memory."""
            self._managed = _memory(memory)
            return self

        def set_managed_memory_mb(self, mebi_bytes: int) -> SlotSharingGroup.Builder:
            """Ask for so many MiB of managed memory."""
            self._managed = MemorySize.of_mebi_bytes(mebi_bytes)
            return self

        def set_external_resource(self, name: str, value: float) -> SlotSharingGroup.Builder:
            """Ask for another resource, for instance `gpu`."""
            self._external[name] = value
            return self

        def build(self) -> SlotSharingGroup:
            """Return the group."""
            return SlotSharingGroup(
                self._name,
                self._cpu_cores,
                self._heap,
                self._off_heap,
                self._managed,
                self._external,
            )


def _memory(memory: MemorySize | str) -> MemorySize:
    """Return an amount that may be given as text, for instance `64 mb`."""
    if isinstance(memory, MemorySize):
        return memory
    try:
        return MemorySize(parse_memory(memory))
    except ValueError as error:
        raise ConfigurationError(
            "the amount of memory cannot be understood",
            where="SlotSharingGroup.Builder",
            got=repr(memory),
            todo=str(error),
        ) from error
