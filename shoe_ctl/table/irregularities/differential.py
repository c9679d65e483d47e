"""The table differential is exceeded after *no more bets* (``table_differential``).

Rule (I 5.16, N/T/F 5.18): before the first card, Players on the hand with more on it are asked to
decrease, and those on the other hand may increase, within limits. If that is not enough the Pit
Manager names the wagers that are removed. Found after a card, it is ruled on (6.1).

In: the wagers as they stand, who decreases or increases by how much. Out: ``TABLE_DIFFERENTIAL``.
Must not know: cards, how the differential is computed, how the ledger changes a wager.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from shoe_ctl.table import arguments
from shoe_ctl.table.arguments import ChoiceArgs, Name
from shoe_ctl.table.irregularities.halts import HALTS
from shoe_ctl.table.procedures.procedure import (
    DECIDES,
    Choice,
    Declared,
    End,
    Procedure,
    Step,
    is_not,
)
from shoe_ctl.table.procedures.shared import (
    CALL_VOID,
    GO_ON,
    check_has_held_cards,
    check_no_unplaced_cards,
    end_play_on,
    end_void,
    set_cards_aside,
)
from shoe_ctl.table.procedures.stack import go_to, raise_irregularity
from shoe_ctl.table.turn import TableView, Turn
from shoe_ctl.table.wagers import betting, differential
from shoe_ctl.table.wagers.differential import Differential, WagerRoom
from shoe_ctl.table.wagers.types import Accepted, AmountRequest, LedgerAnswer, Refused, WagerRequest
from shoe_ctl.texts.message import Message, message

DIFFERENTIAL_KEY = "table_differential"

DIFFERENTIAL_RULING = "ruling"
"""The step at which it begins if it is current after a card (6.1)."""


# Detection


def halt_for_differential(turn: Turn) -> None:
    """Halt: main wagers are too far apart as bets close.

    Found after a card it is ruled on (6.1).
    """
    out = turn.round.cards or turn.now.held or turn.now.pending is not None
    step = DIFFERENTIAL_RULING if out else None
    raise_irregularity(turn, HALTS["differential_exceeded"]._replace(step=step))


def rule_on_differential(turn: Turn) -> None:
    """Go to the ruling: a card came that was on its way as bets closed (6.1)."""
    halt = turn.halt
    if halt.current.key == DIFFERENTIAL_KEY and halt.current.step != DIFFERENTIAL_RULING:
        go_to(turn, DIFFERENTIAL_RULING)
        return
    opened = tuple(
        msgspec.structs.replace(one, step=DIFFERENTIAL_RULING)
        if one.key == DIFFERENTIAL_KEY
        else one
        for one in halt.stack
    )
    turn.change(halt=msgspec.structs.replace(halt, stack=opened))


# Conditions


class WagerArgs(ChoiceArgs, frozen=True, kw_only=True):
    """A wager. Without a Player, that of the only one who has it at the seat."""

    player: Name | int | None = None
    seat: int
    wager: Name


class WagerAmountArgs(WagerArgs, frozen=True, kw_only=True):
    """A wager, and the amount of its change (minor units)."""

    amount: int


def _assess(view: TableView) -> Differential:
    return differential.assess(view.now.wagers, view.wager_rules)


def _is_exceeded(view: TableView) -> bool:
    """Return True if the ledger of wagers says that the differential is exceeded.

    It also says when it no longer is.
    """
    return _assess(view).exceeded


def _is_card_out(view: TableView) -> bool:
    played = view.now.round
    return view.now.pending is not None or (played is not None and bool(played.cards))


def _check_any(turn: Turn, name: str) -> Message | None:
    """Return an objection if no wager may be decreased, or none increased.

    On the higher hand one can always be removed.
    """
    current = _assess(turn)
    rooms = {"decrease": current.decrease, "increase": current.increase}
    if rooms.get(name, current.exceeded):
        return None
    return message("refused_no_wager_to_change", change=name)


# Facts for the room


def _change_facts(view: TableView) -> dict[str, Any]:
    """Return both totals, and which wagers may change by how much; not whose they are."""
    current = _assess(view)
    rooms = {
        "decrease": _describe_rooms(current.decrease),
        "increase": _describe_rooms(current.increase),
    }
    return {"differential": {**_describe_totals(current), **(rooms if current.exceeded else {})}}


def _totals_facts(view: TableView) -> dict[str, Any]:
    """Return both totals. With a card out no Player is asked to change a wager."""
    return {"differential": _describe_totals(_assess(view))}


def _removal_facts(view: TableView) -> dict[str, Any]:
    current, mains = _assess(view), view.wager_rules.mains
    high = [
        {"number": held.number, "seat": held.seat, "wager": held.wager, "amount": held.amount}
        for held in view.now.wagers.standing
        if held.amount and current.exceeded and mains.get(held.wager) == current.high
    ]
    return {"differential": {**_describe_totals(current), **({"remove": high} if high else {})}}


def _describe_totals(current: Differential) -> dict[str, Any]:
    names = ("player", "banker", "limit", "high", "excess")
    return {name: getattr(current, name) for name in names}


def _describe_rooms(rooms: tuple[WagerRoom, ...]) -> list[dict[str, Any]]:
    names = ("number", "seat", "wager", "most")
    return [{name: getattr(room, name) for name in names} for room in rooms]


# Choices

_ACTS: Mapping[str, Callable[..., LedgerAnswer]] = {
    "decrease": differential.decrease_for_differential,
    "increase": differential.increase_for_differential,
    "remove": differential.remove_for_differential,
}
"""Choice → what the ledger does."""


def _change_choice(name: str, by: str, step: str, met: str) -> Choice:
    """Return the choice that changes one wager in the ledger.

    ``met`` is the end that follows if the differential is then no longer exceeded.
    """
    takes = WagerArgs if name == "remove" else WagerAmountArgs
    act = _ACTS[name]

    def answer(turn: Turn) -> LedgerAnswer:
        asked = _read_request(turn, arguments.require_args(turn, takes))
        if isinstance(asked, Refused):
            return asked
        return act(turn.now.wagers, asked, turn.wager_rules)

    def check(turn: Turn, args: WagerArgs | None) -> Message | None:
        if args is None:
            return _check_any(turn, name) or check_no_unplaced_cards(turn)
        made = answer(turn)
        if isinstance(made, Refused):
            return made.why.citing(made.rule)
        return check_no_unplaced_cards(turn)

    def change(turn: Turn) -> None:
        betting.accept_wagers(turn, answer(turn))

    def is_no_longer_exceeded(turn: Turn) -> bool:
        made = answer(turn)
        assert isinstance(made, Accepted), "nothing stands against it"
        return not differential.assess(made.wagers, turn.wager_rules).exceeded

    return Choice(
        name, by, step, (change,), check, reason=name == "remove", arguments=takes,
        offered_if=_is_exceeded, branch=(is_no_longer_exceeded, met),
    )  # fmt: skip


def _read_request(turn: Turn, args: WagerArgs) -> WagerRequest | Refused:
    player = betting.find_wager_player(turn, args.player, args.seat, args.wager)
    if isinstance(player, Refused):
        return player
    who = betting.ledger_actor(turn, on_behalf=False)
    asked = WagerRequest(player=player, seat=args.seat, wager=args.wager, by=who)
    if not isinstance(args, WagerAmountArgs):
        return asked
    return AmountRequest(
        player=asked.player, seat=asked.seat, wager=asked.wager, by=who, amount=args.amount
    )


def _declared_choice(name: str, by: str) -> Choice:
    """Return the choice by which people say that it is met, where no ledger shows it."""
    return Choice(name, by, name, check=check_no_unplaced_cards, offered_if=is_not(_is_exceeded))


def _set_aside_choice(step: str) -> Choice:
    """Return the choice that sets a card aside that came while wagers changed."""
    return Choice("set_aside", DECIDES, step, (set_cards_aside,), check_has_held_cards)


# Procedure

TABLE_DIFFERENTIAL = Procedure(
    DIFFERENTIAL_KEY,
    (
        Step(
            "changing",
            message("prompt_differential_changing"),
            (
                _change_choice("decrease", "dealer", "changing", "decreased"),
                _change_choice("increase", "dealer", "changing", "increased"),
                _declared_choice("decreased", "dealer"),
                _declared_choice("increased", "dealer"),
                Choice("insufficient", "dealer", "removing", reason=False),
                _set_aside_choice("changing"),
            ),
            facts=_change_facts,
        ),
        Step(
            "removing",
            message("prompt_differential_removing"),
            (
                _change_choice("remove", "pit_manager", "removing", "removed"),
                _declared_choice("removed", "pit_manager"),
                _set_aside_choice("removing"),
            ),
            facts=_removal_facts,
        ),
        Step(
            DIFFERENTIAL_RULING,
            message("prompt_differential_ruling"),
            (GO_ON, CALL_VOID),
            facts=_totals_facts,
        ),
    ),
    (
        End("decreased", "decreased", (DIFFERENTIAL_KEY, "decreased")),
        End("increased", "increased", (DIFFERENTIAL_KEY, "increased")),
        End("removed", "removed", (DIFFERENTIAL_KEY, "removed")),
        end_play_on((DIFFERENTIAL_KEY, "ruled")),
        end_void((DIFFERENTIAL_KEY, "ruled")),
    ),
    Declared(
        "dealer",
        ("closed", "dealing", "revealing", "drawing", "resolved", "suspended"),
        message("seen_differential_declared"),
        begins=(_is_card_out, DIFFERENTIAL_RULING),
    ),
    begins=(DIFFERENTIAL_RULING,),
)
"""The table differential is exceeded."""
