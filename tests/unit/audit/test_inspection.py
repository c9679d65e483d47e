"""A folder of evidence from a real daemon: what is altered in it is found and placed, and no more.

Rounds, records and times are expected from the ledger's own lines and the journal's bytes, not from
what verifies or replays them.
"""

from __future__ import annotations

import asyncio
import base64
import gzip
import json
import os
import re
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from shoe_ctl.cli.main import shoectl
from shoe_ctl.errors import InputRefused, JournalError
from shoe_ctl.journal.chain import GENESIS, SignedHead, chain_hash, read_checkpoint
from shoe_ctl.journal.group import read_header
from shoe_ctl.journal.merkle_tree import Frontier
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.record_format import JOURNAL, Kind, Snapshot
from shoe_ctl.journal.signing import Signer, open_key
from shoe_ctl.records import Record
from shoe_testing import bulk_journal
from shoe_testing.cli import invoke
from shoe_testing.daemon import play_through_daemon
from shoe_testing.journals import (
    DEVICE,
    KEY,
    alter_record,
    dealt_journal,
    first_of,
    group_as_is,
    held,
    records,
    spoil,
)
from simulators.table.scenario import find

WITNESS = "gaming.example/w1"


class Case(NamedTuple):
    """A folder as a casino hands it over, and what an inspector has from another hand."""

    folder: Path
    private_key: Path
    witness_key: str
    public_key: str


@pytest.fixture(scope="module")
def evening(tmp_path_factory: pytest.TempPathFactory) -> Case:
    """Two rounds of a daemon, the first revised twice; both ledgers; a witness outside saw it."""
    made, folder = tmp_path_factory.mktemp("made"), tmp_path_factory.mktemp("case") / "evidence"
    _, _, stuck = asyncio.run(play_through_daemon(find("outcome_revised"), made))
    assert stuck is None
    folder.mkdir()
    journal = folder / "journal.db"
    for name in ("journal.db", "journal.db-head"):
        shutil.copy(made / name, folder / name)
    for stream in ("public", "restricted"):
        shutil.copy(made / f"{stream}.jsonl", folder / f"{stream}.jsonl")
    key_file = made / "journal.db-key"
    public_key = key_file.read_text().split()[2]
    own = made / "casino.key"
    own.write_text(invoke(shoectl, "checkpoint", journal, "--key").stdout)
    sent = made / "checkpoint.jsonl"
    sent.write_text(invoke(shoectl, "checkpoint", journal, "--old", 0).stdout)
    words = ("witness", "--signing-key", made / "w1.key", "--name", WITNESS)
    witness_key = invoke(shoectl, *words, "--show-key").stdout.strip()
    seen = invoke(shoectl, *words, "--journal", own, sent)
    assert seen.exit_code == 0, seen.output
    (folder / "cosigned.jsonl").write_text(seen.stdout)
    (folder / "checkpoint.jsonl").write_text(sent.read_text())
    return Case(folder, key_file, witness_key, public_key)


@pytest.fixture
def case(evening: Case, tmp_path: Path) -> Case:
    return evening._replace(folder=shutil.copytree(evening.folder, tmp_path / "evidence"))


def inspected(case: Case, *words: object) -> dict[str, Any]:
    result = invoke(shoectl, "inspect", case.folder, "--json", *words)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    said: dict[str, Any] = json.loads(result.stdout)
    assert result.exit_code == (0 if said["ok"] else 1)
    assert said["ok"] == (not said["findings"])
    return said


def places(said: dict[str, Any]) -> set[tuple[str, str, str | None, int | None]]:
    return {(one["kind"], one["file"], one["round_id"], one["n"]) for one in said["findings"]}


def state(folder: Path) -> dict[str, tuple[bytes, int, int]]:
    found = {}
    for path in sorted(folder.rglob("*")):
        about = path.lstat()
        content = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
        found[str(path)] = (content, about.st_mtime_ns, about.st_mode)
    return found


def event_in(ledger: Path, type_: str) -> dict[str, Any]:
    lines = map(json.loads, ledger.read_text().splitlines())
    return next(event for event in lines if event["type"] == type_)


def record_of(journal: Path, event: dict[str, Any]) -> int:
    return next(r.n for r in records(journal) if json.dumps(event["id"]).encode() in r.body)


def group_of(journal: Path, n: int) -> int:
    """The first record of the group that holds this one."""
    return next(first_of(row) for row in held(journal) if first_of(row) <= n <= row[0])


