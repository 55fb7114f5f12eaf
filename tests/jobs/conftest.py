from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User

from graphs.library import registry
from tests.jobs.running import Shelf


@pytest.fixture
def shelf(monkeypatch: pytest.MonkeyPatch) -> Iterator[Shelf]:
    shelf = Shelf()
    monkeypatch.setattr(registry, "entries", shelf.entries)
    yield shelf


@pytest.fixture
def root(db: None) -> User:
    return User.objects.create_superuser("root")
