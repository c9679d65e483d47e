"""An insider who holds a journal's files, and perhaps its key, writes another history.

In: a journal, an act, a seed. Out: a journal written again by the product's own store, so that all
that follows from the records fits them: numbers, chains, heads, the index, and with the key every
signature. What was done, and where it begins, is known here alone.
"""

from __future__ import annotations

import json
import random
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import msgspec

from shoe_ctl.journal import group as journal_group
from shoe_ctl.journal.batch import Batch
from shoe_ctl.journal.chain import read_checkpoint
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.record_format import JOURNAL, Calls, Connection, Kind, Snapshot, Wire
from shoe_ctl.journal.signing import Signer
from shoe_ctl.journal.store import Store
from shoe_ctl.records import Audience, utc
from shoe_testing.journals import opened


class Entry(NamedTuple):
    """A record without its number."""

    table: str
    kind: str
    body: bytes

    @property
    def said(self) -> dict[str, Any]:
        """What its JSON says; nothing where it has another form."""
        return dict(json.loads(self.body)) if self.body.startswith(b"{") else {}


History = list[list[Entry]]
"""Groups of records, in order. A checkpoint is a group of its own."""

CHECKPOINT = Kind.CHECKPOINT.value


def history(path: Path) -> History:
    """What a journal holds."""
    with Reader.open(path) as reader:
        return [
            [Entry(r.table, r.kind, r.body) for r in reader.unpacked([row])]
            for row in reader.rows()
        ]


def entries(told: History) -> list[Entry]:
    """All records, in order."""
    return [entry for group in told for entry in group]


def first_difference(was: History, now: History) -> int:
    """The number of the first record that is another, by what people did to it."""

    def kept(told: History) -> list[tuple[int, object]]:
        return [(n, _without_place(entry)) for n, entry in enumerate(entries(told), 1)]

    before, after = kept(was), kept(now)
    for (n, one), (m, other) in zip(before, after, strict=False):
        if one != other:
            return min(n, m)
    return 1 + (before[len(after) - 1][0] if len(after) < len(before) else before[-1][0])


def _without_place(entry: Entry) -> object:
    """A record without what it names of those before it: that follows from them."""
    if entry.kind == CHECKPOINT:
        return read_checkpoint(entry.body).t_us
    if entry.kind != "snapshot":
        return entry
    place = ("after", "hash", "public", "restricted")
    return {key: value for key, value in entry.said.items() if key not in place}


# Writing.


@contextmanager
def chosen_salts() -> Iterator[None]:
    """Give the first group always the same salt, and the second, and so on.

    So groups before an act are those that were there: an insider leaves them as they are.
    """
    numbers = count()
    with patch.object(journal_group, "new_salt", lambda: next(numbers).to_bytes(16, "big")):
        yield


def write(path: Path, told: History, signer: Signer | None) -> None:
    """Write this history, each group in a commit, each checkpoint signed in its place.

    Without a signer the checkpoints stay as they are: who has no key cannot sign others.
    """
    with opened(path) as store, chosen_salts():
        device: dict[str, str] = {}
        for group in told:
            if group[0].kind == CHECKPOINT and signer is not None:
                store.checkpoint(signer, read_checkpoint(group[0].body).t_us)
            else:
                store.commit([_batch(store, group, device)])


def _batch(store: Store, group: Sequence[Entry], device: dict[str, str]) -> Batch:
    epochs = [each.said["source"].split("/")[2] for each in group if "source" in each.said]
    batch = Batch(*epochs[:1])
    at = 0
    while at < len(group):
        entry, said = group[at], group[at].said
        table = entry.table
        match entry.kind:
            case "event.public" | "event.restricted":
                at += _append_event(batch, entry, group[at + 1 : at + 2])
            case "input":
                batch.append_input(table, entry.body, said["t_us"])
                event = said.get("event", {})
                device[table] = event.get("device_id", device.get(table, ""))
                if isinstance(said.get("seq"), int) and device[table]:
                    batch.set_device_seq(table, device[table], said["seq"])
            case "connection":
                batch.append_connection(table, Connection.from_bytes(entry.body))
            case "calls":
                batch.append_calls(table, Calls.from_bytes(entry.body))
            case "wire":
                wire = msgspec.structs.asdict(Wire.from_bytes(entry.body))
                batch.append_wire(table, **wire)
            case "snapshot":
                batch.append_snapshot(table, _at(store, table, entry.body))
            case kind:
                batch.append(table, Kind(kind), entry.body)
        at += 1
    return batch


def _at(store: Store, table: str, body: bytes) -> Snapshot:
    """A snapshot as it would stand there: it names what is before it."""
    head = store.head(table)
    return msgspec.structs.replace(
        Snapshot.from_bytes(body),
        after=head.n,
        hash=head.hash.hex(),
        public=head.counters.public,
        restricted=head.counters.restricted,
    )