# A whole folder.


def test_a_whole_folder_has_no_finding_and_stays_as_it_is(case: Case) -> None:
    before = state(case.folder)
    said = inspected(case)
    assert said["findings"] == [] and said["ok"]
    assert state(case.folder) == before
    kinds = {file["path"]: file["kind"] for file in said["files"]}
    assert kinds == {
        "checkpoint.jsonl": "checkpoint",
        "cosigned.jsonl": "cosignatures",
        "journal.db": "journal",
        "journal.db-head": "beside",
        "public.jsonl": "ledger",
        "restricted.jsonl": "ledger",
    }


def test_every_file_is_listed_with_its_hash_and_all_have_one(case: Case) -> None:
    said = inspected(case)
    lines = ""
    for file in said["files"]:
        content = (case.folder / file["path"]).read_bytes()
        assert (file["sha256"], file["bytes"]) == (sha256(content).hexdigest(), len(content))
        lines += f"{file['sha256']}  {file['path']}\n"
    assert said["listing_sha256"] == sha256(lines.encode()).hexdigest()


def test_the_rounds_of_each_table_are_counted_with_what_the_house_won(case: Case) -> None:
    lines = [json.loads(line) for line in (case.folder / "public.jsonl").read_text().splitlines()]
    last = {}
    for event in lines:
        if event["type"] in ("wager.settled", "wager.revised"):
            last[event["data"]["number"]] = event["data"]
    (counted,) = inspected(case)["tables"]
    opened = [event for event in lines if event["type"] == "round.opened"]
    assert (counted["table"], counted["rounds"], counted["revised"]) == ("t1", len(opened), 1)
    assert counted["house"] == sum(one["collected"] - one["pays"] for one in last.values())


def test_a_key_that_came_with_the_files_proves_less_than_one_of_the_inspectors(case: Case) -> None:
    def proves(said: dict[str, Any], words: str) -> bool:
        return any(words in line for line in said["proven"])

    outside = f"witness {WITNESS} saw them"
    without = inspected(case)
    assert not proves(without, outside)
    assert any(f"The key of {WITNESS}" in line for line in without["missing"])
    (case.folder / "witness.txt").write_text(f"{case.witness_key}\n")
    with_theirs = inspected(case)
    assert not proves(with_theirs, outside)
    assert any(outside in line for line in with_theirs["claimed"])
    mine = inspected(case, "--witness", case.witness_key, "--public-key", case.public_key)
    assert proves(mine, outside) and proves(mine, "the key that you gave")
    assert not any("is the casino's key" in line for line in mine["claimed"])
    stranger = inspected(case, "--public-key", "00" * 32)
    assert [one["kind"] for one in stranger["findings"]] == ["wrong_key"]


def test_what_nobody_can_prove_is_always_said(case: Case) -> None:
    said = inspected(case, "--witness", case.witness_key, "--public-key", case.public_key)
    for claim in ("That a name is the person", "That bytes came from the shoe", "That times"):
        assert any(line.startswith(claim) for line in said["claimed"])


