"""Several questions in one go: a sheet that lists every one of them, and the outcome of each."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse, QueryDict
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from graphs.actions import decisions
from graphs.actions.errors import AlreadyDecided, InputInvalid, NotAllowed, NotFound, PolicyChanged, Refused, Stale
from graphs.actions.receipts import Receipt
from graphs.engine import canonical
from graphs.engine.statuses import Outcome
from graphs.models import Interrupt
from graphs.permissions import Ruling, ruling
from graphs.web import asking, listing
from graphs.web.people import person
from graphs.web.reading import MAX_ROWS, facts
from graphs.web.shell import page
from graphs.web.submission import KEY

MOST = 100
#: Nothing riskier than this is approved together with others.
RISKIEST = 1
VERDICTS = {"approve": Outcome.APPROVED, "reject": Outcome.REJECTED}


@dataclass(slots=True)
class Line:
    """One question of the sheet, as it was shown, and what came of it."""

    row: Interrupt
    why_not: str
    facts: dict[str, str]
    cut: bool = False
    kept: bool = True
    outcome: str = ""
    tone: str = ""

    @property
    def seen(self) -> str:
        """What is sent back: the version, digest and policy that were on the sheet."""
        return f"{self.row.version}.{self.row.queue.policy_version}.{self.row.digest}"


@dataclass(slots=True)
class Sheet:
    """All of the lines, and what they have in common."""

    lines: list[Line]
    shared: list[tuple[str, str]] = field(default_factory=list)
    columns: list[str] = field(default_factory=list)
    #: Why these cannot be approved together; empty where they can.
    why_not: str = ""
    problem: str = ""

    @property
    def table(self) -> list[tuple[Line, list[str]]]:
        return [(line, [line.facts.get(name, "") for name in self.columns]) for line in self.lines]

    @property
    def decidable(self) -> bool:
        return any(not line.why_not for line in self.lines)


@require_http_methods(["GET", "HEAD", "POST"])
def bulk(request: HttpRequest) -> HttpResponse:
    """GET shows the sheet, POST decides what was left on it: those questions and never one that came later (A07)."""
    asked = request.POST if request.method == "POST" else request.GET
    found = sheet(person(request), chosen(asked))
    done = False
    if request.method == "POST":
        found.problem = problem(found, asked)
        if not found.problem:
            decide(person(request), found, asked)
            done = True
    wanted = listing.parse(QueryDict(asked.get("from", "")[:1000]))
    context = {
        "nav": "inbox",
        "sheet": found,
        "done": done,
        "left_out": max(0, len(set(asked.getlist("id"))) - MOST),
        "key": asked.get("key", "") if KEY.fullmatch(asked.get("key", "")) else uuid.uuid4().hex,
        "comment": asked.get("comment", ""),
        "from": wanted.query(),
        "back": reverse("inbox") + (f"?{wanted.query()}" if wanted.query() else ""),
    }
    return page(request, "inbox/bulk.html", context, status=422 if found.problem else 200)


def chosen(asked: QueryDict) -> list[uuid.UUID]:
    """The ids of an address or form, in its order, at most MOST; what is none is dropped (A14)."""
    found: dict[uuid.UUID, None] = {}
    for text in asked.getlist("id")[: MOST * 10]:
        try:
            found[uuid.UUID(text)] = None
        except ValueError:
            continue
    return list(found)[:MOST]


def sheet(user: User, ids: Sequence[uuid.UUID]) -> Sheet:
    rows = Interrupt.objects.visible_to(user).filter(pk__in=ids)
    by_id = {row.pk: row for row in rows.select_related("queue", "task", "thread", "thread__conversation")}
    rulings: dict[tuple[int, int | None], Ruling] = {}
    lines = [line(user, by_id[pk], rulings) for pk in ids if pk in by_id]
    found = Sheet(lines, why_not=apart(lines))
    names = list(dict.fromkeys(name for one in lines for name in one.facts))
    for name in names:
        values = {one.facts.get(name) for one in lines}
        if len(values) == 1 and len(lines) > 1:
            found.shared.append((name, lines[0].facts[name]))
        else:
            found.columns.append(name)
    return found


def line(user: User, row: Interrupt, rulings: dict[tuple[int, int | None], Ruling]) -> Line:
    """One ruling serves all questions of one queue and requester, which is all that it depends on."""
    place = row.queue_id, row.thread.conversation.requester_id
    if place not in rulings:
        rulings[place] = ruling(user, "decide", row)
    said = "" if rulings[place] else rulings[place].reason
    if not said and row.status not in listing.WAITING:
        said = _("This question is no longer open.")
    return Line(row, said, *shown(row))


def shown(row: Interrupt) -> tuple[dict[str, str], bool]:
    """The question's facts by name, and whether one of them is too long to be shown whole."""
    value = asking.shown_value(row)
    found: dict[str, str] = {}
    read = facts(value) if value is not None else []
    cut = len(read) >= MAX_ROWS
    for fact in read:
        name = fact.label or _("Value")
        text = fact.text or "\n".join(", ".join(cells) for cells in fact.rows)
        found[name if name not in found else f"{name} ({fact.pointer})"] = text
        cut = cut or fact.cut
    if rest := row.message.strip().partition("\n")[2].strip():
        found[_("Message")] = rest
    return found, cut


