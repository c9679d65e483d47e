"""Declared irregularities of wagers: they are recorded, and do not halt the table.

In: declare, with the Player, the seat, the wager and the amount. Out: irregularity.raised
.resolved, wager.accepted; the ledger as it is then settled.
Must not know: outcomes, how the ledger settles, which state takes the command.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import msgspec

from shoe_ctl.table import arguments
from shoe_ctl.table.arguments import Name, NoArgs
from shoe_ctl.table.effects import Instance
from shoe_ctl.table.state import Declaration
from shoe_ctl.table.turn import Objection, Turn
from shoe_ctl.table.wagers import ledger as wager_ledger
from shoe_ctl.table.wagers.betting import (
    accept_wagers,
    emit_raised,
    emit_resolved,
    ledger_actor,
    needs_of,
)
from shoe_ctl.table.wagers.limits import WagerRules
from shoe_ctl.table.wagers.types import (
    Accepted,
    AmountRequest,
    LedgerAnswer,
    Refused,
    Wager,
    Wagers,
    with_wager,
)
from shoe_ctl.texts.message import Message, message


class DeclaredWager(NoArgs, frozen=True, kw_only=True):
    """Arguments of *declare*: what is declared of which wager."""

    key: str
    """The irregularity."""
    player: Name | int | None = None
    """The Player's id; it may be given as a number."""
    seat: int | None = None
    """The seat."""
    wager: Name | None = None
    """The name of the wager."""
    amount: int | None = None
    """Chips that lie there, in minor units, never a change: for a wager outside the limits all of
    them, late ones too; for a late wager those that came late."""
    earlier: bool = False
    """True for a wager that was settled in an earlier round."""

    @property
    def given(self) -> tuple[str, ...]:
        """The names of the arguments about the wager that are given."""
        return tuple(name for name in _WAGER if getattr(self, name) is not None)


_WAGER = ("player", "seat", "wager", "amount")

_Ask = Callable[[Wagers, AmountRequest, WagerRules], LedgerAnswer]


class DeclaredIrregularity(NamedTuple):
    """An irregularity of wagers that can be declared."""

    seen: Message
    """The public message about what was seen."""
    names: tuple[str, ...]
    """The arguments that it takes."""
    alone: bool
    """True if it may be declared without any of them."""
    ask: _Ask
    """Its request to the ledger."""
    end: Callable[[Turn], str | None]
    """Returns how it ends; None: it ends when the wager is settled."""


RECORDED: Mapping[str, DeclaredIrregularity] = {
    "late_wager": DeclaredIrregularity(
        message("seen_late_wager"), _WAGER, alone=True,
        ask=wager_ledger.declare_found_late, end=lambda turn: turn.wager_rules.late_end,
    ),
    "late_withdrawal": DeclaredIrregularity(
        message("seen_late_withdrawal"), _WAGER[:-1], alone=True,
        ask=wager_ledger.declare_taken_back, end=lambda _: "settled_as_placed",
    ),
    "under_minimum": DeclaredIrregularity(
        message("seen_under_minimum"), _WAGER, alone=False,
        ask=partial(wager_ledger.declare_outside_limits, key="under_minimum"), end=lambda _: None,
    ),
    "over_maximum": DeclaredIrregularity(
        message("seen_over_maximum"), _WAGER, alone=False,
        ask=partial(wager_ledger.declare_outside_limits, key="over_maximum"), end=lambda _: None,
    ),
}  # fmt: skip
"""Key → irregularity of wagers that can be declared."""


# Conditions.


def check_recorded(turn: Turn, key: str, given: Mapping[str, Any] | None) -> Objection | None:
    """Return what stands against declaring this; ``given`` None: whatever is given."""
    kind = RECORDED[key]
    if given is None:
        return None if _can_be_declared(turn, key) else _objection_now(turn, key)
    args = arguments.read_args(turn, DeclaredWager)
    if isinstance(args, Message):
        return Objection(args)
    if args.earlier and kind.alone:
        return Objection(message("refused_only_in_its_round", key=args.key))
    if not args.earlier and turn.now.wagers.betting != "closed":
        return _objection_now(turn, args.key)
    if args.given != kind.names and (args.given or not kind.alone):
        takes, named = list(kind.names), list(args.given)
        return Objection(message("refused_key_takes", key=args.key, takes=takes, given=named))
    if not args.given:
        return None
    answer = _ask_ledger(turn, args)
    if isinstance(answer, Refused):
        return Objection(answer.why.citing(answer.rule), needs_of(answer))
    return None


