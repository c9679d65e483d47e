"""Previews: what a command would change, from what everybody may know; nothing is changed.

A preview handles the command at a copy of the table in which every card that is not revealed is
replaced by another one, and every reading that only the shoe has is left out. So two rounds that
look alike give the same preview, and none says whether the shoe agrees with what is typed. Where a
card that nobody has seen would be revealed, the preview says so and no more.

In: a table's state, a command. Out: whether it would be taken, and what would follow.
Must not know: who asks, how it is shown, the card in any slot that is not revealed.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from firmware_proto.cards import Card
from shoe_ctl.games.game import Game
from shoe_ctl.records import Audience
from shoe_ctl.table import commands, consent
from shoe_ctl.table.controller import TableController
from shoe_ctl.table.effects import Answer, TableEvent
from shoe_ctl.table.inputs import TableCommand
from shoe_ctl.table.procedures import stack
from shoe_ctl.table.procedures.procedure import Choice, find_procedure, never
from shoe_ctl.table.shoe.outbox import SECRET
from shoe_ctl.table.state import OpenIrregularity, Round, Shoe, TableState, UnplacedCard
from shoe_ctl.table.status import status
from shoe_ctl.table.turn import TableView
from shoe_ctl.texts.message import Message, message

DEPENDS_ON_SHOE = frozenset({
    "count_remainder", "reset_shoe", "test_shoe", "ask_shoe", "clear_error", "rotate_key",
    "show_on_shoe",
})  # fmt: skip
"""Commands of which only the shoe, or what it has read, says what follows."""

_PERSON, _OTHER = "preview", "another_person"

_MOST_POSITIONS = 3
"""A command may name a higher position once it is read, and its choice another one."""


class Preview(NamedTuple):
    """The consequences of a command that is not given."""

    answer: Answer
    """The answer: what would happen and what would be next, or why it would be refused."""
    shown: dict[str, Any] | None
    """The changes that would follow; None where the command would be refused."""


def preview(controller: TableController, now: TableState, asked: TableCommand) -> Preview:
    """Return what this command would come to at ``now`` if the right people gave it.

    A reason, a second person and a position need not be given: ``shown`` says which are needed.
    Nothing of the controller changes: it only says under which game and settings.
    """
    masked = _masked(now, controller.game, _named_codes(asked.args))
    view = TableView(masked.state, controller.game, controller.settings, controller.procedures)
    position = _lowest_position(view, asked)
    tried = _try(controller, masked.state, asked, position)
    for _ in range(_MOST_POSITIONS):
        higher = tried.answer.needs.get("position", position)
        if tried.answer.accepted or higher == position:
            break
        position = higher
        tried = _try(controller, masked.state, asked, position)
    if not tried.answer.accepted:
        return Preview(msgspec.structs.replace(tried.answer, command_id=asked.command_id), None)
    needs, told = _needs(view, asked, position), tried.told
    if asked.command in DEPENDS_ON_SHOE:
        shown: dict[str, Any] = {**needs, "depends_on_shoe": True}
        said = message("preview_of_shoe")
    elif hidden := _revealed(told, masked.replaced):
        shown = {**needs, "reveals": hidden}
        places = [f"{one['hand']} {one['index']}" for one in hidden]
        said = message("preview_reveals", cards=places)
    else:
        shown = needs | _changes(controller, masked.state, tried)
        said = _said(tried.answer)
    return Preview(Answer(command_id=asked.command_id, accepted=True, message=said), shown)


class _Tried(NamedTuple):
    state: TableState
    """The table after the command."""
    answer: Answer
    """The command's answer."""
    told: list[TableEvent]
    """The public events that would follow."""


def _try(
    controller: TableController, state: TableState, asked: TableCommand, position: str
) -> _Tried:
    """Return what becomes of the command at a copy of the table, from this position."""
    game, settings = controller.game, controller.settings
    table = TableController(game, settings, state, procedures=controller.procedures)
    table.assume_reading()
    given = msgspec.structs.replace(
        asked,
        command_id=_PERSON,
        position=position,
        person=_PERSON,
        reason=asked.reason or _PERSON,
        consented_by=_OTHER,
        second_person=None,
    )
    effects = table.handle(given)
    answer = next(effect for effect in effects if isinstance(effect, Answer))
    told = [e for e in effects if isinstance(e, TableEvent) and e.audience is Audience.PUBLIC]
    return _Tried(table.state, answer, told)


# The table as everybody may know it.