def apart(lines: Sequence[Line]) -> str:
    """Why these questions cannot be approved together."""
    if any(one.why_not for one in lines):
        return _("Not every one of these can be decided by you now.")
    if len({kind(one.row) for one in lines}) > 1:
        return _("These questions are about different tools or ask for different answers.")
    if any(one.row.risk > RISKIEST for one in lines):
        return _("A question of high or critical risk is approved on its own page.")
    if any(one.cut for one in lines):
        return _("A value of them is too long to be shown here.")
    if any(asking.card(one.row).act("approve") is None for one in lines):
        return _("These questions ask for an answer of their own.")
    return ""


def kind(row: Interrupt) -> tuple[str, str, str, str]:
    """What questions share that are alike: graph, tool, way of asking and schema."""
    return row.thread.graph_id, row.name or row.node_id, row.style, canonical.digest(row.response_schema)


def problem(found: Sheet, posted: QueryDict) -> str:
    act, comment = posted.get("act", ""), posted.get("comment", "")
    kept = set(posted.getlist("keep"))
    for one in found.lines:
        one.kept = str(one.row.pk) in kept
    if act not in VERDICTS:
        return _("Choose one of the buttons.")
    if not any(one.kept for one in found.lines):
        return _("Keep at least one of the questions.")
    if act == "reject" and not comment.strip():
        return _("Say why you reject them.")
    if len(comment) > decisions.COMMENT_LIMIT or "\x00" in comment:
        return _("A reason has at most 10,000 characters, and none of them is U+0000.")
    if act == "approve":
        return apart([one for one in found.lines if one.kept and one.row.status in listing.WAITING])
    return ""


def decide(user: User, found: Sheet, posted: QueryDict) -> None:
    """Each kept line stands alone: one that is refused stops none of the others."""
    kept = [one for one in found.lines if one.kept]
    given = [answer(one, posted) for one in kept]
    key = posted.get("key", "")
    came = decisions.decide(
        user, given, channel="bulk", submission_key=key if KEY.fullmatch(key) else None, atomic=False
    )
    for one, result in zip(kept, came, strict=True):
        one.outcome, one.tone = told(result)


def answer(one: Line, posted: QueryDict) -> decisions.Given:
    """The verdict on the question as it was on the sheet, never as it is now."""
    version, policy, digest = [*posted.get(f"seen.{one.row.pk}", "").split(".", 2), "", "", ""][:3]
    act = posted.get("act", "")
    card = asking.card(one.row)
    value: Any = {asking.VERDICT: act == "approve"} if card.call or card.verdict else None
    return decisions.Given(
        interrupt_id=str(one.row.pk),
        version=number(version),
        digest=digest[:64],
        outcome=VERDICTS[act],
        value=value,
        comment=posted.get("comment", "").replace("\r\n", "\n").strip(),
        policy_version=number(policy),
    )


def number(text: str) -> int:
    """A number of the sheet; 0, which no question's version is, where it was tampered with."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0


def told(result: Receipt | Refused) -> tuple[str, str]:
    """What came of one line, in words, and its tone."""
    if isinstance(result, Receipt):
        if result.missing:
            return _("your vote counts, %(count)d more needed") % {"count": result.missing}, "blue"
        return _(result.outcome), "green" if result.outcome == "approved" else "red"
    if isinstance(result, AlreadyDecided):
        who = result.receipt.reviewer_name or _("the system")
        return _("already %(outcome)s by %(who)s") % {"outcome": _(result.receipt.outcome), "who": who}, "grey"
    if isinstance(result, NotAllowed | NotFound):
        return _("not allowed"), "amber"
    if isinstance(result, Stale | PolicyChanged):
        return _("changed meanwhile, nothing was done"), "amber"
    if isinstance(result, InputInvalid):
        return _("needs its own page: %(why)s") % {"why": "; ".join(text for _path, text in result.problems)}, "amber"
    return str(result), "amber"
