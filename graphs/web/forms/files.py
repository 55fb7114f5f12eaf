"""Files as parts of an answer: base64 text in the value, within 2 MB each, of the types that the schema names."""

from __future__ import annotations

import base64
import binascii
import mimetypes
from collections.abc import Mapping
from typing import Any

from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from graphs.policies.file_types import BEGIN
from graphs.web.forms.fields import ABSENT, Field
from graphs.web.forms.standing import DATA, FILENAME, GONE

MOST_BYTES = 2 * 1024 * 1024
#: A larger file does not travel through a page that comes back: the request of a form has its own bound.
MOST_KEPT = 192 * 1024
#: A file that is too large is not read at all; this stands for it.
TOO_LARGE = "!"
TOLD_LARGE = gettext_lazy("This file is larger than 2 MB. Choose a smaller one.")


def posted_texts(request: HttpRequest) -> dict[str, str]:
    """What was posted as a flat dict of texts, files in it as base64; the last one counts of a name sent twice."""
    found = request.POST.dict()
    for name, file in request.FILES.items():
        if isinstance(file, UploadedFile) and isinstance(name, str):
            small = (file.size or 0) <= MOST_BYTES
            found[name + DATA] = base64.b64encode(file.read()).decode() if small else TOO_LARGE
            found[name + FILENAME] = str(file.name or "")[:200]
    return {str(name): str(text) for name, text in found.items()}


def take(field: Field, posted: Mapping[str, str]) -> None:
    """Put what came of a file into its field. It is never in `text`, where a page would show it."""
    field.hidden = posted.get(field.name + DATA, "")
    field.filename = posted.get(field.name + FILENAME, "")[:200]
    field.text = ""
    field.again = len(field.hidden) > MOST_KEPT


def content(field: Field, required: bool) -> Any:
    """The base64 text of a file. Raises ValueError where it is too large or of another type."""
    if not field.hidden:
        if field.nullable:
            return None
        if field.required and required:
            raise ValueError(_("Choose a file."))
        return ABSENT
    if field.hidden == TOO_LARGE or len(field.hidden) > MOST_BYTES * 4 // 3 + 4:
        field.hidden = ""
        raise ValueError(str(TOLD_LARGE))
    try:
        data = base64.b64decode(field.hidden, validate=True)
    except (binascii.Error, ValueError):
        field.hidden = ""
        raise ValueError(_("This file did not arrive whole. Choose it again.")) from None
    if field.item and not any(_is(kind.strip(), field.filename, data) for kind in field.item.split(",")):
        field.hidden = ""
        raise ValueError(_("This is no file of the type %(type)s.") % {"type": field.item})
    return field.hidden


def _is(kind: str, name: str, data: bytes) -> bool:
    """Whether a file is of a type, by its beginning where that tells, else by its name."""
    kind = kind.partition(";")[0].strip().lower()
    if kind in ("", "*/*", "application/octet-stream"):
        return True
    if kind in BEGIN:
        return data.startswith(BEGIN[kind])
    told = (mimetypes.guess_type(name)[0] or "").lower()
    if told in BEGIN and not data.startswith(BEGIN[told]):
        return False
    return told.startswith(kind.removesuffix("*")) if kind.endswith("/*") else told == kind


def removed(field: Field, posted: Mapping[str, str]) -> bool:
    return bool(posted.get(field.name + GONE)) and not field.hidden