def _append_event(batch: Batch, entry: Entry, following: Sequence[Entry]) -> int:
    """Append an event, with its restricted copy where that follows; return how many followed."""
    said = entry.said
    audience = Audience.PUBLIC if entry.kind == "event.public" else Audience.RESTRICTED
    copy = audience is Audience.PUBLIC and [each.said.get("type") for each in following]
    has_copy = copy == [said["type"]] and following[0].kind == "event.restricted"
    batch.append_event(
        entry.table,
        audience,
        said["type"],
        t_us=t_us_of(said["time"]),
        subject=said.get("subject"),
        data=said["data"],
        data_restricted=following[0].said["data"] if has_copy else None,
    )
    return 1 if has_copy else 0


def t_us_of(time: str) -> int:
    """An event's time in µs."""
    moment = datetime.fromisoformat(time)
    return int(moment.replace(microsecond=0).timestamp()) * 1_000_000 + moment.microsecond


def signed_often(path: Path, source: Path, signer: Signer, every: int) -> None:
    """Write a journal as it is, signed after each so many groups and at its end."""
    told = [group for group in history(source) if group[0].kind != CHECKPOINT]
    with opened(path) as store, chosen_salts():
        device: dict[str, str] = {}
        for number, group in enumerate(told, 1):
            store.commit([_batch(store, group, device)])
            if number % every == 0 or number == len(told):
                store.checkpoint(signer, latest_us(told[:number]))


def latest_us(told: History) -> int:
    """The time of the last input."""
    return max((entry.said["t_us"] for entry in entries(told) if entry.kind == "input"), default=0)


# Acts.

Act = Callable[[History, random.Random], History | None]
"""Another history; None where this one has nothing to do it to."""

EVENTS = ("event.public", "event.restricted")
TEXTS = (*EVENTS, "input")


def _encoded(said: dict[str, Any]) -> bytes:
    return json.dumps(said, separators=(",", ":"), ensure_ascii=False).encode()


def edited(told: History, change: Callable[[Entry], Entry | None]) -> History | None:
    """Each record changed, or left out; None where all stay as they are."""
    now = [[other for entry in group if (other := change(entry)) is not None] for group in told]
    now = [group for group in now if group]
    return None if now == told else now


def texts(*fields: str, to: Callable[[str], str], kinds: Sequence[str] = TEXTS) -> Act:
    """Write another text wherever one of these fields has the one that was chosen."""
    names = "|".join(fields).encode()

    def act(told: History, rng: random.Random) -> History | None:
        pattern = re.compile(rb'"(?:%s)":"((?:[^"\\]|\\.)+)"' % names)
        there = {
            found[1] for e in entries(told) if e.kind in kinds for found in pattern.finditer(e.body)
        }
        if not there:
            return None
        was = rng.choice(sorted(there))
        chosen = re.compile(rb'"(%s)":"%s"' % (names, re.escape(was)))
        now = rb'"\1":"' + to(was.decode()).encode() + b'"'
        return edited(
            told,
            lambda e: e._replace(body=chosen.sub(now, e.body)) if e.kind in kinds else e,
        )

    return act


Change = Callable[[dict[str, Any], random.Random], object]


def data(type_: str, change: Change, *, kinds: Sequence[str] = EVENTS) -> Act:
    """Change the data of one event of a type, in both of its copies."""

    def act(told: History, rng: random.Random) -> History | None:
        of_type = [e.said for e in entries(told) if e.kind in EVENTS and e.said["type"] == type_]
        subjects = sorted({(str(said.get("subject")), said["time"]) for said in of_type})
        if not subjects:
            return None
        chosen, seed = rng.choice(subjects), rng.random()

        def changed(entry: Entry) -> Entry:
            if entry.kind not in kinds or f'"type":"{type_}"'.encode() not in entry.body:
                return entry
            said = entry.said
            if (str(said.get("subject")), said["time"]) != chosen:
                return entry
            change(said["data"], random.Random(seed))
            return entry._replace(body=_encoded(said))

        return edited(told, changed)

    return act


def inputs(name: str, change: Change) -> Act:
    """Change one input: a command of this name, or what the shoe said of this type."""

    def act(told: History, rng: random.Random) -> History | None:
        numbered = list(enumerate(entries(told)))
        there = [at for at, e in numbered if e.kind == "input" and _name(e.said) == name]
        if not there:
            return None
        chosen, places = rng.choice(there), iter(range(len(numbered)))

        def changed(entry: Entry) -> Entry:
            if next(places) != chosen:
                return entry
            said = entry.said
            change(said, rng)
            return entry._replace(body=_encoded(said))

        return edited(told, changed)

    return act


def _name(said: dict[str, Any]) -> str:
    return str(said.get("command") or said.get("event", {}).get("type") or said.get("input"))


def without(which: Callable[[Entry], bool]) -> Act:
    """Leave out the records of this kind."""
    return lambda told, _: edited(told, lambda e: None if which(e) else e)


def of_type(*types: str) -> Callable[[Entry], bool]:
    """Records of events of these types; a name that ends with a dot stands for all below it."""

    def is_one(entry: Entry) -> bool:
        return entry.kind in EVENTS and entry.said["type"].startswith(types)

    return is_one


