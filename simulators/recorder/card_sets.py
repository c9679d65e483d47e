"""One set of cards of a recording: how the shoe came to the table before it, and what followed.

In: what happened at a table, and its snapshot from when the set was new. Out: the same of this set.
Must not know: scenarios, files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from simulators.errors import WrongUsage
from simulators.recorder.recording import Happened
from simulators.recorder.rounds import COUNTS_CARDS, HALTED, HELD
from simulators.shoe.device import FIRMWARE
from simulators.table.expectation import Told

_ALIGN: Mapping[str, Any] = {
    "input": "command",
    "command_id": "align before the set",
    "command": "align",
    "args": {},
    "position": "pit_supervisor",
    "reason": "the shoe stands between rounds",
    "round_id": None,
}
_CONNECTED = (Told("shoe.connected", {}),)


def only_set(
    happened: Sequence[Happened], shoe: str, begun: int | None, state: Mapping[str, Any], deck: str
) -> tuple[int | None, list[Happened]]:
    """Return where the set began, and what happened from then on until the next set.

    It is None where nothing but the shoe's own connection was before it.
    The latest link and the identity of the shoe come first, as the set's own connection. ``state``
    is the table's at ``begun``, once the set was in the shoe: it tells what is not in ``happened``.

    Raises:
        WrongUsage: the set is not in there.
    """
    loads = [
        (at, str(told.data.get("shoe_id")))
        for at, each in enumerate(happened)
        for told in each.public
        if told.type == "shoe.loaded"
    ]
    loaded = next((at for at, of in loads if of == shoe), None)
    begin = begun if loaded is None else loaded
    if begin is None:
        raise WrongUsage(f"--shoe: {shoe} is not in it")
    end = next((at for at, of in loads if at > begin and of != shoe), len(happened))
    upto = happened[: begin + (loaded is not None)]
    if not any(of != shoe and at < begin for at, of in loads) and _connects(upto):
        return None, list(happened[:end])
    drawn = int(state.get("shoe", {}).get("drawn", 0)) if loaded is None else 0
    lead = _lead(upto, happened[begin:end], state, deck, drawn)
    keeps = loaded is None or happened[begin].shoe_event.get("type") == "card_drawn"
    return begin, [*lead, *happened[begin if keeps else begin + 1 : end]]


def left_behind(state: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what counts in a set of cards from before it, and is not played."""
    found = {
        HALTED: state.get("halt"),
        HELD: (state.get("control") or {}).get("holder"),
    }
    return tuple(what for what, still in found.items() if still)


def _connects(happened: Sequence[Happened]) -> bool:
    return any(told.type == "shoe.connected" for each in happened for told in each.public)


def _lead(
    upto: Sequence[Happened],
    behind: Sequence[Happened],
    state: Mapping[str, Any],
    deck: str,
    drawn: int,
) -> list[Happened]:
    """Return the start of the host, the link and the hello under which the set came."""
    started = _last(upto, "restarted")
    if started is None and state.get("host_boot") is not None:
        started = Happened({"input": "restarted", "t_us": 0, "host_boot": state["host_boot"]})
    lead = [] if started is None else [Happened(started.what)]
    last = next((h for h in reversed(upto) if h.kind in ("link_up", "link_lost")), None)
    known: Mapping[str, Any] = state.get("link") or {}
    if last is None and known.get("up"):
        last = Happened({**known, "input": "link_up", "t_us": known["since_us"]})
    if last is None or last.kind == "link_lost":
        return lead  # it connects later
    if last.what["profile"] != COUNTS_CARDS:
        lead.append(Happened(last.what, _CONNECTED, _CONNECTED))
        if last.what["profile"] == "bee_tek" and known.get("aligned"):
            lead.append(Happened(_ALIGN))  # it does not say where it stands: a person had
        return lead
    hello = next((h for h in reversed(upto) if _is_hello(h)), None)
    if hello is None:
        said: Mapping[str, Any] = {"input": "shoe", "t_us": last.what["t_us"], "seq": None}
        event: Mapping[str, Any] = _hello(behind, state, deck)
    else:
        said, event = hello.what, hello.shoe_event
        if hello is not upto[-1]:
            event = {**event, "drawn": drawn}
    return [
        *lead,
        Happened(last.what),
        Happened({**said, "event": {**event}}, _CONNECTED, _CONNECTED),
    ]


def _hello(behind: Sequence[Happened], state: Mapping[str, Any], deck: str) -> dict[str, Any]:
    """Return what the shoe would have said of itself; its firmware as it says it the next time."""
    link, cards = state["link"], state["shoe"]
    told = next((h.shoe_event for h in behind if _is_hello(h)), {})
    return {
        "type": "hello",
        "device_id": link["device_id"],
        "firmware": told.get("firmware", FIRMWARE),
        "firmware_digest": told.get("firmware_digest"),
        "boot_id": link["boot_id"],
        "deck": deck,
        "set_id": cards["set_id"],
        "decks": cards["decks"],
        "drawn": cards["drawn"],
    }


def _is_hello(happened: Happened) -> bool:
    return happened.shoe_event.get("type") == "hello"


def _last(happened: Sequence[Happened], kind: str) -> Happened | None:
    return next((each for each in reversed(happened) if each.kind == kind), None)
