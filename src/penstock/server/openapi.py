"""The API as an OpenAPI document and as a page to read, made from the endpoints themselves."""

from __future__ import annotations

import html
import inspect
import re
from typing import Any

from starlette.responses import HTMLResponse

from penstock.server.context import Endpoint

_PARAMETER = re.compile(r":(\w+)")
_NUMBERS = frozenset({"subtaskindex", "checkpointid", "attempt"})
_ERROR = {
    "description": "an error",
    "content": {
        "application/json": {
            "schema": {
                "type": "object",
                "required": ["errors"],
                "properties": {"errors": {"type": "array", "items": {"type": "string"}}},
            }
        }
    },
}


def document(endpoints: list[Endpoint], version: str) -> dict[str, Any]:
    """Return the OpenAPI document."""
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in endpoints:
        path = _PARAMETER.sub(r"{\1}", endpoint.path)
        paths.setdefault(path, {})[endpoint.verb.lower()] = _operation(endpoint)
    return {
        "openapi": "3.0.3",
        "info": {
            "title": "Penstock REST API",
            "version": version,
            "description": "Flink's REST API, and what Penstock adds to it.",
        },
        "servers": [{"url": "/v1"}],
        "paths": paths,
    }


def _operation(endpoint: Endpoint) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "summary": _summary(endpoint),
        "parameters": [
            {
                "name": name,
                "in": "path",
                "required": True,
                "schema": {"type": "integer" if name in _NUMBERS else "string"},
            }
            for name in _PARAMETER.findall(endpoint.path)
        ],
        "responses": {
            str(endpoint.status): {
                "description": "the answer",
                "content": {"application/json": {"schema": {}}},
            },
            "default": _ERROR,
        },
    }
    if endpoint.verb == "POST":
        operation["requestBody"] = {"content": {"application/json": {"schema": {"type": "object"}}}}
    return operation


def _summary(endpoint: Endpoint) -> str:
    text = inspect.getdoc(endpoint.handler) or ""
    return text.split("\n\n")[0].replace("`", "")


def page(endpoints: list[Endpoint]) -> HTMLResponse:
    """Return the API as a page."""
    rows = "".join(
        f"<tr><td>{endpoint.verb}</td><td><code>{html.escape(endpoint.path)}</code></td>"
        f"<td>{html.escape(_summary(endpoint))}</td></tr>"
        for endpoint in sorted(endpoints, key=lambda one: (one.path, one.verb))
    )
    return HTMLResponse(
        "<!doctype html><html lang=en><meta charset=utf-8><title>Penstock REST API</title>"
        "<meta name=viewport content='width=device-width'><meta name=color-scheme"
        " content='light dark'><style>"
        "body{font:15px/1.5 system-ui;margin:2rem auto;max-width:60rem;padding:0 1rem}"
        "td{padding:.2rem .8rem .2rem 0;vertical-align:top}</style>"
        "<h1>Penstock REST API</h1><p>Flink's paths, with <code>/v1</code> in front or without. "
        "<a href='openapi.json'>openapi.json</a></p>"
        f"<table><tr><th>verb<th>path<th>what it does</tr>{rows}</table></html>"
    )
