from __future__ import annotations

import html
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# The administration is Django's own, and the evidence of a question is kept in the words it was made with.
SKIPPED = {"admin", "evidence"}
# They give the attributes of a control, and no text.
ATTRIBUTES = {"forms/_aria.html", "forms/_leaf.html"}
# Names and notations, the same in every language.
NAMES = re.compile(r"\b(?:Sayso|JSON lines|JSON|CSV|UTC|Europe/Amsterdam)\b")

COMMENT = re.compile(r"\{#.*?#\}|\{%\s*comment\b.*?\{%\s*endcomment\s*%\}|<!--.*?-->", re.DOTALL)
BLOCK = re.compile(r"\{%\s*blocktrans(?:late)?\b.*?\{%\s*endblocktrans(?:late)?\s*%\}", re.DOTALL)
# The class of a page's body stands in a block, without a tag around it.
NO_TEXT = re.compile(r"\{% block body_class %\}.*?\{% endblock %\}")
MARK = re.compile(r"\{%.*?%\}|\{\{.*?\}\}", re.DOTALL)
VERBATIM = re.compile(r"<(kbd|code|script|style)\b[^>]*>.*?</\1>", re.DOTALL)
READ_ALOUD = re.compile(r"""\s(?:aria-label|title|placeholder|alt)=(?:"([^"]*)"|'([^']*)')""")
TAG = re.compile(r"<[^>]*>", re.DOTALL)
WORD = re.compile(r"[^\W\d_]{2,}")
# A word in a filter's argument is as untranslatable as one beside it: `_("…")` takes it in.
ARGUMENT = re.compile(r"""\|(?:default|default_if_none|yesno|pluralize):"[^"]*[A-Za-z]{2}[^"]*\"""")
MADE_PLURAL = re.compile(r"\|pluralize\b")


def pages() -> list[Path]:
    folder = ROOT / "templates"
    found = {path.relative_to(folder): path for path in sorted(folder.rglob("*.html"))}
    return [path for name, path in found.items() if name.parts[0] not in SKIPPED and str(name) not in ATTRIBUTES]


def written_out(source: str) -> list[str]:
    """The words a person reads that no translation reaches: in texts, and in the attributes that are read aloud."""
    text = MARK.sub(" ", NO_TEXT.sub("", BLOCK.sub(" ", COMMENT.sub("", source))))
    text = VERBATIM.sub(" ", text)
    aloud = [first or second for first, second in READ_ALOUD.findall(text)]
    parts = [part.strip() for part in [*TAG.sub("\n", text).split("\n"), *aloud]]
    return [part for part in parts if WORD.search(NAMES.sub("", html.unescape(part)))]


@pytest.mark.parametrize("path", pages(), ids=lambda path: str(path.relative_to(ROOT)))
def test_every_text_can_be_translated(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    assert written_out(source) == []
    assert [text for text in ARGUMENT.findall(source) if not NAMES.search(text)] == []
    assert not MADE_PLURAL.search(source), "other languages have other plurals: blocktranslate count"


def test_the_check_sees_what_is_written_out() -> None:
    assert written_out("<h1>Threads</h1>") == ["Threads"]
    assert written_out('<p title="Back">{% translate "Back" %}</p>') == ["Back"]
    assert written_out("{% blocktranslate %}To {{ name }}{% endblocktranslate %} · Sayso") == []
    assert written_out('<a class="btn" aria-label="{% translate \'To the inbox\' %}"><code>doctor</code></a>') == []
