"""Every text that pages and scripts say has a German one, with the same values in it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import polib
import pytest
from django.utils.translation.template import templatize

ROOT = Path(__file__).parents[2]
LOCALE = ROOT / "locale" / "de" / "LC_MESSAGES"
CALLS = {"_", "gettext", "gettext_lazy", "ngettext", "gettext_noop"}
VALUE = re.compile(r"%\(\w+\)[sd]|%n\b")
SCRIPT = re.compile(r"\b(n?gettext)\(\s*(\"(?:[^\"\\]|\\.)*\")(?:,\s*(\"(?:[^\"\\]|\\.)*\"))?")


def told(tree: ast.AST) -> Iterator[str]:
    """The source texts of the translating calls of one module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in CALLS and node.args:
            first = node.args[0]
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                yield first.value


def of_python() -> set[str]:
    files = (path for path in (ROOT / "graphs").rglob("*.py") if "migrations" not in path.parts)
    return {text for path in files for text in told(ast.parse(path.read_text()))}


def of_templates() -> set[str]:
    """What Django's own extraction makes of templates, read as the calls that it writes for xgettext."""
    found: set[str] = set()
    call = re.compile(r"(?<![\w])(?:_|gettext|ngettext)\(\s*u?('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")", re.S)
    for path in (ROOT / "templates").rglob("*.html"):
        written = templatize(path.read_text(), origin=str(path))
        found |= {ast.literal_eval(text.replace("\n", "\\n")) for text in call.findall(written)}
    return found


def of_scripts() -> set[str]:
    files = (path for path in (ROOT / "static" / "js").glob("*.js"))
    return {ast.literal_eval(text) for path in files for _kind, text, _more in SCRIPT.findall(path.read_text())}


@pytest.fixture(scope="module")
def german() -> dict[str, polib.POFile]:
    return {name: polib.pofile(str(LOCALE / f"{name}.po")) for name in ("django", "djangojs")}


@pytest.mark.parametrize(
    ("name", "texts"), [("django", of_python() | of_templates()), ("djangojs", of_scripts())], ids=["pages", "scripts"]
)
def test_every_text_is_translated(name: str, texts: set[str], german: dict[str, polib.POFile]) -> None:
    done = {entry.msgid for entry in german[name] if entry.translated() and not entry.obsolete}
    assert len(texts) > (20 if name == "djangojs" else 500), "the extraction finds nothing any more"
    assert sorted(texts - done) == []


@pytest.mark.parametrize("name", ["django", "djangojs"])
def test_values_stand_in_both_languages(name: str, german: dict[str, polib.POFile]) -> None:
    for entry in german[name]:
        sources = [entry.msgid_plural] if entry.msgid_plural else [entry.msgid]
        wanted = {value for text in sources for value in VALUE.findall(text)}
        for text in [entry.msgstr] if not entry.msgid_plural else [entry.msgstr_plural[1]]:
            assert set(VALUE.findall(text)) == wanted, entry.msgid


@pytest.mark.parametrize("name", ["django", "djangojs"])
def test_what_is_served_is_what_was_translated(name: str, german: dict[str, polib.POFile]) -> None:
    served = {entry.msgid: (entry.msgstr, entry.msgstr_plural) for entry in polib.mofile(str(LOCALE / f"{name}.mo"))}
    written = {entry.msgid: (entry.msgstr, entry.msgstr_plural) for entry in german[name].translated_entries()}
    assert served == written
