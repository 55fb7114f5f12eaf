"""`python -m tests.load` lists the measurements; `python -m tests.load w1 w3 --database postgres` takes them."""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path


def measurements() -> dict[str, str]:
    """Short name -> module, of every file here whose name begins with a letter and a number."""
    names = [info.name for info in pkgutil.iter_modules([str(Path(__file__).parent)])]
    return {name.split("_")[0]: name for name in names if name[:1] in "wlja" and name[1:2].isdigit()}


def main() -> None:
    found = measurements()
    parser = argparse.ArgumentParser(prog="python -m tests.load", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*found, []], help=", ".join(found))
    parser.add_argument("--database", choices=["sqlite", "postgres"], default="sqlite")
    given = parser.parse_args()
    if not given.names:
        for short, module in found.items():
            print(f"{short}  {importlib.import_module(f'tests.load.{module}').__doc__}")
    elif len(given.names) == 1:
        importlib.import_module(f"tests.load.{found[given.names[0]]}").run(given.database)
    else:
        # One process each: a measurement sets up the site, which a process can do only once.
        for name in given.names:
            subprocess.run([sys.executable, "-m", "tests.load", name, "--database", given.database], check=True)


if __name__ == "__main__":
    main()
