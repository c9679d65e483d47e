"""Wagers in the round: commands to the ledger, its answers told, money lines at the round's end.

In: wager commands, *no more bets*, the outcome, a void. Out: the ledger's answers, to be told.
Must not know: which state takes a command, how the ledger decides or pays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, NamedTuple

import msgspec

from shoe_ctl.games.settlement import Settlement

from .. import arguments
from ..arguments import explain_bad_args
from ..effects import Answer
from ..shoe import link
from ..turn import Objection, Turn
from . import differential
from . import ledger as wager_ledger
from .limits import WagerRules
from .settlement import SettlementLine, line_data, return_all_wagers, settle_all
from .types import (
    Accepted,
    AmountRequest,
    LedgerAnswer,
    LedgerEntry,
    Refused,
    Restriction,
    WagerActor,
    WagerRequest,
    Wagers,
)

_TRIED = {
    "late_wager": "a wager was to be placed after no more bets",
    "late_withdrawal": "a wager was to be withdrawn after no more bets",
}
"""What the room sees where a command is refused for being late."""


def emit_accepted(turn: Turn, entry: LedgerEntry) -> None:
    """The ledger took a request."""
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


def refuse_with_rule(turn: Turn, refused: Refused) -> None:
    """Refuse the command; wager.refused stands for command.refused and says under which rule.

    One that came too late is an irregularity, and ends with its refusal.
    """
    command = turn.command
    turn.refusal = Answer(
        command_id=command.command_id,
        accepted=False,
        error=refusal_text(turn, refused),
        needs=needs_of(refused),
    )
    asked = {
        name: value
        for name, value in command.args.items()
        if value is None or isinstance(value, str | int)
    }
    data = {
        "command_id": command.command_id,
        "command": command.command,
        "round_id": None if turn.now.round is None else turn.now.round.id,
        "asked": asked,
        "error": refused.why,
        "rule": refused.rule,
        "person": command.person,
        "position": command.position,
    }
    turn.tell_restricted("wager.refused", data)
    if (key := refused.irregularity) is not None:
        of = {name: asked[name] for name in ("seat", "wager")}
        emit_raised(turn, key, _TRIED[key], of, asked=asked, command_id=command.command_id)
        emit_resolved(turn, key, "refused", refused.rule, of)


def refusal_text(turn: Turn, refused: Refused) -> str:
    """A refusal in one line, with its rule."""
    cited = "" if refused.rule is None else f" ({refused.rule})"
    return f"{turn.command.command}: {refused.why}{cited}"


def needs_of(refused: Refused) -> dict[str, str]:
    """The position that the command needs, if it is that."""
    return {} if refused.position is None else {"position": refused.position}


def emit_settled(turn: Turn, before: Wagers, lines: tuple[SettlementLine, ...]) -> None:
    """Every wager is settled or returned, and with it what was declared of it in the round."""
    stood = {held.number: held for held in before.standing}
    for line in lines:
        secret = {"round_id": turn.round.id, **line_data(line)}
        public = {name: value for name, value in secret.items() if name != "player"}
        turn.tell("wager.settled", public, restricted=secret)
        key = stood[line.number].declared
        if key is not None:
            how, rule = _how_it_ended(key, line)
            of = {"seat": line.seat, "wager": line.wager}
            emit_resolved(turn, key, how, rule, of, player=line.player)


def _how_it_ended(key: str, line: SettlementLine) -> tuple[str, str | None]:
    """The end that the settlement gave it; where the wager did not play, what came of that."""
    ends = [applied for applied in line.applied if applied.key == key]
    return (ends[0].end, ends[0].rule) if ends else (line.result, line.rule)


# What is wrong with a wager and halts nothing.


def emit_raised(
    turn: Turn, key: str, seen: str, of: dict[str, Any], /, **restricted: object
) -> None:
    """Something is wrong with wagers; ``of`` is what the room may know of which."""
    data = {"key": key, "seen": seen, "rules": dict(turn.game.irregularities[key]), **of}
    turn.tell("irregularity.raised", data, restricted={**data, **restricted, **turn.actor()})


def emit_resolved(
    turn: Turn, key: str, how: str, rule: str | None, of: dict[str, Any], /, **restricted: object
) -> None:
    """How it ended, under which rule."""
    data = {"key": key, "how": how, "rule": rule, **of}
    turn.tell("irregularity.resolved", data, restricted={**data, **restricted})


_Name = Annotated[str, msgspec.Meta(min_length=1, max_length=64)]


class _NamedWager(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments that name a wager. A Player's id may be given as a number."""

    player: _Name | int
    seat: int
    wager: _Name
    on_behalf: bool = False

    def asked(self, by: WagerActor) -> WagerRequest:
        return WagerRequest(player=str(self.player), seat=self.seat, wager=self.wager, by=by)


