"""Looking a graph over without running it, rehearsing it without its effects, and drawing it as text."""

from __future__ import annotations
