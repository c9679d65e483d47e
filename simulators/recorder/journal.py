"""Read a table's recording out of a journal, or out of an export of it.

In: a file. Out: a Recording. ``shoectl export`` unpacks the journal, also while a daemon writes it.
Must not know: the controller, how a journal is packed, scenarios.
"""

from __future__ import annotations

import json
import sqlite3
import tempfile
from base64 import b64decode
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from firmware_proto.cards import DECKS
from firmware_proto.profiles import PROFILES
from simulators.errors import PortFault, WrongUsage
from simulators.recorder.card_sets import left_behind, only_set
from simulators.recorder.recording import Happened, Recording, in_turn, table_of_settings
from simulators.shoectl import run_shoectl
from simulators.table.expectation import Told

MOST_INPUTS = 100_000
"""Of one recording: many shoes. A scenario of more is nothing to look at."""

_SQLITE = b"SQLite format 3\x00"
_DECK_OF_OTHERS = "french52"
_EVENTS = ("event.public", "event.restricted")


def read_journal(path: Path, *, table: str | None, shoe: str | None) -> Recording:
    """Return the recording of a table, or of one of its shoes.

    Raises:
        WrongUsage: it is no journal, or does not hold what is asked for.
        PortFault: it cannot be read.
    """
    source = path.name if shoe is None else f"{path.name}, shoe {shoe}"
    with _unpacked(path, shoe) as file:
        return read_unpacked(file, path, table=table, source=source, shoe=shoe)


def read_unpacked(
    file: Path, path: Path, *, table: str | None, source: str, shoe: str | None = None
) -> Recording:
    """Return the recording of a table from what ``shoectl export --unpacked`` made of ``path``.

    With ``shoe``, of this set of cards alone: an export begins before it, and may end behind it.

    Raises:
        WrongUsage: it does not hold what is asked for.
        PortFault: it cannot be read.
    """
    with closing(_open(file)) as records:
        try:
            chosen = _table(records, path, table)
            return _read(records, chosen, f"{source}, table {chosen}", shoe)
        except sqlite3.Error as error:
            raise PortFault(f"{path}: cannot be read: {error}") from None


@contextmanager
def _unpacked(path: Path, shoe: str | None) -> Iterator[Path]:
    """Yield a file with each record as it was written.

    It is always made by ``shoectl export``, which refuses a file whose form is not a journal's: a
    stranger's file is never opened here.
    """
    if path.exists() and not path.is_file():  # a pipe would be waited for, without end
        raise WrongUsage(f"{path}: expected a journal, or an export of one; this is no file")
    try:
        with path.open("rb") as file:
            first = file.read(len(_SQLITE))
    except OSError as error:
        raise PortFault(f"{path}: {error.strerror}") from None
    if not first.startswith((_SQLITE, b"\x1f\x8b")):
        raise WrongUsage(f"{path}: expected a journal, or an export of one")
    with tempfile.TemporaryDirectory(prefix="shoe-sim-") as folder:
        at, packed = Path(folder) / "unpacked.db", path
        if shoe is not None:
            packed = Path(folder) / "shoe.journal.gz"
            run_shoectl("export", str(path), "--shoe", shoe, "--output", str(packed))
        run_shoectl("export", str(packed), "--unpacked", "--output", str(at))
        yield at


def _open(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)


def _table(records: sqlite3.Connection, path: Path, asked: str | None) -> str:
    rows = records.execute("SELECT DISTINCT \"table\" FROM record WHERE kind = 'input' ORDER BY 1")
    have = [str(name) for (name,) in rows]
    if not have:
        raise WrongUsage(f"{path}: no table was served in it yet")
    if asked is None:
        if len(have) > 1:
            raise WrongUsage(f"--table is missing: {path} has {_some(have)}")
        return have[0]
    if asked not in have:
        raise WrongUsage(f"--table: {path} has {_some(have)}, not {asked!r}")
    return asked


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(names[:8])
    return shown if len(names) <= 8 else f"{shown} and {len(names) - 8} more"


