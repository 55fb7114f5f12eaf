"""Everything can be reached without a mouse, and no letter decides by accident."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.conftest import SignedIn, start_refund


def test_u19_from_the_inbox_to_a_decision_by_keyboard_alone(signed_in: SignedIn) -> None:
    cleo, ana = signed_in("cleo"), signed_in("ana").live()
    start_refund(cleo, "KEYS-1")
    expect(ana.page.locator(".qrow").first).to_contain_text("KEYS-1")
    keys = ana.page.keyboard
    keys.press("j")
    expect(ana.page.locator(".row-link").first).to_be_focused()
    keys.press("j")
    keys.press("k")
    keys.press("Enter")
    expect(ana.page.locator("#pane [data-review] h1")).to_contain_text("KEYS-1")
    # Opening focuses the heading, never a button that decides.
    expect(ana.page.locator("#review-title")).to_be_focused()
    keys.press("a")
    approve = ana.page.locator(".bar").get_by_role("button", name="Approve")
    expect(approve).to_be_focused()
    assert approve.evaluate("button => getComputedStyle(button).outlineStyle") != "none"
    expect(ana.page.locator("#receipt")).to_have_count(0)
    keys.press("Enter")
    expect(ana.page.locator("#receipt")).to_contain_text("approved")


def test_u20_letters_in_a_field_are_letters(signed_in: SignedIn) -> None:
    cleo, ana = signed_in("cleo"), signed_in("ana")
    start_refund(cleo, "KEYS-2")
    question = cleo.page.locator(".now-q a")
    expect(question).to_be_visible()
    page = ana.go(str(question.get_attribute("href")))
    comment = page.get_by_label("Reason, sent with your decision")
    comment.focus()
    page.keyboard.type("are/?jkc")
    expect(comment).to_have_value("are/?jkc")
    expect(comment).to_be_focused()
    page.keyboard.press("Escape")
    expect(comment).not_to_be_focused()
    expect(page.locator("#receipt")).to_have_count(0)


def test_help_search_and_the_switch(signed_in: SignedIn) -> None:
    page = signed_in("ana").live().page
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    dialog.get_by_label("Switch single-letter keys off").check()
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox")).not_to_be_focused()
    page.evaluate("document.getElementById('keys').showModal()")
    dialog.get_by_label("Switch single-letter keys off").uncheck()
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox")).to_be_focused()
    page.keyboard.type("queue:payments older:1w")
    page.keyboard.press("Enter")
    expect(page.locator(".nothing")).to_contain_text("Nothing matches")
    page.get_by_role("link", name="Clear the filter").click()
    expect(page.locator(".qrow").first).to_be_visible()


def test_the_theme_is_kept_without_a_flash(signed_in: SignedIn) -> None:
    ana = signed_in("ana", color_scheme="light")
    ana.page.get_by_text("Account and appearance").locator("xpath=..").click()
    with ana.page.expect_response("**/theme"):
        ana.page.get_by_role("button", name="Dark").click()
    expect(ana.page.locator("html")).to_have_attribute("data-bs-theme", "dark")
    ana.page.keyboard.press("Escape")
    page = ana.go("/threads")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    body = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert body == "rgb(13, 14, 17)"


def test_u21_back_gives_usable_buttons(signed_in: SignedIn) -> None:
    cleo = signed_in("cleo")
    page = cleo.go("/launch/refund")
    page.get_by_label("Order number").fill("BACK-1")
    page.get_by_label("Amount", exact=True).fill("5")
    page.get_by_label("Customer e-mail").fill("kim@example.org")
    page.get_by_role("button", name="Start").click()
    page.wait_for_url("**/threads/*")
    page.go_back()
    expect(page.get_by_role("button", name="Start")).to_be_enabled()
