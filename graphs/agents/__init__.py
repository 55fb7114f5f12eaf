"""Agents on the engine alone: a model's loop as a node, its model and tool calls as effects of the task's journal."""

from __future__ import annotations
