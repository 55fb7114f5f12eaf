"""What is shown can be read and filled in, at a phone's width and at a desk's."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser import definitions
from tests.browser.conftest import SignedIn, start_case, start_refund

WIDTHS = [360, 1440]


@pytest.mark.parametrize("width", WIDTHS)
def test_u16_a_long_argument_scrolls_in_its_box_and_the_buttons_stay(width: int, signed_in: SignedIn) -> None:
    address = start_case(signed_in("cleo"), "long")
    ana = signed_in("ana", width)
    page = ana.go(address)
    box = page.locator(".long .scrollbox")
    assert box.inner_text().replace("\u00a0", " ") == definitions.LONG
    assert box.evaluate("box => box.scrollHeight > box.clientHeight")
    for name in ("Approve", "Reject"):
        expect(page.locator(".bar").get_by_role("button", name=name)).to_be_in_viewport(ratio=1)
    page.get_by_text("Show all (81 lines").click()
    assert box.evaluate("box => box.scrollHeight <= box.clientHeight + 1")
    assert ana.overflow() <= 0


@pytest.mark.parametrize("width", WIDTHS)
def test_u12_the_last_of_sixty_long_options_can_be_chosen(width: int, signed_in: SignedIn) -> None:
    cleo = signed_in("cleo")
    address = start_case(cleo, "options")
    ana = signed_in("ana", width)
    page = ana.go(address)
    assert page.locator(".choice").count() == 60 and ana.overflow() <= 0
    page.get_by_label(definitions.LABELS[59], exact=True).check()
    page.locator(".bar").get_by_role("button", name="Send answer").click()
    expect(page.locator("#receipt")).to_contain_text("answered")
    expect(cleo.page.locator("[data-progress=completed]")).to_be_visible()
    expect(cleo.page.locator(".talk")).to_contain_text(definitions.LABELS[59])


@pytest.mark.parametrize("width", WIDTHS)
def test_u11_client_and_server_refuse_bad_values_and_keep_what_was_typed(width: int, signed_in: SignedIn) -> None:
    cleo = signed_in("cleo")
    address = start_case(cleo, "widgets")
    ana = signed_in("ana", width)
    page = ana.go(address)
    assert ana.overflow() <= 0
    page.get_by_label("Amount", exact=True).fill("501")
    page.get_by_label("EUR", exact=True).check()
    page.get_by_role("textbox", name="Letter").fill("Dear Jo,\nthank you.")
    page.get_by_role("textbox", name="Rows").fill("[{")
    approve = page.locator(".bar").get_by_role("button", name="Approve")
    approve.click()
    assert page.locator("#f-2f-amount").evaluate("field => field.validity.rangeOverflow")
    page.get_by_label("Amount", exact=True).fill("12.5")
    approve.click()
    problems = page.locator("[data-problems]")
    expect(problems).to_contain_text("This is not JSON")
    expect(problems).to_be_focused()
    expect(page.get_by_role("textbox", name="Letter")).to_have_value("Dear Jo,\nthank you.")
    expect(page.get_by_label("EUR", exact=True)).to_be_checked()
    problems.get_by_role("link", name="Rows").click()
    page.get_by_role("textbox", name="Rows").fill('[{"a": 1}]')
    page.locator(".bar").get_by_role("button", name="Approve").click()
    expect(page.locator("#receipt")).to_contain_text("approved")
    expect(cleo.page.locator("[data-progress=completed]")).to_be_visible()


def test_u05_nested_arguments_show_every_leaf(signed_in: SignedIn) -> None:
    page = signed_in("ana").go(start_case(signed_in("cleo"), "nested"))
    text = page.locator(".facts").inner_text()
    for leaf in ("Jo Park", "Utrecht", "52.09", "leaf"):
        assert leaf in text
    assert "[object Object]" not in page.content()
    page.get_by_role("tab", name="Raw JSON").click()
    expect(page.locator("[data-tab='Raw JSON'] pre")).to_contain_text('"c": "leaf"')


def test_s05_hostile_texts_neither_run_nor_fetch(signed_in: SignedIn) -> None:
    cleo = signed_in("cleo")
    address = start_case(cleo, "hostile")
    ana = signed_in("ana")
    foreign: list[str] = []
    ana.page.on("request", lambda request: None if ana.address in request.url else foreign.append(request.url))
    page = ana.go(address)
    expect(page.locator(".facts")).to_contain_text("<script>")
    assert page.title() != "owned" and not foreign
    page.locator(".bar").get_by_role("button", name="Approve").click()
    expect(page.locator("#receipt")).to_be_visible()
    assert page.title() != "owned" and not foreign


@pytest.mark.parametrize("width", WIDTHS)
def test_u18_no_page_scrolls_sideways(width: int, signed_in: SignedIn) -> None:
    ana = signed_in("ana", width)
    links = ana.go("/threads").locator(".thread-list a").evaluate_all("all => all.map(one => one.getAttribute('href'))")
    rows = ana.go("/inbox").locator(".row-link").evaluate_all("all => all.map(one => one.getAttribute('href'))")
    tabs = [f"{links[0]}?tab={tab}" for tab in ("timeline", "state", "questions", "audit")]
    for path in [
        "/inbox",
        "/inbox?view=closed",
        "/inbox?q=zzz",
        "/threads",
        "/launch",
        "/launch/time_off",
        *tabs,
        *rows[:6],
    ]:
        ana.go(path)
        assert ana.overflow() <= 0, path


def test_the_picture_stays_in_its_box_and_says_where_it_goes_on(signed_in: SignedIn) -> None:
    cleo = signed_in("cleo", 1440)
    start_refund(cleo, "BOX-1")
    for width in (1280, 1440):
        cleo.page.set_viewport_size({"width": width, "height": 900})
        cleo.page.reload()
        picture, nodes = cleo.page.locator(".canvas svg"), cleo.page.locator(".picture .nodes")
        expect(picture.first).to_be_visible()
        box, beside = cleo.page.locator(".canvas").bounding_box(), nodes.bounding_box()
        drawn = picture.first.bounding_box()
        assert box and beside and drawn
        assert box["x"] + box["width"] <= beside["x"] or box["y"] + box["height"] <= beside["y"]
        past = drawn["x"] + drawn["width"] > box["x"] + box["width"] + 1
        assert cleo.page.locator(".canvas.goes-right").count() == past
        assert width != 1280 or not past
