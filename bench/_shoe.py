"""A simulated shoe in a process of its own, for what is measured at a port.

In: a profile, how fast it deals. Out: its port. It ends with the context.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

NEVER_MS = 3_600_000
"""A pace at which no card is dealt while anything is measured."""

PATIENCE_S = 60
"""How long it may take to end."""


@contextmanager
def simulated_shoe(profile: str, pace_ms: int, shoes: int = 1, *, seed: int = 1) -> Iterator[str]:
    """A shoe that deals ``shoes`` sets, a card each ``pace_ms`` at least; gives its port."""
    options = [*("--profile", profile, "--port", "pty", "--pace-ms", str(pace_ms))]
    options += ["--seed", str(seed), "--shoes", str(shoes)]
    with subprocess.Popen(
        (sys.executable, "-m", "simulators", *options),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as child:
        assert child.stdin is not None and child.stdout is not None
        try:
            yield json.loads(child.stdout.readline())["port"]
        finally:
            child.stdin.close()
            assert child.wait(PATIENCE_S) == 0
