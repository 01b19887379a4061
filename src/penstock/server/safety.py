"""Who may ask what: addresses, tokens, hosts, origins, kinds of content.

A page of another site that a user visits can send requests to loopback addresses. It cannot choose
the Host header (unless its own name resolves here: DNS rebinding) nor leave Origin out, and it
cannot send JSON without asking first. All three are checked.
"""

from __future__ import annotations

import hmac
import ipaddress
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from http.cookies import SimpleCookie
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from penstock.errors import ConfigurationError

COOKIE = "penstock-token"
_LOCAL = frozenset({"localhost", "127.0.0.1", "::1"})
_READS = frozenset({"GET", "HEAD"})
#: The only paths that take files.
_FILE_UPLOAD = "/files/upload"
_UPLOADS = ("/scripts/upload", _FILE_UPLOAD)
_HEADERS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "content-security-policy": "default-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; frame-ancestors 'none'",
}


@dataclass(frozen=True)
class Access:
    """What a server demands of those who ask.

    :param hosts: names under which it may be reached, beside those of this machine's loopback.
    :param token: secret that every request must have; None: none is asked for.
    """

    hosts: frozenset[str] = field(default_factory=frozenset)
    token: str | None = None

    @classmethod
    def of(
        cls, address: str, token: str | None, *, mutual_tls: bool, hosts: Iterable[str] = ()
    ) -> Access:
        """Return the rules for an address to listen on.

        :raises ConfigurationError: if others could reach the address and nothing keeps them out.
        """
        if not is_loopback(address) and not token and not mutual_tls:
            raise ConfigurationError(
                "an address that other machines can reach needs a token or mutual TLS",
                where="penstock cluster start --address",
                got=repr(address),
                todo="pass --token-file FILE, or --tls-cert, --tls-key and --tls-client-ca; or"
                " leave the address out",
            )
        names = {name.lower() for name in hosts}
        if not is_unspecified(address):
            names.add(address.lower())
        return cls(frozenset(names), token)


def is_loopback(address: str) -> bool:
    """Tell whether only this machine can reach an address."""
    if address == "localhost":
        return True
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


def is_unspecified(address: str) -> bool:
    """Tell whether an address means all of this machine's."""
    try:
        return ipaddress.ip_address(address).is_unspecified
    except ValueError:
        return False


def read_token(path: Path | None, where: str) -> str | None:
    """Return the secret in a file, None if none is named.

    :param where: the option that names it, for the error.
    :raises ConfigurationError: if there is nothing to read.
    """
    if path is None:
        return None
    try:
        token = path.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise ConfigurationError(
            "the token cannot be read",
            where=where,
            got=str(error),
            todo="write a secret into a file that only you can read",
        ) from None
    if not token:
        raise ConfigurationError(
            "the token is empty",
            where=where,
            got=str(path),
            todo="write a secret into the file, for example with: openssl rand -hex 32",
        )
    return token


class Guard:
    """Refuse what the rules do not allow, before the app sees it."""

    def __init__(
        self, app: ASGIApp, access: Access, longest_body: int, longest_file: int = 0
    ) -> None:
        self._app = app
        self._access = access
        self._longest_body = longest_body
        self._longest_file = longest_file

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = {
            name.decode("latin-1").lower(): value.decode("latin-1")
            for name, value in scope["headers"]
        }
        refusal = self._refusal(scope, headers)
        if refusal is not None:
            await _refuse(send, *refusal)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                known = {name.lower() for name, _ in message["headers"]}
                message["headers"] = [
                    *message["headers"],
                    *(
                        (name.encode(), value.encode())
                        for name, value in _HEADERS.items()
                        if name.encode() not in known
                    ),
                ]
                if (cookie := self._new_cookie(scope)) is not None:
                    message["headers"].append((b"set-cookie", cookie.encode()))
            await send(message)

        await self._app(scope, _bounded(receive, self._longest(scope)), send_with_headers)

    def _refusal(self, scope: Scope, headers: dict[str, str]) -> tuple[int, str] | None:
        host = headers.get("host", "")
        if _name(host) not in _LOCAL | self._access.hosts:
            return 403, f"Host {host!r} is not a name of this server; --host NAME makes it one."
        if not self._has_token(scope, headers):
            return 401, "This server needs a token: send it as 'Authorization: Bearer TOKEN'."
        if scope["method"] in _READS:
            return None
        origin = headers.get("origin")
        if origin is not None and urlsplit(origin).netloc.lower() != host.lower():
            return 403, f"Requests from pages of {origin!r} are not taken."
        if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            return 403, "Requests from pages of other sites are not taken."
        if not _content_is_right(scope, headers):
            return 415, "Send the request's body as application/json."
        longest = self._longest(scope)
        if int(headers.get("content-length") or 0) > longest:
            return 413, f"The request has more than {longest} bytes."
        return None

    def _longest(self, scope: Scope) -> int:
        of_file = scope["path"].removeprefix("/v1") == _FILE_UPLOAD
        return max(self._longest_file, self._longest_body) if of_file else self._longest_body

    def _has_token(self, scope: Scope, headers: dict[str, str]) -> bool:
        wanted = self._access.token
        if wanted is None:
            return True
        given = [headers.get("authorization", "").removeprefix("Bearer ")]
        cookies = SimpleCookie(headers.get("cookie", ""))
        if COOKIE in cookies:
            given.append(cookies[COOKIE].value)
        given += _in_query(scope)
        return any(hmac.compare_digest(one.encode(), wanted.encode()) for one in given)

    def _new_cookie(self, scope: Scope) -> str | None:
        """Return the cookie for a browser that was given the token in the address of the page."""
        if self._access.token is None or not _in_query(scope):
            return None
        return f"{COOKIE}={self._access.token}; HttpOnly; SameSite=Strict; Path=/"


def _in_query(scope: Scope) -> list[str]:
    """Return the token of the page's address: on the page alone, so that no log of it is made."""
    if scope["method"] != "GET" or scope["path"] != "/":
        return []
    return parse_qs(scope["query_string"].decode("latin-1")).get("token", [])


def _name(host: str) -> str:
    try:
        return (urlsplit(f"//{host}").hostname or "").lower()
    except ValueError:
        return ""


def _content_is_right(scope: Scope, headers: dict[str, str]) -> bool:
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "application/json":
        return True
    if scope["path"].removeprefix("/v1") in _UPLOADS and kind == "multipart/form-data":
        return True
    # Neither can be sent by a page of another site without asking first.
    empty = "transfer-encoding" not in headers and not int(headers.get("content-length") or 0)
    return scope["method"] in ("PATCH", "DELETE") and empty and not kind


def _bounded(receive: Receive, longest: int) -> Receive:
    """Return a receiver that ends a request whose body is too long, whatever it said before."""
    seen = 0

    async def bounded() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        return {"type": "http.disconnect"} if seen > longest else message

    return bounded


async def _refuse(send: Send, status: int, why: str) -> None:
    body = json.dumps({"errors": [why]}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
