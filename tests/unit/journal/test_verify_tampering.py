"""Whatever anyone does to a journal's records is found, and placed where it was done.

Each property does one thing to a journal of three tables and four checkpoints, at any place: as
whoever has the file could, and as whoever computes every hash anew.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from hypothesis.vendor.pretty import RepresentationPrinter, pretty

from shoe_ctl.cli.verify import verify as command
from shoe_ctl.journal.chain import GENESIS, chain_hash
from shoe_ctl.journal.group import InvalidGroup, count_events, read_header, unpack_group
from shoe_ctl.journal.group import landmarks as landmarks_of
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.record_format import Row
from shoe_ctl.journal.signing import Signer, open_signer
from shoe_ctl.journal.verify import Verification, verify
from shoe_testing.cli import invoke
from shoe_testing.journals import (
    T_US,
    first_of,
    held,
    opened,
    plain_group,
    spoil,
    stored_round,
    with_body,
)

GROUPS = 18
SIGNED_AFTER = (3, 7, 12, 16)
TABLES = "abc"


@dataclass(frozen=True, slots=True, repr=False)
class Whole:
    """A journal as it was written, and what it was signed with."""

    content: bytes
    rows: list[Row]
    key: Signer
    folder: Path

    def __repr__(self) -> str:
        return f"a journal in {self.folder.name}"

    def _repr_pretty_(self, printer: RepresentationPrinter, _cycle: bool) -> None:
        """Short: Hypothesis would show every field, and warn of that instead of the failure."""
        printer.text(repr(self))

    @property
    def groups(self) -> int:
        return len(self.rows)

    @property
    def last(self) -> int:
        """The last record's number."""
        return self.rows[-1][0]

    @property
    def signed(self) -> list[int]:
        return [row[0] for row in self.rows if row[1] == ""]

    def with_rows(self, rows: Sequence[Row]) -> Verification:
        """What verifying says of a journal with these groups instead, its heads left alone."""
        return self.spoilt("DELETE FROM record_group", *map(_insert, rows))

    def rewritten(self, rows: Sequence[Row], *, signed_to: int = 0) -> Verification:
        """As ``with_rows``, every number, hash, head and landmark anew: all but signatures."""
        ends: dict[str, tuple[int, bytes]] = {}
        told: dict[str, list[int]] = {}
        anew: list[Row] = []
        n, landmarks = 0, []
        for _, table, was, _ in rows:
            n += _records_of(was)
            counted = told.setdefault(table, [0, 0])
            body = _counting(was, counted)
            for audience, count in enumerate(_told(body)):
                counted[audience] += count
            end = chain_hash(ends.get(table, (0, GENESIS))[1], n, table, body)
            ends[table] = (n, end)
            anew.append((n, table, body, end))
            with suppress(InvalidGroup):
                landmarks += [
                    ("INSERT INTO landmark VALUES (?, ?, ?)", found)
                    for found in landmarks_of(table, n, read_header(body))
                ]
        heads = [
            (
                "INSERT INTO head VALUES (?, ?, ?, ?, ?, 0, ?)",
                (table, n, end, *told[table], _last_us(anew, table)),
            )
            for table, (n, end) in ends.items()
        ]
        devices = [
            ("INSERT INTO device VALUES (?, 'SH-0042', ?)", (table, said["seq"]))
            for table in ends
            if (said := _last_input(anew, table)) is not None
        ]
        return self.spoilt(
            "DELETE FROM record_group",
            *map(_insert, anew),
            "DELETE FROM landmark",
            *landmarks,
            "DELETE FROM head",
            *heads,
            "DELETE FROM device",
            *devices,
            signed_to=signed_to,
        )

    def spoilt(
        self, *statements: str | tuple[str, Sequence[object]], signed_to: int = 0
    ) -> Verification:
        path = self.folder / "spoilt.db"
        path.write_bytes(self.content)
        spoil(path, *statements)
        with Reader.open(path) as reader:
            return verify(reader, frozenset({self.key.public_key}), signed_to=signed_to)


def _insert(row: Row) -> tuple[str, Row]:
    return "INSERT INTO record_group VALUES (?, ?, ?, ?)", row


