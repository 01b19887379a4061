"""What stands in a catalog, as users describe it: databases, tables, functions, their paths."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock.common import Configuration
from penstock.errors import ValidationError
from penstock.table.schema import Schema
from penstock.table.table_schema import TableSchema


@dataclass(frozen=True, order=True)
class ObjectPath:
    """Database and name of something in a catalog.

    >>> ObjectPath.from_string("shop.orders").get_object_name()
    'orders'
    """

    database_name: str
    object_name: str

    @staticmethod
    def from_string(full_name: str) -> ObjectPath:
        """Return the path that is written as `database.name`."""
        parts = full_name.split(".")
        if len(parts) != 2 or not all(parts):
            raise ValidationError("this is no path", got=full_name, todo="write database.name")
        return ObjectPath(*parts)

    def get_database_name(self) -> str:
        """Return the database."""
        return self.database_name

    def get_object_name(self) -> str:
        """Return the name."""
        return self.object_name

    def get_full_name(self) -> str:
        """Return both, with a dot."""
        return f"{self.database_name}.{self.object_name}"

    def __str__(self) -> str:
        return self.get_full_name()


@dataclass(frozen=True)
class ObjectIdentifier:
    """Catalog, database and name."""

    _catalog: str
    _database: str
    _name: str

    @staticmethod
    def of(catalog_name: str, database_name: str, object_name: str) -> ObjectIdentifier:
        """Return an identifier."""
        return ObjectIdentifier(catalog_name, database_name, object_name)

    def get_catalog_name(self) -> str:
        """Return the catalog."""
        return self._catalog

    def get_database_name(self) -> str:
        """Return the database."""
        return self._database

    def get_object_name(self) -> str:
        """Return the name."""
        return self._name

    def to_object_path(self) -> ObjectPath:
        """Return the part without the catalog."""
        return ObjectPath(self._database, self._name)

    def to_list(self) -> list[str]:
        """Return the parts."""
        return [self._catalog, self._database, self._name]

    def as_serializable_string(self) -> str:
        """Return the identifier as SQL reads it."""
        return ".".join("`" + part.replace("`", "``") + "`" for part in self.to_list())

    def as_summary_string(self) -> str:
        """Return the parts with dots."""
        return ".".join(self.to_list())

    def __str__(self) -> str:
        return self.as_serializable_string()


@dataclass(frozen=True)
class CatalogDatabase:
    """A database: options and a comment."""

    _properties: dict[str, str] = field(default_factory=dict)
    _comment: str | None = None

    @staticmethod
    def create_instance(
        properties: Mapping[str, str], comment: str | None = None
    ) -> CatalogDatabase:
        """Return a database to be created."""
        return CatalogDatabase(dict(properties), comment)

    def get_properties(self) -> dict[str, str]:
        """Return the options."""
        return dict(self._properties)

    def get_comment(self) -> str | None:
        """Return the comment."""
        return self._comment

    def get_description(self) -> str | None:
        """Return the comment."""
        return self._comment

    def get_detailed_description(self) -> str | None:
        """Return the comment."""
        return self._comment

    def copy(self) -> CatalogDatabase:
        """Return the same."""
        return CatalogDatabase(dict(self._properties), self._comment)


@dataclass(frozen=True)
class CatalogBaseTable:
    """A table or a view: columns, options, and for a view its query.

    >>> from penstock.table.types import DataTypes
    >>> columns = TableSchema.builder().field("id", DataTypes.INT()).build()
    >>> CatalogBaseTable.create_table(columns, [], {"connector": "print"}).get_options()
    {'connector': 'print'}
    """

    schema: Schema
    partition_keys: tuple[str, ...] = ()
    options: dict[str, str] = field(default_factory=dict)
    comment: str | None = None
    #: The text of a view's query; None for a table.
    query: str | None = None

    @staticmethod
    def create_table(
        schema: TableSchema | Schema,
        partition_keys: Sequence[str] = (),
        properties: Mapping[str, str] | None = None,
        comment: str | None = None,
    ) -> CatalogBaseTable:
        """Return a table to be created."""
        return CatalogBaseTable(
            _schema(schema), tuple(partition_keys), dict(properties or {}), comment
        )

    @staticmethod
    def create_view(
        original_query: str,
        expanded_query: str,
        schema: TableSchema | Schema,
        properties: Mapping[str, str],
        comment: str | None = None,
    ) -> CatalogBaseTable:
        """Return a view to be created; the expanded query is what runs."""
        return CatalogBaseTable(
            _schema(schema), (), dict(properties), comment, expanded_query or original_query
        )

    def get_options(self) -> dict[str, str]:
        """Return the options."""
        return dict(self.options)

    def get_unresolved_schema(self) -> Schema:
        """Return the columns as they were declared."""
        return self.schema

    def get_comment(self) -> str | None:
        """Return the comment."""
        return self.comment

    def get_description(self) -> str | None:
        """Return the comment."""
        return self.comment

    def get_detailed_description(self) -> str | None:
        """Return the comment."""
        return self.comment

    def copy(self) -> CatalogBaseTable:
        """Return the same."""
        return self


def _schema(schema: TableSchema | Schema) -> Schema:
    if isinstance(schema, Schema):
        return schema
    return Schema.new_builder().from_row_data_type(schema.to_row_data_type()).build()


@dataclass(frozen=True)
class CatalogFunction:
    """A function by the name that Python imports it by."""

    _class_name: str
    _language: str = "Python"

    @staticmethod
    def create_instance(class_name: str, function_language: str = "Python") -> CatalogFunction:
        """Return a function to be created: `module.name`."""
        if function_language.lower() not in ("python", "java", "scala"):
            raise ValueError("function_language must be one of 'Python', 'Java' or 'Scala'")
        return CatalogFunction(class_name, function_language)

    def get_class_name(self) -> str:
        """Return what is imported."""
        return self._class_name

    def get_function_language(self) -> str:
        """Return the language."""
        return self._language.upper()

    def get_options(self) -> dict[str, str]:
        """Return the options: none."""
        return {}

    def copy(self) -> CatalogFunction:
        """Return the same."""
        return self


@dataclass(frozen=True)
class CatalogPartitionSpec:
    """Values of partition columns."""

    _spec: dict[str, str]

    def get_partition_spec(self) -> dict[str, str]:
        """Return the values by column."""
        return dict(self._spec)

    def __str__(self) -> str:
        return f"CatalogPartitionSpec{{{self._spec}}}"


@dataclass(frozen=True)
class CatalogDescriptor:
    """A catalog to be created.

    >>> conf = Configuration().set_string("type", "generic_in_memory")
    >>> CatalogDescriptor.of("shop", conf).get_catalog_name()
    'shop'
    """

    _name: str
    _configuration: Configuration
    _comment: str | None = None

    @staticmethod
    def of(
        catalog_name: str, configuration: Configuration, comment: str | None = None
    ) -> CatalogDescriptor:
        """Return a descriptor; the option `type` says what kind of catalog it is."""
        return CatalogDescriptor(catalog_name, configuration, comment)

    def get_catalog_name(self) -> str:
        """Return the name."""
        return self._name

    def get_configuration(self) -> Configuration:
        """Return the options."""
        return self._configuration

    def get_comment(self) -> str | None:
        """Return the comment."""
        return self._comment

    def options(self) -> dict[str, Any]:
        """Return the options as a dict."""
        return self._configuration.to_dict()
