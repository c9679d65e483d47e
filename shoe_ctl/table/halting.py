"""When the round cannot go on by itself: the irregularity raised, what comes while it is open.

In: what does not fit. Out: irregularity.raised .step .resolved, table.halted .resumed.
Must not know: how it is mended: it asks, and never guesses a card or an order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from firmware_proto.events import Error, ErrorCleared, Gap, Hello

from . import fitting, power, shoe_cards, shoe_sets
from .inputs import Fault, Restarted
from .state import Halt, Kept
from .turn import Turn

INSPECTION = frozenset({"foreign_card", "extra_card"})
"""Known from a card's value alone: in public only the bare fact of a halt for inspection."""

PUBLIC_NAMES = {"overdraw": "drawn_early", **dict.fromkeys(INSPECTION, "inspection")}
"""What the public stream calls an irregularity whose key would tell what only the shoe knows."""

OVERDRAW = "overdraw"
"""The shoes' own code for a card drawn early: in public it must look like any other."""

FACTS: dict[str, Callable[[Turn], dict[str, Any]]] = {power.KEY: power.established}
"""What else is told when an irregularity is raised: facts that all at the table can see."""

CARDS_OUT = ("dealing", "revealing", "drawing")
"""The states in which cards of an unfinished round lie on the table."""


def public_name(key: str) -> str:
    """What this irregularity is called in public."""
    return PUBLIC_NAMES.get(key, key)


def raise_irregularity(turn: Turn, key: str, seen: str, *, publicly: str | None = None) -> None:
    """Halt the table, or add to what halts it; ``publicly`` says less than ``seen`` where given.

    An irregularity that is open already is not raised again.
    """
    halt = turn.now.halt
    open_keys = () if halt is None else (*halt.earlier, halt.key)
    if key in open_keys:
        return
    back_to = turn.source if halt is None else halt.back_to
    told = None if key in INSPECTION else publicly or seen
    halted = Halt(
        key=key,
        seen=seen,
        back_to=back_to,
        since_us=turn.now.t_us,
        publicly=told,
        earlier=open_keys,
    )
    turn.change(halt=halted)
    rules = dict(turn.game.irregularities[key])
    facts = FACTS[key](turn) if key in FACTS else {}
    secret = {"key": key, "seen": seen, "rules": rules, **facts}
    if key in INSPECTION:
        turn.tell_restricted("irregularity.raised", secret)
    elif key in PUBLIC_NAMES or publicly is not None:
        data = {"key": public_name(key), "seen": publicly or seen, "rules": rules}
        turn.tell("irregularity.raised", data, restricted=secret)
    else:
        turn.tell("irregularity.raised", secret)
    if halt is None:
        turn.tell("table.halted", {"reason": public_name(key)}, restricted={"reason": key})


def tell_of(turn: Turn, kind: str, key: str, data: dict[str, Any], **restricted: object) -> None:
    """An event about an irregularity, in public under its public name, or not at all."""
    secret = {"key": key, **data, **restricted}
    if key in INSPECTION:
        turn.tell_restricted(kind, secret)
    else:
        turn.tell(kind, {"key": public_name(key), **data}, restricted=secret)


def key_of(turn: Turn) -> str:
    """The irregularity that is decided now: the one raised last."""
    assert turn.now.halt is not None
    return turn.now.halt.key


def end_halt(turn: Turn, data: dict[str, Any], **restricted: object) -> None:
    """Everything that halted the table ends in the same way."""
    halt = turn.now.halt
    assert halt is not None
    for key in (halt.key, *reversed(halt.earlier)):
        tell_of(turn, "irregularity.resolved", key, data, **restricted)
    turn.change(halt=None, kept=())
    turn.tell("table.resumed", {})


# What was seen.


def returns_here(turn: Turn) -> bool:
    """The state that this row leads to is the one that the table left."""
    return turn.now.halt is not None and turn.now.halt.back_to == turn.dest


def cards_were_out(turn: Turn) -> bool:
    """The table was halted with cards of an unfinished round on it."""
    return turn.now.halt is not None and turn.now.halt.back_to in CARDS_OUT


def same_shoe_is_back(turn: Turn) -> bool:
    """Only the link was lost; the same device, not rebooted, has the same set and replays all."""
    event, link, halt = turn.shoe_event, turn.now.link, turn.now.halt
    if halt is None or (halt.key, halt.earlier) != ("link_lost", ()) or turn.now.kept:
        return False
    return (
        isinstance(event, Hello)
        and event.resumed
        and (event.device_id, event.boot_id) == (link.device_id, link.boot_id)
        and not shoe_sets.another_set(turn)
    )


def power_was_lost(turn: Turn) -> bool:
    """The shoe or its host booted since it was last heard of, or another shoe took its place."""
    event, link = turn.happened, turn.now.link
    if isinstance(event, Restarted):
        return turn.now.host_boot not in (None, event.host_boot)
    hello = turn.shoe_event
    assert isinstance(hello, Hello)
    known = (link.device_id, link.boot_id)
    return known not in ((None, None), (hello.device_id, hello.boot_id))


