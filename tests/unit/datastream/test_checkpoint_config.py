from __future__ import annotations

import pytest

from penstock.common import Duration
from penstock.datastream import (
    CheckpointingMode,
    ExternalizedCheckpointRetention,
    FileSystemCheckpointStorage,
    JobManagerCheckpointStorage,
)
from penstock.datastream.checkpoint_config import CheckpointConfig
from penstock.errors import ConfigurationError


def test_defaults_are_flinks():
    config = CheckpointConfig()
    assert not config.is_checkpointing_enabled()
    assert config.get_checkpoint_interval() == -1
    assert config.get_checkpointing_mode() is CheckpointingMode.EXACTLY_ONCE
    assert config.get_checkpoint_timeout() == 600_000
    assert config.get_min_pause_between_checkpoints() == 0
    assert config.get_max_concurrent_checkpoints() == 1
    assert config.get_tolerable_checkpoint_failure_number() == 0
    assert config.is_fail_on_checkpointing_errors()
    assert not config.is_externalized_checkpoints_enabled()
    assert not config.is_unaligned_checkpoints_enabled()
    assert config.get_checkpoint_storage() is None


def test_what_is_set_is_read_back():
    config = CheckpointConfig()
    config.set_checkpoint_interval(5000).set_checkpoint_timeout(1000)
    config.set_checkpointing_mode(CheckpointingMode.AT_LEAST_ONCE)
    config.set_min_pause_between_checkpoints(20).set_max_concurrent_checkpoints(2)
    config.set_fail_on_checkpointing_errors(False)
    config.enable_unaligned_checkpoints().set_force_unaligned_checkpoints()
    config.set_alignment_timeout(Duration.of_seconds(3))
    retention = ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION
    config.enable_externalized_checkpoints(retention)
    config.set_checkpoint_storage(FileSystemCheckpointStorage("file:///c"))
    assert config.is_checkpointing_enabled()
    assert config.get_checkpoint_interval() == 5000
    assert config.get_checkpoint_timeout() == 1000
    assert config.get_checkpointing_mode() is CheckpointingMode.AT_LEAST_ONCE
    assert config.get_min_pause_between_checkpoints() == 20
    assert config.get_max_concurrent_checkpoints() == 2
    assert not config.is_fail_on_checkpointing_errors()
    assert config.is_unaligned_checkpoints_enabled()
    assert config.is_force_unaligned_checkpoints()
    assert not config.disable_unaligned_checkpoints().is_unaligned_checkpoints_enabled()
    assert config.get_aligned_checkpoint_timeout() == Duration.of_seconds(3)
    assert config.is_externalized_checkpoints_enabled()
    assert config.get_externalized_checkpoint_cleanup() is retention
    assert config.get_checkpoint_storage().get_checkpoint_path() == "file:///c"


def test_a_storage_in_the_job_manager_names_no_folder():
    config = CheckpointConfig().set_checkpoint_storage(JobManagerCheckpointStorage())
    assert config.get_checkpoint_storage() is None


def test_an_interval_is_at_least_one_millisecond():
    with pytest.raises(ConfigurationError) as caught:
        CheckpointConfig().set_checkpoint_interval(0)
    assert str(caught.value) == (
        "the checkpoint interval must be at least 1 ms\n"
        "  where: set_checkpoint_interval(checkpoint_interval)\n"
        "  got:   0\n"
        "  to do: pass the interval in milliseconds"
    )
