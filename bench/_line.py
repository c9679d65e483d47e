"""One table in a daemon, dealt at a pace, each side in a process of its own.

In: a pace, how long. Out: cards, how long each took to *stored* and to its line, processor time of
the daemon; with the floor beside it, how long that took.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from bench._daemon import (
    PATIENCE_S,
    RUN,
    child,
    line_of,
    processor_s,
    say,
    stored_cards,
    wait_until_ready,
)

CONFIGURATION = """
[[table]]
id = "t1"
game = "tiger"
announcements = "implied"
[table.method_b]
faces = "face_up"
face_up_after_ms = 0
[table.shoe]
profile = "reference"
port = "{port}"
[[sink]]
kind = "jsonl"
path = "{path}"
audience = "restricted"
[journal]
path = "{journal}"
[socket]
path = "{socket}"
[[socket.user]]
user = {user}
position = "gaming_shift_manager"
audience = "public"
"""


def played(  # noqa: PLR0913 - one argument for each choice
    pace_s: float,
    for_s: float,
    *,
    warm_s: float = 2.0,
    floor: bool = False,
    folder: Path | None = None,
    run: tuple[str, ...] = RUN,
) -> dict[str, Any]:
    """What a daemon with one table does in this time, its shoe at this pace.

    ``floor``: it takes turns with the floor, and the public stream of the socket is read too.
    ``folder``: where both make their files. ``run`` is what runs the daemon.
    """
    with ExitStack() as stack:
        own = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="shoe-ctl-", dir=folder)))
        asked: dict[str, Any] = {"port": str(own / "shoe"), "pace_s": pace_s}
        begin: dict[str, Any] = {"warm_s": warm_s, "for_s": for_s}
        if floor:
            asked["floor_port"] = str(own / "floor")
            begin["floor_socket"] = str(own / "floor.sock")
            begin["socket"] = str(own / "shoe.sock")
        shoe = stack.enter_context(child(sys.executable, "-m", "bench._paced_shoe"))
        say(shoe, asked)
        line_of(shoe)
        config = own / "table.toml"
        config.write_text(
            CONFIGURATION.format(
                port=asked["port"],
                path=own / "events.jsonl",
                journal=own / "shoe.journal",
                socket=own / "shoe.sock",
                user=os.getuid(),
            )
        )
        log = stack.enter_context((own / "log").open("wb"))
        daemon = stack.enter_context(
            child(*run, "run", "--config", str(config), stdout=log, stderr=log)
        )
        if floor:
            least = child(
                sys.executable, "-m", "bench._floor", asked["floor_port"], begin["floor_socket"],
                str(own / "floor.db"),
            )  # fmt: skip
            line_of(stack.enter_context(least))
        wait_until_ready(daemon, own / "log")
        say(shoe, begin)
        try:
            line_of(shoe)
        except SystemExit:
            sys.stderr.write((own / "log").read_text())
            raise
        before = processor_s(daemon.pid)
        line_of(shoe)
        spent = processor_s(daemon.pid) - before
        found: dict[str, Any] = line_of(shoe)
        found["processor_s"] = spent
        daemon.send_signal(signal.SIGTERM)
        daemon.wait(PATIENCE_S)
        found["journal"] = stored_cards(own / "shoe.journal").get("t1", [])
        return found
