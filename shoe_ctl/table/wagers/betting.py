"""Wager commands, and the wagers' part in a round: betting, the differential, settlement.

In: wager commands, *no more bets*, the outcome, a void. Out: events of wagers, refusals.
Must not know: which state takes a command, how the ledger decides or pays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import msgspec

from shoe_ctl.games.wagers import Settlement
from shoe_ctl.table import arguments
from shoe_ctl.table.arguments import Bounds, Name, NoArgs, Possible, explain_bad_args
from shoe_ctl.table.effects import Answer, Instance
from shoe_ctl.table.shoe import link
from shoe_ctl.table.turn import Objection, Turn
from shoe_ctl.table.wagers import differential
from shoe_ctl.table.wagers import ledger as wager_ledger
from shoe_ctl.table.wagers.limits import WagerRules
from shoe_ctl.table.wagers.settlement import (
    SettlementLine,
    after_round,
    line_data,
    return_all_wagers,
    settle_all,
)
from shoe_ctl.table.wagers.types import (
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
from shoe_ctl.texts.message import Message, message

# Events and refusals.

_TRIED = {
    "late_wager": message("seen_late_wager_tried"),
    "late_withdrawal": message("seen_late_withdrawal_tried"),
}
"""Irregularity → what the public is told was seen, if a command is refused for being late."""


def emit_accepted(turn: Turn, entry: LedgerEntry) -> None:
    """Emit a request that the ledger took."""
    data = {
        "number": entry.wager_number,
        "act": entry.act,
        "seat": entry.seat,
        "wager": entry.wager,
        "change": entry.change,
        "amount": entry.amount,
    }
    secret = {
        "player": entry.player,
        "on_behalf": entry.on_behalf,
        "rule": entry.rule,
    }
    turn.emit("wager.accepted", data, restricted={**data, **secret})


def refuse_with_rule(turn: Turn, refused: Refused) -> None:
    """Refuse the command with wager.refused instead of command.refused: it names the rule.

    A command that came too late is an irregularity, which ends with the refusal.
    """
    command = turn.command
    turn.refusal = Answer(
        command_id=command.command_id,
        accepted=False,
        error=refused.why.citing(refused.rule),
        needs=needs_of(refused),
    )
    asked = {
        name: value
        for name, value in command.args.items()
        if value is None or isinstance(value, str | int)
    }
    data = {
        "command": command.command,
        "asked": asked,
        "error": refused.why.as_data(),
        "rule": refused.rule,
    }
    turn.emit_restricted("wager.refused", data)
    if (key := refused.irregularity) is not None:
        of = {name: asked[name] for name in ("seat", "wager")}
        instance = turn.open_instance()
        emit_raised(turn, key, instance, _TRIED[key], of, asked=asked)
        emit_resolved(turn, key, instance, "refused", refused.rule, of)


def needs_of(refused: Refused) -> dict[str, str]:
    """Return what the command would need: a position, if that is why it was refused."""
    return {} if refused.position is None else {"position": refused.position}


def emit_settled(turn: Turn, before: Wagers, lines: tuple[SettlementLine, ...]) -> None:
    """Emit how every wager was settled or returned, and the end of what was declared of it."""
    stood = {held.number: held for held in before.standing}
    for line in lines:
        secret = line_data(line)
        public = {name: value for name, value in secret.items() if name != "player"}
        turn.emit("wager.settled", public, restricted=secret)
        held = stood[line.number]
        if held.declared is not None:
            assert held.declared_as is not None, "it was raised"
            how, rule = _find_end(held.declared, line)
            of = {"seat": line.seat, "wager": line.wager}
            emit_resolved(turn, held.declared, held.declared_as, how, rule, of, player=line.player)


def _find_end(key: str, line: SettlementLine) -> tuple[str, str | None]:
    """Return the end that the settlement gave an irregularity, and its rule.

    If the wager did not play, it is the result of the wager.
    """
    ends = [applied for applied in line.applied if applied.key == key]
    return (ends[0].end, ends[0].rule) if ends else (line.result, line.rule)


# Irregularities of wagers, which do not halt the table.


def emit_raised(
    turn: Turn,
    key: str,
    instance: Instance,
    seen: Message,
    of: dict[str, Any],
    /,
    **restricted: object,
) -> None:
    """Emit an irregularity of wagers; ``of`` is what the public may know of which wager."""
    data = {"key": key, "seen": seen.as_data(), "rules": dict(turn.game.irregularities[key]), **of}
    turn.emit("irregularity.raised", data, restricted={**data, **restricted}, instance=instance)


def emit_resolved(  # noqa: PLR0913 - all of it is what such an end is
    turn: Turn,
    key: str,
    instance: Instance,
    how: str,
    rule: str | None,
    of: dict[str, Any],
    /,
    **restricted: object,
) -> None:
    """Emit how an irregularity of wagers ended, and under which rule."""
    data = {"key": key, "how": how, "rule": rule, **of}
    turn.emit("irregularity.resolved", data, restricted={**data, **restricted}, instance=instance)


# Arguments of the commands.


class _NamedWager(NoArgs, frozen=True, kw_only=True):
    """Arguments that name a wager. A Player's id may be given as a number."""

    player: Name | int
    seat: int
    wager: Name
    on_behalf: bool = False

    def asked(self, by: WagerActor) -> WagerRequest:
        return WagerRequest(player=str(self.player), seat=self.seat, wager=self.wager, by=by)


