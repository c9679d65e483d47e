"""Groups are short in the file, and their records the same bytes when they are read."""

from __future__ import annotations

import json
import zlib
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoe_ctl.journal import group as group_module
from shoe_ctl.journal.batch import Batch, Counters, Head, names_player
from shoe_ctl.journal.chain import chain_hash
from shoe_ctl.journal.dictionary import DICTIONARY
from shoe_ctl.journal.group import (
    FULL_BYTES,
    MOST_RECORDS,
    InvalidGroup,
    Packing,
    encode_batch,
    open_bytes,
    read_header,
    unpack_group,
)
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.record_format import Direction, Kind
from shoe_ctl.journal.signing import open_signer
from shoe_ctl.records import Audience, Envelope, event_id, utc
from shoe_testing.bulk_journal import TABLE, dealing
from shoe_testing.journals import (
    both_replays,
    held,
    opened,
    plain_group,
    records,
    stored_round,
    verified,
)

DICTIONARY_SHA256 = "208b8a52f4bac6a8f4719a4c2db4895ae54411fdcbbe4681154fd3e0a47893c9"

encode = msgspec.json.Encoder(order="deterministic").encode

names = st.text(st.characters(codec="utf-8"), max_size=12) | st.sampled_from(["a", "bac-07"])
leaves = st.none() | st.booleans() | st.integers(-(10**9), 10**18) | st.text(max_size=9)
data = st.dictionaries(names, leaves | st.lists(leaves, max_size=3), max_size=5)
tables = st.sampled_from(["a", "bac-07", "tisch/1", 't"\\'])
times = st.integers(0, 4 * 10**15)
bodies = st.binary(max_size=40) | st.builds(lambda said: json.dumps(said).encode(), data)

events = st.builds(
    lambda table, audience, type_, t_us, subject, public, more: (
        lambda batch: batch.append_event(
            table,
            audience,
            type_,
            t_us=t_us,
            subject=subject,
            data=public,
            data_restricted=None if more is None else {**public, **more},
        )
    ),
    tables,
    st.sampled_from(Audience),
    names,
    times,
    st.none() | names,
    data,
    st.none() | data,
)
chunks = st.builds(
    lambda table, connection, offset, t_us, direction, said: (
        lambda batch: batch.append_wire(
            table, connection=connection, offset=offset, t_us=t_us, direction=direction, data=said
        )
    ),
    tables,
    st.integers(0, 2**64 - 1),
    st.integers(0, 2**64 - 1),
    st.integers(-(2**63), 2**63 - 1),
    st.sampled_from(Direction),
    st.binary(max_size=20),
)
inputs = st.builds(
    lambda table, type_, t_us, own: (
        lambda batch: batch.append_input(
            table, b'{"input":"%b","t_us":%d,"event":{"type":"hello"}}' % (type_, t_us), own or t_us
        )
    ),
    tables,
    st.sampled_from([b"shoe", b"fault", b"tick", b"\xc3\xa9", b'a\\"b']),
    st.integers(-(10**6), 10**17),
    st.none() | times,
)
others = st.builds(
    lambda table, kind, body: lambda batch: batch.append(table, kind, body),
    tables,
    st.sampled_from([kind for kind in Kind if kind not in (Kind.PUBLIC, Kind.RESTRICTED)]),
    bodies,
)
short_inputs = st.builds(
    lambda table, body, t_us: lambda batch: batch.append_input(table, body, t_us),
    tables,
    bodies | st.builds(lambda t_us: b'{"input":"tick","t_us":%d}' % t_us, times),
    times,
)


def packed(batch: Batch, before: Counters) -> Packing:
    heads: dict[str, Head] = {}

    def head(table: str) -> Head:
        return heads.setdefault(
            table, Head(0, bytes(32), Counters(before.public, before.restricted))
        )

    packing = Packing(10, head)
    result = packing.add(batch)
    packing.close()
    assert (result.first_n, result.last_n) == (11, packing.last_n)
    return packing


