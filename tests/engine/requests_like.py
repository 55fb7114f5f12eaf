"""Stands for a library that sends things over a network: it only notes them."""

from __future__ import annotations

from typing import Any

POSTED: list[tuple[str, Any]] = []


def post(url: str, *, json: Any = None) -> None:
    """Note what would be posted."""
    POSTED.append((url, json))
