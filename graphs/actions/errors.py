"""All that an action can refuse, one class a kind, and the one table from refusals to HTTP statuses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from django.utils.translation import gettext as _

from graphs.engine import errors as engine

if TYPE_CHECKING:
    from graphs.actions.receipts import Receipt


class Refused(Exception):
    """The action was not done and nothing was changed; the message says why in words for the person who tried."""


class NotAllowed(Refused):
    """This person may see it but not do this to it."""


class NotFound(Refused):
    """There is no such thing, or this person may not know of it: the two look alike."""


class ProofNeeded(Refused):
    """The question is critical: its decision needs the password once more, on a channel that can ask for it."""


class AlreadyVoted(Refused):
    """This person's vote of this round is recorded already; a second one counts for nothing (S01)."""


class PolicyChanged(Refused):
    """The queue's policy changed after the question was opened; read what now counts and send it again."""

    def __init__(self, queue: str) -> None:
        super().__init__(_("The policy of %(title)s changed after you opened this. Read it again.") % {"title": queue})


class Overtaken(Refused):
    """Another version of the policy is in force than the one that was edited; it says whose and since when."""

    def __init__(self, version: int, author: str = "", at: datetime | None = None) -> None:
        super().__init__(
            _("%(author)s put version %(version)s in force after you opened this.")
            % {"author": author or _("The system"), "version": version}
        )
        self.version, self.author, self.at = version, author, at


class AlreadyDecided(Refused):
    """Somebody else's decision counts; `receipt` says whose, what and when (F21)."""

    def __init__(self, receipt: Receipt) -> None:
        super().__init__(
            _("Already %(outcome)s by %(name)s.")
            % {"outcome": _(receipt.outcome), "name": receipt.reviewer_name or _("the system")}
        )
        self.receipt = receipt


class Stale(Refused):
    """The question changed after it was shown; `current_version` is the one to read and decide now."""

    def __init__(self, current_version: int) -> None:
        super().__init__(_("The question changed after you opened it. Read it again before you decide."))
        self.current_version = current_version


class NoLongerOpen(Refused):
    """The question was withdrawn or replaced; `newer_id` names the question that replaced it, where there is one."""

    def __init__(self, reason: str, newer_id: str | None = None) -> None:
        super().__init__(reason or _("This question is no longer open."))
        self.reason = reason
        self.newer_id = newer_id


class InputInvalid(Refused):
    """What was sent breaks the schema; `problems` is a list of (JSON pointer, message)."""

    def __init__(self, problems: Sequence[tuple[str, str]]) -> None:
        super().__init__("; ".join(f"{path or '/'}: {message}" for path, message in problems))
        self.problems = list(problems)


class AnswerRefused(InputInvalid):
    """An answer breaks its question's response schema; `interrupt_id` says which one of several."""

    def __init__(self, interrupt_id: str, problems: Sequence[tuple[str, str]]) -> None:
        super().__init__(problems)
        self.interrupt_id = interrupt_id


class NotPossible(Refused):
    """The thread is not where this can be done to it; the message says where it is."""


class Busy(Refused):
    """A job is working on it right now; try again in a moment."""


#: Web and API map a refusal to its status here and nowhere else; subclasses come before their bases.
STATUS: Mapping[type[Exception], int] = {
    NotAllowed: 403,
    ProofNeeded: 403,
    AlreadyVoted: 409,
    PolicyChanged: 409,
    Overtaken: 409,
    NotFound: 404,
    engine.UnknownThread: 404,
    AlreadyDecided: 409,
    Stale: 409,
    NoLongerOpen: 409,
    NotPossible: 409,
    Busy: 409,
    engine.ThreadExists: 409,
    engine.ThreadBusy: 409,
    engine.ThreadEnded: 409,
    engine.AnswerMismatch: 409,
    engine.CannotFork: 409,
    engine.CannotMigrate: 409,
    engine.DefinitionChanged: 409,
    AnswerRefused: 422,
    InputInvalid: 422,
    engine.AnswerInvalid: 422,
    engine.PayloadError: 422,
    engine.SchemaError: 422,
}


def status_of(error: Exception) -> int:
    """The HTTP status of a refusal; 500 for what is none."""
    return next((status for kind, status in STATUS.items() if isinstance(error, kind)), 500)


def too_long(most: int) -> str:
    """What is wrong with a text of more characters than `most`, or with some that no text has."""
    return _("must be text of at most %(most)s characters") % {"most": most}
