from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, expect, sync_playwright

from tests.processes.installation import Installation

PASSWORD = "a long enough one"
SIZES = {360: 640, 768: 1024, 1440: 900}
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
GRAPHS = ",".join(f"tests.browser.{name}" for name in ("definitions", "talker", "desk", "buyer"))

expect.set_options(timeout=30_000)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(str(item.path)).parent == Path(__file__).parent:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="package")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """`up` in an empty folder, with the demo's people and threads: what a stranger has after two commands."""
    found = Installation(tmp_path_factory.mktemp("browser"), SAYSO_GRAPHS=GRAPHS)
    try:
        found.start()
        found.manage("demo", "--password", PASSWORD, check=True)
        yield found
        found.stop()
    finally:
        found.clear()


# Not for the session: until it is closed its event loop runs in this thread, where no async test can run then.
@pytest.fixture(scope="package")
def chromium() -> Iterator[Browser]:
    program = next(path for name in BROWSERS if (path := shutil.which(name)))
    arguments = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=arguments)
        yield browser
        browser.close()


class Tab:
    """One person's browser window, which notes whatever it complains about."""

    def __init__(self, context: BrowserContext, address: str) -> None:
        self.context = context
        self.address = address
        self.complaints: list[str] = []
        self.page = self.open()

    def open(self) -> Page:
        page = self.context.new_page()
        page.set_default_timeout(30_000)
        page.on("console", self.note)
        page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        page.on("dialog", lambda dialog: self.complaints.append(f"dialog: {dialog.message}"))
        return page

    def note(self, message: ConsoleMessage) -> None:
        # A refusal that a test provokes is logged by the browser itself, as is a socket that lost its server.
        expected = ("status of 4", "WebSocket", "net::ERR", "status of 503", "htmx:sendError", "htmx:afterRequest")
        if message.type in ("error", "warning") and not any(text in message.text for text in expected):
            self.complaints.append(f"{message.type}: {message.text}")

    def go(self, path: str) -> Page:
        self.page.goto(self.address + path)
        return self.page

    def sign_in(self, name: str) -> Tab:
        page = self.go("/")
        page.fill("#id_username", name)
        page.fill("#id_password", PASSWORD)
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url("**/inbox")
        return self

    def live(self) -> Tab:
        expect(self.page.locator("[data-live=on]")).to_be_attached()
        return self

    def overflow(self) -> int:
        found = self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        return int(found)


SignedIn = Callable[..., Tab]


@pytest.fixture
def signed_in(chromium: Browser, installation: Installation) -> Iterator[SignedIn]:
    """Opens a window of its own for a person; at the end nobody's console may hold a complaint."""
    tabs: list[Tab] = []

    def window(name: str, width: int = 1440, **options: Any) -> Tab:
        context = chromium.new_context(viewport={"width": width, "height": SIZES[width]}, locale="en-GB", **options)
        tabs.append(Tab(context, f"http://127.0.0.1:{installation.port}"))
        return tabs[-1].sign_in(name) if name else tabs[-1]

    yield window
    complaints = [complaint for tab in tabs for complaint in tab.complaints]
    for tab in tabs:
        tab.context.close()
    assert complaints == []


def start_refund(tab: Tab, order: str, amount: str = "75.50") -> str:
    """Start a refund by the form, and return the address of its thread."""
    page = tab.go("/launch/refund")
    page.get_by_label("Order number").fill(order)
    page.get_by_label("Amount", exact=True).fill(amount)
    page.get_by_label("Customer e-mail").fill("kim@example.org")
    page.get_by_role("button", name="Start").click()
    page.wait_for_url("**/threads/*")
    return page.url.removeprefix(tab.address)


def start_case(tab: Tab, case: str) -> str:
    """Start the gallery's graph, and return the address of the question it asks."""
    page = tab.go("/launch/gallery")
    page.get_by_label("Case").select_option(label=case)
    page.get_by_role("button", name="Start").click()
    page.wait_for_url("**/threads/*")
    question = page.locator(".now-q a")
    expect(question).to_be_visible()
    return str(question.get_attribute("href"))
