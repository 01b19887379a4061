"""The dashboard in a real browser, over a real session with jobs on Spark.

The tests stand in the order in which a job lives: it runs, others fail or are cancelled, it is
stopped with a savepoint, and at last it is history.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.services.dashboard.conftest import PATIENCE_MS, SHOP, Server, end, start, watched

TABS = [
    ("graph", "Graph"),
    ("timeline", "Event time"),
    ("batches", "Batches"),
    ("checkpoints", "Checkpoints"),
    ("exceptions", "Exceptions"),
    ("metrics", "Metrics"),
    ("configuration", "Configuration"),
    ("logs", "Logs"),
]
expect.set_options(timeout=PATIENCE_MS)


def number(text: str) -> float:
    """Return a number as the pages write it."""
    found = re.match(r"([\d,.]+)(?: ([kMG]))?", text)
    assert found, text
    unit = {None: 1, "k": 1e3, "M": 1e6, "G": 1e9}[found[2]]
    return float(found[1].replace(",", "")) * unit


def wait_for_more(place: Locator, than: float) -> float:
    """Wait until a number has grown."""
    for _ in range(600):
        text = place.inner_text()
        if text[:1].isdigit() and number(text) > than:
            return number(text)
        place.page.wait_for_timeout(200)
    raise AssertionError(f"{place} stays at {than}")


def row(page: Page, caption: str, name: str) -> Locator:
    table = page.get_by_role("table", name=caption)
    return table.get_by_role("row").filter(has_text=name)


def no_sideways_scrolling(page: Page) -> None:
    wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert page.evaluate(wide) == 0, page.url


def test_the_overview_lists_the_running_job(page: Page, shop: str) -> None:
    page.goto("/")
    expect(page).to_have_title(re.compile("^Overview . Penstock$"))
    running = row(page, "Running jobs", shop)
    expect(running).to_contain_text("sales by seller")
    expect(running.locator(".pill")).to_have_text("running")
    expect(page.locator("[data-figure=running]")).to_have_text("1")
    expect(page.locator("[data-figure=slots]")).to_have_text(re.compile(r"\d+ of \d+"))
    expect(page.get_by_text("No job has ended yet.")).to_be_visible()
    running.get_by_role("link", name="sales by seller").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("sales by seller")


def test_the_graph_shows_numbers_that_move(page: Page, shop: str) -> None:
    page.goto(f"/#/jobs/{shop}/graph")
    read = page.locator("[data-number=read]")
    before = wait_for_more(read, 0)
    assert wait_for_more(read, before) > before
    cards = page.locator(".card")
    window = cards.filter(has_text="sales by seller")
    seen = wait_for_more(window.locator("[data-value=in]"), 0)
    wait_for_more(window.locator("[data-value=in]"), seen)
    expect(window.locator("[data-value=watermark]")).to_have_text(re.compile(r"\d\d:\d\d:\d\d"))
    expect(window.locator("[data-value=busy]")).to_have_text(re.compile("busy"))


def test_skew_is_seen_without_a_click_and_subtasks_with_one(page: Page, shop: str) -> None:
    page.goto(f"/#/jobs/{shop}/graph")
    window = page.locator(".card").filter(has_text="sales by seller")
    expect(window.locator("[data-value=skew]")).to_have_text(re.compile(r"skew \d\.\d"))
    expect(window.locator(".bars i")).to_have_count(2)
    window.click()
    subtasks = page.get_by_role("table", name=re.compile("Subtasks of"))
    expect(subtasks.locator("tbody tr")).to_have_count(2)
    wait_for_more(subtasks.locator("tbody tr").first.locator("td").nth(1), 0)


def test_the_graph_is_moved_and_zoomed_by_keyboard(page: Page, shop: str) -> None:
    page.goto(f"/#/jobs/{shop}/graph")
    expect(page.locator(".card").first).to_be_visible()
    plane, viewport = page.locator(".plane"), page.locator(".viewport")
    first = plane.get_attribute("style")
    viewport.focus()
    page.keyboard.press("ArrowLeft")
    moved = plane.get_attribute("style")
    page.keyboard.press("+")
    zoomed = plane.get_attribute("style")
    assert len({first, moved, zoomed}) == 3
    page.keyboard.press("0")
    assert plane.get_attribute("style") == first


def test_event_time_shows_watermarks_firings_and_late_records(page: Page, shop: str) -> None:
    page.goto(f"/#/jobs/{shop}/timeline")
    window = row(page, "Event time by operator", "sales by seller")
    expect(window.locator("td").first).to_have_text(re.compile(r"\d\d:\d\d:\d\d"))
    wait_for_more(window.locator("td").nth(3), 0)
    marks = page.locator("figure").filter(has_text="Event time reached")
    expect(marks.locator("canvas")).to_be_visible()
    expect(marks.get_by_role("img")).to_have_attribute(
        "aria-label", re.compile(r"sales by seller \d\d:\d\d:\d\d")
    )
    marks.get_by_text("As a table").click()
    assert marks.get_by_role("table").get_by_role("row").count() > 1
    line = marks.get_by_role("button", name=re.compile("wall clock"))
    line.click()
    expect(line).to_have_attribute("aria-pressed", "false")


def test_batches_show_their_phases(page: Page, shop: str) -> None:
    page.goto(f"/#/jobs/{shop}/batches")
    wait_for_more(page.locator("[data-figure=count]"), 3)
    legend = page.locator("figure").filter(has_text="Time by phase").locator(".legend")
    for phase in ("level 0", "level 1", "engine", "floor"):
        expect(legend).to_contain_text(phase)
    latest = page.get_by_role("table", name="The latest batches").locator("tbody tr").first
    assert number(latest.locator("td").nth(2).inner_text()) >= 0


def test_checkpoints_have_details(page: Page, shop: str) -> None:
    page.goto(f"/#/jobs/{shop}/checkpoints")
    wait_for_more(page.locator("[data-figure=completed]"), 0)
    page.get_by_role("table", name="Latest checkpoints").get_by_role("button").first.click()
    parts = page.get_by_role("table", name=re.compile("Parts of checkpoint"))
    expect(parts.locator("tbody tr").first).to_be_visible()


def test_metrics_are_plotted(page: Page, shop: str) -> None:
    page.goto(f"/#/jobs/{shop}/metrics")
    part = page.get_by_label("Metrics of")
    wanted = part.locator("option").filter(has_text="sales by seller").first
    expect(wanted).to_be_attached()
    part.select_option(label=wanted.inner_text())
    page.get_by_label("Search metrics by name").fill("numRecordsIn")
    page.get_by_role("button", name="numRecordsIn", exact=True).click()
    plot = page.locator("figure").filter(has_text="numRecordsIn").first
    expect(plot.locator("canvas")).to_be_visible()
    wait_for_more(plot.locator(".legend-value").last, 0)


def test_settings_are_found(page: Page, shop: str) -> None:
    page.goto(f"/#/jobs/{shop}/configuration")
    expect(page.locator(".pairs")).to_contain_text("Parallelism")
    page.get_by_label("Search settings").fill("archive.fs")
    settings = page.get_by_role("table", name="Settings").locator("tbody tr")
    expect(settings).to_have_count(1)
    expect(settings).to_contain_text("jobmanager.archive.fs.dir")


def test_logs_are_read_and_filtered(page: Page, shop: str) -> None:
    page.goto(f"/#/jobs/{shop}/logs")
    lines = page.get_by_role("log").locator("span")
    expect(lines.filter(has_text="the shop is open").first).to_contain_text("[read sale (")
    page.get_by_label("Filter lines").fill("no such line anywhere")
    expect(lines).to_have_count(0)


def test_workers_are_listed(page: Page, shop: str) -> None:
    page.goto("/#/workers")
    workers = page.get_by_role("table", name="Workers").locator("tbody tr")
    expect(workers.first).to_be_visible()
    workers.first.get_by_role("link").click()
    expect(page.locator(".pairs")).to_contain_text("Free slots")


def test_all_is_reached_by_keyboard(page: Page, shop: str) -> None:
    page.goto("/")
    expect(row(page, "Running jobs", shop)).to_be_visible()
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("main")).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="sales by seller")).to_be_focused()
    page.keyboard.press("Enter")
    cancel = page.get_by_role("button", name="Cancel")
    expect(cancel).to_be_visible()
    cancel.focus()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog", name="Cancel the job?")
    expect(dialog).to_be_visible()
    # What does no harm has the focus.
    expect(dialog.get_by_role("button", name="Keep as it is")).to_be_focused()
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    page.get_by_role("link", name="Batches").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("link", name="Batches")).to_have_attribute("aria-current", "page")


def test_colours_follow_the_system_and_the_button(page: Page, shop: str) -> None:
    background = "getComputedStyle(document.body).backgroundColor"
    page.goto(f"/#/jobs/{shop}/batches")
    expect(page.locator("canvas").first).to_be_visible()
    light = page.evaluate(background)
    page.emulate_media(color_scheme="dark")
    dark = page.evaluate(background)
    assert light != dark
    page.get_by_role("button", name="Light colours").click()
    assert page.evaluate(background) == light
    page.reload()
    expect(page.locator("canvas").first).to_be_visible()
    assert page.evaluate(background) == light


def test_nothing_scrolls_sideways_on_a_phone(phone: Page, shop: str) -> None:
    phone.goto("/")
    expect(phone.get_by_role("link", name="sales by seller")).to_be_visible()
    no_sideways_scrolling(phone)
    for tab, title in TABS:
        phone.goto(f"/#/jobs/{shop}/{tab}")
        expect(phone.get_by_role("link", name=title, exact=True)).to_be_in_viewport()
        expect(phone.locator(".tab-body section").first).to_be_visible()
        phone.wait_for_timeout(300)
        no_sideways_scrolling(phone)
    for path in ("/#/workers", "/#/submit"):
        phone.goto(path)
        expect(phone.locator("h1")).to_be_visible()
        no_sideways_scrolling(phone)


def test_a_server_that_does_not_answer_is_told(page: Page, shop: str) -> None:
    page.goto("/")
    expect(page.locator("#pulse")).to_have_text("Live")
    told = {"errors": ["The session is being stopped."]}
    page.route("**/jobs/overview", lambda route: route.fulfill(status=503, json=told))
    expect(page.get_by_role("alert")).to_contain_text(told["errors"][0])
    page.unroute("**/jobs/overview")
    expect(page.get_by_role("alert")).to_be_hidden()


def test_a_script_is_submitted_fails_and_its_line_is_shown(
    page: Page, shop: str, folder: Path
) -> None:
    page.goto("/#/submit")
    page.locator("input[type=file]").set_input_files(SHOP)
    expect(page.get_by_text("shop.py is uploaded.")).to_be_visible()
    page.get_by_role("button", name="Run …").first.click()
    run = page.get_by_role("dialog", name="Run shop.py")
    run.get_by_label("Arguments").fill(f"'{folder}/failing' --fail-at 100")
    run.get_by_label("Parallelism").fill("1")
    run.get_by_role("button", name="Run").click()
    expect(page.locator(".job-name .pill")).to_have_text("failed")
    expect(page.locator(".notice.bad")).to_contain_text("ValueError")
    page.get_by_role("link", name="Where it happened").click()
    failure = page.locator(".failure").first
    expect(failure.locator("summary").first).to_contain_text("ValueError")
    expect(failure.locator(".source .blamed")).to_contain_text("if int(cents) > 9_000:")
    expect(failure.locator(".trace .blamed")).to_contain_text("in map")


def test_a_job_is_cancelled_after_a_question(page: Page, server: Server, folder: Path) -> None:
    job = server.run(SHOP, str(folder / "cancelled"))
    page.goto(f"/#/jobs/{job}/graph")
    wait_for_more(page.locator("[data-number=read]"), 0)
    page.get_by_role("button", name="Cancel").click()
    question = page.get_by_role("dialog", name="Cancel the job?")
    question.get_by_role("button", name="Cancel the job").click()
    expect(page.locator(".job-name .pill")).to_have_text("cancelled")
    expect(page.locator(".actions button")).to_have_count(0)
    assert server.state(job) == "CANCELED"


def test_a_job_is_stopped_with_a_savepoint(
    page: Page, server: Server, shop: str, folder: Path
) -> None:
    page.goto(f"/#/jobs/{shop}/checkpoints")
    page.get_by_role("button", name="Stop with savepoint").click()
    question = page.get_by_role("dialog", name="Stop with a savepoint")
    question.get_by_label("Folder for the savepoint").fill(str(folder / "savepoints"))
    question.get_by_role("button", name="Stop the job").click()
    expect(question).to_contain_text("Stopped. Savepoint:")
    place = question.locator("code").inner_text().removeprefix("file:")
    assert Path(place).is_dir()
    question.get_by_role("button", name="Close").click()
    expect(page.locator(".job-name .pill")).to_have_text("finished")
    page.goto("/")
    expect(row(page, "Ended jobs", shop).locator(".pill")).to_have_text("finished")


@pytest.fixture
def history(browser: Browser, folder: Path, shop: str) -> Iterator[Page]:
    settings = [f"historyserver.archive.fs.dir={folder / 'archive'}", "historyserver.web.port=0"]
    (folder / "archive" / ("0" * 32)).write_text("{")
    command = ["penstock.cli.main", "history", "start"]
    options = [part for setting in settings for part in ("-D", setting)]
    server = start([*command, *options], folder / "history.log")
    try:
        yield from watched(browser, server.address, {"width": 1280, "height": 900})
    finally:
        end(server)


def test_the_history_server_shows_the_stopped_job(history: Page, shop: str) -> None:
    history.goto("/")
    expect(history.locator(".notice.bad")).to_contain_text("cannot be read: it is not JSON")
    history.get_by_role("link", name="sales by seller").click()
    expect(history.locator(".job-name .pill")).to_have_text("finished")
    expect(history.locator(".card").first).to_be_visible()
    expect(history.locator(".actions button")).to_have_count(0)
    for tab, title in TABS:
        history.get_by_role("link", name=title, exact=True).click()
        expect(history).to_have_url(re.compile(f"/{tab}$"))
        expect(history.locator(".tab-body section").first).to_be_visible()
    history.get_by_role("link", name="Batches", exact=True).click()
    expect(history.locator("canvas").first).to_be_visible()
