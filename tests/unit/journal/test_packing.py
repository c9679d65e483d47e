"""Bodies are short in the file, and the same bytes when they are read."""

from __future__ import annotations

import json
import zlib
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import apsw
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoe_ctl.journal import packing
from shoe_ctl.journal.batch import Batch, Counters
from shoe_ctl.journal.packing import (
    COPIES,
    EncodedRecord,
    Packer,
    encode_batch,
    pack_batch,
    unpack,
    unpack_copy,
)
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.record_format import LONGEST_UNPACKED_BYTES, Direction, Kind, Wire
from shoe_ctl.journal.signing import open_signer
from shoe_ctl.records import Audience, Envelope, event_id
from shoe_testing.bulk_journal import TABLE, dealing
from shoe_testing.journals import both_replays, held, records, stored, stored_round, verified

DICTIONARY_SHA256 = "9ac06451755b1047505677ee19330034a63f8cf6a3fef7368a9b50f16af135dc"

encode = msgspec.json.Encoder(order="deterministic").encode

PUBLIC, RESTRICTED = Kind.PUBLIC.value, Kind.RESTRICTED.value

names = st.text(st.characters(codec="utf-8"), max_size=12) | st.sampled_from(["a", "bac-07"])
leaves = st.none() | st.booleans() | st.integers(-(10**9), 10**18) | st.text(max_size=9)
data = st.dictionaries(names, leaves | st.lists(leaves, max_size=3), max_size=5)
kinds = st.sampled_from([kind.value for kind in Kind if kind not in (Kind.WIRE, Kind.CHECKPOINT)])


def unpacked(table: str, kind: str, stored_: bytes, public: bytes) -> bytes:
    if kind == RESTRICTED and stored_[:1] in COPIES:
        return unpack_copy(stored_, public)
    return unpack(table, kind, stored_)


events = st.tuples(
    st.sampled_from(["a", "bac-07", "tisch/1"]),
    st.sampled_from(Audience),
    names,
    st.integers(0, 4 * 10**15),
    st.none() | names,
    data,
    st.none() | data,
)


def both_ways(group: Batch, counted: Counters) -> list[tuple[EncodedRecord, bytes]]:
    """Each record of a group, and what the file holds of it: the same by either way."""
    packer, again = Packer(), msgspec.structs.replace(counted)
    encoded = encode_batch(group, lambda _: counted)
    packed = pack_batch(group, lambda _: again, packs=True)
    assert (packed.ids, packed.devices, again) == (encoded.ids, encoded.devices, counted)
    found = []
    for record, way in zip(encoded.records, packed.records, strict=True):
        table, kind, stored_, event, connection, t_us = way
        assert (table, kind) == (record.table, record.kind)
        assert (connection, t_us) == (record.connection, record.t_us)
        assert event == (record.body if kind in (PUBLIC, RESTRICTED) else None)
        assert stored_ == packer.pack(table, kind, record.body)
        found.append((record, stored_))
    return found


@given(given_=st.lists(events, min_size=1, max_size=4))
def test_any_event_is_read_as_it_was_written(
    given_: list[
        tuple[str, Audience, str, int, str | None, dict[str, object], dict[str, object] | None]
    ],
) -> None:
    group = Batch("0a1b2c3d")
    for table, audience, type_, t_us, subject, public, more in given_:
        restricted = None if more is None else {**public, **more}
        group.append_event(
            table,
            audience,
            type_,
            t_us=t_us,
            subject=subject,
            data=public,
            data_restricted=restricted,
        )
    counted, before = Counters(255, 65_534), b""
    for record, packed in both_ways(group, counted):
        assert record.body == encode(msgspec.json.decode(record.body, type=Envelope))
        assert len(packed) <= len(record.body)
        assert unpacked(record.table, record.kind, packed, before) == record.body
        before = record.body


@given(
    kind=kinds,
    body=st.binary(max_size=40) | st.builds(lambda said: json.dumps(said).encode(), data),
)
def test_any_other_body_is_read_as_it_was_written_or_not_packed(kind: str, body: bytes) -> None:
    packed = Packer().pack("a", kind, body)
    assert packed is body or unpack("a", kind, packed) == body


@given(
    connection=st.integers(0, 2**56 - 1),
    offset=st.integers(0, 2**64 - 1),
    t_us=st.integers(-(2**63), 2**63 - 1),
    direction=st.sampled_from(Direction),
    data=st.binary(max_size=20),
)
def test_raw_bytes_are_read_as_they_were_written(
    connection: int, offset: int, t_us: int, direction: Direction, data: bytes
) -> None:
    body = Wire(
        connection=connection, direction=direction, offset=offset, t_us=t_us, data=data
    ).to_bytes()
    assert unpack("a", "wire", Packer().pack("a", "wire", body)) == body


