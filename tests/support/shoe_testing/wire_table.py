"""A table in process that stores what a daemon does: its line's bytes, inputs and events.

In: a path, a profile, a seed. Out: a journal that both replays can be held against.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from firmware_proto.commands import AnyCommand, DesiredShoeState
from firmware_proto.profiles import profile, with_keys
from firmware_proto.reference.mac import ShoeKeys
from firmware_proto.session import HostSession, ReceivedEvent, Resume
from shoe_ctl.history import snapshots
from shoe_ctl.history.recorder import LinkRecorder, in_runs
from shoe_ctl.journal import codec
from shoe_ctl.journal.batch import Batch
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.store import Store
from shoe_ctl.link.connection import Call, Reception
from shoe_ctl.replay.replay import Replay, replay
from shoe_ctl.replay.wire_replay import RecordedSessions
from shoe_ctl.table.inputs import Input
from shoe_testing.bench import Table, game_of
from shoe_testing.journal_table import AtAJournal

DEVICE, KEY = "SIM-0001", bytes(range(32))
KEYS = {DEVICE: {1: KEY}}


class Nonces:
    """16 bytes, never the same twice."""

    def __init__(self, first: int) -> None:
        self._next = first

    def __call__(self) -> bytes:
        self._next += 1
        return self._next.to_bytes(16, "big")


class Told:
    """A host session, and what it was told, as the link keeps it."""

    def __init__(self, session: HostSession, table: WiredTable, number: int) -> None:
        self._session = session
        self._table = table
        self._number = number
        self._received = 0
        self._calls: list[Call] = []
        self.capabilities = session.capabilities

    def receive(self, data: bytes, t: float) -> list[ReceivedEvent]:
        offset, self._received = self._received, self._received + len(data)
        heard = self._session.receive(data, t)
        self._receive(offset, data, heard, t)
        return in_runs(heard, data, offset)

    def tick(self, t: float) -> list[ReceivedEvent]:
        self._call(t)
        heard = self._session.tick(t)
        if heard:
            self._receive(self._received, b"", heard, t)
        return heard

    def set_desired_state(self, state: DesiredShoeState) -> None:
        self._call(state)
        self._session.set_desired_state(state)

    def command(self, command: AnyCommand) -> None:
        self._session.command(command)
        self._call(command)

    def stored(self, seq: int | str) -> None:
        self._session.stored(seq)

    def end(self) -> list[ReceivedEvent]:
        return self._session.end()

    @property
    def next_deadline(self) -> float | None:
        return self._session.next_deadline

    def outgoing(self) -> bytes:
        return self._session.outgoing()

    def _call(self, call: Call) -> None:
        if self.capabilities.timed:
            self._calls.append(call)

    def _receive(self, offset: int, data: bytes, heard: list[ReceivedEvent], t: float) -> None:
        calls, self._calls = tuple(self._calls), []
        self._table.receive(
            Reception(
                connection=self._number,
                offset=offset,
                chunk=data,
                heard=tuple(heard),
                t_us=round(t * 1_000_000),
                calls=calls,
            )
        )


class WiredTable(Table):
    """``Table`` at an open store. With ``keyed`` its shoe proves itself to who has ``known``."""

    def __init__(
        self,
        store: Store,
        profile_name: str,
        seed: int,
        *,
        keyed: bool = False,
        known: Mapping[str, Mapping[int, bytes]] = KEYS,
        **given: Any,
    ) -> None:
        keys = ShoeKeys({1: KEY}, Nonces(1 << 100)) if keyed else None
        super().__init__(
            game_of("tiger"), profile_name, seed, face_up_after_ms=0, keys=keys, **given
        )
        self._chosen = profile(profile_name)
        if keyed:
            self._chosen = with_keys(self._chosen, known, Nonces(0))
        self._line = LinkRecorder(self.controller.settings.table)
        self._pending: list[Callable[[Batch], object]] = []
        under = snapshots.start_record(self.controller.game, self.controller.settings, 0)
        self._at = AtAJournal(store, under)
        self.controller = self._at.controller

    @property
    def store(self) -> Store:
        """Where its records are."""
        return self._at.store

    @property
    def connections(self) -> int:
        """How often the shoe's port was opened."""
        return self._connection

    def receive(self, reception: Reception) -> None:
        """What came in one go stands before its inputs."""
        self._pending.append(lambda group: self._line.received(group, reception, reception.t_us))

    def open(self) -> None:
        """The table opens, and the shoe's port."""
        self.dealer.open_table(0.0)
        self.connect()

    def deal_rounds(self, rounds: int) -> None:
        """Deals on, to so many rounds; a lost cable is plugged in again."""
        if not self._connection:
            self.open()
        while self.count["round.settled"] < rounds:
            if self._port.host is None:
                self._lose()
            self._advance()

    def ask(self, command: AnyCommand) -> None:
        """Tells the shoe this, on the connection that is open."""
        assert self._port.host is not None
        self._port.host.command(command)

    def _session(self, resume: Resume | None, settings: Mapping[str, object]) -> HostSession:
        session = self._chosen.host_session(resume=resume, settings=settings)
        known = () if resume is None else (codec.Resume(resume.device_id, resume.seq),)
        opened = codec.Connection(
            number=self._connection,
            profile=self._profile_name,
            settings=dict(settings),
            resume=known,
            t_us=self._now_us,
            authenticated=session.capabilities.authenticated,
        )
        self._pending.append(lambda group: group.append_connection(self._at.table, opened))
        return Told(session, self, self._connection)

    def _happened(self, happened: Input) -> None:
        pending, self._pending = self._pending, []
        self.inputs.append(happened)
        events = self._at.handle(happened, lambda group: [add(group) for add in pending])
        self.told += events
        self.count.update(event.type for event in events)


@contextmanager
def wired(path: Path, profile_name: str, seed: int = 1, **given: Any) -> Iterator[WiredTable]:
    """A table at a journal; its store is closed in the end."""
    store = Store.open(path)
    store._log.execute("PRAGMA synchronous = OFF")  # nothing here has to outlive the power
    try:
        yield WiredTable(store, profile_name, seed, **given)
    finally:
        store.close()


def dealt(path: Path, profile_name: str, rounds: int, **given: Any) -> WiredTable:
    """A table that was dealt so many rounds, its journal at rest."""
    with wired(path, profile_name, **given) as table:
        table.deal_rounds(rounds)
    return table


def both_replays(path: Path, sessions: RecordedSessions | None = None) -> Replay:
    """What both replays find in this journal."""
    with Reader.open(path) as reader:
        return replay(
            reader, snapshots.controller_for, snapshots.agrees, sessions or RecordedSessions()
        )
