#!/usr/bin/env python
from __future__ import annotations

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hitl_site.settings")
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line

    try:
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:
        # Its text names the setting and what to write there; a traceback above it would only hide that.
        sys.exit(f"A setting is missing or wrong: {error}")


if __name__ == "__main__":
    main()
