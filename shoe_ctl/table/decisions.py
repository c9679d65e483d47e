"""Decisions: people declare, decide, pause and resume; the shoe completes steps; play resumes.

In: declare, decide, pause, resume; shoe events that the open step accepts. Out: irregularities
raised, steps taken, ends reached, round.void. Must not know: any particular irregularity, except
that the shoe runs empty.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from shoe_ctl.records import utc
from shoe_ctl.table import arguments, consent, positions
from shoe_ctl.table.inputs import StorageRestored
from shoe_ctl.table.irregularities import pending_card, rulings, unread_cards
from shoe_ctl.table.procedures import stack, withdrawal
from shoe_ctl.table.procedures.procedure import (
    OUTAGE,
    REVIEW,
    VOID,
    Accepts,
    Choice,
    Declared,
    End,
    find_procedure,
    never,
)
from shoe_ctl.table.procedures.shared import ENTRY_DIFFERS, check_can_resume
from shoe_ctl.table.procedures.stack import has_storage_outage, is_paused
from shoe_ctl.table.round import cards_ahead, outcome, reconstruct, reveal
from shoe_ctl.table.shoe import card_set, link
from shoe_ctl.table.shoe import ledger as card_ledger
from shoe_ctl.table.situations import CARDS_OUT
from shoe_ctl.table.state import Declaration, TableState
from shoe_ctl.table.turn import Cause, Objection, Turn, not_taken
from shoe_ctl.table.wagers import betting
from shoe_ctl.table.wagers.declared import (
    RECORDED,
    DeclaredWager,
    check_recorded,
    record_declared,
)
from shoe_ctl.texts.message import Message, message

# The open step. Conditions.


def step_accepts_event(turn: Turn) -> bool:
    """Return True if the open step accepts this event of the shoe or the link."""
    return _accepted(turn) is not None


def _named_choice(turn: Turn) -> Choice | None:
    """Return the choice that the command names, if the open step offers it."""
    named = turn.command.args.get("choice")
    return next((c for c in stack.offered_choices(turn) if c.name == named), None)


def _accepted(turn: Turn) -> Accepts | None:
    """Return what the open step accepts of this event, if anything."""
    event = turn.shoe_event.type
    accepts = stack.open_step(turn).accepts
    return next((one for one in accepts if one.trigger == event and one.when(turn)), None)


def _find_end(turn: Turn, taken: Choice | Accepts | None) -> End | None:
    """Return the end that this leads to; None if it leads to another step."""
    deciding = stack.due_decision(turn)
    if taken is None or deciding is None:
        return None
    return find_procedure(turn, deciding.key).end(_find_next(turn, taken))


def _find_next(turn: Turn, taken: Choice | Accepts) -> str:
    if isinstance(taken, Choice) and taken.branch is not None:
        has_effect, instead = taken.branch
        return instead if has_effect(turn) else taken.leads_to
    return taken.leads_to


def _has_position(turn: Turn, needed: str) -> bool:
    highest = turn.settings.highest_position
    return positions.is_sufficient(turn.command.position, needed, highest=highest)


def check_decide(turn: Turn, given: Mapping[str, Any] | None) -> Objection | Message | None:
    """Return what stands against the choice that is named; with None, against every choice."""
    if stack.due_decision(turn) is None:
        return not_taken(("suspended",))
    if given is None:
        open_now = any(check_choice(turn, one) is None for one in stack.offered_choices(turn))
        return None if open_now else message("refused_nothing_to_decide")
    if (choice := _named_choice(turn)) is None:
        names = [c.name for c in stack.offered_choices(turn)]
        return message("refused_no_such_choice", choices=names)
    return _check_chosen(turn, choice)


def check_choice(turn: Turn, choice: Choice) -> Objection | None:
    """Return what stands against this choice now, whoever takes it and with what arguments."""
    why = choice.check(turn, None)
    return Objection(why) if isinstance(why, Message) else why


def lowest_that_decides(turn: Turn) -> str:
    """Return the lowest position that may take one of the choices that can be taken now."""
    could_be = (one for one in stack.offered_choices(turn) if check_choice(turn, one) is None)
    takers = (stack.lowest_position(choice, turn.game) for choice in could_be)
    return min(takers, key=positions.POSITIONS.index)


def _check_chosen(turn: Turn, choice: Choice) -> Objection | None:
    """Return the first thing that stands against the choice that this command takes."""
    command, needed = turn.command, stack.lowest_position(choice, turn.game)
    if not _has_position(turn, needed):
        low = message("refused_position_too_low", what=choice.name, position=needed)
        return check_choice(turn, choice) or Objection(low, {"position": needed})
    if choice.reason and not command.reason:
        return Objection(message("refused_decided_without_reason"))
    lacks = consent.check_second_person(turn, choice.name, needed) if choice.needs_consent else None
    if lacks is not None:
        return lacks
    if isinstance(args := arguments.read_args(turn, choice.arguments), Message):
        return Objection(args)
    why = choice.check(turn, args)
    if why is None and choice.discretion is not None:
        why = arguments.check_reason(turn, choice.discretion(turn, args))
    return Objection(why) if isinstance(why, Message) else why


# Declarations. Conditions.


class DeclarableKey(NamedTuple):
    """An irregularity that can be declared now."""

    key: str
    """Its key."""
    by: str
    """The lowest position that may declare it."""
    takes: type[arguments.NoArgs]
    """The type of its arguments."""
    names: tuple[str, ...] | None = None
    """Those of them that it takes, if it does not take all."""


def list_declarable(turn: Turn) -> list[DeclarableKey]:
    """Return all that can be declared as the table stands."""
    found = []
    for key, recorded in RECORDED.items():
        if check_recorded(turn, key, None) is None:
            names = recorded.names if recorded.alone else (*recorded.names, "earlier")
            found.append(DeclarableKey(key, positions.LADDER[0], DeclaredWager, names))
    for key, declared in _forms(turn).items():
        if _check_declarable(turn, key, declared) is None:
            found.append(DeclarableKey(key, declared.by, declared.takes))
    return found


def _forms(turn: Turn) -> dict[str, Declared]:
    """Return how each irregularity is declared that people may declare."""
    forms = {key: find_procedure(turn, key).declared for key in turn.procedures}
    return {key: declared for key, declared in forms.items() if declared is not None}


def check_declare(turn: Turn, given: Mapping[str, Any] | None) -> Objection | None:
    """Return what stands against declaring what is named; with None, against every declaration."""
    declarable = _forms(turn)
    if given is None:
        recorded = (check_recorded(turn, key, None) for key in RECORDED)
        others = (_check_declarable(turn, key, one) for key, one in declarable.items())
        found = itertools.chain(recorded, others)
        return None if None in found else Objection(message("refused_nothing_to_declare"))
    key = given.get("key")
    if isinstance(key, str) and key in RECORDED:
        return check_recorded(turn, key, given)
    declared = declarable.get(key) if isinstance(key, str) else None
    if declared is None:
        return Objection(message("refused_no_such_key", keys=[*declarable, *RECORDED]))
    return _check_declared(turn, str(key), declared)


def _check_declarable(turn: Turn, key: str, declared: Declared) -> Objection | Message | None:
    """Return what stands against declaring this now, whoever does it and with what arguments."""
    if (out := _check_state(turn, key, declared)) is not None:
        return out
    if declared.subject is None and stack.is_open(turn, key):
        return message("refused_key_is_open", key=key)
    return declared.unless(turn, None)


def _check_declared(turn: Turn, key: str, declared: Declared) -> Objection | None:
    """Return the first thing that stands against what this command declares."""
    if (out := _check_state(turn, key, declared)) is not None:
        return out
    if not _has_position(turn, declared.by):
        low = message("refused_position_too_low", what=key, position=declared.by)
        return Objection(low, {"position": declared.by})
    if isinstance(args := arguments.read_args(turn, declared.takes), Message):
        return Objection(args)
    if stack.is_open(turn, args.key, _subject(turn, declared)):
        return Objection(message("refused_key_is_open", key=key))
    against = declared.unless(turn, args)
    return Objection(against) if isinstance(against, Message) else against


def _check_state(turn: Turn, key: str, declared: Declared) -> Objection | None:
    """Return the objection that this cannot be declared in this state, or the one left."""
    if turn.state not in declared.states:
        why = message("refused_key_in_this_state", key=key, state=turn.state)
        return Objection(why, {"state": ", ".join(declared.states)})
    if turn.state == "suspended" and turn.resume_state not in declared.states:
        return Objection(message("refused_key_of_halt", key=key, state=turn.resume_state))
    return None


def _subject(turn: Turn, declared: Declared) -> str | None:
    """Return the subject of what is declared, which tells it from others of its key."""
    if declared.subject is None:
        return None
    said = turn.command.args.get(declared.subject)
    return None if said is None else str(said)


# Declarations and decisions. Actions.


def declare(turn: Turn) -> None:
    """Record what a person declares of wagers, or halt the table for any other irregularity."""
    if turn.command.args["key"] in RECORDED:
        record_declared(turn)
        betting.measure_differential_again(turn)
    else:
        turn.fire("irregularity_declared")


def raise_declared(turn: Turn) -> None:
    """Raise the irregularity that was declared."""
    key = str(turn.command.args["key"])
    declared = find_procedure(turn, key).declared
    assert declared is not None and turn.command.reason is not None
    args = msgspec.to_builtins(arguments.require_args(turn, declared.takes))
    noted = {name: value for name, value in args.items() if name != "key" and value is not None}
    subject = _subject(turn, declared)
    when, named = declared.begins or (never, None)
    step = named if when(turn) else None
    seen = message("seen_by_person", words=turn.command.reason)
    cause = Cause(key, seen, declared.seen, subject=subject, data=noted, step=step)
    stack.raise_irregularity(turn, cause)
    _note_declaration(turn, key, declared.by)


def _note_declaration(turn: Turn, key: str, by: str) -> None:
    """Remember what was declared: it may be retracted."""
    opened = turn.current
    if opened.instance.public is None:
        return
    noted = Declaration(
        number=opened.instance.public, key=key, by=by,
        irregularity=opened.number, step=opened.step, data=opened.data,
    )  # fmt: skip
    turn.change(declarations=(*turn.now.declarations, noted))


def decide(turn: Turn) -> None:
    """Take the choice, unless it must be decided first who read a card correctly.

    A choice that ends the round, or play from these cards, is taken by its line in ``ROUND``.
    """
    choice = _named_choice(turn)
    assert choice is not None
    if not turn.assumes_reading and choice.contradicts(turn):
        halt_for_reading(turn)
    elif (own := _ending_trigger(turn, choice)) is not None:
        turn.fire(own)
    else:
        _carry_out(turn, choice)


def _ending_trigger(turn: Turn, choice: Choice) -> str | None:
    """Return the trigger of what the choice ends: the round, or play from these cards."""
    end = _find_end(turn, choice)
    if end is None:
        return None
    if turn.now.halt is None:
        return "change_decided" if end.resumes_in == "shoe_change" else None
    return "round_voided" if end.resumes_in == VOID else None


def halt_for_reading(turn: Turn) -> None:
    """Raise an irregularity because people enter another card than the shoe read (6.1).

    The choice itself is not taken.
    """
    seen = message("seen_entered_card_differs")
    data = {"key": turn.current.key, "step": "entry_contradicts_reading"}
    turn.emit_restricted(
        "irregularity.step",
        {**data, **stack.command_arguments(turn, "decide")},
        instance=turn.current.instance,
    )
    subject = f"entry {turn.now.inputs}"
    stack.raise_irregularity(turn, Cause("other", seen, subject=subject, step=ENTRY_DIFFERS))


def apply_choice(turn: Turn) -> None:
    """Take the choice that was decided."""
    choice = _named_choice(turn)
    assert choice is not None
    _carry_out(turn, choice)


def apply_shoe_event(turn: Turn) -> None:
    """Complete the open step, which accepts this shoe event."""
    accepted = _accepted(turn)
    assert accepted is not None
    _carry_out(turn, accepted)


def _carry_out(turn: Turn, taken: Choice | Accepts) -> None:
    """Do what was chosen or accepted: run its actions, then go to the next step or to the end."""
    end, then, halted = _find_end(turn, taken), _find_next(turn, taken), turn.now.halt is not None
    if (
        halted
        and end is not None
        and end.resumes_in != VOID
        and not stack.remaining_after(turn, end)
    ):
        turn.fire("halt_ended")
    for action in taken.actions:
        action(turn)
    if not halted:
        _answer_question(turn, end)
        return
    if end is None:
        stack.go_to(turn, then)
        _use_pending_card(turn)
        return
    if end.resumes_in == VOID:
        _void_round(turn, end)
        return
    stack.close(turn, end)
    resume_table(turn)


def _answer_question(turn: Turn, end: End | None) -> None:
    """Close the question that was asked without a halt: it has its answer."""
    asked = stack.due_decision(turn)
    assert asked is not None and end is not None
    stack.resolve_pending(turn, asked, end, **stack.command_arguments(turn, "decide"))


# After a decision: play resumes, or the round is void.


def resume_table(turn: Turn) -> None:
    """Continue with what was open before, if the table is still halted."""
    if turn.now.halt is not None:
        _use_pending_card(turn)


def _use_pending_card(turn: Turn) -> None:
    """Give the open step the card that was drawn for it while something else was decided."""
    card, wanted = turn.now.pending, stack.wanted_slot(turn)
    if card is None or wanted is None or card.named_slot != wanted:
        return
    step = stack.open_step(turn)
    cards_ahead.set_aside_pending(turn)
    stack.go_to(turn, next(one.leads_to for one in step.accepts if one.trigger == "card_drawn"))


def resume_play(turn: Turn) -> None:
    """Resume the round, or the table between rounds, where it was left."""
    if turn.state not in CARDS_OUT:
        card_ledger.write_off_lost_cards(turn)
    if card_set.blocks_round_end(turn):
        pending_card.drop_pending_card(turn)
        turn.fire("set_shown")
        return
    if turn.now.pending is not None:
        pending_card.deal_pending_card(turn)
    is_void = card_ledger.cannot_complete_deal(turn)
    has_wagers = not is_void and turn.now.wagers.standing
    if has_wagers and betting.differential_has_changed(turn):
        betting.measure_differential(turn)  # is decided before the round goes on
    elif turn.now.round is not None:
        if turn.now.pending_irregularities:
            unread_cards.resolve_known(turn)
        reveal.reveal_face_up_cards(turn)
        reveal.advance_round(turn)
        if turn.state == "closed" and not turn.round.cards and not is_void:
            betting.measure_differential(turn)
            turn.fire("opening_due")
    if turn.state == "resolved" and turn.implied:
        turn.fire("round_over")
    card_ledger.detect_empty_shoe(turn)


def _void_round(turn: Turn, end: End) -> None:
    """Void the round: return all wagers, also those that are won or lost already."""
    loses_alignment = bool(turn.now.held or turn.now.early) and not turn.now.link.replay
    key, rule = turn.current.key, turn.game.rule(*end.cites)
    data = {"rule": rule, "reason": turn.public_key(key)}
    told = turn.round.id if turn.round.announced else None
    for opened in reversed(turn.halt.stack):
        withdrawal.emit_window_closed(turn, opened)
    turn.emit("round.void", data, restricted={**data, "key": key}, revokes=told)
    reconstruct.return_all_to_shoe(turn)
    pending_card.drop_pending_card(turn)
    betting.return_all(turn, rule)
    stack.close(turn, end)
    card_ledger.write_off_lost_cards(turn)
    if loses_alignment:
        link.lose_alignment(turn)
    outcome.close_round(turn)
    rulings.ask_after_void(turn)


def void_insufficient_cards(turn: Turn) -> None:
    """Void the round because the shoe is empty and a card is due (5.3)."""
    key = "insufficient_cards"
    rule = turn.game.rule(key, "void")
    seen = message("seen_shoe_empty")
    instance = turn.open_instance()
    raised = {"key": key, "seen": seen.as_data(), "rule": rule}
    turn.emit("irregularity.raised", raised, instance=instance)
    told = turn.round.id if turn.round.announced else None
    turn.emit("round.void", {"rule": rule, "reason": key}, revokes=told)
    betting.return_all(turn, rule)
    stack.void_pending(turn, {"how": VOID, "rule": rule})
    ended = {"key": key, "how": "void", "rule": rule}
    turn.emit("irregularity.resolved", ended, instance=instance)
    outcome.close_round(turn)


# Pauses. Conditions.


def is_table_paused(now: TableState) -> bool:
    """Return True if the table is paused for review, whatever else is open."""
    return now.halt is not None and any(opened.key == REVIEW.key for opened in now.halt.stack)


def check_pause(turn: Turn, _args: object = None) -> Message | None:
    """Return the objection that the table is paused already."""
    return message("refused_paused_already") if is_table_paused(turn.now) else None


def check_resume(turn: Turn, _args: object = None) -> Message | None:
    """Return what stands against resuming: something came since, or something is missing."""
    if not (is_table_paused(turn.now) or has_storage_outage(turn.now)):
        return message("refused_halted_otherwise")
    if not is_paused(turn):
        return message("refused_decide_first")
    return check_can_resume(turn) if _ends_halt(turn) else None


def _ends_halt(turn: Turn) -> bool:
    """Return True if the halt ends with the pause."""
    return len(turn.halt.stack) == 1


# Pauses. Actions.


def call_pause(turn: Turn) -> None:
    """Pause the table on a command."""
    turn.fire("paused")


def pause(turn: Turn) -> None:
    """Halt the table for review: nothing is drawn or decided until it is over."""
    stack.pause(turn, Cause(REVIEW.key, message("seen_review")))


def halt_for_storage_fault(turn: Turn) -> None:
    """Halt the table because nothing was stored for a while: a person looks first."""
    back = turn.input_of(StorageRestored)
    outage = {"from": utc(back.since_us), "until": utc(back.t_us), "what": back.what.as_data()}
    if has_storage_outage(turn.now):
        waiting = next(opened for opened in turn.halt.stack if opened.key == OUTAGE.key)
        turn.emit("outage.opened", {}, restricted=outage, instance=waiting.instance)
    else:
        seen = message("seen_outage")
        stack.pause(turn, Cause(OUTAGE.key, seen, data=outage))


def resume(turn: Turn) -> None:
    """End the pause: play resumes, or what was open before continues."""
    if _ends_halt(turn):
        turn.fire("halt_ended")
    stack.end_pause(turn)
    resume_table(turn)
