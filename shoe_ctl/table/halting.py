"""When the round cannot go on by itself: raised, waited on, ended by itself or by a person.

In: what does not fit. Out: irregularity.*, table.halted .resumed, round.void.
Must not know: how to mend it: it asks, and never guesses a card or an order.
"""

from __future__ import annotations

from collections.abc import Callable

from firmware_proto.events import CardDrawn, Error, ErrorCleared, Hello

from . import dealing, link_facts, revealing, shoe_cards
from .inputs import Fault, Restarted
from .state import Halt, Kept
from .turn import Turn

INSPECTION = frozenset({"foreign_card", "extra_card"})
"""Known from a card's value alone: in public only the bare fact of a halt for inspection."""

SELF_RESUMING = frozenset({"link_lost"})
"""May end by themselves: the same shoe is back and nothing was missed."""

PUBLIC_REASON = {"overdraw": "drawn_early"}
"""What the public stream calls a halt, where that is not the irregularity's own key."""


def raise_irregularity(turn: Turn, key: str, seen: str) -> None:
    """Halt the table: say what was seen, keep where it happened."""
    secret = key in INSPECTION
    back_to = turn.source if turn.now.halt is None else turn.now.halt.back_to
    turn.change(halt=Halt(key=key, seen=seen, back_to=back_to, since_us=turn.now.t_us))
    data = {"key": key, "seen": seen, "rules": dict(turn.game.irregularities[key])}
    if secret:
        turn.tell_restricted("irregularity.raised", data)
        turn.tell("table.halted", {"reason": "inspection"}, restricted={"reason": key})
    else:
        turn.tell("irregularity.raised", data)
        turn.tell("table.halted", {"reason": PUBLIC_REASON.get(key, key)})


# What was seen.


def returns_here(turn: Turn) -> bool:
    """The state that this row leads to is the one that the table left."""
    return turn.now.halt is not None and turn.now.halt.back_to == turn.dest


def same_shoe_is_back(turn: Turn) -> bool:
    """The same device, not rebooted, with the same set; every event since is replayed."""
    event, link, shoe = turn.shoe_event, turn.now.link, turn.now.shoe
    if turn.now.halt is None or turn.now.halt.key not in SELF_RESUMING or turn.now.kept:
        return False
    return (
        isinstance(event, Hello)
        and event.resumed
        and shoe is not None
        and (event.device_id, event.boot_id) == (link.device_id, link.boot_id)
        and event.set_id == shoe.set_id
    )


def power_was_lost(turn: Turn) -> bool:
    """The shoe or its host booted since the round's last card."""
    event = turn.happened
    if isinstance(event, Restarted):
        return turn.now.host_boot not in (None, event.host_boot)
    hello = turn.shoe_event
    return isinstance(hello, Hello) and turn.now.link.boot_id not in (None, hello.boot_id)


def plays_on(turn: Turn) -> bool:
    """The ruling: nothing is missing, the table goes on where it was."""
    return turn.command.args.get("ruling") == "play_on" and not turn.now.kept


def sets_aside(turn: Turn) -> bool:
    """The ruling: the cards drawn early are set aside, the table goes on where it was."""
    early = turn.now.round is None or _key(turn) == "overdraw"
    return turn.command.args.get("ruling") == "set_aside" and bool(turn.now.kept) and early


def voids(turn: Turn) -> bool:
    """The ruling: the round is void."""
    return turn.command.args.get("ruling") == "void" and turn.now.round is not None


# Actions that halt, one for each cause.


def because(key: str, seen: str) -> Callable[[Turn], None]:
    """An action that halts for a cause known from the row alone."""

    def halt(turn: Turn) -> None:
        raise_irregularity(turn, key, seen)

    halt.__name__ = f"halt: {key}"
    return halt


def halt_for_card(turn: Turn) -> None:
    """A card that does not fit: kept, and the table asks."""
    wrong = dealing.what_is_wrong(turn)
    key, seen = wrong if wrong is not None else ("overdraw", "a card was drawn early")
    raise_irregularity(turn, key, seen)
    keep(turn)


def halt_for_gap(turn: Turn) -> None:
    """Events are missing that nobody can send again."""
    raise_irregularity(turn, "gap", link_facts.what_is_missing(turn))


def halt_for_fault(turn: Turn) -> None:
    """A part of this program failed on an input: its raw bytes are kept."""
    event = turn.happened
    assert isinstance(event, Fault)
    raise_irregularity(turn, "other", f"{event.where} failed: {event.what}")


