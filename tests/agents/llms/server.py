"""A real HTTP server that speaks the chat completions protocol, and fails as it is told to."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

KEY = "sk-secret-of-the-test"


def text(*pieces: str, stop: str = "stop") -> list[dict[str, Any]]:
    """A reply of text, in pieces."""
    return [{"delta": {"content": one}} for one in pieces] + [{"delta": {}, "finish_reason": stop}]


def call(name: str, arguments: str, id: str = "call-1", index: int = 0) -> list[dict[str, Any]]:
    """A tool call whose arguments come in two pieces."""
    half = len(arguments) // 2
    first = {"index": index, "id": id, "function": {"name": name, "arguments": arguments[:half]}}
    rest = {"index": index, "function": {"arguments": arguments[half:]}}
    return [{"delta": {"tool_calls": [one]}} for one in (first, rest)]


CALLED = [{"delta": {}, "finish_reason": "tool_calls"}]


class Chat(ThreadingHTTPServer):
    """Plays `script`, one entry a request: a list of choices, a status, or `cut`, `hang` with what goes before."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.script: list[Any] = []
        self.requests: list[dict[str, Any]] = []
        self.paths: list[str] = []
        self.hanging = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class _Handler(BaseHTTPRequestHandler):
    server: Chat
    protocol_version = "HTTP/1.1"

    def log_message(self, *args: Any) -> None:
        return

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.paths.append(self.path)
        if self.headers.get("Authorization") != f"Bearer {KEY}":
            return self._refuse(401, "Incorrect API key provided")
        self.server.requests.append(body)
        entry = self.server.script.pop(0)
        if isinstance(entry, tuple) and isinstance(entry[0], int):
            return self._refuse(*entry)
        how, choices = entry if isinstance(entry, tuple) else ("whole", entry)
        return self._stream(how, choices)

    def _refuse(self, status: int, message: str, headers: dict[str, str] | None = None) -> None:
        data = json.dumps({"error": {"message": message, "type": "x"}}).encode()
        self.send_response(status)
        for name, value in {
            "Content-Type": "application/json",
            "Content-Length": str(len(data)),
            **(headers or {}),
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def _stream(self, how: str, choices: list[dict[str, Any]]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        for choice in choices:
            self._send({"choices": [{"index": 0, "finish_reason": None, **choice}]})
        if how == "hang":
            self.server.hanging.wait(20)
        if how == "whole":
            used = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
            self._send({"choices": [], "usage": used})
            self.wfile.write(b"data: [DONE]\n\n")
        self.close_connection = True

    def _send(self, chunk: dict[str, Any]) -> None:
        whole = {"id": "x", "object": "chat.completion.chunk", "created": int(time.time()), "model": "m", **chunk}
        self.wfile.write(f"data: {json.dumps(whole)}\n\n".encode())
        self.wfile.flush()


@contextmanager
def serving() -> Iterator[Chat]:
    """The server while the block runs."""
    server = Chat()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.hanging.set()
        server.shutdown()
        server.server_close()
