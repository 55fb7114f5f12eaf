"""An agent is found and spoken to without a mouse, and its page serves everyone."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import SignedIn
from tests.browser.test_accessibility import violations

SUPPORT = "Talk to customer support"


def focused(page: Page) -> str:
    found = (
        "document.activeElement.id || document.activeElement.getAttribute('href') || document.activeElement.textContent"
    )
    return str(page.evaluate(found))


def tab_to(page: Page, wanted: str) -> None:
    for _ in range(40):
        page.keyboard.press("Tab")
        if focused(page) == wanted:
            return
    raise AssertionError(f"{wanted} cannot be reached with the tab key")


def test_a_conversation_is_begun_by_keyboard_alone(signed_in: SignedIn) -> None:
    page = signed_in("cleo").live().page
    keys = page.keyboard
    keys.press("g")
    keys.press("l")
    expect(page.get_by_role("heading", name="Talk to an agent")).to_be_visible()
    tab_to(page, "/launch/support")
    keys.press("Enter")
    expect(page.get_by_role("heading", name=SUPPORT, level=1)).to_be_visible()
    tab_to(page, "f")
    expect(page.get_by_label("Your message")).to_be_focused()
    # Enter is a new line, as in every other field of more than one line.
    keys.type("Please refund my lamp, A-4721.")
    keys.press("Enter")
    keys.type("It broke.")
    keys.press("Control+Enter")
    page.wait_for_url("**/threads/*")
    expect(page.locator(".bubble-input").first).to_contain_text("It broke.")
    expect(page.locator(".bubble-question").first).to_contain_text("refund")
    # It is on the agent's page now, with what it waits for, and a key leads to the search.
    thread = page.url.partition("#")[0].rpartition("/")[2]
    page = signed_in("cleo").go("/launch/support")
    row = page.locator(f".thread-list a[href$='{thread}']")
    expect(row).to_contain_text("Please refund my lamp, A-4721. It broke.")
    expect(row).to_contain_text("support wants to call refund")
    page.keyboard.press("/")
    page.keyboard.type("nothing like that")
    page.keyboard.press("Enter")
    expect(page.get_by_text("None of your conversations begins like that")).to_be_visible()


def test_a_conversation_in_the_list_follows_what_happens_to_it(signed_in: SignedIn) -> None:
    cleo, other = signed_in("cleo"), signed_in("cleo")
    page = cleo.go("/launch/support")
    cleo.live()
    page.get_by_label("Your message").fill("What I am writing meanwhile")
    begun = other.go("/launch/support")
    begun.get_by_label("Your message").fill("Where is my order Q-77?")
    begun.get_by_role("button", name="Send").click()
    begun.wait_for_url("**/threads/*")
    row = page.locator(".thread-list li").first
    expect(row).to_contain_text("Where is my order Q-77?")
    expect(row).to_contain_text("I cannot find an order Q-77.")
    expect(page.get_by_label("Your message")).to_have_value("What I am writing meanwhile")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1440])
def test_axe_finds_nothing_on_an_agents_page(width: int, theme: str, signed_in: SignedIn) -> None:
    tab = signed_in("cleo", width, color_scheme=theme)
    found = {}
    for address in ("/launch", "/launch/support", "/launch/research", "/launch/support?q=nothing+of+it"):
        page = tab.go(address)
        if page.locator(".about").count():
            page.locator(".about > summary").click()
        found[address] = violations(page)
        assert tab.overflow() == 0
    page.get_by_role("button", name="Send").evaluate("button => button.formNoValidate = true")
    page.get_by_role("button", name="Send").click()
    expect(page.locator("[data-problems]")).to_be_focused()
    found["422"] = violations(page)
    assert {address: problems for address, problems in found.items() if problems} == {}
