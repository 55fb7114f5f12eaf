"""The inbox under the hand: nothing moves or changes that somebody is about to press, and the last word wins."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Locator, Route, expect

from tests.browser.conftest import SignedIn, Tab, start_refund


def ask(cleo: Tab, order: str) -> None:
    start_refund(cleo, order)
    expect(cleo.page.locator(".now-q a")).to_be_visible()


def row(tab: Tab, text: str) -> Locator:
    return tab.page.locator(".qrow", has_text=text)


def decide(tab: Tab, button: str = "Approve") -> None:
    tab.page.locator(".bar").get_by_role("button", name=button).click()


def test_a_decided_row_fades_with_its_outcome_and_leaves(signed_in: SignedIn) -> None:
    cleo, ana, ben = signed_in("cleo"), signed_in("ana"), signed_in("ben")
    for order in ("FADE-1", "FADE-2"):
        ask(cleo, order)
    ana.go("/inbox")
    ana.live()
    ben.go("/inbox")
    row(ana, "FADE-2").locator(".row-link").focus()
    row(ana, "FADE-1").hover()
    for order in ("FADE-1", "FADE-2"):
        row(ben, order).locator(".row-link").click()
        expect(ben.page.locator("#pane h1")).to_contain_text(order)
        ben.page.get_by_label("Reason, sent with your decision").fill("no")
        decide(ben, "Reject")
        expect(ben.page.locator("#receipt")).to_be_visible()
    for order in ("FADE-1", "FADE-2"):
        gone = row(ana, order).locator(".gone-word")
        expect(gone).to_contain_text("rejected")
        expect(gone).to_contain_text("by Ben")
    # It leaves by itself, but not from under a pointer, and the one in focus only when the focus goes on.
    ana.page.get_by_role("searchbox").hover()
    expect(row(ana, "FADE-1")).to_have_count(0)
    expect(row(ana, "FADE-2")).to_have_count(1)
    ana.page.get_by_role("searchbox").focus()
    expect(row(ana, "FADE-2")).to_have_count(0)


def test_u13_a_decision_that_answers_late_leaves_the_new_question_alone(signed_in: SignedIn) -> None:
    cleo, ana = signed_in("cleo"), signed_in("ana")
    for order in ("LATE-1", "LATE-2"):
        ask(cleo, order)
    ana.go("/inbox")
    ana.live()
    row(ana, "LATE-1").locator(".row-link").click()
    expect(ana.page.locator("#pane h1")).to_contain_text("LATE-1")
    held: list[Route] = []
    ana.page.route(
        "**/review/*", lambda route: held.append(route) if route.request.method == "POST" else route.fallback()
    )
    with ana.page.expect_request(lambda request: request.method == "POST" and "/review/" in request.url):
        decide(ana)
    row(ana, "LATE-2").locator(".row-link").click()
    expect(ana.page.locator("#pane h1")).to_contain_text("LATE-2")
    with ana.page.expect_response(lambda answer: answer.status == 200 and "LATE-1" in answer.text()):
        held[0].continue_()
    expect(row(ana, "LATE-1")).to_have_class(re.compile("is-gone"))
    expect(ana.page.locator("#pane h1")).to_contain_text("LATE-2")
    expect(ana.page.locator("#receipt")).to_have_count(0)


def test_u13_a_late_refusal_is_said_without_taking_the_place(signed_in: SignedIn) -> None:
    cleo, ana = signed_in("cleo"), signed_in("ana")
    for order in ("REFUSED-1", "REFUSED-2"):
        ask(cleo, order)
    ana.go("/inbox")
    ana.live()
    row(ana, "REFUSED-1").locator(".row-link").click()
    expect(ana.page.locator("#pane h1")).to_contain_text("REFUSED-1")
    held: list[Route] = []
    ana.page.route(
        "**/review/*", lambda route: held.append(route) if route.request.method == "POST" else route.fallback()
    )
    with ana.page.expect_request(lambda request: request.method == "POST" and "/review/" in request.url):
        decide(ana)
    row(ana, "REFUSED-2").locator(".row-link").click()
    expect(ana.page.locator("#pane h1")).to_contain_text("REFUSED-2")
    held[0].fulfill(status=409, body="<p role='alert'>Ben was faster</p>")
    banner = ana.page.locator("[data-refused]")
    expect(banner).to_contain_text("REFUSED-1")
    expect(ana.page.locator("#pane h1")).to_contain_text("REFUSED-2")
    expect(banner.locator("a")).to_have_attribute("href", re.compile("^/review/"))


def test_u22_the_last_query_typed_wins(signed_in: SignedIn) -> None:
    cleo, ana = signed_in("cleo"), signed_in("ana")
    for order in ("SLOW-1", "FAST-1"):
        ask(cleo, order)
    page = ana.go("/inbox")
    ana.live()
    slow: list[Route] = []

    def hold(route: Route) -> None:
        asked = parse_qs(urlsplit(route.request.url).query).get("q") == ["slow-1"]
        slow.append(route) if asked else route.fallback()

    page.route("**/inbox?*", hold)
    search = page.get_by_role("searchbox")
    with page.expect_request("**/inbox?q=slow-1"):
        search.fill("slow-1")
    # Bars stand for what takes long, and no old row can be taken for an answer.
    expect(page.locator(".list-body .skeleton").first).to_be_visible()
    expect(page.locator(".qrow").first).to_be_hidden()
    search.fill("fast-1")
    expect(page.locator(".qrow")).to_have_count(1)
    expect(row(ana, "FAST-1")).to_be_visible()
    with page.expect_response("**/inbox?q=slow-1"):
        slow[0].continue_()
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    expect(row(ana, "FAST-1")).to_be_visible()
    expect(row(ana, "SLOW-1")).to_have_count(0)
    assert page.url.endswith("/inbox?q=fast-1")
    search.fill("")
    expect(row(ana, "SLOW-1")).to_be_visible()


def test_u06_a_search_that_fails_keeps_the_rows_and_is_tried_again(signed_in: SignedIn) -> None:
    page = signed_in("ana").live().page
    rows = page.locator(".qrow").count()
    page.route("**/inbox?q=*", lambda route: route.abort())
    page.get_by_role("searchbox").fill("nothing like it")
    expect(page.locator("[data-stale]")).to_be_visible()
    assert page.locator(".qrow").count() == rows > 0
    expect(page.locator(".qrow").first).to_be_visible()
    page.unroute("**/inbox?q=*")
    page.evaluate("document.dispatchEvent(new CustomEvent('sayso:resync'))")
    expect(page.locator("[data-empty=filtered]")).to_be_visible()
    expect(page.locator("[data-stale]")).to_be_hidden()


def test_dense_rows_are_kept(signed_in: SignedIn) -> None:
    ana = signed_in("ana")
    page = ana.page
    tall = page.locator(".qrow").first.evaluate("row => row.offsetHeight")
    with page.expect_response("**/preferences") as answered:
        page.get_by_role("button", name="Dense rows").click()
    assert answered.value.status == 204
    assert page.locator(".qrow").first.evaluate("row => row.offsetHeight") < tall
    ana.go("/inbox")
    button = page.get_by_role("button", name="Dense rows")
    expect(button).to_have_attribute("aria-pressed", "true")
    with page.expect_response("**/preferences"):
        button.click()
    expect(button).to_have_attribute("aria-pressed", "false")


@pytest.mark.parametrize("width", [360, 1440])
def test_who_looks_is_shown_to_the_others_until_they_go(width: int, signed_in: SignedIn) -> None:
    cleo, ana, ben = signed_in("cleo"), signed_in("ana", width), signed_in("ben")
    ask(cleo, f"LOOK-{width}")
    ana.go("/inbox")
    ana.live()
    ben.go("/inbox")
    ben.live()
    row(ben, f"LOOK-{width}").locator(".row-link").click()
    face = row(ana, f"LOOK-{width}").locator(".looking-one")
    expect(face).to_have_attribute("title", re.compile("^Ben.* is looking$"))
    expect(row(ben, f"LOOK-{width}").locator(".looking-one")).to_have_count(0)
    row(ana, f"LOOK-{width}").locator(".row-link").click()
    for tab, name in ((ana, "Ben"), (ben, "Ana")):
        expect(tab.page.locator(".review-head .looking-word")).to_contain_text(f"{name}")
        expect(tab.page.locator(".review-head .looking-word")).to_contain_text("is looking")
    assert ana.overflow() <= 0
    # A warning only.
    expect(ana.page.locator(".bar").get_by_role("button", name="Approve")).to_be_enabled()
    ben.page.close()
    expect(ana.page.locator(".review-head .looking-one")).to_have_count(0)
