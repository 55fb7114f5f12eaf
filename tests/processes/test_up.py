from __future__ import annotations

import os
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hitl_site import redis_server
from tests.architecture.test_imports import ROOT
from tests.processes.installation import Installation, kill, printed_address, wait_for


@pytest.fixture
def installation(tmp_path: Path) -> Iterator[Installation]:
    installation = Installation(tmp_path)
    yield installation
    installation.clear()


def test_an_empty_folder_becomes_a_sign_in_page(installation: Installation) -> None:
    installation.start()
    text = installation.text()
    assert printed_address(text) == f"http://127.0.0.1:{installation.port}/"
    status, address, body = installation.get()
    assert status == 200
    assert "next=" in address, "an anonymous visitor is sent to the sign-in page"
    assert 'type="password"' in body
    name, password = installation.password()
    assert name in text and password in text
    assert stat.S_IMODE(installation.var.stat().st_mode) == 0o700
    for private in ("first-login", "secret_key"):
        assert stat.S_IMODE((installation.var / private).stat().st_mode) == 0o600
    assert len((installation.var / "secret_key").read_text()) > 60
    kinds = installation.kinds()
    assert {name: len(found) for name, found in kinds.items()} == dict.fromkeys(kinds, 1)
    report = installation.manage("doctor")
    assert report.returncode == 0, report.stdout + report.stderr
    assert "All is well" in report.stdout


def test_sigterm_stops_all_of_it_in_reverse(installation: Installation) -> None:
    installation.start()
    assert installation.stop() == 0
    assert installation.gone()
    stopped = [line.split()[1] for line in installation.text().splitlines() if " stopped" in line]
    assert stopped == ["web", "clock", "worker", "worker", "redis"]


def test_ctrl_c_stops_all_of_it(installation: Installation) -> None:
    installation.start()
    assert installation.stop(signal.SIGINT) == 0
    assert installation.gone()


def test_two_in_one_folder_refuse_each_other(installation: Installation) -> None:
    installation.start()
    second = installation.manage("up", "--port", "0")
    assert second.returncode != 0
    assert "already running" in second.stderr
    assert installation.answers()


def test_the_lock_does_not_outlive_its_holder(installation: Installation) -> None:
    installation.start()
    installation.stop(signal.SIGKILL)
    wait_for(installation.gone, "the children of a killed `up` end")
    installation.output.unlink()
    installation.start()
    assert installation.answers()


def test_a_killed_up_leaves_no_orphan(installation: Installation) -> None:
    installation.start()
    assert len(installation.processes()) >= 6
    installation.stop(signal.SIGKILL)
    wait_for(installation.gone, "the children of a killed `up` end")


@pytest.mark.parametrize("name", ["redis", "worker threads", "worker background", "clock", "web"])
def test_a_killed_child_is_started_again(installation: Installation, name: str) -> None:
    installation.start()
    (old,) = installation.kinds()[name]
    kill(old)

    def back() -> bool:
        found = installation.kinds()[name]
        return bool(found) and found[0].pid != old.pid and f"{name:<18} ready    started again" in installation.text()

    wait_for(back, f"{name} comes back", more=installation.story)
    assert "was ended by SIGKILL" in installation.text()
    assert installation.answers()


def test_a_redis_whose_socket_was_deleted_is_replaced(installation: Installation) -> None:
    """It lives on without being reachable, so its death is not what the supervisor may wait for."""
    installation.start()
    path = redis_server.socket_path(installation.var)
    before = [process.pid for process in installation.kinds()["redis"]]
    path.unlink()
    wait_for(path.exists, "a new socket", more=installation.story)
    url = redis_server.private_url(installation.var)
    wait_for(lambda: redis_server.run_id(url), "a Redis that answers", more=installation.story)
    assert [process.pid for process in installation.kinds()["redis"]] != before


def test_a_taken_port_is_named(installation: Installation) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        result = installation.manage("up", "--port", str(port))
    assert result.returncode != 0
    assert f"Port {port}" in result.stderr and "--port" in result.stderr
    assert installation.gone()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SAYSO_LEASE_SECONDS", "soon"),
        ("SAYSO_CLOCK_SECONDS", "0"),
        ("DEBUG", "maybe"),
        ("DATABASE_URL", "mongodb://user:topsecret@host/name"),
        ("SECRET_KEY_FILE", "/nowhere/at/all"),
        ("SAYSO_LOG_LEVEL", "LOUD"),
    ],
)
def test_a_wrong_setting_is_named_and_its_secret_is_not(tmp_path: Path, name: str, value: str) -> None:
    installation = Installation(tmp_path, **{name: value})
    for command in ("up", "doctor"):
        result = installation.manage(command)
        assert result.returncode != 0
        assert name in result.stderr
        assert "Traceback" not in result.stderr
        assert "topsecret" not in result.stderr + result.stdout


def test_a_redis_that_does_not_answer_is_named(tmp_path: Path) -> None:
    installation = Installation(tmp_path, REDIS_URL=f"unix://{tmp_path}/nobody.sock")
    result = installation.manage("up", "--port", "0")
    assert result.returncode != 0
    assert "REDIS_URL" in result.stderr


def test_a_graph_that_cannot_be_imported_is_named_and_stops_nothing(tmp_path: Path) -> None:
    broken = Installation(tmp_path, SAYSO_GRAPHS="no_such_module_anywhere")
    try:
        broken.start()
        assert "graphs             broken   no_such_module_anywhere: ModuleNotFoundError" in broken.text()
        assert broken.answers()
    finally:
        broken.clear()


def test_two_installations_share_no_key(tmp_path: Path) -> None:
    keys = set()
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        installation = Installation(tmp_path / name)
        try:
            installation.start()
            keys.add((installation.var / "secret_key").read_text())
        finally:
            installation.clear()
    assert len(keys) == 2


def test_the_web_refuses_to_start_without_a_key(tmp_path: Path) -> None:
    installation = Installation(tmp_path)
    code = "import hitl_site.asgi"
    result = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=installation.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode != 0
    assert "SECRET_KEY" in result.stderr


def test_the_password_note_goes_when_the_password_changes(installation: Installation) -> None:
    installation.start()
    name, old = installation.password()
    installation.stop()
    change = (
        "from django.contrib.auth import get_user_model as m; "
        f"u = m().objects.get(username={name!r}); u.set_password('another long one'); u.save()"
    )
    installation.manage("shell", "-c", change, check=True)
    installation.output.unlink()
    installation.start()
    assert old not in installation.text()
    assert not os.path.exists(installation.var / "first-login")
