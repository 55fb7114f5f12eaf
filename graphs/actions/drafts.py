"""What a person has typed into a question's form and not sent. It concerns nobody else, so no audit entry is made."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from django.db import transaction
from django.utils.translation import gettext as _

from graphs import permissions
from graphs.actions.actors import person_id
from graphs.actions.errors import InputInvalid, NoLongerOpen, NotAllowed
from graphs.models import Draft, Interrupt
from graphs.models.clock import Now

if TYPE_CHECKING:
    from graphs.actions.actors import Person

#: Characters of a draft's fields, as JSON.
MOST = 512 * 1024


def keep(actor: Person, interrupt: Interrupt, version: int, fields: Mapping[str, str]) -> Draft:
    """Keep the fields of one's form, in place of what was kept before; `version` is the question's, as the page had
    it. The caller has taken secrets and files out. Raises NotAllowed for who may not decide it, NoLongerOpen once it is
    decided, InputInvalid for more than `MOST` characters."""
    if not interrupt.is_waiting:
        raise NoLongerOpen("")
    if not permissions.can(actor, "decide", interrupt):
        raise NotAllowed(_("Only who may decide this keeps a draft of an answer."))
    if len(json.dumps(dict(fields))) > MOST:
        raise InputInvalid([("", _("a draft holds %(most)s KB at most") % {"most": MOST // 1024})])
    with transaction.atomic():
        # In one transaction with the look whether it is open: a draft that arrives after its own answer is none.
        if not Interrupt.objects.select_for_update().get(pk=interrupt.pk).is_waiting:
            raise NoLongerOpen("")
        values = {"version": version, "fields": dict(fields), "updated_at": Now()}
        return Draft.objects.update_or_create(user_id=person_id(actor), interrupt=interrupt, defaults=values)[0]


def drop(actor: Person, interrupt: Interrupt) -> None:
    """Forget one's draft: it was sent, or thrown away."""
    Draft.objects.filter(user_id=person_id(actor), interrupt=interrupt).delete()
