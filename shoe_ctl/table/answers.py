"""Answers to commands: what a command brought about, and answers that are given again.

In: a command, its public events. Out: one message; the answer that a repeated command gets.
Must not know: anything that the public stream does not say, who asks, how it is shown.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import msgspec

from shoe_ctl.records import Audience, utc
from shoe_ctl.table.effects import Answer, Effect, TableEvent
from shoe_ctl.table.inputs import CommandsRefused, TableCommand
from shoe_ctl.table.state import FirstAnswer, GivenCommand, Person
from shoe_ctl.table.turn import Turn
from shoe_ctl.table.wagers.payments import change_message, outcome_message
from shoe_ctl.texts.message import Message, message

REMEMBERED_COMMANDS = 256
"""The most answers that are kept for repeated commands: more than an hour of play needs."""

LISTED_COMMANDS = 8
"""The most accepted commands that staff see in the status."""

_ABOUT: Mapping[str, str] = {"declare": "key", "decide": "choice"}
"""Command → the argument that says what it is about."""

MOST_REFUSED = 128
"""The most of them that may be refusals, so that refusals do not push out the accepted ones."""

MOST_REFUSED_OF_A_USER = 64
"""The most of them that may be refusals of one user."""

_encoder = msgspec.json.Encoder(order="sorted")


def digest(command: TableCommand) -> str:
    """Return a digest that two commands share only if they ask for the same thing.

    The user, and arguments that the controller filled in, are not part of it.
    """
    given = {name: value for name, value in command.args.items() if name not in command.added}
    asked = (
        command.command, given, command.round_id, command.person, command.position,
        command.reason, command.consented_by,
    )  # fmt: skip
    return hashlib.sha256(_encoder.encode(asked)).hexdigest()[:24]


def check_command_id(answered: Mapping[str, FirstAnswer], command: TableCommand) -> Message | None:
    """Return the refusal if the id of this command was used before for another command."""
    first = answered.get(command.command_id)
    if first is None:
        return None
    if (first.user, first.person) != (command.user, command.logged_in):
        return message("refused_id_of_another_user", command_id=command.command_id)
    if first.digest != digest(command):
        return message("refused_id_of_another_command", command_id=command.command_id)
    return None


def first_answer(command: TableCommand, answer: Answer) -> FirstAnswer:
    """Return the answer as it is kept for a repetition of the command."""
    given = msgspec.structs.asdict(answer)
    return FirstAnswer(**given, user=command.user, digest=digest(command), person=command.logged_in)


def remember(turn: Turn, command: TableCommand, answer: Answer) -> None:
    """Keep the answer for a repetition of the command; drop one if there are too many."""
    answered = {**turn.now.answered, command.command_id: first_answer(command, answer)}
    if len(answered) > REMEMBERED_COMMANDS:
        del answered[_choose_dropped(answered)]
    turn.change(answered=answered)
    if answer.accepted:
        _list_command(turn, command)


def _list_command(turn: Turn, command: TableCommand) -> None:
    """Add the command to the last ones, without its arguments: they may name cards."""
    about = command.args.get(_ABOUT.get(command.command, ""))
    given = GivenCommand(
        command=command.command,
        about=about if isinstance(about, str) else None,
        by=Person(name=command.person, position=command.position),
        consented_by=command.consented_by,
        t_us=turn.now.t_us,
    )
    before = turn.now.last_commands
    listed = () if isinstance(before, msgspec.UnsetType) else before
    turn.change(last_commands=(*listed, given)[-LISTED_COMMANDS:])


def _choose_dropped(answered: dict[str, FirstAnswer]) -> str:
    """Return the id of the answer to drop.

    It is the oldest one; where there are many refusals, the oldest of the user who has most. Where
    a user vouches for logins, each person counts alone.
    """
    refused = [
        (each, (first.user, first.person)) for each, first in answered.items() if not first.accepted
    ]
    if len(refused) <= MOST_REFUSED_OF_A_USER:
        return next(iter(answered))
    counts = Counter(who for _, who in refused)
    who, most = next(iter(counts.most_common(1)), (("", msgspec.UNSET), 0))
    if most > MOST_REFUSED_OF_A_USER or len(refused) > MOST_REFUSED:
        return next(each for each, of in refused if of == who)
    return next(iter(answered))


def emit_unrecorded(turn: Turn) -> None:
    """Emit how many commands of a user were refused without being recorded."""
    refused = turn.input_of(CommandsRefused)
    since = utc(refused.since_us)
    data = {"user": refused.user, "count": refused.count, "since": since}
    if not isinstance(refused.person, msgspec.UnsetType):
        data["of_person"] = refused.person
    turn.emit_restricted("command.unrecorded", data)


Data = Mapping[str, Any]


def sentence(effects: Iterable[Effect], todo: Message, payments: Sequence[Message] = ()) -> Message:
    """Return what happened and what is to be done next: ``banker wins, 9 to 7; next: settle``.

    ``payments`` are what *settle* will pay and collect, where the command has changed that.
    """
    told = [e for e in effects if isinstance(e, TableEvent) and e.audience is Audience.PUBLIC]
    happened = [said.as_data() for said in (*_happened(told), *payments)]
    once = [said for place, said in enumerate(happened) if said not in happened[:place]]
    if not once:
        return message("done_nothing", next=todo)
    return message("done", happened=once, next=todo)


def _happened(events: list[TableEvent]) -> Iterator[Message]:
    """A message for each event; events of one kind that belong together share one."""
    kinds = {event.type for event in events}
    kept = _kept_early(events) if "irregularity.resolved" in kinds else {}
    for kind in dict.fromkeys(event.type for event in events):
        alike = [event.data for event in events if event.type == kind]
        if kind in _TOGETHER:
            yield _TOGETHER[kind](alike)
        elif kind == "table.halted" and "irregularity.raised" in kinds:
            continue  # irregularity.raised says why
        elif kind == "irregularity.step":
            yield from _exchanged(alike)
        elif kind in _EACH:
            told = _EACH[kind]
            yield from (kept.get(id(data)) or told(data) if kept else told(data) for data in alike)


def _exchanged(steps: Sequence[Data]) -> Iterator[Message]:
    """Yield which cards have changed places, and how many exchanges that makes."""
    for step in steps:
        if step.get("step") == "exchanged":
            one, other = step["moved"]
            count = max(len(each.get("exchanged", ())) for each in steps)
            yield message("done_cards_exchanged", one=one, other=other, count=count)


def _kept_early(events: Sequence[TableEvent]) -> dict[int, Message]:
    """Return what became of each card drawn early that was due: where it is laid, by its event."""
    found, waiting = {}, list[Data]()
    for event in events:
        data = event.data
        if event.type == "irregularity.resolved" and data.get("how") == "kept":
            waiting.append(data)
        elif event.type == "round.card_dealt" and waiting:
            resolved, place = waiting.pop(0), f"{data['hand']} {data['index']}"
            laid = message("done_early_card_kept", place=place, face=data["face"])
            found[id(resolved)] = laid.citing(resolved.get("rule"))
    return found


# Events that share one message, however many they are.


def _revealed(cards: Sequence[Data]) -> Message:
    hands = dict.fromkeys(str(card["hand"]) for card in cards)
    shown = [
        message("done_hand_shows", hand=hand, cards=[c["card"] for c in cards if c["hand"] == hand])
        for hand in hands
    ]
    return message("done_cards_revealed", hands=shown)


def _totals(totals: Sequence[Data]) -> Message:
    each = [message("done_total", hand=one["hand"], total=one["total"]) for one in totals]
    return message("done_totals_announced", totals=each)


def _settled(lines: Sequence[Data]) -> Message:
    """Sum up what the house pays, collects and gives back, in minor units."""
    sums = {
        name: _amount(sum((Fraction(line[name]) for line in lines), Fraction(0)))
        for name in ("pays", "collected", "returned")
    }
    pays, collected, returned = sums["pays"], sums["collected"], sums["returned"]
    if not any("commission" in line for line in lines):
        return message("done_wagers_settled", pays=pays, collected=collected, returned=returned)
    kept = sum((Fraction(line.get("commission", 0)) for line in lines), Fraction(0))
    return message(
        "done_wagers_settled_with_commission",
        pays=pays, commission=_amount(kept), collected=collected, returned=returned,
    )  # fmt: skip


def _amount(sum_of: Fraction) -> int | str:
    return sum_of.numerator if sum_of.denominator == 1 else str(sum_of)


_TOGETHER: Mapping[str, Callable[[Sequence[Data]], Message]] = {
    "round.card_revealed": _revealed,
    "round.total_announced": _totals,
    "wager.settled": _settled,
}


# Events that have a message each.


def _outcome(data: Data) -> Message:
    return outcome_message(str(data["winner"]), data["player"]["total"], data["banker"]["total"])


def _revised(data: Data) -> Message:
    if data.get("against_table"):
        told = message("done_outcome_ruled", outcome=_outcome(data))
    else:
        told = message("done_outcome_revised", outcome=_outcome(data))
    return told.citing(data.get("rule"))


def _moved(data: Data) -> Message:
    if data["hand"] is None:
        return message("done_card_not_due", hand=data["from"]["hand"])
    return message("done_card_moved", hand=data["hand"]).citing(data.get("rule"))


def _accepted(data: Data) -> Message:
    seat, wager, change = data["seat"], data["wager"], abs(int(data["change"]))
    match data["act"]:
        case "placed":
            return message("done_wager_placed", seat=seat, wager=wager, change=change)
        case "increased":
            return message(
                "done_wager_increased",
                seat=seat, wager=wager, change=change, amount=data["amount"],
            )  # fmt: skip
        case "decreased":
            return message(
                "done_wager_decreased",
                seat=seat, wager=wager, change=change, amount=data["amount"],
            )  # fmt: skip
        case "withdrawn" | "removed":
            return message("done_wager_goes_back", seat=seat, wager=wager, change=change)
        case "retracted":
            return message("done_wager_retracted", seat=seat, wager=wager, amount=data["amount"])
        case "found_late":
            return message("done_wager_found_late", seat=seat, wager=wager, change=change)
        case "taken_back":
            return message("done_wager_as_if_it_stood", seat=seat, wager=wager)
        case _:
            return message("done_wager_recorded", seat=seat, wager=wager, amount=data["amount"])


def _restricted(data: Data) -> Message:
    if data["number"] is None:
        return message("done_wagers_unrestricted")
    return message("done_wagers_restricted", number=data["number"])


def _holder(data: Data) -> Message:
    if data["holder"] == "player":
        return message("done_player_has_shoe", player=_player(data))
    return message("done_dealer_has_shoe")


def _closed_window(data: Data) -> Message:
    if data.get("whose") != "player":
        return message("done_window_closed")
    seats = list(data["seats"])
    if data["answer"] == "withdrawn":
        return message("done_seats_withdraw", seats=seats)
    return message("done_seats_stand", seats=seats)


def _resolved(data: Data) -> Message:
    how = data.get("how") or "ended"
    return message("done_irregularity_resolved", key=data["key"], how=how).citing(data.get("rule"))


def _counted(data: Data) -> Message:
    if data["agrees"]:
        return message("done_count_agrees", left=data["left"])
    return message("done_count_differs", left=data["left"])


_EACH: Mapping[str, Callable[[Data], Message]] = {
    "round.opened": lambda data: message("done_round_opened", round_id=data["round_id"]),
    "round.bets_closed": lambda _: message("done_bets_closed"),
    "round.first_hand": lambda data: message("done_first_hand", hand=data["hand"]),
    "round.card_corrected": lambda data: message("done_card_corrected", hand=data["hand"]),
    "round.card_moved": _moved,
    "round.reopened": lambda data: message("done_round_reopened").citing(data.get("rule")),
    "round.outcome": _outcome,
    "round.revised": _revised,
    "round.settled": lambda _: message("done_round_settled"),
    "round.void": lambda data: message("done_round_void").citing(data.get("rule")),
    "cards.passed": lambda data: message(
        "done_cards_passed", hand=data["hand"], player=_player(data)
    ),
    "cards.refused": lambda data: message(
        "done_cards_refused", hand=data["hand"], player=_player(data)
    ),
    "cards.retrieved": lambda data: message(
        "done_cards_retrieved", hand=data["hand"], player=_player(data)
    ),
    "cards.replaced": lambda _: message("done_cards_replaced"),
    "method.changed": lambda data: message("done_method_changed", method=data["to"]),
    "method.breached": lambda _: message("done_method_breached"),
    "wager.accepted": _accepted,
    "wager.revised": change_message,
    "wagers.restricted": _restricted,
    "withdrawal.opened": lambda data: message("done_window_opened").citing(data.get("rule")),
    "withdrawal.closed": _closed_window,
    "irregularity.raised": lambda data: message(
        "done_irregularity_raised", key=data["key"], seen=data["seen"]
    ),
    "irregularity.resolved": _resolved,
    "irregularity.retracted": lambda data: message("done_retracted", key=data["key"]),
    "table.halted": lambda data: message("done_table_halted", reason=data["reason"]),
    "table.resumed": lambda _: message("done_table_resumed"),
    "shoe.opened": lambda _: message("done_shoe_recorded"),
    "shoe.counted": _counted,
    "shoe.change_due": lambda _: message("done_change_due"),
    "shoe.loaded": lambda data: message("done_shoe_loaded", shoe_id=data["shoe_id"]),
    "shoe.holder_changed": _holder,
    "shoe.draw_allowed": lambda data: message("done_draw_allowed", player=_player(data)),
    "shoe.told": lambda data: message("done_shoe_told", command=data["command"]),
}


def _player(data: Data) -> Message:
    """Return a Player as the room knows them: by seat."""
    seat = data.get("seat")
    return message("player_not_named") if seat is None else message("player_by_seat", seat=seat)
