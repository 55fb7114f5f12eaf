"""Four people, their queues with their policies, and a handful of threads and conversations that wait for them."""

from __future__ import annotations

import secrets
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError

from graphs.actions import memberships, policies, threads
from graphs.actions import queues as routing
from graphs.actions.actors import System
from graphs.management.first_run import FIRST_NAME
from graphs.models import Right

DEMO = System("system:demo")
#: Every demo account's e-mail ends so; `.invalid` can never receive mail.
DOMAIN = "@demo.invalid"

QUEUES = {
    "payments": ("Payments", "Refunds that are too large to pay without a look."),
    "people": ("People", "Time off and other requests of employees."),
    "moderation": ("Moderation", "Posts whose tone or facts a person should judge."),
    "releases": ("Releases", "Release notes and roll-outs."),
    "operations": ("Operations", "Files that an agent wants to delete."),
    "editors": ("Editors", "Texts that an agent wants to publish."),
}

#: Name -> first and last name, and the right in each queue.
PEOPLE: dict[str, tuple[str, str, dict[str, Right]]] = {
    "ana": ("Ana", "Costa", dict.fromkeys(QUEUES, Right.DECIDE)),
    "ben": ("Ben", "Okafor", {"payments": Right.DECIDE, "people": Right.DECIDE, "releases": Right.VIEW}),
    "cleo": ("Cleo", "Martin", {}),
    "dana": ("Dana", "Fischer", dict.fromkeys(QUEUES, Right.ADMINISTER)),
}

#: What each team has agreed on, as its version 1.
POLICIES: dict[str, tuple[str, dict[str, Any]]] = {
    "payments": ("Large refunds need a reason, and all of them an answer the same morning.", {
        "due_minutes": 240, "remind_minutes_before": 60, "amount_path": "/payload/amount",
        "risk": [{"name": "amount over 1 000", "level": "high", "when": [
            {"path": "/payload/amount", "op": ">", "value": 1000}]}],
    }),
    "people": ("A decision can be taken back for a moment.", {"hold_seconds": 8, "reason": "reject"}),
    "moderation": ("What nobody looks at in two days is not published.", {
        "expire_minutes": 2880, "expire_outcome": "rejected"}),
    "releases": ("Two people agree to a release, and say why.", {"quorum": 2, "reason": "always"}),
}  # fmt: skip

#: What cleo asks for; the first refund, and the first of the agent's, is small enough to be paid without anybody.
REQUESTS: list[tuple[str, dict[str, Any] | str]] = [
    ("refund", {"order": "A-4698", "amount": 19.9, "currency": "EUR", "customer": "li@example.org", "reason": "Late"}),
    ("refund", {"order": "A-4721", "amount": 180, "currency": "EUR", "customer": "kim@example.org",
                "reason": "The parcel arrived open and the lamp inside is broken. Photos are in the ticket."}),
    ("refund", {"order": "A-4733", "amount": 1249.5, "currency": "USD", "customer": "sam@example.org",
                "reason": "Charged twice for one order."}),
    ("time_off", {"employee": "Cleo Martin", "first_day": "2027-02-08", "days": 10, "kind": "vacation",
                  "note": "The flights are booked, but I can move the second week."}),
    ("moderation", {"author": "nightowl", "text": "The bridge on Mill Road opens on Monday. Only a fool doubts it."}),
    ("release", {"version": "2.4.0", "changes": ["Exports are twice as fast", "Dates show their time zone",
                                                 "Fixes a crash when a file is empty"]}),
    ("support", "The reading light of order A-4698 came late. Can I have my money back?"),
    ("support", "The floor lamp of order A-4721 arrived broken. I would like a refund."),
    ("operations", "Please clean up what is old."),
    ("research", "Write a short text about bees, please."),
]  # fmt: skip


class Command(BaseCommand):
    help = __doc__ or ""

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--password", help="the demo people's password; without it a random one is made and shown")

    def handle(self, *args: Any, password: str | None, **options: Any) -> None:
        refuse_in_production()
        people = {name: self._person(name) for name in PEOPLE}
        self._queues(people)
        chosen = password or secrets.token_urlsafe(9)
        for person in people.values():
            person.set_password(chosen)
            person.save()
        for graph_id, given in REQUESTS:
            thread = threads.start(people["cleo"], graph_id, given, channel="demo")
            self.stdout.write(f"  started  {thread.title or thread}")
        self.stdout.write(f"\nSign in as {', '.join(PEOPLE)} with the password {chosen}")
        self.stdout.write(
            "ana decides everything; ben payments and people, and he reads releases; cleo asked; dana runs the queues."
        )

    def _person(self, name: str) -> User:
        first, last, _ = PEOPLE[name]
        found = User.objects.filter(username=name).first()
        if found is not None and found.email != name + DOMAIN:
            raise CommandError(f"{name} is a real account, which the demo would take over.", returncode=2)
        return found or User(username=name, first_name=first, last_name=last, email=name + DOMAIN)

    def _queues(self, people: dict[str, User]) -> None:
        queues = {slug: memberships.open_queue(DEMO, slug, *text, channel="demo") for slug, text in QUEUES.items()}
        for name, person in people.items():
            person.save()
            for slug, right in PEOPLE[name][2].items():
                memberships.admit(DEMO, queues[slug], person, right, channel="demo")
        for slug, (note, spec) in POLICIES.items():
            queues[slug].refresh_from_db()
            if not queues[slug].policy_version:
                policies.save(people["dana"], queues[slug], policies.Edited(spec, 0, note), channel="demo")
        # Where a graph asks that names no queue, as the first one that somebody writes does.
        memberships.admit(DEMO, routing.default(), people["ana"], Right.DECIDE, channel="demo")


def refuse_in_production() -> None:
    """Demo accounts must never reach an installation that people work in: exit 2 where DEBUG is off and anybody but the
    demo's people and the first login of `up` has an account."""
    others = get_user_model()._default_manager.exclude(email__endswith=DOMAIN)
    if (settings.SAYSO_VAR / "first-login").exists():
        others = others.exclude(username=FIRST_NAME)
    if not settings.DEBUG and others.exists():
        raise CommandError("This installation has people of its own, so the demo stays out of it.", returncode=2)
