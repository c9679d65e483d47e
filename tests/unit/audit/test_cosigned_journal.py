"""Cosignatures beside a journal: those of known witnesses for it are stored, each once."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import click.testing
import pytest

from shoe_ctl.cli.main import shoectl
from shoe_ctl.errors import JournalError, UsageError
from shoe_ctl.journal.chain import note_of, read_checkpoint
from shoe_ctl.journal.cosignatures import (
    append_cosigned,
    cosignatures_path,
    encode_cosigned,
    read_cosignatures,
)
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.record_format import Kind
from shoe_ctl.journal.signed_note import (
    COSIGNATURE,
    CheckpointText,
    Note,
    cosign,
    read_checkpoint_text,
    read_note,
    sign,
    verifier_key,
)
from shoe_ctl.journal.signing import Signer, open_signer
from shoe_testing.checkpoints import NAME, NOW_S, ORIGIN, OWN, STRANGER, leaves, root
from shoe_testing.cli import invoke
from shoe_testing.journals import T_US, opened, stored_round
from shoe_testing.nats_server import nats_client, nats_server

WITNESS = verifier_key(NAME, OWN.public_key, COSIGNATURE)


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    path = tmp_path / "journal.db"
    with opened(path) as store:
        store.commit([stored_round(1)])
        store.checkpoint(open_signer(path, None), T_US)
    return path


def line(
    journal: Path, size: int, *, by: Signer = OWN, name: str = NAME, signed_by: Signer | None = None
) -> bytes:
    """As a witness hands it out."""
    history = leaves(size)
    text = CheckpointText(ORIGIN, size, root(history)).to_text()
    own = sign(text, ORIGIN, signed_by or open_signer(journal, None))
    note = Note(text, (own, cosign(text, name, by, NOW_S)))
    return encode_cosigned(name, read_checkpoint_text(text), note, NOW_S)


def run(journal: Path, *words: object, stdin: bytes = b"") -> click.testing.Result:
    return invoke(shoectl, "cosignatures", journal, "--witness", WITNESS, *words, stdin=stdin)


def stored_sizes(journal: Path) -> list[int]:
    found = [note for _, note in read_cosignatures(cosignatures_path(journal))]
    assert all(isinstance(note, Note) for note in found)
    return [read_checkpoint_text(note.text).size for note in found if isinstance(note, Note)]


def test_cosignatures_are_stored_beside_the_journal_each_once(journal: Path) -> None:
    first, second = line(journal, 3), line(journal, 5)

    found = run(journal, "-", stdin=first + first)
    assert (found.exit_code, found.stdout) == (
        0,
        f"{journal}-cosignatures: 1 added, 1 there before\n",
    )
    (journal.parent / "cosigned.jsonl").write_bytes(first + second)
    found = run(journal, journal.parent / "cosigned.jsonl")
    assert found.stdout == f"{journal}-cosignatures: 1 added, 1 there before\n"

    assert stored_sizes(journal) == [3, 5]


def test_what_is_not_a_known_witnesss_or_of_another_journal_is_named_and_not_stored(
    journal: Path,
) -> None:
    lines = [
        line(journal, 3, by=STRANGER, name="stranger.example/w"),
        line(journal, 4, signed_by=STRANGER),
        line(journal, 5)[:-40],
        line(journal, 6, by=STRANGER),
        line(journal, 7).replace(NAME.encode(), b"other"),
        b'{"type":"round.opened"}',
        line(journal, 8),
    ]

    found = run(journal, "-", stdin=b"".join(each.rstrip(b"\n") + b"\n" for each in lines))

    assert found.exit_code == 1
    told = found.stderr.splitlines()
    assert told[0].startswith("- line 1: note: signed by no known key, only by")
    assert told[1] == f"- line 2: size 4 of {ORIGIN}: a checkpoint of another journal"
    assert told[2].startswith("- line 3: no event: torn")
    assert told[3].startswith("- line 4: note: signed by no known key")
    assert told[4].startswith("- line 5: note: signed by no known key")
    assert len(told) == 5
    assert stored_sizes(journal) == [8]


def test_a_line_that_a_power_failure_tore_does_not_spoil_the_next_one(journal: Path) -> None:
    append_cosigned(journal, [line(journal, 3)])
    path = cosignatures_path(journal)
    path.write_bytes(path.read_bytes() + line(journal, 4)[:50])

    append_cosigned(journal, [line(journal, 5)])

    found = [(number, isinstance(note, Note)) for number, note in read_cosignatures(path)]
    assert found == [(1, True), (2, False), (3, True)]


def test_a_file_of_cosignatures_that_cannot_be_written_is_named(journal: Path) -> None:
    cosignatures_path(journal).mkdir()

    with pytest.raises(JournalError, match=r"db-cosignatures cannot be written: Is a dir"):
        append_cosigned(journal, [line(journal, 3)])


def test_a_line_without_an_end_is_read_in_bounded_memory(journal: Path) -> None:
    cosignatures_path(journal).write_bytes(b"x" * 1_000_000 + b"\n" + line(journal, 3))

    found = [
        (number, isinstance(note, Note))
        for number, note in read_cosignatures(cosignatures_path(journal))
    ]

    assert found == [(1, False), (2, True)]


async def test_the_last_cosignature_is_read_from_a_server(tmp_path: Path, journal: Path) -> None:
    import asyncio

    with nats_server(tmp_path) as server:
        async with nats_client(server.address) as (_, js):
            await js.add_stream(
                name="SHOE_COSIGNATURES",
                subjects=["shoe.v1.cosignatures.*.*"],
                max_msgs_per_subject=1,
            )
            for subject, body in {
                "shoe.v1.cosignatures.a.b": line(journal, 3),
                "shoe.v1.cosignatures.a.c": line(journal, 9, signed_by=STRANGER),
            }.items():
                await js.publish(subject, body.rstrip(b"\n"))

        found = await asyncio.to_thread(run, journal, server.address)

    assert (found.exit_code, found.stderr) == (0, "")
    assert stored_sizes(journal) == [3]


def test_a_login_without_a_server_is_refused(journal: Path) -> None:
    found = run(journal, "-", "--user", "w")

    assert isinstance(found.exception, UsageError)
    assert (
        str(found.exception) == "--user needs a broker: give nats://HOST:PORT or mqtt://HOST:PORT"
    )


def test_a_note_that_was_stored_is_read_as_the_witness_wrote_it(journal: Path) -> None:
    append_cosigned(journal, [line(journal, 3)])

    ((_, note),) = read_cosignatures(cosignatures_path(journal))

    assert note == read_note(json.loads(line(journal, 3))["data"]["note"].encode())


def cosign_last(journal: Path, *, altered: bool = False) -> int:
    """Store a cosignature of the journal's last checkpoint; return the record it goes up to."""
    with Reader.open(journal) as reader:
        record = next(reader.indexed_records("", Kind.CHECKPOINT))
    said = read_checkpoint(record.body)
    note = read_note(note_of(record.body))
    if altered:  # the journal's key signed another history before
        text = note.text.replace(base64.b64encode(said.root).decode(), "A" * 43 + "=")
        note = Note(text, (sign(text, said.origin, open_signer(journal, None)),))
    note = note.add(cosign(note.text, NAME, OWN, NOW_S))
    line = encode_cosigned(NAME, read_checkpoint_text(note.text), note, NOW_S)
    found = run(journal, "-", stdin=line)
    assert found.stdout.endswith(": 1 added, 0 there before\n")
    return said.upto


