"""The money of one round, computed again from its cards, its wagers and the recorded game file.

In: the report on a round, the start of its table. Out: each wager as it is to be settled, beside
what was recorded. Must not know: journals as files, how lines are shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from firmware_proto.cards import card
from shoe_ctl.errors import InputRefused, ShoeCtlError
from shoe_ctl.history.snapshots import controller_for
from shoe_ctl.journal.record_format import Meta
from shoe_ctl.round_report.collect import RoundReport
from shoe_ctl.table.controller import TableController
from shoe_ctl.table.wagers.limits import WagerRules
from shoe_ctl.table.wagers.settlement import (
    SettlementLine,
    line_data,
    return_all_wagers,
    settle_all,
)
from shoe_ctl.table.wagers.types import Wager, Wagers

_ENDS = ("round.outcome", "round.revised", "round.void", "round.reopened")
_COMPARED = ("stake", "result", "odds", "pays", "commission", "collected", "returned", "rule")


class SettledWager(msgspec.Struct, frozen=True):
    """A wager: ``computed`` is how it is to be settled, ``recorded`` how it was; None: it was not.

    Both have the keys of ``wager.settled``; amounts are in minor units. ``differs`` names the keys
    that differ.
    """

    computed: Mapping[str, Any]
    recorded: Mapping[str, Any] | None
    differs: tuple[str, ...]


class RoundSettlement(msgspec.Struct, frozen=True):
    """A round's wagers, settled again. ``results`` are those of every wager of the layout.

    ``winner`` is None of a void round; ``differs`` names what of the outcome itself differs.
    """

    round_id: str
    winner: str | None
    results: Mapping[str, Mapping[str, Any]]
    differs: tuple[str, ...]
    wagers: tuple[SettledWager, ...]

    @property
    def agrees(self) -> bool:
        """Return True if the record says the same."""
        return not self.differs and not any(one.differs for one in self.wagers)


def settle_again(report: RoundReport, start: Meta | None) -> RoundSettlement:
    """Settle a round again by the game file and the settings with which its table was started.

    Taken from the record are its cards, its wagers as they were accepted, and whose wagers under
    the minimum were settled in an earlier round.

    Raises:
        InputRefused: the round has no end, the start is not there, or the cards are no round.
        JournalError: the settings or the game file cannot be read.
    """
    if start is None:
        raise InputRefused(f"round {report.round_id}: the journal does not hold its game any more")
    ends = [event for event in report.events(*_ENDS) if event.subject == report.round_id]
    if not ends or ends[-1].type == "round.reopened":
        raise InputRefused(f"round {report.round_id} has no outcome, and is not void")
    end = ends[-1]
    controller = controller_for(start)
    settings = controller.settings
    rules = WagerRules(controller.game, settings.layout, settings.limits, settings.seats)
    settled = _settled(report)
    placed = _placed(report, settled)
    if end.type == "round.void":
        lines = return_all_wagers(placed, end.data.get("rule"), rules).lines
        return _compared(report, None, {}, (), lines, settled)
    done = _outcome(controller, end.data)
    results = {
        name: {"result": one.result} | ({} if one.odds is None else {"odds": str(one.odds)})
        for name, one in done.wagers.items()
    }
    computed = {"winner": done.winner, "wagers": results}
    differs = [key for key, value in computed.items() if end.data.get(key) != value]
    lines = settle_all(placed, done, rules).lines
    return _compared(report, done.winner, results, tuple(differs), lines, settled)


def _outcome(controller: TableController, data: Mapping[str, Any]) -> Any:
    try:
        player, banker = (
            tuple(card(code) for code in data[hand]["cards"]) for hand in ("player", "banker")
        )
        return controller.game.settle_hands(
            player,
            banker,
            layout=controller.settings.layout,
            ruled=bool(data.get("against_table")),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise InputRefused(f"the outcome's cards cannot be read: {error}") from None
    except ShoeCtlError as error:
        raise InputRefused(f"the outcome's cards are no round: {error}") from None


def _settled(report: RoundReport) -> dict[int, Mapping[str, Any]]:
    """Return how each wager was settled last, by its number."""
    found: dict[int, Mapping[str, Any]] = {}
    for event in report.events("wager.settled", "wager.revised"):
        if event.subject == report.round_id:
            found[int(event.data["number"])] = event.data
    return found


def _placed(report: RoundReport, settled: Mapping[int, Mapping[str, Any]]) -> Wagers:
    """Return the wagers as they stood when the round ended."""
    standing: dict[int, Wager] = {}
    late: set[int] = set()
    taken: set[int] = set()
    for event in report.events("wager.accepted"):
        data = event.data
        if event.subject != report.round_id:
            continue
        number, act = int(data["number"]), data["act"]
        for acts, of in (("found_late", late), ("taken_back", taken)):
            of.add(number) if act == acts else of.discard(number) if act == "retracted" else None
        standing[number] = Wager(
            number=number,
            player=str(data.get("player") or f"seat {data['seat']}"),
            seat=data["seat"],
            wager=data["wager"],
            amount=data["amount"],
            placed_us=0,
            raised_us=0,
            raised=0,
        )
    once: set[str] = set()
    for number, held in standing.items():
        line = settled.get(number, {})
        more = int(line.get("stake", 0)) - held.amount if number in late else 0
        standing[number] = msgspec.structs.replace(
            held, not_honoured=max(0, more), taken_back=number in taken
        )
        applied = [(one["key"], one["end"]) for one in line.get("applied", ())]
        if ("under_minimum", "returned") in applied:
            once.add(held.player)
    stood = tuple(held for held in standing.values() if held.chips > 0)
    return Wagers(betting="closed", standing=stood, settled_once=tuple(sorted(once)))


def _compared(  # noqa: PLR0913 - each by name
    report: RoundReport,
    winner: str | None,
    results: Mapping[str, Mapping[str, Any]],
    differs: tuple[str, ...],
    lines: tuple[SettlementLine, ...],
    settled: Mapping[int, Mapping[str, Any]],
) -> RoundSettlement:
    wagers = [_beside(line_data(line), settled.get(line.number)) for line in lines]
    unknown = settled.keys() - {line.number for line in lines}
    wagers += [SettledWager({}, settled[number], ("stake",)) for number in sorted(unknown)]
    return RoundSettlement(report.round_id, winner, results, differs, tuple(wagers))


def _beside(computed: Mapping[str, Any], recorded: Mapping[str, Any] | None) -> SettledWager:
    if recorded is None:
        return SettledWager(computed, None, ("result",))
    differs = (key for key in _COMPARED if computed.get(key) != recorded.get(key))
    return SettledWager(computed, recorded, tuple(differs))
