"""Commands: one entry each says who may give it, with which arguments, when, and what it does.

In: a command. Out: what stands against it, its lines for the state machine, its offer.
Must not know: how a command came in, how an action is done, how an offer is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Literal, NamedTuple

import msgspec

from shoe_ctl.games.game import Game
from shoe_ctl.table import (
    arguments,
    consent,
    corrections,
    decisions,
    entered_rounds,
    positions,
    retractions,
)
from shoe_ctl.table.arguments import (
    ChoiceArgs,
    DeclarationArgs,
    HandName,
    HandToAnyone,
    HandToPlayer,
    NamedPlayer,
    NoArgs,
    Possible,
    shorten,
)
from shoe_ctl.table.irregularities import cutting_card, device_reset, unread_cards
from shoe_ctl.table.irregularities import halts as halt_causes
from shoe_ctl.table.procedures import withdrawal
from shoe_ctl.table.round import hands, methods, outcome, reveal, shoe_holder
from shoe_ctl.table.shoe import card_set, link, outbox
from shoe_ctl.table.situations import AFTER_BETS, BEGUN, BETWEEN, CARDS_OUT, NO_ROUND, OPEN, STATES
from shoe_ctl.table.turn import Check, Objection, Refuse, Turn, check_nothing, refuse
from shoe_ctl.table.wagers import betting
from shoe_ctl.texts.message import Message, message

Action = Callable[[Turn], None]

Use = Literal["round", "shoe", "irregular", "rare"]
"""The purpose of a command: dealing and wagers, the shoe and its cards, what is out of the
ordinary, and what hardly anybody needs in an evening."""

MOVES: None = None
"""Instead of an action: the command moves the table, and its line in ``ROUND`` says where to."""


class Command(NamedTuple):
    """A command of the table."""

    name: str
    """Its name for people and scripts."""

    position: str
    """The lowest position that may give it (6.2)."""

    args: type[msgspec.Struct]
    """The type of its arguments; ``NoArgs`` if it takes none."""

    states: tuple[str, ...]
    """The states that take it, if nothing stands against it."""

    check: Check
    """Finds what stands against it in these states. It is given the arguments, or None: then it
    finds what stands against the command whatever its arguments are."""

    do: Action | None
    """Its action in these states, or MOVES."""

    reason: Message | None = None
    """The refusal if no reason is given; None where the command needs none."""

    discretion: Callable[[Turn, Any], str | None] | None = None
    """Returns the rule that leaves the command to somebody's discretion. Some games require a
    reason for that."""

    consent: bool = False
    """True if a second person must consent."""

    apart: bool = False
    """True if the position APART may give it too. *decide* checks each choice again."""

    reads_itself: bool = False
    """True if the type of the arguments depends on what they name: then ``check`` reads them."""

    elsewhere: Callable[[Turn], Message | Objection | None] | None = None
    """Finds the refusal in a state that does not take it, where there is more to say than that."""

    use: Use = "round"
    """The part of the work that it belongs to."""

    possible: Callable[[Turn], Possible] | None = None
    """Returns what its arguments can be as the table stands, as far as everyone may know: no
    Player's id, and nothing that depends on a card that is not revealed."""

    chosen_by: Callable[[Game, Mapping[str, Any]], str | None] | None = None
    """Returns the lowest position for these arguments, where the game names one."""

    lowest_now: Callable[[Turn], str] | None = None
    """Returns the lowest position as the table stands, where it depends on that."""

    def needs_reason(self, game: Game) -> bool:
        """Return True if a reason must be given in this game."""
        at_discretion = self.discretion is not None and game.options.reason_for_discretion
        return self.reason is not None or at_discretion


_NO_CARD_DUE = (*NO_ROUND, "betting", "resolved", "suspended")
"""The states in which the shoe is not expected to give a card."""

_HALTABLE = (*BETWEEN, *OPEN, "suspended")
"""The states in which somebody may halt the table: all in which a shoe is known."""

