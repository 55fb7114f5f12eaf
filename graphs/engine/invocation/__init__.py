"""Calling a compiled graph: what goes in, and what comes back whole or as a stream (family T)."""

from __future__ import annotations
