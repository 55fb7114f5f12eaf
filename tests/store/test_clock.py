"""Moments of the database compare with those that we write."""

from __future__ import annotations

import re

import pytest
from django.db import connection

from graphs.models import Thread
from graphs.models.clock import Now
from graphs.store import sql
from tests.records import Pen

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_moment_of_the_database_is_spelled_like_ours() -> None:
    pk = Pen().thread.pk
    Thread.objects.filter(pk=pk).update(ready_at=Now())
    sql.execute(f"UPDATE graphs_thread SET updated_at = {sql.now()}, ended_at = {sql.later(5)} WHERE id = %s", [pk])
    found = Thread.objects.get()
    assert found.ready_at <= found.updated_at < (found.ended_at or found.updated_at)
    if connection.vendor == "sqlite":
        (row,) = sql.fetch("SELECT ready_at, updated_at, ended_at, created_at FROM graphs_thread", [])
        assert all(re.fullmatch(r"[\d-]{10} [\d:]{8}\.\d{6}", str(moment)) for moment in row)
