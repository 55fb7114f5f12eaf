from __future__ import annotations

import sys
from typing import Any

from django.core.management.base import BaseCommand

from graphs.management.checkup import examine


class Command(BaseCommand):
    help = "Says what is wrong with this installation and how to mend it. Ends with code 1 when something is."
    # Django would stop at the first error of its own checks; here they are findings among others.
    requires_system_checks = []

    def handle(self, *args: Any, **options: Any) -> None:
        wrong = 0
        for finding in examine():
            style = self.style.SUCCESS if finding.good else self.style.ERROR
            self.stdout.write(f"  {style('●' if finding.good else '✗')} {finding.subject:<18} {finding.text}")
            if not finding.good:
                wrong += 1
                self.stdout.write(f"    {'':<18} → {finding.mend}")
        if wrong:
            self.stdout.write(f"\n  {wrong} to mend.")
            sys.exit(1)
        self.stdout.write("\n  All is well.")
