"""Who is asking, with a type: every page but sign-in is behind the sign-in, so there is always somebody."""

from __future__ import annotations

from typing import Any, cast

from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.auth.password_validation import password_validators_help_texts
from django.contrib.auth.views import LoginView, PasswordChangeView
from django.http import HttpRequest


def person(request: HttpRequest) -> User:
    return cast(User, request.user)


def display_name(user: User) -> str:
    return user.get_full_name() or user.get_username()


class SignIn(LoginView):
    """The sign-in. It tells where the first password lies for as long as it lies there."""

    template_name = "accounts/login.html"

    def get_context_data(self, **more: Any) -> dict[str, Any]:
        note = settings.SAYSO_VAR / "first-login"
        found = f"{note.parent.name}/{note.name}" if note.exists() else ""
        return super().get_context_data(**more) | {"first_login": found}


class ChangePassword(PasswordChangeView):
    """One's own password, with the rules it has to keep before they are broken."""

    template_name = "accounts/password.html"
    success_url = "/"

    def get_context_data(self, **more: Any) -> dict[str, Any]:
        return super().get_context_data(**more) | {"rules": password_validators_help_texts()}
