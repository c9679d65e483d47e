"""The table differential: met by Players before the first card, or by the Pit Manager.

In: the wagers as they stand, who decreases or increases by how much. Out: its procedure.
Must not know: cards, how the differential is measured or a wager changed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shoe_ctl.texts.message import Message, message

from .. import arguments
from ..arguments import ChoiceArgs, Name
from ..procedures.procedure import DECIDES, Choice, Declared, End, Procedure, Step
from ..procedures.shared import (
    CALL_VOID,
    GO_ON,
    cards_have_no_place,
    lay_aside,
    no_card_to_set_aside,
    stands,
    void,
)
from ..turn import TableView, Turn
from ..wagers import commands as wager_commands
from ..wagers import differential
from ..wagers.differential import Differential, WagerRoom
from ..wagers.limits import WagerRules
from ..wagers.types import Accepted, AmountRequest, LedgerAnswer, Refused, WagerRequest

DIFFERENTIAL_KEY = "table_differential"
DIFFERENTIAL_RULING = "ruling"
"""The step at which it begins where it is found after a card (6.1)."""


class WagerArgs(ChoiceArgs, frozen=True, kw_only=True):
    """Which wager; without a Player that of the only one who has it at the seat."""

    player: Name | int | None = None
    seat: int
    wager: Name


class WagerAmountArgs(WagerArgs, frozen=True, kw_only=True):
    """Which wager, and by how much (minor units)."""

    amount: int


# What is seen.


def _is_exceeded(standing: TableView) -> bool:
    """The ledger says so: then it says too when it is met."""
    return _assess(standing).exceeded


def _is_not_recorded(standing: TableView) -> bool:
    """The ledger knows nothing of it: people say what was done."""
    return not _is_exceeded(standing)


def _assess(standing: TableView) -> Differential:
    return differential.assess(standing.now.wagers, _rules(standing))


def _rules(standing: TableView) -> WagerRules:
    return WagerRules(standing.game, standing.settings.layout, standing.settings.limits)


def _a_card_is_out(standing: TableView) -> bool:
    played = standing.now.round
    return standing.now.pending is not None or (played is not None and bool(played.cards))


def _who_may_change(standing: TableView) -> dict[str, Any]:
    """Both totals, and which wagers may change by how much; not whose they are."""
    found = _assess(standing)
    rooms = {"decrease": _rooms(found.decrease), "increase": _rooms(found.increase)}
    return {"differential": {**_totals(found), **(rooms if found.exceeded else {})}}


def _what_lies_there(standing: TableView) -> dict[str, Any]:
    """Both totals: with a card out no Player is asked to change a wager."""
    return {"differential": _totals(_assess(standing))}


def _what_may_be_removed(standing: TableView) -> dict[str, Any]:
    """Both totals, and the wagers of the higher hand."""
    found, mains = _assess(standing), _rules(standing).mains
    high = [
        {"number": held.number, "seat": held.seat, "wager": held.wager, "amount": held.amount}
        for held in standing.now.wagers.standing
        if held.amount and found.exceeded and mains.get(held.wager) == found.high
    ]
    return {"differential": {**_totals(found), **({"remove": high} if high else {})}}


def _totals(found: Differential) -> dict[str, Any]:
    names = ("player", "banker", "limit", "high", "excess")
    return {name: getattr(found, name) for name in names}


def _rooms(rooms: tuple[WagerRoom, ...]) -> list[dict[str, Any]]:
    names = ("number", "seat", "wager", "most")
    return [{name: getattr(room, name) for name in names} for room in rooms]


# What may be answered.


def _change(name: str, by: str, step: str, act: Callable[..., LedgerAnswer], met: str) -> Choice:
    """Change one wager in the ledger; the differential may be met by it."""
    takes = WagerArgs if name == "remove" else WagerAmountArgs

    def answer(turn: Turn) -> LedgerAnswer:
        asked = _asked(turn, arguments.require_args(turn, takes))
        if isinstance(asked, Refused):
            return asked
        return act(turn.now.wagers, asked, turn.wager_rules)

    def check(turn: Turn, args: WagerArgs | None) -> Message | None:
        if args is None:
            return _check_any(turn, name) or cards_have_no_place(turn)
        made = answer(turn)
        if isinstance(made, Refused):
            return made.why.citing(made.rule)
        return cards_have_no_place(turn)

    def change(turn: Turn) -> None:
        wager_commands.accept_wagers(turn, answer(turn))

    def is_met(turn: Turn) -> bool:
        made = answer(turn)
        assert isinstance(made, Accepted), "nothing stands against it"
        return not differential.assess(made.wagers, turn.wager_rules).exceeded

    return Choice(
        name, by, step, (change,), check, reason=name == "remove", takes=takes,
        when=_is_exceeded, instead=(is_met, met),
    )  # fmt: skip


def _check_any(turn: Turn, name: str) -> Message | None:
    """No wager may be decreased, or none increased; on the higher hand one can be removed."""
    found = _assess(turn)
    rooms = {"decrease": found.decrease, "increase": found.increase}
    if rooms.get(name, found.exceeded):
        return None
    return message("refused_no_wager_to_change", change=name)


def _asked(turn: Turn, args: WagerArgs) -> WagerRequest | Refused:
    player = wager_commands.find_wager_player(turn, args.player, args.seat, args.wager)
    if isinstance(player, Refused):
        return player
    who = wager_commands.ledger_actor(turn, on_behalf=False)
    asked = WagerRequest(player=player, seat=args.seat, wager=args.wager, by=who)
    if not isinstance(args, WagerAmountArgs):
        return asked
    return AmountRequest(
        player=asked.player, seat=asked.seat, wager=asked.wager, by=who, amount=args.amount
    )


def _by_word(name: str, by: str) -> Choice:
    """It is met, where no ledger says so: the reason says how."""
    return Choice(name, by, name, unless=cards_have_no_place, when=_is_not_recorded)


def _lay_aside(step: str) -> Choice:
    """A card that came while wagers changed."""
    return Choice("set_aside", DECIDES, step, (lay_aside,), no_card_to_set_aside)


TABLE_DIFFERENTIAL = Procedure(
    DIFFERENTIAL_KEY,
    (
        Step(
            "changing",
            message("prompt_differential_changing"),
            (
                _change(
                    "decrease",
                    "dealer",
                    "changing",
                    differential.decrease_for_differential,
                    "decreased",
                ),
                _change(
                    "increase",
                    "dealer",
                    "changing",
                    differential.increase_for_differential,
                    "increased",
                ),
                _by_word("decreased", "dealer"),
                _by_word("increased", "dealer"),
                Choice("insufficient", "dealer", "removing", reason=False),
                _lay_aside("changing"),
            ),
            facts=_who_may_change,
        ),
        Step(
            "removing",
            message("prompt_differential_removing"),
            (
                _change(
                    "remove",
                    "pit_manager",
                    "removing",
                    differential.remove_for_differential,
                    "removed",
                ),
                _by_word("removed", "pit_manager"),
                _lay_aside("removing"),
            ),
            facts=_what_may_be_removed,
        ),
        Step(
            DIFFERENTIAL_RULING,
            message("prompt_differential_ruling"),
            (GO_ON, CALL_VOID),
            facts=_what_lies_there,
        ),
    ),
    (
        End("decreased", "decreased", (DIFFERENTIAL_KEY, "decreased")),
        End("increased", "increased", (DIFFERENTIAL_KEY, "increased")),
        End("removed", "removed", (DIFFERENTIAL_KEY, "removed")),
        stands((DIFFERENTIAL_KEY, "ruled")),
        void((DIFFERENTIAL_KEY, "ruled")),
    ),
    Declared(
        "dealer",
        ("closed", "dealing", "revealing", "drawing", "resolved", "suspended"),
        message("seen_differential_declared"),
        begins=(_a_card_is_out, DIFFERENTIAL_RULING),
    ),
    begins=(DIFFERENTIAL_RULING,),
)
