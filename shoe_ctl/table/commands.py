"""Every command of the table, one entry each: who may give it, with what, when, what it does.

In: a command. Out: what stands against it, its rows for the machine, what a page says of it.
Must not know: how a command came in, how an action is done, how an offer is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import msgspec

from shoe_ctl.games.game import Game
from shoe_ctl.texts.message import Message, message

from . import (
    arguments,
    by_hand,
    composition,
    cutting,
    deciding,
    halting,
    link_facts,
    method_change,
    outcome,
    passing,
    positions,
    revealing,
    review,
    revising,
    second_person,
    shoe_cards,
    shoe_control,
    telling,
    unread,
    wagering,
)
from .arguments import Args, HandName, HandToAnyone, HandToPlayer, NamedPlayer, OfChoice, OfKey
from .irregularities import withdrawal
from .rows import Check, Objection, Refuse, check_nothing, refuse
from .situations import AFTER_BETS, BEGUN, BETWEEN, CARDS_OUT, NO_ROUND, OPEN, STATES
from .turn import Turn
from .wording import in_line

Action = Callable[[Turn], None]

MOVES: None = None
"""Instead of an action: the command moves the table, and its line in ``ROUND`` says where to."""


class Command(NamedTuple):
    """A command: who may give it, with which arguments, in which states, and what it does."""

    name: str

    position: str
    """The lowest position that may give it (6.2)."""

    args: type[msgspec.Struct]
    """Its arguments; ``Args`` itself: it says all by its name."""

    states: tuple[str, ...]
    """The states that take it, if nothing stands against it."""

    check: Check
    """What stands against it in these states, with the arguments; with None: whatever they are."""

    do: Action | None
    """What it does in these states, or MOVES."""

    reason: Message | None = None
    """Where a reason must be given: the refusal if there is none."""

    discretion: Callable[[Turn, Any], str | None] | None = None
    """The rule that leaves it to somebody's discretion: some games want a reason for that."""

    consent: bool = False
    """A second person must consent."""

    apart: bool = False
    """The position apart may give it too; of what is decided each choice says its own."""

    reads_itself: bool = False
    """What it takes depends on what is named: its check reads what is given."""

    elsewhere: Callable[[Turn], Message | Objection | None] | None = None
    """What is said in a state that does not take it, if that is more than the state's name."""

    chosen_by: Callable[[Game, Mapping[str, Any]], str | None] | None = None
    """The lowest position for what is given, where the game says it."""

    lowest_now: Callable[[Turn], str] | None = None
    """The lowest position that may give it as the table stands, where it depends on that."""

    def needs_reason(self, game: Game) -> bool:
        """Whether a reason must be given in this game."""
        at_discretion = self.discretion is not None and game.options.reason_for_discretion
        return self.reason is not None or at_discretion


_TOLD = (*NO_ROUND, "betting", "resolved", "suspended")
_HALTABLE = (*BETWEEN, *OPEN, "suspended")

