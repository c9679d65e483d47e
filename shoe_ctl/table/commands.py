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

from . import arguments, consent, decisions, entered_rounds, positions
from .arguments import (
    ChoiceArgs,
    DeclarationArgs,
    HandName,
    HandToAnyone,
    HandToPlayer,
    NamedPlayer,
    NoArgs,
    shorten,
)
from .irregularities import cutting_card, device_reset, unread_cards
from .irregularities import halts as halt_causes
from .procedures import withdrawal
from .round import hands, methods, outcome, reveal, shoe_holder
from .shoe import card_set, link
from .shoe import commands as shoe_commands
from .situations import AFTER_BETS, BEGUN, BETWEEN, CARDS_OUT, NO_ROUND, OPEN, STATES
from .turn import Check, Objection, Refuse, Turn, check_nothing, refuse
from .wagers import commands as wager_commands

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
    Command("place_your_bets", "dealer", NoArgs, ("idle",), link.check_aligned, MOVES),
    Command("no_more_bets", "dealer", NoArgs, ("betting",), check_nothing, MOVES),
    # Wagers: the ledger says what stands against them, whether it is their time or not.
    Command("place_wager", "dealer", wager_commands.NewStake, ("idle", "betting"),
            wager_commands.check_placing, wager_commands.place,
            reads_itself=True, elsewhere=wager_commands.out_of_time),
    Command("increase_wager", "dealer", wager_commands.NewStake, ("betting",),
            wager_commands.check_increasing, wager_commands.apply_wager,
            reads_itself=True, elsewhere=wager_commands.out_of_time),
    Command("decrease_wager", "dealer", wager_commands.NewStake, ("betting",),
            wager_commands.check_decreasing, wager_commands.apply_wager,
            reads_itself=True, elsewhere=wager_commands.out_of_time),
    Command("withdraw_wager", "dealer", wager_commands.StandingWager, ("betting", "suspended"),
            withdrawal.check_withdrawal, withdrawal.withdraw,
            reads_itself=True, elsewhere=wager_commands.out_of_time),
    Command("clear_bets", "dealer", NoArgs, ("betting",),
            wager_commands.check_clearing, wager_commands.clear_bets),
    Command("restrict_wagers", "pit_manager", wager_commands.AreaRestriction, (*BETWEEN, *OPEN),
            wager_commands.check_restriction, wager_commands.restrict_wagers,
            discretion=wager_commands.rule_of_restricting),
    # Hands and the shoe in Players' hands.
    Command("change_method", "pit_manager", methods.ChosenMethod, BETWEEN,
            methods.check_change, methods.change_method,
            discretion=methods.rule_of_choice, chosen_by=methods.chosen_by,
            lowest_now=methods.lowest_that_chooses),
    Command("pass_cards", "dealer", HandToPlayer, ("revealing",),
            hands.check_pass, hands.pass_cards),
    Command("refuse_cards", "dealer", HandName, ("revealing",),
            hands.check_refusal, hands.refuse_cards),
    Command("name_holder", "pit_supervisor", HandToPlayer, ("revealing",),
            hands.check_name_holder, hands.name_holder, discretion=hands.rule_of_naming),
    Command("allow_squeeze", "pit_manager", HandToAnyone, ("revealing",),
            hands.check_squeeze, hands.allow_squeeze, discretion=hands.rule_of_squeezing),
    Command("set_first_hand", "dealer", HandName, ("revealing",),
            hands.check_first_hand, hands.set_first_hand),
    Command("offer_shoe", "dealer", NamedPlayer, ("idle", *OPEN),
            shoe_holder.check_offer, shoe_holder.offer_shoe),
    Command("relinquish_shoe", "dealer", shoe_holder.ControlEnd, _HALTABLE,
            shoe_holder.check_holder, shoe_holder.relinquish_shoe),
    Command("allow_without_wager", positions.BESIDE, NamedPlayer, ("idle", *OPEN),
            shoe_holder.check_leave, shoe_holder.allow_without_wager),
    Command("declare_out_of_view", "dealer", NoArgs, (*AFTER_BETS, "suspended"),
            shoe_holder.check_holder, shoe_holder.declare_out_of_view),
    # The cards are seen, the round is judged.
    Command("expose", "dealer", reveal.ExposedCards, ("revealing",),
            reveal.check_expose, unread_cards.expose_cards),
    Command("announce_totals", "dealer", NoArgs, ("revealing",),
            reveal.check_totals, reveal.call_totals),
    Command("announce_outcome", "dealer", NoArgs, ("revealing",),
            outcome.check_outcome, outcome.call_outcome, elsewhere=outcome.check_card_due),
    Command("settle", "dealer", NoArgs, ("resolved",), check_nothing, MOVES,
            elsewhere=outcome.check_card_due),
    # The shoe's cards.
    Command("change_shoe", "pit_supervisor", NoArgs, ("idle",), check_nothing, MOVES),
    Command("record_shoe", "dealer", card_set.ShoePreparation, ("idle",),
            card_set.check_record, card_set.record_opening),
    Command("count_remainder", "pit_supervisor", card_set.Remainder, BETWEEN,
            card_set.check_count, card_set.count_remainder),
    Command("declare_cutting_card", "dealer", NoArgs,
            ("closed", "suspended", *BETWEEN, "betting", *CARDS_OUT, "resolved"),
            card_set.check_cutting_card, cutting_card.declare_cutting_card),
    Command("declare_new_shoe", "pit_supervisor", NoArgs, ("shoe_change",),
            link.check_new_shoe, MOVES),
    Command("align", "pit_supervisor", NoArgs, ("idle", *BEGUN, "suspended"),
            link.check_unaligned, halt_causes.align),
    # What halts the table, and what people enter.
    Command("pause", "pit_supervisor", NoArgs, _HALTABLE, decisions.check_pause, decisions.call_pause,
            apart=True),
    Command("resume", "pit_supervisor", NoArgs, ("suspended",),
            decisions.check_resume, decisions.resume, apart=True),
    Command("declare", "dealer", DeclarationArgs, _HALTABLE,
            decisions.check_declare, decisions.declare, reads_itself=True,
            reason=message("refused_declared_without_reason")),
    Command("decide", "dealer", ChoiceArgs, ("suspended", "idle"),
            decisions.check_decide, decisions.decide, reads_itself=True, apart=True,
            lowest_now=decisions.lowest_that_decides),
    Command("enter_round", "pit_supervisor", entered_rounds.EnteredRound, ("suspended",),
            entered_rounds.check_entry, entered_rounds.enter, consent=True,
            reason=message("refused_entry_without_reason")),
    Command("revise_round", "gaming_shift_manager", entered_rounds.Revision,
            ("resolved", *BETWEEN, "betting"),
            entered_rounds.check_revision, entered_rounds.revise, consent=True,
            reason=message("refused_revision_without_reason")),
    # What the shoe is told.
    Command("reset_shoe", "dealer", NoArgs, _TOLD, device_reset.check_reset, device_reset.reset_shoe),
    Command("test_shoe", "pit_supervisor", NoArgs, _TOLD, shoe_commands.check_test, shoe_commands.test_shoe),
    Command("ask_shoe", "dealer", shoe_commands.Question, STATES, shoe_commands.check_question, shoe_commands.query_shoe),
    Command("clear_error", "pit_supervisor", shoe_commands.ErrorClearance, STATES,
            shoe_commands.check_clearing, shoe_commands.clear_error),
    Command("rotate_key", "gaming_shift_manager", shoe_commands.KeyId, NO_ROUND,
            shoe_commands.check_rotation, shoe_commands.rotate_key),
    Command("show_on_shoe", "dealer", shoe_commands.DisplayText, STATES,
            shoe_commands.check_display, shoe_commands.show_text),
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
    if given and command.args is NoArgs:
        named = shorten(next(iter(given)))
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
        args = arguments.read_args(turn, command.args)
        if isinstance(args, Message):
            return command.check(turn, None) or args
    return command.check(turn, args) or _check_form(turn, command)


def _check_form(turn: Turn, command: Command) -> Message | Objection | None:
    """What the command lacks besides: a reason, or the consent of a second person."""
    if command.reason is not None and not turn.command.reason:
        return command.reason
    if command.discretion is not None:
        lacks = arguments.check_reason(turn, command.discretion(turn, turn.args))
        if lacks is not None:
            return lacks
    if not command.consent:
        return None
    lowest = needed(command.name, turn.game, turn.command.args)
    return consent.objection(turn, command.name, lowest)


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
