"""What a page hears, and what it does when it hears nothing."""

from __future__ import annotations

import pytest
from playwright.sync_api import Route, expect

from tests.browser.conftest import SignedIn, start_case, start_refund
from tests.processes.installation import Installation, kill, wait_for


def test_an_idle_socket_still_rings(signed_in: SignedIn) -> None:
    ana, cleo = signed_in("ana").live(), signed_in("cleo")
    sockets: list[str] = []
    ana.page.on("websocket", lambda socket: sockets.append(socket.url))
    # Eight seconds are longer than the silence after which a client drops an idle connection to Redis.
    ana.page.wait_for_timeout(8_000)
    start_refund(cleo, "IDLE-1")
    expect(ana.page.locator(".qrow", has_text="IDLE-1")).to_be_visible()
    assert sockets == []


def test_f31_a_restart_of_redis_loses_nothing(signed_in: SignedIn, installation: Installation) -> None:
    ana, cleo = signed_in("ana").live(), signed_in("cleo").live()
    (server,) = installation.kinds()["redis"]
    kill(server)
    wait_for(lambda: [one for one in installation.kinds()["redis"] if one.pid != server.pid], "Redis is started again")
    start_refund(cleo, "BELL-1")
    expect(ana.page.locator(".qrow", has_text="BELL-1")).to_be_visible(timeout=90_000)
    ana.page.locator(".qrow", has_text="BELL-1").locator("a").click()
    ana.page.locator(".bar").get_by_role("button", name="Approve").click()
    expect(cleo.page.locator("[data-progress=completed]")).to_be_visible(timeout=90_000)


def test_without_a_socket_the_page_polls_and_says_so(signed_in: SignedIn) -> None:
    ana, cleo = signed_in("ana"), signed_in("cleo")
    ana.page.route_web_socket("**/ws/", lambda socket: socket.close())
    # The shortest waits between two attempts: whatever an attempt does, the polling must live through it.
    ana.page.add_init_script("Math.random = () => 0.001")
    ana.go("/inbox")
    expect(ana.page.locator("[data-live=polling]")).to_be_attached()
    start_refund(cleo, "POLL-1")
    expect(ana.page.locator(".qrow", has_text="POLL-1")).to_be_visible()


def test_u06_a_failed_refresh_keeps_the_rows_and_tells_their_age(signed_in: SignedIn) -> None:
    ana = signed_in("ana").live()
    rows = ana.page.locator(".qrow").count()
    broken = True

    def fail(route: Route) -> None:
        if broken and route.request.headers.get("x-parts"):
            route.abort()
        else:
            route.continue_()

    ana.page.route("**/inbox*", fail)
    ana.page.evaluate("document.dispatchEvent(new CustomEvent('sayso:resync'))")
    expect(ana.page.locator("[data-stale]")).to_contain_text("Showing data from")
    assert ana.page.locator(".qrow").count() == rows > 0
    broken = False
    ana.page.evaluate("document.dispatchEvent(new CustomEvent('sayso:resync'))")
    expect(ana.page.locator("[data-stale]")).to_be_hidden()


def test_arrivals_do_not_move_rows_under_the_cursor(signed_in: SignedIn) -> None:
    ana, cleo = signed_in("ana").live(), signed_in("cleo")
    ana.page.locator(".qrow").first.hover()
    first = ana.page.locator(".qrow").first.get_attribute("data-id")
    start_refund(cleo, "PILL-1")
    expect(ana.page.locator("[data-pill]")).to_have_text("1 new")
    assert ana.page.locator(".qrow").first.get_attribute("data-id") == first
    ana.page.locator("[data-pill]").click()
    expect(ana.page.locator(".qrow").first).to_contain_text("PILL-1")


def test_u09_a_question_that_expires_leaves_row_and_counter(signed_in: SignedIn) -> None:
    ana, cleo = signed_in("ana").live(), signed_in("cleo")
    address = start_case(cleo, "expiring")
    row = ana.page.locator(f".qrow[data-id='{address.rpartition('/')[2]}']")
    expect(row).to_be_visible()
    expect(row).to_have_count(0)
    expect(cleo.page.locator("[data-progress=completed]")).to_be_visible()
    badge = ana.page.locator(".rail-item", has_text="Payments").locator(".count")
    ana.page.wait_for_function("() => !document.querySelector('.qrow.is-gone')")
    ana.go("/inbox?queue=payments")
    assert ana.page.locator(".qrow").count() == int(badge.inner_text())


def test_u07_badge_view_and_queue_count_what_the_list_shows(signed_in: SignedIn) -> None:
    ana, cleo = signed_in("ana").live(), signed_in("cleo")
    page = ana.page
    badge = page.locator("[data-open-count]")
    view = page.locator(".rail-item[href='/inbox'] .count")
    before = page.locator(".qrow").count()
    start_refund(cleo, "COUNT-1")
    expect(page.locator(".qrow", has_text="COUNT-1")).to_be_visible()
    expect(badge).to_have_text(str(before + 1))
    expect(view).to_have_text(str(before + 1))
    assert page.locator(".qrow").count() == before + 1
    payments = page.locator(".rail-item", has_text="Payments").locator(".count")
    waiting = int(payments.inner_text())
    page.locator(".qrow", has_text="COUNT-1").locator("a").click()
    page.locator(".bar").get_by_role("button", name="Approve").click()
    expect(payments).to_have_text(str(waiting - 1))
    expect(badge).to_have_text(str(before))
    expect(view).to_have_text(str(before))


@pytest.mark.parametrize("press", ["first", "second"])
def test_u13_the_pane_shows_the_row_pressed_last(press: str, signed_in: SignedIn) -> None:
    ana = signed_in("ana").live()
    first, second = ana.page.locator(".row-link").nth(0), ana.page.locator(".row-link").nth(1)
    order = (second, first) if press == "first" else (first, second)
    for link in order:
        link.click(no_wait_after=True)
    wanted = str(order[-1].locator("xpath=..").get_attribute("data-id"))
    expect(ana.page.locator(f"#pane [data-review='{wanted}']")).to_be_visible()
    expect(ana.page.locator("#pane [data-review]")).to_have_count(1)
