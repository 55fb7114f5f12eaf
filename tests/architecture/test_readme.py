from __future__ import annotations

import ast
import re
from pathlib import Path

from tests.architecture.test_imports import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
READERS = {"envstr", "envbool", "envint", "envlist", "envsecret"}


def read_by_settings() -> set[str]:
    tree = ast.parse((ROOT / "hitl_site" / "settings.py").read_text(encoding="utf-8"))
    return {
        node.args[0].value
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in READERS
        and isinstance(node.args[0], ast.Constant)
        and isinstance(node.args[0].value, str)
    }


def listed_in_readme() -> list[str]:
    table = README.split("<!-- settings -->")[1].split("<!-- /settings -->")[0]
    return re.findall(r"^\| `([A-Z0-9_]+)` \|", table, flags=re.MULTILINE)


def test_the_settings_table_is_what_settings_reads() -> None:
    listed = listed_in_readme()
    assert len(listed) == len(set(listed))
    assert set(listed) == read_by_settings()


def test_only_settings_reads_the_environment() -> None:
    """What is read elsewhere escapes the table, `doctor` and the tests."""
    # The engine knows no settings, and its failpoints are the tests' alone; settings.py reads that name too.
    allowed = {Path("hitl_site/environment.py"), Path("hitl_site/asgi.py"), Path("graphs/engine/failpoints.py")}
    for path in [*(ROOT / "graphs").rglob("*.py"), *(ROOT / "hitl_site").rglob("*.py")]:
        name = path.relative_to(ROOT)
        if name not in allowed and "management" not in name.parts:
            text = path.read_text(encoding="utf-8")
            assert "os.environ" not in text and "getenv" not in text, name


def test_every_command_is_named() -> None:
    for path in (ROOT / "graphs" / "management" / "commands").glob("[a-z]*.py"):
        assert f"| `{path.stem}` |" in README, path.stem


def test_every_room_is_named() -> None:
    rooms = [path for path in (ROOT / "graphs").iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()]
    unnamed = {"apps.py", "migrations", "management"}
    for room in rooms:
        if room.name not in unnamed:
            assert f"graphs/{room.name}" in README, room.name


def test_the_two_commands_are_the_documented_ones() -> None:
    assert "python3 -m venv .venv && .venv/bin/pip install -q -e . && .venv/bin/python manage.py up" in README
    assert "python3 -m venv .venv && .venv/bin/pip install -q -e '.[test]' && .venv/bin/python -m pytest -q" in README


def test_ci_runs_the_documented_test_command() -> None:
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert "pip install -q -e '.[test]'" in script
    assert "python -m pytest -q" in script


def test_every_picture_and_file_it_links_to_is_there() -> None:
    for target in re.findall(r"\]\((?!http)([^)#]+)\)", README):
        assert (ROOT / target).is_file(), target