# fmt: off
_TABLE = (
    # name, lowest position, arguments, states, check, action

    # The round.
    Command("place_your_bets", "dealer", NoArgs, ("idle",), link.check_aligned, MOVES),
    Command("no_more_bets", "dealer", NoArgs, ("betting",), check_nothing, MOVES),
    # Wagers. The ledger of wagers says what stands against them, in other states too.
    Command("place_wager", "dealer", betting.NewStake, ("idle", "betting"),
            betting.check_placing, betting.place,
            reads_itself=True, elsewhere=betting.check_out_of_time,
            possible=betting.stakes_to_place),
    Command("increase_wager", "dealer", betting.NewStake, ("betting",),
            partial(betting.check_change, "increase_wager"), betting.apply_wager,
            reads_itself=True, elsewhere=betting.check_out_of_time,
            possible=betting.standing_wagers),
    Command("decrease_wager", "dealer", betting.NewStake, ("betting",),
            partial(betting.check_change, "decrease_wager"), betting.apply_wager,
            reads_itself=True, elsewhere=betting.check_out_of_time,
            possible=betting.standing_wagers),
    Command("withdraw_wager", "dealer", betting.StandingWager, ("betting", "suspended"),
            withdrawal.check_withdrawal, withdrawal.withdraw,
            reads_itself=True, elsewhere=betting.check_out_of_time,
            possible=betting.standing_wagers),
    Command("clear_bets", "dealer", NoArgs, ("betting",),
            betting.check_clearing, betting.clear_bets),
    Command("restrict_wagers", "pit_manager", betting.AreaRestriction, (*BETWEEN, *OPEN),
            betting.check_restriction, betting.restrict_wagers,
            discretion=betting.restriction_rule, use="rare", possible=betting.restrictions),
    # Hands, and the shoe, in Players' hands.
    Command("change_method", "pit_manager", methods.ChosenMethod, BETWEEN,
            methods.check_change, methods.change_method,
            discretion=methods.rule_of_choice, chosen_by=methods.chosen_by,
            lowest_now=methods.lowest_that_chooses,
            use="rare", possible=methods.methods_to_change_to),
    Command("pass_cards", "dealer", HandToPlayer, ("revealing",),
            hands.check_pass, hands.pass_cards, possible=hands.hands_to_pass),
    Command("refuse_cards", "dealer", HandName, ("revealing",),
            hands.check_refusal, hands.refuse_cards, possible=hands.hands_to_refuse),
    Command("name_holder", "pit_supervisor", HandToPlayer, ("revealing",),
            hands.check_name_holder, hands.name_holder, discretion=hands.rule_of_naming,
            possible=hands.hands_to_name_holder_of),
    Command("allow_squeeze", "pit_manager", HandToAnyone, ("revealing",),
            hands.check_squeeze, hands.allow_squeeze, discretion=hands.rule_of_squeezing,
            use="rare", possible=hands.hands_face_down),
    Command("set_first_hand", "dealer", HandName, ("revealing",),
            hands.check_first_hand, hands.set_first_hand, possible=hands.hands_face_down),
    Command("offer_shoe", "dealer", NamedPlayer, ("idle", *OPEN),
            shoe_holder.check_offer, shoe_holder.offer_shoe),
    Command("relinquish_shoe", "dealer", shoe_holder.ControlEnd, _HALTABLE,
            shoe_holder.check_holder, shoe_holder.relinquish_shoe),
    Command("allow_without_wager", positions.BESIDE, NamedPlayer, ("idle", *OPEN),
            shoe_holder.check_leave, shoe_holder.allow_without_wager, use="rare"),
    Command("declare_out_of_view", "dealer", NoArgs, (*AFTER_BETS, "suspended"),
            shoe_holder.check_holder, shoe_holder.declare_out_of_view, use="irregular"),
    # The cards are exposed and the outcome is announced.
    Command("expose", "dealer", reveal.ExposedCards, ("revealing",),
            reveal.check_expose, unread_cards.expose_cards,
            possible=reveal.cards_that_can_be_exposed),
    Command("announce_totals", "dealer", NoArgs, ("revealing",),
            reveal.check_totals, reveal.call_totals),
    Command("announce_outcome", "dealer", NoArgs, ("revealing",),
            outcome.check_outcome, outcome.call_outcome, elsewhere=outcome.check_card_due),
    Command("settle", "dealer", NoArgs, ("resolved",), check_nothing, MOVES,
            elsewhere=outcome.check_card_due),
    # The shoe's cards.
    Command("change_shoe", "pit_supervisor", NoArgs, ("idle",), check_nothing, MOVES, use="shoe"),
    Command("record_shoe", "dealer", card_set.ShoePreparation, ("idle",),
            card_set.check_record, card_set.record_opening, use="shoe"),
    Command("count_remainder", "pit_supervisor", card_set.Remainder, BETWEEN,
            card_set.check_count, card_set.count_remainder, use="shoe"),
    Command("declare_cutting_card", "dealer", NoArgs,
            ("closed", "suspended", *BETWEEN, "betting", *CARDS_OUT, "resolved"),
            card_set.check_cutting_card, cutting_card.declare_cutting_card, use="shoe"),
    Command("declare_new_shoe", "pit_supervisor", NoArgs, ("shoe_change",),
            link.check_new_shoe, MOVES, use="shoe"),
    Command("align", "pit_supervisor", NoArgs, ("idle", *BEGUN, "suspended"),
            link.check_unaligned, halt_causes.align, use="shoe"),
    # What halts the table, and what people enter.
    Command("pause", "pit_supervisor", NoArgs, _HALTABLE,
            decisions.check_pause, decisions.call_pause, apart=True, use="irregular"),
    Command("resume", "pit_supervisor", NoArgs, ("suspended",),
            decisions.check_resume, decisions.resume, apart=True, use="irregular"),
    Command("declare", "dealer", DeclarationArgs, _HALTABLE,
            decisions.check_declare, decisions.declare, reads_itself=True,
            reason=message("refused_declared_without_reason"), use="irregular"),
    Command("retract", "dealer", retractions.Retraction, _HALTABLE,
            retractions.check_retraction, retractions.retract, consent=True,
            reason=message("refused_retraction_without_reason"),
            lowest_now=retractions.lowest_that_retracts,
            use="irregular", possible=retractions.declarations_to_retract),
    Command("decide", "dealer", ChoiceArgs, ("suspended", "idle"),
            decisions.check_decide, decisions.decide, reads_itself=True, apart=True,
            lowest_now=decisions.lowest_that_decides, use="irregular"),
    Command("correct_card", "gaming_shift_manager", corrections.CorrectedCard,
            (*CARDS_OUT, "resolved", "suspended"),
            corrections.check_correction, MOVES, consent=True,
            reason=message("refused_correction_without_reason"),
            elsewhere=corrections.check_not_settled,
            use="irregular", possible=corrections.open_cards),
    Command("enter_round", "pit_supervisor", entered_rounds.EnteredRound, ("suspended",),
            entered_rounds.check_entry, entered_rounds.enter, consent=True,
            reason=message("refused_entry_without_reason"), use="irregular"),
    Command("revise_round", "gaming_shift_manager", entered_rounds.Revision,
            ("resolved", *BETWEEN, "betting"),
            entered_rounds.check_revision, entered_rounds.revise, consent=True,
            reason=message("refused_revision_without_reason"), use="irregular"),
    # Commands to the shoe.
    Command("reset_shoe", "dealer", NoArgs, _NO_CARD_DUE,
            device_reset.check_reset, device_reset.reset_shoe, use="rare"),
    Command("test_shoe", "pit_supervisor", NoArgs, _NO_CARD_DUE,
            outbox.check_sending("self_test"), outbox.test_shoe, use="rare"),
    Command("ask_shoe", "dealer", outbox.Question, STATES,
            outbox.check_question, outbox.query_shoe, use="rare", possible=outbox.questions),
    Command("clear_error", "pit_supervisor", outbox.ErrorClearance, STATES,
            outbox.check_sending("clear_error"), outbox.clear_error, use="rare"),
    Command("rotate_key", "gaming_shift_manager", outbox.KeyId, NO_ROUND,
            outbox.check_rotation, outbox.rotate_key, use="rare"),
    Command("show_on_shoe", "dealer", outbox.DisplayText, STATES,
            outbox.check_sending("show"), outbox.show_text, use="rare"),
)
# fmt: on

