"""The SQL of the SQLite store."""

from __future__ import annotations

SCHEMA = """
CREATE TABLE IF NOT EXISTS threads (
    id INTEGER PRIMARY KEY, graph_id TEXT NOT NULL, thread_id TEXT NOT NULL, status TEXT NOT NULL,
    fingerprint TEXT NOT NULL, version TEXT NOT NULL, step INTEGER NOT NULL, next_seq INTEGER NOT NULL,
    input TEXT NOT NULL, output TEXT NOT NULL, error TEXT NOT NULL, metadata TEXT NOT NULL,
    full_step INTEGER NOT NULL, full_bytes INTEGER NOT NULL, delta_bytes INTEGER NOT NULL,
    UNIQUE (graph_id, thread_id));
CREATE TABLE IF NOT EXISTS checkpoints (
    thread INTEGER NOT NULL, step INTEGER NOT NULL, is_full INTEGER NOT NULL, data TEXT NOT NULL, status TEXT NOT NULL,
    at TEXT NOT NULL, log TEXT NOT NULL DEFAULT '{}', PRIMARY KEY (thread, step)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS tasks (
    thread INTEGER NOT NULL, path TEXT NOT NULL, visit INTEGER NOT NULL, applied INTEGER NOT NULL, result TEXT,
    PRIMARY KEY (thread, path, visit)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS tasks_live ON tasks (thread) WHERE applied = 0;
CREATE TABLE IF NOT EXISTS journal (
    thread INTEGER NOT NULL, path TEXT NOT NULL, visit INTEGER NOT NULL, key TEXT NOT NULL, ordinal INTEGER NOT NULL,
    state TEXT NOT NULL, mode TEXT NOT NULL, value TEXT NOT NULL,
    PRIMARY KEY (thread, path, visit, key, ordinal)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS interrupts (
    n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, thread INTEGER NOT NULL, path TEXT NOT NULL, visit INTEGER NOT NULL,
    key TEXT NOT NULL, ordinal INTEGER NOT NULL, revision INTEGER NOT NULL, status TEXT NOT NULL, data TEXT NOT NULL,
    decision TEXT, UNIQUE (thread, path, visit, key, ordinal, revision));
CREATE INDEX IF NOT EXISTS interrupts_open ON interrupts (thread) WHERE status IN ('open', 'needs_info');
CREATE TABLE IF NOT EXISTS events (
    thread INTEGER NOT NULL, seq INTEGER NOT NULL, data TEXT NOT NULL, PRIMARY KEY (thread, seq)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS grants (
    n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, graph_id TEXT NOT NULL, thread_id TEXT NOT NULL,
    data TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS grants_of ON grants (graph_id);
"""
#: A file from before there was a log gets its column, empty: those steps cannot be replayed, and say so.
ADD_LOG = "ALTER TABLE checkpoints ADD COLUMN log TEXT NOT NULL DEFAULT '{}'"
CHECKPOINT = "INSERT INTO checkpoints (thread, step, is_full, data, status, at, log) VALUES (?,?,?,?,?,?,?)"
RECORD = (
    "INSERT INTO journal VALUES (?,?,?,?,?,?,?,?) ON CONFLICT DO UPDATE SET state=excluded.state, mode=excluded.mode,"
    " value=excluded.value WHERE journal.state <> 'done'"
)
AT_PLACE = (
    "SELECT data, status, decision FROM interrupts"
    " WHERE thread=? AND path=? AND visit=? AND key=? AND ordinal=? AND revision=?"
)
SUPERSEDE = (
    "UPDATE interrupts SET status='superseded'"
    " WHERE thread=? AND path=? AND visit=? AND key=? AND ordinal=? AND revision<?"
)
WITHDRAW = (
    "UPDATE interrupts SET status='withdrawn'"
    " WHERE thread=? AND path=? AND visit=? AND status IN ('open', 'needs_info')"
)
WITHDRAW_ALL = "UPDATE interrupts SET status='withdrawn' WHERE thread=? AND status IN ('open', 'needs_info')"
NAMED_OR_OPEN = (
    "SELECT data, status, decision FROM interrupts WHERE thread=?"
    " AND (status IN ('open', 'needs_info') OR id IN (SELECT value FROM json_each(?))) ORDER BY n"
)
DECIDED = (
    "SELECT data, status, decision FROM interrupts WHERE thread=? AND decision IS NOT NULL"
    " AND json_extract(data, '$.name')=? ORDER BY n"
)
CREATE = (
    "INSERT INTO threads (graph_id, thread_id, status, fingerprint, version, input, step, next_seq, output, error,"
    " metadata, full_step, full_bytes, delta_bytes) VALUES (?,?,?,?,?,?,0,1,'null','null',?,0,?,0)"
)
ADVANCE = (
    "UPDATE threads SET step=?, status=?, next_seq=?, output=?, error=?, full_step=?, full_bytes=?, delta_bytes=?"
    " WHERE id=?"
)
RESULTS = (
    "SELECT t.path, t.visit, t.result FROM json_each(?) AS k JOIN tasks AS t ON t.thread=?"
    " AND t.path=json_extract(k.value,'$[0]') AND t.visit=json_extract(k.value,'$[1]') WHERE t.result IS NOT NULL"
)
FIND = (
    "SELECT id, status, fingerprint, version, step, next_seq, input, output, error, full_step, full_bytes, delta_bytes"
    " FROM threads WHERE graph_id=? AND thread_id=?"
)
JOURNALS = "SELECT path, visit, key, ordinal, state, value, mode FROM journal WHERE thread=? ORDER BY path, visit"
GRANT = "INSERT INTO grants (id, graph_id, thread_id, data) VALUES (?,?,?,?)"
GRANTS = "SELECT thread_id, data FROM grants WHERE graph_id=? ORDER BY n"
