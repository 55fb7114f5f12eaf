"""Forms that are filled in: rows, branches, choices and calendars in place, and what was changed told at once."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import SignedIn, Tab

WIDTHS = [360, 1440]


def start_wish(tab: Tab, what: str, count: int = 1) -> str:
    """Start the desk's graph, and return the address of the question it asks."""
    page = tab.go("/launch/desk")
    page.get_by_label(what, exact=True).check()
    page.get_by_label("How many choices").fill(str(count))
    page.get_by_role("button", name="Start").click()
    return question(page)


def question(page: Page) -> str:
    page.wait_for_url("**/threads/*")
    link = page.locator("[href*='/review/']").first
    expect(link).to_be_visible()
    return str(link.get_attribute("href"))


def start_purchase(tab: Tab) -> str:
    page = tab.go("/launch/buyer")
    page.get_by_role("textbox").first.fill("Order please")
    page.get_by_role("button", name="Send").click()
    return question(page)


def decide(page: Page, name: str) -> None:
    page.locator(".bar").get_by_role("button", name=name).click()
    expect(page.locator("#receipt")).to_be_visible()


@pytest.mark.parametrize("width", WIDTHS)
def test_e11_what_is_changed_of_a_call_is_told_while_it_is_typed(width: int, signed_in: SignedIn) -> None:
    cleo = signed_in("cleo")
    address = start_purchase(cleo)
    ana = signed_in("ana", width)
    page = ana.go(address)
    page.get_by_text("Edit the arguments before it runs").click()
    told = page.locator("[data-changes]")
    expect(told).to_contain_text("Nothing changed")
    page.get_by_role("textbox", name="Note optional").fill("with care")
    expect(told).to_contain_text("1 field changed")
    expect(told.locator("tbody tr")).to_contain_text(["as always"])
    expect(told.locator(".to")).to_have_text("with care")
    page.get_by_label("Count, Row 2").fill("7")
    page.get_by_role("button", name="Add a row to Lines").click()
    expect(page.get_by_label("Sku, Row 3")).to_be_focused()
    page.keyboard.type("AB-9")
    page.get_by_label("Count, Row 3").fill("1")
    expect(page.get_by_label("Count, Row 2")).to_have_value("7")
    expect(told).to_contain_text("3 rows")
    told.get_by_role("button", name=re.compile("Reset.*Note")).click()
    expect(page.get_by_role("textbox", name="Note optional")).to_have_value("as always")
    assert ana.overflow() <= 0
    decide(page, "Approve order")
    expect(cleo.page.locator(".talk")).to_contain_text("ordered 3 lines, as always, slow")


def test_rows_and_branches_come_and_go_without_a_new_page(signed_in: SignedIn) -> None:
    address = start_wish(signed_in("cleo"), "order")
    page = signed_in("ana").go(address)
    page.evaluate("window.stayed = true")
    page.get_by_label("Article, Row 1").fill("AB-1")
    page.get_by_role("button", name="Add a row to Lines").click()
    page.get_by_label("Article, Row 2").fill("AB-2")
    page.get_by_role("button", name="Move Row 2 of Lines up").click()
    expect(page.get_by_label("Article, Row 1")).to_have_value("AB-2")
    expect(page.get_by_role("button", name="Move Row 1 of Lines down")).to_be_focused()
    page.get_by_role("button", name="Remove Row 2 of Lines").click()
    expect(page.get_by_label("Article, Row 2")).to_have_count(0)
    page.get_by_label("Count, Row 1").fill("3")
    page.get_by_label("Card", exact=True).check()
    page.get_by_label("Last digits").fill("1234")
    page.get_by_label("Transfer", exact=True).check()
    page.get_by_label("Account").fill("NL00")
    expect(page.get_by_label("Last digits")).to_have_count(0)
    page.get_by_role("button", name="Add an entry").click()
    assert page.evaluate("window.stayed")
    page.get_by_role("button", name="Remove Entry 1 of Entries").click()
    expect(page.get_by_role("button", name="Remove Entry 1 of Entries")).to_have_count(0)
    decide(page, "Approve")
    page.get_by_text("Value sent").click()
    sent = page.locator("#receipt pre")
    for part in ('"sku": "AB-2"', '"count": 3', '"iban": "NL00"'):
        expect(sent).to_contain_text(part)
    expect(sent).not_to_contain_text("digits")


def test_rows_come_without_a_script_too(signed_in: SignedIn) -> None:
    address = start_wish(signed_in("cleo"), "order")
    page = signed_in("ana", java_script_enabled=False).go(address)
    page.get_by_label("Article, Row 1").fill("AB-1")
    page.get_by_role("button", name="Add a row to Lines").click()
    expect(page.get_by_label("Article, Row 1")).to_have_value("AB-1")
    page.get_by_label("Article, Row 2").fill("AB-2")
    for row in (1, 2):
        page.get_by_label(f"Count, Row {row}").fill("1")
    page.get_by_label("Card", exact=True).check()
    page.get_by_role("button", name="Show its fields").click()
    page.get_by_label("Last digits").fill("1234")
    decide(page, "Approve")


