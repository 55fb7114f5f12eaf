from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "graphs"
HEAVY = "sys.exit(','.join(n for n in sys.modules if n.split('.')[0] in ('django', 'rq', 'redis')) or 0)"


def sources(*folders: str) -> list[Path]:
    return sorted(
        path for folder in folders for path in (ROOT / folder).rglob("*.py") if "migrations" not in path.parts
    )


def test_rooms_import_downwards_only() -> None:
    # In a process of its own: the linter changes logging and sys.path for whoever runs in the same one.
    program = Path(sys.executable).with_name("lint-imports")
    result = subprocess.run(
        [str(program), "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False, env={**os.environ}
    )
    assert result.returncode == 0, result.stdout + result.stderr


def test_graphs_loads_no_django() -> None:
    code = f"import sys, graphs; {HEAVY}"
    result = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, f"`import graphs` loaded {result.stderr}"


def test_every_public_name_loads_without_django() -> None:
    code = f"import sys, graphs; [getattr(graphs, name) for name in graphs.__all__]; {HEAVY}"
    result = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("path", sources("graphs"), ids=lambda path: str(path.relative_to(ROOT)))
def test_nobody_inside_imports_the_public_face(path: Path) -> None:
    if path == PACKAGE / "__init__.py":
        return
    rooms = {found.stem for found in PACKAGE.iterdir()}
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module == "graphs":
            names = {alias.name for alias in node.names}
            assert names <= rooms, f"line {node.lineno}: import {names - rooms} from the room that has it"
        if isinstance(node, ast.Import):
            assert "graphs" not in {alias.name for alias in node.names}, f"line {node.lineno}"
