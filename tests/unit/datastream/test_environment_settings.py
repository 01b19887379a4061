from __future__ import annotations

import inspect
import os

import pytest

from penstock.common import Configuration, RestartStrategies
from penstock.datastream import (
    CheckpointingMode,
    EmbeddedRocksDBStateBackend,
    FsStateBackend,
    HashMapStateBackend,
    RuntimeExecutionMode,
    SlotSharingGroup,
    StreamExecutionEnvironment,
    TimeCharacteristic,
)
from penstock.errors import ConfigurationError


@pytest.fixture(autouse=True)
def nothing_outside(tmp_path, monkeypatch):
    """No settings but those of the test."""
    monkeypatch.chdir(tmp_path)
    for name in ("PENSTOCK_PARALLELISM", "PENSTOCK_CONF_DIR"):
        monkeypatch.delenv(name, raising=False)


def create(configuration=None):
    return StreamExecutionEnvironment.get_execution_environment(configuration)


def parallelism_of_map(env):
    mapped = env.from_collection([1]).map(str)
    return mapped, mapped._transformation.parallelism


def test_parallelism_comes_from_the_nearest_of_four_levels(tmp_path, monkeypatch):
    cores = len(os.sched_getaffinity(0))
    assert create().get_parallelism() == cores

    (tmp_path / "penstock-conf.yaml").write_text("parallelism:\n  default: 3\n")
    assert parallelism_of_map(create())[1] == 3

    monkeypatch.setenv("PENSTOCK_PARALLELISM", "4")
    assert parallelism_of_map(create())[1] == 4

    env = create().set_parallelism(5)
    mapped, parallelism = parallelism_of_map(env)
    assert parallelism == 5

    mapped.set_parallelism(6)
    assert mapped._transformation.parallelism == 6


def test_a_configuration_passed_in_code_wins_over_the_client(monkeypatch):
    monkeypatch.setenv("PENSTOCK_PARALLELISM", "4")
    configuration = Configuration().set_integer("parallelism.default", 7)
    assert create(configuration).get_parallelism() == 7


def test_configure_lays_settings_over_earlier_ones():
    env = create().set_parallelism(5)
    env.configure(
        Configuration()
        .set_string("parallelism.default", "2")
        .set_string("pipeline.auto-watermark-interval", "1 s")
    )
    assert env.get_parallelism() == 2
    assert env.get_config().get_auto_watermark_interval() == 1000


def test_local_and_remote_environments():
    assert StreamExecutionEnvironment.create_local_environment(3).get_parallelism() == 3
    remote = StreamExecutionEnvironment.create_remote_environment("spark://host:7077")
    assert remote.all_settings()["penstock.master"] == "spark://host:7077"
    assert remote.get_parallelism() == 1
    classic = StreamExecutionEnvironment.create_remote_environment("host", 7077)
    assert classic.all_settings()["penstock.master"] == "spark://host:7077"


def test_the_default_of_local_environments_can_be_set(monkeypatch):
    monkeypatch.setattr(
        "penstock.datastream.environment_settings.EnvironmentSettings._default_local_parallelism",
        None,
    )
    StreamExecutionEnvironment.set_default_local_parallelism(9)
    assert create().get_parallelism() == 9


@pytest.mark.parametrize("wrong", [0, -1, "3", 1.5])
def test_parallelism_must_be_positive(wrong):
    with pytest.raises(ConfigurationError) as caught:
        create().set_parallelism(wrong)
    assert str(caught.value) == (
        "the parallelism must be a whole number of at least 1\n"
        "  where: set_parallelism()\n"
        f"  got:   {wrong!r}\n"
        "  to do: pass 1 or more"
    )


def test_settings_in_code_appear_under_their_keys():
    env = create()
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    env.set_stream_time_characteristic(TimeCharacteristic.IngestionTime)
    env.set_buffer_timeout(50)
    env.set_max_parallelism(64)
    env.enable_checkpointing(3000, CheckpointingMode.AT_LEAST_ONCE)
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(3, 10_000))
    env.set_state_backend(FsStateBackend("file:///checkpoints"))
    env.set_default_savepoint_directory("file:///savepoints")
    env.add_python_file("one.py")
    env.add_python_file("two.py")
    settings = env.all_settings()
    assert settings["execution.runtime-mode"] == "BATCH"
    assert settings["pipeline.time-characteristic"] == "IngestionTime"
    assert settings["pipeline.max-parallelism"] == "64"
    assert settings["execution.checkpointing.interval"] == "3000 ms"
    assert settings["execution.checkpointing.mode"] == "AT_LEAST_ONCE"
    assert settings["execution.checkpointing.dir"] == "file:///checkpoints"
    assert settings["restart-strategy.type"] == "fixed-delay"
    assert settings["restart-strategy.fixed-delay.attempts"] == "3"
    assert settings["restart-strategy.fixed-delay.delay"] == "10000 ms"
    assert settings["state.backend.type"] == "hashmap"
    assert settings["execution.checkpointing.savepoint-dir"] == "file:///savepoints"
    assert settings["python.files"] == "one.py,two.py"
    assert env.get_buffer_timeout() == 50
    assert env.get_checkpoint_interval() == 3000
    assert env.get_stream_time_characteristic() is TimeCharacteristic.IngestionTime


