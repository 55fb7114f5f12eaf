from __future__ import annotations

import json
from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from graphs.actions import definitions


class Command(BaseCommand):
    help = "Lists the waiting threads that the installed definitions would strand; exits 1 where there are any."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="one JSON list instead of lines")

    def handle(self, *args: Any, json: bool, **options: Any) -> None:
        found = definitions.stranded()
        if json:
            self.stdout.write(listed(found))
        for one in [] if json else found:
            threads = f"{one.count} thread{'s' if one.count != 1 else ''}"
            self.stdout.write(f"{one.graph_id} version {one.version or '?'}: {threads}: {one.reason}")
            self.stdout.write(f"  {', '.join(one.threads)}{more(one)}")
        if found:
            raise CommandError(ways(found), returncode=1)
        if not json:
            self.stdout.write("Every waiting thread can go on under the installed definitions.")


def listed(found: list[definitions.Stranded]) -> str:
    return json.dumps([asdict(one) for one in found], indent=2)


def more(one: definitions.Stranded) -> str:
    rest = one.count - len(one.threads)
    return f" and {rest} more" if rest else ""


def ways(found: list[definitions.Stranded]) -> str:
    count = sum(one.count for one in found)
    first = next((one for one in found if one.node), found[0])
    command = f"manage.py migrate_threads {first.graph_id} --map {first.node or 'old'}=<new node>"
    return (
        f"{count} thread{'s' if count != 1 else ''} would be stranded. Register the version they are on beside the new "
        f"one, or move them with `{command}`."
    )
