"""axe finds nothing on any page, light and dark, at a phone's width and at a desk's."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import SignedIn, Tab, start_case

AXE = (Path(__file__).parent / "vendor/axe-core/axe.min.js").read_text(encoding="utf-8")
RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}


def violations(page: Page) -> list[str]:
    # A page opens at its question; what is half under the sticky header there is whole at the top.
    # At once: axe must not look while the page still glides there.
    places = "[window, ...document.querySelectorAll('#pane')]"
    page.evaluate(f"for (const one of {places}) one.scrollTo({{ top: 0, behavior: 'instant' }})")
    page.evaluate(AXE)
    found = page.evaluate("rules => axe.run(document, rules)", RULES)["violations"]
    return [
        f"{one['id']}: {node['html'][:160]} {node.get('failureSummary', '')[:200]}"
        for one in found
        for node in one["nodes"]
    ]


def addresses(tab: Tab) -> list[str]:
    """Every kind of page, out of what the installation holds."""
    closed = tab.go("/inbox?view=closed").locator(".row-link").first.get_attribute("href")
    rows = tab.go("/inbox").locator(".row-link").evaluate_all("all => all.map(one => one.getAttribute('href'))")
    thread = tab.go("/threads").locator(".thread-list a").first.get_attribute("href")
    tabs = [f"{thread}?tab={name}" for name in ("conversation", "timeline", "state", "questions", "audit")]
    item = "/inbox?item=" + rows[0].partition("?")[0].rpartition("/")[2]
    plain = [
        "/inbox",
        "/inbox?q=zzz+older:2h",
        "/threads",
        "/launch",
        "/launch/release",
        "/queues",
        "/queues/payments",
        "/delegations",
        rows[0].partition("?")[0] + "/why",
        "/accounts/password/",
        "/nonsense",
    ]
    return [*plain, item, *rows[:5], *([closed] if closed else []), *tabs]


@pytest.fixture(scope="module")
def prepared() -> set[str]:
    return set()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1440])
def test_axe_finds_nothing(width: int, theme: str, signed_in: SignedIn, prepared: set[str]) -> None:
    for case in {"widgets", "nested", "long"} - prepared:
        address = start_case(signed_in("cleo"), case)
        prepared.add(case)
        if case == "long":
            closing = signed_in("ana").go(address)
            closing.locator(".bar").get_by_role("button", name="Approve").click()
            expect(closing.locator("#receipt")).to_be_visible()
    signed_out = signed_in("", width, color_scheme=theme)
    found = {"/accounts/login/": violations(signed_out.go("/accounts/login/"))}
    tab = signed_in("ana", width, color_scheme=theme).live()
    for address in addresses(tab):
        found[address] = violations(tab.go(address))
    tab.go("/launch/refund").get_by_role("button", name="Start").evaluate("button => button.formNoValidate = true")
    tab.page.get_by_role("button", name="Start").click()
    expect(tab.page.locator("[data-problems]")).to_be_visible()
    found["422"] = violations(tab.page)
    tab.page.get_by_text("Account and appearance").locator("xpath=..").click()
    found["menu"] = violations(tab.page)
    assert {address: problems for address, problems in found.items() if problems} == {}
