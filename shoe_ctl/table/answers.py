"""Answers to commands: one sentence about what happened, and answers that are given again.

In: a command, its public events. Out: a line of text; the answer that a repeated command gets.
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

from .effects import Answer, Effect, TableEvent
from .inputs import CommandsRefused, TableCommand
from .state import FirstAnswer
from .turn import Turn

REMEMBERED_COMMANDS = 256
"""How many answers are kept for commands that are repeated: more than an hour of play needs."""

MOST_REFUSED = 128
"""How many of them may be refusals, so that refusals do not push out the accepted ones."""

MOST_REFUSED_OF_A_USER = 64
"""How many of them may be refusals of one user."""

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


def check_command_id(answered: Mapping[str, FirstAnswer], command: TableCommand) -> str | None:
    """Return the refusal if the id of this command was used before for another command."""
    first = answered.get(command.command_id)
    if first is None:
        return None
    named = f"command_id {command.command_id} was used before"
    if first.user != command.user:
        return f"{named}, by another user: give each command an id of its own"
    if first.digest != digest(command):
        return f"{named}, for another command: give each command an id of its own"
    return None


def first_answer(command: TableCommand, answer: Answer) -> FirstAnswer:
    """Return the answer as it is kept for a repetition of the command."""
    return FirstAnswer(**msgspec.structs.asdict(answer), user=command.user, digest=digest(command))


def remember(turn: Turn, command: TableCommand, answer: Answer) -> None:
    """Keep the answer for a repetition of the command; drop one if there are too many."""
    answered = {**turn.now.answered, command.command_id: first_answer(command, answer)}
    if len(answered) > REMEMBERED_COMMANDS:
        del answered[_choose_dropped(answered)]
    turn.change(answered=answered)


def _choose_dropped(answered: dict[str, FirstAnswer]) -> str:
    """Return the id of the answer to drop.

    It is the oldest one; where there are many refusals, the oldest of the user who has most.
    """
    refused = [(each, first.user) for each, first in answered.items() if not first.accepted]
    if len(refused) <= MOST_REFUSED_OF_A_USER:
        return next(iter(answered))
    counts = Counter(user for _, user in refused)
    user, most = next(iter(counts.most_common(1)), ("", 0))
    if most > MOST_REFUSED_OF_A_USER or len(refused) > MOST_REFUSED:
        return next(each for each, of in refused if of == user)
    return next(iter(answered))


def emit_unrecorded(turn: Turn) -> None:
    """Emit how many commands of a user were refused without being recorded."""
    refused = turn.happened
    assert isinstance(refused, CommandsRefused)
    since = utc(refused.since_us)
    data = {"user": refused.user, "count": refused.count, "since": since}
    turn.tell_restricted("command.unrecorded", data)


Data = Mapping[str, Any]


def sentence(effects: Iterable[Effect], todo: str) -> str:
    """Return what happened and what is to be done next: ``banker wins, 9 to 7; next: settle``."""
    public = [e for e in effects if isinstance(e, TableEvent) and e.audience is Audience.PUBLIC]
    clauses = [clause for clause in _clauses(public) if clause]
    return "; ".join([*dict.fromkeys(clauses), f"next: {todo}"])


def _clauses(events: list[TableEvent]) -> Iterator[str]:
    """Yield the events in words; events of one type that belong together are one clause."""
    kinds = {event.type for event in events}
    for kind in dict.fromkeys(event.type for event in events):
        alike = [event.data for event in events if event.type == kind]
        if kind in _TOGETHER:
            yield _TOGETHER[kind](alike)
        elif kind == "table.halted" and "irregularity.raised" in kinds:
            continue  # irregularity.raised says why
        elif kind in _EACH:
            yield from map(_EACH[kind], alike)


# Events of one type that make one clause.


def _revealed(cards: Sequence[Data]) -> str:
    hands = dict.fromkeys(str(card["hand"]) for card in cards)
    shown = (
        f"{_hand(hand)} shows {' '.join(str(c['card']) for c in cards if c['hand'] == hand)}"
        for hand in hands
    )
    return ", ".join(shown)


def _totals(totals: Sequence[Data]) -> str:
    return ", ".join(f"{_hand(one['hand'])} {one['total']}" for one in totals)


def _settled(lines: Sequence[Data]) -> str:
    """Sum up what the house pays, collects and gives back, in minor units."""
    sums = {
        name: sum((Fraction(line[name]) for line in lines), Fraction(0))
        for name in ("pays", "collected", "returned")
    }
    kept = sum((Fraction(line.get("commission", 0)) for line in lines), Fraction(0))
    commission = f", commission {kept}" if any("commission" in line for line in lines) else ""
    paid = f"{sums['pays']} paid{commission}"
    return f"{paid}, {sums['collected']} collected, {sums['returned']} given back"


_TOGETHER: Mapping[str, Callable[[Sequence[Data]], str]] = {
    "round.card_revealed": _revealed,
    "round.total_announced": _totals,
    "wager.settled": _settled,
}


# Events that make one clause each.


def _outcome(data: Data) -> str:
    totals = {hand: data[hand]["total"] for hand in ("player", "banker")}
    winner = str(data["winner"])
    if winner == "tie":
        return f"tie, {totals['player']} to {totals['banker']}"
    loser = "banker" if winner == "player" else "player"
    return f"{winner} wins, {totals[winner]} to {totals[loser]}"


def _void(data: Data) -> str:
    return f"the round is void{_cited(data)}, all wagers go back"


def _revised(data: Data) -> str:
    return f"the outcome is revised{_cited(data)}: {_outcome(data)}"


def _accepted(data: Data) -> str:
    seat, wager, change = f"seat {data['seat']}", data["wager"], abs(int(data["change"]))
    match data["act"]:
        case "placed":
            return f"{seat}: {change} on {wager}"
        case "increased":
            return f"{seat}: {change} more on {wager}, now {data['amount']}"
        case "decreased":
            return f"{seat}: {change} less on {wager}, now {data['amount']}"
        case "withdrawn" | "removed":
            return f"{seat}: {change} on {wager} goes back"
        case "found_late":
            return f"{seat}: {change} on {wager} is late and is not honoured"
        case "taken_back":
            return f"{seat}: {wager} is settled as if it stood"
        case _:
            return f"{seat}: {wager} is recorded, {data['amount']} plays"


def _restricted(data: Data) -> str:
    if data["number"] is None:
        return "from the next round the number of wagers is not restricted"
    return f"from the next round an area takes {data['number']} wagers at most"


def _passed(data: Data) -> str:
    return f"{_hand(data['hand'])}'s cards are with {_seat_words(data)}"


def _not_taken(data: Data) -> str:
    return f"{_seat_words(data)} does not take {_hand(data['hand'])}'s cards"


def _taken_back(data: Data) -> str:
    return f"{_hand(data['hand'])}'s cards are taken back from {_seat_words(data)}"


def _holder(data: Data) -> str:
    return (
        f"{_seat_words(data)} has the shoe"
        if data["holder"] == "player"
        else "the dealer has the shoe"
    )


def _opened_window(data: Data) -> str:
    return f"a withdrawal window is open{_cited(data)}"


def _closed_window(data: Data) -> str:
    if data.get("whose") != "player":
        return "the withdrawal window is closed"
    seats = ", ".join(map(str, data["seats"]))
    did = "withdraws" if data["answer"] == "withdrawn" else "lets the wagers stand"
    return f"seat {seats} {did}"


def _raised(data: Data) -> str:
    return f"{data['key']}: {data['seen']}"


def _resolved(data: Data) -> str:
    how = str(data.get("how") or "ended").replace("_", " ")
    return f"{data['key']}: {how}{_cited(data)}"


def _counted(data: Data) -> str:
    agrees = "agrees with the table" if data["agrees"] else "does not agree with the table"
    return f"{data['left']} cards are left, which {agrees}"


def _template(text: str) -> Callable[[Data], str]:
    """Return a function that fills values of the event into the text, by name."""
    return text.format_map


_EACH: Mapping[str, Callable[[Data], str]] = {
    "round.opened": _template("round {round_id} is open"),
    "round.bets_closed": _template("bets are closed"),
    "round.first_hand": lambda data: f"{_hand(data['hand'])}'s cards are turned first",
    "round.card_corrected": lambda data: f"{_hand(data['hand'])}'s card is corrected",
    "round.outcome": _outcome,
    "round.revised": _revised,
    "round.settled": _template("the round is settled"),
    "round.void": _void,
    "cards.passed": _passed,
    "cards.refused": _not_taken,
    "cards.retrieved": _taken_back,
    "cards.replaced": _template("the cards are replaced"),
    "method.changed": _template("Method {to} is played from now on"),
    "method.breached": _template("it is recorded: the shoe was out of full view"),
    "wager.accepted": _accepted,
    "wager.revised": lambda data: f"seat {data['seat']}: {data['wager']} is settled anew",
    "wagers.restricted": _restricted,
    "withdrawal.opened": _opened_window,
    "withdrawal.closed": _closed_window,
    "irregularity.raised": _raised,
    "irregularity.resolved": _resolved,
    "table.halted": _template("the table is halted: {reason}"),
    "table.resumed": _template("play goes on"),
    "shoe.opened": _template("how the shoe was put in is recorded"),
    "shoe.counted": _counted,
    "shoe.change_due": _template("no further round is dealt from these cards"),
    "shoe.loaded": _template("the next cards are {shoe_id}"),
    "shoe.holder_changed": _holder,
    "shoe.draw_allowed": lambda data: f"{_seat_words(data)} may draw without a wager",
    "shoe.told": lambda data: f"the shoe is told: {str(data['command']).replace('_', ' ')}",
}


def _hand(hand: object) -> str:
    return str(hand).capitalize()


def _seat_words(data: Data) -> str:
    seat = data.get("seat")
    return "the Player" if seat is None else f"seat {seat}"


def _cited(data: Data) -> str:
    rule = data.get("rule")
    return "" if rule is None else f" ({rule})"