def test_the_worksheet_names_commands_that_give_the_answers_again(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(case.folder)
    commands = [one["command"] for one in inspected(case)["worksheet"] if one["command"]]
    names = {command.split()[1] for command in commands}
    assert names == {"verify", "replay", "incidents", "reconcile"}
    for command in commands:
        result = invoke(shoectl, *command.split()[1:])
        assert result.exit_code == 0, (command, result.output)


def test_rulings_are_listed_with_person_and_reason(case: Case) -> None:
    revised = [
        json.loads(line)["data"]
        for line in (case.folder / "restricted.jsonl").read_text().splitlines()
        if '"round.revised"' in line
    ]
    rulings = [one["incident"] for one in inspected(case)["rulings"]]
    found = [(one["person"], one["reason"]) for one in rulings if one["kind"] == "revision"]
    assert found == [(one["person"], one["why"]) for one in revised] and len(found) == 2


def test_the_proof_of_a_round_is_verified_alone_and_held_to_the_journal(case: Case) -> None:
    journal, proof = case.folder / "journal.db", case.folder / "round.json"
    outcome = event_in(case.folder / "public.jsonl", "round.outcome")
    words = ("prove", journal, "--round", outcome["subject"], "--output", proof)
    assert invoke(shoectl, *words).exit_code == 0
    assert inspected(case)["findings"] == []

    def edit(record: Record) -> bytes:
        return record.body.replace(b'"user":"0"', b'"user":"9"')

    for path in case.folder.iterdir():
        if path not in (journal, proof, case.folder / "journal.db-head"):
            path.unlink()
    written_again(journal, open_key(case.private_key, create=False), edit)
    (found,) = inspected(case)["findings"]
    assert (found["kind"], found["file"]) == ("rewritten", "journal.db")
    journal.unlink()
    alone = inspected(case)
    assert alone["findings"] == []
    assert any(outcome["subject"] in line for line in alone["proven"])
    proof.write_bytes(proof.read_bytes().replace(b'"groups"', b'"group"', 1)[:-1])
    assert [one["kind"] for one in inspected(case)["findings"]] == ["altered"]


# An altered folder.


def alter_card(case: Case) -> tuple[str, str, str | None, int | None]:
    """Another card in what the shoe said."""
    journal = case.folder / "journal.db"
    said = next(r for r in records(journal) if r.kind == "input" and b'"card_drawn"' in r.body)
    body = json.loads(said.body)
    body["event"]["card"] = "2C" if body["event"]["card"] != "2C" else "3C"
    n = group_of(journal, said.n)
    alter_record(journal, said.n, json.dumps(body, separators=(",", ":")).encode())
    round_id = event_in(case.folder / "restricted.jsonl", "round.opened")["subject"]
    return "altered", "journal.db", round_id, n


def take_out_a_group(case: Case) -> tuple[str, str, str | None, int | None]:
    journal = case.folder / "journal.db"
    outcome = event_in(case.folder / "restricted.jsonl", "round.outcome")
    n = record_of(journal, outcome)
    last = next(row[0] for row in held(journal) if first_of(row) <= n <= row[0])
    first = group_of(journal, n)
    with closing(sqlite3.connect(journal)) as connection, connection:
        connection.execute("DELETE FROM record_group WHERE n = ?", (last,))
    return "missing", "journal.db", outcome["subject"], first


def alter_ledger(case: Case) -> tuple[str, str, str | None, int | None]:
    ledger = case.folder / "public.jsonl"
    outcome = event_in(ledger, "round.outcome")
    outcome["data"]["winner"] = "tie"
    lines = ledger.read_text().splitlines()
    lines = [json.dumps(outcome) if json.loads(x)["id"] == outcome["id"] else x for x in lines]
    ledger.write_text("".join(f"{line}\n" for line in lines))
    n = record_of(case.folder / "journal.db", outcome)
    return "ledger", "public.jsonl", outcome["subject"], n


def shorten_ledger(case: Case) -> tuple[str, str, str | None, int | None]:
    """The round that was revised is gone from the compressed ledger."""
    ledger = case.folder / "restricted.jsonl"
    gone = event_in(ledger, "round.revised")
    lines = ledger.read_text().splitlines(keepends=True)
    kept = "".join(line for line in lines if json.loads(line).get("id") != gone["id"])
    ledger.unlink()
    (case.folder / "restricted.jsonl.gz").write_bytes(gzip.compress(kept.encode()))
    n = record_of(case.folder / "journal.db", gone)
    return "ledger", "restricted.jsonl.gz", gone["subject"], n


def cut_journal(case: Case) -> tuple[str, str, str | None, int | None]:
    journal = case.folder / "journal.db"
    journal.write_bytes(journal.read_bytes()[:5000])
    return "unreadable", "journal.db", None, None


def other_rules(case: Case) -> tuple[str, str, str | None, int | None]:
    """A game file that is not the one that was played."""
    journal = case.folder / "journal.db"
    started = next(r for r in records(journal) if r.kind == Kind.META.value and r.table == "t1")
    played = base64.b64decode(json.loads(started.body)["game"])
    (case.folder / "rules.toml").write_bytes(b"# another one\n" + played)
    return "rules", "journal.db", None, started.n


ACTS = [alter_card, take_out_a_group, alter_ledger, shorten_ledger, cut_journal, other_rules]


@pytest.mark.parametrize("act", ACTS, ids=lambda act: act.__name__)
def test_what_was_altered_is_found_with_its_round_and_record(
    case: Case, act: Callable[[Case], tuple[str, str, str | None, int | None]]
) -> None:
    due = act(case)
    before = state(case.folder)
    said = inspected(case)
    assert due in places(said), said["findings"]
    assert state(case.folder) == before
    found = next(one for one in said["findings"] if one["kind"] == due[0])
    if found["round_id"] is not None:
        opened = event_in(case.folder / "public.jsonl", "round.opened")
        assert found["time"] >= opened["time"]
    text = invoke(shoectl, "inspect", case.folder).stdout
    assert found["kind"].replace("_", " ") in text.partition("FINDINGS")[2]


def test_a_shoe_that_is_kept_back_is_missing_between_two_exports(tmp_path: Path) -> None:
    folder = tmp_path / "exports"
    exports = Case(folder, folder, "", "")
    folder.mkdir()
    made = bulk_journal.make(tmp_path / "journal.db", 82 * 3)
    for number in (0, 2):
        name = f"{bulk_journal.TABLE}-s{number}"
        to = folder / f"{name}.journal.gz"
        assert not invoke(shoectl, "export", made.path, "--shoe", name, "--output", to).exit_code
    said = inspected(exports)
    (gap,) = said["findings"]
    assert (gap["kind"], gap["table"]) == ("missing", bulk_journal.TABLE)
    with_it = folder / f"{bulk_journal.TABLE}-s1.journal.gz"
    words = ("export", made.path, "--shoe", with_it.name.partition(".")[0], "--output", with_it)
    assert not invoke(shoectl, *words).exit_code
    assert inspected(exports)["findings"] == []


def written_again(journal: Path, signer: Signer, edit: Callable[[Record], bytes]) -> None:
    """As who holds the private key does it: every chain, the tree, and each checkpoint."""
    tree, ends, rows = Frontier(), dict[str, SignedHead](), []
    names = {GENESIS.hex(): GENESIS.hex()}
    with Reader.open(journal) as reader:
        for row in list(reader.rows()):
            n, table, body, _ = row
            found = list(reader.unpacked([row]))
            end = bytes.fromhex(ends[table].hash) if table in ends else GENESIS
            now = [(record.kind, edit(record)) for record in found]
            now = [
                (kind, renamed(body, names) if kind == "snapshot" else body) for kind, body in now
            ]
            if table == JOURNAL and found[0].kind == Kind.CHECKPOINT.value:
                said = msgspec.structs.replace(
                    read_checkpoint(found[0].body),
                    root=tree.root(),
                    heads=dict(ends),
                    frontier=tuple(map(bytes.hex, tree.hashes)),
                )
                now = [(found[0].kind, said.to_bytes(signer))]
            if now != [(record.kind, record.body) for record in found]:
                before = read_header(body).before
                body = group_as_is(now, before=(before.public, before.restricted))
            digest = chain_hash(end, n, table, body)
            ends[table], names[row[3].hex()] = SignedHead(n, digest.hex()), digest.hex()
            tree.append(digest)
            rows.append(
                ("UPDATE record_group SET body = ?, hash = ? WHERE n = ?", (body, digest, n))
            )
    heads = 'UPDATE head SET hash = ? WHERE "table" = ?'
    spoil(journal, *rows, *((heads, (bytes.fromhex(e.hash), t)) for t, e in ends.items()))
    journal.with_name(journal.name + "-head").unlink()


def renamed(snapshot: bytes, names: dict[str, str]) -> bytes:
    """A snapshot that names the hash of the group before it as it is now."""
    said = Snapshot.from_bytes(snapshot)
    return msgspec.structs.replace(said, hash=names[said.hash]).to_bytes()


def test_only_a_witness_finds_a_login_that_the_holder_of_the_key_wrote_again(case: Case) -> None:
    journal = case.folder / "journal.db"
    revised = event_in(case.folder / "restricted.jsonl", "round.revised")
    n = record_of(journal, revised)

    def edit(record: Record) -> bytes:
        return record.body.replace(b'"user":"0"', b'"user":"9"')

    for name in ("public.jsonl", "restricted.jsonl", "checkpoint.jsonl"):
        (case.folder / name).unlink()
    written_again(journal, open_key(case.private_key, create=False), edit)
    assert invoke(shoectl, "verify", journal).exit_code == 0
    without = inspected(case)
    logins = {one["incident"]["login"] for one in without["rulings"]}
    assert (places(without), logins) == (set(), {"9"})
    said = inspected(case, "--witness", case.witness_key)
    (found,) = said["findings"]
    assert (found["kind"], found["file"]) == ("witness", "journal.db")
    assert found["n"] <= n and found["time"] is not None
    assert not any("witness" in line for line in said["proven"])


def test_a_checkpoint_among_the_files_that_the_journal_does_not_continue_is_found(
    case: Case,
) -> None:
    journal = case.folder / "journal.db"

    def edit(record: Record) -> bytes:
        return record.body.replace(b'"player"', b'"banker"')

    written_again(journal, open_key(case.private_key, create=False), edit)
    found = inspected(case)["findings"]
    assert "rewritten" in {one["kind"] for one in found if "checkpoint.jsonl" in one["text"]}
    assert "ledger" in {one["kind"] for one in found}


def test_a_copy_that_the_inspector_kept_shows_the_first_record_that_differs(
    case: Case, tmp_path: Path
) -> None:
    journal = case.folder / "journal.db"
    kept = shutil.copy(journal, tmp_path / "kept.db")
    said = inspected(case, "--against", kept)
    assert any("since" in line and "kept.db" in line for line in said["proven"])
    outcome = event_in(case.folder / "public.jsonl", "round.outcome")
    first = group_of(journal, record_of(journal, outcome))
    for name in ("public.jsonl", "restricted.jsonl", "checkpoint.jsonl"):
        (case.folder / name).unlink()

    def edit(record: Record) -> bytes:
        return record.body.replace(outcome["id"].encode(), b"t1/p99")

    written_again(journal, open_key(case.private_key, create=False), edit)
    found = inspected(case, "--against", kept)["findings"]
    rewritten = [one for one in found if one["kind"] == "rewritten"]
    assert [(one["round_id"], one["n"]) for one in rewritten] == [(outcome["subject"], first)]


def test_rotated_files_are_one_ledger_and_a_copy_of_it_is_another(case: Case) -> None:
    ledger = case.folder / "public.jsonl"
    lines = ledger.read_bytes().splitlines(keepends=True)
    (case.folder / "copy-for-the-bank.jsonl").write_bytes(b"".join(lines))
    (case.folder / "public.jsonl.1.gz").write_bytes(gzip.compress(b"".join(lines[:20])))
    ledger.write_bytes(b"".join(lines[20:]))
    said = inspected(case)
    assert said["findings"] == []
    assert len([line for line in said["proven"] if "events agree" in line]) == 3
    (case.folder / "public.jsonl.1.gz").unlink()
    (found,) = {one["file"] for one in inspected(case)["findings"]}
    assert found == "public.jsonl"


def test_a_ledger_that_goes_on_behind_an_older_copy_of_the_journal_agrees(case: Case) -> None:
    older = case.folder / "older.db"
    shutil.copy(case.folder / "journal.db", older)
    groups = held(older)
    last = next(row for row in reversed(groups) if row[1] == "" and row[0] < groups[-1][0])
    with closing(sqlite3.connect(older)) as connection, connection:
        for table, n, digest in ((row[1], row[0], row[3]) for row in groups if row[0] <= last[0]):
            head = 'UPDATE head SET n = ?, hash = ? WHERE "table" = ?'
            connection.execute(head, (n, digest, table))
        for name in ("record_group", "landmark", "round"):
            connection.execute(f"DELETE FROM {name} WHERE n > ?", (last[0],))
    found = {one["file"] for one in inspected(case)["findings"]}
    assert found <= {"older.db"}  # it was cut by hand, and its summary fits no more


def test_a_ledger_without_a_journal_is_compared_with_the_exports(tmp_path: Path) -> None:
    folder = tmp_path / "exports"
    exports = Case(folder, folder, "", "")
    folder.mkdir()
    made = bulk_journal.make(tmp_path / "journal.db", 82 * 3)
    for number in range(3):
        name = f"{bulk_journal.TABLE}-s{number}"
        to = folder / f"{name}.journal.gz"
        assert not invoke(shoectl, "export", made.path, "--shoe", name, "--output", to).exit_code
    events = [r.body for r in records(made.path) if r.kind == Kind.PUBLIC.value]
    (folder / "events.jsonl").write_bytes(b"\n".join(events))
    said = inspected(exports)
    assert said["findings"] == []
    assert [line for line in said["missing"] if "events.jsonl: a journal or an export with" in line]
    gone = next(body for body in events if b"round.outcome" in body and b"-s1-r" in body)
    (folder / "events.jsonl").write_bytes(b"\n".join(b for b in events if b != gone))
    (found,) = inspected(exports)["findings"]
    assert (found["kind"], found["round_id"]) == ("ledger", json.loads(gone)["subject"])
    assert found["n"] == next(r.n for r in records(made.path) if r.body == gone)


def test_the_keys_of_the_shoes_prove_their_messages_or_show_that_they_are_not_theirs(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "keyed"
    keyed = Case(folder, folder, "", "")
    folder.mkdir()
    dealt_journal(folder / "journal.db", "reference", 2, keyed=True)
    without = inspected(keyed)
    assert any("taken as recorded" in line for line in without["missing"])
    (folder / "shoes.txt").write_text(f"{DEVICE} 1 {KEY.hex()}\n")
    said = inspected(keyed)
    assert said["findings"] == []
    assert any("each proof and MAC" in line for line in said["proven"])
    (folder / "shoes.txt").write_text(f"{DEVICE} 1 {bytes(32).hex()}\n")
    assert {one["kind"] for one in inspected(keyed)["findings"]} == {"replay"}


# A stranger's folder.


def test_what_is_not_understood_is_named_and_never_opened_twice(case: Case) -> None:
    (case.folder / "notes.txt").write_text("call me")
    (case.folder / "other.sqlite").write_bytes(b"SQLite format 3\0" + bytes(100))
    (case.folder / "empty").touch()
    (case.folder / "zero").symlink_to("/dev/zero")
    os.mkfifo(case.folder / "pipe")
    said = inspected(case)
    assert said["findings"] == []
    missing = "\n".join(said["missing"])
    assert "Not understood, only hashed: empty, notes.txt, other.sqlite." in missing
    assert "zero: a link, which is not followed" in missing and "pipe: not a file" in missing


def test_a_name_that_promises_a_journal_is_held_to_it(case: Case) -> None:
    (case.folder / "june.journal.gz").write_bytes(b"nothing of the kind")
    said = inspected(case)
    assert places(said) == {("unreadable", "june.journal.gz", None, None)}


def test_a_private_key_among_the_files_is_named(case: Case) -> None:
    shutil.copy(case.private_key, case.folder)
    shutil.copy(case.folder / "journal.db", case.folder / "copy.db")  # no fault
    said = inspected(case)
    assert said["findings"] == []
    assert any(line.startswith("journal.db-key is a private key") for line in said["claimed"])


def test_a_log_beside_the_journal_is_read_without_a_trace_in_the_folder(case: Case) -> None:
    journal = case.folder / "journal.db"
    with closing(sqlite3.connect(journal)) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("PRAGMA user_version")
        writer.execute("BEGIN IMMEDIATE")
        writer.execute("UPDATE cursor SET n = n")
        writer.execute("COMMIT")
        shutil.copy(journal, case.folder.parent / "journal.db")
        shutil.copy(f"{journal}-wal", case.folder.parent)
    for name in ("journal.db", "journal.db-wal"):
        shutil.move(case.folder.parent / name, case.folder / name)
    before = state(case.folder)
    assert inspected(case)["findings"] == []
    assert state(case.folder) == before


def test_a_folder_without_a_journal_and_none_at_all_get_one_line(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("nothing")
    for folder, kind in ((tmp_path, InputRefused), (tmp_path / "notes.txt", JournalError)):
        error = invoke(shoectl, "inspect", folder).exception
        assert isinstance(error, kind)
        assert len(str(error).splitlines()) == 1


# The page.


def test_the_page_fits_80_columns_and_shows_no_control_character(case: Case) -> None:
    (case.folder / "a\x1b[31mred").write_text("x")
    alter_ledger(case)
    text = invoke(shoectl, "inspect", case.folder).stdout
    assert "\x1b" not in text
    long = [line for line in text.splitlines() if len(line) > 80]
    assert all("/" in line or "shoectl" in line for line in long), long
    for part in ("VERDICT", "FINDINGS", "PROVEN", "ONLY CLAIMED", "WORKSHEET", "FILES", "CUSTODY"):
        assert part in text


class Page(HTMLParser):
    """The words of a page, and the tags that are open."""

    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag != "script" and not {"src", "href", "onload"} & dict(attrs).keys()
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def test_the_html_page_needs_nothing_else_and_shows_names_as_they_are(case: Case) -> None:
    (case.folder / "<script>alert(1)<").write_text("x")
    alter_ledger(case)
    html = invoke(shoectl, "inspect", case.folder, "--html").stdout
    page = Page()
    page.feed(html)
    assert page.open == []
    words = " ".join(page.words)
    assert "<script>alert(1)<" in words
    assert inspected(case)["listing_sha256"] in words
    assert not re.search(r"https?://", html)
