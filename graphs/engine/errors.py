"""All that can go wrong in the engine, one class a kind; its docstring is its message's sense and the way out."""

from __future__ import annotations

import re
from collections.abc import Sequence


class SaysoError(Exception):
    """Something the caller can name and mend."""

    @classmethod
    def code(cls) -> str:
        """The class's name as stored errors and APIs spell it: `dead_end`, `question_changed`."""
        return re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()


class DefinitionError(SaysoError):
    """A graph definition cannot be compiled; the message names the node or edge and what to change."""


class PayloadError(SaysoError):
    """A value is not JSON, or is past a bound; `path` is the JSON pointer of the offending place (Z21, Z48), `reason`
    what is wrong there, for whoever shows the place by itself."""

    def __init__(self, message: str, path: str = "") -> None:
        super().__init__(f"{message} (at {path or '/'})")
        self.path = path
        self.reason = message


class SchemaError(SaysoError):
    """A response schema is not a valid JSON Schema or reaches outside itself (Z06)."""


class AnswerInvalid(SaysoError):
    """An answer breaks its question's response schema; `problems` is a list of (JSON pointer, message) (Z31).
    `question` is what its message names."""

    def __init__(self, problems: Sequence[tuple[str, str]], question: str = "") -> None:
        told = "; ".join(f"{path or 'the answer'}: {message}" for path, message in problems)
        super().__init__(f"question {question}: {told}" if question else told)
        self.problems = list(problems)


class AnswerMismatch(SaysoError):
    """A reply names no open question, or is ambiguous; `open_ids` lists what is open; nothing was stored (Z03). `nodes`
    are theirs, for the message."""

    def __init__(self, message: str, open_ids: Sequence[str] = (), nodes: Sequence[str] = ()) -> None:
        pairs = [f"{id} ({node})" for id, node in zip(open_ids, nodes, strict=False) if node] or open_ids
        listed = ", ".join(pairs) or "none"
        super().__init__(f"{message}; open questions: {listed}")
        self.open_ids = list(open_ids)


class AlreadyAnswered(AnswerMismatch):
    """The question was answered before, and otherwise; the first answer holds (Z01, Z35)."""


class AmbiguousQuestion(SaysoError):
    """Two questions of one task were asked at the same time without explicit keys; give each a `key`."""


class UnknownThread(SaysoError):
    """There is no such thread under this graph (G34)."""


class ThreadExists(SaysoError):
    """A thread with this id exists under this graph already."""


class ThreadBusy(SaysoError):
    """The thread has open questions or is running, so it takes no new input; `open_ids` lists the questions (Z11)."""

    def __init__(self, message: str, open_ids: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.open_ids = list(open_ids)


class ThreadEnded(SaysoError):
    """The thread has ended, so there is nothing to resume (G35)."""


class DefinitionChanged(SaysoError):
    """The graph changed under a paused thread in a way that cannot resume; the message names the missing node (Z20)."""


class CannotFork(SaysoError):
    """The thread has no such checkpoint, or nothing would run from there; the message says which (E25)."""


class CannotMigrate(SaysoError):
    """A thread does not fit the definition that it should move to; the message names the node and the way out (Z44)."""


class LeaseLost(SaysoError):
    """Another holder took the thread over; this one writes nothing more (R3)."""


class ThreadSuspended(LeaseLost):
    """Somebody suspended the thread: what had finished is stored, and nothing runs until it is resumed (E17)."""


class BudgetExceeded(SaysoError):
    """A budget of supersteps, tokens or seconds is used up (G36)."""


class NodeTimeout(SaysoError):
    """A node ran longer than its timeout."""


class PauseSwallowed(SaysoError):
    """A node caught the pause that it had raised, so the question was never asked (T09, Z43)."""


class QuestionChanged(SaysoError):
    """A node asked a different question at the same place three times without progress."""


class DeadEnd(SaysoError):
    """A route matched no edge and the node has no default edge (Z53)."""


class InputMismatch(SaysoError):
    """A node's input does not fit the parameter it is bound to; the message names node and parameter."""


class OutputBesideQuestion(SaysoError):
    """A node asked and also gave an output or a route in the same pass; only one of them can hold (Z50)."""


class QuestionExpired(SaysoError):
    """A question's time is up and it has no default answer, so the task that asked it fails."""


class ChildFailed(SaysoError):
    """A graph that a node ran as its child has failed; the message names the child and what went wrong in it."""


class NestedPause(SaysoError):
    """A run started inside a node paused, which the outer one cannot see; make the inner graph a node of it (Z24)."""


class CannotReplay(SaysoError):
    """A thread's log does not lead on from here: a step has none, or the definition has no place for what it names.
    `name` is the task or the kind of step that it stumbled over."""

    def __init__(self, message: str, name: str = "") -> None:
        super().__init__(message)
        self.name = name