def _read(records: sqlite3.Connection, table: str, source: str, shoe: str | None) -> Recording:
    parts = _Parts(records, table, shoe).read(source)
    game = b64decode(parts.meta["game"])
    settings, happened = dict(parts.meta["settings"]), parts.happened
    begin: int | None = None
    if shoe is not None:
        deck = str(_game(game)["deck"])
        begin, happened = only_set(happened, shoe, parts.begun, parts.state, deck)
        if parts.state.get("method"):
            settings["method"] = parts.state["method"]
    profile = next((h.what["profile"] for h in happened if h.kind == "link_up"), None)
    if profile not in PROFILES:
        raise WrongUsage(f"{source}: no shoe was connected in it")
    hello = next((h.shoe_event for h in happened if h.shoe_event.get("type") == "hello"), {})
    deck = str(hello.get("deck", _DECK_OF_OTHERS))
    if deck not in DECKS:
        raise WrongUsage(f"{source}: a deck {deck!r} that no simulated shoe has")
    started = (t.data for h in happened for t in h.public if t.type == "table.started")
    name = str(next(started, {}).get("game") or _game(game)["id"])
    return Recording(
        table=table_of_settings(settings, name, _shoe(profile, parts.session(begin))),
        profile=profile,
        deck=deck,
        decks=int(settings["decks"]),
        happened=tuple(in_turn(happened)),
        source=source,
        game_file=game,
        begins_with=_first_round(happened, shoe) if begin is not None else None,
        left_out=left_behind(parts.state) if begin is not None else (),
    )


def _first_round(happened: Iterable[Happened], shoe: str | None) -> str | None:
    opened = (told for each in happened for told in each.public if told.type == "round.opened")
    return next((str(told.data["round_id"]) for told in opened), shoe)


def _game(source: bytes) -> dict[str, Any]:
    import tomllib

    return tomllib.loads(source.decode())


def _shoe(profile: str, session: dict[str, Any]) -> dict[str, Any]:
    """Return the shoe's part of the configuration, from what its sessions were set to."""
    shoe: dict[str, Any] = {} if profile == "reference" else {"profile": profile}
    options = dict(session)
    for key in ("commands", "firmware", "unknown_firmware"):
        if options.get(key) is not None:
            shoe[key] = options.pop(key)
    options = {key: value for key, value in options.items() if value is not None}
    if options:
        shoe["options"] = options
    return shoe


class _Parts:
    """The records of one table, in order: what it was started with, and what happened.

    With ``shoe``, ``state`` is the table's in the first snapshot that has this set, ``begun`` the
    place of the first input behind it.
    """

    def __init__(self, records: sqlite3.Connection, table: str, shoe: str | None) -> None:
        self._records = records
        self._table = table
        self._shoe = shoe
        self._sessions: list[tuple[int, dict[str, Any]]] = []
        self.meta: dict[str, Any] = {}
        self.happened: list[Happened] = []
        self.state: dict[str, Any] = {}
        self.begun: int | None = None

    def session(self, begin: int | None) -> dict[str, Any]:
        """Return the settings of the shoe's sessions: of the last before ``begin``, or the next."""
        known = [settings for _, settings in self._sessions]
        before = [s for at, s in self._sessions if begin is not None and at <= begin]
        return (before[-1:] or known[:1] or [{}])[0]

    def read(self, source: str) -> _Parts:
        """Read them all.

        Raises:
            WrongUsage: they are too many, or do not say what the table was started with.
        """
        what: dict[str, Any] | None = None
        started: dict[str, Any] = {}
        told: dict[str, list[Told]] = {kind: [] for kind in _EVENTS}

        def close() -> None:
            if what is not None:
                self.happened.append(Happened(what, *(tuple(told[kind]) for kind in _EVENTS)))
            if len(self.happened) > MOST_INPUTS:
                raise WrongUsage(
                    f"{source}: more than {MOST_INPUTS:,} inputs: name one shoe with --shoe"
                )

        for kind, body in self._bodies():
            following = len(self.happened) + (what is not None)
            if kind == "input":
                close()
                what, told = body, {name: [] for name in _EVENTS}
            elif kind in told:
                told[kind].append(Told(body["type"], body.get("data", {}), body["id"]))
            elif kind == "meta":
                started = body
                self.meta = self.meta or body
            elif kind == "snapshot":
                self._take_snapshot(body["state"], following, started)
            else:
                self._sessions.append((following, body.get("settings") or {}))
        close()
        if not self.meta:
            raise WrongUsage(f"{source}: it does not say what the table was started with")
        return self

    def _take_snapshot(
        self, state: dict[str, Any], following: int, started: dict[str, Any]
    ) -> None:
        if self.begun is None and (state.get("shoe") or {}).get("id") == self._shoe:
            self.begun, self.state, self.meta = following, state, started or self.meta

    def _bodies(self) -> Iterator[tuple[str, dict[str, Any]]]:
        kinds = "'meta', 'connection', 'input', 'event.public', 'event.restricted'"
        if self._shoe is not None:
            kinds += ", 'snapshot'"
        query = (
            f'SELECT n, kind, body FROM record WHERE "table" = ? AND kind IN ({kinds}) ORDER BY n'
        )
        rows: Iterable[tuple[int, str, bytes]] = self._records.execute(query, (self._table,))
        for n, kind, body in rows:
            try:
                yield kind, json.loads(body)
            except ValueError:
                raise WrongUsage(f"record {n}: expected JSON in {kind}") from None
