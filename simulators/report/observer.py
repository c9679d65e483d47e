"""Observes a scenario while it is played: the line, the shoe, hands and staff, the events.

In: a port and a client that are looked through, notes, events as they come. Out: a RunReport.
Must not know: files, how a report is shown.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from importlib import import_module
from typing import Any

from firmware_proto.events import to_plain
from simulators.ports.port import Attachment, Port, Wire
from simulators.report.observations import MOST_MARKS, Compared, Lane, Mark, RunReport, Verdict
from simulators.table.client import Answer, Client
from simulators.table.expectation import Pattern, Told, beside, flat, of_interest, shown
from simulators.table.scenario import Scenario

ROUTINE = frozenset({"status", "standby", "started"})
"""Messages that a shoe repeats while nothing happens."""

REPEATED = ("acknowledge", "ack")
"""Answers of a host to every message."""

RESULTS = ("round.outcome", "round.void", "round.revised", "round.settled")
"""Events that a table system waits for: when they were in the sink is shown."""

SOON_US = 250_000
"""An event so much later than the shoe's last message was brought about by time."""

ANSWERS = ("reply", "repeated")
"""Messages of a shoe that nothing at the table comes of."""

_SLACK_US = 1000
"""So much later a byte may be noted here than at the daemon."""

_DETAIL = 400
_SHOWN = 96
_KEYS = (
    "hand", "index", "card", "total", "winner", "key", "reason", "how", "step", "code", "wager",
    "rule", "number",
)  # fmt: skip

_PLAIN = ("hand", "index", "card", "total")
"""Values that say by themselves what they are."""


def wall_us() -> int:
    """Return the time in µs since 1970, as the daemon stamps its events."""
    return time.time_ns() // 1000


