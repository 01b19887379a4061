"""Make the pictures of the dashboard in `docs/images`: a real session, two jobs, a real browser."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Browser

from tests.services.dashboard.conftest import SHOP, Server, end, start
from tools.browser import headless_chromium

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"
#: Tabs to picture, with the height of the picture.
TABS = {"graph": 860, "timeline": 1180, "batches": 860, "exceptions": 800}
#: Two are enough to show the dark colours.
DARK = ("graph", "timeline")


def main() -> int:
    """Run a job for some time, a failing one beside it, and picture both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=150, help="how long the job runs before")
    seconds = parser.parse_args().seconds
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        command = ["penstock.cli.main", "cluster", "start", "--port", "0", "--state-dir"]
        server = start([*command, str(work / "state")], work / "server.log")
        try:
            running = server.run(SHOP, str(work / "results"))
            failing = server.run(SHOP, str(work / "failing"), "--fail-at", "2000")
            server.wait(running, lambda facts: facts["state"] == "RUNNING")
            server.wait(failing, lambda facts: facts["state"] == "FAILED")
            time.sleep(seconds)
            with headless_chromium() as browser:
                for colours in ("light", "dark"):
                    _picture(browser, server, colours, running, failing)
            server.ask("PATCH", f"/jobs/{running}?mode=cancel")
            server.wait(running, lambda facts: facts["end-time"] > 0)
        finally:
            end(server)
    return 0


def _picture(browser: Browser, server: Server, colours: str, running: str, failing: str) -> None:
    context = browser.new_context(
        base_url=server.address,
        color_scheme="dark" if colours == "dark" else "light",
        device_scale_factor=1.5,
    )
    page = context.new_page()
    for tab, height in TABS.items():
        if colours == "dark" and tab not in DARK:
            continue
        page.set_viewport_size({"width": 1280, "height": height})
        page.goto(f"/#/jobs/{failing if tab == 'exceptions' else running}/{tab}")
        # Rates need some readings.
        page.wait_for_timeout(12_000 if tab == "graph" else 4_000)
        page.screenshot(path=IMAGES / f"dashboard-{tab}-{colours}.png")
    context.close()


if __name__ == "__main__":
    sys.exit(main())
