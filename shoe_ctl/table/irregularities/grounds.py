"""What is so at the table that decides which way an irregularity may end.

In: the table as it stands. Out: conditions, and objections: why a choice cannot be taken now.
Must not know: which irregularity asks, how it ends.
"""

from __future__ import annotations

from typing import Any

import msgspec

from firmware_proto.events import Hello
from shoe_ctl.table import shoe_cards, shoe_sets, situations
from shoe_ctl.table.slots import next_slot
from shoe_ctl.table.state import Halt, Opened, UnplacedCard
from shoe_ctl.table.turn import TableView, Turn
from shoe_ctl.texts.message import Message, message

CARDS_OUT = situations.CARDS_OUT
TO_THE_OUTCOME = situations.TO_THE_OUTCOME

ALIGN_FIRST = message("refused_not_aligned")
"""Against what goes on by rule, until a person says where the shoe stands."""

INSPECTS = "inspects"
"""Noted by an inspection of a card that was kept before it was raised: the number of its draw."""


def halt_of(at: TableView) -> Halt:
    """The halt: something is open."""
    return at.halt


def set_top(turn: Turn, **fields: Any) -> None:
    """Replace fields of the irregularity that is decided now."""
    halt = turn.halt
    top = msgspec.structs.replace(halt.top, **fields)
    turn.change(halt=msgspec.structs.replace(halt, stack=(*halt.stack[:-1], top)))


def note(turn: Turn, **noted: Any) -> None:
    """Let the one on top remember this (plain JSON values)."""
    set_top(turn, noted={**turn.current.noted, **noted})


def tell_moved(turn: Turn, step: str, places: list[str]) -> None:
    """Cards lie elsewhere now, by what a person says: where, and never which."""
    data = {"key": turn.current.key, "step": step, "moved": places}
    turn.tell("irregularity.step", data, restricted={**data, **turn.actor()})


def close_taken_back(turn: Turn, waits: Opened, rule: str | None) -> None:
    """What waited for a card beside the round waits for nothing: it does not lie there."""
    turn.change(waiting=tuple(opened for opened in turn.now.waiting if opened is not waits))
    data = {"how": "taken_back", "rule": rule}
    turn.emit_irregularity("irregularity.resolved", waits.key, data)


def own_kept(at: TableView) -> tuple[UnplacedCard, ...]:
    """The cards drawn since the irregularity decided now was raised, and the one it inspects."""
    deciding = at.halt.deciding
    since = deciding[0].number
    inspected = {opened.noted.get(INSPECTS) for opened in deciding} - {None}
    return tuple(
        card for card in at.now.held if card.came_after >= since or card.number in inspected
    )


def cards_were_out(turn: Turn) -> bool:
    """The table was halted with cards of an unfinished round on it."""
    return turn.now.halt is not None and turn.now.halt.back_to in CARDS_OUT


def bets_were_closed(turn: Turn) -> bool:
    """The table was halted between *no more bets* and the outcome, with cards out or not."""
    return turn.now.halt is not None and turn.now.halt.back_to in TO_THE_OUTCOME


def same_shoe_is_back(turn: Turn) -> bool:
    """The same device, not rebooted, has the same set, replays all, and no card came meanwhile."""
    event, link = turn.shoe_event, turn.now.link
    if not isinstance(event, Hello) or not event.resumed or own_kept(turn):
        return False
    if turn.now.shoe is not None and any(n > event.drawn for n in turn.now.shoe.entered):
        return False  # people entered what it never drew
    device = (event.device_id, event.boot_id)
    return device == (link.device_id, link.boot_id) and not shoe_sets.another_set(turn)


def cards_have_no_place(turn: Turn, _args: object = None) -> Message | None:
    """Cards were drawn that the round has no place for."""
    return message("refused_cards_without_place") if own_kept(turn) else None


def something_is_missing(turn: Turn, _args: object = None) -> Message | None:
    """What keeps the table from going on where it was."""
    if (misplaced := cards_have_no_place(turn)) is not None:
        return misplaced
    return shoe_cannot_go_on(turn)


def shoe_cannot_go_on(turn: Turn) -> Message | None:
    """The shoe is away, holds other cards, or gave some that nobody heard of."""
    now, back_to = turn.now, turn.resume_state
    if now.round is not None and now.round.shoe_sorted:
        return None  # it gets no card from the shoe any more
    if now.loaded is not None and now.round is not None and back_to != "resolved":
        return message("refused_another_set")
    if back_to not in CARDS_OUT:
        return None
    if shoe_cards.cards_are_lost(turn):
        return message("refused_cards_are_missing")
    if not now.link.up and (next_slot(now) is not None or not turn.round.all_revealed):
        return message("refused_link_down")
    return None


def shoe_is_not_ready(turn: Turn, _args: object = None) -> Message | None:
    """What keeps the round from going on by rule, without anyone's ruling."""
    now = turn.now
    if (missing := something_is_missing(turn)) is not None:
        return missing
    if now.link.aligned or (next_slot(now) is None and turn.round.all_revealed):
        return None
    return ALIGN_FIRST


def first_card_is_not_out(turn: Turn, _args: object = None) -> Message | None:
    """No card of a round was dealt: the rule for what is found later does not hold."""
    played = turn.now.round
    if played is None or not played.cards:
        return message("refused_no_card_before_it")
    return something_is_missing(turn)


def no_card_to_set_aside(turn: Turn, _args: object = None) -> Message | None:
    """No card was drawn that could be laid aside."""
    return None if own_kept(turn) else message("refused_nothing_to_set_aside")


def cards_are_in_play(turn: Turn, _args: object = None) -> Message | None:
    """Cards cannot be laid aside: there are none, or the round may want them."""
    if (none := no_card_to_set_aside(turn)) is not None:
        return none
    return message("refused_round_wants_cards") if cards_were_out(turn) else None
