"""A whole installation in an empty folder, as somebody who has just typed the README's command would have it."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

from hitl_site import redis_server
from tests.architecture.test_imports import ROOT

PATIENCE = 60.0


def wait_for(condition: Callable[[], Any], what: str, patience: float = PATIENCE, more: Callable[[], str] = str) -> Any:
    """The first true answer of `condition`. A deadline only tells working from hung; `more` is asked when it passes."""
    deadline = time.monotonic() + patience
    while not (answer := condition()):
        assert time.monotonic() < deadline, f"{what}: not within {patience:.0f} s\n{more()}"
        time.sleep(0.05)
    return answer


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Installation:
    """Runs `manage.py up` with nothing in its environment but what is named here."""

    def __init__(self, folder: Path, **environment: str) -> None:
        self.var = folder / "var"
        self.output = folder / "output"
        self.port = free_port()
        # The marker finds every process of ours afterwards, whoever its parent is by then.
        self.environment = {
            "SAYSO_VAR": str(self.var),
            "PATH": "/usr/bin:/bin",
            "SAYSO_TEST_MARKER": str(folder),
            **environment,
        }
        self.process: subprocess.Popen[bytes] | None = None

    def up(self, *arguments: str) -> subprocess.Popen[bytes]:
        with self.output.open("ab") as output:
            return subprocess.Popen(
                [sys.executable, str(ROOT / "manage.py"), "up", "--port", str(self.port), *arguments],
                cwd=self.var.parent,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    def start(self) -> Installation:
        self.process = self.up()
        self.wait_until_open()
        return self

    def wait_until_open(self) -> None:
        def opened() -> bool:
            assert self.process is not None
            assert self.process.poll() is None, self.text()
            return "Open " in self.text()

        wait_for(opened, "`up` opens", more=self.story)

    def manage(self, *arguments: str, check: bool = False) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, str(ROOT / "manage.py"), *arguments],
            cwd=self.var.parent,
            env=self.environment,
            capture_output=True,
            text=True,
            check=check,
            timeout=PATIENCE,
        )

    def text(self) -> str:
        return self.output.read_text(errors="replace") if self.output.exists() else ""

    def logs(self) -> str:
        return "\n".join(f"--- {path.name}\n{path.read_text(errors='replace')}" for path in self.var.glob("log/*.log"))

    def story(self) -> str:
        return f"{self.text()}\n{self.logs()[-8000:]}"

    def get(self, path: str = "/") -> tuple[int, str, str]:
        """Status, final address and body, following redirects as a browser would."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=10) as answer:
                return answer.status, answer.url, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.url or "", error.read().decode()

    def answers(self) -> bool:
        try:
            return self.get()[0] < 500
        except OSError:
            return False

    def processes(self) -> list[psutil.Process]:
        """Every living process that carries our marker: `up`, its children and theirs."""
        found = []
        for process in psutil.process_iter():
            try:
                if process.status() != psutil.STATUS_ZOMBIE and self.marked(process):
                    found.append(process)
            except psutil.Error:
                continue
        return found

    def marked(self, process: psutil.Process) -> bool:
        # The Redis server writes its title over its environment; the title names the socket.
        socket = str(redis_server.socket_path(self.var))
        marker = self.environment["SAYSO_TEST_MARKER"]
        return process.environ().get("SAYSO_TEST_MARKER") == marker or socket in " ".join(process.cmdline())

    def find(self, *words: str) -> list[psutil.Process]:
        """Processes whose command line holds all of `words`, oldest first: a worker before its work-horses."""
        found = []
        for process in self.processes():
            try:
                if all(word in " ".join(process.cmdline()) for word in words):
                    found.append(process)
            except psutil.Error:
                continue
        return sorted(found, key=lambda process: process.create_time())

    def kinds(self) -> dict[str, list[psutil.Process]]:
        return {
            "redis": self.find("redis.sock"),
            "worker threads": self.find("manage.py worker threads"),
            "worker background": self.find("manage.py worker background"),
            "clock": self.find("manage.py clock"),
            "web": self.find("daphne"),
        }

    def password(self) -> tuple[str, str]:
        name, password = (self.var / "first-login").read_text().split()
        return name, password

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        assert self.process is not None
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(PATIENCE)

    def gone(self) -> bool:
        return not self.processes()

    def clear(self) -> None:
        """After a test: whatever it left is ended, by its own marker."""
        for process in self.processes():
            try:
                process.kill()
            except psutil.Error:
                continue
        wait_for(self.gone, "everything of this test ends")
        if self.process is not None:
            self.process.wait(PATIENCE)


def printed_address(text: str) -> str:
    found = re.search(r"Open\s+(http://\S+)", text)
    assert found, text
    return found[1]


def kill(process: psutil.Process) -> None:
    os.kill(process.pid, signal.SIGKILL)
