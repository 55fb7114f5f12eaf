"""Operations: an agent that looks after a folder and deletes what is old; a person agrees to each batch of files."""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path
from tempfile import gettempdir
from typing import Annotated, Any

from pydantic import Field

from graphs.agents.agent import Agent
from graphs.agents.hooks import BeforeToolsEvent
from graphs.agents.models import ScriptedModel, ToolCall
from graphs.agents.named import configured_or
from graphs.agents.tools import tool
from graphs.engine.hooks import HookRegistry
from graphs.engine.messages import Message, since_prompt

#: In days. A younger file is never deleted, whoever agrees: nothing that took a listed name since goes with it.
OLD = 30
DAY = 24 * 3600
#: Files that are listed, and that one call deletes.
MOST = 200
#: Entries of the folder that are looked at, and folders within each other.
LOOKED_AT, DEEPEST = 10_000, 8
#: What the folder is filled with, so that there is something to delete: age in days by name.
SAMPLES: Mapping[str, int] = {
    "exports/customers-2025.csv": 240,
    "exports/orders-may.csv": 45,
    "exports/orders-newest.csv": 2,
    "logs/web-1.log": 93,
    "logs/web-2.log": 61,
    "logs/web-3.log": 4,
    "tmp/upload-77.part": 38,
    "notes.txt": 12,
}
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

Names = Annotated[list[str], Field(title="Files", description="Names as listed.", min_length=1, max_length=MOST)]