COMMANDS: Mapping[str, Command] = {command.name: command for command in _TABLE}
"""Name → the command."""


def lowest_position(name: str, game: Game, given: Mapping[str, Any] | None = None) -> str:
    """Return the lowest position that may give this command with these arguments.

    Who may choose a method depends on the game and the method. What *decide* and *declare* need
    besides, for one choice or key, is checked by themselves.
    """
    command = COMMANDS[name]
    chosen_by = None
    if command.chosen_by is not None and given is not None:
        chosen_by = command.chosen_by(game, given)
    return chosen_by or command.position


def can_give(position: str, name: str, lowest: str, *, highest: str | None = None) -> bool:
    """Return True if this position may give the command at all; ``lowest`` is its lowest one.

    ``highest`` is as in ``positions.is_sufficient``.
    """
    if position == positions.APART and COMMANDS[name].apart:
        return True
    return positions.is_sufficient(position, lowest, highest=highest)


def takes_in(state: str, name: str) -> bool:
    """Return True if this state takes the command, if nothing stands against it."""
    return state in COMMANDS[name].states


def refuse_position(turn: Turn, needed: str) -> None:
    """Refuse a command from too low a position, which ``needed`` could give.

    What stands against it whoever gives it is said first: nobody is called in vain.
    """
    command = COMMANDS[turn.command.command]
    elsewhere = turn.state not in command.states
    found = _check_elsewhere(turn, command) if elsewhere else command.check(turn, None)
    why = found.why if isinstance(found, Objection) else found
    if (elsewhere and why is None) or _is_out_of_state(found):
        Refuse(command.states)(turn)
    elif why is not None:  # what the ledger records of a late wager is not for this position
        turn.refuse(why, **(found.needs if isinstance(found, Objection) else {}))
    else:
        turn.refuse(message("refused_position_too_low", what=command.name, position=needed))
    assert turn.refusal is not None
    needs = {**turn.refusal.needs, "position": needed}
    turn.refusal = msgspec.structs.replace(turn.refusal, needs=needs)


