"""Several people at one list: claims, teams that somebody leaves, zones, and a worker that stands still."""

from __future__ import annotations

import re
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import PASSWORD, SignedIn, start_case, start_refund
from tests.processes.installation import Installation

ZONES = ["Pacific/Apia", "America/Los_Angeles", "Europe/Berlin"]
JOIN = f"""
from django.contrib.auth.models import User
from graphs.models import ApprovalQueue, QueueMembership, SavedView
queue = ApprovalQueue.objects.get(slug="payments")
dora = User.objects.create_user("dora", password="{PASSWORD}")
QueueMembership.objects.create(queue=queue, user=dora, right="decide")
ana = User.objects.get(username="ana")
view = SavedView.objects.create(owner=ana, queue=queue, title="Ours", query="queue=payments")
print(view.pk)
"""
LEAVE = """
from graphs.models import QueueMembership
QueueMembership.objects.filter(user__username="dora").delete()
"""
TURNS = """async (path) => {
  const token = document.querySelector('[name="csrfmiddlewaretoken"]').value;
  const body = new URLSearchParams({ csrfmiddlewaretoken: token, next: "/inbox" });
  const post = (act) => fetch(`${path}/${act}`, { method: "POST", body });
  const turns = Array.from({ length: 20 }, (_, at) => post(at % 2 ? "release" : "claim"));
  return (await Promise.all(turns)).map((answer) => answer.status);
}"""


def test_u14_twenty_fast_claims_and_releases_end_as_mine_or_nobodys(signed_in: SignedIn) -> None:
    cleo, ana = signed_in("cleo"), signed_in("ana")
    start_refund(cleo, "TURNS-1")
    question = cleo.page.locator(".now-q a")
    expect(question).to_be_visible()
    path = str(question.get_attribute("href"))
    answers = ana.go(path).evaluate(TURNS, path)
    assert len(answers) == 20 and set(answers) <= {200, 403, 409}
    mine = ana.go(path).locator(".holder", has_text="Yours").count() == 1
    for view, here in (("mine", mine), ("unassigned", not mine)):
        ana.go(f"/inbox?view={view}")
        expect(ana.page.locator(".qrow", has_text="TURNS-1")).to_have_count(1 if here else 0)


def test_u15_who_leaves_the_team_is_shown_nothing_of_its_view(signed_in: SignedIn, installation: Installation) -> None:
    cleo = signed_in("cleo")
    start_refund(cleo, "TEAM-1")
    expect(cleo.page.locator(".now-q a")).to_be_visible()
    view = installation.manage("shell", "-v", "0", "-c", JOIN, check=True).stdout.strip()
    dora = signed_in("dora")
    page = dora.go(f"/inbox?queue=payments&saved={view}")
    dora.live()
    expect(page.locator(".qrow", has_text="TEAM-1")).to_be_visible()
    expect(page.locator(".rail")).to_contain_text("Ours")
    installation.manage("shell", "-v", "0", "-c", LEAVE, check=True)
    # Without a reload: the next thing that the page asks for tells it.
    page.evaluate("document.dispatchEvent(new CustomEvent('sayso:resync'))")
    expect(page.locator(".qrow")).to_have_count(0)
    page = dora.go(f"/inbox?queue=payments&saved={view}")
    expect(page.locator("[data-lost]")).to_be_visible()
    expect(page.locator(".qrow")).to_have_count(0)
    expect(page.locator("body")).not_to_contain_text("TEAM-1")


@pytest.mark.parametrize("zone", ZONES)
def test_u26_a_deadline_is_one_instant_in_each_reader_s_zone(zone: str, signed_in: SignedIn) -> None:
    address = start_case(signed_in("cleo"), "due")
    page = signed_in("ana", timezone_id=zone).go(address)
    moment = page.locator(".ask-why time[data-at]").first
    expect(moment).to_have_text(re.compile("GMT|UTC|CES?T|BST"))
    instant = datetime.fromisoformat(str(moment.get_attribute("datetime")))
    local = instant.astimezone(ZoneInfo(zone))
    shown = moment.inner_text()
    hours = int((local.utcoffset() or local - local).total_seconds() // 3600)
    assert f"{local:%H:%M:%S}" in shown and str(local.day) in shown and str(local.year) in shown
    # The offset is that of the day itself, not of today.
    assert f"GMT{hours:+}" in shown or (zone == "Europe/Berlin" and shown.endswith(("CET", "CEST")))
    assert instant.tzinfo is not None


def test_u27_a_decided_question_is_not_pending_while_the_workers_stand_still(
    signed_in: SignedIn, installation: Installation
) -> None:
    cleo, ana, ben = signed_in("cleo"), signed_in("ana").live(), signed_in("ben").live()
    start_refund(cleo, "STILL-1")
    row = ana.page.locator(".qrow", has_text="STILL-1")
    expect(row).to_be_visible()
    expect(ben.page.locator(".qrow", has_text="STILL-1")).to_be_visible()
    stopped = [one for name in ("worker threads", "worker background") for one in installation.kinds()[name]]
    for process in stopped:
        process.suspend()
    try:
        row.locator(".row-link").click()
        expect(ana.page.locator("#pane h1")).to_contain_text("STILL-1")
        ana.page.locator(".bar").get_by_role("button", name="Approve").click()
        expect(ana.page.locator("#receipt")).to_contain_text("approved")
        for tab in (ana, ben):
            tab.go("/inbox")
            expect(tab.page.locator(".qrow").first).to_be_visible()
            expect(tab.page.locator(".qrow", has_text="STILL-1")).to_have_count(0)
            rows = tab.page.locator(".qrow").count()
            expect(tab.page.locator("[data-open-count]")).to_have_text(str(rows))
    finally:
        for process in stopped:
            process.resume()
    expect(cleo.page.locator("[data-progress=completed]")).to_be_visible()
