"""The tables of a floor as their public events tell, and how they are shown.

In: public events, the time. Out: a row for each table; a live table on a terminal, lines, JSON.
Must not know: where the events come from.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self

import click
import msgspec

from shoe_ctl.cli.common import Column, format_row, make_cell, make_console, make_table
from shoe_ctl.records import event_id, table_in, utc
from shoe_ctl.texts import catalogue
from shoe_ctl.texts.screen import Words

if TYPE_CHECKING:
    from rich.live import Live
    from rich.table import Table

HOUR_US = 3_600_000_000

State = Literal[
    "unknown", "no shoe", "idle", "betting", "closed", "dealing", "resolved", "shoe change"
]

_STATES: dict[str, State] = {
    "shoe.loaded": "idle",
    "round.opened": "betting",
    "round.bets_closed": "closed",
    "round.card_dealt": "dealing",
    "round.card_revealed": "dealing",
    "round.outcome": "resolved",
    "round.settled": "idle",
    "round.void": "idle",
    "shoe.change_due": "shoe change",
}
"""The state that a table is in behind an event of this type."""


class Event(msgspec.Struct):
    """A public event, with the attributes that a floor needs."""

    id: str
    source: str
    type: str
    time: str
    data: dict[str, Any]


class Row(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=False):
    """The row of a table. Times are UTC; ``halts`` and ``rounds_per_hour`` are of the last hour."""

    table: str
    state: str
    round_id: str | None
    winner: str | None
    link: Literal["up", "lost", "unknown"]
    halted: str | None
    halted_since: str | None
    rounds_per_hour: int
    halts: int
    missing: int
    last_event: str
    time: str


class FloorTable:
    """The state of one table by its events, each applied once and in order."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._state: State = "unknown"
        self._round_id: str | None = None
        self._winner: str | None = None
        self._link: Literal["up", "lost", "unknown"] = "unknown"
        self._halted: str | None = None
        self._halted_since: str | None = None
        self._outcomes: deque[int] = deque()
        self._halts: deque[int] = deque()
        self._missing: set[int] = set()
        self._source = ""
        self._number = 0
        self._last = self._time = ""

    def apply(self, event: Event) -> None:
        """Apply an event. One that came before is passed over, one that was missing is counted."""
        number = event_id(event.id).number
        if event.source == self._source and number <= self._number:
            if number in self._missing:
                self._missing.discard(number)
                self._count(event)
            return
        if event.source == self._source:
            self._missing.update(range(self._number + 1, number))
        else:
            self._missing.clear()
        self._source, self._number = event.source, number
        self._last, self._time = event.type, event.time
        self._count(event)
        self._follow(event)

    def _count(self, event: Event) -> None:
        if event.type == "round.outcome":
            self._outcomes.append(time_us(event.time))
        elif event.type == "table.halted":
            self._halts.append(time_us(event.time))

    def _follow(self, event: Event) -> None:
        data = event.data
        if event.type.startswith(("round.", "shoe.")):
            self._state = _STATES.get(event.type, self._state)
        self._round_id = data.get("round_id", self._round_id)
        match event.type:
            case "round.opened":
                self._winner = None
            case "round.outcome" | "round.revised":
                self._winner = data.get("winner")
            case "round.void":
                self._winner = "void"
            case "table.halted":
                reason = data.get("reason")
                self._halted = catalogue.text(reason) if isinstance(reason, dict) else str(reason)
                self._halted_since = event.time
            case "table.resumed":
                self._halted = self._halted_since = None
            case "shoe.connected" | "shoe.loaded":
                self._link = "up"
            case "shoe.lost":
                self._link = "lost"

    def row(self, now_us: int) -> Row:
        """Return how the table stands at this time (µs since 1970 UTC)."""
        for counted in (self._outcomes, self._halts):
            while counted and counted[0] <= now_us - HOUR_US:
                counted.popleft()
        return Row(
            table=self.name,
            state=self._state,
            round_id=self._round_id,
            winner=self._winner,
            link=self._link,
            halted=self._halted,
            halted_since=self._halted_since,
            rounds_per_hour=len(self._outcomes),
            halts=len(self._halts),
            missing=len(self._missing),
            last_event=self._last,
            time=self._time,
        )


class Floor:
    """Every table of a stream, by its name."""

    def __init__(self) -> None:
        self.tables: dict[str, FloorTable] = {}

    def apply(self, body: bytes) -> str | None:
        """Apply an event; return its table. None where it is no event of a table."""
        try:
            event = _decoder.decode(body)
            event_id(event.id)
        except ValueError:
            return None
        name = table_in(event.source)
        table = self.tables.get(name)
        if table is None:
            table = self.tables[name] = FloorTable(name)
        table.apply(event)
        return name

    def rows(self, now_us: int) -> list[Row]:
        """Return all tables, in the order of their names."""
        return [self.tables[name].row(now_us) for name in sorted(self.tables)]


_decoder = msgspec.json.Decoder(Event)


