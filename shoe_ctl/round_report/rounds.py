"""List the shoes and rounds of a journal, however long it is.

In: a reader. Out: a line of values for each, in the order of their records.
Must not know: what a round consists of but its outcome, how a line is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from fractions import Fraction
from typing import Any, Literal

import msgspec

from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.record_format import Kind
from shoe_ctl.records import Record

_OF_A_ROUND = b'"type":"round.'
_IRREGULARITY = b'"type":"irregularity.raised"'
_OF_A_WAGER = (b'"type":"wager.settled"', b'"type":"wager.revised"')
_STEP = 2000


class ShoeLine(msgspec.Struct, kw_only=True, tag="shoe", tag_field="line"):
    """A set of cards, from the record of its first round that is listed."""

    table: str
    shoe_id: str
    n: int
    time: str


class RoundLine(msgspec.Struct, kw_only=True, tag="round", tag_field="line"):
    """A round, from the record that opened it, with the outcome that was told last.

    ``state`` is ``open`` where nothing ended it in this journal. ``method`` and what follows are
    None where there was no outcome. ``paid``, ``commission``, ``collected`` and ``returned`` are
    the sums of its wagers in minor units, a fraction as ``"19/2"``, as they were settled last.
    """

    table: str
    shoe_id: str
    round_id: str
    n: int
    time: str
    state: Literal["open", "settled", "void"] = "open"
    method: str | None = None
    winner: str | None = None
    player: list[str] | None = None
    player_total: int | None = None
    banker: list[str] | None = None
    banker_total: int | None = None
    manual: bool = False
    revised: bool = False
    irregularities: list[str] = []
    paid: int | str = 0
    commission: int | str = 0
    collected: int | str = 0
    returned: int | str = 0


Line = ShoeLine | RoundLine


class _Event(msgspec.Struct):
    type: str
    subject: str | None = None
    time: str = ""
    data: dict[str, Any] = {}


def lines(  # noqa: PLR0913 - what narrows it, each by name
    reader: Reader,
    *,
    table: str | None = None,
    shoe_id: str | None = None,
    first: int = 1,
    last: int | None = None,
    progress: Callable[[int, int], None] = lambda _n, _last_n: None,
) -> Iterator[Line]:
    """Yield each shoe before its rounds; of one table, or one shoe, or between two records.

    A round is given when its outcome can change no more: once the bets of the next one are closed.
    One record at a time is held, and two rounds a table.

    Raises:
        JournalError: the journal cannot be read.
    """
    last_n, _ = reader.heads()
    upto = last_n if last is None else last
    tables: dict[str, _Table] = {}
    records = reader.records(after=first - 1, upto=upto, table=table, kinds=(Kind.RESTRICTED,))
    for count, record in enumerate(records):
        body = record.body
        if _OF_A_ROUND in body or _IRREGULARITY in body or any(t in body for t in _OF_A_WAGER):
            of = tables.setdefault(record.table, _Table(shoe_id))
            yield from of.take(record)
        if count % _STEP == 0:
            progress(record.n, upto)
    for of in tables.values():
        yield from of.end()


class _Table:
    """One table's rounds: the one before, whose outcome may be revised, and the one that is on."""

    def __init__(self, shoe_id: str | None) -> None:
        self._only = shoe_id
        self._shoe: str | None = None
        self._held: list[RoundLine] = []
        self._settled: dict[str, dict[int, dict[str, Any]]] = {}
        """Round → how each of its wagers was settled last, by the wager's number."""

    def take(self, record: Record) -> Iterator[Line]:
        """Take the next event; a damaged one is skipped: replay and verify report it."""
        with suppress(ValueError, KeyError, TypeError):
            event = msgspec.json.decode(record.body, type=_Event)
            if event.type == "round.opened" and event.subject is not None:
                yield from self._given(keep=1)
                yield from self._opened(record, event)
            elif event.type == "round.bets_closed":
                yield from self._given(keep=1)
            else:
                self._add_event(event)

    def end(self) -> Iterator[Line]:
        """Yield what is left after the last record."""
        yield from self._given(keep=0)

    def _given(self, keep: int) -> Iterator[Line]:
        while len(self._held) > keep:
            given = self._held.pop(0)
            self._settled.pop(given.round_id, None)
            yield given

    def _opened(self, record: Record, event: _Event) -> Iterator[Line]:
        assert event.subject is not None
        shoe_id = event.subject.rpartition("-r")[0]
        if self._only not in (None, shoe_id):
            yield from self._given(keep=0)
            return
        if shoe_id != self._shoe:
            yield from self._given(keep=0)
            self._shoe = shoe_id
            yield ShoeLine(table=record.table, shoe_id=shoe_id, n=record.n, time=event.time)
        self._held.append(
            RoundLine(
                table=record.table,
                shoe_id=shoe_id,
                round_id=event.subject,
                n=record.n,
                time=event.time,
            )
        )

    def _add_event(self, event: _Event) -> None:
        """Add an event to the round it is about, if that is still held."""
        about = event.data.get("round_id", event.subject)
        found = next((one for one in self._held if one.round_id == about), None)
        if found is None:
            return
        match event.type:
            case "irregularity.raised":
                found.irregularities = [*found.irregularities, str(event.data["key"])]
            case "round.outcome" | "round.revised":
                player, banker = event.data["player"], event.data["banker"]
                found.method, found.winner = event.data["method"], event.data["winner"]
                found.player, found.player_total = player["cards"], player["total"]
                found.banker, found.banker_total = banker["cards"], banker["total"]
                found.manual = bool(event.data.get("manual"))
                found.revised = event.type == "round.revised"
            case "round.settled":
                found.state = "settled"
            case "round.void":
                found.state = "void"
            case "wager.settled" | "wager.revised":
                wagers = self._settled.setdefault(found.round_id, {})
                wagers[event.data["number"]] = event.data
                _sum_up(found, list(wagers.values()))


def _sum_up(found: RoundLine, wagers: list[dict[str, Any]]) -> None:
    """Set what the house paid, kept, collected and gave back in this round."""
    found.paid = _sum(wagers, "pays")
    found.commission = _sum(wagers, "commission")
    found.collected = _sum(wagers, "collected")
    found.returned = _sum(wagers, "returned")


def _sum(wagers: list[dict[str, Any]], name: str) -> int | str:
    exact = sum((Fraction(wager.get(name, 0)) for wager in wagers), Fraction(0))
    return exact.numerator if exact.denominator == 1 else str(exact)