class NewStake(_NamedWager, frozen=True, kw_only=True):
    """Arguments that name a wager and an amount, in minor units."""

    amount: int

    def asked(self, by: WagerActor) -> AmountRequest:
        return AmountRequest(
            player=str(self.player), seat=self.seat, wager=self.wager, by=by, amount=self.amount
        )


class StandingWager(NoArgs, frozen=True, kw_only=True):
    """Arguments that name a wager on the layout.

    The Player may be left out if only one has that wager at the seat.
    """

    player: Name | int | None = None
    seat: int
    wager: Name
    on_behalf: bool = False

    def asked(self, by: WagerActor) -> WagerRequest:
        assert self.player is not None, "the Player was found before"
        return WagerRequest(player=str(self.player), seat=self.seat, wager=self.wager, by=by)


class AreaRestriction(NoArgs, frozen=True, kw_only=True):
    """Arguments of a restriction: the number of wagers per area; null lifts it."""

    number: int | None


class _Act(NamedTuple):
    """A request of a wager command to the ledger."""

    args: type[_NamedWager | StandingWager]
    """The type of its arguments."""
    do: Callable[[Wagers, Any, WagerRules], LedgerAnswer]
    """The ledger's part of it."""
    offered: Callable[[Wagers, WagerRules], Refused | None]
    """Returns what stands against it, whatever wager is named."""


_ACTS = {
    "place_wager": _Act(NewStake, wager_ledger.place, wager_ledger.check_placing),
    "increase_wager": _Act(NewStake, wager_ledger.increase, wager_ledger.check_increasing),
    "decrease_wager": _Act(NewStake, wager_ledger.decrease, wager_ledger.check_decreasing),
    "withdraw_wager": _Act(StandingWager, wager_ledger.withdraw, wager_ledger.check_withdrawing),
}


# What the arguments can be, as far as everyone may know: not whose a wager is.


def stakes_to_place(turn: Turn) -> Possible:
    """Return the bounds of a new wager's amount: the widest of all wagers on offer."""
    rules = turn.wager_rules
    least = min((rules.minimum(wager) for wager in rules.offered), default=1)
    most = [rules.maximum(wager) for wager in rules.offered]
    highest = None if None in most else max((one for one in most if one is not None), default=None)
    return {"amount": Bounds(least, highest)}


def standing_wagers(turn: Turn) -> Possible:
    """Return the seats and the wagers where chips lie, and the bounds of what can be changed."""
    held = [one for one in turn.now.wagers.standing if one.amount]
    return {
        "seat": sorted({one.seat for one in held}),
        "wager": list(dict.fromkeys(one.wager for one in held)),
        "amount": Bounds(1, None),
    }


def restrictions(turn: Turn) -> Possible:
    """Return the bounds of a lower number of wagers per playing area."""
    most = turn.game.limits.wagers_per_area
    return {"number": Bounds(1, None if most is None else most - 1)}


# Conditions. Each check is asked with what is given, or with None: whatever is given.


