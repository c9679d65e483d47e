"""One set of cards as one file: read by everything that reads a journal, by nothing else."""

from __future__ import annotations

import gzip
import json
import sqlite3
import stat
import zlib
from contextlib import closing, suppress
from pathlib import Path

import pytest
from click.testing import Result
from hypothesis import assume, given
from hypothesis import strategies as st

from shoe_ctl.cli.main import shoectl
from shoe_ctl.errors import JournalError
from shoe_ctl.history.shoe_sections import find_section
from shoe_ctl.journal import export, schema
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.store import Store
from shoe_testing import bulk_journal
from shoe_testing.cli import invoke
from shoe_testing.journals import (
    JournalTable,
    dealt_by,
    first_of,
    held,
    journal_table,
    opened,
    records,
    replayed_journal,
    spoil,
    table_meta,
    verified,
)

SETS = 3


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> bulk_journal.Made:
    return bulk_journal.make(tmp_path_factory.mktemp("bulk") / "journal.db", rounds=82 * SETS)


def exported(journal: Path, to: Path, shoe_id: str | None) -> Path:
    with Reader.open(journal) as reader:
        span = find_section(reader, shoe_id)
        export.write_export(
            reader, export.select_records(reader, span.table, span.first, span.last), to
        )
    return to


@pytest.fixture(scope="module")
def second(made: bulk_journal.Made, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The second of three sets."""
    return exported(made.path, tmp_path_factory.mktemp("exports") / "t1-s2.journal.gz", "t1-s2")


def called(*words: object) -> Result:
    return invoke(shoectl, *words)


def test_a_shoe_is_exported_to_a_file_for_its_owner(
    made: bulk_journal.Made, tmp_path: Path
) -> None:
    out = tmp_path / "out.gz"
    said = called("export", made.path, "--shoe", "t1-s2", "--output", out)
    assert said.exit_code == 0
    assert said.output.endswith("signed\n") and "t1-s2, records" in said.output
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    assert out.read_bytes()[:2] == schema.PACKED
    again = called("export", made.path, "--shoe", "t1-s2", "--output", out)
    assert str(again.exception) == f"{out} is there already: name another file"
    assert [file.name for file in tmp_path.iterdir()] == ["out.gz"]


def test_without_a_name_it_is_the_last_shoe_in_a_file_of_its_own_name(
    made: bulk_journal.Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    told = json.loads(called("export", made.path, "--json").output)
    assert told["path"] == "t1-s4.journal.gz"
    assert (told["shoe_id"], told["signed"]) == ("t1-s4", True)
    assert verified(tmp_path / told["path"]).ok


@pytest.mark.parametrize("shoe_id", ["t1-s9", "t2-s1", "nonsense", ""])
def test_a_shoe_that_is_not_there_is_told_in_one_line(
    made: bulk_journal.Made, tmp_path: Path, shoe_id: str
) -> None:
    said = called("export", made.path, "--shoe", shoe_id, "--output", tmp_path / "x")
    assert said.exit_code == 1
    assert f"no shoe {shoe_id} from its beginning (it has: " in str(said.exception)
    assert not (tmp_path / "x").exists()


def test_every_reader_reads_it_without_the_journal(made: bulk_journal.Made, second: Path) -> None:
    key = made.signer.public_key.hex()
    assert called("verify", second, "--public-key", key).exit_code == 0
    assert called("verify", second, "--public-key", "00" * 32).exit_code == 1
    ran = called("replay", second)
    assert ran.output.startswith("82 rounds replayed: every input and every event is the same\n")
    account = called("replay", second, "--round", "t1-s2-r100").output
    assert "Round t1-s2-r100" in account
    assert "05 " in account  # raw bytes stand beside what they said
    decoded = called("decode", second, "--json")
    kinds = [json.loads(line)["type"] for line in decoded.stdout.splitlines()]
    assert 82 <= kinds.count("result") < 82 + 30  # and what stands next to it up to a checkpoint
    assert "discarded" not in kinds


def test_it_is_the_journal_s_own_records(made: bulk_journal.Made, second: Path) -> None:
    of_journal = {record.n: record for record in records(made.path)}
    of_export = records(second)
    assert all(of_journal[record.n] == record for record in of_export)
    with Reader.open(made.path) as reader:
        span = find_section(reader, "t1-s2")
    assert set(range(span.first, span.last + 1)) <= {record.n for record in of_export}


def test_it_is_an_sqlite_file_inside(second: Path, tmp_path: Path) -> None:
    plain = tmp_path / "plain.db"
    plain.write_bytes(gzip.decompress(second.read_bytes()))
    assert records(plain) == records(second)
    assert verified(plain) == verified(second)


def test_all_records_are_unpacked_for_queries_from_a_journal_and_an_export(
    made: bulk_journal.Made, second: Path, tmp_path: Path
) -> None:
    for journal in (made.path, second):
        out = tmp_path / f"{journal.name}.db"
        said = called("export", journal, "--unpacked", "--output", out)
        found = records(journal)
        assert said.output == f"{out}: up to record {found[-1].n}, unpacked\n"
        assert stat.S_IMODE(out.stat().st_mode) == 0o600
        with closing(sqlite3.connect(out)) as connection:
            rows = connection.execute('SELECT n, "table", kind, body FROM record')
            assert rows.fetchall() == [(r.n, r.table, r.kind, r.body) for r in found]
            ends = connection.execute('SELECT hash FROM head WHERE "table" = ?', ("t1",))
            assert ends.fetchall() == [(verified_end(journal),)]
        again = called("export", journal, "--unpacked", "--output", out)
        assert str(again.exception) == f"{out} is there already: name another file"
        with pytest.raises(JournalError, match="not a journal of shoe-ctl"):
            Reader.open(out)
    nowhere = called("export", second, "--unpacked", "--output", tmp_path / "no" / "out.db")
    assert "cannot be written: No such file or directory" in str(nowhere.exception)
    both = called("export", second, "--unpacked", "--shoe", "t1-s2")
    assert str(both.exception) == "--unpacked exports every record: leave --shoe out"
    assert len(list(tmp_path.iterdir())) == 2


def verified_end(journal: Path) -> bytes:
    with Reader.open(journal) as reader:
        return reader.heads()[1]["t1"].hash


@pytest.mark.parametrize("packed", [True, False])
def test_no_daemon_writes_on_it(second: Path, tmp_path: Path, packed: bool) -> None:
    path = tmp_path / "journal.db"
    content = second.read_bytes()
    path.write_bytes(content if packed else gzip.decompress(content))
    before = path.read_bytes()
    with pytest.raises(JournalError, match="is an export: it can be read, not written on"):
        Store.open(path)
    assert path.read_bytes() == before


def test_a_shoe_that_is_not_signed_to_its_end_says_so(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    with journal_table(path, table_meta(), dealt_by("2D 3C TS 4D")):
        pass
    out = tmp_path / "out.gz"
    said = called("export", path, "--output", out)
    assert "its end is not signed yet" in said.output
    assert verified(out).ok
    assert replayed_journal(out).differences == []
    shown = called("verify", out).output
    assert "nothing: no valid checkpoint found" in shown


def test_of_many_tables_it_holds_one(made: bulk_journal.Made, tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    inputs, last = dealt_by("2D 3C TS 4D 9C 2D KD 3H"), 0
    with journal_table(path, table_meta(table="a")) as first:
        other = JournalTable(first.store, table_meta(table="b"))
        for number, happened in enumerate(inputs):
            first.handle(happened)
            other.handle(happened)
            if number % 3 == 2:
                last = first.store.checkpoint(made.signer, number) or 0
    for shoe_id in ("a-s1", "b-s1"):
        out = exported(path, tmp_path / shoe_id, shoe_id)
        assert {record.table for record in records(out)} == {"", shoe_id[0]}
        assert verified(out).tables == 1
        assert verified(out).signed.checkpoints > 2
        behind = [record for record in records(out) if record.n > last]
        assert verified(out).not_signed == len(behind)
        assert replayed_journal(out).differences == []
        whole = out.read_bytes()
        for row in held(out)[1:]:
            out.write_bytes(gzip.decompress(whole))
            spoil(out, f"DELETE FROM record_group WHERE n = {row[0]}")
            assert not verified(out).ok, row[0]
    said = called("export", path, "--output", tmp_path / "x")
    assert "name a shoe: its tables are: a, b" in str(said.exception)


@given(at=st.integers(0, 10**6), flip=st.integers(1, 255))
def test_a_file_of_which_any_byte_was_altered_is_not_taken_for_good(
    small: bytes, tmp_path_factory: pytest.TempPathFactory, at: int, flip: int
) -> None:
    """But for gzip's own header, whose time, flags and system say nothing of what is in it, and the
    bits that fill the last byte before its check."""
    spoilt = bytearray(small)
    spoilt[10 + at % (len(spoilt) - 10)] ^= flip
    with suppress(OSError, EOFError, zlib.error):
        assume(gzip.decompress(spoilt) != gzip.decompress(small))
    path = tmp_path_factory.mktemp("spoilt") / "export.gz"
    path.write_bytes(spoilt)
    with pytest.raises(JournalError, match="corrupt: it cannot be unpacked"):
        verified(path)


@given(cut=st.integers(2, 10**6))
def test_a_file_that_was_cut_short_is_not_taken_for_good(
    small: bytes, tmp_path_factory: pytest.TempPathFactory, cut: int
) -> None:
    path = tmp_path_factory.mktemp("cut") / "export.gz"
    path.write_bytes(small[: 2 + cut % (len(small) - 2)])
    with pytest.raises(JournalError):
        verified(path)


class Export(bytes):
    """An export's bytes. Short in reports: Hypothesis warns of what is long, not of the failure."""

    def __repr__(self) -> str:
        return f"an export of {len(self)} bytes"


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """An export of a few rounds."""
    folder = tmp_path_factory.mktemp("small")
    with journal_table(folder / "journal.db", table_meta(), dealt_by("2D 3C TS 4D")):
        pass
    return Export(exported(folder / "journal.db", folder / "export.gz", None).read_bytes())


def test_what_is_too_long_for_memory_is_refused(
    second: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schema, "MOST_UNPACKED_BYTES", 1000)
    with pytest.raises(JournalError, match="longer than any export"):
        Reader.open(second)


def test_an_altered_record_of_an_export_is_found_and_placed(second: Path, tmp_path: Path) -> None:
    path = tmp_path / "export.db"
    for row in held(second)[1:200:20]:
        path.write_bytes(gzip.decompress(second.read_bytes()))
        spoil(path, f"UPDATE record_group SET body = zeroblob(length(body)) WHERE n = {row[0]}")
        bad = verified(path).first_bad
        assert bad is not None
        assert (bad.n, bad.text.partition(":")[0]) == (first_of(row), "altered")


def test_a_journal_of_another_table_is_none_of_an_export(
    made: bulk_journal.Made, tmp_path: Path
) -> None:
    with opened(made.path) as store, store.reader() as reader:
        kept = export.select_records(reader, bulk_journal.TABLE, 1, 4000)
        export.write_export(reader, kept, tmp_path / "x.gz")
        other = export.select_records(reader, bulk_journal.TABLE, 5000, 6000)
    export.check_export(tmp_path / "x.gz", kept)
    with pytest.raises(JournalError, match="does not hold table t1 up to record"):
        export.check_export(tmp_path / "x.gz", other)


def test_more_than_fits_into_a_file_is_told_and_leaves_none(
    made: bulk_journal.Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "MOST_BYTES", 100_000)
    with pytest.raises(JournalError, match="too much for one export"):
        exported(made.path, tmp_path / "x.gz", "t1-s2")
    assert list(tmp_path.iterdir()) == []
