"""What each single letter does, and what it never does."""

from __future__ import annotations

from playwright.sync_api import Locator, expect

from tests.browser.conftest import SignedIn, Tab, start_case, start_refund


def ask(cleo: Tab, order: str) -> str:
    start_refund(cleo, order)
    question = cleo.page.locator(".now-q a")
    expect(question).to_be_visible()
    return str(question.get_attribute("href"))


def act(tab: Tab, name: str) -> Locator:
    return tab.page.locator(f".bar [data-act={name}]")


def test_a_arms_and_the_second_a_decides(signed_in: SignedIn) -> None:
    cleo, ana = signed_in("cleo"), signed_in("ana")
    page = ana.go(ask(cleo, "ARM-1"))
    page.keyboard.press("a")
    expect(act(ana, "approve")).to_be_focused()
    expect(act(ana, "approve")).to_have_class("btn btn-go is-armed")
    # Going elsewhere takes it back.
    page.keyboard.press("r")
    expect(act(ana, "reject")).to_be_focused()
    expect(act(ana, "approve")).to_have_class("btn btn-go")
    page.keyboard.press("a")
    expect(page.locator("#receipt")).to_have_count(0)
    page.keyboard.press("a")
    expect(page.locator("#receipt")).to_contain_text("approved")


def test_a_key_held_down_presses_once(signed_in: SignedIn) -> None:
    cleo, ana = signed_in("cleo"), signed_in("ana")
    page = ana.go(ask(cleo, "HELD-1"))
    for _ in range(5):
        # Pressed again without being released, it is a repetition.
        page.keyboard.down("a")
    page.keyboard.up("a")
    expect(act(ana, "approve")).to_have_class("btn btn-go is-armed")
    expect(page.locator("#receipt")).to_have_count(0)


def test_letters_for_a_row_do_not_reach_another_question(signed_in: SignedIn) -> None:
    cleo, ana = signed_in("cleo"), signed_in("ana")
    for order in ("OTHER-1", "OTHER-2"):
        ask(cleo, order)
    page = ana.go("/inbox")
    ana.live()
    page.locator(".qrow", has_text="OTHER-1").locator(".row-link").click()
    expect(page.locator("#review-title")).to_be_focused()
    page.locator(".qrow", has_text="OTHER-2").locator(".row-link").focus()
    for key in "aaarrezq":
        page.keyboard.press(key)
    expect(page.locator("#announce")).to_have_text("Open the question first, with Enter.")
    expect(page.locator(".is-armed")).to_have_count(0)
    expect(page.locator("#receipt")).to_have_count(0)
    # x and m are for the row in focus.
    page.keyboard.press("x")
    expect(page.locator(".qrow", has_text="OTHER-2").locator("[data-pick]")).to_be_checked()
    expect(page.locator("[data-pick]:checked")).to_have_count(1)
    page.keyboard.press("m")
    expect(page.locator(".qrow", has_text="OTHER-2").locator(".row-holder")).to_contain_text("Yours")


def test_each_letter_leads_to_its_place(signed_in: SignedIn) -> None:
    cleo, ana = signed_in("cleo"), signed_in("ana")
    page = ana.go(ask(cleo, "PLACE-1"))
    page.keyboard.press("c")
    expect(page.get_by_label("Reason, sent with your decision")).to_be_focused()
    page.keyboard.press("Escape")
    page.keyboard.press("s")
    expect(page.locator("[data-snooze]")).to_be_focused()
    page.keyboard.press("Escape")
    page.keyboard.press("m")
    expect(page.locator(".holder")).to_contain_text("Yours")
    page.goto(ana.address + start_case(cleo, "widgets"))
    for key in "qe":
        page.keyboard.press(key)
        expect(page.get_by_label("Amount", exact=False).first).to_be_focused()
        page.keyboard.press("Escape")
    for keys, address in (("gr", "/threads"), ("gl", "/launch"), ("gd", "/decisions"), ("gi", "/inbox")):
        for key in keys:
            page.keyboard.press(key)
        page.wait_for_url(f"**{address}")
    # There is no way to the audit for her, and so no letter.
    for key in "ga":
        page.keyboard.press(key)
    expect(page.locator("#keys")).not_to_contain_text("To the audit")
    assert page.url.endswith("/inbox")


def test_the_switch_is_kept_for_the_person(signed_in: SignedIn) -> None:
    page = signed_in("ben").page
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog")
    for word in ("Undo", "Snooze", "Claim", "Select", "Edit", "Answer"):
        expect(dialog).to_contain_text(word)
    with page.expect_response("**/preferences") as kept:
        dialog.get_by_label("Switch single-letter keys off").check()
    assert kept.value.status == 204
    other = signed_in("ben").page
    other.keyboard.press("/")
    expect(other.get_by_role("searchbox")).not_to_be_focused()
    other.evaluate("document.getElementById('keys').showModal()")
    with other.expect_response("**/preferences"):
        other.get_by_role("dialog").get_by_label("Switch single-letter keys off").uncheck()
