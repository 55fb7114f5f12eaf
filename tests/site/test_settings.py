from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.util import module_from_spec
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.core.exceptions import ImproperlyConfigured
from django.db import connection
from django.test import Client
from django.urls import NoReverseMatch, reverse

from hitl_site import settings as site
from hitl_site import urls
from hitl_site.environment import envbool, envint, envlist, envsecret
from tests.architecture.test_imports import ROOT

POLICY = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self' data:",
    "connect-src": "'self'",
    "font-src": "'self'",
    "worker-src": "'self'",
    "manifest-src": "'self'",
    "base-uri": "'none'",
    "form-action": "'self'",
    "frame-ancestors": "'none'",
}


def production(tmp_path: Path, **more: str) -> dict[str, str]:
    return {
        "PATH": os.defpath,
        "SAYSO_VAR": str(tmp_path),
        "SECRET_KEY": "".join(chr(48 + number) for number in range(64)),
        "ALLOWED_HOSTS": "sayso.example.org",
        "CSRF_TRUSTED_ORIGINS": "https://sayso.example.org",
        "SAYSO_HTTPS": "1",
        "SAYSO_HSTS_SECONDS": "31536000",
        **more,
    }


def manage(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_production_environment_passes_djangos_deployment_checks(tmp_path: Path) -> None:
    result = manage(production(tmp_path), "check", "--deploy", "--fail-level", "WARNING")
    assert result.returncode == 0, result.stderr


def test_no_migration_is_missing(tmp_path: Path) -> None:
    result = manage(production(tmp_path), "makemigrations", "--check", "--dry-run")
    assert result.returncode == 0, result.stdout


@pytest.mark.django_db
def test_every_page_carries_the_content_security_policy(client: Client) -> None:
    answer = client.get("/", follow=True)
    header = dict(part.strip().split(" ", 1) for part in answer["Content-Security-Policy"].split(";"))
    # A page without a script of its own asks for no nonce, and is then given none.
    header["script-src"] = re.sub(r" 'nonce-[A-Za-z0-9+/=]{22,}'$", "", header["script-src"])
    assert header == POLICY
    assert answer["X-Frame-Options"] == "DENY"
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["Referrer-Policy"] == "same-origin"
    assert answer["Cross-Origin-Opener-Policy"] == "same-origin"


@pytest.mark.django_db
def test_rqs_own_pages_are_the_operators_alone(
    redis: str, client: Client, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.SAYSO_RQ_ADMIN = True
    # The site's addresses once more, as an installation reads them that asked for these pages.
    pages = module_from_spec(urls.__spec__)
    assert urls.__spec__.loader is not None
    urls.__spec__.loader.exec_module(pages)
    monkeypatch.setitem(sys.modules, "pages", pages)
    settings.ROOT_URLCONF = "pages"
    staff = User.objects.create_user("staff", is_staff=True)
    client.force_login(staff)
    assert client.get("/admin/rq/").status_code == 403
    assert client.post("/admin/rq/queues/0/empty/").status_code == 403
    staff.user_permissions.add(Permission.objects.get(codename="operate_thread"))
    answer = client.get("/admin/rq/")
    assert answer.status_code == 200 and "threads" in answer.content.decode()
    assert client.get("/admin/rq/queues/0/").status_code == 200


@pytest.mark.django_db
def test_rqs_own_pages_are_off(client: Client) -> None:
    assert client.get("/admin/rq/").status_code in (302, 404)
    with pytest.raises(NoReverseMatch):
        reverse("rq_home")


@pytest.mark.django_db(transaction=True)
def test_sqlite_syncs_fully_and_waits_for_writers(database: str) -> None:
    if database != "sqlite":
        assert connection.vendor == "postgresql"
        return
    with connection.cursor() as cursor:
        for pragma, value in (
            ("journal_mode", "wal"),
            ("synchronous", 2),
            ("foreign_keys", 1),
            ("busy_timeout", 30000),
        ):
            cursor.execute(f"PRAGMA {pragma}")
            assert cursor.fetchone()[0] == value, pragma
    assert site.SQLITE_OPTIONS["transaction_mode"] == "IMMEDIATE"


def test_connections_are_pooled_on_postgresql_in_the_web_process_only(monkeypatch: pytest.MonkeyPatch) -> None:
    url = "postgres://u:p@host/name"
    assert "pool" not in site.database(url)["OPTIONS"]
    monkeypatch.setattr(site, "SAYSO_DATABASE_POOL", 10)
    assert site.database(url)["OPTIONS"]["pool"]["max_size"] == 10
    assert site.database(url)["CONN_MAX_AGE"] == 0
    assert "pool" not in site.database("sqlite:////tmp/x.sqlite3")["OPTIONS"]


@pytest.mark.parametrize("url", ["mysql://u:topsecret@host/name", "nonsense", "mongodb://u:topsecret@host"])
def test_another_database_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="DATABASE_URL") as refused:
        site.database(url)
    assert "topsecret" not in str(refused.value)


@pytest.mark.parametrize(("text", "value"), [("1", True), ("Yes", True), ("off", False), ("", False)])
def test_a_switch_is_read(monkeypatch: pytest.MonkeyPatch, text: str, value: bool) -> None:
    monkeypatch.setenv("SAYSO_A_SWITCH", text)
    assert envbool("SAYSO_A_SWITCH") is value


@pytest.mark.parametrize("text", ["many", "1.5", "-1"])
def test_a_wrong_number_is_named(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("SAYSO_A_NUMBER", text)
    with pytest.raises(ImproperlyConfigured, match="SAYSO_A_NUMBER"):
        envint("SAYSO_A_NUMBER", 1)


def test_a_list_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAYSO_A_LIST", " one, ,two,")
    assert envlist("SAYSO_A_LIST") == ["one", "two"]


def test_a_secret_may_lie_in_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("from a file\n")
    monkeypatch.setenv("SAYSO_A_SECRET_FILE", str(tmp_path / "secret"))
    assert envsecret("SAYSO_A_SECRET") == "from a file"
    monkeypatch.setenv("SAYSO_A_SECRET", "from the variable")
    assert envsecret("SAYSO_A_SECRET") == "from the variable"


def test_the_channel_layer_never_gives_up_a_silent_subscription() -> None:
    config: Any = site.CHANNEL_LAYERS["default"]
    assert config["BACKEND"] == "channels_redis.pubsub.RedisPubSubChannelLayer"
    assert config["CONFIG"]["hosts"][0]["socket_timeout"] is None
