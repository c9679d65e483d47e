"""Run the command line of shoe-ctl as another program.

In: a command's words. Out: what it printed, or its own line about what is wrong.
Must not know: what the command does.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from simulators.errors import PortFault, WrongUsage

_USAGE = 2
_REFUSED = 1


def find_shoectl() -> str:
    """Return the path of the command that is installed beside this one, or else on the PATH.

    Raises:
        PortFault: there is none.
    """
    beside = Path(sys.executable).with_name("shoectl")
    found = str(beside) if beside.is_file() else shutil.which("shoectl")
    if found is None:
        raise PortFault("shoectl is not there: install shoe-ctl, or add its folder to PATH")
    return found


def run_shoectl(*words: str) -> str:
    """Return what the command printed.

    Raises:
        WrongUsage: it refused what it was given, for what it says. PortFault: it failed otherwise.
    """
    ended = subprocess.run(
        [find_shoectl(), *words], capture_output=True, text=True, check=False, errors="replace"
    )
    if ended.returncode == 0:
        return ended.stdout
    said = said_last(ended.stderr)
    if ended.returncode in (_REFUSED, _USAGE):
        raise WrongUsage(said)
    raise PortFault(said)


def said_last(stderr: str) -> str:
    """Return the last line that the command said, without its name."""
    lines = stderr.strip().splitlines() or ["shoectl said nothing"]
    return lines[-1].removeprefix("shoectl: ")
