"""A daemon under the load of ``shoe-sim floor``, each in a process of its own, over TCP.

In: how many tables, at what pace, for how long. Out: the floor's report, and what the daemon took.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from contextlib import ExitStack
from itertools import zip_longest
from pathlib import Path
from typing import Any

from bench._tables import (
    PATIENCE_S,
    RUN,
    child,
    line_of,
    processor_s,
    stored_cards,
    wait_until_ready,
)
from firmware_proto.cards import DECKS
from simulators.shoe.model import shuffled

SHOE_SIM = str(Path(sys.executable).parent / "shoe-sim")
WARM_UP_S = 2.0
SINK = """
[[sink]]
kind = "jsonl"
path = "events.jsonl"
audience = "restricted"
"""


def stage(floor: subprocess.Popen[bytes], name: str) -> dict[str, Any]:
    """The next line of the floor.

    Raises:
        SystemExit: it is of another stage.
    """
    found: dict[str, Any] = line_of(floor)
    if found["stage"] != name:
        raise SystemExit(f"shoe-sim floor ended before it {name}")
    return found


def loaded(
    tables: int, pace_s: float, for_s: float, *, warm_s: float = WARM_UP_S
) -> dict[str, Any]:
    """What a new daemon with a sink does under this load, once it went on for ``warm_s``.

    The floor's report, and: ``processor_s`` of the daemon in the ``dealt_s`` seconds from the first
    card to the last, in which ``cards`` were dealt; its ``peak_mb``; how many cards it ``lost``:
    not acknowledged in the end, or not in the journal at their place.

    Raises:
        SystemExit: the daemon or the floor ended.
    """
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="shoe-ctl-")))
        written, config, log = (folder / name for name in ("floor.toml", "table.toml", "log"))
        floor = stack.enter_context(
            child(
                *(SHOE_SIM, "floor", "--tables", str(tables), "--pace", str(pace_s), "--json"),
                *("--for", str(for_s), "--warm-up", str(warm_s), "--seed", "1"),
                *("--config", str(written)),
            )
        )
        stage(floor, "opened")
        config.write_text(written.read_text() + SINK)
        said = stack.enter_context(log.open("wb"))
        run = (*RUN, "run", "--config", str(config))
        daemon = stack.enter_context(child(*run, stdout=said, stderr=said))
        wait_until_ready(daemon, log)
        stage(floor, "began")
        spent = processor_s(daemon.pid)
        stage(floor, "measured")
        if daemon.poll() is not None:
            raise SystemExit(log.read_text()[-2000:])
        spent = processor_s(daemon.pid) - spent
        found = stage(floor, "ended")
        found |= {"cards": found["drawn"], "dealt_s": for_s + warm_s, "processor_s": spent}
        status = Path(f"/proc/{daemon.pid}/status").read_text()
        found["peak_mb"] = int(status.partition("VmHWM:")[2].split()[0]) / 1024
        daemon.terminate()
        daemon.wait(PATIENCE_S)
        (journal,) = folder.glob("*.journal")
        found["lost"] = found["waiting"] or lost(found, stored_cards(journal))
        return found


def lost(found: dict[str, Any], stored: dict[str, list[str]]) -> int:
    """How many cards that were dealt are not stored at their place, or were never dealt."""
    wrong = 0
    for table in found["each"]:
        pairs = zip_longest(dealt(found, table), stored.get(table["table"], []))
        wrong += sum(one != other for one, other in pairs)
    return wrong


def dealt(found: dict[str, Any], table: dict[str, Any]) -> list[str]:
    """The cards of a table in their order, by the seeds of its sets."""
    deck = DECKS[found["deck"]]
    return [
        card.code
        for one in table["sets"]
        for card in shuffled(deck, found["decks"], one["seed"])[: one["drawn"]]
    ]
