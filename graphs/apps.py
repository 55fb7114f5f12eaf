from __future__ import annotations

from django.apps import AppConfig
from django.conf import settings


class GraphsConfig(AppConfig):
    name = "graphs"
    label = "graphs"
    verbose_name = "Sayso"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        if settings.SAYSO_MODELS:
            from graphs.agents.named import use_models

            use_models(settings.SAYSO_MODELS)
