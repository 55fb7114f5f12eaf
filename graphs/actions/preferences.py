"""What a person chose for their own pages. It concerns nobody else, so nothing of it is in the audit chain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.db import transaction
from django.utils.translation import gettext as _

from graphs.actions.actors import person_id
from graphs.actions.errors import InputInvalid
from graphs.models import Preference
from graphs.policies.checked_hours import is_zone

if TYPE_CHECKING:
    from graphs.actions.actors import Person

#: Choice -> the values it may have; the first is what counts where nothing was chosen.
CHOICES: dict[str, tuple[str, ...]] = {
    "density": ("comfortable", "compact"),
    "keys": ("on", "off"),
    "advance": ("off", "on"),
}


def choose(actor: Person, name: str, value: str) -> None:
    """Set one choice. Raises InputInvalid for one that there is not."""
    if value not in CHOICES.get(name, ()):
        raise InputInvalid([(f"/{name}", _("there is no such choice"))])
    keep(actor, name, value)


def choose_zone(actor: Person, zone: str) -> None:
    """Set the zone in which times are told; empty leaves it to the browser. Raises InputInvalid for one that there is
    not."""
    if zone and not is_zone(zone):
        raise InputInvalid([("/zone", _("there is no such time zone; write one such as Europe/Amsterdam"))])
    Preference.objects.update_or_create(user_id=person_id(actor), defaults={"zone": zone})


def choose_language(actor: Person, language: str) -> None:
    """Set the language of one's pages; empty leaves it to the browser. Raises InputInvalid for one that there is
    not."""
    if language and language not in dict(settings.LANGUAGES):
        raise InputInvalid([("/language", _("there is no such language"))])
    Preference.objects.update_or_create(user_id=person_id(actor), defaults={"language": language})


def open_with(actor: Person, view: int | None) -> None:
    """The saved view that the inbox opens with; None for all open questions. It is looked up anew each time."""
    keep(actor, "default_view", view)


def keep(actor: Person, name: str, value: Any) -> None:
    with transaction.atomic():
        kept, _made = Preference.objects.select_for_update().get_or_create(user_id=person_id(actor))
        kept.choices = {**(kept.choices or {}), name: value}
        kept.save(update_fields=["choices"])


def chosen(actor: Person) -> dict[str, Any]:
    """Every choice of this person, with its default where nothing was chosen."""
    return filled(Preference.objects.filter(user=actor.pk).values_list("choices", flat=True).first() or {})


def filled(kept: dict[str, Any]) -> dict[str, Any]:
    """What was kept, with the default where nothing was chosen or the choice is no longer one."""
    defaults: dict[str, Any] = {name: values[0] for name, values in CHOICES.items()}
    return defaults | {name: value for name, value in kept.items() if value in CHOICES.get(name, (value,))}
