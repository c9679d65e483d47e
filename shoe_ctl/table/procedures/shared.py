"""Parts that many irregularities share: conditions, objections, actions, choices and ends.

In: the table as it stands. Out: functions and literals for the modules in ``irregularities/``.
Must not know: which irregularity uses them.

A function named ``check_...`` returns why something cannot be done now, or None.
"""

from __future__ import annotations

from typing import Any

import msgspec

from shoe_ctl.table.procedures.procedure import DECIDES, VOID, Action, Choice, End, Step
from shoe_ctl.table.shoe import card_set, unplaced
from shoe_ctl.table.shoe import ledger as card_ledger
from shoe_ctl.table.situations import CARDS_OUT
from shoe_ctl.table.state import UnplacedCard, next_slot
from shoe_ctl.table.turn import TableView, Turn
from shoe_ctl.texts.message import Message, message

ALIGN_FIRST = message("refused_not_aligned")
"""Why play cannot go on by rule: a person must first say where the shoe stands."""

INSPECTS = "inspects"
"""Key of stored data: the number of the draw that an inspection is about, where the card was held
before the inspection was raised."""

RULED_BY_AUTHORITY = ("other", "ruled")
"""Cited where the rules of an irregularity have no end of this kind: a ruling under 6.1."""

ENTRY_DIFFERS = "entry_differs"
"""The step of ``other`` at which it is decided who read a card correctly: people or the shoe."""

PLAY_ON = "play_on"
SET_ASIDE = "set_aside"


# Conditions


def current_held_cards(view: TableView) -> tuple[UnplacedCard, ...]:
    """Return the held cards that the current irregularity decides on.

    These are the cards drawn since it was raised, and the card that it inspects.
    """
    deciding = view.halt.current_group
    since = deciding[0].number
    inspected = {opened.data.get(INSPECTS) for opened in deciding} - {None}
    return tuple(
        card for card in view.now.held if card.came_after >= since or card.number in inspected
    )


def is_halted_with_cards_out(view: TableView) -> bool:
    """Return True if the table was halted with cards of an unfinished round on it."""
    return view.now.halt is not None and view.resume_state in CARDS_OUT


def _is_outside_round(view: TableView) -> bool:
    return view.now.halt is not None and not is_halted_with_cards_out(view)


# Objections


def check_no_unplaced_cards(turn: Turn, _args: object = None) -> Message | None:
    """Return an objection if cards were drawn that have no place in the round."""
    return message("refused_cards_without_place") if current_held_cards(turn) else None


def check_can_resume(turn: Turn, _args: object = None) -> Message | None:
    """Return why the table cannot go on where it was left."""
    if (objection := check_no_unplaced_cards(turn)) is not None:
        return objection
    return check_shoe_can_continue(turn)


def check_shoe_can_continue(turn: Turn) -> Message | None:
    """Return why the shoe cannot give the round its next card.

    It is away, holds other cards, or drew cards that were never reported.
    """
    now, back_to = turn.now, turn.resume_state
    if now.round is not None and now.round.shoe_sorted:
        return None  # it gets no card from the shoe any more
    if now.pending_set is not None and now.round is not None and back_to != "resolved":
        return message("refused_another_set")
    if back_to not in CARDS_OUT:
        return None
    if card_ledger.has_lost_cards(turn):
        return message("refused_cards_are_missing")
    if not now.link.up and (next_slot(now) is not None or not turn.round.all_revealed):
        return message("refused_link_down")
    return None


def check_shoe_ready(turn: Turn, _args: object = None) -> Message | None:
    """Return why the round cannot go on by rule, without anyone's ruling."""
    now = turn.now
    if (objection := check_can_resume(turn)) is not None:
        return objection
    if now.link.aligned or (next_slot(now) is None and turn.round.all_revealed):
        return None
    return ALIGN_FIRST


def check_has_held_cards(turn: Turn, _args: object = None) -> Message | None:
    """Return an objection if no card was drawn that could be set aside."""
    return None if current_held_cards(turn) else message("refused_nothing_to_set_aside")


def check_can_set_aside(turn: Turn, _args: object = None) -> Message | None:
    """Return why the held cards cannot be set aside: there are none, or the round may need them."""
    if (objection := check_has_held_cards(turn)) is not None:
        return objection
    return message("refused_round_wants_cards") if is_halted_with_cards_out(turn) else None


# Actions


def update_current(turn: Turn, **fields: Any) -> None:
    """Replace fields of the irregularity that is decided now."""
    halt = turn.halt
    top = msgspec.structs.replace(halt.current, **fields)
    turn.change(halt=msgspec.structs.replace(halt, stack=(*halt.stack[:-1], top)))


def update_data(turn: Turn, **noted: Any) -> None:
    """Store data with the irregularity that is decided now (plain JSON values)."""
    update_current(turn, data={**turn.current.data, **noted})


def align(turn: Turn) -> None:
    """Treat the shoe as aligned: the ruling says that it stands where the table does."""
    turn.set_link(aligned=True)


def set_cards_aside(turn: Turn) -> None:
    """Set the held cards aside. The ledger still counts them; they are in no hand."""
    unplaced.set_aside(turn, current_held_cards(turn))


def require_new_cards(key: str) -> Action:
    """Return the action that has the cards replaced before the next round, by this key's rule."""

    def require(turn: Turn) -> None:
        card_set.replace_before_next(turn, turn.game.rule(key, "shoe_replaced"))

    return require


def emit_cards_moved(turn: Turn, step: str, places: list[str]) -> None:
    """Emit which places cards were moved to or from, never which cards."""
    data = {"key": turn.current.key, "step": step, "moved": places}
    turn.emit("irregularity.step", data, instance=turn.current.instance)


# Choices

GO_ON = Choice(PLAY_ON, DECIDES, "stands", (align,), check_can_resume)
"""Play goes on where it was left, by ruling."""

LAY_ASIDE = Choice(SET_ASIDE, DECIDES, "aside", check=check_can_set_aside)
"""The cards that came are set aside, by ruling."""

LAY_ASIDE_UNPLAYED = LAY_ASIDE._replace(offered_if=_is_outside_round)
"""Set the cards aside, offered only where no round was in play. In a round they lie in hands."""

CALL_VOID = Choice(VOID, DECIDES, VOID, in_round=True)
"""The round is void, by ruling."""


# Steps and ends


def ruling_step(prompt: Message) -> Step:
    """Return the step at which whoever decides rules on everything."""
    return Step("ruling", prompt, (GO_ON, LAY_ASIDE, CALL_VOID))


def end_play_on(cites: tuple[str, str] = RULED_BY_AUTHORITY) -> End:
    """Return the end after which the table goes on where it was left."""
    return End("stands", PLAY_ON, cites)


def end_set_aside(cites: tuple[str, str] = RULED_BY_AUTHORITY) -> End:
    """Return the end that sets the held cards aside; the table goes on where it was left."""
    return End("aside", SET_ASIDE, cites, actions=(set_cards_aside,))


def end_void(cites: tuple[str, str] = RULED_BY_AUTHORITY) -> End:
    """Return the end that makes the round void."""
    return End(VOID, VOID, cites, VOID)