class Observer:
    """Collects marks. ``clock_us`` gives the time in µs since 1970."""

    def __init__(self, scenario: Scenario, *, clock_us: Callable[[], int] = wall_us) -> None:
        self._scenario = scenario
        self._clock_us = clock_us
        self._began_us = clock_us()
        self._marks: list[Mark] = []
        self._left_out = 0
        self._last_shoe: int | None = None
        self._command_of: dict[str, int] = {}
        self._arrived: list[tuple[int, Mapping[str, Any]]] = []
        self._from_shoe: Any = None
        self._from_host: Any = None
        self.connected()

    def connected(self) -> None:
        """A connection begins: what is read of the line begins anew."""
        name = self._scenario.profile
        codec = import_module(f"firmware_proto.{name}.codec")
        self._from_shoe, self._from_host = codec.Listener(), codec.Listener()

    def said_by_shoe(self, data: bytes) -> None:
        """Note bytes from the shoe, and the messages in them."""
        heard = [to_plain(one.event) for one in self._from_shoe.feed(data)]
        routine = bool(heard) and all(event["type"] in ROUTINE for event in heard)
        words = ", ".join(str(event["type"]) for event in heard)
        line = self._add("line", f"from shoe: {len(data)} B", _hex(data, words), routine=routine)
        for event in heard:
            if event["type"] in ROUTINE:
                continue
            self._last_shoe = self._add("shoe", _shoe_words(event), repr(event), cause=line)

    def said_by_host(self, data: bytes) -> None:
        """Note bytes to the shoe, and what they ask of it."""
        asked = [to_plain(one.event) for one in self._from_host.feed(data)]
        words = [word for word in map(_host_words, asked) if word]
        news = [word for word in words if not word.startswith(REPEATED)]
        shown = ", ".join(news or words) or f"{len(data)} B"
        routine = bool(asked) and all(said.get("command") in REPEATED for said in asked)
        self._add("line", f"to shoe: {shown}", _hex(data, shown), routine=routine)

    def lost(self) -> None:
        """Note that host and shoe lost one another."""
        self._add("line", "the connection ends")

    def note(self, words: str) -> None:
        """Note what hands and cables do. Staff are observed where they give their commands."""
        if words.startswith(("hand:", "shoe:", "host:", "disk:", "sink:")):
            self._last_shoe = self._add("acts", words)

    def asked(self, command: Mapping[str, Any]) -> int:
        """Note a command as it is given, or another request."""
        if "request" in command:
            return self._add("acts", f"request: {command['request']}", repr(dict(command)))
        position = str(command.get("position", "")).replace("_", " ")
        args = "".join(f" {key}={value}" for key, value in (command.get("args") or {}).items())
        return self._add("acts", f"{position}: {command.get('command')}{args}", repr(dict(command)))

    def answered(self, number: int, answer: Answer) -> None:
        """Note the answer to it."""
        if answer.get("accepted") is not False:
            for event in answer.get("events", ()):
                self._command_of.setdefault(str(event), number)
            return
        error = answer.get("error") or {}
        self._add("acts", f"  refused: {error.get('code', error)}", str(error.get("text", "")),
                  cause=number)  # fmt: skip

    def arrived(self, event: Mapping[str, Any]) -> None:
        """Note that an event of the public stream was found in the sink."""
        self._arrived.append((self._clock_us(), event))

    def waits_in_vain(self, failure: str) -> None:
        """Note where the playing ended that could not go on."""
        self._add("acts", f"stuck: {failure.rpartition(': ')[2]}", failure, wrong=True)

    def report(
        self,
        verdict: Verdict,
        failure: str | None,
        *,
        public: Sequence[Compared],
        restricted: Sequence[Compared] | None,
    ) -> RunReport:
        """Return all that was observed."""
        wrong = {row.event for row in (*public, *(restricted or ())) if not row.agrees}
        return RunReport(
            name=self._scenario.name,
            title=self._scenario.title,
            verdict=verdict,
            failure=failure,
            began_us=self._began_us,
            ended_us=self._clock_us(),
            table=self._scenario.table,
            marks=_in_order([*self._marks, *self._of_events(wrong)]),
            public=tuple(public),
            restricted=None if restricted is None else tuple(restricted),
            left_out=self._left_out,
        )

    def _of_events(self, wrong: set[str]) -> list[Mark]:
        """Return the marks of the table's events, and of the sink, numbered on."""
        marks: list[Mark] = []
        shoe = [(at, mark) for at, mark in enumerate(self._marks) if mark.lane == "shoe"]
        for seen_us, event in self._arrived:
            kind, event_id = str(event["type"]), str(event["id"])
            t_us = _us(event.get("time")) or seen_us
            cause = self._command_of.get(event_id)
            if cause is None:
                cause = _last_before(shoe, t_us, of_shoe=kind.startswith("shoe."))
            if cause is not None:
                t_us = max(t_us, self._marks[cause].t_us)
            data = event.get("data") or {}
            number = len(self._marks) + len(marks)
            marks.append(
                Mark(
                    t_us=t_us,
                    lane="table",
                    text=_event_words(kind, data),
                    detail=_cut(f"{event_id} {data}"),
                    cause=cause,
                    kind=kind,
                    event=event_id,
                    wrong=event_id in wrong,
                )
            )
            if kind in RESULTS:
                late = f"+{max(0, seen_us - t_us) / 1000:.0f} ms"
                words = f"{kind.partition('.')[2]} {late}"
                marks.append(Mark(t_us=max(seen_us, t_us), lane="sink", text=words, cause=number))
        return marks

    def _add(  # noqa: PLR0913 - a mark, each part by name
        self,
        lane: Lane,
        text: str,
        detail: str = "",
        *,
        cause: int | None = None,
        routine: bool = False,
        wrong: bool = False,
    ) -> int:
        if len(self._marks) >= MOST_MARKS:
            self._left_out += 1
            return len(self._marks) - 1
        self._marks.append(
            Mark(
                t_us=self._clock_us(),
                lane=lane,
                text=text,
                detail=_cut(detail),
                cause=cause,
                routine=routine,
                wrong=wrong,
            )
        )
        return len(self._marks) - 1


def _last_before(shoe: Sequence[tuple[int, Mark]], t_us: int, *, of_shoe: bool) -> int | None:
    """Return the message of the shoe that an event of this time came of; None where none did.

    ``of_shoe``: it is about the shoe itself, and may come of an answer.
    """
    for slack_us in (0, _SLACK_US):
        for at, mark in reversed(shoe):
            is_answer = mark.text.startswith(ANSWERS)
            if t_us - SOON_US <= mark.t_us <= t_us + slack_us and (of_shoe or not is_answer):
                return at
    return None


def _in_order(marks: Sequence[Mark]) -> tuple[Mark, ...]:
    """Return the marks by their time, with the numbers of their causes as they are then."""
    order = sorted(range(len(marks)), key=lambda at: (marks[at].t_us, at))
    new = {old: at for at, old in enumerate(order)}
    return tuple(
        replace(mark, cause=None if mark.cause is None else new[mark.cause])
        for mark in (marks[old] for old in order)
    )


