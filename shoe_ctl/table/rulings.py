"""How a halt ends: by a person's ruling, by itself, or void for want of cards.

In: the ruling, what is open. Out: irregularity.resolved, round.void, the round going on.
Must not know: what caused the halt, beyond its key.
"""

from __future__ import annotations

from typing import Any

from . import halting, link_facts, outcome, revealing, shoe_cards, wagering
from .slots import next_slot
from .turn import Turn

RULINGS = ("play_on", "set_aside", "void")

_END = {"play_on": ("cards_stand", "ruled"), "set_aside": ("set_aside",), "void": ("void",)}
"""The ends of an irregularity whose rule a ruling cites, first found; else 6.1 by ``other``."""


# What was seen.


def gives_no_reason(turn: Turn) -> bool:
    """The ruling comes without the reason that is recorded with it (6.1)."""
    return not turn.command.reason


def plays_on(turn: Turn) -> bool:
    """The ruling: nothing is missing, the table goes on where it was."""
    return _ruling(turn) == "play_on" and why_not_play_on(turn) is None


def why_not_play_on(turn: Turn) -> str | None:
    """What keeps the table from going on where it was."""
    now = turn.now
    if now.kept:
        return "cards were drawn that have no place in the round"
    if now.loaded is not None and now.round is not None and not _is_resolved(turn):
        return "the shoe holds another set of cards than the round began with"
    if not halting.cards_were_out(turn):
        return None
    if shoe_cards.cards_are_lost(turn):
        return "the shoe counts more cards than were heard of"
    if not now.link.up and (next_slot(now) is not None or not turn.round.all_revealed):
        return "the link to the shoe is down"
    return None


def sets_aside(turn: Turn) -> bool:
    """The ruling: the cards drawn early are set aside, the table goes on where it was."""
    return _ruling(turn) == "set_aside" and why_not_set_aside(turn) is None


def why_not_set_aside(turn: Turn) -> str | None:
    """What keeps cards from being set aside."""
    if not turn.now.kept:
        return "no cards are there to be set aside"
    if halting.cards_were_out(turn) and _keys(turn) != {"overdraw"}:
        return "more is open than cards drawn early"
    return None


def voids(turn: Turn) -> bool:
    """The ruling: the round is void."""
    return _ruling(turn) == "void" and turn.now.round is not None


def no_such_ruling(turn: Turn) -> str:
    """Why this ruling cannot be taken."""
    ruling = _ruling(turn)
    if ruling == "play_on":
        why = why_not_play_on(turn)
    elif ruling == "set_aside":
        why = why_not_set_aside(turn)
    elif ruling == "void":
        why = "no round is open"
    else:
        return f"the ruling is one of {', '.join(RULINGS)}"
    return f"{ruling}: {why}"


def _ruling(turn: Turn) -> object:
    return turn.command.args.get("ruling")


def _is_resolved(turn: Turn) -> bool:
    return turn.now.halt is not None and turn.now.halt.back_to == "resolved"


def _keys(turn: Turn) -> set[str]:
    halt = turn.now.halt
    return set() if halt is None else {halt.key, *halt.earlier}


# What is done.


def resume(turn: Turn) -> None:
    """The halt ends by itself: the shoe is back and nothing was missed."""
    rule = turn.game.rule("link_lost", "resumed")
    halting.end_halt(turn, {"how": "link back, nothing missed", "rule": rule})
    _go_on(turn)


def play_on(turn: Turn) -> None:
    """A person rules that the table goes on; against the shoe's result the cards stand (6.3)."""
    if _keys(turn) & {"result_missing", "result_disagrees"}:
        turn.set_round(result_overruled=True)
    turn.set_link(aligned=True)
    _end_by_ruling(turn, "play_on")
    _go_on(turn)


def set_aside(turn: Turn) -> None:
    """A person rules that the cards drawn early are set aside: they stay counted, unplaced."""
    _end_by_ruling(turn, "set_aside")
    _go_on(turn)


def _go_on(turn: Turn) -> None:
    if turn.state not in halting.CARDS_OUT:
        shoe_cards.write_off_lost_cards(turn)
    if turn.now.round is None and turn.now.loaded is not None:
        turn.then("set_shown")
    elif turn.now.round is not None:
        revealing.reveal_due(turn)
        revealing.advance(turn)


def rule_void(turn: Turn) -> None:
    """A person rules the round void: all wagers are returned, decided ones too."""
    astray = bool(turn.now.kept) and not turn.now.link.replay
    key, rule = halting.key_of(turn), _rule(turn, "void")
    data = {"round_id": turn.round.id, "rule": rule, "reason": halting.public_name(key)}
    turn.tell("round.void", data, restricted={**data, **_who(turn), "key": key})
    wagering.return_all(turn, rule)
    _end_by_ruling(turn, "void")
    shoe_cards.write_off_lost_cards(turn)
    if astray:
        link_facts.lose_alignment(turn)
    outcome.close_round(turn)


def void_for_want_of_cards(turn: Turn) -> None:
    """The shoe is empty with a card due: the round is void (5.3)."""
    key = "insufficient_cards"
    rule = turn.game.rule(key, "void")
    seen = "the shoe is empty and a card is due"
    turn.tell("irregularity.raised", {"key": key, "seen": seen, "rule": rule})
    turn.tell("round.void", {"round_id": turn.round.id, "rule": rule, "reason": key})
    wagering.return_all(turn, rule)
    turn.tell("irregularity.resolved", {"key": key, "how": "void", "rule": rule})
    outcome.close_round(turn)


def _end_by_ruling(turn: Turn, ruling: str) -> None:
    data = {"how": ruling, "rule": _rule(turn, ruling)}
    halting.end_halt(turn, data, cards_kept=len(turn.now.kept), **_who(turn))


def _rule(turn: Turn, ruling: str) -> str | None:
    ends = turn.game.irregularities[halting.key_of(turn)]
    found = next((end for end in _END[ruling] if end in ends), None)
    return ends[found] if found is not None else turn.game.rule("other", "ruled")


def _who(turn: Turn) -> dict[str, Any]:
    command = turn.command
    return {"person": command.person, "position": command.position, "why": command.reason}
