"""A daemon under the load of ``shoe-sim floor``, each in a process of its own, over TCP.

In: how many tables, at what pace, for how long. Out: the floor's report, and what the daemon took.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from itertools import zip_longest
from pathlib import Path
from typing import Any

from bench._daemon import (
    PATIENCE_S,
    RUN,
    calls_of,
    child,
    line_of,
    peak_mb,
    processor_s,
    stored_cards,
    switches,
    wait_until_ready,
)
from bench._promises import Promise, least_of, median_of, most_of, percentile
from firmware_proto.cards import DECKS
from simulators.shoe.model import shuffled

SHOE_SIM = str(Path(sys.executable).parent / "shoe-sim")
WARM_UP_S = 2.0
SETTLED_S = 8.0
"""As long a floor of a thousand tables is dealt before it counts: its shoes are all loaded in the
same second only here, and what that costs is not measured."""

LEAST_REACHED = 0.95
"""Part of the cards asked for that a daemon takes in time, or its times say nothing."""

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


def loaded(  # noqa: PLR0913 - one argument for each choice
    tables: int,
    pace_s: float,
    for_s: float,
    *,
    warm_s: float = WARM_UP_S,
    run: Sequence[str] = RUN,
    can_read: bool = True,
    counts_calls: bool = False,
) -> dict[str, Any]:
    """What a new daemon with a sink does under this load, once it went on for ``warm_s``.

    The floor's report, and: ``processor_s`` of the daemon in the ``dealt_s`` seconds from the first
    card to the last, in which ``cards`` were dealt; ``settled_s`` of processor time and the
    ``switches`` of its threads after ``warm_s``, when ``measured`` cards came; its ``peak_mb``;
    how many cards it ``lost``: not acknowledged in the end, or not in the journal at their place;
    how many tables were ``unserved``; ``alarms``: how often a shoe was said not to hear.

    ``run`` is the program. ``can_read`` is false where its journal is of another form: then only
    acknowledgements are counted. ``counts_calls`` adds the system calls of that time as ``calls``.

    Raises:
        SystemExit: the daemon or the floor ended, or the floor failed for another reason.
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
        argv = (*run, "run", "--config", str(config))
        daemon = stack.enter_context(child(*argv, stdout=said, stderr=said))
        wait_until_ready(daemon, log)
        stage(floor, "began")
        spent = processor_s(daemon.pid)
        time.sleep(warm_s)
        settled, switched = processor_s(daemon.pid), switches(daemon.pid)
        calls: dict[str, int] = {}
        with ExitStack() as counting:
            if counts_calls:
                calls = counting.enter_context(calls_of(daemon.pid))
            stage(floor, "measured")
            if daemon.poll() is not None:
                raise SystemExit(log.read_text()[-2000:])
            ended, switched = processor_s(daemon.pid), switches(daemon.pid) - switched
        found = stage(floor, "ended")
        check_ended(found, floor.wait(PATIENCE_S))
        found |= {"cards": found["drawn"], "dealt_s": for_s + warm_s, "processor_s": ended - spent}
        found |= {"settled_s": ended - settled, "switches": switched, "calls": calls}
        found["peak_mb"] = peak_mb(daemon.pid)
        daemon.terminate()
        daemon.wait(PATIENCE_S)
        stored: dict[str, list[str]] = {}
        for journal in folder.glob("*.journal") if can_read else ():
            stored |= stored_cards(journal)
        found["lost"] = found["waiting"] or (lost(found, stored) if can_read else 0)
        found["unserved"] = unserved(found)
        found["alarms"] = log.read_bytes().count(b": shoe does not hear: ")
        return found


def unserved(found: dict[str, Any]) -> int:
    """How many tables were never connected or never armed: no card of them could be lost."""
    return sum(each["never_armed"] or not each["connections"] for each in found["each"])


def check_ended(found: dict[str, Any], code: int) -> None:
    """Check that the floor's exit code is explained by what its report counts.

    Raises:
        SystemExit: it measured no card, or failed for a reason that no row of a bench shows.
    """
    if not found["measured"]:
        raise SystemExit(f"shoe-sim floor: no card was measured, exit {code}")
    if code and not (unserved(found) or found["waiting"]):
        raise SystemExit(f"shoe-sim floor: exit {code}")


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


def served(name: str, runs: Sequence[dict[str, Any]], *, in_time: bool) -> list[Promise]:
    """What is promised of every load: no card lost, no table left out, no shoe called deaf.

    ``in_time``: and the pace is held. Nothing is promised of refusals: a shoe refuses to be armed
    for a card that it has just drawn, when both cross on their way.
    """
    lost, left_out = [run["lost"] for run in runs], [run["unserved"] for run in runs]
    found = [
        most_of(f"{name}: cards lost or out of order", lost, most=0),
        most_of(f"{name}: tables not connected or never armed", left_out, most=0),
        most_of(f"{name}: shoes said not to hear", [run["alarms"] for run in runs], most=0),
        median_of(f"{name}: messages that a shoe refused", [run["refused"] for run in runs]),
    ]
    if in_time:
        shares = [run["reached"] / run["asked"] for run in runs]
        found.append(least_of(f"{name}: part of the cards asked for", shares, least=LEAST_REACHED))
    return found


def pooled_ms(runs: Sequence[dict[str, Any]], share: float) -> float:
    """A percentile of the times to *stored* of all runs together, in ms."""
    times = [ms for run in runs for ms, count in run["stored"]["ranges_ms"] for _ in range(count)]
    return percentile(times, share)
