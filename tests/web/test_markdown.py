"""What agents write as markdown can be read, and can do nothing (S05)."""

from __future__ import annotations

import re
from html import unescape

import pytest
from django.template import Context, Template
from django.utils import translation

from graphs.web import markdown
from graphs.web.markdown import rendered
from tests.web.test_hostile import VECTORS, Reader

REL = 'rel="noopener nofollow noreferrer"'
#: Every tag that may come out, with every attribute; anything else is a hole.
ALLOWED = re.compile(
    r"""</?(?:p|br|hr|ul|ol|li|blockquote|pre|code|em|strong|s|table|thead|tbody|tr|th|td|div|span|a)>"""
    r"""|<a href="(?:https?://|mailto:)[^"<>\s]+" rel="noopener nofollow noreferrer">"""
    r"""|<ol start="\d{1,9}">|<p class="(?:md-head-[123]|md-cut|plain)">|<span class="md-note">"""
    r"""|<t[hd] class="md-(?:right|center)">|<div class="md" dir="auto">"""
    r"""|<div class="tablebox" tabindex="0" role="group" aria-label="Table">"""
)


def inside(text: str) -> str:
    """The HTML of a text, without the box around it."""
    html = str(rendered(text))
    assert html.startswith('<div class="md" dir="auto">') and html.endswith("</div>")
    for tag in re.findall(r"<[^>]*>?", html):
        assert ALLOWED.fullmatch(tag), tag
    return html.removeprefix('<div class="md" dir="auto">').removesuffix("</div>").strip()


def read(text: str) -> str:
    """What a person reads of it."""
    return " ".join(unescape(re.sub(r"<[^>]+>", "", inside(text))).split())


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("*soft* **loud** ~~gone~~ `x < y`", "<em>soft</em> <strong>loud</strong> <s>gone</s> <code>x &lt; y</code>"),
        ("one\ntwo", "<p>one<br>\ntwo</p>"),
        ("- a\n- b", "<ul>\n<li>a</li>\n<li>b</li>\n</ul>"),
        ("7. a\n8. b", '<ol start="7">\n<li>a</li>\n<li>b</li>\n</ol>'),
        ("> said", "<blockquote>\n<p>said</p>\n</blockquote>"),
        ("```python\nprint('<b>')\n```", "<pre><code>print('&lt;b&gt;')\n</code></pre>"),
        ("a\n\n---\n\nb", "<hr>"),
        ("Tom & Jerry, 3 < 4", "Tom &amp; Jerry, 3 &lt; 4"),
    ],
)
def test_marks_become_html(text: str, html: str) -> None:
    assert html in inside(text)


def test_the_filter_gives_the_same(db: None) -> None:
    assert Template("{{ text|markdown }}").render(Context({"text": "**hi** <b>"})) == str(rendered("**hi** <b>"))


def test_headings_do_not_enter_the_outline_of_the_page() -> None:
    html = inside("# One\n\n## Two\n\n### Three\n\n###### Six\n\nSeven\n=====")
    assert not re.search(r"<h\d", html)
    assert re.findall(r'<p class="(md-head-\d)">(\w+)</p>', html) == [
        ("md-head-1", "One"),
        ("md-head-2", "Two"),
        ("md-head-3", "Three"),
        ("md-head-3", "Six"),
        ("md-head-1", "Seven"),
    ]


def test_a_table_scrolls_by_keyboard_and_is_aligned_without_style() -> None:
    html = inside("| Item | Price | |\n|---|--:|:-:|\n| tea | 3 | x |")
    assert html.startswith('<div class="tablebox" tabindex="0" role="group" aria-label="Table"><table>')
    assert '<th class="md-right">Price</th>' in html and '<td class="md-right">3</td>' in html
    # A header cell without words heads nothing.
    assert html.count("</th>") == 2 and '<td class="md-center"></td>' in html


@pytest.mark.parametrize("vector", VECTORS)
def test_s05_raw_html_stays_text(vector: str) -> None:
    html = inside(vector)
    assert [found for found in Reader(html).found if not found.startswith("a http")] == []
    for part in re.findall(r"<[^>]+>", vector):
        assert " ".join(part.split()).replace("\u2028", "") in read(vector)


