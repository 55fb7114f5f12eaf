"""The one path, in a real browser against the real processes."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import SignedIn, start_case, start_refund


@pytest.mark.parametrize("width", [360, 1440])
def test_a_run_pauses_a_person_decides_the_run_resumes(width: int, signed_in: SignedIn) -> None:
    reviewer, requester = signed_in("ana", width).live(), signed_in("cleo", width)
    order = f"PATH-{width}"
    start_refund(requester, order)
    requester.live()
    # The row comes by itself: the reviewer's page is not touched.
    row = reviewer.page.locator(".qrow", has_text=order)
    expect(row).to_be_visible()
    row.locator("a").click()
    review = reviewer.page.locator("[data-review]")
    expect(review.get_by_role("heading", level=2, name=f"Refund order {order}, 75.50 EUR")).to_be_visible()
    for fact in (order, "75.5", "EUR", "kim@example.org"):
        expect(review.locator(".facts")).to_contain_text(fact)
    expect(review.locator(".bubble-input")).to_contain_text("Cleo Martin")
    for name in ("Approve", "Reject"):
        expect(reviewer.page.locator(".bar").get_by_role("button", name=name)).to_be_in_viewport(ratio=1)
    assert reviewer.overflow() <= 0
    reviewer.page.get_by_label("Reason, sent with your decision").fill("Checked.")
    reviewer.page.locator(".bar").get_by_role("button", name="Approve").click()
    expect(reviewer.page.locator("#receipt")).to_contain_text("Ana Costa")
    expect(reviewer.page.locator("#receipt")).to_contain_text("Recorded as no.")
    expect(reviewer.page.locator("[data-progress=completed]")).to_be_visible()
    # The requester watched the thread: it went on and ended before their eyes.
    expect(requester.page.locator("[data-progress=completed]")).to_be_visible()
    expect(requester.page.locator(".talk")).to_contain_text("RF-")
    assert requester.overflow() <= 0
    reviewer.go("/inbox")
    expect(reviewer.page.locator(".qrow", has_text=order)).to_have_count(0)


def test_without_a_script_one_reads_and_decides(signed_in: SignedIn) -> None:
    requester = signed_in("cleo", 360, java_script_enabled=False)
    reviewer = signed_in("ana", 360, java_script_enabled=False)
    thread = start_refund(requester, "PLAIN-1")
    for _ in range(200):
        page = reviewer.go("/inbox")
        if page.locator(".qrow", has_text="PLAIN-1").count():
            break
    page.locator(".qrow", has_text="PLAIN-1").locator("a").click()
    for section in ("Summary", "Arguments", "Raw JSON"):
        expect(page.get_by_role("heading", name=section, exact=True)).to_be_visible()
    assert reviewer.overflow() <= 0
    page.locator(".bar").get_by_role("button", name="Reject").click()
    expect(page.locator("#receipt")).to_contain_text("rejected")
    for _ in range(200):
        requester.go(thread)
        if requester.page.locator("[data-progress=completed]").count():
            break
    expect(requester.page.locator("[data-progress=completed]")).to_be_visible()
    expect(requester.page.locator(".node-line", has_text="Decline")).to_contain_text("finished")


def test_f21_two_reviewers_race_for_one_question(signed_in: SignedIn) -> None:
    ana, ben, cleo = signed_in("ana"), signed_in("ben"), signed_in("cleo")
    start_refund(cleo, "RACE-1")
    expect(cleo.page.locator(".now-q a")).to_be_visible()
    address = str(cleo.page.locator(".now-q a").get_attribute("href"))
    for tab in (ana, ben):
        # The slower one's page must not hear of the other before it is sent.
        tab.page.route_web_socket("**/ws/", lambda socket: socket.close())
        tab.go(address)
    ben.page.get_by_label("Reason, sent with your decision").fill("I took long to write this.")
    ana.page.locator(".bar").get_by_role("button", name="Approve").click()
    expect(ana.page.locator("#receipt")).to_contain_text("approved")
    ben.page.locator(".bar").get_by_role("button", name="Reject").click()
    conflict = ben.page.get_by_role("alert")
    expect(conflict).to_contain_text("Ana Costa approved this")
    expect(conflict).to_contain_text("I took long to write this.")
    expect(ben.page.locator("#receipt")).to_contain_text("Ana Costa")
    expect(ben.page.locator("[data-decide]")).to_have_count(0)
    ana.go(address)
    expect(ana.page.locator("#receipt")).to_have_count(1)


def test_u10_a_question_decided_elsewhere_closes_and_keeps_what_was_typed(signed_in: SignedIn) -> None:
    ana, ben, cleo = signed_in("ana"), signed_in("ben"), signed_in("cleo")
    start_refund(cleo, "CLOSE-1")
    expect(cleo.page.locator(".now-q a")).to_be_visible()
    address = str(cleo.page.locator(".now-q a").get_attribute("href"))
    ana.go(address)
    ana.live()
    ana.page.get_by_label("Reason, sent with your decision").fill("Half a sentence")
    ben.go(address).locator(".bar").get_by_role("button", name="Reject").click()
    expect(ana.page.locator("#receipt")).to_contain_text("Ben Okafor")
    expect(ana.page.locator(".typed-copy")).to_contain_text("Half a sentence")
    expect(ana.page.locator(".bar [data-act]")).to_have_count(0)


@pytest.mark.parametrize("place", ["pane", "page", "plain"])
def test_a_remark_leaves_the_unsent_answer_as_it_is(place: str, signed_in: SignedIn) -> None:
    address = start_case(signed_in("cleo"), "widgets")
    ana = signed_in("ana", java_script_enabled=place != "plain")
    page = ana.go(f"/inbox?item={address.rpartition('/')[2]}" if place == "pane" else address)
    page.get_by_label("Amount", exact=True).fill("12.5")
    page.get_by_label("Reason, sent with your decision").fill("Half a sentence")
    page.get_by_role("textbox", name="Remark for the team").fill(f"Seen it, {place}.")
    page.get_by_role("button", name="Add remark").click()
    expect(page.locator(".talk").first).to_contain_text(f"Seen it, {place}.")
    expect(page.get_by_role("textbox", name="Remark for the team")).to_have_value("")
    expect(page.get_by_label("Amount", exact=True)).to_have_value("12.5")
    expect(page.get_by_label("Reason, sent with your decision")).to_have_value("Half a sentence")
    page.get_by_label("EUR", exact=True).check()
    page.locator(".bar").get_by_role("button", name="Approve").click()
    expect(page.locator("#receipt")).to_contain_text("Half a sentence")


def test_u24_a_second_tab_starts_another_thread(signed_in: SignedIn) -> None:
    cleo = signed_in("cleo")
    first = start_refund(cleo, "TABS-1")
    cleo.page.close()
    cleo.page = cleo.open()
    second = start_refund(cleo, "TABS-2")
    for address in (first, second):
        cleo.go(address)
        expect(cleo.page.locator(".now-q a")).to_be_visible()