def check_change(command: str, turn: Turn, given: Mapping[str, Any] | None) -> Objection | None:
    """Return the ledger's objection to a wager command."""
    wagers = _wagers_once_open(turn)
    if given is None:
        refused = _ACTS[command].offered(wagers, turn.wager_rules)
        return None if refused is None else as_objection(refused)
    answer = _ask_ledger(turn, wagers)
    return as_objection(answer) if isinstance(answer, Refused) else None


def check_placing(turn: Turn, given: Mapping[str, Any] | None) -> Objection | Message | None:
    """Return what stands against placing a wager.

    With implied announcements the first wager opens the round: the shoe must be aligned for that.
    """
    first = turn.state == "idle" and turn.implied
    unaligned = link.check_aligned(turn) if first else None
    return unaligned or check_change("place_wager", turn, given)


def check_out_of_time(turn: Turn) -> Objection | None:
    """Return the ledger's objection in a state in which no wager can change.

    While the table is halted the ledger is asked only if bets are closed.
    """
    halted = turn.state == "suspended" and not are_bets_closed(turn)
    if halted or turn.state == "no_shoe":
        return None
    return check_change(turn.command.command, turn, turn.command.args)


def _wagers_once_open(turn: Turn) -> Wagers:
    """Return the wagers as they stand, or as they would be once the first one opened the round."""
    opens = turn.implied and turn.state == "idle"
    return wager_ledger.open_bets(turn.now.wagers) if opens else turn.now.wagers


def as_objection(refused: Refused) -> Objection:
    """Return the ledger's refusal as an objection, which is emitted as wager.refused."""

    def tell(turn: Turn) -> None:
        refuse_with_rule(turn, refused)

    return Objection(refused.why, needs_of(refused), tell)


def check_restriction(turn: Turn, args: AreaRestriction | None) -> Objection | None:
    """Return what stands against a lower number of wagers per playing area."""
    if args is None:
        if turn.game.limits.lowered_by is not None:
            return None
        return Objection(message("refused_no_restriction_in_game", game=turn.game.id))
    answer = _ask_restriction(turn, args)
    if isinstance(answer, Accepted):
        return None
    return Objection(answer.why.citing(answer.rule), needs_of(answer))


def _ask_restriction(turn: Turn, args: AreaRestriction) -> LedgerAnswer:
    asked = Restriction(number=args.number, by=ledger_actor(turn, on_behalf=False))
    return wager_ledger.restrict(turn.now.wagers, asked, turn.wager_rules)


def restriction_rule(turn: Turn, _args: object = None) -> str | None:
    """Return the rule that leaves the number of wagers per area to a Pit Manager."""
    return turn.game.clause("wagers_per_area_lowered")


def are_bets_closed(turn: Turn) -> bool:
    """Return True if a round is open and its bets are closed."""
    return turn.now.wagers.betting == "closed"


def check_clearing(turn: Turn, _args: object = None) -> Message | None:
    """Return what stands against withdrawing all wagers at once."""
    if not turn.game.options.clear_bets:
        return message("refused_no_clear_bets", game=turn.game.id)
    return None if turn.now.wagers.standing else message("refused_no_wagers")


# Actions.


def open_bets(turn: Turn) -> None:
    """Open betting in the ledger."""
    turn.change(wagers=wager_ledger.open_bets(turn.now.wagers))


def close_bets(turn: Turn) -> None:
    """Close betting in the ledger."""
    turn.change(wagers=wager_ledger.close_bets(turn.now.wagers))


def measure_differential(turn: Turn) -> None:
    """Measure the table differential; if it is exceeded, that is handled next (I 5.16, 5.18)."""
    found = differential.assess(turn.now.wagers, turn.wager_rules)
    measured = msgspec.structs.replace(turn.now.wagers, measured=(found.player, found.banker))
    turn.change(wagers=measured)
    if found.exceeded:
        turn.fire("differential_due")


def differential_has_changed(turn: Turn) -> bool:
    """Return True if main wagers changed after *no more bets* and exceed the differential."""
    wagers = turn.now.wagers
    if wagers.betting != "closed":
        return False
    found = differential.assess(wagers, turn.wager_rules)
    return found.exceeded and wagers.measured != (found.player, found.banker)


def measure_differential_again(turn: Turn) -> None:
    """Measure the table differential again after a declaration.

    While the table is halted this waits until play resumes.
    """
    if turn.now.halt is None and differential_has_changed(turn):
        measure_differential(turn)


