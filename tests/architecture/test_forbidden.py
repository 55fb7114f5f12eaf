from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.test_imports import ROOT, sources

CODE = sources("graphs", "hitl_site")
ROOM_NAMES = {"utils", "util", "helpers", "helper", "common", "misc"}
FORBIDDEN_MODULES = {"pickle", "marshal", "shelve", "dill", "cloudpickle", "yaml"}
FORBIDDEN_CALLS = {"eval", "exec", "os.system", "os.popen", "yaml.load", "__import__"}
# What makes HTML of a text without escaping it. Django's format_html escapes, and returns a SafeString for annotations.
TRUSTING = {"mark_safe", "SafeString", "SafeText", "SafeData"}

LONGEST_FILE = 400
# Files that are longer for now: path, limit, since when.
LONG_FILES: dict[str, tuple[int, str]] = {}


def dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def imported(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield (node.module or "").split(".")[0]
            yield from (alias.name for alias in node.names)


@pytest.mark.parametrize("path", CODE, ids=lambda path: str(path.relative_to(ROOT)))
def test_nothing_dangerous_is_called(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert not FORBIDDEN_MODULES & set(imported(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            assert dotted(node.func) not in FORBIDDEN_CALLS, f"line {node.lineno}"
            shells = [word for word in node.keywords if word.arg == "shell"]
            assert all(isinstance(word.value, ast.Constant) and word.value.value is False for word in shells)


def trusts_html(path: Path) -> bool:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    calls = {dotted(node.func).split(".")[-1] for node in ast.walk(tree) if isinstance(node, ast.Call)}
    bases = {dotted(base) for node in ast.walk(tree) if isinstance(node, ast.ClassDef) for base in node.bases}
    return bool(TRUSTING & (calls | bases)) or "__html__" in path.read_text(encoding="utf-8")


def test_html_is_trusted_in_one_place_only_and_cleaned_there() -> None:
    """Markdown that nh3 has cleaned becomes HTML in one file; everything else is escaped."""
    places = [path for path in CODE if trusts_html(path)]
    assert len(places) <= 1, places
    for place in places:
        assert "nh3.clean" in place.read_text(encoding="utf-8")


def templates() -> list[Path]:
    return sorted((ROOT / "templates").rglob("*.html"))


@pytest.mark.parametrize("path", templates(), ids=lambda path: str(path.relative_to(ROOT)))
def test_templates_escape_and_hold_no_code(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert "|safe" not in text.replace(" ", "")
    assert "autoescape off" not in text
    assert not re.search(r"\son[a-z]+\s*=", text), "an inline handler does not run under the content security policy"
    assert not re.search(r"\sstyle\s*=", text), "an inline style does not apply under the content security policy"
    assert "javascript:" not in text


def test_no_room_is_a_drawer() -> None:
    for path in sources("graphs", "hitl_site", "tests"):
        assert not ROOM_NAMES & {path.stem, *path.relative_to(ROOT).parts}, path


@pytest.mark.parametrize("path", sources("graphs", "hitl_site", "tests"), ids=lambda path: str(path.relative_to(ROOT)))
def test_files_stay_readable(path: Path) -> None:
    limit, _since = LONG_FILES.get(str(path.relative_to(ROOT)), (LONGEST_FILE, ""))
    assert len(path.read_text(encoding="utf-8").splitlines()) <= limit


def test_the_list_of_long_files_is_true() -> None:
    for name, (limit, _since) in LONG_FILES.items():
        length = len((ROOT / name).read_text(encoding="utf-8").splitlines())
        assert LONGEST_FILE < length <= limit, f"{name} may leave the list"