def test_u11_help_with_long_lists_and_with_moments(signed_in: SignedIn) -> None:
    address = start_wish(signed_in("cleo"), "order")
    page = signed_in("ana", timezone_id="Pacific/Auckland").go(address)
    page.get_by_label("Filter the choices").fill("city 57")
    expect(page.locator(".choice:visible", has_text="City")).to_have_count(1)
    page.get_by_label("City 57", exact=True).check()
    page.get_by_label("Filter the choices").fill("nowhere")
    expect(page.locator(".choice:visible", has_text="City")).to_have_count(1)
    page.get_by_label("Date and time in your zone, Pacific/Auckland").fill("2026-07-01T09:30")
    page.get_by_label("Date and time in your zone, Pacific/Auckland").blur()
    expect(page.get_by_label("Deliver at")).to_have_value("2026-07-01T09:30+12:00")
    page.get_by_label("Article, Row 1").fill("not one")
    page.get_by_label("Count, Row 1").fill("0")
    page.locator(".bar").get_by_role("button", name="Approve").click()
    assert page.get_by_label("Article, Row 1").evaluate("field => field.validity.patternMismatch")
    assert page.get_by_label("Count, Row 1").evaluate("field => field.validity.rangeUnderflow")
    page.locator("#decide").evaluate("form => (form.noValidate = true)")
    page.locator(".bar").get_by_role("button", name="Approve").evaluate("button => (button.formNoValidate = true)")
    page.locator(".bar").get_by_role("button", name="Approve").click()
    expect(page.locator("[data-problems]")).to_contain_text("2 things to mend")
    expect(page.get_by_label("City 57", exact=True)).to_be_checked()
    page.get_by_label("Article, Row 1").fill("AB-1")
    page.get_by_label("Count, Row 1").fill("2")
    decide(page, "Approve")
    page.get_by_text("Value sent").click()
    expect(page.locator("#receipt pre")).to_contain_text("2026-07-01T09:30:00+12:00")


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("count", [1, 4, 12])
def test_u12_u28_every_choice_can_be_made_and_keeps_its_type(count: int, width: int, signed_in: SignedIn) -> None:
    address = start_wish(signed_in("cleo"), "choices", count)
    ana = signed_in("ana", width)
    page = ana.go(address)
    list_of_them = page.locator("#decide select")
    if list_of_them.count():
        list_of_them.select_option(label=f"Choice {count - 1}")
    else:
        page.get_by_label(f"Choice {count - 1}", exact=True).check()
    assert ana.overflow() <= 0
    decide(page, "Send answer")
    page.get_by_text("Value sent").click()
    expect(page.locator("#receipt pre")).to_have_text(str(count - 1))


def test_u21_a_failed_send_leaves_usable_buttons_and_what_was_typed(signed_in: SignedIn) -> None:
    address = start_wish(signed_in("cleo"), "order")
    ana = signed_in("ana").live()
    page = ana.page
    page.locator(f".row-link[href^='{address}']").click()
    page.locator("#pane").get_by_label("Article, Row 1").fill("AB-1")
    page.locator("#pane").get_by_label("Count, Row 1").fill("2")
    page.route(f"**{address}*", lambda route: route.abort())
    approve = page.locator(".bar").get_by_role("button", name="Approve")
    approve.click()
    expect(page.locator(".bar-what")).to_contain_text("could not be sent")
    expect(approve).to_be_enabled()
    expect(page.get_by_label("Article, Row 1")).to_have_value("AB-1")
    page.unroute(f"**{address}*")
    approve.click()
    expect(page.locator("#receipt")).to_be_visible()


def test_a_draft_is_there_again_on_the_next_page_and_can_be_thrown_away(signed_in: SignedIn) -> None:
    address = start_wish(signed_in("cleo"), "order")
    ana = signed_in("ana")
    page = ana.go(address)
    page.get_by_label("Article, Row 1").fill("AB-1")
    page.get_by_label("Door code").fill("s3cret")
    page.get_by_label("Reason, sent with your decision").fill("half a thought")
    expect(page.locator("[data-draft-text]")).to_contain_text("Draft saved")
    page.reload()
    expect(page.get_by_label("Article, Row 1")).to_have_value("AB-1")
    expect(page.get_by_label("Reason, sent with your decision")).to_have_value("half a thought")
    expect(page.get_by_label("Door code")).to_have_value("")
    page.get_by_role("button", name="Discard it").click()
    expect(page.get_by_label("Reason, sent with your decision")).to_have_value("")
    # Typed and left at once: the page that goes saves it.
    page.get_by_label("Article, Row 1").fill("AB-2")
    page.get_by_role("link", name="Threads").first.click()
    expect(page.get_by_role("heading", name="Threads")).to_be_visible()
    page.goto("about:blank")
    page = ana.go(address)
    expect(page.get_by_label("Article, Row 1")).to_have_value("AB-2")
