"""Count records by key in one kind of state; a program for Penstock and for PyFlink.

Arguments: the API, the workload, how many keys, and how many records each run has. The last line
printed is a JSON list of the seconds that the runs took.
"""

from __future__ import annotations

import importlib
import json
import sys
import time


class Names:
    """The names of an API, wherever its modules have them."""

    def __init__(self, api: str) -> None:
        modules = ("datastream", "datastream.state", "datastream.connectors.number_seq", "common")
        self.modules = [importlib.import_module(f"{api}.{module}") for module in modules]

    def __getattr__(self, name: str):
        return next(vars(module)[name] for module in self.modules if hasattr(module, name))


def make_function(names: Names, workload: str):
    """Return a function that counts by key and answers only some of the records."""

    class Value(names.KeyedProcessFunction):
        def open(self, runtime_context):
            descriptor = names.ValueStateDescriptor("count", names.Types.LONG())
            if "ttl" in workload:
                life = names.StateTtlConfig.new_builder(names.Time.hours(1)).build()
                descriptor.enable_time_to_live(life)
            self.count = runtime_context.get_state(descriptor)

        def process_element(self, value, ctx):
            count = (self.count.value() or 0) + 1
            self.count.update(count)
            if count % 1000 == 0:
                yield count

    class Map(names.KeyedProcessFunction):
        def open(self, runtime_context):
            types = names.Types.LONG(), names.Types.LONG()
            descriptor = names.MapStateDescriptor("counts", *types)
            self.counts = runtime_context.get_map_state(descriptor)

        def process_element(self, value, ctx):
            name = value % 7
            count = (self.counts.get(name) or 0) + 1
            self.counts.put(name, count)
            if count % 1000 == 0:
                yield count

    class List(names.KeyedProcessFunction):
        def open(self, runtime_context):
            descriptor = names.ListStateDescriptor("kept", names.Types.LONG())
            self.kept = runtime_context.get_list_state(descriptor)
            self.seen = 0

        def process_element(self, value, ctx):
            self.kept.add(value)
            self.seen += 1
            if self.seen % 1000 == 0:
                yield len(list(self.kept.get()))
                self.kept.clear()

    return {"value": Value, "value with ttl": Value, "map": Map, "list": List}[workload]()


def run(names: Names, workload: str, keys: int, size: int) -> float:
    """Run the job and return its seconds."""
    env = names.StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    source = names.NumberSequenceSource(0, size - 1)
    numbers = env.from_source(source, names.WatermarkStrategy.no_watermarks(), "numbers")
    keyed = numbers.key_by(lambda number: number % keys, names.Types.LONG())
    counts = keyed.process(make_function(names, workload), names.Types.LONG())
    counts.filter(lambda count: count < 0).print()
    began = time.perf_counter()
    env.execute(workload)
    return time.perf_counter() - began


def main() -> None:
    api, workload, keys, *sizes = sys.argv[1:]
    names = Names(api)
    run(names, workload, int(keys), int(sizes[0]))  # the JVM compiles its hot code
    print(json.dumps([run(names, workload, int(keys), int(size)) for size in sizes]))


if __name__ == "__main__":
    main()
