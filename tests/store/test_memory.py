from __future__ import annotations

import pytest

from graphs.engine.checkpointers.memory import InMemoryCheckpointer
from tests.store.specification import StoreSpecification


class TestMemoryStore(StoreSpecification):
    @pytest.fixture
    def store(self) -> InMemoryCheckpointer:
        return InMemoryCheckpointer()
