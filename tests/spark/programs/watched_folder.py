"""Read the lines of a folder for ever, add up by key, and write what comes out."""

from __future__ import annotations

import sys
from pathlib import Path

from penstock.common import Configuration, Duration, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.file_system import FileSource, StreamFormat


def main() -> None:
    folder = Path(sys.argv[1])
    configuration = Configuration()
    configuration.set_string("penstock.master", "local[2,4]")
    configuration.set_string("execution.checkpointing.dir", str(folder / "checkpoints"))
    configuration.set_string("penstock.batch.max-records", "40")
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(2)
    source = (
        FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(folder / "in"))
        .monitor_continuously(Duration.of_millis(200))
        .build()
    )
    (
        env.from_source(source, WatermarkStrategy.no_watermarks(), "files")
        .map(lambda line: (line.split()[0], [int(line.split()[1])]))
        .key_by(lambda pair: pair[0])
        .reduce(lambda left, right: (left[0], [left[1][0] + right[1][0], *right[1][-1:]]))
        .map(lambda pair: f"{pair[0]} {pair[1][-1]} {pair[1][0]}")
        .write_as_text(str(folder / "out"))
    )
    env.execute("watched")


if __name__ == "__main__":
    main()
