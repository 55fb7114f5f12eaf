from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.utils import timezone
from redis import Redis

from graphs import queue as doorbell
from graphs.agents import named
from graphs.library import registry
from graphs.management import checkup
from graphs.management.checkup import ROLES, Finding, examine
from graphs.models import Heartbeat, OutboxMessage
from graphs.models.clock import Now

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def healthy(redis: str, alice: Any, settings: Any) -> Iterator[None]:
    settings.SAYSO_VAR.chmod(0o700)
    doorbell.connection.cache_clear()
    for role in ROLES:
        Heartbeat.objects.update_or_create(name=role, defaults={"at": Now()})
    yield
    doorbell.connection.cache_clear()
    registry.reload()


def wrong() -> dict[str, Finding]:
    return {finding.subject: finding for finding in examine() if not finding.good}


def test_a_healthy_installation_has_nothing_to_mend(database: str, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("doctor")
    assert "All is well" in capsys.readouterr().out


def test_it_ends_with_code_1_and_says_how_to_mend(settings: Any, capsys: pytest.CaptureFixture[str]) -> None:
    settings.DEBUG = True
    with pytest.raises(SystemExit) as ended:
        call_command("doctor")
    assert ended.value.code == 1
    assert "Unset DEBUG" in capsys.readouterr().out


@pytest.mark.parametrize("role", ROLES)
def test_a_silent_process_is_named(role: str) -> None:
    Heartbeat.objects.filter(name=role).update(at=Now() - timedelta(minutes=5))
    assert "silent for 0:05" in wrong()[role].text
    Heartbeat.objects.filter(name=role).delete()
    finding = wrong()[role]
    assert "never" in finding.text
    assert ROLES[role] in finding.mend


def test_redis_away_is_named_without_its_password(settings: Any, tmp_path: Path) -> None:
    settings.REDIS_URL = "redis://user:topsecret@127.0.0.1:1/0"
    finding = wrong()["Redis"]
    assert "127.0.0.1:1" in finding.text
    assert "topsecret" not in finding.text + finding.mend


def test_refused_jobs_are_an_alarm(redis: str) -> None:
    with Redis.from_url(redis) as client:
        client.set(doorbell.REFUSED_KEY, 3)
    assert "3 jobs were refused" in wrong()["Redis"].text


def test_an_old_outbox_message_is_named() -> None:
    OutboxMessage.objects.create(kind="wake", payload={}, created_at=timezone.now() - timedelta(minutes=2))
    assert "the oldest for 0:02" in wrong()["outbox"].text
    OutboxMessage.objects.all().delete()
    OutboxMessage.objects.create(kind="wake", payload={})
    assert "outbox" not in wrong()


def test_missing_migrations_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkup.MigrationExecutor, "migration_plan", lambda *_: [object()])
    assert wrong()["database"].mend == "manage.py migrate"


def test_a_key_that_is_missing_or_short_is_named(settings: Any) -> None:
    settings.SECRET_KEY_IS_SET = False
    assert "SECRET_KEY" in wrong()["secret key"].mend
    settings.SECRET_KEY_IS_SET = True
    settings.SECRET_KEY = "short"
    assert "50" in wrong()["secret key"].text


def test_a_graph_that_fails_to_import_is_named(settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "broken_graph_of_a_test.py").write_text("raise RuntimeError('no such service')\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    settings.SAYSO_GRAPHS = ["broken_graph_of_a_test"]
    registry.reload()
    finding = wrong()["graphs"]
    assert "broken_graph_of_a_test" in finding.text
    assert "no such service" in finding.text


@pytest.mark.parametrize(("name", "told"), [("nowhere:fn", "no model factory"), ("openai:one", "no key for model")])
def test_models_that_cannot_be_called_are_named(
    name: str, told: str, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(named, "_factory", name)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    settings.SAYSO_MODELS = name
    (found,) = checkup.models()
    assert not found.good and told in found.text and "SAYSO_MODELS" in found.mend


def test_a_folder_that_others_may_read_is_named(settings: Any) -> None:
    settings.SAYSO_VAR.chmod(0o755)
    assert "chmod 700" in wrong()["folder"].mend
    settings.SAYSO_VAR.chmod(0o700)