def _check_elsewhere(turn: Turn, command: Command) -> Message | None:
    """Return a better reason than the state's name, where a state does not take the command."""
    found = None if command.elsewhere is None else command.elsewhere(turn)
    return None if isinstance(found, Objection) else found  # an objection is the ledger's


def _is_out_of_state(found: Message | Objection | None) -> bool:
    return isinstance(found, Objection) and isinstance(found.tell, Refuse)


def refuse_by_check(turn: Turn) -> bool:
    """Refuse the command if something stands against it in a state that takes it.

    Return True if it was refused. Its arguments are read once and kept in ``turn.args``.
    """
    given = turn.command.args
    command = COMMANDS[turn.command.command]
    if turn.state not in command.states:
        return False  # the command's line in this state refuses it
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
    """Return the first thing that stands against the command of this turn.

    Whether it can be given at all comes before what is wrong with its arguments.
    """
    args: Any = turn.command.args
    if not command.reads_itself:
        args = arguments.read_args(turn, command.args)
        if isinstance(args, Message):
            return command.check(turn, None) or args
    return command.check(turn, args) or _check_form(turn, command)


def _check_form(turn: Turn, command: Command) -> Message | Objection | None:
    """Return what else is missing: a reason, or the consent of a second person."""
    if command.reason is not None and not turn.command.reason:
        return command.reason
    if command.discretion is not None:
        lacks = arguments.check_reason(turn, command.discretion(turn, turn.args))
        if lacks is not None:
            return lacks
    if not command.consent:
        return None
    lowest = lowest_position(command.name, turn.game, turn.command.args)
    return consent.check_second_person(turn, command.name, lowest)


class CommandRow(NamedTuple):
    """The action of a command in a state that it does not change; refusing it is one."""

    state: str
    """The state of the table."""

    name: str
    """The command's name."""

    do: Action
    """Its action."""


def command_rows() -> tuple[CommandRow, ...]:
    """Return a row for each command in each state.

    A command that moves the table has none in the states that take it: see ``ROUND``.
    """
    return tuple(
        CommandRow(state, command.name, action)
        for command in _TABLE
        for state in STATES
        if (action := _action(command, state)) is not None
    )


def _action(command: Command, state: str) -> Action | None:
    return command.do if state in command.states else Refuse(command.states, command.elsewhere)
