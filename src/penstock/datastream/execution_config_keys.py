"""ExecutionConfig as settings by key, and back."""

from __future__ import annotations

from penstock.common import Configuration, ExecutionConfig
from penstock.common.flink_options import AUTO_WATERMARK_INTERVAL, OBJECT_REUSE
from penstock.common.option_values import to_text
from penstock.common.options import AUTO_UIDS, JOB_PARAMETERS
from penstock.common.restart_keys import read_restart_strategy, restart_settings
from penstock.common.time import Duration


def apply_configuration(config: ExecutionConfig, settings: Configuration) -> None:
    """Take over into `config` what `settings` say about it.

    :raises ConfigurationError: if any of them is not known or cannot work.
    """
    settings.check()
    if settings.contains_key(AUTO_WATERMARK_INTERVAL.key):
        interval = settings.get(AUTO_WATERMARK_INTERVAL)
        config.set_auto_watermark_interval(interval.to_millis() if interval else 0)
    if settings.get(OBJECT_REUSE):
        config.enable_object_reuse()
    if not settings.get(AUTO_UIDS):
        config.disable_auto_generated_uids()
    parameters = settings.get(JOB_PARAMETERS)
    if parameters:
        config.set_global_job_parameters(parameters)
    strategy = read_restart_strategy(settings.to_dict())
    if strategy is not None:
        config.set_restart_strategy(strategy)


def export(config: ExecutionConfig) -> dict[str, str]:
    """Return what `config` says, by configuration key."""
    interval = Duration.of_millis(config.get_auto_watermark_interval())
    settings = {
        AUTO_WATERMARK_INTERVAL.key: to_text(interval),
        OBJECT_REUSE.key: to_text(config.is_object_reuse_enabled()),
        AUTO_UIDS.key: to_text(config.has_auto_generated_uids_enabled()),
    }
    parameters = config.get_global_job_parameters()
    if parameters:
        settings[JOB_PARAMETERS.key] = to_text(parameters)
    settings.update(restart_settings(config.get_restart_strategy()))
    return settings
