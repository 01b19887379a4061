from __future__ import annotations

import pytest

from penstock.errors import ConfigurationError
from penstock.execution.configuration import load_configuration


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(folder, text):
    (folder / "penstock-conf.yaml").write_text(text, encoding="utf-8")


def test_without_a_file_there_are_no_settings(folder):
    assert load_configuration({}).to_dict() == {}


def test_flat_and_nested_yaml_mean_the_same(folder):
    write(folder, "parallelism.default: 3\npipeline:\n  object-reuse: true\n  jars: [a, b]\nx:\n")
    assert load_configuration({}).to_dict() == {
        "parallelism.default": "3",
        "pipeline.object-reuse": "true",
        "pipeline.jars": "a;b",
    }


def test_an_empty_file_is_fine(folder):
    write(folder, "# nothing yet\n")
    assert load_configuration({}).to_dict() == {}


def test_the_folder_can_be_named(folder, tmp_path_factory):
    other = tmp_path_factory.mktemp("conf")
    write(folder, "parallelism.default: 1")
    write(other, "parallelism.default: 2")
    settings = load_configuration({"PENSTOCK_CONF_DIR": str(other)})
    assert settings.to_dict() == {"parallelism.default": "2"}


def test_the_client_wins_over_the_file(folder):
    write(folder, "parallelism.default: 3\ntaskmanager.numberOfTaskSlots: 4")
    settings = load_configuration({"PENSTOCK_PARALLELISM": "5"})
    assert settings.to_dict() == {"parallelism.default": "5", "taskmanager.numberOfTaskSlots": "4"}


def test_a_named_folder_must_hold_the_file(folder):
    with pytest.raises(ConfigurationError) as caught:
        load_configuration({"PENSTOCK_CONF_DIR": "nowhere"})
    assert str(caught.value) == (
        "the configuration file does not exist\n"
        "  where: environment variable PENSTOCK_CONF_DIR\n"
        "  got:   nowhere/penstock-conf.yaml\n"
        "  to do: put a penstock-conf.yaml into that folder, or unset PENSTOCK_CONF_DIR"
    )


def test_a_file_that_is_no_yaml(folder):
    write(folder, "a: [1")
    with pytest.raises(ConfigurationError) as caught:
        load_configuration({})
    assert caught.value.what == "the configuration file is not valid YAML"
    assert caught.value.where == "penstock-conf.yaml"
    assert "line 1" in caught.value.got


def test_a_file_without_settings(folder):
    write(folder, "- a\n- b\n")
    with pytest.raises(ConfigurationError) as caught:
        load_configuration({})
    assert str(caught.value) == (
        "the configuration file does not hold settings\n"
        "  where: penstock-conf.yaml\n"
        "  got:   a list\n"
        "  to do: write one 'key: value' on each line"
    )


def test_a_setting_knows_its_line(folder):
    write(folder, "a: 1\npipeline:\n  # why\n  object-reuse: true\n")
    settings = load_configuration({"PENSTOCK_PARALLELISM": "5"})
    assert settings.origin_of("pipeline.object-reuse") == "penstock-conf.yaml, line 4"
    assert settings.origin_of("parallelism.default") == "environment variable PENSTOCK_PARALLELISM"
    assert settings.origin_of("b") is None
