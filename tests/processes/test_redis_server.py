from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from redis import Redis

from hitl_site import redis_server

SHIPPED = redis_server.wheel_binary()


@pytest.fixture
def var(tmp_path: Path) -> Path:
    return tmp_path / "var"


def test_the_server_comes_from_the_wheel() -> None:
    assert SHIPPED is not None
    assert redis_server.find_binary() == SHIPPED


def test_only_its_owner_may_open_the_socket_and_no_port_is_open(var: Path) -> None:
    process = redis_server.start(var)
    try:
        socket = redis_server.socket_path(var)
        assert stat.S_IMODE(socket.parent.stat().st_mode) == 0o700
        assert stat.S_IMODE(socket.stat().st_mode) == 0o700
        listening = list(psutil.Process(process.pid).net_connections("inet"))
        assert listening == []
    finally:
        process.terminate()
        process.wait(10)


def test_nothing_is_persisted(var: Path) -> None:
    process = redis_server.start(var)
    try:
        with Redis.from_url(redis_server.private_url(var)) as client:
            client.set("key", "value")
            assert client.config_get("save") == {"save": ""}
            assert client.config_get("appendonly") == {"appendonly": "no"}
    finally:
        process.terminate()
        process.wait(10)
    assert [path.name for path in var.iterdir()] == []


def test_a_deep_folder_gets_a_short_private_socket(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 120)
    socket = redis_server.socket_path(deep)
    assert len(os.fsencode(socket)) <= redis_server.SOCKET_PATH_LIMIT
    process = redis_server.start(deep)
    try:
        assert redis_server.run_id(redis_server.private_url(deep))
        assert stat.S_IMODE(socket.parent.stat().st_mode) == 0o700
    finally:
        process.terminate()
        process.wait(10)
        shutil.rmtree(socket.parent)


def test_a_folder_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(redis_server.RedisUnavailable, match="SAYSO_VAR"):
        redis_server.prepare_folder(tmp_path / "link")


def fake(folder: Path, name: str, answer: str) -> Path:
    program = folder / name
    program.write_text(f"#!/bin/sh\necho '{answer}'\n")
    program.chmod(0o755)
    return program


@pytest.mark.parametrize(
    ("answer", "accepted"),
    [
        ("Redis server v=6.0.16 sha=0 bits=64", False),
        ("Redis server v=6.2.7 sha=0 bits=64", True),
        ("Valkey server v=8.1.0 sha=0 bits=64", True),
        ("nonsense", False),
    ],
)
def test_a_system_server_is_taken_from_6_2_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: str, accepted: bool
) -> None:
    program = fake(tmp_path, "redis-server", answer)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setattr(shutil, "which", lambda name: str(program) if name == "redis-server" else None)
    monkeypatch.setattr(redis_server, "wheel_binary", lambda: None)
    if accepted:
        assert redis_server.find_binary().path == str(program)
    else:
        with pytest.raises(redis_server.RedisUnavailable, match="REDIS_URL"):
            redis_server.find_binary()


def test_a_server_left_behind_makes_room(var: Path) -> None:
    old = redis_server.start(var)
    new = redis_server.start(var)
    try:
        assert old.wait(10) == 0
        assert redis_server.run_id(redis_server.private_url(var))
    finally:
        new.terminate()
        new.wait(10)


def test_the_server_ends_with_the_process_that_started_it(var: Path) -> None:
    code = f"""
import os, signal
from pathlib import Path
from hitl_site import redis_server
print(redis_server.start(Path({str(var)!r})).pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    orphan = int(ended.stdout)
    _, alive = psutil.wait_procs([psutil.Process(orphan)] if psutil.pid_exists(orphan) else [], timeout=10)
    assert alive == []
