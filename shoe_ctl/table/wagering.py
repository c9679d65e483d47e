"""Wagers in the round: commands to the ledger, its answers told, money lines at the round's end.

In: wager commands, *no more bets*, the outcome, a void. Out: the ledger's answers, to be told.
Must not know: which state takes a command (machine.py), how the ledger decides or pays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, NamedTuple, TypeVar

import msgspec

from shoe_ctl.games.settlement import Settlement
from shoe_ctl.texts.message import Message, message

from . import arguments
from .rows import Objection, Refuse
from .turn import Turn
from .wager_events import needs_of, refuse, tell_accepted, tell_settled
from .wagers import differential, ledger
from .wagers.held import Wagers
from .wagers.limits import WagerRules
from .wagers.request import Accepted, Answered, Asked, By, Refused, Restriction, Staked
from .wagers.settling import settle as settle_wagers
from .wagers.settling import void as void_wagers
from .wording import what_is_wrong

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


class _LyingWager(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments that name a wager that lies there; its Player may be left out.

    Then it is that of the only Player who has it at the seat.
    """

    player: _Name | int | None = None
    seat: int
    wager: _Name
    on_behalf: bool = False

    def asked(self, by: By) -> Asked:
        assert self.player is not None, "whose it is was found before"
        return Asked(player=str(self.player), seat=self.seat, wager=self.wager, by=by)


