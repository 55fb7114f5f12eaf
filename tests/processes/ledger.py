"""What really happened, written where the system under test cannot write by accident: a SQLite file of its own.

`attempts` gets a row before each effect and `applied` one after it, each in a commit of its own; `entered` gets one
when a node begins; `acks` gets one when a reviewer has read the answer to a decision."""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

TABLES = """
PRAGMA journal_mode=WAL;
CREATE TABLE IF NOT EXISTS attempts (id INTEGER PRIMARY KEY, key TEXT, fence TEXT, pid INTEGER, at REAL);
CREATE TABLE IF NOT EXISTS applied (key TEXT PRIMARY KEY, at REAL);
CREATE TABLE IF NOT EXISTS entered (id INTEGER PRIMARY KEY, key TEXT, pid INTEGER, at REAL);
CREATE TABLE IF NOT EXISTS acks (interrupt TEXT, status INTEGER, value TEXT, at REAL);
CREATE TABLE IF NOT EXISTS faults (kind TEXT, at REAL);
CREATE TABLE IF NOT EXISTS tokens (thread TEXT, token INTEGER, at REAL);
"""


class Ledger:
    """Opened for each call: work-horses fork, and a SQLite connection must not cross a fork."""

    def __init__(self, path: str | Path) -> None:
        self.path = str(path)

    def create(self) -> Ledger:
        with closing(sqlite3.connect(self.path)) as connection:
            connection.executescript(TABLES)
        return self

    def write(self, statement: str, *values: Any) -> None:
        with closing(sqlite3.connect(self.path, timeout=30, isolation_level=None)) as connection:
            connection.execute("PRAGMA synchronous=FULL")
            connection.execute(statement, values)

    def read(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(self.path, timeout=30)) as connection:
            return connection.execute(statement, values).fetchall()

    def effect(self, key: str, fence: str, seconds: float) -> str:
        """An outside system that remembers keys: it may be called twice, and acts once."""
        at = time.time()
        self.write("INSERT INTO attempts (key, fence, pid, at) VALUES (?, ?, ?, ?)", key, fence, os.getpid(), at)
        time.sleep(seconds)
        self.write("INSERT OR IGNORE INTO applied (key, at) VALUES (?, ?)", key, time.time())
        return key

    def enter(self, key: str) -> None:
        self.write("INSERT INTO entered (key, pid, at) VALUES (?, ?, ?)", key, os.getpid(), time.time())

    def acknowledge(self, interrupt: str, status: int, value: str) -> None:
        self.write("INSERT INTO acks VALUES (?, ?, ?, ?)", interrupt, status, value, time.time())

    def fault(self, kind: str) -> None:
        self.write("INSERT INTO faults VALUES (?, ?)", kind, time.time())

    def token(self, thread: str, token: int) -> None:
        self.write("INSERT INTO tokens VALUES (?, ?, ?)", thread, token, time.time())

    def attempts(self) -> int:
        return int(self.read("SELECT count(*) FROM attempts")[0][0])