@given(
    st.lists(events | chunks | inputs | short_inputs | others, min_size=1, max_size=8),
    st.sampled_from(["0a1b2c3d", "no epoch"]),
)
def test_whatever_is_stored_is_read_as_it_was_written(added: list[object], epoch: str) -> None:
    batch = Batch(epoch)
    for add in added:
        add(batch)  # type: ignore[operator]
    counters: dict[str, Counters] = {}
    encoded = encode_batch(batch, lambda table: counters.setdefault(table, Counters(255, 65_534)))
    packing = packed(batch, Counters(255, 65_534))
    found = [
        (table, kind, body)
        for _, table, group in packing.groups
        for _, kind, body in unpack_group(table, group)
    ]
    assert found == [(record.table, record.kind, record.body) for record in encoded.records]
    assert packing.last_n == 10 + len(found)
    for table, kind, body in found:
        if kind.startswith("event."):
            assert body == encode(msgspec.json.decode(body, type=Envelope))
            assert json.loads(body)["id"].startswith(f"{table}/{kind[6]}")


@pytest.mark.usefixtures("known_salts")
def test_an_event_s_equal_copy_takes_no_further_bytes() -> None:
    def stored_with(*, restricted: dict[str, object] | None) -> bytes:
        batch = Batch("0a1b2c3d")
        data = {"hand": "player", "index": 1}
        batch.append_event(
            *("a", Audience.PUBLIC, "round.card_dealt"),
            t_us=10**15,
            subject="a-s1-r1",
            data=data,
            data_restricted=restricted,
        )
        ((_, _, group),) = packed(batch, Counters()).groups
        return group

    same, other = stored_with(restricted=None), stored_with(restricted={"card": "8C"})
    assert (read_header(same).kinds, read_header(other).kinds) == (b"p=", b"pr")
    assert len(same) < len(other)
    assert stored_with(restricted={"hand": "player", "index": 1}) == same


def test_records_of_one_table_share_a_group_until_it_is_full() -> None:
    batch = Batch()
    for number in range(2 * MOST_RECORDS):
        batch.append_input("a", b"{}", number)
    assert [g.n for g in packed(batch, Counters()).groups] == [264, 518, 520]
    batch = Batch()
    for number in range(3):
        batch.append_input("a", bytes(FULL_BYTES), number)
    batch.append_input("b", b"{}", 1)
    batch.append_input("a", b"{}", 1)
    assert [(g.n, g.table) for g in packed(batch, Counters()).groups] == [
        *((11, "a"), (12, "a"), (13, "a"), (14, "b"), (15, "a"))
    ]


@given(form=st.sampled_from([0, 1, 2, 3, 255]), rest=st.binary(max_size=60))
def test_bytes_that_nobody_packed_are_refused_or_read_as_something(form: int, rest: bytes) -> None:
    with suppress(InvalidGroup):
        for _, kind, body in unpack_group("a", bytes((form,)) + rest):
            assert kind in {each.value for each in Kind}
            assert isinstance(body, bytes)


@pytest.fixture(scope="module")
def card() -> bytes:
    """A group of a round, deflated."""
    batch = stored_round(7, "a")
    batch.append_wire(
        "a", connection=1, direction=Direction.FROM_SHOE, offset=9, t_us=5, data=b"8C"
    )
    batch.append_input("a", b'{"input":"tick","t_us":5}', 5)
    ((_, _, group),) = packed(batch, Counters()).groups
    return group


def test_a_group_cut_short_is_refused_at_any_place(card: bytes) -> None:
    for length in range(len(card)):
        with pytest.raises(InvalidGroup):
            list(unpack_group("a", card[:length]))


def test_a_group_with_bytes_behind_it_is_refused(card: bytes) -> None:
    with pytest.raises(InvalidGroup, match="than its header says"):
        list(unpack_group("a", card + b"\0"))


@pytest.mark.parametrize(
    ("group", "why"),
    [
        (b"\x07" + plain_group(("m", b"{}"))[1:], "its form, 7, is not known"),
        (plain_group(("?", b"{}")), "a record of an unknown kind"),
        (plain_group(("m", b"{}")) + b"0", "not as long as its header says"),
        (plain_group(("=", b"")), "does not follow a public event"),
        (plain_group(("R", b""), ("=", b"")), "does not follow a public event"),
        (plain_group(("<", b"\x80" * 12)), "a number in it has no end"),
        (plain_group(("p", b"\xff" * 9 + b"\x01x")), "not what its header says"),
        (plain_group(("i", b"")), "not what its header says"),
    ],
)
def test_a_group_that_no_writer_stored_is_refused_in_a_few_words(group: bytes, why: str) -> None:
    with pytest.raises(InvalidGroup, match=why):
        list(unpack_group("a", group))


