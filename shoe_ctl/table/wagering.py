"""Wagers in the round: commands to the ledger, its answers told, money lines at the round's end.

In: wager commands, *no more bets*, the outcome, a void. Out: wager.accepted .refused .settled.
Must not know: which state takes a command (machine.py), how the ledger decides or pays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, NamedTuple, TypeVar

import msgspec

from shoe_ctl.games.settlement import Settlement

from .effects import Answer
from .turn import Turn
from .wagers import ledger
from .wagers.held import Entry, Wagers
from .wagers.limits import WagerRules
from .wagers.request import Accepted, Answered, Asked, By, Refused, Restriction, Staked
from .wagers.settling import Line, line_data
from .wagers.settling import settle as settle_wagers
from .wagers.settling import void as void_wagers

_Name = Annotated[str, msgspec.Meta(min_length=1, max_length=64)]


class _WhichWager(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments that name a wager. A Player's id may be given as a number."""

    player: _Name | int
    seat: int
    wager: _Name
    on_behalf: bool = False

    def asked(self, by: By) -> Asked:
        return Asked(player=str(self.player), seat=self.seat, wager=self.wager, by=by)


class _WhichStake(_WhichWager, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments that name a wager and an amount, in minor units."""

    amount: int

    def asked(self, by: By) -> Staked:
        return Staked(
            player=str(self.player), seat=self.seat, wager=self.wager, by=by, amount=self.amount
        )


class _HowMany(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of a restriction; null lifts it."""

    number: int | None


class _Act(NamedTuple):
    args: type[_WhichWager]
    do: Callable[[Wagers, Any, WagerRules], Answered]


_ACTS = {
    "place_wager": _Act(_WhichStake, ledger.place),
    "increase_wager": _Act(_WhichStake, ledger.increase),
    "decrease_wager": _Act(_WhichStake, ledger.decrease),
    "withdraw_wager": _Act(_WhichWager, ledger.withdraw),
}

_Args = TypeVar("_Args", bound=msgspec.Struct)


# What was seen.


def would_be_taken(turn: Turn) -> bool:
    """The ledger takes this wager as a round's first, which opens the round."""
    return isinstance(_consider(turn, ledger.open_bets(turn.now.wagers)), Accepted)


def bets_are_closed(turn: Turn) -> bool:
    """A round is open and *no more bets* was said."""
    return turn.now.wagers.betting == "closed"


# What is done.


def open_bets(turn: Turn) -> None:
    """The round takes wagers."""
    turn.change(wagers=ledger.open_bets(turn.now.wagers))


def close_bets(turn: Turn) -> None:
    """The round takes no more wagers."""
    turn.change(wagers=ledger.close_bets(turn.now.wagers))


def change_wager(turn: Turn) -> None:
    """Hand the command to the ledger and tell what it made of it."""
    answer = _consider(turn, turn.now.wagers)
    if isinstance(answer, Refused):
        refuse(turn, answer)
        return
    turn.change(wagers=answer.wagers)
    assert answer.entry is not None, "only a restriction has none"
    tell_accepted(turn, answer.entry)


def refuse_wager(turn: Turn) -> None:
    """Tell why the ledger does not take the command, now or, where it could be, as a first."""
    now = turn.now.wagers
    opens = turn.implied and turn.source == "idle"
    answer = _consider(turn, ledger.open_bets(now) if opens else now)
    assert isinstance(answer, Refused), "the row above takes it"
    refuse(turn, answer)


def restrict(turn: Turn) -> None:
    """A Pit Manager's lower number of wagers per playing area, from the next round."""
    args = _args(turn, _HowMany)
    if isinstance(args, Refused):
        turn.refuse(_error(turn, args))
        return
    asked = Restriction(number=args.number, by=by_whom(turn, on_behalf=False))
    answer = ledger.restrict(turn.now.wagers, asked, turn.wager_rules)
    if isinstance(answer, Refused):
        turn.refuse(_error(turn, answer), **_needs(answer))
        return
    turn.change(wagers=answer.wagers)
    rule = turn.game.clause("wagers_per_area_lowered")
    data = {"number": args.number, "from": "the next round", "rule": rule}
    by = asked.by
    who = {"person": by.person, "position": by.position, "why": by.reason}
    turn.tell("wagers.restricted", data, restricted={**data, **who})


def settle(turn: Turn, settlement: Settlement) -> None:
    """Collect, pay and return every wager of the finished round."""
    settled = settle_wagers(turn.now.wagers, settlement, turn.wager_rules)
    turn.change(wagers=settled.wagers)
    _tell_settled(turn, settled.lines)


def return_all(turn: Turn, rule: str | None) -> None:
    """The round is void under this rule: every wager goes back."""
    returned = void_wagers(turn.now.wagers, rule, turn.wager_rules)
    turn.change(wagers=returned.wagers)
    _tell_settled(turn, returned.lines)


def _consider(turn: Turn, wagers: Wagers) -> Answered:
    """The ledger's answer to the command."""
    act = _ACTS[turn.command.command]
    args = _args(turn, act.args)
    if isinstance(args, Refused):
        return args
    return act.do(wagers, args.asked(by_whom(turn, on_behalf=args.on_behalf)), turn.wager_rules)


def named(turn: Turn) -> Asked | Refused:
    """The wager that the command names, or what is wrong with its arguments."""
    args = _args(turn, _WhichWager)
    if isinstance(args, Refused):
        return args
    return args.asked(by_whom(turn, on_behalf=args.on_behalf))


def _args(turn: Turn, kind: type[_Args]) -> _Args | Refused:
    """The command's arguments, or what is wrong with them."""
    try:
        return msgspec.convert(turn.command.args, kind)
    except msgspec.ValidationError as error:
        return Refused(why=str(error))


def by_whom(turn: Turn, *, on_behalf: bool) -> By:
    """Who gives the command, as the ledger keeps it."""
    command = turn.command
    return By(
        person=command.person,
        position=command.position,
        t_us=turn.now.t_us,
        on_behalf=on_behalf,
        reason=command.reason,
    )


# What is told: in public what lies on the felt, never whose it is.


def tell_accepted(turn: Turn, entry: Entry) -> None:
    """Tell of a line of the history of wagers."""
    data = {
        "round_id": turn.round.id,
        "number": entry.wager_number,
        "act": entry.act,
        "seat": entry.seat,
        "wager": entry.wager,
        "change": entry.change,
        "amount": entry.amount,
    }
    secret = {
        "player": entry.player,
        "person": entry.person,
        "position": entry.position,
        "on_behalf": entry.on_behalf,
        "why": entry.reason,
        "rule": entry.rule,
    }
    turn.tell("wager.accepted", data, restricted={**data, **secret})


def refuse(turn: Turn, refused: Refused) -> None:
    """Refuse the command; wager.refused stands for command.refused and says under which rule."""
    command = turn.command
    turn.refusal = Answer(
        command_id=command.command_id,
        accepted=False,
        error=_error(turn, refused),
        needs=_needs(refused),
    )
    data = {
        "command_id": command.command_id,
        "command": command.command,
        "round_id": None if turn.now.round is None else turn.now.round.id,
        "asked": {
            name: value
            for name, value in command.args.items()
            if value is None or isinstance(value, str | int)
        },
        "error": refused.why,
        "rule": refused.rule,
        "person": command.person,
        "position": command.position,
    }
    turn.tell_restricted("wager.refused", data)


def _error(turn: Turn, refused: Refused) -> str:
    cited = "" if refused.rule is None else f" ({refused.rule})"
    return f"{turn.command.command}: {refused.why}{cited}"


def _needs(refused: Refused) -> dict[str, str]:
    return {} if refused.position is None else {"position": refused.position}


def _tell_settled(turn: Turn, lines: tuple[Line, ...]) -> None:
    for line in lines:
        secret = {"round_id": turn.round.id, **line_data(line)}
        public = {name: value for name, value in secret.items() if name != "player"}
        turn.tell("wager.settled", public, restricted=secret)
