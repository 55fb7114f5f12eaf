"""A conversation with an agent, as the person who talks and the one who decides see it."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import SignedIn, Tab
from tests.browser.talker import MANY
from tests.browser.test_accessibility import violations


def begin(tab: Tab, text: str) -> Page:
    page = tab.go("/launch/talker")
    page.locator("main form textarea").fill(text)
    page.locator("main form [data-act=start]").click()
    page.wait_for_url("**/threads/*")
    return page


def test_a_conversation_is_seen_as_it_happens_and_goes_on(signed_in: SignedIn) -> None:
    cleo, ana = signed_in("cleo"), signed_in("ana").live()
    page = begin(cleo, "Please delete a.txt")
    writing = page.locator(".is-writing")
    expect(writing.locator("strong")).to_have_text("long story")
    page.locator("#say").fill("What I type meanwhile")
    expect(page.locator(".say button")).to_be_disabled()
    # The question comes without a reload, what was written stands above it, and nothing is being written any more.
    expect(page.locator(".bubble-question .is-open")).to_contain_text("talker wants to call delete")
    expect(page.locator(".tcard-state")).to_have_text("waits for a decision")
    expect(writing).to_have_count(0)
    expect(page.locator("#say")).to_have_count(0)
    expect(page.locator(".say")).to_contain_text("A remark is for the team; it answers nothing.")
    page.locator("#remark").fill("yes, delete it")
    page.get_by_role("button", name="Add remark").click()
    expect(page.locator(".bubble-comment")).to_contain_text("yes, delete it")
    expect(page.locator(".bubble-question .is-open")).to_have_count(1)

    row = ana.page.locator(".qrow", has_text="talker wants to call delete").first
    row.locator("a").click()
    ana.page.locator(".bar").get_by_role("button", name="Approve delete").click()
    expect(page.locator(".bubble-receipt")).to_contain_text("Ana Costa")
    expect(page.locator(".tcard-state")).to_have_text("done")
    expect(page.locator(".bubble-node").last).to_contain_text("What else?")
    # What was being typed when the agent began to wait is still there.
    expect(page.locator("#say")).to_have_value("What I type meanwhile")
    page.locator("#say").fill("Nothing, thanks")
    page.locator("#say").press("Control+Enter")
    expect(page.locator(".bubble-input").last).to_contain_text("Nothing, thanks")
    expect(page.locator(".bubble-node").last).to_contain_text("That was all.")
    expect(page.locator(".bubble-node img, .bubble-node script, a[href^='javascript']")).to_have_count(0)
    assert page.title().startswith("Talker")


@pytest.mark.parametrize("width", [360, 1440])
def test_a_long_conversation_opens_at_its_end_and_loads_the_earlier_part(signed_in: SignedIn, width: int) -> None:
    tab = signed_in("cleo", width=width)
    page = begin(tab, f"count {width}")
    expect(page.locator(".bubble-node").last).to_contain_text("That was all.", timeout=60_000)
    page.goto(page.url.partition("#")[0])
    expect(page.locator(".bubble-node").last).to_be_in_viewport()
    assert page.locator(".bubble-input").count() == 0 and tab.overflow() == 0
    shown = page.locator(".tcard").first.inner_text()
    # The earlier part comes as one scrolls up to it, and what was read stays where it was.
    page.mouse.move(width / 2, 200)
    page.mouse.wheel(0, -100_000)
    expect(page.locator(".bubble-input")).to_contain_text(f"count {width}")
    expect(page.locator(".tcard")).to_have_count(MANY)
    expect(page.locator(".tcard", has_text=shown.split("\n")[1])).not_to_have_count(0)
    assert page.locator(".bubble-node", has_text="Step 0").count() == 1 and page.locator(".day").count() == 1
    expect(page.locator("[data-older]")).to_have_count(0)


def test_a_long_conversation_can_be_read_without_a_script(signed_in: SignedIn) -> None:
    page = begin(signed_in("cleo"), "count for readers")
    expect(page.locator(".bubble-node").last).to_contain_text("That was all.", timeout=60_000)
    address = page.url.partition("#")[0].partition("/threads/")[2]
    plain = signed_in("cleo", java_script_enabled=False)
    plain.go(f"/threads/{address}")
    plain.page.get_by_role("link", name="Show earlier messages").click()
    expect(plain.page.locator(".bubble-input")).to_contain_text("count for readers")
    plain.page.get_by_role("link", name="Back to the newest messages").click()
    expect(plain.page.locator(".bubble-node").last).to_contain_text("That was all.")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 768])
def test_axe_finds_nothing_in_a_chat(signed_in: SignedIn, width: int, theme: str) -> None:
    tab = signed_in("ana", width=width, color_scheme=theme)
    page = begin(tab, "Please delete b.txt")
    expect(page.locator(".is-writing strong")).to_have_text("long story")
    assert (violations(page), tab.overflow()) == ([], 0)
    expect(page.locator(".bubble-question .is-open")).to_be_visible()
    page.locator(".tcard > summary").click()
    assert (violations(page), tab.overflow()) == ([], 0)
    page.locator(".asked-foot a").click()
    page.locator(".bar").get_by_role("button", name="Approve delete").click()
    expect(page.locator("#receipt")).to_be_visible()
    page.go_back()
    expect(page.locator(".bubble-node").last).to_contain_text("What else?")
    assert (violations(page), tab.overflow()) == ([], 0)


def test_who_decides_sees_on_the_review_page_what_the_agent_writes_then(signed_in: SignedIn) -> None:
    page = begin(signed_in("ana"), "Please delete c.txt")
    page.locator(".asked-foot a").click()
    page.locator(".bar").get_by_role("button", name="Approve delete").click()
    expect(page.locator(".is-writing")).to_contain_text("It is")
    expect(page.locator(".talk-after .bubble-node").last).to_contain_text("What else?")
    expect(page.locator(".is-writing")).to_have_count(0)