def event_time_us(body: bytes) -> int:
    """Return the time of an event in µs since 1970 UTC; 0 where it is none."""
    try:
        return time_us(_decoder.decode(body).time)
    except ValueError:
        return 0


def time_us(text: str) -> int:
    """Return an event's time in µs since 1970 UTC; 0 where it has none."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return 0
    return round(moment.replace(tzinfo=moment.tzinfo or timezone.utc).timestamp() * 1e6)


# How it is shown.


class View(AbstractContextManager[Any], Protocol):
    """Where the floor is shown."""

    def show(self, floor: Floor) -> None:
        """Show how the tables stand now."""

    def lost(self, why: str) -> None:
        """Say that the stream is away."""

    def back(self) -> None:
        """Say that the stream is there again."""


class Lines:
    """A line for each table that stands otherwise than before, plain or JSON; the rest on stderr.

    What only passes with the time, such as a rate, is no reason for a line.
    """

    def __init__(
        self, now_us: Callable[[], int], words: Words | None = None, *, as_json: bool
    ) -> None:
        self._now_us = now_us
        self._words = words or Words()
        self._as_json = as_json
        self._shown: dict[str, tuple[object, ...]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is left to do."""

    def show(self, floor: Floor) -> None:
        """Print the tables that changed."""
        for row in floor.rows(self._now_us()):
            stands = (row.state, row.round_id, row.winner, row.link, row.halted, row.missing)
            if self._shown.get(row.table) != stands:
                self._shown[row.table] = stands
                click.echo(
                    msgspec.json.encode(row) if self._as_json else plain_line(row, self._words)
                )

    def lost(self, why: str) -> None:
        """Say it once on stderr."""
        click.echo(self._words("stream_lost", why=why), err=True)

    def back(self) -> None:
        """Say it on stderr."""
        click.echo(self._words("stream_back"), err=True)


def plain_line(row: Row, words: Words) -> str:
    """Return a table in one line of text."""
    cells = (row.table, shown_state(row, words), row.round_id or "-", shown_winner(row, words))
    text = note(row, words) or words("rounds_per_hour", number=row.rounds_per_hour)
    return format_row([row.time[:19], *cells, text], [19, 12, 11, 16, 6, 0])


def shown_state(row: Row, words: Words) -> str:
    """Return the state, as people look for it: a halt before all else."""
    if row.halted is not None:
        return words("halted_state")
    return words.name("state", row.state.replace(" ", "_"))


def shown_winner(row: Row, words: Words) -> str:
    """Return who won the last round, or that it is void."""
    return words("winner", winner=row.winner) if row.winner else "-"


def note(row: Row, words: Words) -> str:
    """Return what is out of the ordinary; nothing where nothing is."""
    parts = []
    if row.halted is not None:
        since = str(row.halted_since)[11:19]
        parts.append(words("halted_since", since=since, reason=row.halted))
    if row.link == "lost":
        parts.append(words("shoe_lost"))
    if row.missing:
        parts.append(words("events_missing", number=row.missing))
    return words.join(parts, "clauses")


class LiveTable:
    """A table on a terminal that is drawn anew as the tables change."""

    def __init__(self, now_us: Callable[[], int], where: str, words: Words | None = None) -> None:
        self._words = words or Words()
        self._now_us = now_us
        self._where = where
        self._floor = Floor()
        self._lost: str | None = None
        self._live: Live | None = None

    def __enter__(self) -> Self:
        from rich.live import Live

        self._live = Live(console=make_console(), auto_refresh=False)
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    def show(self, floor: Floor) -> None:
        """Draw the tables as they stand now."""
        self._floor = floor
        self._draw()

    def lost(self, why: str) -> None:
        """Say it above the tables, which stand as they were last known."""
        self._lost = why
        self._draw()

    def back(self) -> None:
        """Remove the line above the tables."""
        self._lost = None
        self._draw()

    def _draw(self) -> None:
        if self._live is not None:
            self._live.update(self._table(), refresh=True)

    def _table(self) -> Table:
        words = self._words
        lost = "" if self._lost is None else f"   {words('stream_lost_since', why=self._lost)}"
        table = make_table(_columns(words), f"{self._where}   {utc(self._now_us())[:19]}{lost}")
        for row in self._floor.rows(self._now_us()):
            style = "bold red" if row.halted is not None else ""
            cells = (
                (row.table, ""),
                (shown_state(row, words), style),
                (row.round_id or "-", ""),
                (shown_winner(row, words), ""),
                (str(row.rounds_per_hour), ""),
                (str(row.halts), "yellow" if row.halts else ""),
                (row.time[11:19], ""),
                (note(row, words), style or "yellow"),
            )
            table.add_row(*(make_cell(*cell) for cell in cells))
        return table


def _columns(words: Words) -> list[Column]:
    """The columns of the table, with their heads."""
    heads = ("table", "state", "round", "last_result", "rounds_per_hour", "halts_per_hour")
    numbers = heads[-2:]
    named = [Column(words.name("head", head), right=head in numbers) for head in heads]
    return [*named, Column(words.name("head", "last_event")), Column("", fits=False)]
