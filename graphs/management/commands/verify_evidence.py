from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from graphs.actions import sealing


class Command(BaseCommand):
    help = "Says whether an evidence pack or an export of the audit is intact, or names the first file that is not."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE", help="the zip file")

    def handle(self, *args: Any, file: Path, **options: Any) -> None:
        if not file.is_file():
            raise CommandError(f"{file} is no file.", returncode=2)
        if problem := sealing.fault(file):
            raise CommandError(f"{file} is not intact: {problem}.", returncode=1)
        self.stdout.write(f"{file} is intact.")
