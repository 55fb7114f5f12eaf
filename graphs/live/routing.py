from __future__ import annotations

from typing import Any

from django.urls import path

from graphs.live.consumers import HintConsumer

websocket_urlpatterns: list[Any] = [path("ws/", HintConsumer.as_asgi())]
