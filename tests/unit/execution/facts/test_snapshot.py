"""Snapshots: JSON and back, and what is hidden in them."""

from __future__ import annotations

import json

import pytest

from penstock.execution.facts.json_form import from_json, to_json
from penstock.execution.facts.masking import HIDDEN, Hider, hide, is_secret, masked
from tests.sample_facts import sample_snapshot


def test_a_snapshot_comes_back_from_json_as_it_was() -> None:
    snapshot = sample_snapshot()
    assert from_json(json.loads(json.dumps(to_json(snapshot)))) == snapshot


def test_what_an_older_or_newer_release_wrote_is_read() -> None:
    data = to_json(sample_snapshot())
    data["later"] = 1
    del data["workers"]
    snapshot = from_json(data)
    assert snapshot.workers == []
    assert snapshot.name == "orders"


@pytest.mark.parametrize(
    "key",
    ["db.password", "s3.secret-key", "auth_token", "my.credentials", "s3.access.key", "api-key",
     "fs.azure.account.x", "service-key", "sasl.jaas.config", "PASSWD", "basic.auth.user.info",
     "encryption.key"],
)  # fmt: skip
def test_values_of_such_keys_are_hidden(key: str) -> None:
    assert masked({key: "abc"}) == {key: HIDDEN}


@pytest.mark.parametrize(
    "key", ["key-serializer", "parallelism.default", "pipeline.name", "state.keygroups", "passage"]
)
def test_values_of_other_keys_are_shown(key: str) -> None:
    assert not is_secret(key)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("redis://:pw@host", "redis://:******@host"),
        ("https://u:p@h/x?token=abc&a=1", "https://u:******@h/x?token=******&a=1"),
        ('password="a b" user="c"', 'password=****** user="c"'),
        ("http://host:80/path@x", "http://host:80/path@x"),
    ],
)
def test_secrets_inside_values_are_hidden(text: str, shown: str) -> None:
    assert hide(text) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("login failed for hunter2 at db", "login failed for ****** at db"),
        ('{"api_key": "abc"}', '{"api_key": ******}'),
        ("jdbc:mysql://db/x?user=me&password=abc", "jdbc:mysql://db/x?user=me&password=******"),
        ("amqp://me:abc@host/", "amqp://me:******@host/"),
        # What programs are made of stays readable.
        ("    token = next(tokens)", "    token = next(tokens)"),
        ("if token == other:", "if token == other:"),
        ("token: str = ''", "token: str = ''"),
    ],
)
def test_secrets_inside_texts_of_programs_are_hidden(text: str, shown: str) -> None:
    assert Hider({"db.password": "hunter2", "short.secret": "a"})(text) == shown
