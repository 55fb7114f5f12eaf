"""Files beside a question and inside of its value: a list, a safe look at each, and the file itself as a download."""

from __future__ import annotations

import base64
import binascii
import re
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from django.core.files.uploadedfile import UploadedFile
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from graphs.actions import attachments
from graphs.actions.errors import InputInvalid
from graphs.models import Attachment, Interrupt
from graphs.policies.file_types import PICTURES, TEXT, size_text, type_of
from graphs.web import assignments
from graphs.web.errors import answers_refusals
from graphs.web.opening import opened
from graphs.web.people import person
from graphs.web.reading import DATA_URL, escape_token, humanise, visible

#: Files that a value is searched for, and its places that are looked at.
MOST_FILES, MOST_PLACES = 20, 20_000
#: Characters of a text that a page shows of it.
MOST_PREVIEW = 4_000


@dataclass(frozen=True, slots=True)
class File:
    """One file as the page lists it; `preview` is the beginning of a text, `picture` whether it can be looked at."""

    name: str
    kind: str
    size: str
    address: str
    who: str = ""
    at: Any = None
    preview: str = ""

    @property
    def picture(self) -> bool:
        return self.kind in PICTURES


def beside(interrupt: Interrupt) -> list[File]:
    """The files that people attached, the oldest first."""
    rows = interrupt.attachments.order_by("created_at", "pk").defer("content")
    texts = interrupt.attachments.filter(content_type=TEXT, size__lte=MOST_PREVIEW * 4)
    found = dict(texts.values_list("pk", "content"))
    return [
        File(
            row.name,
            row.content_type,
            size_text(row.size),
            reverse("attachment", args=[interrupt.pk, row.pk]),
            row.author_name,
            row.created_at,
            look(bytes(found.get(row.pk, b""))),
        )
        for row in rows
    ]


def inside(interrupt: Interrupt) -> list[File]:
    """The files that its value holds as `data:` addresses, by the place each stands in."""
    address = reverse("embedded", args=[interrupt.pk])
    files = []
    for pointer, label, content in embedded_in(interrupt.payload):
        kind = type_of(content)
        text = look(content) if kind == TEXT else ""
        files.append(File(label, kind, size_text(len(content)), f"{address}?at={quote(pointer)}", preview=text))
        if len(files) == MOST_FILES:
            break
    return files


def look(content: bytes) -> str:
    text = content.decode(errors="replace")
    return visible(text[:MOST_PREVIEW]) + ("…" if len(text) > MOST_PREVIEW else "")


def embedded_in(value: Any) -> Iterator[tuple[str, str, bytes]]:
    """Each file in a value as (JSON pointer, label, content); what only looks like one is none."""
    places: list[tuple[str, str, Any]] = [("", "", value)]
    for _number in range(MOST_PLACES):
        if not places:
            return
        pointer, label, item = places.pop()
        if isinstance(item, dict):
            inner = [(f"{pointer}/{escape_token(key)}", humanise(key), one) for key, one in item.items()]
            places += reversed(inner)
        elif isinstance(item, list):
            places += reversed([(f"{pointer}/{at}", f"{label} {at + 1}".strip(), one) for at, one in enumerate(item)])
        elif isinstance(item, str) and (found := decoded(item)) is not None:
            yield pointer, label or _("File"), found


def decoded(text: str) -> bytes | None:
    found = DATA_URL.match(text)
    if found is None:
        return None
    try:
        return base64.b64decode(text[found.end() :], validate=True)
    except (binascii.Error, ValueError):
        return None


@require_POST
@answers_refusals
def attach(request: HttpRequest, interrupt_id: uuid.UUID) -> HttpResponse:
    """Put a file beside a question."""
    interrupt, file = opened(person(request), interrupt_id), request.FILES.get("file")
    if not isinstance(file, UploadedFile):
        raise InputInvalid([("/file", _("choose a file first"))])
    # One that is too large is not read: its first byte too many says so.
    content = file.read(attachments.MOST_BYTES + 1)
    attachments.attach(person(request), interrupt, str(file.name or ""), content)
    return assignments.back(request, interrupt_id)


@require_safe
def attachment(request: HttpRequest, interrupt_id: uuid.UUID, pk: uuid.UUID) -> HttpResponse:
    """One attached file of a question that this person may see."""
    rows = Attachment.objects.visible_to(person(request)).filter(interrupt=interrupt_id)
    row = rows.filter(pk=pk).first()
    if row is None:
        raise Http404
    return sent(request, row.name, bytes(row.content))


@require_safe
def embedded(request: HttpRequest, interrupt_id: uuid.UUID) -> HttpResponse:
    """One file of a question's value, by the place it stands `at`."""
    interrupt = opened(person(request), interrupt_id)
    wanted = request.GET.get("at", "")
    for pointer, label, content in embedded_in(interrupt.payload):
        if pointer == wanted:
            return sent(request, label, content)
    raise Http404


def sent(request: HttpRequest, name: str, content: bytes) -> HttpResponse:
    """A file as a download; as a picture to look at only where it is one and was asked for as one. Either way the
    browser is told to guess nothing and to run nothing (S05)."""
    kind = type_of(content)
    shown = kind in PICTURES and "show" in request.GET
    response = HttpResponse(content, content_type=kind if shown else "application/octet-stream")
    fallback = re.sub(r"[^\w. -]", "_", name, flags=re.ASCII)
    where = "inline" if shown else f"attachment; filename=\"{fallback}\"; filename*=UTF-8''{quote(name)}"
    response["Content-Disposition"] = where
    response["Content-Security-Policy"] = "default-src 'none'; sandbox"
    response["X-Content-Type-Options"] = "nosniff"
    response["Cache-Control"] = "private, no-store"
    return response