class _HowMany(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of a restriction; null lifts it."""

    number: int | None


class _Act(NamedTuple):
    args: type[_WhichWager | _LyingWager]
    do: Callable[[Wagers, Any, WagerRules], Answered]


_ACTS = {
    "place_wager": _Act(_WhichStake, ledger.place),
    "increase_wager": _Act(_WhichStake, ledger.increase),
    "decrease_wager": _Act(_WhichStake, ledger.decrease),
    "withdraw_wager": _Act(_LyingWager, ledger.withdraw),
}

KINDS: Mapping[str, type[msgspec.Struct]] = {
    **{command: act.args for command, act in _ACTS.items()},
    "restrict_wagers": _HowMany,
}
"""What the commands about wagers take."""

_Args = TypeVar("_Args", bound=msgspec.Struct)


# What was seen.


def would_be_taken(turn: Turn) -> bool:
    """The ledger takes this wager as a round's first, which opens the round."""
    return isinstance(_consider(turn, ledger.open_bets(turn.now.wagers)), Accepted)


def is_taken(turn: Turn) -> bool:
    """The ledger takes what is asked of the wagers as they stand."""
    return isinstance(_consider(turn, turn.now.wagers), Accepted)


def why_not_restrict(turn: Turn) -> Objection | None:
    """What stands against a lower number of wagers per playing area."""
    answer = _restricted(turn)
    if isinstance(answer, Accepted):
        return None
    return Objection(answer.why.citing(answer.rule), needs_of(answer))


def _restricted(turn: Turn) -> Answered:
    args = _args(turn, _HowMany)
    if isinstance(args, Refused):
        return args
    asked = Restriction(number=args.number, by=by_whom(turn, on_behalf=False))
    return ledger.restrict(turn.now.wagers, asked, turn.wager_rules)


def bets_are_closed(turn: Turn) -> bool:
    """A round is open and *no more bets* was said."""
    return turn.now.wagers.betting == "closed"


def why_not_clear(turn: Turn) -> Objection | None:
    """What stands against taking all wagers back at once."""
    if not turn.game.options.clear_bets:
        return Objection(message("refused_no_clear_bets", game=turn.game.id))
    if isinstance(args := arguments.read(turn, arguments.Args), Message):
        return Objection(args)
    if turn.now.wagers.standing:
        return None
    return Objection(message("refused_no_wagers"))


# What is done.


class RefuseWager(Refuse):
    """An action that lets the ledger of wagers say why it does not take the command."""

    def __call__(self, turn: Turn) -> None:
        """Refuse it."""
        refuse_wager(turn)


refuse_by_ledger = RefuseWager()


def open_bets(turn: Turn) -> None:
    """The round takes wagers."""
    turn.change(wagers=ledger.open_bets(turn.now.wagers))


def close_bets(turn: Turn) -> None:
    """The round takes no more wagers."""
    turn.change(wagers=ledger.close_bets(turn.now.wagers))


def look_at_differential(turn: Turn) -> None:
    """Bets are closed: what exceeds the table differential is dealt with now (I 5.16, 5.18)."""
    found = differential.assess(turn.now.wagers, turn.wager_rules)
    measured = msgspec.structs.replace(turn.now.wagers, measured=(found.player, found.banker))
    turn.change(wagers=measured)
    if found.exceeded:
        turn.then("differential_due")


def differential_has_changed(turn: Turn) -> bool:
    """Main wagers that play changed after *no more bets*, and exceed the table differential."""
    wagers = turn.now.wagers
    if wagers.betting != "closed":
        return False
    found = differential.assess(wagers, turn.wager_rules)
    return found.exceeded and wagers.measured != (found.player, found.banker)


def look_at_differential_again(turn: Turn) -> None:
    """What is declared changed wagers; while something halts the table it is looked at after it."""
    if turn.now.halt is None and differential_has_changed(turn):
        look_at_differential(turn)


def change_wager(turn: Turn) -> None:
    """The ledger has taken the command: tell what it made of it."""
    take_on(turn, _consider(turn, turn.now.wagers))


def clear_bets(turn: Turn) -> None:
    """Every wager goes back: bets are still open."""
    for held in turn.now.wagers.standing:
        by = by_whom(turn, on_behalf=False)
        asked = Asked(player=held.player, seat=held.seat, wager=held.wager, by=by)
        take_on(turn, ledger.withdraw(turn.now.wagers, asked, turn.wager_rules))


def take_on(turn: Turn, answer: Answered) -> None:
    """Take on what the ledger made of a request that it takes, and tell it."""
    assert isinstance(answer, Accepted), answer
    turn.change(wagers=answer.wagers)
    if answer.entry is not None:
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
    answer = _restricted(turn)
    assert isinstance(answer, Accepted), "the row asks before"
    turn.change(wagers=answer.wagers)
    rule = turn.game.clause("wagers_per_area_lowered")
    data = {"number": answer.wagers.restriction_next, "from": "next_round", "rule": rule}
    by = by_whom(turn, on_behalf=False)
    who = {"person": by.person, "position": by.position, "why": by.reason}
    turn.tell("wagers.restricted", data, restricted={**data, **who})


def settle(turn: Turn, settlement: Settlement) -> None:
    """Collect, pay and return every wager of the finished round."""
    before = turn.now.wagers
    settled = settle_wagers(before, settlement, turn.wager_rules)
    turn.change(wagers=settled.wagers)
    tell_settled(turn, before, settled.lines)


def return_all(turn: Turn, rule: str | None) -> None:
    """The round is void under this rule: every wager goes back."""
    before = turn.now.wagers
    returned = void_wagers(before, rule, turn.wager_rules)
    turn.change(wagers=returned.wagers)
    tell_settled(turn, before, returned.lines)


def _consider(turn: Turn, wagers: Wagers) -> Answered:
    """The ledger's answer to the command."""
    act = _ACTS[turn.command.command]
    args = _args(turn, act.args)
    if isinstance(args, _LyingWager):
        args = _with_player(turn, args)
    if isinstance(args, Refused):
        return args
    return act.do(wagers, args.asked(by_whom(turn, on_behalf=args.on_behalf)), turn.wager_rules)


def named(turn: Turn) -> Asked | Refused:
    """The wager that the command names, or what is wrong with its arguments."""
    args = _args(turn, _LyingWager)
    if isinstance(args, Refused):
        return args
    args = _with_player(turn, args)
    if isinstance(args, Refused):
        return args
    return args.asked(by_whom(turn, on_behalf=args.on_behalf))


def _with_player(turn: Turn, args: _LyingWager) -> _LyingWager | Refused:
    """With the Player whose wager it is, where nobody was named."""
    whose = player_of(turn, args.player, args.seat, args.wager)
    return whose if isinstance(whose, Refused) else msgspec.structs.replace(args, player=whose)


def player_of(turn: Turn, named: str | int | None, seat: int, wager: str) -> str | Refused:
    """The Player who is named, or else the only one who has this wager at this seat."""
    if named is not None:
        return str(named)
    players = {held.player for held in turn.now.wagers.standing if held.area == (seat, wager)}
    if len(players) == 1:
        return players.pop()
    if players:
        return Refused(why=message("refused_several_with_wager", wager=wager, seat=seat))
    return Refused(why=message("refused_no_wager_at_seat", wager=wager, seat=seat))


def _args(turn: Turn, kind: type[_Args]) -> _Args | Refused:
    """The command's arguments, or what is wrong with them."""
    try:
        return msgspec.convert(turn.command.args, kind)
    except msgspec.ValidationError as error:
        return Refused(why=what_is_wrong(str(error), kind, turn.command.args))


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
