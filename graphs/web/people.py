"""Who is asking, with a type: every page but sign-in is behind the sign-in, so there is always somebody."""

from __future__ import annotations

from typing import cast

from django.contrib.auth.models import User
from django.http import HttpRequest


def person(request: HttpRequest) -> User:
    return cast(User, request.user)


def display_name(user: User) -> str:
    return user.get_full_name() or user.get_username()
