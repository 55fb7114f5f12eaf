"""Operating a thread in a browser: by mouse, by keyboard and without a script, on a phone and at a desk."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import SignedIn, Tab, start_case, start_refund
from tests.browser.test_accessibility import violations
from tests.processes.installation import Installation


def paused(page: Page, address: str) -> None:
    page.goto(address)
    expect(page.locator("[data-progress=interrupted]")).to_be_visible()


def as_operator(tab: Tab, installation: Installation) -> Tab:
    """Sign in as the installation's first account, which may everything."""
    name, password = (installation.var / "first-login").read_text(encoding="utf-8").split("\n")[:2]
    page = tab.go("/accounts/login/")
    page.fill("#id_username", name)
    page.fill("#id_password", password)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/inbox")
    return tab


def open_act(page: Page, name: str) -> None:
    page.locator(".act > summary", has_text=name).click()


@pytest.mark.parametrize(("width", "script"), [(360, False), (1440, True)], ids=["phone, no script", "desk"])
def test_a_thread_is_suspended_resumed_and_cancelled(signed_in: SignedIn, width: int, script: bool) -> None:
    tab = signed_in("cleo", width, java_script_enabled=script)
    page = tab.page
    start_refund(tab, f"STEER-{width}-{script}", "900")
    address = page.url
    while page.locator("[data-progress=interrupted]").count() == 0:
        # Without a script nothing tells the page; people press reload.
        page.wait_for_timeout(200)
        page.reload()
    open_act(page, "Suspend")
    expect(page.get_by_text("No further node starts until somebody resumes it.")).to_be_visible()
    page.get_by_label("Reason", exact=False).first.fill("wait for the audit")
    page.get_by_role("button", name="Suspend the thread").click()
    now = page.locator("[data-progress=suspended]")
    expect(now).to_contain_text("wait for the audit")
    expect(now).to_contain_text("Suspended by Cleo Martin")
    assert page.url == address and tab.overflow() == 0
    open_act(page, "Resume")
    page.get_by_role("button", name="Resume the thread").click()
    expect(page.locator("[data-progress=suspended]")).to_have_count(0)
    open_act(page, "Cancel")
    expect(page.get_by_text("Ends the thread for good.")).to_be_visible()
    assert tab.overflow() == 0
    page.get_by_role("button", name="Cancel the thread").click()
    expect(page.locator("[data-progress=cancelled]")).to_be_visible()


@pytest.mark.parametrize(("width", "theme"), [(360, "light"), (360, "dark"), (768, "light"), (1440, "dark")])
def test_axe_finds_nothing_on_the_pages_of_steering(
    signed_in: SignedIn, installation: Installation, width: int, theme: str
) -> None:
    tab = as_operator(signed_in("", width, color_scheme=theme), installation)
    page = tab.page
    start_refund(tab, f"AXE-{width}-{theme}", "900")
    address = page.url
    paused(page, address)
    found: dict[str, list[str]] = {}
    for name in ("Suspend", "Cancel"):
        open_act(page, name)
        found[name] = violations(page)
        assert tab.overflow() == 0
        page.keyboard.press("Escape")
    again = f"/launch/refund?like={address.rpartition('/')[2]}"
    wheres = [address + where for where in ("?tab=checkpoints", "?tab=state", "/fork?step=1", "/fork?step=0")]
    for where in (tab.address + again, *wheres):
        page.goto(where)
        found[where] = violations(page)
        assert tab.overflow() == 0
    page.get_by_label("State it begins with").fill("{")
    page.get_by_role("button", name="Fork the thread").click()
    expect(page.locator("[data-problems]")).to_be_visible()
    found["422"] = violations(page)
    assert {where: problems for where, problems in found.items() if problems} == {}


def test_an_act_opens_and_closes_by_keyboard_alone(signed_in: SignedIn) -> None:
    tab = signed_in("cleo").live()
    page = tab.page
    start_refund(tab, "STEER-KEYS", "900")
    expect(page.locator("[data-progress=interrupted]")).to_be_visible()
    summary = page.locator(".act > summary", has_text="Cancel")
    summary.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Cancel the thread")).to_be_visible()
    page.keyboard.press("Tab")
    page.keyboard.type("are not needed")
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Cancel the thread")).to_be_hidden()
    expect(summary).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#why-cancel-text")).to_have_value("are not needed")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator("[data-progress=cancelled]")).to_contain_text("are not needed")


def test_what_is_being_typed_survives_what_happens_meanwhile(signed_in: SignedIn) -> None:
    cleo, ana = signed_in("cleo").live(), signed_in("ana")
    start_refund(cleo, "STEER-LIVE", "900")
    page = cleo.page
    expect(page.locator("[data-progress=interrupted]")).to_be_visible()
    question = str(page.locator(".now-q a").get_attribute("href"))
    open_act(page, "Cancel")
    page.locator("#why-cancel-text").fill("half a reason")
    ana.go(question)
    ana.page.locator("#remark").fill("a remark")
    ana.page.get_by_role("button", name="Add remark").click()
    expect(page.locator(".talk")).to_contain_text("a remark")
    expect(page.locator("#why-cancel-text")).to_have_value("half a reason")
    expect(page.get_by_role("button", name="Cancel the thread")).to_be_visible()


def test_e25_a_fork_is_made_and_both_lead_to_each_other(signed_in: SignedIn, installation: Installation) -> None:
    tab, ana = as_operator(signed_in(""), installation), signed_in("ana")
    question = start_case(tab, "nested")
    parent = tab.page.url
    ana.go(question)
    ana.page.locator(".bar").get_by_role("button", name="Approve").click()
    expect(ana.page.locator("#receipt")).to_be_visible()
    page = tab.page
    page.goto(parent + "?tab=checkpoints")
    page.get_by_role("link", name="Fork from here checkpoint 0").click()
    expect(page.get_by_text("Its questions are asked again")).to_be_visible()
    page.get_by_role("button", name="Fork the thread").click()
    expect(page.locator(".kin")).to_contain_text("Forked from")
    expect(page.locator(".now-q a")).to_be_visible()
    page.locator(".kin a").click()
    expect(page.locator(".kin")).to_contain_text("Forked at checkpoint 0")
    expect(page.locator("[data-progress=completed]")).to_be_visible()
