"""All benches, one after the other, and one table of what they promise.

In: names of benches; none: all of them. Out: a row for each promise: what is promised, what was
measured, its spread. While a bench runs, a terminal shows which one, and for how long. Exits 1
where a promise is missed or a bench fails.
"""

from __future__ import annotations

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

FOLDER = Path(__file__).parent
LOOK_EVERY_S = 0.2
LAST_LINES = 5


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
    if isinstance(printed, Mapping) and "promises" in printed:
        found = [read(each) for each in printed["promises"]]
        return [one for one in found if one.most is not None or one.least is not None]
    if isinstance(printed, Mapping) and "figures" in printed:
        return [figure(each) for each in printed["figures"] if each["promised"] is not None]
    return []


def figure(each: Mapping[str, Any]) -> Promise:
    """A row without the way in which its promise goes: that shows in whether it is held."""
    value, promised = each["value"], each["promised"]
    if (value <= promised) == each["held"]:
        return Promise(each["name"], value, each["unit"], most=promised)
    return Promise(each["name"], value, each["unit"], least=promised)


def main() -> int:
    """Exits 1 where a promise is missed, or a bench fails."""
    asked = sys.argv[1:]
    names = asked or sorted(path.stem for path in FOLDER.glob("[!_]*.py"))
    failed = []
    print(HEADER, flush=True)
    for number, name in enumerate(names, 1):
        code, printed, errors = run(name, number, len(names))
        found = promises(printed)
        print(name)
        for one in found:
            print(indent(row(one), "  "))
        if not found:
            print(f"  {'no promise in its output' if code == 0 else 'failed'}: exit {code}")
            print(errors, end="\n" if errors else "")
        sys.stdout.flush()
        if code:
            failed.append(name)
    if failed:
        print(f"not held: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