def _can_be_declared(turn: Turn, key: str) -> bool:
    """Return True if this can be declared now.

    That is after *no more bets*; staff can also declare a wager of an earlier round outside limits.
    """
    if turn.now.wagers.betting == "closed":
        return True
    if RECORDED[key].alone or not turn.game.options.staffed:
        return False
    rules = turn.wager_rules
    if key == "under_minimum":
        return any(rules.minimum(wager) > 1 for wager in rules.offered)
    return any(rules.maximum(wager) is not None for wager in rules.offered)


def _objection_now(turn: Turn, key: str) -> Objection:
    if turn.now.round is None:
        alone = RECORDED[key].alone
        return Objection(message("refused_no_round") if alone else message("refused_say_earlier"))
    return Objection(message("refused_bets_still_open"))


def _ask_ledger(turn: Turn, args: DeclaredWager) -> LedgerAnswer:
    asked = AmountRequest(
        player=str(args.player),
        seat=args.seat or 0,
        wager=args.wager or "",
        amount=1 if args.amount is None else args.amount,
        by=ledger_actor(turn, on_behalf=False),
    )
    if args.earlier:
        return wager_ledger.declare_earlier(turn.now.wagers, asked, turn.wager_rules, args.key)
    return RECORDED[args.key].ask(turn.now.wagers, asked, turn.wager_rules)


# Actions.


def record_declared(turn: Turn) -> None:
    """Emit the irregularity, change the ledger, and emit the end if it is known already."""
    args = arguments.require_args(turn, DeclaredWager)
    kind = RECORDED[args.key]
    of = {name: getattr(args, name) for name in args.given if name != "player"}
    of |= {"earlier": True} if args.earlier else {}
    seen = {"seen": message("seen_by_person", words=turn.command.reason).as_data()}
    secret = seen if args.player is None else {**seen, "player": str(args.player)}
    before = _find_wager(turn, args)
    is_open = before is not None and before.declared == args.key
    declared_as = before.declared_as if before is not None and is_open else None
    instance = declared_as or turn.open_instance()
    wagers = turn.now.wagers
    emit_raised(turn, args.key, instance, kind.seen, of, **secret)
    if args.given:
        answer = _ask_ledger(turn, args)
        assert isinstance(answer, Accepted), answer
        accept_wagers(turn, answer)
        _note_instance(turn, args, instance)
    who = {name: value for name, value in secret.items() if name == "player"}
    end = "earlier_settled" if args.earlier else kind.end(turn)
    after = _find_wager(turn, args)
    _note_declaration(turn, args, instance, wagers)
    stays_open = after is not None and after.declared is not None
    if end is not None:
        rule = turn.game.rule(args.key, end)
        emit_resolved(turn, args.key, instance, end, rule, of, **who)
        if before is not None and before.declared is not None and not stays_open:
            assert before.declared_as is not None, "it was raised"
            _emit_only_late(turn, args, before.declared, before.declared_as, who)
    elif not stays_open:
        _emit_only_late(turn, args, args.key, instance, who)


def _note_declaration(turn: Turn, args: DeclaredWager, instance: Instance, before: Wagers) -> None:
    """Remember what was declared, and how the wagers were ``before``: it may be retracted."""
    assert instance.public is not None, "the room is told of it"
    added = set(turn.now.wagers.settled_once) - set(before.settled_once)
    changes = args.given and not args.earlier
    noted = Declaration(
        number=instance.public,
        key=args.key,
        by="dealer",
        before=_named_wager(before, args) if changes else None,
        after=_named_wager(turn.now.wagers, args) if changes else None,
        settled_once=next(iter(added), None),
    )
    turn.change(declarations=(*turn.now.declarations, noted))


def _named_wager(wagers: Wagers, args: DeclaredWager) -> Wager | None:
    return wagers.find(str(args.player), args.seat or 0, args.wager or "")


def _find_wager(turn: Turn, args: DeclaredWager) -> Wager | None:
    """Return the wager that the declaration is about, if it lies there."""
    return _named_wager(turn.now.wagers, args)


def _note_instance(turn: Turn, args: DeclaredWager, instance: Instance) -> None:
    """Note what the events of this declaration name it by, where the wager stays declared."""
    held = _find_wager(turn, args)
    if held is not None and held.declared == args.key:
        noted = msgspec.structs.replace(held, declared_as=instance)
        turn.change(wagers=with_wager(turn.now.wagers, noted))


def _emit_only_late(
    turn: Turn, args: DeclaredWager, key: str, instance: Instance, who: Mapping[str, object]
) -> None:
    """Emit that a wager was outside the limits only because of its late chips.

    Those go back, and the rest plays (5.4).
    """
    of = {"seat": args.seat, "wager": args.wager}
    rule = turn.game.rule("late_wager", turn.wager_rules.late_end)
    emit_resolved(turn, key, instance, "late", rule, of, **who)