class _Masked(NamedTuple):
    state: TableState
    """The table's state without what only the shoe has read."""
    replaced: frozenset[str]
    """The codes of the cards that stand for those that are not revealed."""


def _named_codes(args: Mapping[str, Any]) -> set[str]:
    """Return every word among these arguments: none of them stands for a hidden card."""
    return {word for value in args.values() if isinstance(value, str) for word in value.split()}


def _masked(now: TableState, game: Game, named: set[str]) -> _Masked:
    """Return the state in which every hidden card is another one.

    Which one depends on what is public alone: how many are hidden, what was revealed or is named.
    """
    shown = {} if now.shoe is None else now.shoe.shown
    decks = 1 if now.shoe is None else now.shoe.decks
    others = [one for one in game.deck.cards if one.code not in named]
    free = itertools.chain(
        (o for copy in range(decks) for o in others if shown.get(o.code, 0) + copy < decks),
        itertools.cycle(
            others
        ),  # more cards are hidden than the decks can hold: they are miscounted
    )
    used: list[Card] = []

    def other() -> Card:
        used.append(next(free))
        return used[-1]

    played = None if now.round is None else _masked_round(now.round, other)
    unplaced = tuple(_masked_unplaced(one, other) for one in now.unplaced)
    counted = [d.card for d in (() if played is None else played.cards) if not d.revealed]
    counted += [one.card for one in unplaced if one.counted]
    pending = tuple(_masked_opened(one, other) for one in now.pending_irregularities)
    halt = now.halt
    if halt is not None:
        opened = tuple(_masked_opened(one, other) for one in halt.stack)
        halt = msgspec.structs.replace(halt, stack=opened)
    waiting = tuple(one for one in now.outbox.waiting if one.command not in SECRET)
    state = msgspec.structs.replace(
        now,
        round=played,
        unplaced=unplaced,
        shoe=None if now.shoe is None else _masked_shoe(now.shoe, counted),
        halt=halt,
        pending_irregularities=pending,
        outbox=msgspec.structs.replace(now.outbox, waiting=waiting),
        answered={},
    )
    return _Masked(state, frozenset(one.code for one in used))


def _masked_round(played: Round, other: Any) -> Round:
    """Return the round with other cards face down, and a result of the shoe that says nothing."""
    cards = tuple(
        dealt
        if dealt.revealed or dealt.card is None
        else msgspec.structs.replace(dealt, card=other())
        for dealt in played.cards
    )
    judged = played.result is not None and played.all_revealed
    return msgspec.structs.replace(
        played, cards=cards, result=None, result_overruled=played.result_overruled or judged
    )


def _masked_unplaced(one: UnplacedCard, other: Any) -> UnplacedCard:
    """Return the card as another one. Where the shoe thinks that it belongs is left out."""
    slot = one.named_slot if one.role in ("pending", "ahead") else None
    face = None if one.card is None else other()
    return msgspec.structs.replace(one, card=face, named_slot=slot)


def _masked_shoe(shoe: Shoe, counted: Iterable[Card | None]) -> Shoe:
    """Return the ledger of the cards that were revealed; all others that are out are unknown."""
    counts = Counter(shoe.shown) + Counter(one.code for one in counted if one is not None)
    out = sum(shoe.counts.values()) + shoe.unknown
    pulls = tuple(
        msgspec.structs.replace(pull, read=(None,) * len(pull.read)) for pull in shoe.pulls
    )
    return msgspec.structs.replace(
        shoe,
        counts=dict(counts),
        unknown=max(0, out - counts.total()),
        pulls=pulls,
        overruled={},
    )


def _masked_opened(opened: OpenIrregularity, other: Any) -> OpenIrregularity:
    """Return what is open as the room was told of it. Cards that it notes are others."""
    data = {
        name: [other().code for _ in value] if _is_of_cards(name, value) else value
        for name, value in opened.data.items()
    }
    key = "foreign_card" if opened.key == "extra_card" else opened.key
    seen = opened.public_seen or message("seen_review")
    return msgspec.structs.replace(opened, key=key, seen=seen, data=data)


def _is_of_cards(name: str, value: Any) -> bool:
    """Return True if a procedure noted cards there, which the room has not been told."""
    return name in ("cards", "counted") and isinstance(value, list)


# Who gives the command.


def _named_choice(view: TableView, asked: TableCommand) -> Choice | None:
    named = asked.args.get("choice") if asked.command == "decide" else None
    return next((one for one in stack.offered_choices(view) if one.name == named), None)


