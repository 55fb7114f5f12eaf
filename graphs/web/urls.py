from __future__ import annotations

from django.contrib.auth.views import LoginView
from django.urls import path

urlpatterns = [path("sign-in/", LoginView.as_view(), name="login")]