def test_what_workers_need():
    env = create()
    env.add_python_archive("data.zip")
    env.add_python_archive("env.zip", "env")
    env.set_python_requirements("requirements.txt", "packages")
    env.set_python_executable("env/bin/python")
    settings = env.all_settings()
    assert settings["python.archives"] == "data.zip,env.zip#env"
    assert settings["python.requirements"] == "requirements.txt#packages"
    assert settings["python.executable"] == "env/bin/python"
    env.set_python_requirements("requirements.txt")
    assert env.all_settings()["python.requirements"] == "requirements.txt"


def test_a_cached_file_is_accepted_with_a_warning():
    with pytest.warns(UserWarning, match="has no effect") as caught:
        create().register_cached_file("model.bin", "model")
    assert str(caught[0].message) == (
        "register_cached_file(model.bin) has no effect: Python functions have no access to cached "
        "files; ship the file with add_python_archive"
    )


@pytest.mark.parametrize(
    "strategy",
    [
        RestartStrategies.no_restart(),
        RestartStrategies.fixed_delay_restart(2, 500),
        RestartStrategies.failure_rate_restart(3, 60_000, 1000),
        RestartStrategies.exponential_delay_restart(100, 60_000, 2.0, 3_600_000, 0.2),
    ],
)
def test_a_restart_strategy_survives_the_way_through_the_configuration(strategy):
    env = create().set_restart_strategy(strategy)
    again = create(Configuration.from_dict(env.all_settings()))
    assert again.get_restart_strategy() == strategy


def test_an_unknown_restart_strategy():
    with pytest.raises(ConfigurationError) as caught:
        create(Configuration().set_string("restart-strategy.type", "hope"))
    here = f"{__file__}:{inspect.currentframe().f_lineno - 1}"
    assert str(caught.value) == (
        "the setting has a value that cannot work\n"
        f"  where: configuration key restart-strategy.type, {here}\n"
        "  got:   'hope'\n"
        "  to do: use one of: none, fixed-delay, failure-rate, exponential-delay"
    )


def test_job_parameters_survive_the_way_through_the_configuration():
    env = create()
    parameters = {"user": "me", "note": "a, b: 'c'", "path": "/tmp/x"}
    env.get_config().set_global_job_parameters(parameters)
    again = create(Configuration.from_dict(env.all_settings()))
    assert again.get_config().get_global_job_parameters() == parameters


def test_defaults():
    env = create()
    assert isinstance(env.get_state_backend(), HashMapStateBackend)
    assert env.get_max_parallelism() == -1
    assert env.get_checkpoint_interval() == -1
    assert env.get_checkpointing_mode() is CheckpointingMode.EXACTLY_ONCE
    assert env.get_stream_time_characteristic() is TimeCharacteristic.EventTime
    assert env.get_restart_strategy() is None
    assert env.is_chaining_enabled()
    assert env.is_changelog_state_backend_enabled() is None
    assert not env.disable_operator_chaining().is_chaining_enabled()


def test_the_state_backend_can_come_from_the_configuration():
    env = create(Configuration().set_string("state.backend.type", "rocksdb"))
    assert isinstance(env.get_state_backend(), EmbeddedRocksDBStateBackend)


def test_calls_that_only_a_jvm_understands_are_accepted_with_a_warning():
    env = create()
    with pytest.warns(UserWarning, match="runs no Java code") as caught:
        env.add_jars("file:///a.jar", "file:///b.jar")
    assert str(caught[0].message) == (
        "add_jars(file:///a.jar, file:///b.jar) has no effect: "
        "Penstock runs no Java code of the program"
    )
    assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match="add_classpaths"):
        env.add_classpaths("file:///c")


def test_slot_sharing_groups_carry_their_resources():
    group = SlotSharingGroup.builder("g").set_cpu_cores(2.0).set_task_heap_memory("64 mb").build()
    assert create().register_slot_sharing_group(group)
    assert group.get_task_heap_memory().get_mebi_bytes() == 64
    with pytest.raises(ConfigurationError) as caught:
        SlotSharingGroup.builder("g").set_managed_memory("lots")
    assert caught.value.what == "the amount of memory cannot be understood"
