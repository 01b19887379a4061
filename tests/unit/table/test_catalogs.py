"""Catalogs, modules and schemas as programs see them."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.common import Configuration
from penstock.errors import CatalogError, ValidationError
from penstock.table import (
    DataTypes,
    EnvironmentSettings,
    Module,
    Schema,
    TableEnvironment,
    TableSchema,
)
from penstock.table.catalog import (
    CatalogBaseTable,
    CatalogDatabase,
    CatalogDescriptor,
    CatalogFunction,
    CatalogPartitionSpec,
    ObjectPath,
)
from penstock.table.udf import udf


def double(number: int) -> int:
    return 2 * number


doubled = udf(double, result_type="BIGINT")


@pytest.fixture
def t_env() -> TableEnvironment:
    made = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    made.get_config().set("execution.target", "in-process").set("parallelism.default", "1")
    return made


def test_a_catalog_is_created_by_its_descriptor(t_env: TableEnvironment) -> None:
    options = Configuration().set_string("type", "generic_in_memory")
    options.set_string("default-database", "main")
    t_env.create_catalog("shop", CatalogDescriptor.of("shop", options, "all we sell"))
    catalog = t_env.get_catalog("shop")
    assert catalog is not None
    assert (catalog.get_default_database(), catalog.list_databases()) == ("main", ["main"])
    with pytest.raises(CatalogError, match="there is a catalog 'shop' already"):
        t_env.create_catalog("shop", CatalogDescriptor.of("shop", options))
    options.set_string("type", "hive")
    with pytest.raises(CatalogError, match="there is no catalog of type 'hive'"):
        t_env.create_catalog("other", CatalogDescriptor.of("other", options))
    assert t_env.get_catalog("other") is None


def test_databases_and_tables_of_a_catalog(t_env: TableEnvironment, tmp_path: Path) -> None:
    catalog = t_env.get_catalog("default_catalog")
    assert catalog is not None
    catalog.create_database("db", CatalogDatabase.create_instance({"k": "v"}, "one"), False)
    assert catalog.get_database("db").get_properties() == {"k": "v"}
    columns = TableSchema.builder().field("id", DataTypes.INT()).field("day", DataTypes.STRING())
    options = {"connector": "filesystem", "path": str(tmp_path), "format": "csv"}
    path = ObjectPath("db", "t")
    table = CatalogBaseTable.create_table(columns.build(), ["day"], options, "rows")
    catalog.create_table(path, table, False)
    catalog.create_table(path, table, True)
    with pytest.raises(CatalogError, match="there is a table 't' already"):
        catalog.create_table(path, table, False)
    t_env.execute_sql("INSERT INTO db.t VALUES (1, 'mon'), (2, 'tue')").wait()
    assert [spec.get_partition_spec() for spec in catalog.list_partitions(path)] == [
        {"day": "mon"}, {"day": "tue"},
    ]  # fmt: skip
    assert len(catalog.list_partitions(path, CatalogPartitionSpec({"day": "tue"}))) == 1
    text = "SELECT id FROM db.t WHERE id > 1"
    schema = Schema.new_builder().column("id", "INT").build()
    catalog.create_table(
        ObjectPath("db", "v"), CatalogBaseTable.create_view(text, text, schema, {}), False
    )
    assert (catalog.list_tables("db"), catalog.list_views("db")) == (["t", "v"], ["v"])
    assert [tuple(row) for row in t_env.from_path("db.v").execute().collect()] == [(2,)]
    found = catalog.get_table(path)
    assert (found.get_options(), found.get_comment()) == (options, "rows")
    assert str(found.get_unresolved_schema()) == "(\n  `id` INT,\n  `day` STRING\n)"
    catalog.rename_table(path, "u", False)
    assert catalog.table_exists(ObjectPath("db", "u")) and not catalog.table_exists(path)
    with pytest.raises(CatalogError, match="the database 'db' is not empty"):
        catalog.drop_database("db", False)
    for name in ("u", "v"):
        catalog.drop_table(ObjectPath("db", name), False)
    catalog.drop_database("db", False)
    with pytest.raises(CatalogError, match="there is no database 'db'"):
        catalog.list_tables("db")


def test_functions_of_a_catalog_are_imported(t_env: TableEnvironment) -> None:
    catalog = t_env.get_catalog("default_catalog")
    assert catalog is not None
    path = ObjectPath("default_database", "Twice")
    catalog.create_function(path, CatalogFunction.create_instance(f"{__name__}.doubled"), False)
    assert catalog.list_functions("default_database") == ["twice"]
    assert [tuple(row) for row in t_env.execute_sql("SELECT twice(4)").collect()] == [(8,)]
    catalog.drop_function(path, False)
    assert not catalog.function_exists(path)


def test_functions_of_modules_are_found_while_they_are_in_use(t_env: TableEnvironment) -> None:
    t_env.load_module("own", Module({"Twice": doubled}))
    assert t_env.list_modules() == ["core", "own"]
    assert [tuple(row) for row in t_env.execute_sql("SELECT TWICE(4)").collect()] == [(8,)]
    assert "twice" in t_env.list_functions()
    t_env.use_modules("core")
    assert str(t_env.list_full_modules()) == (
        "[ModuleEntry{name='core', used=true}, ModuleEntry{name='own', used=false}]"
    )
    with pytest.raises(Exception, match="there is no function"):
        t_env.execute_sql("SELECT TWICE(4)")
    t_env.execute_sql("USE MODULES own")
    with pytest.raises(ValidationError, match="there is no function 'UPPER'"):
        t_env.execute_sql("SELECT UPPER('a')")
    t_env.execute_sql("USE MODULES own, core")
    t_env.execute_sql("UNLOAD MODULE own")
    assert t_env.list_modules() == ["core"]
    with pytest.raises(ValidationError, match="there is no module 'hive' to load"):
        t_env.execute_sql("LOAD MODULE hive")


def test_a_resolved_schema_knows_how_columns_come_about(t_env: TableEnvironment) -> None:
    t_env.execute_sql(
        "CREATE TABLE t (id INT, up AS id + 1, PRIMARY KEY (id) NOT ENFORCED) "
        "WITH ('connector' = 'datagen', 'number-of-rows' = '1')"
    )
    schema = t_env.from_path("t").get_resolved_schema()
    assert schema.get_column_names() == ["id", "up"]
    assert schema.get_primary_key_indexes() == [0]
    assert [str(each.explain_extras()) for each in schema.get_columns()] == ["None", "AS `id` + 1"]
    assert schema.to_physical_row_data_type().names() == ["id"]
