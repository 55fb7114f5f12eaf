"""Clients of language models behind the one port (`graphs.agents.models.Model`), one file each."""

from __future__ import annotations
