"""What people declare and decide, what the shoe answers, and how the round goes on after it.

In: declare, decide, what an open step hears. Out: a step taken, an end reached, round.void.
Must not know: any particular irregularity, beyond the shoe that runs empty.
"""

from __future__ import annotations

import msgspec

from shoe_ctl.texts.message import Message, message

from . import (
    arguments,
    link_facts,
    outcome,
    pending,
    positions,
    replacing,
    retaking,
    revealing,
    second_person,
    set_aside,
    shoe_cards,
    shoe_sets,
    unread,
    wagering,
)
from .cause import Cause
from .irregularities import stack, withdrawal
from .irregularities.grounds import CARDS_OUT, halt_of
from .irregularities.procedure import VOID, Action, Choice, Declared, End, Hears, never
from .recording import RECORDED
from .rows import Objection
from .turn import Turn

# What was seen.


def calls_for_a_change(turn: Turn) -> bool:
    """What is chosen wants another set of cards, with nothing that halts the table."""
    end = _end(turn, _chosen(turn))
    return end is not None and end.leads == "shoe_change"


def is_asked(turn: Turn) -> bool:
    """Something beside the table wants an answer, and nothing halts it."""
    return turn.now.halt is None and stack.to_decide(turn) is not None


def is_decided(turn: Turn) -> bool:
    """The choice can be taken: somebody may, and nothing is in its way."""
    return objection_to_choice(turn) is None


def contradicts_reading(turn: Turn) -> bool:
    """The choice could be taken, and names a card otherwise than the shoe has read it."""
    choice = _chosen(turn)
    return choice is not None and is_decided(turn) and choice.contradicts(turn)


def ends_the_round(turn: Turn) -> bool:
    """What is chosen makes the round void."""
    end = _end(turn, _chosen(turn))
    return end is not None and end.leads == VOID


def is_heard(turn: Turn) -> bool:
    """The open step takes this from the shoe or the link."""
    return _heard(turn) is not None


def is_declared(turn: Turn) -> bool:
    """The irregularity may be declared here and now by this person."""
    return _objection_to_declaring(turn) is None


def why_not_decided(turn: Turn) -> Objection:
    """What is in the way of this choice."""
    return _met(objection_to_choice(turn))


def why_not_declared(turn: Turn) -> Objection:
    """What is in the way of declaring this."""
    return _met(_objection_to_declaring(turn))


def _met(objection: Objection | None) -> Objection:
    assert objection is not None, "the row above takes it"
    return objection


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
    return positions.may(turn.command.position, needed, highest=highest)


def objection_to_choice(turn: Turn) -> Objection | None:
    """Why this cannot be decided now, the first of what is in the way."""
    command, choice = turn.command, _chosen(turn)
    if choice is None:
        names = [c.name for c in stack.offered(turn)]
        return Objection(message("refused_no_such_choice", choices=names))
    needed = stack.who_takes(choice, turn.game)
    if not _may(turn, needed):
        low = message("refused_position_too_low", what=choice.name, position=needed)
        return Objection(low, {"position": needed})
    if choice.reason and not command.reason:
        return Objection(message("refused_decided_without_reason"))
    lacks = second_person.objection(turn, choice.name, needed) if choice.second else None
    if lacks is not None:
        return lacks
    if isinstance(args := arguments.read(turn, choice.takes), Message):
        return Objection(args)
    why = choice.unless(turn)
    return Objection(why) if isinstance(why, Message) else why


def _objection_to_declaring(turn: Turn) -> Objection | None:
    """Why this cannot be declared now."""
    command = turn.command
    found = turn.procedures.items()
    declarable = {key: p.declared for key, p in found if p.declared is not None}
    key = command.args.get("key")
    declared = declarable.get(key) if isinstance(key, str) else None
    if declared is None:
        return Objection(message("refused_no_such_key", keys=[*declarable, *RECORDED]))
    if not _may(turn, declared.by):
        low = message("refused_position_too_low", what=key, position=declared.by)
        return Objection(low, {"position": declared.by})
    if turn.source not in declared.states:
        why = message("refused_key_in_this_state", key=key, state=turn.source)
        return Objection(why, {"state": ", ".join(declared.states)})
    if turn.source == "suspended" and halt_of(turn).back_to not in declared.states:
        return Objection(message("refused_key_of_halt", key=key, state=halt_of(turn).back_to))
    if isinstance(args := arguments.read(turn, declared.takes), Message):
        return Objection(args)
    if stack.is_open(turn, args.key, _subject(turn, declared)):
        return Objection(message("refused_key_is_open", key=key))
    if (against := declared.unless(turn)) is not None:
        return Objection(against) if isinstance(against, Message) else against
    return None if command.reason else Objection(message("refused_declared_without_reason"))


