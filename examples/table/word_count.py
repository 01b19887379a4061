"""Count words with SQL, over lines of a file: the same statements as a stream and as a batch."""

import tempfile
from pathlib import Path

from penstock.table import DataTypes, EnvironmentSettings, TableEnvironment
from penstock.table.udf import udtf

TEXT = "hello flink\nhello spark\nhello table\n"


@udtf(result_types=[DataTypes.STRING()])
def words(line: str):
    yield from line.split()


def main() -> None:
    folder = Path(tempfile.mkdtemp())
    (folder / "text.csv").write_text(TEXT)
    for settings in (
        EnvironmentSettings.in_streaming_mode(),
        EnvironmentSettings.in_batch_mode(),
    ):
        t_env = TableEnvironment.create(settings)
        t_env.get_config().set("parallelism.default", "1")
        t_env.create_temporary_function("words", words)
        t_env.execute_sql(
            "CREATE TABLE lines (line STRING) WITH ('connector' = 'filesystem', "
            f"'path' = '{folder}', 'format' = 'csv')"
        )
        t_env.execute_sql(
            "SELECT word, COUNT(*) AS n FROM lines, LATERAL TABLE(words(line)) AS w (word) "
            "GROUP BY word"
        ).print()


if __name__ == "__main__":
    main()