def test_a_group_that_unpacks_to_too_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    body = b'{"a":"' + b"0" * group_module.MOST_PACKED_BYTES + b'"}'
    batch = Batch()
    batch.append("a", Kind.SNAPSHOT, body)
    ((_, _, plain),) = packed(batch, Counters()).groups
    assert plain[0] == group_module.PLAIN
    assert [found for _, _, found in unpack_group("a", plain)] == [body]
    monkeypatch.setattr(group_module, "MOST_PACKED_BYTES", 1 << 30)
    ((_, _, bomb),) = packed(batch, Counters()).groups
    assert bomb[0] == group_module.DEFLATED
    monkeypatch.undo()
    with pytest.raises(InvalidGroup, match="more than any group has"):
        list(unpack_group("a", bomb))


def stored_wager(player: object = "ann", *, restricted: bool = True) -> Batch:
    """A wager that a Player places, as a command and two copies of an event."""
    batch = Batch("0a1b2c3d")
    body = b'{"input":"command","t_us":%d,"args":{"player":%b}}'
    batch.append_input("a", body % (7, encode(player)), 7)
    batch.append_input("a", body % (8, encode(player)), 9)
    data = {"seat": 3, "wager": "tie"}
    secret = {**data, "player": player} if restricted else None
    batch.append_event(
        *("a", Audience.PUBLIC, "wager.accepted"),
        t_us=10**15,
        subject="a-s1-r1",
        data=data,
        data_restricted=secret,
    )
    return batch


def test_records_that_name_a_player_stand_in_a_closed_section() -> None:
    ((_, _, body),) = packed(stored_wager(), Counters()).groups
    header = read_header(body)
    assert header.closed > 0
    rest, closed = open_bytes(body)
    assert (rest + closed, len(closed)) == (body, header.closed)
    found = {place: record for place, _, record in unpack_group("a", rest, whole=False)}
    assert b"ann" not in b"".join(found.values())
    assert json.loads(found[2])["data"] == {"seat": 3, "wager": "tie"}
    assert json.loads(found[2])["time"] == utc(10**15)
    whole = {place: record for place, _, record in unpack_group("a", body)}
    assert found.items() <= whole.items()
    assert sorted(whole.keys() - found.keys()) == [0, 1, 3]
    assert all(b'"ann"' in whole[place] for place in (0, 1, 3))


@pytest.mark.parametrize(
    ("data", "names"),
    [
        ({"player": "ann"}, True),
        ({"a": [{"b": {"player": "7"}}]}, True),
        ({"player": ""}, True),
        ({"designee": "bo"}, True),
        ({"players": ["ann"]}, True),
        ({"from": "ann", "holder": "dealer", "player": None}, True),
        ({"player": "7S"}, True),
        ({"player": "4D 5S"}, False),
        ({"player": "10h 5s ac"}, False),
        ({"player": 5}, False),
        ({"player": None, "designee": None}, False),
        ({"players": []}, False),
        ({"players": None}, False),
        ({"player": {"cards": ["4D"]}}, False),
        ({"from": "A", "to": "B"}, False),
        ({"hand": "player", "holder": "player"}, False),
    ],
)
def test_what_names_a_player_is_known_by_its_keys(data: dict[str, object], names: bool) -> None:
    assert names_player(encode(data)) is names


def test_only_the_hash_of_a_closed_section_is_hashed() -> None:
    ((n, _, body),) = packed(stored_wager(), Counters()).groups
    rest, closed = open_bytes(body)
    name = b"a"
    head = n.to_bytes(8, "big") + (1).to_bytes(2, "big") + (len(rest) + 32).to_bytes(8, "big")
    expected = sha256(b"\0" + bytes(32) + head + name + rest + sha256(closed).digest()).digest()
    assert chain_hash(bytes(32), n, "a", body) == expected
    for other in (rest, rest + sha256(closed).digest(), rest + closed[:-1], body + b"\0"):
        assert chain_hash(bytes(32), n, "a", other) != expected


def test_equal_records_give_other_hashes_each_time() -> None:
    bodies = {packed(stored_wager(), Counters()).groups[0].body for _ in range(3)}
    assert len(bodies) == 3
    assert len({open_bytes(body)[1] for body in bodies}) == 3


