"""Wagers in the round: commands to the ledger, its answers told, money lines at the round's end.

In: wager commands, *no more bets*, the outcome, a void. Out: the ledger's answers, to be told.
Must not know: which state takes a command, how the ledger decides or pays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, NamedTuple

import msgspec

from shoe_ctl.games.settlement import Settlement
from shoe_ctl.texts.message import Message, message

from . import arguments, link_facts
from .rows import Objection
from .turn import Turn
from .wager_events import needs_of, refuse, tell_accepted, tell_settled
from .wagers import differential, ledger
from .wagers.held import Wagers
from .wagers.limits import WagerRules
from .wagers.request import Accepted, Answered, Asked, By, Refused, Restriction, Staked
from .wagers.settling import after_round
from .wagers.settling import settle as settle_wagers
from .wagers.settling import void as void_wagers
from .wording import what_is_wrong

_Name = Annotated[str, msgspec.Meta(min_length=1, max_length=64)]


class _NamedWager(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments that name a wager. A Player's id may be given as a number."""

    player: _Name | int
    seat: int
    wager: _Name
    on_behalf: bool = False

    def asked(self, by: By) -> Asked:
        return Asked(player=str(self.player), seat=self.seat, wager=self.wager, by=by)


class NewStake(_NamedWager, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments that name a wager and an amount, in minor units."""

    amount: int

    def asked(self, by: By) -> Staked:
        return Staked(
            player=str(self.player), seat=self.seat, wager=self.wager, by=by, amount=self.amount
        )


class StandingWager(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
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


class AreaRestriction(arguments.Args, frozen=True, kw_only=True):
    """Arguments of a restriction; null lifts it."""

    number: int | None


class _Act(NamedTuple):
    """``offered``: what stands against it, whatever wager is named."""

    args: type[_NamedWager | StandingWager]
    do: Callable[[Wagers, Any, WagerRules], Answered]
    offered: Callable[[Wagers, WagerRules], Refused | None]


_ACTS = {
    "place_wager": _Act(NewStake, ledger.place, ledger.check_placing),
    "increase_wager": _Act(NewStake, ledger.increase, ledger.check_increasing),
    "decrease_wager": _Act(NewStake, ledger.decrease, ledger.check_decreasing),
    "withdraw_wager": _Act(StandingWager, ledger.withdraw, ledger.check_withdrawing),
}


# What was seen. Each check is asked with what is given, or with None: of whatever is given.


def check_change(command: str, turn: Turn, given: Mapping[str, Any] | None) -> Objection | None:
    """What the ledger has against a command about wagers."""
    wagers = _opened(turn)
    if given is None:
        refused = _ACTS[command].offered(wagers, turn.wager_rules)
        return None if refused is None else objection(refused)
    answer = _consider(turn, wagers)
    return objection(answer) if isinstance(answer, Refused) else None


def check_placing(turn: Turn, given: Mapping[str, Any] | None) -> Objection | Message | None:
    """The same; where announcements are implied a round's first wager opens it."""
    first = turn.state == "idle" and turn.implied
    unaligned = link_facts.check_aligned(turn) if first else None
    return unaligned or check_change("place_wager", turn, given)


def check_increasing(turn: Turn, given: Mapping[str, Any] | None) -> Objection | None:
    """The same of more on a wager."""
    return check_change("increase_wager", turn, given)


def check_decreasing(turn: Turn, given: Mapping[str, Any] | None) -> Objection | None:
    """The same of less on a wager."""
    return check_change("decrease_wager", turn, given)


def out_of_time(turn: Turn) -> Objection | None:
    """What the ledger says in a state in which no wager changes; while halted, of closed bets."""
    halted = turn.state == "suspended" and not bets_are_closed(turn)
    if halted or turn.state == "no_shoe":
        return None
    return check_change(turn.command.command, turn, turn.command.args)


def _opened(turn: Turn) -> Wagers:
    """The wagers as they stand, or, where the first would open the round, as they would then."""
    opens = turn.implied and turn.state == "idle"
    return ledger.open_bets(turn.now.wagers) if opens else turn.now.wagers


def objection(refused: Refused) -> Objection:
    """What the ledger has against a command, told as an event of wagers."""

    def tell(turn: Turn) -> None:
        refuse(turn, refused)

    return Objection(refused.why, needs_of(refused), tell)


def check_restriction(turn: Turn, args: AreaRestriction | None) -> Objection | None:
    """What stands against a lower number of wagers per playing area."""
    if args is None:
        if turn.game.limits.lowered_by is not None:
            return None
        return Objection(message("refused_no_restriction_in_game", game=turn.game.id))
    answer = _restricted(turn, args)
    if isinstance(answer, Accepted):
        return None
    return Objection(answer.why.citing(answer.rule), needs_of(answer))


def _restricted(turn: Turn, args: AreaRestriction) -> Answered:
    asked = Restriction(number=args.number, by=by_whom(turn, on_behalf=False))
    return ledger.restrict(turn.now.wagers, asked, turn.wager_rules)


def rule_of_restricting(turn: Turn, _args: object = None) -> str | None:
    """The rule that leaves it to a Pit Manager how many wagers an area takes."""
    return turn.game.clause("wagers_per_area_lowered")


def bets_are_closed(turn: Turn) -> bool:
    """A round is open and *no more bets* was said."""
    return turn.now.wagers.betting == "closed"


def check_clearing(turn: Turn, _args: object = None) -> Message | None:
    """What stands against taking all wagers back at once."""
    if not turn.game.options.clear_bets:
        return message("refused_no_clear_bets", game=turn.game.id)
    return None if turn.now.wagers.standing else message("refused_no_wagers")


# What is done.


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


def place(turn: Turn) -> None:
    """A wager is placed; where announcements are implied a round's first one opens it."""
    if turn.state == "idle":
        turn.then("first_wager")
    else:
        change_wager(turn)


def change_wager(turn: Turn) -> None:
    """The ledger takes the command: tell what it makes of it."""
    act = _ACTS[turn.command.command]
    take_on(turn, act.do(turn.now.wagers, turn.args, turn.wager_rules))


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


def restrict(turn: Turn) -> None:
    """A Pit Manager's lower number of wagers per playing area, from the next round."""
    answer = _restricted(turn, arguments.checked(turn, AreaRestriction))
    assert isinstance(answer, Accepted), "the check asks before"
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


def settle_none(turn: Turn) -> None:
    """The round is finished, and no wager stands in it."""
    turn.change(wagers=after_round(turn.now.wagers))


def return_all(turn: Turn, rule: str | None) -> None:
    """The round is void under this rule: every wager goes back."""
    before = turn.now.wagers
    returned = void_wagers(before, rule, turn.wager_rules)
    turn.change(wagers=returned.wagers)
    tell_settled(turn, before, returned.lines)


def _consider(turn: Turn, wagers: Wagers) -> Answered:
    """The ledger's answer to the command."""
    act = _ACTS[turn.command.command]
    asked = read_request(turn, act.args)
    return asked if isinstance(asked, Refused) else act.do(wagers, asked, turn.wager_rules)


def read_request(
    turn: Turn, kind: type[_NamedWager | StandingWager] = StandingWager
) -> Asked | Refused:
    """Read what is asked of the ledger and keep it with the turn, or say what is wrong with it."""
    try:
        args = msgspec.convert(turn.command.args, kind)
    except msgspec.ValidationError as error:
        return Refused(why=what_is_wrong(str(error), kind, turn.command.args))
    if isinstance(args, StandingWager):
        whose = _with_player(turn, args)
        if isinstance(whose, Refused):
            return whose
        args = whose
    asked = args.asked(by_whom(turn, on_behalf=args.on_behalf))
    turn.args = asked
    return asked


def _with_player(turn: Turn, args: StandingWager) -> StandingWager | Refused:
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