def _subject(turn: Turn, declared: Declared) -> str | None:
    """What tells this irregularity from others of its key."""
    if declared.subject is None:
        return None
    said = turn.command.args.get(declared.subject)
    return None if said is None else str(said)


# What is done.


def declare(turn: Turn) -> None:
    """A person says what happened: the table halts and asks."""
    key = str(turn.command.args["key"])
    declared = turn.procedures[key].declared
    assert declared is not None and turn.command.reason is not None
    args = msgspec.to_builtins(arguments.checked(turn, declared.takes))
    noted = {name: value for name, value in args.items() if name != "key" and value is not None}
    subject = _subject(turn, declared)
    when, named = declared.begins or (never, None)
    step = named if when(turn) else None
    seen = message("seen_by_person", words=turn.command.reason)
    cause = Cause(key, seen, declared.seen, subject=subject, noted=noted, step=step)
    stack.raise_irregularity(turn, cause)


def halt_for_reading(turn: Turn) -> None:
    """People and the shoe say otherwise of a card: nothing is done, and it is decided (6.1)."""
    seen = message("seen_entered_card_differs")
    data = {"key": halt_of(turn).top.key, "step": "entry_contradicts_reading"}
    turn.tell_restricted("irregularity.step", {**data, **stack.who_said(turn, "decide")})
    stack.raise_irregularity(turn, Cause("other", seen, subject=f"entry {turn.now.inputs}"))


def decide(turn: Turn) -> None:
    """The choice is taken: to the next step, or to an end."""
    choice = _chosen(turn)
    assert choice is not None
    _take(turn, choice)


def hear(turn: Turn) -> None:
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
    resume(turn)


def _answer(turn: Turn, end: End | None) -> None:
    """What was asked beside the table has its answer, which ends it."""
    asked = stack.to_decide(turn)
    assert asked is not None and end is not None
    stack.close_waiting(turn, asked, end, **stack.who_said(turn, "decide"))


def _each(turn: Turn, actions: tuple[Action, ...]) -> None:
    for action in actions:
        action(turn)


def resume(turn: Turn) -> None:
    """What was decided last is over: what was open before goes on, if anything was."""
    if turn.now.halt is not None:
        _take_pending(turn)


def _take_pending(turn: Turn) -> None:
    """The open step wanted the card that was drawn for it while something else was decided."""
    card, wanted = turn.now.pending, stack.draw_wanted(turn)
    if card is None or wanted is None or card.named_slot != wanted:
        return
    step = stack.open_step(turn)
    set_aside.lay_pending(turn)
    stack.go_to(turn, next(heard.then for heard in step.hears if heard.trigger == "card_drawn"))


def go_on(turn: Turn) -> None:
    """The round, or the table between rounds, goes on where it was left."""
    if turn.state not in CARDS_OUT:
        shoe_cards.write_off_lost_cards(turn)
    if shoe_sets.stands_in_the_way(turn):
        pending.set_down(turn)
        turn.then("set_shown")
        return
    pending.deal(turn)
    if wagering.differential_has_changed(turn):
        wagering.look_at_differential(turn)  # decided first: from there the round goes on
    elif turn.now.round is not None:
        unread.close_known(turn)
        revealing.reveal_due(turn)
        revealing.advance(turn)
        shoe_cards.look_if_empty(turn)
        if turn.state == "closed" and not turn.round.cards:
            wagering.look_at_differential(turn)
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
    retaking.take_out_all(turn)
    pending.set_down(turn)
    wagering.return_all(turn, rule)
    stack.close(turn, end)
    shoe_cards.write_off_lost_cards(turn)
    if astray:
        link_facts.lose_alignment(turn)
    outcome.close_round(turn)
    replacing.ask(turn)


def void_for_want_of_cards(turn: Turn) -> None:
    """The shoe is empty with a card due: the round is void (5.3)."""
    key = "insufficient_cards"
    rule = turn.game.rule(key, "void")
    seen = message("seen_shoe_empty")
    turn.tell("irregularity.raised", {"key": key, "seen": seen.as_data(), "rule": rule})
    turn.tell("round.void", {"round_id": turn.round.id, "rule": rule, "reason": key})
    wagering.return_all(turn, rule)
    stack.void_waiting(turn, {"how": VOID, "rule": rule})
    turn.tell("irregularity.resolved", {"key": key, "how": "void", "rule": rule})
    outcome.close_round(turn)