REFUSED = [
    "javascript:alert(1)",
    "JaVaScRiPt:alert(1)",
    "java&#115;cript:alert(1)",
    "&#x6A;avascript:alert(1)",
    "&#106&#97;vascript:alert(1)",
    "javascript&colon;alert(1)",
    "java\\script:alert(1)",
    "&#1;javascript:alert(1)",
    "<java\tscript:alert(1)>",
    "< javascript:alert(1)>",
    "vbscript:msgbox(1)",
    "data:text/html;base64,PHNjcmlwdD4=",
    "data:image/svg+xml;base64,PHN2Zz4=",
    "data:image/png;base64,AAAA",
    "file:///etc/passwd",
    "blob:https://x.example/1",
    "intent://x#Intent;scheme=http;end",
    "//evil.example",
    "/\\evil.example",
    "\\\\evil.example",
    "/accounts/logout/",
    "?act=approve",
    "#say",
    "",
    "https:evil.example",
    "https:/evil.example",
    "https:\\\\evil.example",
    "https://bank.example@evil.example",
    "https://bank.example:x@evil.example",
    "https://bank.example%2f@evil.example",
    "https://bank.example\\@evil.example",
    "https://%65vil.example",
    "https://evil.example%00",
    "https://",
    "https://evil.example:999999",
    "mailto:a@bank.example?bcc=b@evil.example",
    "mailto:a@bank.example,b@evil.example",
    "mailto:nobody",
    "https://evil.example/" + "x" * 2_000,
]


@pytest.mark.parametrize("target", REFUSED)
def test_s05_addresses_that_are_not_plainly_the_webs_or_mails_are_left_out(target: str) -> None:
    for text in (f"[words]({target})", f"![words]({target})", f"[![words]({target})]({target})"):
        html = inside(text)
        assert "<a" not in html and "words" in read(text)
    assert "<a" not in inside(f"<{target}>")


@pytest.mark.parametrize("target", REFUSED)
def test_s05_a_named_address_is_no_way_around(target: str) -> None:
    assert "<a" not in inside(f"[words][1] [words]\n\n[1]: {target}\n[words]: {target}")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("[https://bank.example](https://evil.example)", "evil.example"),
        ("[bank.example](https://evil.example/bank.example)", "evil.example"),
        ("[bank.example/evil.example](https://evil.example)", "evil.example"),
        ("[bank.example or evil.example](https://evil.example)", "evil.example"),
        ("[bank.example\\\\evil.example](https://evil.example)", "evil.example"),
        ("[evil.example@bank.example](https://evil.example)", "evil.example"),
        ("[https://bank.example:443](https://bank.example:8443)", "bank.example:8443"),
        ("[b\u0430nk.example](https://b\u0430nk.example)", "xn--bnk-6cd.example"),
        ("[bank.example\u200b](https://bank.example.evil.example)", "bank.example.evil.example"),
        ("[here](http://10.0.0.1/x)", "10.0.0.1"),
        ("**[*bank*.`example`](https://evil.example 'https://bank.example')**", "evil.example"),
        ("[help@bank.example](mailto:help@evil.example)", "help@evil.example"),
        ("[![bank.example](https://bank.example/logo.png)](https://evil.example)", "evil.example"),
    ],
)
def test_a_disguised_address_shows_where_it_leads(text: str, shown: str) -> None:
    assert f'</a> <span class="md-note">({shown})</span>' in inside(text)
    assert "title=" not in inside(text)


@pytest.mark.parametrize(
    "text",
    [
        "<https://shop.example/a?b=c#d>",
        "[https://shop.example/a](https://shop.example/b)",
        "[shop.example](https://shop.example)",
        "[SHOP.example/x](https://shop.EXAMPLE/y)",
        "<jo@shop.example>",
        "[jo@shop.example](mailto:jo@shop.example)",
        "[](https://shop.example)",
    ],
)
def test_an_address_in_the_open_is_not_repeated(text: str) -> None:
    html = inside(text)
    assert html.count("<a ") == html.count(REL) == 1 and "md-note" not in html and "target" not in html
    assert "shop.example" in read(text).lower()


def test_an_address_without_marks_stays_text() -> None:
    assert inside("see https://shop.example/x and www.shop.example") == (
        "<p>see https://shop.example/x and www.shop.example</p>"
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("![a chart](https://cdn.example/c.png)", "a chart (picture, cdn.example)"),
        ("![](https://cdn.example/c.png)", "picture (picture, cdn.example)"),
        ("![cdn.example](https://cdn.example/c.png)", "cdn.example (picture, cdn.example)"),
        ("[![logo](https://cdn.example/c.png)](https://shop.example)", "logo (picture, cdn.example) (shop.example)"),
        ("![x](data:image/png;base64,AAAA)", "x (picture left out)"),
    ],
)
def test_s05_pictures_are_never_fetched(text: str, words: str) -> None:
    assert "<img" not in inside(text) and "src" not in inside(text) and read(text) == words
    assert inside(text).count("<a") == inside(text).count("</a>") <= 1


@pytest.mark.parametrize(
    "mark",
    [
        "\u202e",
        "\u202a",
        "\u2066",
        "\u2069",
        "&#x202e;",
        "&#8238;",
        "&#x2067;",
        "\x00",
        "\x1b",
        "\x85",
        "\ud800",
        "&#0;",
    ],
)
def test_characters_that_turn_or_hide_others_are_shown_as_such(mark: str) -> None:
    for text in (f"pay {mark}exe.fdp", f"```\npay {mark} x\n```", f"[pay {mark}](https://x.example)", f"`a {mark}`"):
        html = inside(text)
        assert not markdown.UNFIT.search(html)
        assert "\ufffd" in html or "&amp;" in html  # in code an entity is no character
        html.encode()


