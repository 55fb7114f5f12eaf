from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import pytest
from asgiref.sync import async_to_sync

from graphs.actions.supersteps import DjangoCheckpointer
from tests.store.specification import StoreSpecification

T = TypeVar("T")


@pytest.mark.django_db(transaction=True)
class TestDjangoStore(StoreSpecification):
    @pytest.fixture
    def store(self) -> DjangoCheckpointer:
        return DjangoCheckpointer()

    def call(self, function: Callable[..., Coroutine[Any, Any, T]], *arguments: Any, **named: Any) -> T:
        # The store hops to the main thread, which is free only while async_to_sync waits in it.
        return async_to_sync(function)(*arguments, **named)
