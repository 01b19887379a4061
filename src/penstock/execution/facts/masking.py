"""Hide what looks secret: values of settings, and what texts say of passwords, tokens, keys."""

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
_NAME = r"(?i)([\w.-]*(?:passw|secret|token|credential|api[-_.]?key)[\w.-]*"
#: `password=...` inside a longer value: options of a JVM, JAAS texts, queries of addresses.
_IN_TEXT = re.compile(_NAME + r"\s*[=:]\s*)" + r"(\"[^\"]*\"|'[^']*'|[^\s&;,\"']+)")
#: In a text that may be a program's: `token = next(words)` tells nothing, `token = "abc"` does.
_QUOTED = re.compile(_NAME + r"[\"']?\s*[=:]\s*)" + r"(\"[^\"\n]*\"|'[^'\n]*')")
_BARE = re.compile(_NAME + r"=)" + r"([^\s&;,\"'()=][^\s&;,\"'()]*)")
#: Shorter secrets are parts of other words.
_SHORTEST = 4


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


class Hider:
    """Hide secrets in what a program says: errors, lines of a log, names.

    :param settings: values of secret ones are hidden wherever they stand.

    >>> Hider({"db.password": "hunter2"})("refused: hunter2, sslkey_password='abc'")
    'refused: ******, sslkey_password=******'
    """

    def __init__(self, settings: Mapping[str, object]) -> None:
        values = {str(value) for key, value in settings.items() if is_secret(key)}
        known = sorted((one for one in values if len(one) >= _SHORTEST), key=len, reverse=True)
        self._known = re.compile("|".join(map(re.escape, known))) if known else None

    def __call__(self, text: str) -> str:
        """Return a text that can be shown."""
        if self._known is not None:
            text = self._known.sub(HIDDEN, text)
        text = _IN_ADDRESS.sub(rf"\g<1>:{HIDDEN}", text)
        return _BARE.sub(rf"\g<1>{HIDDEN}", _QUOTED.sub(rf"\g<1>{HIDDEN}", text))