def _lowest_position(view: TableView, asked: TableCommand) -> str:
    """Return the lowest position that may give the command, as far as its arguments say that."""
    if (choice := _named_choice(view, asked)) is not None:
        return stack.lowest_position(choice, view.game)
    if asked.command == "declare":
        key = asked.args.get("key")
        known = isinstance(key, str) and key in view.procedures
        declared = find_procedure(view, str(key)).declared if known else None
        if declared is not None:
            return declared.by
    if asked.command not in commands.COMMANDS:
        return asked.position
    return commands.lowest_position(asked.command, view.game, asked.args)


def _needs(view: TableView, asked: TableCommand, position: str) -> dict[str, Any]:
    """Return who may do it, and what must be given with it."""
    command, choice = commands.COMMANDS[asked.command], _named_choice(view, asked)
    reason = command.needs_reason(view.game) if choice is None else choice.needs_reason(view.game)
    second = command.consent if choice is None else choice.needs_consent
    reads = asked.command == "enter_round" or (
        choice is not None and choice.contradicts is not never
    )
    needs: dict[str, Any] = {"position": position}
    needs |= {"reason": True} if reason else {}
    needs |= {"second_person": consent.lowest_consenting(position)} if second else {}
    return needs | ({"if_shoe_agrees": True} if reads else {})


# What would change.


def _revealed(told: Iterable[TableEvent], replaced: frozenset[str]) -> list[dict[str, Any]]:
    """Return the places of cards that would be revealed and that nobody has seen yet."""
    return [
        {"hand": event.data["hand"], "index": event.data["index"]}
        for event in told
        if event.type == "round.card_revealed" and event.data["card"] in replaced
    ]


def _changes(controller: TableController, now: TableState, tried: _Tried) -> dict[str, Any]:
    """Return what would be otherwise at the table, for everybody."""
    before, after = (
        status(state, controller.game, controller.settings, procedures=controller.procedures)
        for state in (now, tried.state)
    )
    told = tried.told
    kinds = {event.type for event in told}
    halt = after["halt"]
    ends = "void" if "round.void" in kinds else "settled" if "round.settled" in kinds else None
    return {
        "state": after["state"],
        "next": after["next"],
        "due": after["next"].get("draw"),
        "halted": None if halt is None else halt["reason"],
        "outcome": _outcome(told),
        "round_ends": ends,
        "shoe_ends": after["state"] == "shoe_change" or "shoe.change_due" in kinds,
        "seats": _seats(before["wagers"], after["wagers"], told),
    }


def _outcome(told: Iterable[TableEvent]) -> dict[str, Any] | None:
    """Return the outcome that would be announced, or revised to."""
    said = (e.data for e in told if e.type in ("round.outcome", "round.revised"))
    data = next(said, None)
    if data is None:
        return None
    totals = {hand: data[hand]["total"] for hand in ("player", "banker")}
    return {"winner": data["winner"], "totals": totals}


_MONEY = ("wager.settled", "wager.revised")
_OF_A_LINE = (
    "stake", "result", "odds", "pays", "commission", "collected", "returned", "rule", "change",
)  # fmt: skip


def _seats(
    before: list[dict[str, Any]], after: list[dict[str, Any]], told: Iterable[TableEvent]
) -> list[dict[str, Any]]:
    """Return each wager that would be otherwise: its seat, how it stands, how it would stand.

    ``settled`` is how it would be settled, or settled again, in minor units.
    """
    was, now = ({one["number"]: one for one in each} for each in (before, after))
    lines = {event.data["number"]: event.data for event in told if event.type in _MONEY}
    found = []
    for number in dict.fromkeys(itertools.chain(was, now, lines)):
        if was.get(number) == now.get(number) and number not in lines:
            continue
        of = next(each[number] for each in (was, now, lines) if number in each)
        change: dict[str, Any] = {"number": number, "seat": of["seat"], "wager": of["wager"]}
        change |= {"before": was.get(number), "after": now.get(number)}
        if number in lines:
            line = lines[number]
            change["settled"] = {name: line[name] for name in _OF_A_LINE if name in line}
        found.append(change)
    return found


def _said(answer: Answer) -> Message:
    """Return what would happen and what would be next."""
    assert answer.message is not None
    said = answer.message.args
    if "happened" not in said:
        return message("preview_nothing", next=said["next"])
    return message("preview", happened=said["happened"], next=said["next"])
