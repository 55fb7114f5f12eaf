"""Starts processes in order, restarts what dies, stops in reverse. Which ones they are is for `up` to say."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event

from hitl_site.orphans import tied_to_caller

READY_SECONDS = 60.0
STOP_SECONDS = 10.0
FIRST_PAUSE = 0.5
LONGEST_PAUSE = 30.0
# A child that lived this long before it died starts again at once: it is not failing at its start.
STEADY_SECONDS = 60.0
LOG_BYTES = 10 * 1024 * 1024
# A watched child is asked this often, and ended after so many silences in a row: a process may live and be of no use.
ASK_SECONDS = 2.0
SILENCES = 3

Report = Callable[["Child", str, str], None]


class ChildFailed(Exception):
    """A process did not come up; the text carries the end of its log."""


@dataclass
class Child:
    """One supervised process and how to tell that it works."""

    name: str
    command: Sequence[str]
    log: Path
    ready: Callable[[Child], bool]
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    note: str = ""
    prepare: Callable[[], None] = lambda: None
    watched: bool = False

    process: subprocess.Popen[bytes] | None = None
    started_at: float = 0.0
    restart_at: float | None = None
    pause: float = FIRST_PAUSE
    restarts: int = 0
    announced: bool = True
    asked_at: float = 0.0
    silences: int = 0

    @property
    def pid(self) -> int | None:
        return self.process.pid if self.process else None

    def start(self) -> None:
        self.prepare()
        # Append mode: the file may be cut while the process goes on writing.
        with self.log.open("ab") as output:
            self.process = subprocess.Popen(
                list(self.command),
                env=dict(self.environment),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                preexec_fn=tied_to_caller(),
                # Ctrl+C reaches the whole group of the terminal; ours are stopped by us, in order.
                start_new_session=True,
            )
        self.started_at = time.monotonic()
        self.restart_at = None

    def ended(self) -> bool:
        return self.process is not None and self.process.poll() is not None

    def stop(self, patience: float) -> None:
        """SIGTERM, then SIGKILL for whoever needs longer: what it was doing is taken up again from the database."""
        if self.process is None or self.process.poll() is not None:
            return
        self.process.terminate()
        try:
            self.process.wait(patience)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def kill(self) -> None:
        """SIGKILL: a process that answers nothing may not hear SIGTERM either."""
        if self.process is not None:
            self.process.kill()

    def last_words(self, lines: int = 12) -> str:
        try:
            with self.log.open("rb") as file:
                file.seek(max(0, file.seek(0, os.SEEK_END) - 8192))
                text = file.read().decode("utf-8", "replace")
        except OSError:
            return ""
        return "\n".join(text.strip().splitlines()[-lines:])

    def cut_log(self) -> None:
        """Keep one old log beside the current one."""
        try:
            if self.log.stat().st_size > LOG_BYTES:
                self.log.with_suffix(".log.1").write_bytes(self.log.read_bytes())
                os.truncate(self.log, 0)
        except OSError:
            return


def ending(code: int) -> str:
    if code >= 0:
        return f"ended with code {code}"
    try:
        return f"was ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"was ended by signal {-code}"


class Supervisor:
    """Owns the children; call from the main thread, because the kernel ties them to the thread that starts them."""

    def __init__(self, children: Sequence[Child], report: Report, stopped: Event) -> None:
        self.children = list(children)
        self.report = report
        self.stopped = stopped
        self.logs_looked_at = time.monotonic()

    def start(self) -> None:
        """Start each child once the one before it works. Raises ChildFailed."""
        for child in self.children:
            if self.stopped.is_set():
                return
            child.start()
            self.wait_until_ready(child)

    def wait_until_ready(self, child: Child) -> None:
        deadline = time.monotonic() + READY_SECONDS
        while not self.stopped.is_set():
            if child.ended():
                assert child.process is not None
                raise ChildFailed(f"{child.name} {ending(child.process.returncode)}.\n{child.last_words()}")
            if child.ready(child):
                self.report(child, "ready", child.note)
                return
            if time.monotonic() > deadline:
                raise ChildFailed(f"{child.name} did not answer in {READY_SECONDS:.0f} seconds.\n{child.last_words()}")
            self.watch(except_for=child)
            self.stopped.wait(0.05)

    def run(self) -> None:
        """Watch until told to stop."""
        while not self.stopped.is_set():
            self.watch()
            self.cut_logs()
            self.stopped.wait(0.2)

    def watch(self, except_for: Child | None = None) -> None:
        for child in self.children:
            if child is not except_for and child.process is not None:
                self.look_after(child)

    def look_after(self, child: Child) -> None:
        now = time.monotonic()
        if child.restart_at is not None:
            if now >= child.restart_at:
                child.start()
            return
        if child.ended():
            self.plan_restart(child, now)
        elif not child.announced and child.ready(child):
            child.announced = True
            self.report(child, "ready", "started again")
        elif child.announced and child.watched and now - child.asked_at >= ASK_SECONDS:
            self.ask(child)

    def ask(self, child: Child) -> None:
        """End a child that lives without answering, as Redis does once its socket's file is gone; a restart follows."""
        child.silences = 0 if child.ready(child) else child.silences + 1
        child.asked_at = time.monotonic()
        if child.silences >= SILENCES:
            child.silences = 0
            self.report(child, "down", "lives but does not answer")
            child.kill()

    def plan_restart(self, child: Child, now: float) -> None:
        assert child.process is not None
        steady = now - child.started_at >= STEADY_SECONDS
        child.pause = FIRST_PAUSE if steady else child.pause
        child.restarts += 1
        child.restart_at = now + child.pause
        child.announced = False
        self.report(child, "down", f"{ending(child.process.returncode)}; starting again in {child.pause:.1f} s")
        child.pause = min(child.pause * 2, LONGEST_PAUSE)

    def cut_logs(self) -> None:
        if time.monotonic() - self.logs_looked_at > 60:
            self.logs_looked_at = time.monotonic()
            for child in self.children:
                child.cut_log()

    def stop(self) -> None:
        for child in reversed(self.children):
            if child.process is not None:
                child.stop(STOP_SECONDS)
                self.report(child, "stopped", "")