def test_escaped_marks_in_an_address_are_not_unescaped_to_be_read() -> None:
    assert read("<https://x.example/%E2%80%AEfdp.exe>") == "https://x.example/%E2%80%AEfdp.exe"


def test_letters_of_every_script_stay() -> None:
    for text in ("שלום עולם\u200f!", "مرحبا بالعالم\u061c", "日本語 한국어", "👩‍👩‍👧 🇬🇧", "e\u0301 ½ “quoted”"):
        assert text in inside(text)


@pytest.mark.parametrize(
    "text",
    [
        ">" * 10_000 + " deep",
        "> " * 9_000 + "deep",
        "- " * 60 + "deep",
        "1. " * 5_000 + "deep",
        "".join(f"{'  ' * depth}- item {depth}\n" for depth in range(60)) + "deep",
        "[" * 10_000 + "deep",
        "![" * 9_000 + "deep",
        "[deep](" * 2_000,
        "[x](https://x.example) " * 800 + "deep",
        "*deep " * 3_000,
        "_" * 9_000 + "deep" + "_" * 9_000,
        "x" + "~~" * 4_000 + "deep" + "~~" * 4_000,
        "x" + "`" * 9_999 + "deep",
        "<" * 10_000 + "deep",
        "&#x3c;" * 3_000 + "deep",
        "\\" * 10_000 + "deep",
        "deep|" + "a|" * 300 + "\n" + "-|" * 301 + "\n" + "x\n" * 9_000,
        "deep|" + "a|" * 4_000 + "\n" + "-|" * 4_001,
        "deep\n=\n" * 2_000,
        "\n" * 15_000 + "deep",
        "deep\u0301" + "\u0301" * 15_000,
    ],
)
def test_no_text_is_too_odd_to_be_shown_whole(text: str) -> None:
    html = inside(text)
    assert "deep" in html
    # In proportion to what was written: no short text makes a page of megabytes.
    assert len(html) < 12 * len(text) + 1_000


def test_what_nests_too_deep_is_shown_as_it_was_written() -> None:
    text = "> " * 40 + "the end"
    assert inside(text) == f'<p class="plain">{"&gt; " * 40}the end</p>'
    assert inside("> " * 9 + "the end").count("<blockquote>") == 9


def test_a_long_text_is_cut_at_a_line_and_says_so() -> None:
    text = "".join(f"line {number} of many\n" for number in range(3_000))
    html = inside(text)
    assert f"the whole text has {len(text):,} characters" in read(text) and len(html) < 2 * markdown.MOST
    *_, last, note = html.split("\n")
    assert re.fullmatch(r"line \d+ of many</p>", last) and note.startswith('<p class="md-cut">')
    assert "Cut here" not in read("x" * markdown.MOST) and "Cut here" in read("x" * (markdown.MOST + 1))


def test_a_cut_inside_of_code_leaves_nothing_open() -> None:
    html = inside("```\n" + "<b> & \n" * 9_000)
    assert html.count("<pre>") == html.count("</pre>") == 1
    assert html.index("</pre>") < html.index("md-cut")


def test_a_failure_inside_shows_the_words(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    def fails(text: str) -> str:
        raise RecursionError

    monkeypatch.setattr(markdown, "_html", fails)
    assert inside("**never seen** before <i>") == '<p class="plain">**never seen** before &lt;i&gt;</p>'
    assert "could not be rendered as markdown" in caplog.text and "never seen" not in caplog.text


def test_what_is_no_text_is_shown_as_one() -> None:
    assert read(None) == "None" and inside("") == ""  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("# Hello\n\nsome *soft* `x` [here](https://evil.example)\nand on", "Hello some soft x here and on"),
        ("| a | b |\n|---|---|\n| 1 | 2 |", "a b 1 2"),
        ("```\ncode  here\n```", "code here"),
        ("![a chart](https://cdn.example/c.png) <b>", "a chart <b>"),
        ("turned \u202e &#x202e;", "turned \ufffd \ufffd"),
        ("", ""),
        ("[" * 5_000, "[" * 5_000),
        ("> " * 40 + "deep", "> " * 39 + "> deep"),
    ],
)
def test_a_text_on_one_line_has_no_marks(text: str, line: str) -> None:
    assert markdown.words(text) == line


def test_a_table_is_named_in_each_readers_language(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "| a |\n| - |\n| one more table |"
    monkeypatch.setattr(
        markdown, "_", lambda word: {"Table": 'Tab"elle'}[word] if translation.get_language() == "de" else word
    )
    with translation.override("de"):
        assert 'aria-label="Tab&quot;elle"' in rendered(text)
    with translation.override("en"):
        assert 'aria-label="Table"' in rendered(text)
