"""How a table stands, for people: lines of 80 columns or fewer.

In: the status of a table as the daemon tells it. Out: lines.
Must not know: the daemon, the round's rules.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from typing import Any

from shoe_ctl.cli.table_open import Labelled, asked_of, halt_lines, waiting_lines
from shoe_ctl.printable import printable

WIDTH = 80
_LABEL = 10

FACE_DOWN = "[ ]"


def lines(held: dict[str, Any]) -> Iterator[str]:
    """The table in a few lines, what is next last but one, who may do what last."""
    method = f", Method {held['method']}" if held["method"] else ""
    yield from _line(held["table"], f"{held['game']}{method}: {held['state']}")
    if held.get("doubt"):
        yield from _line("doubt", printable(held["doubt"]))
        yield from _line("takes", "accept_loss (gaming_shift_manager, with a reason and consent)")
        return
    shoe = held["shoe"]
    if shoe is not None:
        out = ", the cutting card is out" if shoe["cutting_card_out"] else ""
        player = _seat(held.get("shoe_with"))
        who = f", with {player}" if player else ""
        yield from _line("shoe", f"{shoe['shoe_id']}{who}{out}")
    if held["link"] != "up":
        yield from _line("link", "lost: the shoe cannot be heard")
    yield from _told(held.get("told") or {})
    if held.get("refused"):
        yield from _line("refused", held["refused"]["text"])
    if held["round"] is not None:
        yield from _round(held["round"], held.get("held_by", {}))
    yield from _open(held)
    for parked in held["parked"]:
        last = f"the last {parked['last']} ({parked['type']})"
        waits = parked["waiting"]
        left = f"; {waits} can be offered again: redeliver" if waits else "; none waits any more"
        yield from _line("parked", f"{parked['count']} not taken by {parked['sink']}: {last}{left}")
    yield from _line("next", next_step(held))
    takes = [
        f"{taken['command']} ({taken['position']}{asked_of(taken)})" for taken in held["takes"]
    ]
    yield from _line("takes", ", ".join(takes) or "no command now")


def open_lines(held: dict[str, Any]) -> Iterator[str]:
    """What the table waits for people to decide, and what is typed next; nothing otherwise."""
    if _choices(held) or held["halt"] is not None:
        yield from _open(held)
        yield from _line("next", next_step(held))


def _open(held: dict[str, Any]) -> Iterator[str]:
    """What halts the table, and what is open beside the round."""
    if held["halt"] is not None:
        yield from _labelled(halt_lines(held["halt"]))
    for waiting in held["waiting"]:
        yield from _labelled(waiting_lines(waiting))


def _told(told: dict[str, Any]) -> Iterator[str]:
    """What the shoe was told and has not answered, and its last answer."""
    waiting, last = told.get("told") or [], told.get("answered")
    if waiting:
        yield from _line("told", f"{', '.join(waiting)}: no answer yet")
    if last is not None:
        yield from _line("answered", f"{last.get('what', last['command'])}: {_answer(last)}")


def _answer(last: dict[str, Any]) -> str:
    if not last["accepted"]:
        return "refused"
    if "passed" in last:
        return "passed" if last["passed"] else "failed"
    if "value" in last:
        return "the shoe cannot tell" if last["value"] is None else str(last["value"])
    return "done"


def _round(played: dict[str, Any], held_by: dict[str, Any]) -> Iterator[str]:
    yield from _line("round", played["round_id"])
    for hand, cards in played["hands"].items():
        shown = " ".join(FACE_DOWN if card is None else card for card in cards) or "no card yet"
        totals = played["totals"]
        total = "" if totals is None else f"  = {totals[hand]}"
        player = _seat(held_by.get(hand))
        yield from _line(hand, f"{shown}{total}" + (f"  with {player}" if player else ""))


def _seat(holder: dict[str, Any] | None) -> str | None:
    """The Player who holds a hand or the shoe, None where the dealer does."""
    if holder is None:
        return None
    return "a Player" if holder["seat"] is None else f"seat {holder['seat']}"


def next_step(held: dict[str, Any]) -> str:
    """What the table waits for, with what is typed where a command brings it."""
    due = held["next"]
    if due["command"] is None:
        return str(due["text"])
    words = [due["command"], *(f"{key}={value}" for key, value in due["args"].items())]
    if due["command"] == "decide":
        words.append("choice=...")
        words += ['--reason "..."'] if any(c.get("reason") for c in _choices(held)) else []
    return f"{due['text']}: shoectl table {' '.join(words)}"


def _choices(held: dict[str, Any]) -> list[dict[str, Any]]:
    """What may be decided now: of what halts the table, else of what is asked beside it."""
    if held["halt"] is not None:
        return list(held["halt"]["choices"])
    return [choice for waiting in held["waiting"] for choice in waiting.get("choices", [])]


def _labelled(told: Iterable[Labelled]) -> Iterator[str]:
    for label, text in told:
        yield from _line(label, text)


def _line(label: str, text: str) -> Iterator[str]:
    indent = " " * (_LABEL + 2)
    first = f"{label:<{_LABEL}}  "
    yield from textwrap.wrap(
        printable(text),
        WIDTH,
        initial_indent=first,
        subsequent_indent=indent,
        break_on_hyphens=False,
    )
