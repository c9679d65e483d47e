"""Whatever anyone does to a journal's records is found, and placed where it was done.

Each property does one thing to a journal of three tables and four checkpoints, at any place: as
whoever has the file could, and as whoever computes every hash anew.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from hypothesis.vendor.pretty import RepresentationPrinter, pretty

from shoe_ctl.cli.verify import verify as command
from shoe_ctl.journal.chain import GENESIS, chain_hash
from shoe_ctl.journal.packing import unpack
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.signing import Signer, open_signer
from shoe_ctl.journal.verify import Verification, verify
from shoe_testing.cli import invoke
from shoe_testing.journals import T_US, held, opened, spoil, stored_round

GROUPS = 18
SIGNED_AFTER = (3, 7, 12, 16)
TABLES = "abc"

Row = tuple[int, str, str, bytes, bytes]


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
    def last(self) -> int:
        return len(self.rows)

    @property
    def signed(self) -> list[int]:
        return [row[0] for row in self.rows if row[2] == "checkpoint"]

    def with_rows(self, rows: Sequence[Row]) -> Verification:
        """What verifying says of a journal with these records instead, its heads left alone."""
        return self.spoilt("DELETE FROM record", *map(_insert, rows))

    def rewritten(self, rows: Sequence[Row], *, signed_to: int = 0) -> Verification:
        """As ``with_rows``, every number, hash and head computed anew: all but signatures."""
        ends: dict[str, tuple[int, bytes]] = {}
        anew: list[Row] = []
        for n, (_, table, kind, body, _) in enumerate(rows, 1):
            end = chain_hash(ends.get(table, (0, GENESIS))[1], n, table, kind, body)
            ends[table] = (n, end)
            anew.append((n, table, kind, body, end))
        heads = [
            (
                "INSERT INTO head VALUES (?, ?, ?, ?, ?, 0, ?)",
                (
                    table,
                    n,
                    end,
                    *(_told(anew, table, k) for k in ("public", "restricted")),
                    _last_us(anew, table),
                ),
            )
            for table, (n, end) in ends.items()
        ]
        devices = [
            ("INSERT INTO device VALUES (?, 'SH-0042', ?)", (table, said["seq"]))
            for table in ends
            if (said := _last_input(anew, table)) is not None
        ]
        return self.spoilt(
            "DELETE FROM record",
            *map(_insert, anew),
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
    return "INSERT INTO record VALUES (?, ?, ?, ?, ?)", row


def _told(rows: Sequence[Row], table: str, audience: str) -> int:
    return sum(row[1] == table and row[2] == f"event.{audience}" for row in rows)


def _last_input(rows: Sequence[Row], table: str) -> dict[str, int] | None:
    bodies = [unpack(*row[1:4]) for row in rows if row[1] == table and row[2] == "input"]
    try:
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
    rows = [(r.n, r.table, r.kind, r.body, r.hash) for r in held(path)]
    return Whole(path.read_bytes(), rows, key, folder)


def test_a_failing_example_shows_the_journal_in_a_few_words(whole: Whole) -> None:
    assert len(pretty(whole)) < 100


place = st.integers(0, 10**6)
"""Is taken modulo what there is."""


def _flip(body: bytes, at: int, by: int) -> bytes:
    spoilt = bytearray(body)
    spoilt[at % len(spoilt)] ^= by
    return bytes(spoilt)


ALTERED: dict[str, Callable[[Row, int, int], Row]] = {
    "body": lambda r, at, by: (r[0], r[1], r[2], _flip(r[3], at, by), r[4]),
    "body cut": lambda r, at, _: (r[0], r[1], r[2], r[3][: at % len(r[3])], r[4]),
    "body grown": lambda r, _, by: (r[0], r[1], r[2], r[3] + bytes([by]), r[4]),
    "hash": lambda r, at, by: (*r[:4], _flip(r[4], at, by)),
    "kind": lambda r, at, _: (r[0], r[1], ("input", "wire", "checkpoint", "meta")[at % 4], *r[3:]),
    "table": lambda r, at, _: (r[0], ("a", "b", "c", "", "d")[at % 5], *r[2:]),
}


@pytest.mark.parametrize("what", ALTERED)
@given(at=place, within=place, by=st.integers(1, 255))
def test_an_altered_record_is_found_and_placed(
    whole: Whole, what: str, at: int, within: int, by: int
) -> None:
    rows = list(whole.rows)
    at %= len(rows)
    rows[at] = ALTERED[what](rows[at], within, by)
    assume(rows[at] != whole.rows[at])
    found = whole.with_rows(rows)
    assert found.first_bad is not None
    assert (found.first_bad.n, found.records) == (at + 1, at)
    assert found.first_bad.text.startswith("altered")


@given(at=place, many=st.integers(1, 12))
def test_missing_records_are_found_and_placed(whole: Whole, at: int, many: int) -> None:
    at %= whole.last - 1
    many = min(many, whole.last - 1 - at)  # the last one stays: a cut tail is another matter
    found = whole.with_rows([*whole.rows[:at], *whole.rows[at + many :]])
    assert found.first_bad is not None
    last = "" if many == 1 else f" to {at + many}"
    assert (found.first_bad.n, found.first_bad.text) == (
        at + 1,
        f"missing: no record {at + 1}{last}",
    )


@given(at=place)
def test_records_taken_out_and_the_rest_renumbered_are_found_and_placed(
    whole: Whole, at: int
) -> None:
    at %= whole.last - 1
    rest = [(row[0] - 1, *row[1:]) for row in whole.rows[at + 1 :]]
    found = whole.with_rows([*whole.rows[:at], *rest])
    assert found.first_bad is not None
    assert found.first_bad.n == at + 1
    assert found.first_bad.text.partition(":")[0] in {"missing", "altered"}


@given(cut=st.integers(1, 80))
def test_a_tail_cut_off_is_found_by_the_heads(whole: Whole, cut: int) -> None:
    cut %= whole.last - 1
    found = whole.with_rows(whole.rows[: cut + 1])
    assert found.first_bad is not None
    assert found.first_bad.n > cut + 1
    assert found.first_bad.text == f"missing: the journal breaks off at record {cut + 1}"


@given(cut=st.integers(1, 80))
def test_a_tail_cut_off_with_its_heads_never_covers_more_than_is_left(
    whole: Whole, cut: int
) -> None:
    """Behind a checkpoint that is a journal of an earlier day: its last signature says which."""
    cut %= whole.last - 1
    found = whole.rewritten(whole.rows[: cut + 1])
    left = [n for n in whole.signed if n <= cut + 1]
    assert found.ok is bool(left)
    assert found.signed.checkpoints == len(left)
    assert found.signed.upto == (left[-1] - 1 if left else 0)


@given(cut=st.integers(1, 80))
def test_a_tail_cut_off_before_a_checkpoint_is_found_by_who_knows_what_was_signed(
    whole: Whole, cut: int
) -> None:
    left, signed_to = cut % (whole.last - 1) + 1, whole.signed[-1] - 1
    found = whole.rewritten(whole.rows[:left], signed_to=signed_to)
    if left > signed_to:
        assert found.ok
    else:
        assert found.first_bad is not None
        if left >= whole.signed[0]:
            table = "" if left == signed_to else None
            assert (found.first_bad.table, found.first_bad.n) == (table, left + 1)
        assert found.first_bad.text.startswith("missing")


foreign = st.tuples(
    st.sampled_from(["a", "b", "c", "d", ""]),
    st.sampled_from(["input", "wire", "event.public", "event.restricted", "meta"]),
    st.binary(max_size=9),
    st.binary(min_size=32, max_size=32),
)


@given(at=place, added=foreign)
def test_an_added_record_is_found_and_placed(
    whole: Whole, at: int, added: tuple[str, str, bytes, bytes]
) -> None:
    at %= whole.last
    rest = [(row[0] + 1, *row[1:]) for row in whole.rows[at:]]
    found = whole.with_rows([*whole.rows[:at], (at + 1, *added), *rest])
    assert found.first_bad is not None
    assert (found.first_bad.table, found.first_bad.n) == (added[0], at + 1)
    assert found.first_bad.text.startswith("added")


@given(added=foreign, n=st.integers(-3, 0) | st.integers(1, 3))
def test_a_record_added_outside_of_all_is_found(
    whole: Whole, added: tuple[str, str, bytes, bytes], n: int
) -> None:
    n = n if n < 1 else whole.last + n
    found = whole.with_rows(sorted([*whole.rows, (n, *added)]))
    assert found.first_bad is not None
    assert found.first_bad.n in {n, whole.last + 1}


@given(first=place, second=place)
def test_two_records_that_changed_places_are_found_and_placed(
    whole: Whole, first: int, second: int
) -> None:
    first, second = sorted((first % whole.last, second % whole.last))
    assume(first != second)
    rows = list(whole.rows)
    rows[first] = (first + 1, *whole.rows[second][1:])
    rows[second] = (second + 1, *whole.rows[first][1:])
    found = whole.with_rows(rows)
    assert found.first_bad is not None
    assert (found.first_bad.n, found.first_bad.text) == (
        first + 1,
        f"out of order: record {first + 1} stands at {second + 1}",
    )


@given(of=place, to=place)
def test_a_record_moved_elsewhere_is_found_and_placed(whole: Whole, of: int, to: int) -> None:
    of, to = of % whole.last, to % whole.last
    assume(of != to)
    order = list(range(whole.last))
    order.insert(to, order.pop(of))
    rows = [(n, *whole.rows[was][1:]) for n, was in enumerate(order, 1)]
    found = whole.with_rows(rows)
    assert found.first_bad is not None
    assert found.first_bad.n == min(of, to) + 1


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
def test_a_record_altered_with_all_hashes_behind_it_is_found(
    whole: Whole, at: int, within: int, by: int
) -> None:
    at %= whole.signed[-1]
    rows = list(whole.rows)
    rows[at] = ALTERED["body"](rows[at], within, by)
    _covered(whole, whole.rewritten(rows), at + 1)


@given(at=place, many=st.integers(1, 5))
def test_records_taken_out_with_all_hashes_anew_are_found(whole: Whole, at: int, many: int) -> None:
    at %= whole.signed[-1] - many
    rows = [*whole.rows[:at], *whole.rows[at + many :]]
    assert not whole.rewritten(rows).ok


@given(at=place, added=foreign)
@example(at=70, added=("a", "input", b"0", bytes(32)))  # JSON, but no object
@example(at=70, added=("b", "input", b'"t_us"', bytes(32)))
def test_a_record_added_with_all_hashes_anew_is_found(
    whole: Whole, at: int, added: tuple[str, str, bytes, bytes]
) -> None:
    at %= whole.signed[-1]
    rows = [*whole.rows[:at], (0, *added), *whole.rows[at:]]
    assert not whole.rewritten(rows).ok


@given(first=place, second=place)
def test_records_that_changed_places_with_all_hashes_anew_are_found(
    whole: Whole, first: int, second: int
) -> None:
    first, second = sorted((first % whole.signed[-1], second % whole.signed[-1]))
    assume(whole.rows[first][1:4] != whole.rows[second][1:4])
    rows = list(whole.rows)
    rows[first], rows[second] = rows[second], rows[first]
    assert not whole.rewritten(rows).ok


@given(which=place, at=place, by=st.integers(1, 255))
def test_an_altered_checkpoint_signature_or_key_is_found_and_placed(
    whole: Whole, which: int, at: int, by: int
) -> None:
    n = whole.signed[which % len(whole.signed)]
    rows = list(whole.rows)
    rows[n - 1] = ALTERED["body"](rows[n - 1], at, by)
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
