"""The evidence of a question as files: all that was asked, seen, said and recorded of it, and none of its secrets."""

from __future__ import annotations

import copy
import uuid
from collections.abc import Mapping
from typing import Any

import orjson
from django.contrib.auth.models import User
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils import translation
from django.views.decorators.http import require_POST

from graphs.actions import evidence as actions
from graphs.models import AuditEntry, Comment, Decision, Interrupt, Look, QueuePolicy, Vote
from graphs.web import asking, calls, differences, exports
from graphs.web.errors import answers_refusals
from graphs.web.forms.showing import masked, shorn
from graphs.web.opening import opened
from graphs.web.people import display_name, person
from graphs.web.reading import facts

#: What of a question's row is told as it is.
PLAIN = (
    "key",
    "revision",
    "node_id",
    "graph_path",
    "style",
    "kind",
    "name",
    "message",
    "reason",
    "digest",
    "version",
    "status",
    "closed_because",
    "created_at",
    "closed_at",
    "due_at",
    "expires_at",
    "expiry_outcome",
    "policy_version",
    "risk",
    "risk_rules",
    "assignee_name",
    "paused_seconds",
)
GIVEN = ("round", "outcome", "on_behalf_of", "comment", "channel", "version", "audit_seq")
README = """The evidence of one question, as Sayso held it when this file was made.

question.json   what was asked      payload.json    what it is about
card.html       what its card shows decisions.json  each decision, with what it changed
votes.json      each vote           policy.json     the policies that counted
looks.json      who opened it when  comments.json   what was said beside it
attachments.json files beside it    audit.jsonl     its entries of the audit chain, with their digests

manifest.json has the SHA-256 of each file and a signature made with the audit key of the installation, which checks
both with: manage.py verify_evidence FILE. Secrets are masked, so a digest of a value that had one is of the whole.
"""


@require_POST
@answers_refusals
def pack(request: HttpRequest, interrupt_id: uuid.UUID) -> HttpResponse:
    """The evidence as a download. That it was made is an entry of the audit."""
    user, interrupt = person(request), opened(person(request), interrupt_id)
    content, entry = actions.seal(user, interrupt, files(user, interrupt))
    response = HttpResponse(content, content_type="application/zip")
    response["Content-Disposition"] = f'attachment; filename="evidence-{str(interrupt.pk)[:8]}-{entry.seq}.zip"'
    response["Cache-Control"] = "no-store"
    return response


# A record reads the same whoever makes it.
@translation.override("en")
def files(user: User, interrupt: Interrupt) -> dict[str, bytes]:
    """Every file of the pack but its manifest. Drafts are in none of them: nobody has said what stands in one."""
    shown = without_secrets(interrupt)
    decisions = list(Decision.objects.filter(interrupt=interrupt).with_undone().order_by("round"))
    votes = Vote.objects.filter(interrupt=interrupt).order_by("round", "pk")
    remarks = Comment.objects.visible_to(user).filter(interrupt=interrupt).order_by("pk")
    told = {
        "question.json": question(shown),
        "payload.json": shown.payload,
        "decisions.json": [decision(interrupt, one) for one in decisions],
        "votes.json": [vote(interrupt, one) for one in votes],
        "policy.json": policies(interrupt, decisions),
        "looks.json": looks(interrupt),
        "comments.json": [remark(one) for one in remarks],
        "attachments.json": attachments(interrupt),
    }
    found = {name: orjson.dumps(value, option=orjson.OPT_INDENT_2) + b"\n" for name, value in told.items()}
    return {"README.txt": README.encode(), **found, "card.html": card(shown), "audit.jsonl": chain(interrupt)}


def without_secrets(interrupt: Interrupt) -> Interrupt:
    """The question with what its schema calls a secret masked, wherever a value of it stands."""
    shown, schema = copy.copy(interrupt), interrupt.response_schema
    shown.payload = proposed(interrupt, interrupt.payload)
    shown.metadata = proposed(interrupt, interrupt.metadata)
    shown.default = masked(interrupt.default, schema, schema)
    shown.response_schema = shorn(schema)
    return shown


