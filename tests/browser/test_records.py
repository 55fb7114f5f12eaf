"""The rooms of the records, as an operator has them: what was decided, the chain, and the numbers."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import PASSWORD, SignedIn, Tab
from tests.browser.test_accessibility import violations
from tests.processes.installation import Installation

OPERATOR = f"""
from django.contrib.auth.models import Permission, User
user, made = User.objects.get_or_create(username="olga")
user.set_password({PASSWORD!r})
user.save()
user.user_permissions.add(Permission.objects.get(codename="operate_thread"))
"""


@pytest.fixture(scope="module", autouse=True)
def operator(installation: Installation) -> None:
    installation.manage("shell", "-c", OPERATOR, check=True)


def reject_one(tab: Tab) -> str:
    """Decide a question of the inbox, and return its address."""
    page = tab.live().go("/inbox?q=graph:refund")
    address = str(page.locator(".row-link").first.get_attribute("href")).partition("?")[0]
    page = tab.go(address)
    page.locator("[name=comment]").first.fill("Not with these photos")
    page.locator(".bar").get_by_role("button", name="Reject").click()
    expect(page.locator("#receipt")).to_be_visible()
    return address


@pytest.fixture(scope="module")
def decided() -> list[str]:
    return []


@pytest.fixture(autouse=True)
def one_decision(decided: list[str], signed_in: SignedIn) -> None:
    if not decided:
        decided.append(reject_one(signed_in("ana")))


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1440])
def test_u18_the_rooms_fit_every_width_and_axe_finds_nothing(width: int, theme: str, signed_in: SignedIn) -> None:
    tab = signed_in("olga", width, color_scheme=theme)
    for address in ("/decisions?show=all", "/decisions", "/audit", "/audit?since=x", "/insights", "/audit?actor=zz"):
        page = tab.go(address)
        assert tab.overflow() <= 0, address
        assert violations(page) == [], address


def test_the_charts_are_drawn_from_the_table_that_stands_below_them(signed_in: SignedIn) -> None:
    page = signed_in("olga").go("/insights?days=7")
    expect(page.locator(".chart canvas")).to_have_count(2)
    expect(page.locator(".chart .u-legend").first).to_contain_text("Came in")
    page.get_by_text("The same as a table").click()
    expect(page.locator("table[data-table=days] tbody tr")).to_have_count(7)
    expect(page.locator("table[data-table=days] tbody tr").last.locator("td").nth(1)).not_to_have_text("0")


def test_without_a_script_the_numbers_are_there_all_the_same(signed_in: SignedIn) -> None:
    page = signed_in("olga", java_script_enabled=False).go("/insights")
    expect(page.get_by_role("heading", name="Day by day")).to_be_visible()
    expect(page.locator(".chart").first).to_be_hidden()
    page.get_by_text("The same as a table").click()
    expect(page.locator("table[data-table=days] tbody tr").first).to_be_visible()


def test_the_chain_is_verified_and_taken_along(signed_in: SignedIn, installation: Installation, tmp_path: Path) -> None:
    page = signed_in("olga").go("/audit?action=decide")
    with page.expect_download() as started:
        page.get_by_role("button", name="CSV").click()
    started.value.save_as(tmp_path / "audit.zip")
    assert "is intact" in installation.manage("verify_evidence", str(tmp_path / "audit.zip"), check=True).stdout
    page.get_by_role("button", name="Verify chain").click()
    expect(page.get_by_role("status").filter(has_text="The chain holds")).to_be_visible()


def test_the_evidence_of_a_decision_is_one_click_away(
    signed_in: SignedIn, installation: Installation, tmp_path: Path, decided: list[str]
) -> None:
    page = signed_in("ana").go("/decisions")
    expect(page.get_by_text("Not with these photos").first).to_be_visible()
    with page.expect_download() as started:
        page.get_by_role("button", name="Evidence").first.click()
    started.value.save_as(tmp_path / "pack.zip")
    assert "is intact" in installation.manage("verify_evidence", str(tmp_path / "pack.zip"), check=True).stdout
    (tmp_path / "pack.zip").write_bytes((tmp_path / "pack.zip").read_bytes()[:-200])
    assert installation.manage("verify_evidence", str(tmp_path / "pack.zip")).returncode == 1
    page = signed_in("ana").go(decided[0])
    page.locator(".review-menu > summary").click()
    with page.expect_download():
        page.get_by_role("button", name="Download evidence").click()
