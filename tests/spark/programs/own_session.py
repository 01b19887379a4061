"""A program with a SparkSession of its own that also runs two Penstock jobs."""

from pyspark.sql import SparkSession
from pyspark.sql.functions import col

from penstock.datastream import StreamExecutionEnvironment


def run_job(name: str) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    stream = env.from_collection([("a", 1), ("a", 2)]).key_by(lambda pair: pair[0]).sum(1)
    stream.map(told).print(name)
    env.execute(name)


def told(pair: tuple[str, int]) -> int:
    print("told", pair[1])
    return pair[1]


def settings(spark: SparkSession) -> dict[str, str]:
    sql = {row["key"]: row["value"] for row in spark.sql("SET").collect()}
    return {**dict(spark.sparkContext.getConf().getAll()), **sql}


def main() -> None:
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.sql.shuffle.partitions", "7")
        .config("spark.sql.adaptive.coalescePartitions.enabled", "false")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    before = settings(spark)
    variables = dict(spark.sparkContext.environment)
    for name in ("first", "second"):
        run_job(name)
        assert SparkSession.getActiveSession() is spark
        assert SparkSession.builder.getOrCreate() is spark
        assert settings(spark) == before
        assert spark.sparkContext.environment == variables
        assert spark.conf.get("spark.sql.shuffle.partitions") == "7"
        rows = spark.range(100).groupBy((col("id") % 7).alias("k")).count()
        assert rows.rdd.getNumPartitions() == 7
        assert rows.agg({"count": "sum"}).first()[0] == 100
    assert not spark.streams.active
    spark.stop()
    print("stopped by its owner")


if __name__ == "__main__":
    main()
