from __future__ import annotations

import os
import signal
import socket
import sys
import urllib.error
import urllib.request
from argparse import ArgumentParser
from datetime import datetime
from pathlib import Path
from threading import Event
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError, connection, connections
from redis import RedisError
from rq.worker import Worker

from graphs import queue as doorbell
from graphs.library import registry
from graphs.management import first_run
from graphs.management.supervisor import Child, ChildFailed, Supervisor
from graphs.models import Heartbeat, Thread
from hitl_site import redis_server

DOTS = {"ready": "SUCCESS", "down": "ERROR", "stopped": "WARNING", "broken": "ERROR"}


class Command(BaseCommand):
    help = "Starts everything Sayso needs on this machine and keeps it running: Redis, workers, clock, web."
    # They run further down, once there is a secret key.
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default 127.0.0.1)")
        parser.add_argument("--port", type=int, default=8000, help="port to listen on (default 8000)")
        parser.add_argument("--demo", action="store_true", help="fill the inbox with examples")

    def handle(self, *args: Any, host: str, port: int, demo: bool, **options: Any) -> None:
        self.var: Path = settings.SAYSO_VAR
        self.host, self.port = host, port
        stopped = Event()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda *_: stopped.set())
        first_run.prepare_folder(self.var)
        lock = first_run.take_lock(self.var)
        try:
            self.refuse_taken_port()
            login = self.prepare()
            self.supervise(stopped, login, demo)
        finally:
            lock.close()

    # --- before anything runs ------------------------------------------------------------------------------------

    def refuse_taken_port(self) -> None:
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((self.host, self.port))
            except (OSError, OverflowError) as error:
                raise CommandError(
                    f"Port {self.port} on {self.host} cannot be used: {error}. "
                    f"Choose another one: manage.py up --port {min(self.port + 1, 65535)}"
                ) from None

    def prepare(self) -> tuple[str, str] | None:
        self.stdout.write(f"\n  {self.style.MIGRATE_HEADING('Sayso')}\n\n")
        first_run.ensure_secret_key(self.var)
        self.check()
        try:
            call_command("migrate", interactive=False, verbosity=0)
            login = first_run.ensure_first_user(self.var)
        except DatabaseError as error:
            raise CommandError(f"The database cannot be used: {error}".strip()) from error
        self.line("database", "ready", self.database_note())
        # Children must not inherit an open connection.
        connections.close_all()
        return login

    def database_note(self) -> str:
        name = str(settings.DATABASES["default"]["NAME"])
        return f"{connection.display_name}, {os.path.relpath(name) if connection.vendor == 'sqlite' else name}"

    # --- the processes -------------------------------------------------------------------------------------------

    def supervise(self, stopped: Event, login: tuple[str, str] | None, demo: bool) -> None:
        supervisor = Supervisor(self.children(), lambda child, state, note: self.line(child.name, state, note), stopped)
        try:
            supervisor.start()
            if not stopped.is_set():
                self.name_broken_graphs()
                self.fill_inbox(demo)
                self.welcome(login)
            supervisor.run()
        except ChildFailed as error:
            raise CommandError(f"{error}\n\nWhat may be wrong: manage.py doctor") from None
        finally:
            self.stdout.write("")
            supervisor.stop()

    def children(self) -> list[Child]:
        children = [self.worker("threads"), self.worker("background"), self.clock(), self.web()]
        if redis_server.private_url(self.var) == settings.REDIS_URL:
            return [self.redis(), *children]
        if redis_server.run_id(settings.REDIS_URL) is None:
            raise CommandError(
                "The Redis at REDIS_URL does not answer. Start it, correct REDIS_URL, "
                "or unset it: Sayso then runs its own."
            )
        self.line("redis", "ready", "REDIS_URL")
        return children

    def child(self, name: str, command: list[str], ready: Any, note: str = "", **more: Any) -> Child:
        return Child(name, command, self.var / "log" / f"{name.replace(' ', '-')}.log", ready, note=note, **more)

    def manage(self, *arguments: str) -> list[str]:
        return [sys.executable, str(settings.BASE_DIR / "manage.py"), *arguments]

    def redis(self) -> Child:
        try:
            binary = redis_server.find_binary()
        except redis_server.RedisUnavailable as error:
            raise CommandError(str(error)) from None
        path = redis_server.socket_path(self.var)

        def prepare() -> None:
            redis_server.prepare_folder(path.parent)
            redis_server.clear_leftover(path)

        return self.child(
            "redis",
            redis_server.command(binary, path),
            lambda child: redis_server.run_id(settings.REDIS_URL) is not None,
            f"private socket, {binary.origin}",
            prepare=prepare,
            watched=True,
        )

    def worker(self, queue: str) -> Child:
        return self.child(f"worker {queue}", self.manage("worker", queue), lambda child: listens(queue, child.pid))

    def clock(self) -> Child:
        beat = FreshBeat("clock")
        return self.child("clock", self.manage("clock"), lambda child: beat.came(), prepare=beat.remember)

    def web(self) -> Child:
        command = [sys.executable, "-m", "daphne", "-b", self.host, "-p", str(self.port), "-v", "0", "--no-server-name"]
        if settings.SAYSO_BEHIND_PROXY:
            command.append("--proxy-headers")
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
        return self.child(
            "web",
            [*command, "hitl_site.asgi:application"],
            lambda child: answers(self.address(local=True)),
            environment=environment,
        )

    def name_broken_graphs(self) -> None:
        """A module that cannot be imported stops nothing else, and so would be missed in silence."""
        for entry in registry.entries():
            if entry.error:
                self.line("graphs", "broken", f"{entry.module}: {entry.error}")

    def fill_inbox(self, demo: bool) -> None:
        if demo:
            self.stdout.write("")
            call_command("demo", stdout=self.stdout)
        self.untouched = not Thread.objects.exists()
        connections.close_all()

    # --- what people see -----------------------------------------------------------------------------------------

    def address(self, local: bool = False) -> str:
        host = "127.0.0.1" if local and self.host == "0.0.0.0" else self.host  # noqa: S104 - compared, not bound
        return f"http://[{host}]:{self.port}/" if ":" in host else f"http://{host}:{self.port}/"

    def line(self, name: str, state: str, note: str) -> None:
        style = getattr(self.style, DOTS.get(state, "SUCCESS"))
        self.stdout.write(f"  {style('●')} {name:<18} {state:<8} {note}".rstrip())
        self.stdout.flush()

    def welcome(self, login: tuple[str, str] | None) -> None:
        bold = self.style.MIGRATE_HEADING
        self.stdout.write(f"\n  Open      {bold(self.address())}")
        if login:
            where = os.path.relpath(self.var / "first-login")
            self.stdout.write(f"  Sign in   {bold(login[0])}  {bold(login[1])}")
            self.stdout.write(f"            kept in {where} until you change it")
        else:
            self.stdout.write("  Sign in   as before")
        if self.untouched:
            python = os.path.relpath(sys.executable)
            self.stdout.write(f"  Next      open Launch and start a graph, or fill the inbox: {python} manage.py demo")
        self.stdout.write(f"\n  Logs are in {os.path.relpath(self.var / 'log')}. Ctrl+C stops everything.\n")
        self.stdout.flush()


def listens(queue: str, pid: int | None) -> bool:
    try:
        return any(worker.pid == pid for worker in Worker.all(queue=doorbell.open_queue(queue)))
    except (RedisError, OSError):
        return False


class FreshBeat:
    """Whether a heartbeat came since the process was started; no clock is compared with another."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.before: datetime | None = None

    def read(self) -> datetime | None:
        try:
            return Heartbeat.objects.filter(name=self.name).values_list("at", flat=True).first()
        except DatabaseError:
            return self.before
        finally:
            connections.close_all()

    def remember(self) -> None:
        self.before = self.read()

    def came(self) -> bool:
        return self.read() != self.before


def answers(address: str) -> bool:
    """A real page came back, not just an open port."""
    request = urllib.request.Request(address, headers={"Host": "localhost"})  # noqa: S310 - our own address
    try:
        with urllib.request.urlopen(request, timeout=2) as response:  # noqa: S310
            return bool(response.status < 500)
    except urllib.error.HTTPError as error:
        return error.code < 500
    except (OSError, ValueError):
        return False