def tell_shoe_fault(turn: Turn) -> None:
    """The shoe reports a fault: which one is restricted, it may tell of a card."""
    event = turn.shoe_event
    assert isinstance(event, Error)
    restricted = {"code": event.code, "in_error_mode": event.in_error_mode}
    turn.tell("shoe.fault", {}, restricted=restricted)


def halt_for_shoe_fault(turn: Turn) -> None:
    """The shoe reports a fault in a round."""
    tell_shoe_fault(turn)
    raise_irregularity(turn, "other", "the shoe reports a fault")


def tell_fault_cleared(turn: Turn) -> None:
    """The shoe's fault is over."""
    event = turn.shoe_event
    assert isinstance(event, ErrorCleared)
    turn.tell("shoe.cleared", {}, restricted={"code": event.code})


# While halted.


def keep(turn: Turn) -> None:
    """A card drawn while halted: counted and kept, never added to the round."""
    drawn = turn.drawn
    assert isinstance(drawn, CardDrawn)
    if dealing.unaligned(turn) and dealing.aligns(turn):
        turn.set_link(aligned=True)
        turn.tell("irregularity.step", {"key": _key(turn), "step": "the shoe is aligned again"})
    shoe_cards.count_unplaced(turn)
    kept = Kept(card=drawn.card, number=drawn.number, hand=drawn.hand, index=drawn.index)
    turn.change(kept=(*turn.now.kept, kept))


def _key(turn: Turn) -> str:
    return turn.now.halt.key if turn.now.halt is not None else "other"


def align(turn: Turn) -> None:
    """A person says that the shoe stands where the table does."""
    turn.set_link(aligned=True)
    turn.tell("irregularity.step", {"key": _key(turn), "step": "aligned by a person"})


# Endings.


def resume(turn: Turn) -> None:
    """The halt ends by itself: the shoe is back and nothing was missed."""
    _resolve(turn, {"how": "link back, nothing missed"})
    shoe_cards.note_device(turn)
    _go_on(turn)


def play_on(turn: Turn) -> None:
    """A person rules that the table goes on; against the shoe's result the cards stand (6.3)."""
    if _key(turn) in ("result_missing", "result_disagrees"):
        turn.set_round(result_overruled=True)
    turn.set_link(aligned=True)
    _resolve(turn, _ruling(turn, "play_on"))
    _go_on(turn)


def set_aside(turn: Turn) -> None:
    """A person rules that the cards drawn early are set aside: they stay counted, unplaced."""
    _resolve(turn, {**_ruling(turn, "set_aside"), "cards_kept": len(turn.now.kept)})
    turn.change(kept=())
    _go_on(turn)


def _go_on(turn: Turn) -> None:
    shoe_cards.admit_kept_set(turn)
    if turn.now.round is not None:
        revealing.reveal_due(turn)
        revealing.advance(turn)


def rule_void(turn: Turn) -> None:
    """A person rules the round void: all wagers are returned, decided ones too."""
    ruling = _ruling(turn, "void")
    rule = ruling["rule"]
    turn.tell(
        "round.void",
        {"round_id": turn.round.id, "rule": rule, "reason": turn.command.reason},
    )
    kept = len(turn.now.kept)
    _resolve(turn, {**ruling, "cards_kept": kept})
    turn.change(kept=())
    if kept and not turn.now.link.replay:
        link_facts.lose_alignment(turn)
    revealing.close_round(turn)


def void_for_want_of_cards(turn: Turn) -> None:
    """The shoe is empty with a card due: the round is void (5.3)."""
    key = "insufficient_cards"
    rule = turn.game.rule(key, "void")
    turn.tell(
        "irregularity.raised",
        {"key": key, "seen": "the shoe is empty and a card is due", "rule": rule},
    )
    turn.tell("round.void", {"round_id": turn.round.id, "rule": rule, "reason": key})
    turn.tell("irregularity.resolved", {"key": key, "how": "void", "rule": rule})
    revealing.close_round(turn)


def _ruling(turn: Turn, end: str) -> dict[str, object]:
    command = turn.command
    ends = turn.game.irregularities[_key(turn)]
    end_of = {"play_on": "ruled", "set_aside": "set_aside", "void": "void"}[end]
    rule = ends[end_of] if end_of in ends else turn.game.rule("other", "ruled")
    return {"how": end, "rule": rule, "person": command.person, "reason": command.reason}


def _resolve(turn: Turn, how: dict[str, object]) -> None:
    turn.tell("irregularity.resolved", {"key": _key(turn), **how})
    turn.change(halt=None)
    turn.tell("table.resumed", {})
