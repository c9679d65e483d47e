"""The journal that every later version must read: all kinds of records, in the form of 0.3.0.

It is recorded anew with each change of the form until 0.3.0 is released, and never after that::

    .venv/bin/python -m shoe_testing.released_journal

It has a table for each profile of shoes, a checkpoint before and after them, a table of long ago
whose records were removed, a ruling on a lost part with the events that a sink still had, a start
of the daemon, and a change of the key.
"""

from __future__ import annotations

import gzip
import tempfile
from pathlib import Path

import msgspec

from firmware_proto.commands import Query
from shoe_ctl.journal.batch import Batch
from shoe_ctl.journal.chain import AnchorRecord
from shoe_ctl.journal.evidence import PossibleLoss
from shoe_ctl.journal.files import head_path
from shoe_ctl.journal.record_format import DaemonStart, LossRuling, RecoveredEvents, Ruling
from shoe_ctl.journal.signing import Signer, open_signer
from shoe_ctl.journal.store import AcceptedLoss, Store
from shoe_ctl.records import Audience
from shoe_testing.journals import T_US, JournalTable, WiredTable, dealt_by, opened, table_meta
from shoe_testing.paths import DATA

RELEASED = DATA / "journal_of_0.3.0.db.gz"
PUBLIC_KEY = DATA / "journal_of_0.3.0.pub"
"""What signed it, in hex. The private key is thrown away."""
PROFILES = {"reference": {}, "angel_eye": {"commands": True}, "bee_tek": {}}
ROUNDS = 3
EPOCH = "0c0c0c0c"
RULING = Ruling(person="Ines", position="gaming_shift_manager", reason="test", consented_by="Kim")


def unpack(path: Path) -> None:
    """Write the journal as it was released."""
    path.write_bytes(gzip.decompress(RELEASED.read_bytes()))


def make(path: Path) -> None:
    """Make a new one, its key and head file beside it."""
    key = open_signer(path, None)
    with opened(path) as store:
        _forget_a_table(store, key)
        for number, (profile, session) in enumerate(PROFILES.items(), 1):
            table = WiredTable(
                store, profile, number, table=table_of(profile), session_settings=session
            )
            table.deal_rounds(1)
            if session:
                table.ask(Query(91, "progress"))
            table.deal_rounds(ROUNDS)
        store.checkpoint(key, T_US)
        with store.reader() as reader:
            found, _ = reader.events(Audience.PUBLIC, after=store.last_n - 20, limit=2)
    _rule(path, [body for _, body in found])
    with opened(path) as store:
        under = msgspec.structs.replace(table_meta(table="goes-on"), epoch=EPOCH)
        goes_on = JournalTable(store, under)
        for happened in dealt_by("2D 3C TS 4D"):
            goes_on.handle(happened)
        _start(store)
        store.checkpoint(key, T_US + 1)
        new = open_signer(path.with_name("new.db"), None)
        store.change_key(new, T_US + 2, RULING, endorser=key)
        goes_on.handle(dealt_by("2D 3C TS 4D")[-1])
        store.checkpoint(new, T_US + 3)


def table_of(profile: str) -> str:
    """The id of the table with this shoe."""
    return f"with-{profile.replace('_', '-')}"


def _forget_a_table(store: Store, key: Signer) -> None:
    """Removes the records of a table that was served before all others."""
    old = JournalTable(store, table_meta(table="long-ago"))
    for happened in dealt_by("2D 3C"):
        old.handle(happened)
    n = store.checkpoint(key, T_US)
    assert n is not None
    counters = store.head("long-ago").counters
    told = {"long-ago": (counters.public, counters.restricted)}
    store.truncate_before(AnchorRecord(n, told), key, T_US)


def _start(store: Store) -> None:
    batch = Batch()
    batch.append_daemon_start(
        DaemonStart(
            t_us=T_US,
            software="0.3.0",
            python="3.11.2",
            files="00" * 32,
            configuration={"table": [{"id": "goes-on"}]},
            configuration_sha256="00" * 32,
        )
    )
    store.commit([batch])


def _rule(path: Path, lines: list[bytes]) -> None:
    """The journal goes on without its head file, which a sink's file may tell more of."""
    head_path(path).unlink()
    ruling = LossRuling(
        epoch=EPOCH,
        t_us=T_US,
        lost=("its head file",),
        ruling=RULING,
    )
    recovered = RecoveredEvents(
        sink="public",
        holder="public.jsonl",
        table=table_of("bee_tek"),
        stream="public",
        lines=tuple(map(msgspec.Raw, lines)),
    )
    try:
        Store.open(path, head_needed=True).close()
    except PossibleLoss as doubtful:
        accepted = AcceptedLoss(doubtful.evidence, ruling, (recovered,))
        Store.open(path, head_needed=True, accepted=accepted).close()


def main() -> None:
    """Record it anew."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "journal.db"
        make(path)
        PUBLIC_KEY.write_text(f"{open_signer(path, None).public_key.hex()}\n", "ascii")
        RELEASED.write_bytes(gzip.compress(path.read_bytes(), mtime=0))
    print(f"{RELEASED.name}: {RELEASED.stat().st_size} bytes")  # noqa: T201 - a command


if __name__ == "__main__":
    main()
