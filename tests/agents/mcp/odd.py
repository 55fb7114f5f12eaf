"""A server without the SDK, that misbehaves: `odd.py MANNER`, over standard input and output."""

from __future__ import annotations

import json
import sys
import time
from typing import Any

OBJECT = {"type": "object", "properties": {"n": {"type": "integer"}}}
TREE = {
    "type": "object",
    "properties": {"top": {"$ref": "#/definitions/branch"}},
    "definitions": {"branch": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}},
    "$schema": "http://json-schema.org/draft-07/schema#",
}
TOOLS: list[Any] = [
    {"name": "good", "description": "x" * 10_000, "inputSchema": OBJECT},
    {"name": "two words", "inputSchema": OBJECT},
    {"name": "long" * 17, "inputSchema": OBJECT},
    {"name": "", "inputSchema": OBJECT},
    {"name": 7, "inputSchema": OBJECT},
    {"name": "no_schema"},
    {"name": "text_schema", "inputSchema": {"type": "string"}},
    {"name": "elsewhere", "inputSchema": {**OBJECT, "properties": {"n": {"$ref": "https://example.org/n"}}}},
    {"name": "nonsense", "inputSchema": {**OBJECT, "properties": {"n": {"type": "nonsense"}}}},
    "no tool at all",
    {"name": "tree", "inputSchema": TREE},
]
SECOND_PAGE = [{"name": "good", "inputSchema": OBJECT}, {"name": "last.one", "inputSchema": OBJECT}]
CAPABILITIES = {"tools": {}}
ASKS = {
    "method": "elicitation/create",
    "params": {"mode": "form", "message": "How many?", "requestedSchema": {**OBJECT, "required": ["n"]}},
}


def main(manner: str) -> None:
    if manner == "garbage":
        print("Welcome!\n{", flush=True)
    for line in sys.stdin:
        said = json.loads(line)
        if manner == "deaf":
            time.sleep(3600)
        if "id" in said and "method" in said:
            print(json.dumps({"jsonrpc": "2.0", "id": said["id"], **answer(manner, said)}), flush=True)


def answer(manner: str, said: dict[str, Any]) -> dict[str, Any]:
    method, params = said["method"], said.get("params") or {}
    if method == "initialize" and manner == "later":
        later = {"supported": ["2026-07-28"], "requested": params["protocolVersion"]}
        return {"error": {"code": -32022, "message": "too old", "data": later}}
    if method == "initialize":
        info = {"name": "odd", "version": "1"}
        return {"result": {"protocolVersion": "2025-11-25", "capabilities": CAPABILITIES, "serverInfo": info}}
    if method == "server/discover":
        return whole({"supportedVersions": ["2026-07-28"], "capabilities": CAPABILITIES, "ttlMs": 0})
    if method == "tools/list" and manner == "endless":
        return whole({"tools": [], "nextCursor": "more"})
    if method == "tools/list":
        more = bool(params.get("cursor"))
        return whole({"tools": SECOND_PAGE} if more else {"tools": TOOLS, "nextCursor": "2"})
    if manner == "later" and method == "tools/call" and "inputResponses" not in params:
        return {"result": {"resultType": "input_required", "inputRequests": {"q": ASKS}, "requestState": "s-1"}}
    if manner == "shouts":
        return {"result": {"content": "not a list"}}
    if manner == "refuses":
        return {"error": {"code": -32602, "message": "unknown tool" + "!" * 10_000}}
    given = json.dumps([params.get("arguments"), params.get("inputResponses"), params.get("requestState")])
    return whole({"content": [{"type": "text", "text": given}]})


def whole(result: dict[str, Any]) -> dict[str, Any]:
    return {"result": {"resultType": "complete", "cacheScope": "private", "ttlMs": 0, **result}}


if __name__ == "__main__":
    main(sys.argv[1])
