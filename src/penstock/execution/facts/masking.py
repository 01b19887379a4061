"""Hide settings that look secret: passwords, tokens, keys."""

from __future__ import annotations

import re
from collections.abc import Mapping

HIDDEN = "******"

#: Flink's list of words, and ours. A `key` alone is secret; `key` as a part of a word is not:
#: `key-serializer`, `state.backend.rocksdb.keygroup`.
_SECRET = re.compile(
    r"passw|pass[-_.]?phrase|secret|token|credential|api[-_.]?key|apikey|access[-_.]?key|"
    r"auth[-_.]?params|service[-_.]?key|private[-_.]?key|account[-_.]?key|shared[-_.]?access|"
    r"basic[-_.]?auth|jaas|(^|[-_.])key$|fs\.azure\.account|auth\.user\.info",
    re.IGNORECASE,
)
#: A name and a password in front of the host of an address.
_IN_ADDRESS = re.compile(r"(?<=://)([^/\s:@]*):([^/\s@]+)(?=@)")
#: `password=...` inside a longer value: options of a JVM, JAAS texts, queries of addresses.
_IN_TEXT = re.compile(
    r"(?i)([\w.-]*(?:passw|secret|token|credential|api[-_.]?key)[\w.-]*\s*[=:]\s*)"
    r"(\"[^\"]*\"|'[^']*'|[^\s&;,\"']+)"
)


def is_secret(key: str) -> bool:
    """Tell whether the value of a setting must not be shown.

    >>> is_secret("s3.secret-key"), is_secret("key-serializer")
    (True, False)
    """
    return _SECRET.search(key) is not None


def masked(settings: Mapping[str, object]) -> dict[str, str]:
    """Return settings that can be shown.

    >>> masked({"db.password": "x", "url": "jdbc:postgresql://me:x@host/db"})
    {'db.password': '******', 'url': 'jdbc:postgresql://me:******@host/db'}
    """
    return {key: HIDDEN if is_secret(key) else hide(str(value)) for key, value in settings.items()}


def hide(text: str) -> str:
    """Return a text with secrets inside it hidden.

    >>> hide("-Djavax.net.ssl.keyStorePassword=abc -Xmx1g")
    '-Djavax.net.ssl.keyStorePassword=****** -Xmx1g'
    """
    return _IN_TEXT.sub(rf"\g<1>{HIDDEN}", _IN_ADDRESS.sub(rf"\g<1>:{HIDDEN}", text))