class NewStake(_NamedWager, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments that name a wager and an amount, in minor units."""

    amount: int

    def asked(self, by: WagerActor) -> AmountRequest:
        return AmountRequest(
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

    def asked(self, by: WagerActor) -> WagerRequest:
        assert self.player is not None, "whose it is was found before"
        return WagerRequest(player=str(self.player), seat=self.seat, wager=self.wager, by=by)


class AreaRestriction(arguments.NoArgs, frozen=True, kw_only=True):
    """Arguments of a restriction; null lifts it."""

    number: int | None


class _Act(NamedTuple):
    """``offered``: what stands against it, whatever wager is named."""

    args: type[_NamedWager | StandingWager]
    do: Callable[[Wagers, Any, WagerRules], LedgerAnswer]
    offered: Callable[[Wagers, WagerRules], Refused | None]


_ACTS = {
    "place_wager": _Act(NewStake, wager_ledger.place, wager_ledger.check_placing),
    "increase_wager": _Act(NewStake, wager_ledger.increase, wager_ledger.check_increasing),
    "decrease_wager": _Act(NewStake, wager_ledger.decrease, wager_ledger.check_decreasing),
    "withdraw_wager": _Act(StandingWager, wager_ledger.withdraw, wager_ledger.check_withdrawing),
}


# What was seen. Each check is asked with what is given, or with None: of whatever is given.


def check_change(command: str, turn: Turn, given: Mapping[str, Any] | None) -> Objection | None:
    """What the ledger has against a command about wagers."""
    wagers = _opened(turn)
    if given is None:
        refused = _ACTS[command].offered(wagers, turn.wager_rules)
        return None if refused is None else objection(refused)
    answer = _ask_ledger(turn, wagers)
    return objection(answer) if isinstance(answer, Refused) else None


def check_placing(turn: Turn, given: Mapping[str, Any] | None) -> Objection | str | None:
    """The same; where announcements are implied a round's first wager opens it."""
    first = turn.state == "idle" and turn.implied
    unaligned = link.check_aligned(turn) if first else None
    return unaligned or check_change("place_wager", turn, given)


def check_increasing(turn: Turn, given: Mapping[str, Any] | None) -> Objection | None:
    """The same of more on a wager."""
    return check_change("increase_wager", turn, given)


def check_decreasing(turn: Turn, given: Mapping[str, Any] | None) -> Objection | None:
    """The same of less on a wager."""
    return check_change("decrease_wager", turn, given)


def check_out_of_time(turn: Turn) -> Objection | None:
    """What the ledger says in a state in which no wager changes; while halted, of closed bets."""
    halted = turn.state == "suspended" and not are_bets_closed(turn)
    if halted or turn.state == "no_shoe":
        return None
    return check_change(turn.command.command, turn, turn.command.args)


def _opened(turn: Turn) -> Wagers:
    """The wagers as they stand, or, where the first would open the round, as they would then."""
    opens = turn.implied and turn.state == "idle"
    return wager_ledger.open_bets(turn.now.wagers) if opens else turn.now.wagers


def objection(refused: Refused) -> Objection:
    """What the ledger has against a command, told as an event of wagers."""

    def tell(turn: Turn) -> None:
        refuse_with_rule(turn, refused)

    return Objection(refused.why, needs_of(refused), tell)


def check_restriction(turn: Turn, args: AreaRestriction | None) -> Objection | None:
    """What stands against a lower number of wagers per playing area."""
    if args is None:
        nobody = turn.game.limits.lowered_by is None
        return Objection("nobody may restrict the number of wagers") if nobody else None
    answer = _restricted(turn, args)
    if isinstance(answer, Accepted):
        return None
    return Objection(arguments.with_rule(answer.why, answer.rule), needs_of(answer))


def _restricted(turn: Turn, args: AreaRestriction) -> LedgerAnswer:
    asked = Restriction(number=args.number, by=ledger_actor(turn, on_behalf=False))
    return wager_ledger.restrict(turn.now.wagers, asked, turn.wager_rules)


def restriction_rule(turn: Turn, _args: object = None) -> str | None:
    """The rule that leaves it to a Pit Manager how many wagers an area takes."""
    return turn.game.clause("wagers_per_area_lowered")


def are_bets_closed(turn: Turn) -> bool:
    """A round is open and *no more bets* was said."""
    return turn.now.wagers.betting == "closed"


def check_clearing(turn: Turn, _args: object = None) -> str | None:
    """What stands against taking all wagers back at once."""
    if not turn.game.options.clear_bets:
        return f"in {turn.game.id} wagers are withdrawn one by one"
    return None if turn.now.wagers.standing else "no wagers lie on the layout"


# What is done.


def open_bets(turn: Turn) -> None:
    """The round takes wagers."""
    turn.change(wagers=wager_ledger.open_bets(turn.now.wagers))


def close_bets(turn: Turn) -> None:
    """The round takes no more wagers."""
    turn.change(wagers=wager_ledger.close_bets(turn.now.wagers))


def measure_differential(turn: Turn) -> None:
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


def measure_differential_again(turn: Turn) -> None:
    """What is declared changed wagers; while something halts the table it is looked at after it."""
    if turn.now.halt is None and differential_has_changed(turn):
        measure_differential(turn)


def place(turn: Turn) -> None:
    """A wager is placed; where announcements are implied a round's first one opens it."""
    if turn.state == "idle":
        turn.then("first_wager")
    else:
        apply_wager(turn)


def apply_wager(turn: Turn) -> None:
    """The ledger takes the command: tell what it makes of it."""
    act = _ACTS[turn.command.command]
    accept_wagers(turn, act.do(turn.now.wagers, turn.args, turn.wager_rules))


def clear_bets(turn: Turn) -> None:
    """Every wager goes back: bets are still open."""
    for held in turn.now.wagers.standing:
        by = ledger_actor(turn, on_behalf=False)
        asked = WagerRequest(player=held.player, seat=held.seat, wager=held.wager, by=by)
        accept_wagers(turn, wager_ledger.withdraw(turn.now.wagers, asked, turn.wager_rules))


def accept_wagers(turn: Turn, answer: LedgerAnswer) -> None:
    """Take on what the ledger made of a request that it takes, and tell it."""
    assert isinstance(answer, Accepted), answer
    turn.change(wagers=answer.wagers)
    if answer.entry is not None:
        emit_accepted(turn, answer.entry)


def restrict_wagers(turn: Turn) -> None:
    """A Pit Manager's lower number of wagers per playing area, from the next round."""
    answer = _restricted(turn, arguments.require_args(turn, AreaRestriction))
    assert isinstance(answer, Accepted), "the check asks before"
    turn.change(wagers=answer.wagers)
    rule = turn.game.clause("wagers_per_area_lowered")
    data = {"number": answer.wagers.restriction_next, "from": "the next round", "rule": rule}
    by = ledger_actor(turn, on_behalf=False)
    who = {"person": by.person, "position": by.position, "why": by.reason}
    turn.tell("wagers.restricted", data, restricted={**data, **who})


def settle_wagers(turn: Turn, settlement: Settlement) -> None:
    """Collect, pay and return every wager of the finished round."""
    before = turn.now.wagers
    settled = settle_all(before, settlement, turn.wager_rules)
    turn.change(wagers=settled.wagers)
    emit_settled(turn, before, settled.lines)


def return_all(turn: Turn, rule: str | None) -> None:
    """The round is void under this rule: every wager goes back."""
    before = turn.now.wagers
    returned = return_all_wagers(before, rule, turn.wager_rules)
    turn.change(wagers=returned.wagers)
    emit_settled(turn, before, returned.lines)


def _ask_ledger(turn: Turn, wagers: Wagers) -> LedgerAnswer:
    """The ledger's answer to the command."""
    act = _ACTS[turn.command.command]
    asked = read_request(turn, act.args)
    return asked if isinstance(asked, Refused) else act.do(wagers, asked, turn.wager_rules)


def read_request(
    turn: Turn, kind: type[_NamedWager | StandingWager] = StandingWager
) -> WagerRequest | Refused:
    """Read what is asked of the ledger and keep it with the turn, or say what is wrong with it."""
    try:
        args = msgspec.convert(turn.command.args, kind)
    except msgspec.ValidationError as error:
        return Refused(why=explain_bad_args(str(error), kind, turn.command.args))
    if isinstance(args, StandingWager):
        whose = _with_player(turn, args)
        if isinstance(whose, Refused):
            return whose
        args = whose
    asked = args.asked(ledger_actor(turn, on_behalf=args.on_behalf))
    turn.args = asked
    return asked


def _with_player(turn: Turn, args: StandingWager) -> StandingWager | Refused:
    """With the Player whose wager it is, where nobody was named."""
    whose = find_wager_player(turn, args.player, args.seat, args.wager)
    return whose if isinstance(whose, Refused) else msgspec.structs.replace(args, player=whose)


def find_wager_player(turn: Turn, named: str | int | None, seat: int, wager: str) -> str | Refused:
    """The Player who is named, or else the only one who has this wager at this seat."""
    if named is not None:
        return str(named)
    players = {held.player for held in turn.now.wagers.standing if held.area == (seat, wager)}
    if len(players) == 1:
        return players.pop()
    if players:
        why = f"several Players have a wager on {wager} at seat {seat}: say player=..."
        return Refused(why=why)
    return Refused(why=f"there is no wager on {wager} at seat {seat}")


def ledger_actor(turn: Turn, *, on_behalf: bool) -> WagerActor:
    """Who gives the command, as the ledger keeps it."""
    command = turn.command
    return WagerActor(
        person=command.person,
        position=command.position,
        t_us=turn.now.t_us,
        on_behalf=on_behalf,
        reason=command.reason,
    )
