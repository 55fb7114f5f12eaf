"""Apps, and the messages and function responses by which their users speak with them (family W)."""

from __future__ import annotations