def proposed(interrupt: Interrupt, value: Any) -> Any:
    """A payload or metadata; of a call the arguments in it are what its schema is about."""
    schema = interrupt.response_schema
    if calls.is_gate(interrupt) and isinstance(value, Mapping) and calls.ARGUMENTS in value:
        return {**value, calls.ARGUMENTS: masked(value[calls.ARGUMENTS], differences.of_arguments(schema), schema)}
    return masked(value, schema, schema)


def question(shown: Interrupt) -> dict[str, Any]:
    thread = shown.thread
    return {
        "id": str(shown.pk),
        "title": asking.title_of(shown),
        "queue": {"slug": shown.queue.slug, "title": shown.queue.title},
        "thread": {"uid": str(thread.uid), "graph": thread.graph_id, "version": thread.graph_version},
        "requester": thread.conversation.requester_name,
        **{name: getattr(shown, name) for name in PLAIN},
        "metadata": shown.metadata,
        "response_schema": shown.response_schema,
        "default": shown.default if shown.has_default else None,
        "has_default": shown.has_default,
    }


def decision(interrupt: Interrupt, one: Decision) -> dict[str, Any]:
    """One decision, with each field that it changed before and after."""
    return {
        **{name: getattr(one, name) for name in (*GIVEN, "digest", "policy_version", "decided_at", "effective_at")},
        "reviewer": one.reviewer_name,
        "undone": one.undone,  # type: ignore[attr-defined]
        "value": differences.answered(interrupt, one.value),
        "edits": differences.changed(interrupt, one),
    }


def vote(interrupt: Interrupt, one: Vote) -> dict[str, Any]:
    return {
        **{name: getattr(one, name) for name in (*GIVEN, "value_digest", "voted_at")},
        "voter": one.voter_name,
        "value": differences.answered(interrupt, one.value),
    }


def policies(interrupt: Interrupt, decisions: list[Decision]) -> dict[str, Any]:
    """The versions of the queue's policy by which it was judged and decided; 0 is the built-in one."""
    versions = {interrupt.policy_version, *(one.policy_version for one in decisions)}
    rows = QueuePolicy.objects.filter(queue=interrupt.queue_id, version__in=versions).order_by("version")
    told = [
        {"version": one.version, "spec": one.spec, "author": one.author_name, "note": one.note, "at": one.created_at}
        for one in rows
    ]
    built_in = [{"version": 0, "spec": None}] if 0 in versions else []
    return {"queue": interrupt.queue.slug, "versions": [*built_in, *told]}


def looks(interrupt: Interrupt) -> list[dict[str, Any]]:
    rows = Look.objects.filter(interrupt=interrupt).select_related("user").order_by("first_at", "pk")
    return [
        {
            "person": display_name(one.user) if one.user else "",
            **{name: getattr(one, name) for name in ("first_at", "last_at", "version", "read_all")},
        }
        for one in rows
    ]


def remark(one: Comment) -> dict[str, Any]:
    return {"author": one.author_name, "kind": one.kind, "text": one.text, "at": one.created_at}


def attachments(interrupt: Interrupt) -> list[dict[str, Any]]:
    """Which files were beside it, by their digests."""
    names = ("name", "content_type", "size", "sha256", "author_name", "created_at")
    return list(interrupt.attachments.order_by("created_at", "pk").values(*names))


def card(shown: Interrupt) -> bytes:
    """The card without the buttons: title, reason, consequences and facts, as the page computes them."""
    value = asking.shown_value(shown)
    context = {
        "item": shown,
        "question": asking.title_of(shown),
        "message_rest": shown.message.strip().partition("\n")[2].strip(),
        "reason": asking.reason_of(shown),
        "consequences": asking.consequences(shown),
        "facts": facts(value) if value is not None else [],
    }
    return render_to_string("evidence/card.html", context).encode()


def chain(interrupt: Interrupt) -> bytes:
    """Its audit entries, and those of the trust that was given with it, which bears its id."""
    kinds = Q(object_type="interrupt") | Q(object_type="trust")
    return exports.as_lines(list(AuditEntry.objects.filter(kinds, object_id=str(interrupt.pk)).order_by("seq")))
