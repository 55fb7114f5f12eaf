"""What agents write as markdown, as HTML that can do nothing: no raw HTML, no addresses but the web's and mail's, none
of them disguised, no pictures fetched. It says nothing of whether the words are true: the page fences them."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import nh3
from django.utils.html import escape, format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from markdown_it import MarkdownIt
from markdown_it.token import Token

log = logging.getLogger(__name__)

#: Longer texts are shown up to here: a message past it is a document, and this is written once per look at a page.
MOST = 20_000
#: Texts up to here are rendered once for all who look at them; longer ones are rare and would fill the memory.
REMEMBERED = 4_000
LONGEST_ADDRESS = 2_000
#: Lists in quotes in lists deeper than this are shown as they were written; the parser would leave out what is inside.
DEEPEST = 20
#: A short row is filled up to its table's width: a few letters a line could make a page of a million cells.
MOST_CELLS = 10_000
#: Each bracket is tried as a link's beginning up to the end of its text: thousands of them would take seconds.
MOST_BRACKETS = 1_000

#: Characters that no text needs and some texts misuse: halves of pairs, controls, and those that turn the direction of
#: what follows them, so that `exe.fdp` reads `pdf.exe` backwards. Marks of direction (U+200E, U+200F, U+061C) stay:
#: Arabic and Hebrew need them, and they move no letter.
UNFIT = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
INSTEAD = "\ufffd"

#: Strict on purpose: no user name, no escaped letters in a host, so that what is read here is what a browser opens.
WEB = re.compile(r"https?://((?:[a-z0-9_-]+\.)*[a-z0-9_-]+\.?(?::\d{1,5})?)(?:[/?#][!-~]*)?", re.IGNORECASE)
MAIL = re.compile(r"mailto:([a-z0-9._+-]+@(?:[a-z0-9-]+\.)*[a-z0-9-]+)", re.IGNORECASE)

TAGS = {"p", "br", "hr", "ul", "ol", "li", "blockquote", "pre", "code", "em", "strong", "s", "a", "div", "span"}
TAGS |= {"table", "thead", "tbody", "tr", "th", "td"}
BOX = {"class": {"tablebox"}, "tabindex": {"0"}, "role": {"group"}}
VALUES = {
    "p": {"class": {"md-head-1", "md-head-2", "md-head-3"}},
    "span": {"class": {"md-note"}},
    "th": {"class": {"md-center", "md-right"}},
    "td": {"class": {"md-center", "md-right"}},
}


def rendered(text: Any) -> SafeString:
    """The text as HTML in a `div.md`. Never raises: what cannot be read as markdown is shown as it was written."""
    source = str(text)
    return _remembered(source, get_language()) if len(source) <= REMEMBERED else _rendered(source)


def words(text: str) -> str:
    """What a reader sees of a text, on one line and without marks: for lists, where it is no more than a hint."""
    source = _cut(_fit(text))
    try:
        tokens = PARSER.parse(source) if source.count("[") <= MOST_BRACKETS else []
    except Exception:
        log.exception("a text of %d characters could not be read as markdown", len(text))
        tokens = []
    found = [_words(one.children) if one.children else one.content for one in tokens if one.content]
    return " ".join(UNFIT.sub(INSTEAD, " ".join(found) or source).split())


def _rendered(text: str) -> SafeString:
    source = _cut(_fit(text))
    try:
        inside = _cleaned(source)
    except Exception:
        # It stands in the middle of a page that a person needs; the words matter more than how they are set.
        log.exception("a text of %d characters could not be rendered as markdown", len(text))
        inside = _as_written(source)
    return format_html('<div class="md" dir="auto">{}{}</div>', inside, _rest(text))


def _as_written(text: str) -> SafeString:
    return format_html('<p class="plain">{}</p>', text)


@lru_cache(maxsize=1_000)
def _remembered(text: str, language: str | None) -> SafeString:
    """A page brings few words of its own into a text, so it is kept by language too."""
    return _rendered(text)


def _fit(text: str) -> str:
    return UNFIT.sub(INSTEAD, text.replace("\r\n", "\n").replace("\r", "\n"))


def _cut(text: str) -> str:
    """At most MOST characters, whole lines where there are any near the end."""
    if len(text) <= MOST:
        return text
    end = text.rfind("\n", MOST - 2_000, MOST)
    return text[: end if end > 0 else MOST]


def _rest(text: str) -> SafeString:
    if len(text) <= MOST:
        return SafeString("")
    told = _("Cut here: the whole text has %(count)s characters.") % {"count": f"{len(text):,}"}
    return format_html('<p class="md-cut">{}</p>', told)


def _cleaned(text: str) -> SafeString:
    """The text's HTML, less whatever is not on the lists; the parser should have made nothing else."""
    html = _html(text)
    if html is None:
        return _as_written(text)
    clean = nh3.clean(
        html,
        tags=TAGS,
        attributes={"a": {"href"}, "ol": {"start"}},
        tag_attribute_values={**VALUES, "div": {**BOX, "aria-label": {_("Table")}}},
        url_schemes={"http", "https", "mailto"},
        url_relative="deny",
        link_rel="noopener nofollow noreferrer",
    )
    # Once more, since markdown writes characters as entities too. Safe, since nothing but the lists is left in it.
    return mark_safe(UNFIT.sub(INSTEAD, clean))  # noqa: S308


