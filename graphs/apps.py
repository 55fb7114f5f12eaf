from __future__ import annotations

from django.apps import AppConfig


class GraphsConfig(AppConfig):
    name = "graphs"
    label = "graphs"
    verbose_name = "Sayso"
    default_auto_field = "django.db.models.BigAutoField"
