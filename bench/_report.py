"""All benches, one after the other, and one table of what they promise.

In: names of benches; none: all but those that need much time and disk; --folder, where they make
their files. Out: a row for each promise: what is promised, what was measured, its spread; and what
a bench could not measure here.
While a bench runs, a terminal shows which one, and for how long. Exits 1 where a promise is missed,
a bench fails, or one that promises something printed no promise.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import indent
from typing import Any

from bench._promises import HEADER, Promise, read, row
from bench._reached import Measured, Reached, place, verdict

FOLDER = Path(__file__).parent
REACHED = "reached.json"
LOOK_EVERY_S = 0.2
LAST_LINES = 5
BY_NAME = ("rounds", "killed_brokers", "refill")
"""Benches that run only where they are named: some 4 GB and most of an hour; many minutes, and
several processes beside one another."""


def run(bench: str, number: int, of: int) -> tuple[int, Any, str]:
    """Run a bench; return its exit code, the object that it printed, and its last errors."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPATH"] = str(FOLDER.parent)
    began = time.monotonic()
    with tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as errors:
        argv = (sys.executable, str(FOLDER / f"{bench}.py"), "--json")
        with subprocess.Popen(argv, stdout=said, stderr=errors, env=environment) as child:
            while True:
                try:
                    child.wait(LOOK_EVERY_S)
                    break
                except subprocess.TimeoutExpired:
                    show(f"{number} of {of}: {bench}, {time.monotonic() - began:.0f} s")
        show("")
        for file in (said, errors):
            file.seek(0)
        lines = errors.read().decode(errors="replace").splitlines()[-LAST_LINES:]
        text = said.read().decode(errors="replace").strip()
        printed = json.loads(text.splitlines()[-1]) if text else None
        return child.returncode, printed, "\n".join(lines)


def show(line: str) -> None:
    """Show on a terminal what is at work; an empty line removes that."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{line}")
        sys.stderr.flush()


def promises(printed: Any) -> Sequence[Promise]:
    """The figures of a bench of which something is promised."""
    if not isinstance(printed, Mapping):
        return []
    found = [read(each) for each in printed.get("promises", ())]
    return [one for one in found if one.most is not None or one.least is not None]


def failure(code: int, printed: Any, found: Sequence[Promise]) -> str | None:
    """Why what a bench printed is no success, if so; one without ``promises`` promises nothing."""
    if code and all(one.held for one in found):
        return f"failed: exit {code}"
    if code == 0 and not all(one.held for one in found):
        return "failed: exit 0, although a promise is missed"
    if printed is None or ("promises" in printed and not found):
        return f"failed: no promise in its output, exit {code}"
    return None


def show_figures(found: Sequence[Promise], last: Mapping[str, Measured]) -> bool:
    """Print a row for each figure; return whether all are good enough, beside last time's."""
    good = True
    for one in found:
        is_good, note = verdict(one, last.get(one.name))
        print(indent(row(one, note), "  "))
        good = good and is_good
    return good


def main() -> int:
    """Exits 1 where a figure fell, a promise is missed that was held, or a bench fails."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="BENCH", help="only this; again")
    parser.add_argument("--folder", type=Path, help="make temporary files here, on another disk")
    parser.add_argument("--record", action="store_true", help="keep the figures as reached last")
    options = parser.parse_args()
    if options.folder is not None:
        tempfile.tempdir = os.environ["TMPDIR"] = str(options.folder)
    names = options.names or sorted(
        path.stem for path in FOLDER.glob("[!_]*.py") if path.stem not in BY_NAME
    )
    failed = []
    reached = Reached.read(FOLDER / REACHED)
    print(place())
    if reached.figures and reached.place != place():
        print(f"not compared with what was reached last, elsewhere: {reached.place}")
    print(HEADER, flush=True)
    for number, name in enumerate(names, 1):
        code, printed, errors = run(name, number, len(names))
        found = promises(printed)
        why = failure(code, printed, found)
        print(name)
        good = show_figures(found, reached.of(name))
        if why is not None:
            print(f"  {why}")
            print(indent(errors, "  "), end="\n" if errors else "")
        elif not found:
            print("  promises nothing")
        elif options.record:
            reached.put(name, found)
            reached.write(FOLDER / REACHED)
        for what in () if printed is None else printed.get("left_out", ()):
            print(f"  left out: {what}")
        sys.stdout.flush()
        if why is not None or not good:
            failed.append(name)
    if failed:
        print(f"not held: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
