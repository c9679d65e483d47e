"""What people declare and decide, what the shoe answers, and how the round goes on after it.

In: declare, decide, what an open step hears. Out: a step taken, an end reached, round.void.
Must not know: any particular irregularity, beyond the shoe that runs empty.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import msgspec

from shoe_ctl.records import utc

from . import arguments, consent, positions
from .inputs import StorageRestored
from .irregularities import pending_card, rulings, unread_cards
from .procedures import stack, withdrawal
from .procedures.procedure import OUTAGE, REVIEW, VOID, Action, Choice, Declared, End, Hears, never
from .procedures.shared import CARDS_OUT, halt_of, something_is_missing
from .procedures.stack import is_held, is_paused
from .round import outcome, reconstruct, reveal
from .shoe import card_set, link
from .shoe import ledger as card_ledger
from .state import TableState
from .turn import Cause, Objection, Turn, not_taken
from .wagers import commands as wager_commands
from .wagers.declared import RECORDED, check_recorded, record_declared

# What was seen.


def step_accepts_event(turn: Turn) -> bool:
    """The open step takes this from the shoe or the link."""
    return _heard(turn) is not None


def _chosen(turn: Turn) -> Choice | None:
    named = turn.command.args.get("choice")
    return next((c for c in stack.offered(turn) if c.name == named), None)


def _heard(turn: Turn) -> Hears | None:
    said = turn.shoe_event.type
    hears = stack.open_step(turn).hears
    return next((h for h in hears if h.trigger == said and h.when(turn)), None)


def _end(turn: Turn, taken: Choice | Hears | None) -> End | None:
    deciding = stack.to_decide(turn)
    if taken is None or deciding is None:
        return None
    return turn.procedures[deciding.key].end(_then(turn, taken))


def _then(turn: Turn, taken: Choice | Hears) -> str:
    """Where it leads, by what is asked for."""
    if isinstance(taken, Choice) and taken.instead is not None:
        has_effect, instead = taken.instead
        return instead if has_effect(turn) else taken.then
    return taken.then


def _may(turn: Turn, needed: str) -> bool:
    highest = turn.settings.highest_position
    return positions.is_sufficient(turn.command.position, needed, highest=highest)


def check_decide(turn: Turn, given: Mapping[str, Any] | None) -> Objection | str | None:
    """What stands against the choice that is named, or against every one."""
    if stack.to_decide(turn) is None:
        return not_taken(("suspended",))
    if given is None:
        open_now = any(check_choice(turn, one) is None for one in stack.offered(turn))
        return None if open_now else "there is nothing to decide now"
    if (choice := _chosen(turn)) is None:
        names = ", ".join(c.name for c in stack.offered(turn))
        return f"the choice is one of {names}"
    return _check_chosen(turn, choice)


def check_choice(turn: Turn, choice: Choice) -> Objection | None:
    """What stands against this choice now, whoever takes it with whatever arguments."""
    why = choice.unless(turn, None)
    return Objection(why) if isinstance(why, str) else why


def lowest_that_decides(turn: Turn) -> str:
    """The lowest position that may take a choice that nothing stands against."""
    could_be = (one for one in stack.offered(turn) if check_choice(turn, one) is None)
    takers = (stack.who_takes(choice, turn.game) for choice in could_be)
    return min(takers, key=positions.POSITIONS.index)


def _check_chosen(turn: Turn, choice: Choice) -> Objection | None:
    """What stands against the choice of this command, the first of it."""
    command, needed = turn.command, stack.who_takes(choice, turn.game)
    if not _may(turn, needed):
        return Objection(
            f"{choice.name} needs {positions.position_name(needed)}", {"position": needed}
        )
    if choice.reason and not command.reason:
        return Objection("a reason is missing: what is decided is recorded with it")
    lacks = consent.check_second_person(turn, choice.name, needed) if choice.second else None
    if lacks is not None:
        return lacks
    if isinstance(args := arguments.read_args(turn, choice.takes), str):
        return Objection(f"{choice.name}: {args}")
    why = choice.unless(turn, args)
    if why is None and choice.discretion is not None:
        why = arguments.check_reason(turn, choice.discretion(turn, args))
    if isinstance(why, Objection):
        return why._replace(why=f"{choice.name}: {why.why}")
    return None if why is None else Objection(f"{choice.name}: {why}")


def check_declare(turn: Turn, given: Mapping[str, Any] | None) -> Objection | None:
    """What stands against declaring what is named, or anything at all."""
    declarable = {key: p.declared for key, p in turn.procedures.items() if p.declared is not None}
    if given is None:
        recorded = (check_recorded(turn, key, None) for key in RECORDED)
        others = (_check_declarable(turn, key, one) for key, one in declarable.items())
        found = itertools.chain(recorded, others)
        return None if None in found else Objection("there is nothing to declare now")
    key = given.get("key")
    if isinstance(key, str) and key in RECORDED:
        return check_recorded(turn, key, given)
    declared = declarable.get(key) if isinstance(key, str) else None
    if declared is None:
        return Objection(f"the key is one of {', '.join((*declarable, *RECORDED))}")
    return _check_declared(turn, str(key), declared)


def _check_declarable(turn: Turn, key: str, declared: Declared) -> Objection | str | None:
    """What stands against declaring this now, whoever does it with whatever arguments."""
    if (out := _check_state(turn, key, declared)) is not None:
        return out
    if declared.subject is None and stack.is_open(turn, key):
        return f"{key} is open already"
    return declared.unless(turn, None)


def _check_declared(turn: Turn, key: str, declared: Declared) -> Objection | None:
    """What stands against the declaration of this command."""
    if not _may(turn, declared.by):
        return Objection(
            f"{key} needs {positions.position_name(declared.by)}", {"position": declared.by}
        )
    if (out := _check_state(turn, key, declared)) is not None:
        return out
    if isinstance(args := arguments.read_args(turn, declared.takes), str):
        return Objection(f"{key}: {args}")
    if stack.is_open(turn, args.key, _subject(turn, declared)):
        return Objection(f"{key} is open already")
    against = declared.unless(turn, args)
    return None if against is None else Objection(f"{key}: {against}")


def _check_state(turn: Turn, key: str, declared: Declared) -> Objection | None:
    if turn.state not in declared.states:
        why = f"{key} cannot be declared now (the table is {turn.state})"
        return Objection(why, {"state": ", ".join(declared.states)})
    if turn.state == "suspended" and halt_of(turn).back_to not in declared.states:
        return Objection(f"{key} cannot be declared: the table was {halt_of(turn).back_to}")
    return None


def _subject(turn: Turn, declared: Declared) -> str | None:
    """What tells this irregularity from others of its key."""
    if declared.subject is None:
        return None
    said = turn.command.args.get(declared.subject)
    return None if said is None else str(said)


# What is done.


def declare(turn: Turn) -> None:
    """A person says what happened: it is recorded of wagers, or it halts the table."""
    if turn.command.args["key"] in RECORDED:
        record_declared(turn)
        wager_commands.measure_differential_again(turn)
    else:
        turn.then("irregularity_declared")


def raise_declared(turn: Turn) -> None:
    """The table halts and asks about what was declared."""
    key = str(turn.command.args["key"])
    declared = turn.procedures[key].declared
    assert declared is not None and turn.command.reason is not None
    args = msgspec.to_builtins(arguments.require_args(turn, declared.takes))
    noted = {name: value for name, value in args.items() if name != "key" and value is not None}
    subject = _subject(turn, declared)
    when, named = declared.begins or (never, None)
    step = named if when(turn) else None
    seen = turn.command.reason
    cause = Cause(key, seen, declared.seen, subject=subject, noted=noted, step=step)
    stack.raise_irregularity(turn, cause)


def halt_for_reading(turn: Turn) -> None:
    """People and the shoe say otherwise of a card: nothing is done, and it is decided (6.1)."""
    seen = "a card was entered that is not what the shoe read"
    data = {"key": halt_of(turn).top.key, "step": "the entry is not what the shoe read"}
    turn.tell_restricted("irregularity.step", {**data, **stack.who_said(turn, "decide")})
    stack.raise_irregularity(turn, Cause("other", seen, subject=f"entry {turn.now.inputs}"))


def decide(turn: Turn) -> None:
    """The choice is taken, unless it must be decided first who read a card rightly.

    Where it ends more than a step, the table's own row says where the table is then.
    """
    choice = _chosen(turn)
    assert choice is not None
    if choice.contradicts(turn):
        halt_for_reading(turn)
    elif (own := _ends(turn, choice)) is not None:
        turn.then(own)
    else:
        _take(turn, choice)


def _ends(turn: Turn, choice: Choice) -> str | None:
    """The trigger of what the choice ends: the round, or play from these cards."""
    end = _end(turn, choice)
    if end is None:
        return None
    if turn.now.halt is None:
        return "change_decided" if end.leads == "shoe_change" else None
    return "round_voided" if end.leads == VOID else None


def apply_choice(turn: Turn) -> None:
    """The choice that was decided is taken."""
    choice = _chosen(turn)
    assert choice is not None
    _take(turn, choice)


def apply_shoe_event(turn: Turn) -> None:
    """What the open step waited for has come."""
    heard = _heard(turn)
    assert heard is not None
    _take(turn, heard)


def _take(turn: Turn, taken: Choice | Hears) -> None:
    end, then, halted = _end(turn, taken), _then(turn, taken), turn.now.halt is not None
    if halted and end is not None and end.leads != VOID and not stack.left_open(turn, end):
        turn.then("halt_ended")
    _each(turn, taken.do)
    if not halted:
        _answer(turn, end)
        return
    if end is None:
        stack.go_to(turn, then)
        _take_pending(turn)
        return
    if end.leads == VOID:
        _void(turn, end)
        return
    stack.close(turn, end)
    resume_table(turn)


def _answer(turn: Turn, end: End | None) -> None:
    """What was asked beside the table has its answer, which ends it."""
    asked = stack.to_decide(turn)
    assert asked is not None and end is not None
    stack.close_waiting(turn, asked, end, **stack.who_said(turn, "decide"))


def _each(turn: Turn, actions: tuple[Action, ...]) -> None:
    for action in actions:
        action(turn)


def resume_table(turn: Turn) -> None:
    """What was decided last is over: what was open before goes on, if anything was."""
    if turn.now.halt is not None:
        _take_pending(turn)


def _take_pending(turn: Turn) -> None:
    """The open step wanted the card that was drawn for it while something else was decided."""
    card, wanted = turn.now.pending, stack.draw_wanted(turn)
    if card is None or wanted is None or card.named_slot != wanted:
        return
    step = stack.open_step(turn)
    reconstruct.set_aside_pending(turn)
    stack.go_to(turn, next(heard.then for heard in step.hears if heard.trigger == "card_drawn"))


def resume_play(turn: Turn) -> None:
    """The round, or the table between rounds, goes on where it was left."""
    if turn.state not in CARDS_OUT:
        card_ledger.write_off_lost_cards(turn)
    if card_set.blocks_round_end(turn):
        pending_card.lay_down_pending_card(turn)
        turn.then("set_shown")
        return
    pending_card.deal_pending_card(turn)
    if wager_commands.differential_has_changed(turn):
        wager_commands.measure_differential(turn)  # decided first: from there the round goes on
    elif turn.now.round is not None:
        unread_cards.resolve_known(turn)
        reveal.reveal_face_up_cards(turn)
        reveal.advance_round(turn)
        card_ledger.void_if_shoe_is_empty(turn)
        if turn.state == "closed" and not turn.round.cards:
            wager_commands.measure_differential(turn)
            turn.then("opening_due")


def _void(turn: Turn, end: End) -> None:
    """The round is void: all wagers are returned, decided ones too."""
    astray = bool(turn.now.held or turn.now.early) and not turn.now.link.replay
    key, rule, command = halt_of(turn).top.key, turn.game.rule(*end.cites), turn.command
    data = {"round_id": turn.round.id, "rule": rule, "reason": turn.public_key(key)}
    who = {"person": command.person, "position": command.position, "why": command.reason}
    for opened in reversed(halt_of(turn).stack):
        withdrawal.tell_ended(turn, opened)
    turn.tell("round.void", data, restricted={**data, **who, "key": key})
    reconstruct.return_all_to_shoe(turn)
    pending_card.lay_down_pending_card(turn)
    wager_commands.return_all(turn, rule)
    stack.close(turn, end)
    card_ledger.write_off_lost_cards(turn)
    if astray:
        link.lose_alignment(turn)
    outcome.close_round(turn)
    rulings.ask_after_void(turn)


def void_insufficient_cards(turn: Turn) -> None:
    """The shoe is empty with a card due: the round is void (5.3)."""
    key = "insufficient_cards"
    rule = turn.game.rule(key, "void")
    seen = "the shoe is empty and a card is due"
    turn.tell("irregularity.raised", {"key": key, "seen": seen, "rule": rule})
    turn.tell("round.void", {"round_id": turn.round.id, "rule": rule, "reason": key})
    wager_commands.return_all(turn, rule)
    stack.void_waiting(turn, {"how": VOID, "rule": rule})
    turn.tell("irregularity.resolved", {"key": key, "how": "void", "rule": rule})
    outcome.close_round(turn)


# What was seen.


def is_table_paused(now: TableState) -> bool:
    """The table is paused, whatever else is open."""
    return now.halt is not None and any(opened.key == REVIEW.key for opened in now.halt.stack)


def check_pause(turn: Turn, _args: object = None) -> str | None:
    """What stands against a pause: the table is paused already."""
    return "the table is paused for review already" if is_table_paused(turn.now) else None


def check_resume(turn: Turn, _args: object = None) -> str | None:
    """What keeps the table paused: something came since, or is missing where it goes back to."""
    if not (is_table_paused(turn.now) or is_held(turn.now)):
        return "the table is halted for another reason: decide"
    if not is_paused(turn):
        return "what came since is decided first"
    return something_is_missing(turn) if _is_last(turn) else None


def _is_last(turn: Turn) -> bool:
    """With the pause the halt ends."""
    return len(halt_of(turn).stack) == 1


# What is done.


def call_pause(turn: Turn) -> None:
    """Somebody pauses the table."""
    turn.then("paused")


def pause(turn: Turn) -> None:
    """Nothing is drawn and nothing decided until the review is over."""
    stack.pause(turn, Cause(REVIEW.key, "the table is paused for review"))


def halt_for_storage_fault(turn: Turn) -> None:
    """Nothing was stored for a while: a person looks before anything goes on."""
    back = turn.happened
    assert isinstance(back, StorageRestored)
    outage = {"from": utc(back.since_us), "until": utc(back.t_us), "what": back.what}
    if is_held(turn.now):
        turn.tell("outage.opened", {}, restricted=outage)
    else:
        seen = "nothing could be stored for a while"
        stack.pause(turn, Cause(OUTAGE.key, seen, noted=outage))


def resume(turn: Turn) -> None:
    """The pause is over: play resumes, or what was open before goes on."""
    if _is_last(turn):
        turn.then("halt_ended")
    stack.lift(turn)
    resume_table(turn)
