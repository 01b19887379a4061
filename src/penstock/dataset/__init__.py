"""The DataSet API: programs over collections that end, run by Spark's own shuffles.

Names are snake_case of Flink 1.x's Java API.

- `ExecutionEnvironment`: where a program begins and is executed.
- `DataSet`, `UnsortedGrouping`, `SortedGrouping`, `JoinOperator`, `CoGroupOperator`,
  `CrossOperator`, `AggregateOperator`: data sets and what is done to them.
- `IterativeDataSet`, `DeltaIteration`: iterations.
- `DataSetUtils`: numbering and sampling.
- `JdbcInputFormat`, `JdbcOutputFormat`: relational databases.
- Functions are in `penstock.dataset.functions`.

>>> env = ExecutionEnvironment.create_collections_environment()
>>> lines = env.from_elements("to be", "or not to be")
>>> words = lines.flat_map(lambda line: [(word, 1) for word in line.split()])
>>> words.group_by(0).sum(1).sort_partition(0, Order.ASCENDING).print()
('be', 2)
('not', 1)
('or', 1)
('to', 2)
"""

from penstock.connectors.jdbc import (
    JdbcGenericParameterValuesProvider,
    JdbcInputFormat,
    JdbcNumericBetweenParametersProvider,
    JdbcOutputFormat,
    JdbcParameterValuesProvider,
)
from penstock.connectors.text_sink import WriteMode
from penstock.core.batch.aggregators import (
    Aggregator,
    ConvergenceCriterion,
    DoubleSumAggregator,
    LongSumAggregator,
)
from penstock.core.batch.formats import (
    DiscardingOutputFormat,
    InputFormat,
    OutputFormat,
    TextFormatter,
)
from penstock.core.batch.options import Aggregations, CombineHint, JoinHint, Order
from penstock.dataset.aggregate import AggregateOperator
from penstock.dataset.co_group import CoGroupOperator
from penstock.dataset.cross import CrossOperator
from penstock.dataset.csv_reader import CsvReader
from penstock.dataset.data_set import DataSet
from penstock.dataset.data_set_utils import DataSetUtils
from penstock.dataset.environment import ExecutionEnvironment
from penstock.dataset.grouping import SortedGrouping, UnsortedGrouping
from penstock.dataset.iteration import DeltaIteration, IterativeDataSet
from penstock.dataset.joins import JoinOperator
from penstock.dataset.sinks import DataSink

__all__ = [
    "AggregateOperator",
    "Aggregations",
    "Aggregator",
    "CoGroupOperator",
    "CombineHint",
    "ConvergenceCriterion",
    "CrossOperator",
    "CsvReader",
    "DataSet",
    "DataSetUtils",
    "DataSink",
    "DeltaIteration",
    "DiscardingOutputFormat",
    "DoubleSumAggregator",
    "ExecutionEnvironment",
    "InputFormat",
    "IterativeDataSet",
    "JdbcGenericParameterValuesProvider",
    "JdbcInputFormat",
    "JdbcNumericBetweenParametersProvider",
    "JdbcOutputFormat",
    "JdbcParameterValuesProvider",
    "JoinHint",
    "JoinOperator",
    "LongSumAggregator",
    "Order",
    "OutputFormat",
    "SortedGrouping",
    "TextFormatter",
    "UnsortedGrouping",
    "WriteMode",
]