class Sandbox:
    """A folder that its tools never leave: each name is walked from the folder's descriptor, part by part and through
    no link, so that whatever is renamed or replaced meanwhile cannot lead them out of it.

    Without `folder` it is one of this user in the system's temporary folder, made with samples when it is first used.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or Path(gettempdir()) / f"sayso-sandbox-{os.geteuid()}"

    @tool
    def list_files(self) -> dict[str, Any]:
        """List the files of the folder with their age in days and their size in bytes, oldest first."""
        with self._opened() as root:
            found = sorted(islice(_files(root), LOOKED_AT), key=lambda one: (-one["days"], one["name"]))
        return {"files": found[:MOST], "more": max(0, len(found) - MOST)}

    @tool
    def delete_files(self, names: Names) -> dict[str, Any]:
        """Delete files that are older than 30 days. Name all of them in one call, since a person is asked about each
        call. What was kept comes back with the reason."""
        deleted, kept = [], []
        with self._opened() as root:
            for name in dict.fromkeys(names):
                why = _delete(root, name)
                if why:
                    kept.append({"name": name[:200], "why": why})
                else:
                    deleted.append(name)
        return {"deleted": deleted, "kept": kept}

    @tool
    def restore_samples(self) -> dict[str, Any]:
        """Put the sample files that are missing back, to try it again."""
        with self._opened() as root:
            return {"restored": [name for name, days in SAMPLES.items() if _write(root, name, days)]}

    @contextmanager
    def _opened(self) -> Iterator[int]:
        """The folder's descriptor. Raises `PermissionError` where it is not this user's alone."""
        fresh = _made(self.folder)
        root = os.open(self.folder, _FOLDER)
        try:
            found = os.fstat(root)
            if found.st_uid != os.geteuid() or found.st_mode & 0o077:
                raise PermissionError(f"{self.folder} is open to others; remove it, or take their rights to it away")
            if fresh:
                for name, days in SAMPLES.items():
                    _write(root, name, days)
            yield root
        finally:
            os.close(root)


def _made(folder: Path) -> bool:
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        return False
    return True


def _files(root: int) -> Iterator[dict[str, Any]]:
    """The plain files within a folder, none of them through a link."""
    now = time.time()
    for path, folders, names, at in os.fwalk(".", dir_fd=root):
        within = [] if path == "." else path.split("/")[1:]
        if len(within) >= DEEPEST - 1:
            folders.clear()
        for name in names:
            try:
                found = os.stat(name, dir_fd=at, follow_symlinks=False)
            except OSError:
                continue  # gone since it was listed
            full = "/".join([*within, name])
            if stat.S_ISREG(found.st_mode) and full.isprintable():
                yield {"name": full, "days": int((now - found.st_mtime) // DAY), "bytes": found.st_size}


def _delete(root: int, name: str) -> str:
    """Why a file was kept; empty where it was deleted."""
    parts = _parts(name)
    if not parts:
        return "is no name of a file in this folder"
    try:
        with _within(root, parts[:-1]) as at:
            found = os.stat(parts[-1], dir_fd=at, follow_symlinks=False)
            if not stat.S_ISREG(found.st_mode):
                return "is no plain file"
            if time.time() - found.st_mtime < OLD * DAY:
                return f"is younger than {OLD} days"
            os.unlink(parts[-1], dir_fd=at)
    except FileNotFoundError:
        return "is not there"
    except NotADirectoryError:
        return "does not lie in a plain folder"
    except OSError as error:
        return f"cannot be deleted: {error.strerror}"
    return ""


def _parts(name: str) -> list[str]:
    """The parts of a relative name; none where it could mean anything outside of the folder."""
    parts = name.split("/")
    plain = all(part not in ("", ".", "..") and "\0" not in part for part in parts)
    return parts if plain and len(parts) <= DEEPEST else []


@contextmanager
def _within(root: int, folders: Sequence[str], make: bool = False) -> Iterator[int]:
    """The descriptor of a folder within. A link on the way is an error of the system."""
    at = os.dup(root)
    try:
        for one in folders:
            if make and one not in os.listdir(at):
                os.mkdir(one, 0o700, dir_fd=at)
            inner = os.open(one, _FOLDER, dir_fd=at)
            os.close(at)
            at = inner
        yield at
    finally:
        os.close(at)


def _write(root: int, name: str, days: int) -> bool:
    """Write a sample of this age; False where it is there."""
    *folders, last = name.split("/")
    try:
        with _within(root, folders, make=True) as at, os.fdopen(os.open(last, _NEW, 0o600, dir_fd=at), "wb") as file:
            file.write(f"A sample: {name}\n".encode() * 40)
            file.flush()
            os.utime(file.fileno(), (time.time() - days * DAY,) * 2)
    except FileExistsError:
        return False
    return True


class OneBatch:
    """Lets a reply delete by one call only, so that one question stands for all of its files."""

    def register_hooks(self, registry: HookRegistry) -> None:
        registry.add_callback(BeforeToolsEvent, self.before)

    def before(self, event: BeforeToolsEvent) -> None:
        calls = [block["toolUse"]["name"] for block in event.message["content"] if "toolUse" in block]
        if calls.count("delete_files") > 1:
            event.cancel = (
                "Nothing was done. Name all files in one call of delete_files: a person is asked once for all."
            )


# What it says without a model

NO = re.compile(r"^\W*no\b|\b(do not|don['’]t|never|stop|leave)\b", re.IGNORECASE)
YES = re.compile(r"^\W*(yes|yep|sure|ok|okay|please|go ahead|do it|do so)\b", re.IGNORECASE)
DELETE = re.compile(r"\b(delet|clean|tid[yi]|remov|clear|purg|free|rid\b)", re.IGNORECASE)
LOOK = re.compile(r"\b(list|show|what|which|how|files?|folders?|old|look|see|there)\b", re.IGNORECASE)
AGAIN = re.compile(r"\b(samples?|restore|reset|refill)\b", re.IGNORECASE)
OFFER = "Shall I delete them?"
SAY_SAMPLES = "Say “samples” for files to try it with."
HELP = "I look after a folder of files. Ask me what is in it, or to delete what is old, in all of it or in one folder."


def reply(said: Sequence[Message]) -> str | ToolCall:
    """The reply that follows from the messages alone."""
    turn = since_prompt(said)
    before = said[: len(said) - len(turn)]
    wish = turn[0].text()
    agreed = bool(before) and OFFER in before[-1].text() and YES.search(wish) is not None
    if len(turn) == 1:
        return _begin(wish, agreed)
    call, result = turn[-2].tool_calls[-1], turn[-1].tool_results[-1]
    given = result["content"][0].get("json")
    if result["status"] != "success" or not isinstance(given, dict):
        return f"I did nothing. {turn[-1].text()}"
    if call["name"] == "list_files":
        deletes = agreed or DELETE.search(wish) is not None
        return _decide(since_prompt(before)[0].text() if agreed else wish, given["files"], deletes)
    return _restored(given) if call["name"] == "restore_samples" else _deleted(given)


def _begin(wish: str, agreed: bool) -> str | ToolCall:
    if NO.search(wish):
        return "Then I leave everything as it is."
    if AGAIN.search(wish):
        return ToolCall("restore_samples")
    return ToolCall("list_files") if agreed or DELETE.search(wish) or LOOK.search(wish) else HELP


def _decide(wish: str, files: Sequence[Mapping[str, Any]], deletes: bool) -> str | ToolCall:
    words = [word.strip(".,;:!?'\"“”()") for word in wish.split()]
    named = [one for one in files if any(_means(word, one["name"]) for word in words)]
    unknown = [word for word in words if re.search(r"[^.]\.\w|/|\*", word)] if not named else []
    if unknown:
        return f"I find nothing named {unknown[0]} in my folder."
    days = max([OLD, *(int(one) for one in re.findall(r"older than (\d{1,5})\b", wish))])
    meant = named or files
    old = [one for one in meant if one["days"] >= days]
    if deletes and old:
        return ToolCall("delete_files", {"names": [one["name"] for one in old]})
    if not meant:
        return f"The folder is empty. {SAY_SAMPLES}"
    listed = "\n".join(f"- {one['name']}: {one['days']} days old, {one['bytes']} bytes" for one in meant)
    if not old:
        return (
            f"{listed}\n\nNone of these is older than {days} days, so I keep them.{'' if named else f' {SAY_SAMPLES}'}"
        )
    return f"{listed}\n\nOlder than {days} days: {', '.join(one['name'] for one in old)}. {OFFER}"


def _means(word: str, name: str) -> bool:
    """Whether a word names a file, a folder that it lies in, or a pattern of such names."""
    path = word.strip("/").lower()
    return bool(path) and any(
        fnmatchcase(one.lower(), path) for one in (name, *name.split("/"), *(str(up) for up in Path(name).parents))
    )


def _deleted(given: Mapping[str, Any]) -> str:
    gone, kept = given["deleted"], given["kept"]
    told = "Deleted:\n" + "\n".join(f"- {one}" for one in gone) if gone else "Nothing was deleted."
    return told + ("\n\nKept:\n" + "\n".join(f"- {one['name']} {one['why']}" for one in kept) if kept else "")


def _restored(given: Mapping[str, Any]) -> str:
    return f"These are back: {', '.join(given['restored'])}." if given["restored"] else "No sample is missing."


def operator(sandbox: Sandbox) -> Agent:
    """The agent, for the files of one folder."""
    made = Agent(
        "operations",
        configured_or(ScriptedModel(reply, pause=0.02)),
        "You look after a folder of files. Look with list_files before you delete. Delete only files older than "
        f"{OLD} days, and name all of them in one call of delete_files. Say what was deleted, what was kept, and why.",
        tools=[sandbox.list_files, sandbox.delete_files, sandbox.restore_samples],
        approve=["delete_*"],
        hooks=[OneBatch()],
        description=f"Deletes files older than {OLD} days from a folder; a person agrees to each batch of them.",
        queue="operations",
    )
    made.title = "Tidy up files"
    return made


root_agent = operator(Sandbox())