def cards_were_missed(turn: Turn) -> bool:
    """The shoe counts more cards than were heard of, and will not send them again."""
    hello, shoe = turn.shoe_event, turn.now.shoe
    assert isinstance(hello, Hello)
    if shoe is None or hello.resumed or shoe_sets.another_set(turn):
        return False
    return hello.drawn > shoe.drawn


def shoe_saw_overdraw(turn: Turn) -> bool:
    """The shoe's fault is a card drawn early, by its own count of the round."""
    event = turn.shoe_event
    assert isinstance(event, Error)
    return event.code == OVERDRAW


# Actions that halt, one for each cause.


def because(key: str, seen: str) -> Callable[[Turn], None]:
    """An action that halts for a cause known from the row alone."""

    def halt(turn: Turn) -> None:
        raise_irregularity(turn, key, seen)

    return halt


def halt_for_card(turn: Turn) -> None:
    """A card that does not fit: kept, and the table asks."""
    _raise_misfit(turn, fitting.what_is_wrong(turn) or fitting.DRAWN_EARLY)
    keep(turn)


def _raise_misfit(turn: Turn, wrong: fitting.Misfit) -> None:
    raise_irregularity(turn, wrong.key, wrong.seen, publicly=wrong.publicly)


def halt_for_gap(turn: Turn) -> None:
    """Events are missing that nobody can send again."""
    event = turn.shoe_event
    assert isinstance(event, Gap)
    seen = f"the shoe's events {event.first} to {event.last} are lost"
    raise_irregularity(turn, "gap", seen)


def halt_for_missed_cards(turn: Turn) -> None:
    """Cards were drawn that were not heard of and will not be."""
    event = turn.shoe_event
    assert isinstance(event, Hello)
    missed = event.drawn - turn.shoe.drawn
    raise_irregularity(turn, "gap", f"{missed} cards were drawn that were not heard of")


def halt_for_fault(turn: Turn) -> None:
    """A part of this program failed on an input: its raw bytes are kept."""
    event = turn.happened
    assert isinstance(event, Fault)
    seen = f"{event.where} failed: {event.what}"
    raise_irregularity(turn, "other", seen, publicly="a part of the controller failed")


def tell_shoe_fault(turn: Turn) -> None:
    """The shoe reports a fault: which one is restricted, it may tell of a card."""
    event = turn.shoe_event
    assert isinstance(event, Error)
    _tell_fault(turn, "shoe.fault", event.code, in_error_mode=event.in_error_mode)


def halt_for_shoe_fault(turn: Turn) -> None:
    """The shoe reports a fault in a round."""
    tell_shoe_fault(turn)
    raise_irregularity(turn, "other", "the shoe reports a fault")


def halt_for_overdraw(turn: Turn) -> None:
    """The shoe reports an overdraw: in public no more than any card drawn early."""
    tell_shoe_fault(turn)
    _raise_misfit(turn, fitting.DRAWN_EARLY)


def tell_unforeseen(turn: Turn) -> None:
    """The shoe said something that this table has no step for, where it can do no harm."""
    turn.tell_restricted("frame.discarded", {"reason": f"not foreseen: {turn.shoe_event.type}"})


def halt_for_unforeseen(turn: Turn) -> None:
    """The shoe said something that this table has no step for."""
    seen = f"the shoe said what no step is known for: {turn.shoe_event.type}"
    raise_irregularity(turn, "other", seen, publicly="the shoe said what no step is known for")


def tell_fault_cleared(turn: Turn) -> None:
    """The shoe's fault is over."""
    event = turn.shoe_event
    assert isinstance(event, ErrorCleared)
    _tell_fault(turn, "shoe.cleared", event.code)


def _tell_fault(turn: Turn, kind: str, code: str, **more: object) -> None:
    """A shoe knows an overdraw by the cards it read: in public that fault does not exist."""
    secret = {"code": code, **more}
    if code == OVERDRAW:
        turn.tell_restricted(kind, secret)
    else:
        turn.tell(kind, {}, restricted=secret)


# While halted.


def keep_another(turn: Turn) -> None:
    """A card drawn while halted; one that is not the shoe's is an irregularity of its own."""
    wrong = fitting.not_the_shoes(turn)
    if wrong is not None:
        _raise_misfit(turn, wrong)
    keep(turn)


def keep(turn: Turn) -> None:
    """A card that fits nowhere: counted and kept, never added to the round."""
    drawn = turn.drawn
    if fitting.unaligned(turn) and fitting.aligns(turn):
        turn.set_link(aligned=True)
        # Which card the shoe takes for a round's first follows from cards nobody may have seen.
        data = {"key": key_of(turn), "step": "the shoe is aligned again"}
        turn.tell_restricted("irregularity.step", data)
    shoe_cards.count_unplaced(turn)
    kept = Kept(card=drawn.card, number=drawn.number, hand=drawn.hand, index=drawn.index)
    turn.change(kept=(*turn.now.kept, kept))


def align(turn: Turn) -> None:
    """A person says that the shoe stands where the table does."""
    turn.set_link(aligned=True)
    if turn.now.halt is not None:
        who = {"person": turn.command.person}
        tell_of(turn, "irregularity.step", key_of(turn), {"step": "aligned by a person"}, **who)
