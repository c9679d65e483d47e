"""What people declare of wagers: it is raised and recorded, and halts nothing.

In: declare, with the Player, the seat, the wager and the amount. Out: irregularity.raised
.resolved, wager.accepted; the ledger as it is then settled.
Must not know: outcomes, how the ledger settles, which state takes the command.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from shoe_ctl.texts.message import Message, message

from .. import arguments
from ..arguments import Name, NoArgs
from ..turn import Objection, Turn
from . import ledger as wager_ledger
from .commands import accept_wagers, emit_raised, emit_resolved, ledger_actor, needs_of
from .types import Accepted, AmountRequest, LedgerAnswer, Refused


class DeclaredWager(NoArgs, frozen=True, kw_only=True):
    """What is declared of which wager.

    ``amount``, in minor units, is always chips that lie there, never a change: of a wager outside
    the limits all of them, late ones too; of a late wager those of them that came late.
    ``earlier``: of a wager that an earlier round settled.
    """

    key: str
    player: Name | int | None = None
    seat: int | None = None
    wager: Name | None = None
    amount: int | None = None
    earlier: bool = False

    @property
    def given(self) -> tuple[str, ...]:
        """What of the wager is named."""
        return tuple(name for name in _WAGER if getattr(self, name) is not None)


_WAGER = ("player", "seat", "wager", "amount")

_Ask = Callable[[Turn, AmountRequest], LedgerAnswer]


class DeclaredIrregularity(NamedTuple):
    """An irregularity that halts nothing. ``end`` is how it ends, None: when the wager is settled.

    ``names`` are the arguments that it takes; ``alone``: none of them will do as well.
    """

    seen: Message
    names: tuple[str, ...]
    alone: bool
    ask: _Ask
    end: Callable[[Turn], str | None]


def _late(turn: Turn) -> str:
    """Not honoured, so returned (T/F 5.4); where the rules only refuse it, refused."""
    return "refused" if turn.game.rule("late_wager", "returned") is None else "returned"


def _outside(key: str, seen: Message) -> DeclaredIrregularity:
    def ask(turn: Turn, asked: AmountRequest) -> LedgerAnswer:
        return wager_ledger.declare_outside_limits(turn.now.wagers, asked, turn.wager_rules, key)

    return DeclaredIrregularity(seen, _WAGER, alone=False, ask=ask, end=lambda _: None)


RECORDED: Mapping[str, DeclaredIrregularity] = {
    "late_wager": DeclaredIrregularity(
        message("seen_late_wager"),
        _WAGER,
        alone=True,
        ask=lambda turn, asked: wager_ledger.declare_found_late(
            turn.now.wagers, asked, turn.wager_rules
        ),
        end=_late,
    ),
    "late_withdrawal": DeclaredIrregularity(
        message("seen_late_withdrawal"),
        _WAGER[:-1],
        alone=True,
        ask=lambda turn, asked: wager_ledger.declare_taken_back(
            turn.now.wagers, asked, turn.wager_rules
        ),
        end=lambda _: "settled_as_placed",
    ),
    "under_minimum": _outside("under_minimum", message("seen_under_minimum")),
    "over_maximum": _outside("over_maximum", message("seen_over_maximum")),
}
"""By key: what is declared of wagers."""


# What was seen.


def check_recorded(turn: Turn, key: str, given: Mapping[str, Any] | None) -> Objection | None:
    """What stands against declaring this of wagers, by what is given for it."""
    kind = RECORDED[key]
    if given is None:
        return None if _can_be_found(turn, key) else _not_now(turn, key)
    args = arguments.read_args(turn, DeclaredWager)
    if isinstance(args, Message):
        return Objection(args)
    if args.earlier and kind.alone:
        return Objection(message("refused_only_in_its_round", key=args.key))
    if not args.earlier and turn.now.wagers.betting != "closed":
        return _not_now(turn, args.key)
    if args.given != kind.names and (args.given or not kind.alone):
        takes, named = list(kind.names), list(args.given)
        return Objection(message("refused_key_takes", key=args.key, takes=takes, given=named))
    if not args.given:
        return None
    answer = _answer(turn, args)
    if isinstance(answer, Refused):
        return Objection(answer.why.citing(answer.rule), needs_of(answer))
    return None


def _can_be_found(turn: Turn, key: str) -> bool:
    """After *no more bets*; a wager outside the limits also of an earlier round, by the staff."""
    if turn.now.wagers.betting == "closed":
        return True
    if RECORDED[key].alone or not turn.game.options.staffed:
        return False
    rules = turn.wager_rules
    if key == "under_minimum":
        return any(rules.minimum(wager) > 1 for wager in rules.offered)
    return any(rules.maximum(wager) is not None for wager in rules.offered)


def _not_now(turn: Turn, key: str) -> Objection:
    if turn.now.round is None:
        alone = RECORDED[key].alone
        return Objection(message("refused_no_round") if alone else message("refused_say_earlier"))
    return Objection(message("refused_bets_still_open"))


def _answer(turn: Turn, args: DeclaredWager) -> LedgerAnswer:
    """What the ledger makes of it."""
    asked = AmountRequest(
        player=str(args.player),
        seat=args.seat or 0,
        wager=args.wager or "",
        amount=1 if args.amount is None else args.amount,
        by=ledger_actor(turn, on_behalf=False),
    )
    if args.earlier:
        return wager_ledger.declare_earlier(turn.now.wagers, asked, turn.wager_rules, args.key)
    return RECORDED[args.key].ask(turn, asked)


# What is done.


def record_declared(turn: Turn) -> None:
    """Raise it, let the ledger take it, and say how it ends where that is known."""
    args = arguments.require_args(turn, DeclaredWager)
    kind = RECORDED[args.key]
    of = {name: getattr(args, name) for name in args.given if name != "player"}
    of |= {"earlier": True} if args.earlier else {}
    seen = {"seen": message("seen_by_person", words=turn.command.reason).as_data()}
    secret = seen if args.player is None else {**seen, "player": str(args.player)}
    emit_raised(turn, args.key, kind.seen, of, **secret)
    open_before = _open_limit(turn, args)
    if args.given:
        answer = _answer(turn, args)
        assert isinstance(answer, Accepted), answer
        accept_wagers(turn, answer)
    who = {name: value for name, value in secret.items() if name == "player"}
    end = "earlier_settled" if args.earlier else kind.end(turn)
    if end is not None:
        emit_resolved(turn, args.key, end, turn.game.rule(args.key, end), of, **who)
        if open_before is not None and _open_limit(turn, args) is None:
            _tell_only_late(turn, args, open_before, who)
    elif _open_limit(turn, args) is None:
        _tell_only_late(turn, args, args.key, who)


def _open_limit(turn: Turn, args: DeclaredWager) -> str | None:
    """The key under which this wager is outside the limits; it is open until it is settled."""
    held = turn.now.wagers.find(str(args.player), args.seat or 0, args.wager or "")
    return None if held is None else held.declared


def _tell_only_late(turn: Turn, args: DeclaredWager, key: str, who: Mapping[str, object]) -> None:
    """It was outside the limits with its late chips alone: those go back, the rest plays (5.4)."""
    of = {"seat": args.seat, "wager": args.wager}
    emit_resolved(turn, key, "late", wager_ledger.late_rule(turn.wager_rules), of, **who)
