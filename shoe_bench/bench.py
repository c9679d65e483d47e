"""One shoe at one table for one test: from a known state to the end, and what a report says of it.

In: where the shoe is, what the test wants of shoe and table. Out: shoe, table, commands, events.
Must not know: pytest.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from firmware_proto.version import describe_version
from shoe_bench.daemon import Daemon, configuration, program
from shoe_bench.errors import (
    BenchError,
    DaemonEnded,
    NoKnownState,
    NotInTime,
    Unasked,
    is_told_by_its_text,
)
from shoe_bench.events import Event, Events, event_pattern, unasked_words
from shoe_bench.shoe import DEVICE, SIMULATED, BenchShoe, SimulatedShoe
from shoe_bench.table import Commands, Table, stands
from shoe_bench.wire_report import NoCapture, as_text, capture, first_hello
from simulators.table.expectation import Pattern

__tracebackhide__ = is_told_by_its_text

HISTORY = ("history", "before_first_delimiter", "before_hello")
"""Reasons to discard that every connection may begin with, which nobody did."""

GAME = "tiger"

CARD = "round.card_drawn"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where the shoe is: without a ``port`` it is simulated.

    ``control`` is the socket at which the shoe at ``port`` takes changes, if it takes any.
    ``options`` are keys of the daemon's ``[table.shoe]``, ``shoectl`` the words that start it.
    ``within_s`` is the longest wait for anything.
    """

    port: str | None = None
    profile: str = "reference"
    control: Path | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    shoectl: str | None = None
    within_s: float = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The wishes of a test: the simulated shoe's kind and cards, keys of the ``[[table]]``.

    ``more`` is any other text of the daemon's configuration.
    """

    shoe: Mapping[str, Any] = field(default_factory=dict)
    table: Mapping[str, Any] = field(default_factory=dict)
    more: str = ""


class ShoeBench:
    """The fixture of a test: ``shoe``, ``table``, ``commands``, ``events``.

    ``socket`` is the daemon's, for other programs, and ``journal`` its journal. ``tell`` says one
    line to the person beside the shoe.
    """

    shoe: BenchShoe
    table: Table
    commands: Commands
    events: Events
    socket: Path
    journal: Path

    def __init__(
        self, place: Place, folder: Path, wanted: Wanted, *, tell: Callable[[str], None]
    ) -> None:
        self.place = place
        self.folder = folder
        self.capture = folder / "shoe.capture"
        self._setup = dict(wanted.shoe)
        self._seed = wanted.shoe.get("seed", 1)
        self._table = {"game": GAME, **wanted.table}
        self._more = wanted.more
        self._tell = tell
        self._words = program(place.shoectl)
        self._cleanup = ExitStack()
        self._daemon: Daemon | None = None
        self._simulated: SimulatedShoe | None = None
        self._events: Events | None = None
        self._expected: list[Pattern] = []
        self._is_starting = True
        self._config = ""

    def start(self) -> None:
        """Bring shoe and table to the state that every test begins in: connected, and idle.

        Raises:
            NoKnownState: they do not get there; the text says what is in the way.
        """
        try:
            self._start()
        except (BenchError, TypeError) as error:
            where = self.place.port or "the simulated shoe"
            why = str(error).removeprefix(f"{where}: ")
            raise NoKnownState(f"{where}: no known state to begin from: {why}") from None
        self._is_starting = False

    def expect(self, *events: str) -> None:
        """Ask for what the shoe does by itself: ``bench.expect("shoe.alarm")``.

        From now on such events do not end the test.
        """
        self._expected += [event_pattern(each) for each in events]
        if self._events is not None:
            self._events.unasked = [e for e in self._events.unasked if not self._is_expected(e)]

    def stop_daemon(self) -> None:
        """Stop the daemon in the middle of a test; the shoe is left without a host.

        Raises:
            NotInTime: it does not stop.
        """
        self._stop_daemon()
        self.commands.close()
        self.events.close()

    def start_daemon(self) -> None:
        """Start the daemon that was stopped, with its journal, and wait until the shoe is back.

        Raises:
            DaemonEnded, NotInTime: it does not start, or the shoe does not come back.
        """
        assert self._daemon is not None
        self._is_starting = True
        self._daemon.start(self._config, self.place.within_s)
        self.events.connect()
        self.events.wait("shoe.connected")
        self._is_starting = False

    def finish(self, error: BaseException | None = None) -> None:
        """Stop the daemon, and check that the shoe did nothing that was not asked for.

        ``error`` is why the test has failed already, perhaps because of what the shoe did.

        Raises:
            Unasked: it did.
            NotInTime: the daemon does not stop.
        """
        self._stop_daemon()
        if self._events is not None and self._events.unasked:
            raise Unasked(unasked_words(self._events.unasked)) from error

    def close(self) -> None:
        """Give everything back.

        Raises:
            BenchError: the daemon did not stop, or the simulated shoe failed.
        """
        with self._cleanup:
            self._stop_daemon()

    def sections(self) -> Iterator[tuple[str, str]]:
        """Yield the parts of a report of a test that failed: titles and texts."""
        with suppress(BenchError):
            self._stop_daemon()
        if self._events is not None:
            yield "events at the shoe bench", self._events.last(40)
        if self._daemon is None:
            return
        yield "the daemon's log", self._daemon.last_lines(40).lstrip("\n")
        try:
            capture(self._words, self._daemon.journal, self.capture)
            yield "bytes of the shoe", as_text(self._words, self.capture)
        except (NoCapture, OSError, ValueError) as error:
            yield "bytes of the shoe", f"there are none: {error}"

    def properties(self) -> Iterator[tuple[str, str]]:
        """Yield what was tested, by name, once the daemon has stopped: for a report in XML.

        A shoe that reports neither serial number nor firmware has none of these.
        """
        yield "profile", self.shoe.profile
        if self.place.port is not None:
            yield "port", self.place.port
        else:
            yield "seed", str(self._seed)
        if self._daemon is not None and self._daemon.journal.exists():
            with suppress(NoCapture, ValueError):
                said = first_hello(self._words, self._daemon.journal)
                found = (("serial", said.get("device_id")), ("firmware", said.get("firmware")))
                yield from ((name, str(value)) for name, value in found if value is not None)
        if self._events is not None and (started := self._events.first("table.started")):
            yield "daemon", str(started.data["software"])
        yield "shoe_bench", describe_version()

    # --- to the known state -----------------------------------------------------------------

    def _start(self) -> None:
        within_s = self.place.within_s
        sockets = Path(tempfile.mkdtemp(prefix="shoe-bench-"))  # short: a socket's path is bounded
        self._cleanup.callback(shutil.rmtree, sockets, ignore_errors=True)
        self.shoe = self._shoe(sockets)
        self._cleanup.callback(self.shoe.close)
        if self._simulated is None:
            self.shoe.restore()
        shoe = {"profile": self.shoe.profile, **self.place.options, "port": self.shoe.port}
        shoe |= self._table.pop("shoe", {})
        self._daemon = daemon = Daemon(self._words, self.folder, sockets)
        self.socket, self.journal = daemon.socket, daemon.journal
        self._config = configuration(self.folder, sockets, self._table, shoe) + self._more
        daemon.start(self._config, within_s)
        self.events = self._events = Events(
            daemon.socket, within_s=within_s, asked_for=self._is_asked_for, ended=daemon.why_ended
        )
        self._cleanup.callback(self.events.close)
        self.commands = Commands(
            daemon.socket, self.events, within_s=within_s, ended=daemon.why_ended
        )
        self._cleanup.callback(self.commands.close)
        self.table = Table(self.commands, self.events, self.shoe)
        cards = DrawnCards(self.events)
        self.shoe.connect(cards, within_s)
        self._until_known(cards)

    def _shoe(self, sockets: Path) -> BenchShoe:
        place, profile = self.place, str(self._setup.pop("profile", self.place.profile))
        if place.port is not None:
            return BenchShoe(
                kind=DEVICE, profile=profile, port=place.port, control=place.control,
                tell=self._tell,
            )  # fmt: skip
        self._simulated = simulated = SimulatedShoe(sockets, profile, self._setup)
        self._cleanup.callback(simulated.stop, place.within_s)
        simulated.start(place.within_s)
        return BenchShoe(
            kind=SIMULATED, profile=profile, port=str(simulated.port), control=simulated.control,
            tell=self._tell,
        )  # fmt: skip

    def _until_known(self, cards: DrawnCards) -> None:
        """Wait until shoe and table are in the known state; say what is in the way of it."""
        limit = time.monotonic() + self.place.within_s
        self._wait_in_start("shoe.connected", limit)
        if self._simulated is not None:
            cards.next(self._simulated.open(self.place.within_s), self.place.within_s)
        while True:
            status = self.table.status
            self._check_reachable(status)
            if status["link"] == "up" and status["state"] == "idle":
                break
            left = limit - time.monotonic()
            if left <= 0:
                raise NotInTime(f"not in {self.place.within_s:g} s; {stands(status)}")
            self.events.wait_for_news(f"an idle table ({stands(status)})", left)
        cards.pass_over()

    def _wait_in_start(self, event: str, limit: float) -> None:
        try:
            self.events.wait(event, max(0.001, limit - time.monotonic()))
        except NotInTime:
            status = self.table.status
            why = (status.get("link_reason") or {}).get("text") or "it does not answer"
            raise NotInTime(
                f"the shoe at {self.shoe.port} did not say who it is in "
                f"{self.place.within_s:g} s: {why}; {stands(status)}"
            ) from None

    def _check_reachable(self, status: Mapping[str, Any]) -> None:
        """Raises NoKnownState where nothing but a person at the shoe can help."""
        if status["halt"] is not None:
            prompt = (status["halt"].get("prompt") or {}).get("text") or "a person must decide"
            raise NoKnownState(f"the shoe halted the table: {stands(status)}: {prompt}")
        if status["state"] == "shoe_change" or (status.get("shoe") or {}).get("cutting_card_out"):
            raise NoKnownState("the shoe's cutting card is out: load the next set of cards")

    # --- what was asked for -----------------------------------------------------------------

    def _is_asked_for(self, event: Event) -> bool:
        return (
            self._is_starting
            or bool(self._setup)
            or self.shoe.was_changed
            or event.data.get("command_id") is not None
            or event.data.get("reason") in HISTORY
            or self._is_expected(event)
        )

    def _is_expected(self, event: Event) -> bool:
        return any(each.matches(event.told) for each in self._expected)

    def _stop_daemon(self) -> None:
        if self._daemon is None:
            return
        self._daemon.tell_to_stop()
        if self._events is not None:
            with suppress(NotInTime, DaemonEnded):
                self._events.until_end(self.place.within_s)
        self._daemon.stop(self.place.within_s)


class DrawnCards:
    """As ``shoe.Cards``: from the restricted stream, where each card is named."""

    def __init__(self, events: Events) -> None:
        self._events = events
        self._returned = 0

    def pass_over(self) -> None:
        """As ``shoe.Cards``."""
        self._events.take()
        self._returned = self._events.count(CARD)

    def next(self, cards: int, within_s: float) -> Sequence[str | None]:
        """As ``shoe.Cards``; raises like ``Events.wait``."""
        limit = time.monotonic() + within_s
        while (came := self._events.count(CARD) - self._returned) < cards:
            left = max(0.0, limit - time.monotonic())
            self._events.wait_for_news(f"card {came + 1} of {cards}", left)
        drawn = [event.data["card"] for event in self._events.seen if event.type == CARD]
        drawn = drawn[self._returned : self._returned + cards]
        self._returned += cards
        return drawn