def place(turn: Turn) -> None:
    """Place a wager; with implied announcements the first one opens the round."""
    if turn.state == "idle":
        turn.fire("first_wager")
    else:
        apply_wager(turn)


def apply_wager(turn: Turn) -> None:
    """Let the ledger do what the command asks, and emit it."""
    act = _ACTS[turn.command.command]
    accept_wagers(turn, act.do(turn.now.wagers, turn.args, turn.wager_rules))


def clear_bets(turn: Turn) -> None:
    """Withdraw every wager while bets are open."""
    for held in turn.now.wagers.standing:
        by = ledger_actor(turn, on_behalf=False)
        asked = WagerRequest(player=held.player, seat=held.seat, wager=held.wager, by=by)
        accept_wagers(turn, wager_ledger.withdraw(turn.now.wagers, asked, turn.wager_rules))


def accept_wagers(turn: Turn, answer: LedgerAnswer) -> None:
    """Store the wagers as the ledger changed them, and emit the entry."""
    assert isinstance(answer, Accepted), answer
    turn.change(wagers=answer.wagers)
    if answer.entry is not None:
        emit_accepted(turn, answer.entry)


def restrict_wagers(turn: Turn) -> None:
    """Restrict the number of wagers per playing area from the next round on."""
    answer = _ask_restriction(turn, arguments.require_args(turn, AreaRestriction))
    assert isinstance(answer, Accepted), "the check asks before"
    turn.change(wagers=answer.wagers)
    rule = turn.game.clause("wagers_per_area_lowered")
    data = {"number": answer.wagers.restriction_next, "from": "next_round", "rule": rule}
    turn.emit("wagers.restricted", data)


def settle_wagers(turn: Turn, settlement: Settlement) -> None:
    """Collect, pay and return every wager of the finished round."""
    before = turn.now.wagers
    settled = settle_all(before, settlement, turn.wager_rules)
    turn.change(wagers=settled.wagers)
    emit_settled(turn, before, settled.lines)


def settle_none(turn: Turn) -> None:
    """The round is finished, and no wager stands in it."""
    turn.change(wagers=after_round(turn.now.wagers))


def return_all(turn: Turn, rule: str | None) -> None:
    """Return every wager of a round that is void under this rule."""
    before = turn.now.wagers
    returned = return_all_wagers(before, rule, turn.wager_rules)
    turn.change(wagers=returned.wagers)
    emit_settled(turn, before, returned.lines)


# Requests to the ledger.


def _ask_ledger(turn: Turn, wagers: Wagers) -> LedgerAnswer:
    act = _ACTS[turn.command.command]
    asked = read_request(turn, act.args)
    return asked if isinstance(asked, Refused) else act.do(wagers, asked, turn.wager_rules)


def read_request(
    turn: Turn, kind: type[_NamedWager | StandingWager] = StandingWager
) -> WagerRequest | Refused:
    """Read the request to the ledger and keep it in ``turn.args``, or return what is wrong."""
    try:
        args = msgspec.convert(turn.command.args, kind)
    except msgspec.ValidationError as error:
        return Refused(why=explain_bad_args(str(error), kind, turn.command.args))
    if isinstance(args, StandingWager):
        whose = find_wager_player(turn, args.player, args.seat, args.wager)
        if isinstance(whose, Refused):
            return whose
        args = msgspec.structs.replace(args, player=whose)
    asked = args.asked(ledger_actor(turn, on_behalf=args.on_behalf))
    turn.args = asked
    return asked


def find_wager_player(turn: Turn, named: str | int | None, seat: int, wager: str) -> str | Refused:
    """Return the Player who is named, or else the only one who has this wager at this seat."""
    if named is not None:
        return str(named)
    players = {held.player for held in turn.now.wagers.standing if held.area == (seat, wager)}
    if len(players) == 1:
        return players.pop()
    if players:
        return Refused(why=message("refused_several_with_wager", wager=wager, seat=seat))
    return Refused(why=message("refused_no_wager_at_seat", wager=wager, seat=seat))


def ledger_actor(turn: Turn, *, on_behalf: bool) -> WagerActor:
    """Return who gives the command, for the ledger's history."""
    command = turn.command
    return WagerActor(
        person=command.person,
        position=command.position,
        t_us=turn.now.t_us,
        on_behalf=on_behalf,
        reason=command.reason,
    )