def _records_of(body: bytes) -> int:
    try:
        return read_header(body).records
    except InvalidGroup:
        return 1


def _counting(body: bytes, told: Sequence[int]) -> bytes:
    """The group with what it says of the events before it put right."""
    try:
        at = 2 + read_header(body).records + 4 + 7 + 10
    except InvalidGroup:
        return body
    return body[: at - 10] + b"".join(number.to_bytes(5, "big") for number in told) + body[at:]


def _told(body: bytes) -> tuple[int, int]:
    try:
        return count_events(read_header(body).kinds)
    except InvalidGroup:
        return 0, 0


def _last_input(rows: Sequence[Row], table: str) -> dict[str, int] | None:
    try:
        bodies = [
            body
            for row in rows
            if row[1] == table
            for _, kind, body in unpack_group(table, row[2])
            if kind == "input"
        ]
        said: object = json.loads(bodies[-1]) if bodies else {}
    except ValueError:
        return None
    return said if isinstance(said, dict) and "t_us" in said else None


def _last_us(rows: Sequence[Row], table: str) -> int:
    said = _last_input(rows, table)
    return 0 if said is None else said["t_us"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    folder = tmp_path_factory.mktemp("journal")
    path = folder / "journal.db"
    key = open_signer(path, None)
    with opened(path) as store:
        for number in range(GROUPS):
            store.commit([stored_round(number, TABLES[number * 7 % 3])])
            if number in SIGNED_AFTER:
                store.checkpoint(key, T_US + number)
    return Whole(path.read_bytes(), held(path), key, folder)


def test_a_failing_example_shows_the_journal_in_a_few_words(whole: Whole) -> None:
    assert len(pretty(whole)) < 100


place = st.integers(0, 10**6)
"""Is taken modulo what there is."""


def _flip(body: bytes, at: int, by: int) -> bytes:
    spoilt = bytearray(body)
    spoilt[at % len(spoilt)] ^= by
    return bytes(spoilt)


ALTERED: dict[str, Callable[[Row, int, int], Row]] = {
    "body": lambda r, at, by: (r[0], r[1], _flip(r[2], at, by), r[3]),
    "body cut": lambda r, at, _: (r[0], r[1], r[2][: at % len(r[2])], r[3]),
    "body grown": lambda r, _, by: (r[0], r[1], r[2] + bytes([by]), r[3]),
    "hash": lambda r, at, by: (*r[:3], _flip(r[3], at, by)),
    "table": lambda r, at, _: (r[0], ("a", "b", "c", "", "d")[at % 5], *r[2:]),
}


def in_order(rows: Sequence[Row]) -> list[Row]:
    """Groups numbered anew as they stand, by what they hold."""
    ends = accumulate(_records_of(row[2]) for row in rows)
    return [(n, *row[1:]) for n, row in zip(ends, rows, strict=True)]


@pytest.mark.parametrize("what", ALTERED)
@given(at=place, within=place, by=st.integers(1, 255))
def test_an_altered_group_is_found_and_placed(
    whole: Whole, what: str, at: int, within: int, by: int
) -> None:
    rows = list(whole.rows)
    at %= len(rows)
    rows[at] = ALTERED[what](rows[at], within, by)
    assume(rows[at] != whole.rows[at])
    found = whole.with_rows(rows)
    first = first_of(whole.rows[at])
    assert found.first_bad is not None
    assert (found.first_bad.n, found.records) == (first, first - 1)
    assert found.first_bad.text.startswith("altered")


@given(at=place, many=st.integers(1, 12))
def test_missing_groups_are_found_and_placed(whole: Whole, at: int, many: int) -> None:
    at %= whole.groups - 1
    many = min(many, whole.groups - 1 - at)  # the last one stays: a cut tail is another matter
    found = whole.with_rows([*whole.rows[:at], *whole.rows[at + many :]])
    first, last = first_of(whole.rows[at]), whole.rows[at + many - 1][0]
    assert found.first_bad is not None
    to = "" if first == last else f" to {last}"
    assert (found.first_bad.n, found.first_bad.text) == (first, f"missing: no record {first}{to}")


@given(at=place)
def test_groups_taken_out_and_the_rest_renumbered_are_found_and_placed(
    whole: Whole, at: int
) -> None:
    at %= whole.groups - 1
    found = whole.with_rows(in_order([*whole.rows[:at], *whole.rows[at + 1 :]]))
    assert found.first_bad is not None
    assert found.first_bad.n == first_of(whole.rows[at])
    assert found.first_bad.text.partition(":")[0] in {"missing", "altered"}


@given(cut=place)
def test_a_tail_cut_off_is_found_by_the_heads(whole: Whole, cut: int) -> None:
    left = whole.rows[: cut % (whole.groups - 1) + 1]
    found = whole.with_rows(left)
    assert found.first_bad is not None
    last = left[-1][0]
    assert found.first_bad.n > last
    assert found.first_bad.text == f"missing: the journal breaks off at record {last}"


@given(cut=place)
def test_a_tail_cut_off_with_its_heads_never_covers_more_than_is_left(
    whole: Whole, cut: int
) -> None:
    """Behind a checkpoint that is a journal of an earlier day: its last signature says which."""
    rows = whole.rows[: cut % (whole.groups - 1) + 1]
    found = whole.rewritten(rows)
    left = [n for n in whole.signed if n <= rows[-1][0]]
    assert found.ok is bool(left)
    assert found.signed.checkpoints == len(left)
    assert found.signed.upto == (left[-1] - 1 if left else 0)


@given(cut=place)
def test_a_tail_cut_off_before_a_checkpoint_is_found_by_who_knows_what_was_signed(
    whole: Whole, cut: int
) -> None:
    rows, signed_to = whole.rows[: cut % (whole.groups - 1) + 1], whole.signed[-1] - 1
    left = rows[-1][0]
    found = whole.rewritten(rows, signed_to=signed_to)
    if left > signed_to:
        assert found.ok
    else:
        assert found.first_bad is not None
        if left >= whole.signed[0]:
            table = "" if left == signed_to else None
            assert (found.first_bad.table, found.first_bad.n) == (table, left + 1)
        assert found.first_bad.text.startswith("missing")


groups_of_one = st.builds(
    lambda letter, part: plain_group((letter, part)),
    st.sampled_from(["I", "w", "P", "R", "m"]),
    st.binary(max_size=9),
)
foreign = st.tuples(
    st.sampled_from(["a", "b", "c", "d", ""]),
    groups_of_one | st.binary(max_size=9).filter(lambda body: _records_of(body) == 1),
    st.binary(min_size=32, max_size=32),
)


@given(at=place, added=foreign)
def test_an_added_group_is_found_and_placed(
    whole: Whole, at: int, added: tuple[str, bytes, bytes]
) -> None:
    at %= whole.groups
    n = first_of(whole.rows[at])
    rest = [(row[0] + 1, *row[1:]) for row in whole.rows[at:]]
    found = whole.with_rows([*whole.rows[:at], (n, *added), *rest])
    assert found.first_bad is not None
    assert (found.first_bad.table, found.first_bad.n) == (added[0], n)
    assert found.first_bad.text.startswith("added")


@given(added=foreign, n=st.integers(-3, 0) | st.integers(1, 3))
def test_a_group_added_outside_of_all_is_found(
    whole: Whole, added: tuple[str, bytes, bytes], n: int
) -> None:
    n = n if n < 1 else whole.last + n
    found = whole.with_rows(sorted([*whole.rows, (n, *added)]))
    assert found.first_bad is not None
    assert found.first_bad.n in {n, whole.last + 1}


@given(first=place, second=place)
def test_two_groups_that_changed_places_are_found_and_placed(
    whole: Whole, first: int, second: int
) -> None:
    first, second = sorted((first % whole.groups, second % whole.groups))
    assume(first != second)
    rows = list(whole.rows)
    rows[first], rows[second] = rows[second], rows[first]
    rows = in_order(rows)
    found = whole.with_rows(rows)
    began, begins = first_of(rows[first]), first_of(rows[second])
    assert found.first_bad is not None
    assert (found.first_bad.n, found.first_bad.text) == (
        began,
        f"out of order: record {began} stands at {begins}",
    )


@given(of=place, to=place)
def test_a_group_moved_elsewhere_is_found_and_placed(whole: Whole, of: int, to: int) -> None:
    of, to = of % whole.groups, to % whole.groups
    assume(of != to)
    order = list(whole.rows)
    order.insert(to, order.pop(of))
    found = whole.with_rows(in_order(order))
    assert found.first_bad is not None
    assert found.first_bad.n == first_of(whole.rows[min(of, to)])


# As whoever has the file and computes every hash anew, but has not the key.


def _covered(whole: Whole, found: Verification, n: int) -> None:
    """Found, and told to be among records of which this is one."""
    bad = found.first_bad
    assert bad is not None
    assert bad.n <= next(signed for signed in whole.signed if signed >= n) + 1
    if bad.text.startswith("rewritten: records "):
        first, last = bad.text.removeprefix("rewritten: records ").split(" are ")[0].split(" to ")
        assert int(first) <= n <= int(last)


@given(at=place, within=place, by=st.integers(1, 255))
def test_a_group_altered_with_all_hashes_behind_it_is_found(
    whole: Whole, at: int, within: int, by: int
) -> None:
    at %= whole.groups - 2  # the last checkpoint stands before the last group
    rows = list(whole.rows)
    rows[at] = ALTERED["body"](rows[at], within, by)
    assume(_counting(rows[at][2], [0, 0]) != _counting(whole.rows[at][2], [0, 0]))
    _covered(whole, whole.rewritten(rows), first_of(whole.rows[at]))


@given(at=place, many=st.integers(1, 5))
def test_groups_taken_out_with_all_hashes_anew_are_found(whole: Whole, at: int, many: int) -> None:
    at %= whole.groups - 2 - many
    rows = [*whole.rows[:at], *whole.rows[at + many :]]
    assert not whole.rewritten(rows).ok


@given(at=place, added=foreign)
@example(at=16, added=("a", plain_group(("I", b"0")), bytes(32)))  # JSON, but no object
@example(at=16, added=("b", plain_group(("I", b'"t_us"')), bytes(32)))
def test_a_group_added_with_all_hashes_anew_is_found(
    whole: Whole, at: int, added: tuple[str, bytes, bytes]
) -> None:
    at %= whole.groups - 2
    rows = [*whole.rows[:at], (0, *added), *whole.rows[at:]]
    assert not whole.rewritten(rows).ok


@given(first=place, second=place)
def test_groups_that_changed_places_with_all_hashes_anew_are_found(
    whole: Whole, first: int, second: int
) -> None:
    first, second = sorted((first % (whole.groups - 2), second % (whole.groups - 2)))
    assume(whole.rows[first][1:3] != whole.rows[second][1:3])
    rows = list(whole.rows)
    rows[first], rows[second] = rows[second], rows[first]
    assert not whole.rewritten(rows).ok


@given(which=place, at=place, by=st.integers(1, 255))
def test_an_altered_checkpoint_signature_or_key_is_found_and_placed(
    whole: Whole, which: int, at: int, by: int
) -> None:
    n = whole.signed[which % len(whole.signed)]
    rows = list(whole.rows)
    place = next(i for i, row in enumerate(rows) if row[0] == n)
    ((_, _, body),) = unpack_group("", rows[place][2])
    forged = with_body("", rows[place][2], 0, _flip(body, at, by))
    rows[place] = (n, "", forged, rows[place][3])
    for found in (whole.with_rows(rows), whole.rewritten(rows)):
        assert found.first_bad is not None
        assert (found.first_bad.table, found.first_bad.n) == ("", n)


@pytest.mark.parametrize(("more", "code"), [(0, 0), (1, 1), (10_000, 1)])
def test_the_command_is_told_what_is_known_to_have_been_signed(
    whole: Whole, more: int, code: int
) -> None:
    path, upto = whole.folder / "journal.db", whole.signed[-1] - 1 + more
    said = invoke(command, str(path), "--signed-to", str(upto))
    assert said.exit_code == code
    assert (f"signed up to record {upto}" in said.output) is (more > 1)
    assert ("the checkpoint that signed" in said.output) is (more == 1)
