"""Where threads are kept without Django: in memory, or in one SQLite file."""

from __future__ import annotations
