"""A terminal that a command is run on.

In: words, a width. Out: what the terminal was sent, with and without its escape sequences.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from dataclasses import dataclass
from pathlib import Path

from shoe_ctl.terminal_text import cell_width

BIN = Path(sys.executable).parent
ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
COLOUR = re.compile(r"\x1b\[[0-9;]*\b(?:3[0-7]|4[0-7]|9[0-7])(?:;[0-9;]*)?m")
BOX = re.compile("[─│━┃█▏▎▍▌▋▊▉]")


@dataclass(frozen=True, slots=True)
class Shown:
    """What a terminal was sent."""

    code: int
    raw: str

    @property
    def text(self) -> str:
        """Without escape sequences."""
        return ESCAPE.sub("", self.raw)

    @property
    def width(self) -> int:
        """Of the longest line, in columns."""
        return max(map(cell_width, self.text.splitlines()))


def on_terminal(
    *words: str | Path, cwd: Path | None = None, columns: int = 80, **env: str
) -> Shown:
    """Runs ``shoectl`` with these words on a terminal of its own."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    plain = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "NO_COLOR")}
    with subprocess.Popen(
        [str(BIN / "shoectl"), *map(str, words)], cwd=cwd, env=plain | {"TERM": "xterm"} | env,
        stdin=subprocess.DEVNULL, stdout=slave, stderr=slave,
    ) as child:  # fmt: skip
        os.close(slave)
        raw = b""
        try:
            while piece := os.read(master, 65536):
                raw += piece
        except OSError:  # the last end of the terminal was closed
            pass
        finally:
            os.close(master)
    return Shown(child.returncode, raw.decode())
