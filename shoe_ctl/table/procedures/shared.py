"""What is so at the table that decides which way an irregularity may end.

In: the table as it stands. Out: conditions, and objections: why a choice cannot be taken now.
Must not know: which irregularity asks, how it ends.
"""

from __future__ import annotations

from typing import Any

import msgspec

from firmware_proto.events import Hello
from shoe_ctl.texts.message import Message, message

from .. import situations
from ..shoe import card_set, unplaced
from ..shoe import ledger as card_ledger
from ..state import Halt, OpenIrregularity, UnplacedCard, next_slot
from ..turn import TableView, Turn
from .procedure import DECIDES, VOID, Choice, End, Step

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


def close_taken_back(turn: Turn, waits: OpenIrregularity, rule: str | None) -> None:
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
    return device == (link.device_id, link.boot_id) and not card_set.is_another_set(turn)


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
    if card_ledger.has_lost_cards(turn):
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


RULED = ("other", "ruled")
"""Cited where an irregularity's own rules have no end of this kind: whoever decides has ruled."""

PLAY_ON = "play_on"
SET_ASIDE = "set_aside"


# What is done.


def align(turn: Turn) -> None:
    """The ruling says that the shoe stands where the table does."""
    turn.set_link(aligned=True)


def overrule_result(turn: Turn) -> None:
    """Against the shoe's own result the cards on the table stand (6.3)."""
    turn.set_round(result_overruled=True)


def lay_aside(turn: Turn) -> None:
    """The cards stay counted in the ledger and are in no hand."""
    unplaced.drop_cards(turn, own_kept(turn))


# Choices.


def _no_round_wants_them(at: TableView) -> bool:
    return at.now.halt is not None and at.now.halt.back_to not in CARDS_OUT


GO_ON = Choice(PLAY_ON, DECIDES, "stands", (align,), something_is_missing)
LAY_ASIDE = Choice(SET_ASIDE, DECIDES, "aside", unless=cards_are_in_play)
LAY_ASIDE_UNPLAYED = LAY_ASIDE._replace(when=_no_round_wants_them)
"""The same, offered only where no cards of a round were out: there its cards lie in hands."""

CALL_VOID = Choice(VOID, DECIDES, VOID, in_round=True)


# Ends.


def stands(cites: tuple[str, str] = RULED) -> End:
    """Nothing is missing: the table goes on where it was."""
    return End("stands", PLAY_ON, cites)


def aside(cites: tuple[str, str] = RULED) -> End:
    """The cards are laid aside, and the table goes on where it was."""
    return End("aside", SET_ASIDE, cites, do=(lay_aside,))


def void(cites: tuple[str, str] = RULED) -> End:
    """The round is void."""
    return End(VOID, VOID, cites, VOID)


def ruling(prompt: Message) -> Step:
    """The step at which whoever decides rules on everything."""
    return Step("ruling", prompt, (GO_ON, LAY_ASIDE, CALL_VOID))


DOUBLE_DRAW_KEY = "double_draw"
NAMING_STEP = "name"
"""The step for a card in its slot: nobody knows which of the pull it is, until it lies open."""