class ObservedPort:
    """A port that is looked through. See ``Port``."""

    def __init__(self, port: Port, observer: Observer) -> None:
        self._port = port
        self._observer = observer

    @property
    def address(self) -> str:
        """As the port."""
        return self._port.address

    @property
    def attachment(self) -> Attachment | None:
        """As the port."""
        return self._port.attachment

    @property
    def pending(self) -> int:
        """As the port."""
        return self._port.pending

    @property
    def overrun(self) -> int:
        """As the port."""
        return self._port.overrun

    def start(self, wire: Wire) -> None:
        """As the port."""
        self._port.start(_ObservedWire(wire, self._observer))

    def write(self, data: bytes) -> None:
        """As the port, and it is noted."""
        if data:
            self._observer.said_by_shoe(data)
        self._port.write(data)

    def close(self) -> None:
        """As the port."""
        self._port.close()

    def reopen(self) -> None:
        """As the port."""
        self._port.reopen()

    def freeze(self) -> None:
        """As the port."""
        self._port.freeze()

    def thaw(self) -> None:
        """As the port."""
        self._port.thaw()


class _ObservedWire:
    """A wire that is looked through."""

    def __init__(self, wire: Wire, observer: Observer) -> None:
        self._wire = wire
        self._observer = observer

    def opened(self) -> None:
        self._observer.connected()
        self._wire.opened()

    def received(self, data: bytes) -> None:
        self._observer.said_by_host(data)
        self._wire.received(data)

    def closed(self) -> None:
        self._observer.lost()
        self._wire.closed()

    def drained(self) -> None:
        self._wire.drained()


class ObservedClient:
    """A client that is looked through. See ``Client``."""

    def __init__(self, client: Client, observer: Observer) -> None:
        self._client = client
        self._observer = observer

    async def ask(self, asked: Mapping[str, Any]) -> Answer:
        """As the client; a command is noted, and its answer."""
        if "command" not in asked:
            return await self._client.ask(asked)
        number = self._observer.asked(asked)
        answer = await self._client.ask(asked)
        self._observer.answered(number, answer)
        return answer

    async def close(self) -> None:
        """As the client."""
        await self._client.close()


def compared(
    expected: Sequence[Pattern], never: Sequence[str], told: Sequence[Told]
) -> list[Compared]:
    """Return the expected events beside those that came."""
    return [
        Compared(
            expected=None if wanted is None else str(wanted),
            came=None if came is None else shown(came, expected),
            event="" if came is None else came.id,
        )
        for wanted, came in beside(expected, of_interest(expected, never, told))
    ]


def _event_words(kind: str, data: Mapping[str, Any]) -> str:
    got = flat(data)
    words = [got[key] if key in _PLAIN else f"{key}={got[key]}" for key in _KEYS if key in got]
    if "player.cards" in got:
        words = [got.get("winner", ""), got["player.cards"], got["banker.cards"]]
    return " ".join((kind, *words))


def _shoe_words(event: Mapping[str, Any]) -> str:
    words = [str(event["type"])]
    for key in ("card", "cards", "number", "hand", "index", "code", "reason", "winner", "accepted",
                "device_id", "drawn"):  # fmt: skip
        if key in event:
            value = event[key]
            words.append(",".join(map(str, value)) if isinstance(value, list) else str(value))
    if event.get("armed") is False:
        words.append("not armed")
    return " ".join(words)


def _host_words(said: Mapping[str, Any]) -> str:
    """Return what the host says; nothing where it is not known."""
    if said["type"] != "command":
        return ""
    values = [str(value) for key, value in said.items() if key not in ("type", "command")]
    return " ".join((str(said["command"]), *values))


def _hex(data: bytes, words: str) -> str:
    more = "" if len(data) <= _SHOWN else f" … {len(data) - _SHOWN} more"
    return f"{data[:_SHOWN].hex(' ')}{more}{f' ({words})' if words else ''}"


def _cut(text: str) -> str:
    return text if len(text) <= _DETAIL else f"{text[: _DETAIL - 1]}…"


def _us(stamp: object) -> int | None:
    """Return a CloudEvents time in µs since 1970."""
    try:
        return round(datetime.fromisoformat(str(stamp)).timestamp() * 1_000_000)
    except ValueError:
        return None
