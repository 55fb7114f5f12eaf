"""Zip files that leave the installation: each names the digests of its files in a manifest that the audit key signs."""

from __future__ import annotations

import hashlib
import hmac
import io
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import orjson

from graphs.actions import audit

#: How a manifest is called, by what it is of.
NAMES = {"evidence pack": "manifest.json", "audit export": "verification.json"}
#: How a damaged or foreign zip file shows while it is read.
BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError)


def manifest(purpose: str, facts: Mapping[str, Any], files: Mapping[str, str]) -> bytes:
    """The manifest of `files`, which are SHA-256 digests by name, with its signature."""
    content = {"purpose": purpose, **facts, "files": dict(files)}
    signed = {**content, "signature": audit.seal(purpose, canonical(content))}
    return orjson.dumps(signed, option=orjson.OPT_INDENT_2) + b"\n"


def packed(purpose: str, facts: Mapping[str, Any], files: Mapping[str, bytes], digests: Mapping[str, str]) -> bytes:
    """The zip of `files`, whose digests are known, with their manifest."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as pack:
        pack.writestr(NAMES[purpose], manifest(purpose, facts, digests))
        for name, content in files.items():
            pack.writestr(name, content)
    return made.getvalue()


def canonical(content: Mapping[str, Any]) -> bytes:
    return orjson.dumps(content, option=orjson.OPT_SORT_KEYS)


def fault(path: Path | IO[bytes]) -> str:
    """The first thing that is not as it was sealed, by the name of its file; empty where all is intact."""
    try:
        with zipfile.ZipFile(path) as pack:
            return fault_of(pack)
    except BROKEN as error:
        return f"it is no whole zip file ({error})"


def fault_of(pack: zipfile.ZipFile) -> str:
    names = pack.namelist()
    name = next((one for one in NAMES.values() if one in names), "")
    if not name:
        return f"{NAMES['evidence pack']} is missing"
    content = read(pack, name)
    if content is None:
        return f"{name} was altered, or the audit key is not the one it was signed with"
    if len(names) != len(set(names)):
        return f"{next(one for one in names if names.count(one) > 1)} is there twice"
    files = content["files"]
    for one in files:
        if one not in names:
            return f"{one} is missing"
        if not hmac.compare_digest(digest(pack, one), str(files[one])):
            return f"{one} was altered"
    extra = [one for one in names if one not in files and one != name]
    return f"{extra[0]} was added" if extra else ""


def read(pack: zipfile.ZipFile, name: str) -> dict[str, Any] | None:
    """The manifest, where its signature is ours."""
    try:
        content = orjson.loads(pack.read(name))
        signature, purpose = content.pop("signature"), content["purpose"]
        known = NAMES.get(purpose) == name and isinstance(content["files"], dict)
    except (ValueError, KeyError, TypeError, AttributeError, *BROKEN):
        return None
    same = isinstance(signature, str) and hmac.compare_digest(signature, audit.seal(purpose, canonical(content)))
    return content if known and same else None


def digest(pack: zipfile.ZipFile, name: str) -> str:
    """The SHA-256 of a file, read in pieces; of one that cannot be read it is no digest."""
    found = hashlib.sha256()
    try:
        with pack.open(name) as file:
            while piece := file.read(1 << 20):
                found.update(piece)
    except BROKEN:
        return "unreadable"
    return found.hexdigest()