def _html(text: str) -> str | None:
    """What the parser makes of a text; None where it would be slow, or nests deeper than the parser reads."""
    if text.count("[") > MOST_BRACKETS:
        return None
    lines = text.split("\n")
    parser = WITHOUT_TABLES if len(lines) * max(line.count("|") for line in lines) > MOST_CELLS else PARSER
    tokens = parser.parse(text)
    if any(token.level >= DEEPEST - 1 for token in tokens):
        return None
    for token in tokens:
        if token.type == "inline":
            token.children = list(_settled(token.children or []))
    return str(parser.renderer.render(_blocks(tokens), parser.options, {}))


def _blocks(tokens: Sequence[Token]) -> list[Token]:
    """Blocks as this page has them. A heading is a line in bold and no heading of the page: an agent must not write
    itself into its outline. Columns are aligned by classes, since the page's policy forbids style."""
    kept: list[Token] = []
    for index, token in enumerate(tokens):
        inside = tokens[index + 1].content if index + 1 < len(tokens) else ""
        if token.type == "heading_open":
            token.attrs["class"] = f"md-head-{min(int(token.tag[1]), 3)}"
        if token.type in ("heading_open", "heading_close"):
            token.tag = "p"
        elif token.type in ("th_open", "td_open"):
            _align(token)
            if not inside:
                token.tag = "td"
        elif token.type == "th_close" and not tokens[index - 1].content:
            token.tag = "td"
        kept.append(token)
    return kept


def _align(cell: Token) -> None:
    side = str(cell.attrs.pop("style", "")).removeprefix("text-align:")
    if side in ("right", "center"):
        cell.attrs["class"] = f"md-{side}"


@dataclass(frozen=True, slots=True)
class Address:
    """Where a link leads: the address itself, and what of it a reader must see."""

    href: str
    shown: str


def address(href: str) -> Address | None:
    """The address of a link that may be followed; None for any other."""
    if len(href) > LONGEST_ADDRESS:
        return None
    match = WEB.fullmatch(href) or MAIL.fullmatch(href)
    return Address(href, match[1].lower()) if match else None


def _says(words: str, target: Address) -> bool:
    """Whether the words of a link are its address, or one at the same host."""
    words = words.strip()
    found = address(words) or address(f"https://{words}") or address(f"mailto:{words}")
    return found is not None and found.shown == target.shown


def _settled(tokens: Iterable[Token]) -> Iterator[Token]:
    """The tokens of one run of text, with each link's host beside it where its words hide that, and no pictures."""
    target: Address | None = None
    words: list[str] = []
    inside = False
    for token in tokens:
        if token.type == "link_open":
            target, words, inside = address(str(token.attrGet("href"))), [], True
            if target:
                token.attrs = {"href": target.href}
                yield token
        elif token.type == "link_close":
            yield from _closed(token, "".join(words), target)
            inside = False
        elif token.type == "image":
            words.append(_words(token.children or []))
            yield from _picture(token, inside)
        else:
            words.append(_words([token]))
            yield token


def _closed(token: Token, words: str, target: Address | None) -> Iterator[Token]:
    if target is None:
        yield _note(_("address left out"))
        return
    if not words.strip():
        yield _text(target.shown)
    yield token
    if words.strip() and not _says(words, target):
        yield _note(target.shown)


def _picture(token: Token, inside: bool) -> Iterator[Token]:
    """A picture as a link to it: fetching it would tell its host who looks at this page, and when."""
    words = _words(token.children or []).strip() or _("picture")
    target = address(str(token.attrGet("src")))
    if target is None or inside:
        yield _text(words)
        yield _note(_("picture, %(name)s") % {"name": target.shown} if target else _("picture left out"))
        return
    yield Token("link_open", "a", 1, attrs={"href": target.href})
    yield _text(words)
    yield Token("link_close", "a", -1)
    yield _note(_("picture, %(name)s") % {"name": target.shown})


def _words(tokens: Iterable[Token]) -> str:
    """What a reader sees of tokens, without their marks."""
    found = []
    for token in tokens:
        if token.type in ("softbreak", "hardbreak"):
            found.append(" ")
        else:
            found.append(_words(token.children) if token.children else token.content)
    return "".join(found)


def _text(words: str) -> Token:
    return Token("text", "", 0, content=words)


def _note(words: str) -> Token:
    return Token("html_inline", "", 0, content=format_html(' <span class="md-note">({})</span>', words))


class Parser(MarkdownIt):
    """The library's parser, which leaves the judgement of addresses to `address` and decodes none to show it: decoded
    it could hide what it is."""

    def validateLink(self, url: str) -> bool:
        return True

    def normalizeLinkText(self, link: str) -> str:
        return link


def _parser() -> MarkdownIt:
    """CommonMark with tables and strikethrough, without HTML. References are left out: one long address that is named
    a thousand times makes a page of megabytes out of a short text."""
    options = {"html": False, "breaks": True, "maxNesting": DEEPEST}
    parser = Parser("commonmark", options).enable(["table", "strikethrough"])
    parser.disable(["reference", "html_block", "html_inline"])
    parser.add_render_rule("table_open", _table_open)
    parser.add_render_rule("table_close", _table_close)
    return parser


def _table_open(*given: Any) -> str:
    label = escape(_("Table"))
    return f'<div class="tablebox" tabindex="0" role="group" aria-label="{label}"><table>\n'


def _table_close(*_: Any) -> str:
    return "</table></div>\n"


PARSER = _parser()
WITHOUT_TABLES = _parser().disable("table")
