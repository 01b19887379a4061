"""All connectors of CREATE TABLE."""

from __future__ import annotations

from penstock.table.factories.base import FactoryRegistry
from penstock.table.factories.datagen import DatagenFactory
from penstock.table.factories.filesystem.factory import FilesystemFactory
from penstock.table.factories.jdbc import JdbcFactory
from penstock.table.factories.kafka.factory import KafkaFactory, UpsertKafkaFactory
from penstock.table.factories.printing import BlackholeFactory, PrintFactory
from penstock.table.factories.spark_format import SparkFactory

REGISTRY = FactoryRegistry()
for _factory in (
    DatagenFactory(), PrintFactory(), BlackholeFactory(), FilesystemFactory(), JdbcFactory(),
    KafkaFactory(), UpsertKafkaFactory(), SparkFactory(),
):  # fmt: skip
    REGISTRY.add(_factory)
