"""L2: a node asks until the row is visible in a browser's inbox, against a bare publish to an open socket."""

from __future__ import annotations

import os
import time
import uuid
from pathlib import Path
from typing import Any

from tests.load import ground, running
from tests.load.measure import Row, alternate, table

#: Notes when a row with a text first shows, and when a hint reaches a socket of the page's own.
WATCH = """
window.seenRows = {};
const look = () => document.querySelectorAll('.qrow').forEach((row) => {
  const found = row.textContent.match(/Measured question ([0-9a-f]{32})/);
  if (found && !(found[1] in window.seenRows)) window.seenRows[found[1]] = Date.now() / 1000;
});
new MutationObserver(look).observe(document.body, {childList: true, subtree: true, characterData: true});
window.hints = [];
window.own = new WebSocket(location.origin.replace('http', 'ws') + '/ws/');
window.own.onmessage = (event) => window.hints.push([Date.now() / 1000, event.data]);
null;
"""


def run(kind: str) -> None:
    from playwright.sync_api import sync_playwright

    # Playwright's own loop runs in this thread; Django's guard takes that for async code, which it is not.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"
    with running.installation(kind) as var, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path="/usr/bin/chromium",
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
        )
        page = open_inbox(browser)
        pair = alternate(row(page, var), publish(page), 9)
        browser.close()
    table(f"L2 asked to visible row ({kind})", [Row("row visible; bare hint at a socket", pair, "<= 8, <= 150 ms")])


def open_inbox(browser: Any) -> Any:
    """The inbox of a signed-in operator, with the watcher in place and the socket open."""
    from django.conf import settings
    from django.test import Client

    client = Client()
    client.force_login(ground.person())
    address = os.environ["SAYSO_LOAD_ADDRESS"]
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    name = settings.SESSION_COOKIE_NAME
    context.add_cookies([{"name": name, "value": client.cookies[name].value, "url": address}])
    page = context.new_page()
    page.goto(f"{address}/inbox")
    page.evaluate(WATCH)
    wait(page, "window.own.readyState === 1")
    return page


def wait(page: Any, condition: str) -> None:
    """Ask the page again and again: its policy forbids the evaluation that Playwright's own wait installs."""
    deadline = time.monotonic() + running.PATIENCE
    while not page.evaluate(condition):
        assert time.monotonic() < deadline, condition
        page.wait_for_timeout(5)


def row(page: Any, var: Path) -> Any:
    from tests.load import threads

    def body() -> float:
        name = uuid.uuid4().hex
        threads.start("stamped", {"id": name})
        asked = running.stamp(var, f"{name}-asked")
        wait(page, f"'{name}' in window.seenRows")
        return float(page.evaluate(f"window.seenRows['{name}']")) - asked

    return body


def publish(page: Any) -> Any:
    from graphs import outbox

    def body() -> float:
        # The socket sends at most two hints a second; let it rest, so that the bare way is not held back.
        page.wait_for_timeout(700)
        page.evaluate("window.hints = []")
        start = time.time()
        outbox.send(["operators"], {"topic": "inbox"})
        wait(page, "window.hints.length > 0")
        return float(page.evaluate("window.hints[0][0]")) - start

    return body