def verify(journal: Path, *words: object) -> click.testing.Result:
    return invoke(shoectl, "verify", journal, "--witness", WITNESS, *words)


def test_a_journal_that_the_witness_saw_was_not_changed_up_to_then(journal: Path) -> None:
    upto = cosign_last(journal)

    found = verify(journal)

    line = f"nothing was changed up to record {upto}, seen 2026-09-21T14:13:20.000000Z"
    assert found.exit_code == 0
    assert f"witness {NAME}: {line}" in " ".join(found.stdout.split())
    (plain,) = json.loads(verify(journal, "--json").stdout)["witnessed"]
    assert (plain["witness"], plain["upto"], plain["t_s"]) == (NAME, upto, NOW_S)


def test_a_journal_that_its_own_key_signed_anew_is_changed(journal: Path) -> None:
    cosign_last(journal, altered=True)

    found = verify(journal)

    assert found.exit_code == 1
    shown = " ".join(found.stdout.split())
    assert "CHANGED: it saw another tree of 1 groups" in shown
    place = "the first change is in records 1 to 4, to 2023-11-14T22:13:20.000000Z; table bac-07"
    assert place in shown
    assert invoke(shoectl, "verify", journal).exit_code == 0


def test_a_journal_that_no_witness_saw_fails(journal: Path) -> None:
    found = verify(journal)

    assert found.exit_code == 1
    said = f"no cosignature of this journal is stored in {journal.name}-cosignatures"
    assert said in " ".join(found.stdout.split())