# fmt: off
_TABLE = (
    # name, lowest position, arguments, states, check, action

    # The round.
    Command("place_your_bets", "dealer", Args, ("idle",), link_facts.check_aligned, MOVES),
    Command("no_more_bets", "dealer", Args, ("betting",), check_nothing, MOVES),
    # Wagers: the ledger says what stands against them, whether it is their time or not.
    Command("place_wager", "dealer", wagering.NewStake, ("idle", "betting"),
            wagering.check_placing, wagering.place,
            reads_itself=True, elsewhere=wagering.out_of_time),
    Command("increase_wager", "dealer", wagering.NewStake, ("betting",),
            wagering.check_increasing, wagering.change_wager,
            reads_itself=True, elsewhere=wagering.out_of_time),
    Command("decrease_wager", "dealer", wagering.NewStake, ("betting",),
            wagering.check_decreasing, wagering.change_wager,
            reads_itself=True, elsewhere=wagering.out_of_time),
    Command("withdraw_wager", "dealer", wagering.StandingWager, ("betting", "suspended"),
            withdrawal.check_withdrawal, withdrawal.withdraw,
            reads_itself=True, elsewhere=wagering.out_of_time),
    Command("clear_bets", "dealer", Args, ("betting",),
            wagering.check_clearing, wagering.clear_bets),
    Command("restrict_wagers", "pit_manager", wagering.AreaRestriction, (*BETWEEN, *OPEN),
            wagering.check_restriction, wagering.restrict,
            discretion=wagering.rule_of_restricting),
    # Hands and the shoe in Players' hands.
    Command("change_method", "pit_manager", method_change.ChosenMethod, BETWEEN,
            method_change.check_change, method_change.change_method,
            discretion=method_change.rule_of_choice, chosen_by=method_change.chosen_by,
            lowest_now=method_change.lowest_that_chooses),
    Command("pass_cards", "dealer", HandToPlayer, ("revealing",),
            passing.check_pass, passing.pass_cards),
    Command("refuse_cards", "dealer", HandName, ("revealing",),
            passing.check_refusal, passing.refuse_cards),
    Command("name_holder", "pit_supervisor", HandToPlayer, ("revealing",),
            passing.check_name, passing.name_holder, discretion=passing.rule_of_naming),
    Command("allow_squeeze", "pit_manager", HandToAnyone, ("revealing",),
            passing.check_squeeze, passing.allow_squeeze, discretion=passing.rule_of_squeezing),
    Command("set_first_hand", "dealer", HandName, ("revealing",),
            passing.check_first_hand, passing.set_first_hand),
    Command("offer_shoe", "dealer", NamedPlayer, ("idle", *OPEN),
            shoe_control.check_offer, shoe_control.offer),
    Command("relinquish_shoe", "dealer", shoe_control.ControlEnd, _HALTABLE,
            shoe_control.check_holder, shoe_control.relinquish),
    Command("allow_without_wager", positions.BESIDE, NamedPlayer, ("idle", *OPEN),
            shoe_control.check_leave, shoe_control.allow),
    Command("declare_out_of_view", "dealer", Args, (*AFTER_BETS, "suspended"),
            shoe_control.check_holder, shoe_control.declare_out_of_view),
    # The cards are seen, the round is judged.
    Command("expose", "dealer", revealing.ExposedCards, ("revealing",),
            revealing.check_exposing, unread.expose_cards),
    Command("announce_totals", "dealer", Args, ("revealing",),
            revealing.check_totals, revealing.call_totals),
    Command("announce_outcome", "dealer", Args, ("revealing",),
            outcome.check_outcome, outcome.call_outcome, elsewhere=outcome.card_is_due),
    Command("settle", "dealer", Args, ("resolved",), check_nothing, MOVES,
            elsewhere=outcome.card_is_due),
    # The shoe's cards.
    Command("change_shoe", "pit_supervisor", Args, ("idle",), check_nothing, MOVES),
    Command("record_shoe", "dealer", composition.ShoePreparation, ("idle",),
            composition.check_record, composition.record),
    Command("count_remainder", "pit_supervisor", composition.Remainder, BETWEEN,
            composition.check_count, composition.count),
    Command("declare_cutting_card", "dealer", Args,
            ("closed", "suspended", *BETWEEN, "betting", *CARDS_OUT, "resolved"),
            shoe_cards.check_cutting_card, cutting.declare),
    Command("declare_new_shoe", "pit_supervisor", Args, ("shoe_change",),
            link_facts.check_new_shoe, MOVES),
    Command("align", "pit_supervisor", Args, ("idle", *BEGUN, "suspended"),
            link_facts.check_unaligned, halting.align),
    # What halts the table, and what people enter.
    Command("pause", "pit_supervisor", Args, _HALTABLE, review.check_pause, review.call_pause,
            apart=True),
    Command("resume", "pit_supervisor", Args, ("suspended",),
            review.check_resume, review.resume, apart=True),
    Command("declare", "dealer", OfKey, _HALTABLE,
            deciding.check_declare, deciding.declare, reads_itself=True,
            reason=message("refused_declared_without_reason")),
    Command("decide", "dealer", OfChoice, ("suspended", "idle"),
            deciding.check_decide, deciding.decide, reads_itself=True, apart=True,
            lowest_now=deciding.lowest_that_decides),
    Command("enter_round", "pit_supervisor", by_hand.EnteredRound, ("suspended",),
            by_hand.check_entry, by_hand.enter, consent=True,
            reason=message("refused_entry_without_reason")),
    Command("revise_round", "gaming_shift_manager", revising.Revision,
            ("resolved", *BETWEEN, "betting"),
            revising.check_revision, revising.revise, consent=True,
            reason=message("refused_revision_without_reason")),
    # What the shoe is told.
    Command("reset_shoe", "dealer", Args, _TOLD, telling.check_reset, telling.reset),
    Command("test_shoe", "pit_supervisor", Args, _TOLD, telling.check_test, telling.test),
    Command("ask_shoe", "dealer", telling.Question, STATES, telling.check_question, telling.ask),
    Command("clear_error", "pit_supervisor", telling.ErrorClearance, STATES,
            telling.check_clearing, telling.clear),
    Command("rotate_key", "gaming_shift_manager", telling.KeyId, NO_ROUND,
            telling.check_rotation, telling.rotate),
    Command("show_on_shoe", "dealer", telling.DisplayText, STATES,
            telling.check_display, telling.show),
)
# fmt: on