def of_round(told: History, rng: random.Random) -> tuple[str, list[int]] | None:
    """A round, and the groups that belong to it alone: from its opening to its end."""
    about: dict[str, list[int]] = {}
    for at, group in enumerate(told):
        for entry in group:
            if entry.kind in EVENTS and (of := str(entry.said.get("subject"))).count("-r"):
                about.setdefault(of, []).append(at)
    if not about:
        return None
    chosen = rng.choice(sorted(about))
    first, last = about[chosen][0], about[chosen][-1]
    return chosen, [at for at in range(first, last + 1) if told[at][0].table != JOURNAL]


def drop_round(told: History, rng: random.Random) -> History | None:
    """A round never was."""
    if (found := of_round(told, rng)) is None:
        return None
    return [group for at, group in enumerate(told) if at not in found[1]]


def add_round(told: History, rng: random.Random) -> History | None:
    """A round is there twice: under the next number."""
    if (found := of_round(told, rng)) is None:
        return None
    of, groups = found
    if groups[-1] + 1 >= len(told) - 1:
        return None  # behind all that the witness saw
    stem, number = of.rsplit("-r", 1)
    other = f"{stem}-r{int(number) + 900}".encode()
    copies = [
        [e._replace(body=e.body.replace(of.encode(), other)) for e in told[at] if e.kind in EVENTS]
        for at in groups
    ]
    behind = groups[-1] + 1
    return [*told[:behind], *(copy for copy in copies if copy), *told[behind:]]


def swap_groups(told: History, rng: random.Random) -> History | None:
    """Two groups of a table, one after the other, stand the other way round."""
    there = [
        at
        for at in range(1, len(told) - 1)
        if told[at][0].table == told[at + 1][0].table != JOURNAL
        and not any(e.kind in ("meta", "snapshot", "connection") for e in told[at] + told[at + 1])
    ]
    if not there:
        return None
    at = rng.choice(there)
    return [*told[:at], told[at + 1], told[at], *told[at + 2 :]]


def cut(told: History, rng: random.Random) -> History | None:
    """The newest part is gone, cleanly, behind a checkpoint."""
    ends = [at for at, group in enumerate(told) if group[0].kind == CHECKPOINT]
    return None if len(ends) < 2 else told[: rng.choice(ends[:-1]) + 1]


def cut_anywhere(told: History, rng: random.Random) -> History | None:
    """The newest part is gone, wherever it was; what is left is signed."""
    last = [group for group in told if group[0].kind == CHECKPOINT][-1]
    at = rng.randrange(2, len(told) - 1)
    return [*told[:at], last] if told[at - 1][0].kind != CHECKPOINT else None


def cut_beginning(told: History, rng: random.Random) -> History | None:
    """The oldest part is gone: all before a start of the table."""
    starts = [at for at, g in enumerate(told) if any(e.kind == "meta" for e in g)][1:]
    return None if not starts else told[rng.choice(starts) :]


def fork(told: History, rng: random.Random) -> History | None:
    """An old copy goes on otherwise: what came behind it comes later."""
    at = rng.randrange(len(told) // 3, 2 * len(told) // 3)
    later = [group if g < at else [_later(e) for e in group] for g, group in enumerate(told)]
    return None if later == told else later


_SECOND = 1_000_000


def _later(entry: Entry, seconds: int = 3600) -> Entry:
    if entry.kind == "input":
        said = entry.said
        return entry._replace(body=_encoded({**said, "t_us": said["t_us"] + seconds * _SECOND}))
    if entry.kind in EVENTS:
        said = entry.said
        moved = utc(t_us_of(said["time"]) + seconds * _SECOND)
        return entry._replace(body=_encoded({**said, "time": moved}))
    return entry


def wire_changed(told: History, rng: random.Random) -> History | None:
    """A byte that the shoe sent is another one."""
    there = [e for e in entries(told) if e.kind == "wire" and len(e.body) > 26]
    if not there:
        return None
    chosen = rng.choice(there)
    body = bytearray(chosen.body)
    body[rng.randrange(25, len(body))] ^= 1 << rng.randrange(8)
    return edited(told, lambda e: e._replace(body=bytes(body)) if e is chosen else e)


def start(change: Callable[[dict[str, Any]], object]) -> Act:
    """What a table was started with: its settings, its game file."""

    def act(told: History, rng: random.Random) -> History | None:
        metas = [e for e in entries(told) if e.kind == "meta" and e.table != JOURNAL]
        chosen = rng.choice(metas)
        said = chosen.said
        change(said)
        body = msgspec.json.encode(said, order="deterministic")
        return edited(told, lambda e: e._replace(body=body) if e is chosen else e)

    return act


def copied(path: Path, to: Path) -> Path:
    """All files of a journal, in another folder."""
    to.mkdir(parents=True, exist_ok=True)
    for file in path.parent.glob(f"{path.name}*"):
        if not file.name.endswith("-lock"):
            shutil.copy(file, to / file.name)
    return to / path.name
