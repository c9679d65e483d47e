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
        return read_unpacked(file, path, table=table, source=source)


def read_unpacked(file: Path, path: Path, *, table: str | None, source: str) -> Recording:
    """Return the recording of a table from what ``shoectl export --unpacked`` made of ``path``.

    Raises:
        WrongUsage: it does not hold what is asked for.
        PortFault: it cannot be read.
    """
    with closing(_open(file)) as records:
        try:
            chosen = _table(records, path, table)
            return _read(records, chosen, f"{source}, table {chosen}")
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


def _read(records: sqlite3.Connection, table: str, source: str) -> Recording:
    meta, sessions, happened = _Parts(records, table).read(source)
    profile = next((h.what["profile"] for h in happened if h.kind == "link_up"), None)
    if profile not in PROFILES:
        raise WrongUsage(f"{source}: no shoe was connected in it")
    hello = next((h.shoe_event for h in happened if h.shoe_event.get("type") == "hello"), {})
    deck = str(hello.get("deck", _DECK_OF_OTHERS))
    if deck not in DECKS:
        raise WrongUsage(f"{source}: a deck {deck!r} that no simulated shoe has")
    game = b64decode(meta["game"])
    settings = meta["settings"]
    started = (t.data for h in happened for t in h.public if t.type == "table.started")
    name = str(next(started, {}).get("game") or _game_id(game))
    return Recording(
        table=table_of_settings(settings, name, _shoe(profile, sessions)),
        profile=profile,
        deck=deck,
        decks=int(settings["decks"]),
        happened=tuple(in_turn(happened)),
        source=source,
        game_file=game,
    )


def _game_id(source: bytes) -> str:
    import tomllib

    return str(tomllib.loads(source.decode())["id"])


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
    """The records of one table, in order."""

    def __init__(self, records: sqlite3.Connection, table: str) -> None:
        self._records = records
        self._table = table

    def read(self, source: str) -> tuple[dict[str, Any], dict[str, Any], list[Happened]]:
        """Return what the table was first started with, its shoe's settings, and what happened."""
        meta: dict[str, Any] | None = None
        session: dict[str, Any] | None = None
        happened: list[Happened] = []
        what: dict[str, Any] | None = None
        told: dict[str, list[Told]] = {kind: [] for kind in _EVENTS}

        def close() -> None:
            if what is not None:
                happened.append(Happened(what, *(tuple(told[kind]) for kind in _EVENTS)))
            if len(happened) > MOST_INPUTS:
                raise WrongUsage(
                    f"{source}: more than {MOST_INPUTS:,} inputs: name one shoe with --shoe"
                )

        for kind, body in self._bodies():
            if kind == "input":
                close()
                what, told = body, {name: [] for name in _EVENTS}
            elif kind in told:
                told[kind].append(Told(body["type"], body.get("data", {}), body["id"]))
            elif kind == "meta":
                meta = meta or body
            elif kind == "connection":
                session = session or body.get("settings") or {}
        close()
        if meta is None:
            raise WrongUsage(f"{source}: it does not say what the table was started with")
        return meta, session or {}, happened

    def _bodies(self) -> Iterator[tuple[str, dict[str, Any]]]:
        query = (
            'SELECT n, kind, body FROM record WHERE "table" = ?'
            " AND kind IN ('meta', 'connection', 'input', 'event.public', 'event.restricted')"
            " ORDER BY n"
        )
        rows: Iterable[tuple[int, str, bytes]] = self._records.execute(query, (self._table,))
        for n, kind, body in rows:
            try:
                yield kind, json.loads(body)
            except ValueError:
                raise WrongUsage(f"record {n}: expected JSON in {kind}") from None