COMMANDS: Mapping[str, Command] = {command.name: command for command in _TABLE}
"""By name."""


def needed(name: str, game: Game, given: Mapping[str, Any] | None = None) -> str:
    """The lowest position for this command with these arguments.

    The game says who chooses each method; a choice or a key may want a higher position.
    """
    command = COMMANDS[name]
    chosen_by = None
    if command.chosen_by is not None and given is not None:
        chosen_by = command.chosen_by(game, given)
    return chosen_by or command.position


def may_give(position: str, name: str, lowest: str, *, highest: str | None = None) -> bool:
    """Whether this command may come from this position at all; a choice asks again for its own."""
    if position == positions.APART and COMMANDS[name].apart:
        return True
    return positions.may(position, lowest, highest=highest)


def refuse_unfit(turn: Turn) -> bool:
    """Refuse the command if something stands against it in a state that takes it.

    Its arguments are read once, and kept with the turn.
    """
    given = turn.command.args
    command = COMMANDS[turn.command.command]
    if turn.state not in command.states:
        return False  # its row refuses it
    if given and command.args is Args:
        named = in_line(next(iter(given)))
        takes_none = message(
            "refused_command_takes_no_arguments", command=command.name, argument=named
        )
        turn.refuse(takes_none)
        return True
    objection = _check(turn, command)
    if objection is not None:
        refuse(turn, objection)
    return objection is not None


def _check(turn: Turn, command: Command) -> Message | Objection | None:
    """What stands against the command of this turn; the first of it is what it cannot be now."""
    args: Any = turn.command.args
    if not command.reads_itself:
        args = arguments.read(turn, command.args)
        if isinstance(args, Message):
            return command.check(turn, None) or args
    return command.check(turn, args) or _check_form(turn, command)


def _check_form(turn: Turn, command: Command) -> Message | Objection | None:
    """What the command lacks besides: a reason, or the consent of a second person."""
    if command.reason is not None and not turn.command.reason:
        return command.reason
    if command.discretion is not None:
        lacks = arguments.lacks_reason(turn, command.discretion(turn, turn.args))
        if lacks is not None:
            return lacks
    if not command.consent:
        return None
    lowest = needed(command.name, turn.game, turn.command.args)
    return second_person.objection(turn, command.name, lowest)


class CommandRow(NamedTuple):
    """In this state the command does this, or is refused; the table stays in the state."""

    state: str
    name: str
    do: Action


def command_rows() -> tuple[CommandRow, ...]:
    """A row for each command in each state.

    Not for those that move the table, in the states that take them: the round's lines say that.
    """
    return tuple(
        CommandRow(state, command.name, action)
        for command in _TABLE
        for state in STATES
        if (action := _action(command, state)) is not None
    )


def _action(command: Command, state: str) -> Action | None:
    return command.do if state in command.states else Refuse(command.states, command.elsewhere)
