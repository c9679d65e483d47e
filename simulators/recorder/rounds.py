"""Some rounds of a recording: what led to them is replaced by a shoe that was dealt from before.

In: a Recording, the rounds that are wanted. Out: the Recording of these alone.
Must not know: scenarios, where the recording is from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from simulators.errors import WrongUsage
from simulators.recorder.cards import BURNED
from simulators.recorder.recording import Happened, Recording
from simulators.table.expectation import Told

COUNTS_CARDS = "reference"
"""The profile whose shoes say how many cards are out."""


def rounds_of(recording: Recording) -> list[str]:
    """Return the ids of the rounds that were opened, in order."""
    opened = (told for happened in recording.happened for told in happened.public)
    return [str(told.data["round_id"]) for told in opened if told.type == "round.opened"]


def only_rounds(recording: Recording, first: str, last: str) -> Recording:
    """Return the recording of the rounds from ``first`` to ``last``.

    Raises:
        WrongUsage: there is no such round.
    """
    openers = {round_id: at for at, round_id in _openers(recording)}
    for wanted in (first, last):
        if wanted not in openers:
            have = list(openers)
            some = f"{have[0]} to {have[-1]}" if have else "none"
            raise WrongUsage(f"--round: {recording.source} has no {wanted!r} (it has: {some})")
    begin = openers[first]
    behind = [at for at in openers.values() if at > openers[last]]
    end = min(behind, default=len(recording.happened))
    before = recording.happened[:begin]
    if begin == min(openers.values()):  # nothing was dealt before it
        return replace(recording, happened=recording.happened[:end])
    return replace(
        recording,
        table=table_then(recording, before),
        happened=(
            *_lead(recording, before),
            _of_round(recording.happened[begin], first),
            *recording.happened[begin + 1 : end],
        ),
        begins_with=first,
        left_out=tuple(_lost(before)),
        source=f"{recording.source}, {first if first == last else f'{first} to {last}'}",
    )


def _of_round(opener: Happened, round_id: str) -> Happened:
    """Return what opened the round without what it ended of the round before."""

    def is_of_it(told: Told) -> bool:
        return told.data.get("round_id") == round_id or not told.type.startswith("irregularity.")

    return Happened(
        opener.what,
        tuple(filter(is_of_it, opener.public)),
        tuple(filter(is_of_it, opener.restricted)),
    )


def _openers(recording: Recording) -> list[tuple[int, str]]:
    return [
        (at, str(told.data["round_id"]))
        for at, happened in enumerate(recording.happened)
        for told in happened.public
        if told.type == "round.opened"
    ]


def _lead(recording: Recording, before: Sequence[Happened]) -> list[Happened]:
    """Return how the shoe came to the table: with cards out, or as it was opened."""
    if recording.profile == COUNTS_CARDS:
        return _with_cards_out(before)
    opened = next(at for at, h in enumerate(before) if _opens_round(h))
    if any(h.shoe_event.get("hand") in BURNED for h in before[opened:]):
        raise WrongUsage(f"{recording.source}: another shoe was opened before: name it with --shoe")
    return list(before[:opened])


def _opens_round(happened: Happened) -> bool:
    return any(told.type == "round.opened" for told in happened.public)


def _with_cards_out(before: Sequence[Happened]) -> list[Happened]:
    hello = [h for h in before if h.shoe_event.get("type") == "hello"][-1]
    event = {**hello.shoe_event, "drawn": _cards_out(before)}
    connected = (Told("shoe.connected", {}),)
    said = Happened({**hello.what, "event": event}, connected, connected)
    lead = []
    for kind in ("restarted", "link_up"):
        found = [h for h in before if h.kind == kind]
        lead += [Happened(found[-1].what)] if found else []
    return [*lead, said]


def _cards_out(before: Sequence[Happened]) -> int:
    """Return how many cards of the set in the shoe were out."""
    out = 0
    for happened in before:
        event = happened.shoe_event
        match event.get("type"):
            case "hello" | "status":
                out = int(event.get("drawn", out))
            case "card_drawn":
                out = int(event.get("number") or out + 1)
            case "cards_drawn":
                out = int(event.get("number") or out + 1) + len(event["cards"]) - 1
            case "shoe_loaded":
                out = 0
    return out


def table_then(recording: Recording, before: Sequence[Happened]) -> dict[str, object]:
    """Return the table as it was set by then: staff may have changed the method."""
    table = dict(recording.table)
    for happened in before:
        for told in happened.public:
            if told.type == "method.changed" and told.data.get("method"):
                table["method"] = told.data["method"]
    return table


def _lost(before: Sequence[Happened]) -> list[str]:
    """Return what of the earlier rounds still counts in these, and is not played."""
    lost = {"the rounds before: others of their cards are out": True}
    for happened in before:
        if happened.shoe_event.get("type") in ("cutting_card", "shoe_loaded"):
            lost[_CUT] = happened.shoe_event["type"] == "cutting_card"
        for told in happened.public:
            if told.type in ("table.halted", "table.resumed"):
                lost[HALTED] = told.type == "table.halted"
            elif told.type == "irregularity.resolved":
                lost[_KEPT] = told.data.get("how") in OPENS_NEXT
            elif told.type == "wagers.restricted":
                lost[_RESTRICTED] = True
            elif told.type == "shoe.holder_changed":
                lost[HELD] = True
    return [what for what, still in lost.items() if still]


OPENS_NEXT = ("next_round", "first_card", "cards_open_round")
"""Ends of an irregularity after which a card lies on the table as the next round begins."""

_KEPT = "a card that was kept for the round"
_CUT = "the cutting card, which came out before"
HALTED = "what had halted the table before"
_RESTRICTED = "wagers that were restricted before"
HELD = "who held the shoe before"