def dealt_to(batch: Batch, round_id: str | None, t_us: int = 5) -> None:
    batch.append_input("a", b'{"input":"tick","t_us":%d}' % t_us, t_us)
    batch.append_event(
        *("a", Audience.PUBLIC, "round.card_dealt"), t_us=t_us, subject=round_id, data={}
    )


def test_a_group_has_records_of_one_round_and_a_snapshot_has_one_of_its_own() -> None:
    batch = Batch("0a1b2c3d")
    batch.append("a", Kind.META, b"{}")
    batch.append("a", Kind.SNAPSHOT, b"{}")
    for n in (1, 1, 2):
        dealt_to(batch, f"a-s1-r{n}")
    assert [g.n for g in packed(batch, Counters()).groups] == [11, 12, 18, 21]
    batch = Batch("0a1b2c3d")
    batch.append_wire(
        "a", connection=1, direction=Direction.FROM_SHOE, offset=0, t_us=5, data=b"both"
    )
    for of in ("a-s1-r1", None, "a-s1-r1", "a-s1-r2", "a-s1"):
        dealt_to(batch, of)
    assert [g.n for g in packed(batch, Counters()).groups] == [11, 20, 26]


def test_batches_of_different_rounds_share_no_group() -> None:
    packing = Packing(0, lambda _: Head(0, bytes(32), Counters()))
    for of in ("a-s1-r1", None, "a-s1-r1", "a-s1-r2", None):
        batch = Batch("0a1b2c3d")
        dealt_to(batch, of)
        packing.add(batch)
    packing.close()
    assert [g.n for g in packing.groups] == [9, 15]


def test_a_group_is_deflated_as_the_docs_describe(card: bytes) -> None:
    header = read_header(card)
    at, length = header.at, 0
    for _ in header.kinds.replace(b"=", b""):
        digits = 1
        while card[at + digits - 1] & 0x80:
            digits += 1
        length += sum((card[at + d] & 0x7F) << 7 * d for d in range(digits))
        at += digits
    assert len(zlib.decompressobj(-15, DICTIONARY).decompress(card[at:])) == length


def test_the_dictionary_is_the_one_that_every_journal_was_packed_with() -> None:
    assert sha256(DICTIONARY).hexdigest() == DICTIONARY_SHA256


def test_a_table_s_journal_is_packed_and_proved_as_it_is_stored(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    with dealing(path, 1, open_signer(path, None)):
        pass
    written = sum(len(record.body) for record in records(path))
    groups = held(path)
    assert sum(len(row[2]) for row in groups) < written / 8
    assert len(groups) < len(records(path)) / 4
    assert verified(path).ok
    replayed = both_replays(path)
    assert (replayed.found, replayed.rounds > 50) == (0, True)


def test_what_a_table_hands_in_together_is_one_group(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    with opened(path) as store:
        results = store.commit([stored_round(1, "a"), stored_round(2, "a"), stored_round(3, "b")])
    assert [(row[0], row[1]) for row in held(path)] == [(8, "a"), (12, "b")]
    assert [(result.first_n, result.last_n) for result in results] == [(1, 4), (5, 8), (9, 12)]
    with Reader.open(path) as reader:
        for n in range(13):
            assert [record.n for record in reader.records(after=n)] == [*range(n + 1, 13)]
            assert [record.n for record in reader.records(upto=n)] == [*range(1, n + 1)]
            events, _ = reader.events(Audience.RESTRICTED, after=n, limit=2)
            assert [at for at, _ in events] == [at for at in (3, 4, 7, 8, 11, 12) if at > n][:2]
            assert reader.newest(n + 1) == (n or None)


def test_each_event_is_found_and_read_alone(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    with dealing(path, 1, open_signer(path, None)):
        pass
    with Reader.open(path) as reader:
        for audience in Audience:
            all_, _ = reader.events(audience, after=0, limit=10**6, table=TABLE)
            assert all_ == reader.events(audience, after=0, limit=10**6)[0]
            assert reader.event_numbers(TABLE, audience) == (1, len(all_))
            wanted = event_id(json.loads(all_[-1][1])["id"])
            assert reader.find_event(wanted._replace(number=len(all_) + 1)) is None
            for n, body in all_[:: len(all_) // 40]:
                wanted = event_id(json.loads(body)["id"])
                assert reader.find_event(wanted) == n
                assert reader.events(audience, after=n - 1, limit=1, table=TABLE)[0] == [(n, body)]
                assert reader.event_numbers(TABLE, audience, upto=n) == (1, wanted.number)
