"""Packages know only what they may know: seen from the text, and from fresh interpreters."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from tests.arch.sources import ROOT, SRC, python_files, relative

RUNNABLE_WITHOUT_SPARK = sorted(
    ".".join(path.relative_to(SRC).with_suffix("").parts).removesuffix(".__init__")
    for path in python_files("src")
    if SRC / "penstock" / "spark" not in path.parents
)


def fresh_interpreter(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_import_contracts_hold() -> None:
    lint_imports = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([lint_imports], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout


def test_every_package_stands_in_the_contracts() -> None:
    contracts = (ROOT / "pyproject.toml").read_text()
    for part in (SRC / "penstock").iterdir():
        if part.is_dir() and (part / "__init__.py").exists():
            assert f'"penstock.{part.name}' in contracts or f"| penstock.{part.name}" in contracts


HEAVY = ("pyspark", "py4j", "pandas")
CLIENTS = ("confluent_kafka", "pymysql", "psycopg", "redis", "pika", "opensearchpy", "fastavro")
SERVERS = ("starlette", "uvicorn", "prometheus_client", "IPython")


@pytest.mark.parametrize(
    "module",
    [
        "penstock",
        "penstock.datastream",
        "penstock.common",
        "penstock.datastream.connectors.kafka",
        "penstock.datastream.connectors.jdbc",
        "penstock.table",
    ],
)
def test_importing_the_api_loads_no_spark_and_no_client_of_a_server(module: str) -> None:
    loaded = fresh_interpreter(
        f"import sys, {module}\n"
        f"print([m for m in sys.modules if m.partition('.')[0] in {HEAVY + CLIENTS + SERVERS}])"
    )
    assert loaded == "[]"


def test_everything_but_the_spark_layer_loads_without_pyspark() -> None:
    loaded = fresh_interpreter(
        "import importlib, sys\n"
        "sys.modules['pyspark'] = sys.modules['py4j'] = None\n"
        f"for name in {RUNNABLE_WITHOUT_SPARK}: importlib.import_module(name)\n"
        "print('all')"
    )
    assert loaded == "all"


def test_no_import_of_penstock_inside_a_function() -> None:
    local = [
        f"{relative(path)}:{node.lineno}"
        for path in python_files("src")
        for function in functions_of(path)
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom) and imports_penstock(node)
    ]
    assert local == []


def functions_of(path: Path) -> list[ast.AST]:
    tree = ast.parse(path.read_text())
    return [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]


def imports_penstock(node: ast.Import | ast.ImportFrom) -> bool:
    if isinstance(node, ast.ImportFrom):
        return node.level > 0 or (node.module or "").partition(".")[0] == "penstock"
    return any(alias.name.partition(".")[0] == "penstock" for alias in node.names)
