"""The browser that tests of the dashboard drive: Debian's Chromium, installed if it is missing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, sync_playwright

from tools.services.installing import need


@contextmanager
def headless_chromium() -> Iterator[Browser]:
    """Start the browser without a window; one that is missing and cannot be had is an error."""
    path = need("chromium", "chromium")
    with sync_playwright() as playwright:
        # Its sandbox needs rights that root in a container does not have.
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()