times = st.integers(-(10**6), 10**16) | st.just(10**16)
shoe_inputs = st.builds(
    lambda t_us, type_: b'{"input":"shoe","t_us":%d,"event":{"type":"%b"}}' % (t_us, type_),
    times,
    st.sampled_from([b"status", b"hello", b"\xc3\xa9"]),
)


@given(
    chunk=st.tuples(
        st.integers(0, 2**56 - 1), st.integers(0, 2**64 - 1), st.sampled_from(Direction)
    ),
    t_us=st.integers(-(2**63), 2**63 - 1) | st.integers(0, 10**16),
    data=st.binary(max_size=20),
    body=st.binary(max_size=40) | shoe_inputs,
    own_time=st.booleans(),
)
def test_what_a_card_brings_is_packed_from_its_parts_as_from_its_bytes(
    chunk: tuple[int, int, Direction], t_us: int, data: bytes, body: bytes, *, own_time: bool
) -> None:
    connection, offset, direction = chunk
    group = Batch()
    group.append_wire(
        "a", connection=connection, direction=direction, offset=offset, t_us=t_us, data=data
    )
    said = body.partition(b'"t_us":')[2].partition(b",")[0]
    group.append_input("a", body, int(said) if said and own_time else t_us)
    for record, packed in both_ways(group, Counters()):
        assert unpack("a", record.kind, packed) == record.body or packed == record.body


@given(kind=st.sampled_from([kind.value for kind in Kind]), stored_=st.binary(max_size=60))
def test_bytes_that_nobody_packed_are_read_as_something(kind: str, stored_: bytes) -> None:
    """They are found by their hash; whoever shows them must not fail."""
    for form in (b"", *(bytes((n,)) for n in range(1, 8))):
        assert isinstance(unpack("a", kind, form + stored_), bytes)
    for form in COPIES:
        for public in (b"", b'{"id":"a/p1","x":1}'):
            assert isinstance(unpack_copy(form + stored_, public), bytes)


def test_a_body_that_unpacks_to_too_much_is_left_as_it_is() -> None:
    body = b'{"a":"' + b"0" * LONGEST_UNPACKED_BYTES + b'"}'
    assert Packer().pack("a", "snapshot", body) == body
    deflater = zlib.compressobj(9, zlib.DEFLATED, -13, zdict=packing.DICTIONARY)
    bomb = b"\x01" + deflater.compress(body) + deflater.flush()
    assert unpack("a", "snapshot", bomb) == bomb


def test_the_dictionary_is_the_one_that_every_journal_was_packed_with() -> None:
    assert sha256(packing.DICTIONARY).hexdigest() == DICTIONARY_SHA256


def test_a_table_s_journal_is_packed_and_proved_as_it_is_stored(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    with dealing(path, 1, open_signer(path, None)):
        pass
    plain, packed = records(path), held(path)
    sizes = dict.fromkeys(Kind, (0, 0))
    for record, stored_ in zip(plain, packed, strict=True):
        was, now = sizes[Kind(record.kind)]
        sizes[Kind(record.kind)] = was + len(record.body), now + len(stored_.body)
    assert sum(now for _, now in sizes.values()) < sum(was for was, _ in sizes.values()) / 5
    copies = [r for r in packed if r.kind == RESTRICTED and r.body[:1] in COPIES]
    assert len(copies) == sum(r.kind == PUBLIC for r in packed)
    assert verified(path).ok
    replayed = both_replays(path)
    assert (replayed.found, replayed.rounds > 50) == (0, True)


def test_an_event_is_found_and_read_alone_from_its_public_copy(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    with dealing(path, 1, open_signer(path, None)):
        pass
    with Reader.open(path) as reader:
        for audience in Audience:
            all_, _ = reader.events(audience, after=0, limit=10**6, table=TABLE)
            assert all_ == reader.events(audience, after=0, limit=10**6)[0]
            for n, body in all_[:: len(all_) // 7]:
                found = reader.find_event(event_id(json.loads(body)["id"]))
                assert found == n
                assert reader.events(audience, after=n - 1, limit=1, table=TABLE)[0] == [(n, body)]


def test_events_are_read_without_a_query_for_each_public_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "journal.db"
    stored(path, [stored_round(1), stored_round(2)])
    bodies = {record.n: record.body for record in records(path) if record.kind == RESTRICTED}
    monkeypatch.delattr(Reader, "_public_before")
    with Reader.open(path) as reader:
        assert dict(reader.events(Audience.RESTRICTED, after=0, limit=10)[0]) == bodies


def test_a_restricted_copy_whose_public_event_is_gone_is_unreadable_not_guessed(
    tmp_path: Path,
) -> None:
    path = tmp_path / "journal.db"
    stored(path, [stored_round(1), stored_round(2)])
    with closing(apsw.Connection(str(path))) as connection:
        connection.execute("DELETE FROM record WHERE n = 2")
    (left,) = [record for record in records(path) if record.n == 3]
    assert left.body == held(path)[1].body
    assert left.body[:1] in COPIES
    bad = verified(path).first_bad
    assert bad is not None and bad.n == 2
