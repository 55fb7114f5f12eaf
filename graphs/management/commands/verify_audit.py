from __future__ import annotations

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from graphs.actions import audit


class Command(BaseCommand):
    help = "Checks the audit chain and names the first bad entry, or what is missing after an exported head."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--head", type=Path, metavar="FILE", help="a head exported before, to be found again")
        parser.add_argument(
            "--export-head", type=Path, metavar="FILE", help="write the head here; keep it where nobody can change it"
        )

    def handle(self, *args: Any, head: Path | None, export_head: Path | None, **options: Any) -> None:
        verdict = audit.verify(read_head(head) if head else None)
        if not verdict.ok:
            raise CommandError(
                f"The audit chain is broken at entry {verdict.bad_seq}: {verdict.problem}.", returncode=1
            )
        if export_head:
            newest = audit.head()
            export_head.write_text(json.dumps({"seq": newest.seq, "digest": newest.digest}) + "\n", encoding="utf-8")
        self.stdout.write(f"The audit chain holds: {verdict.checked} entries.")


def read_head(path: Path) -> audit.Head:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return audit.Head(int(content["seq"]), str(content["digest"]))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CommandError(f"{path} holds no exported head: {error}.", returncode=1) from None
