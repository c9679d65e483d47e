"""The newest checkpoint of a journal as an event: a witness takes it, after retention too."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

import click.testing
import pytest

from shoe_ctl.audit.witness import read_event
from shoe_ctl.cli.main import shoectl
from shoe_ctl.errors import InputRefused, JournalError, UsageError
from shoe_ctl.journal.chain import AnchorRecord, read_checkpoint
from shoe_ctl.journal.checkpoint_event import event, newest_checkpoint
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.record_format import Kind
from shoe_ctl.journal.signing import open_signer
from shoe_testing.checkpoints import NAME, largest_power_below
from shoe_testing.cli import invoke
from shoe_testing.journals import T_US, held, opened, records, spoil, stored_round

GROUPS = (3, 1, 4, 1, 5, 9)
"""Between two checkpoints each, so that the trees have all kinds of edges."""


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    path = tmp_path / "journal.db"
    for number, many in enumerate(GROUPS):
        go_on(path, 10 * number, many)
    return path


def go_on(path: Path, first: int, many: int) -> None:
    with opened(path) as store:
        for number in range(many):
            store.commit([stored_round(first + number)])
        store.checkpoint(open_signer(path, None), T_US + first)


def take_out(path: Path, n: int) -> None:
    """Remove the records before checkpoint ``n``, as retention does."""
    before = [record for record in records(path) if record.n < n]
    told = tuple(
        sum(each.kind == f"event.{kind}" for each in before) for kind in ("public", "restricted")
    )
    with opened(path) as store:
        store.truncate_before(
            AnchorRecord(n, {"bac-07": (told[0], told[1])}), open_signer(path, None), T_US + 999
        )


def checkpoints(path: Path) -> list[tuple[int, int]]:
    """Record and tree size of each checkpoint that is there."""
    found = [record for record in records(path) if record.kind == Kind.CHECKPOINT.value]
    return [(record.n, read_checkpoint(record.body).size) for record in found]


def printed(path: Path, *words: object) -> bytes:
    found = invoke(shoectl, "checkpoint", path, *words)
    assert (found.exit_code, found.stderr) == (0, "")
    assert found.stdout.count("\n") == 1
    return found.stdout_bytes


def told(path: Path, *words: object) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(printed(path, *words))["data"]
    return data


def witness(path: Path, *words: object, stdin: bytes = b"") -> click.testing.Result:
    own = ("--signing-key", path.with_name("w1.key"), "--name", NAME)
    return invoke(shoectl, "witness", *own, *words, stdin=stdin)


def cosign(path: Path, *words: object) -> click.testing.Result:
    """Carry the newest checkpoint to the witness, and what that hands out back."""
    key = invoke(shoectl, "checkpoint", path, "--key").stdout.strip()
    found = witness(path, "--journal", key, "-", stdin=printed(path, *words))
    stored = invoke(
        shoectl, "cosignatures", path, "-", "--witness", witness_key(path),
        stdin=found.stdout_bytes,
    )  # fmt: skip
    assert stored.exit_code == 0
    return found


def witness_key(path: Path) -> str:
    return witness(path, "--show-key").stdout.strip()


def test_by_default_it_comes_with_the_proof_from_the_checkpoint_before(journal: Path) -> None:
    leaves = [row[3] for row in held(journal)]
    (_, before), (n, size) = checkpoints(journal)[-2:]

    found = told(journal)

    assert found["old_size"] == before
    assert size == sum(row[0] < n for row in held(journal))
    given = read_event(printed(journal))
    assert given is not None
    assert list(given.proof) == naive_proof(before, leaves[:size])


def root(part: list[bytes]) -> bytes:
    if len(part) == 1:
        return part[0]
    half = largest_power_below(len(part))
    return sha256(b"\x01" + root(part[:half]) + root(part[half:])).digest()


def naive_proof(old: int, part: list[bytes], *, is_whole: bool = True) -> list[bytes]:
    """RFC 6962's definition, over hashes of leaves."""
    if old == len(part):
        return [] if is_whole else [root(part)]
    half = largest_power_below(len(part))
    if old <= half:
        return [*naive_proof(old, part[:half], is_whole=is_whole), root(part[half:])]
    return [*naive_proof(old - half, part[half:], is_whole=False), root(part[:half])]


def test_a_proof_is_made_from_every_size_that_there_ever_was(journal: Path) -> None:
    leaves = [row[3] for row in held(journal)]
    _, size = checkpoints(journal)[-1]
    with Reader.open(journal) as reader:
        newest = newest_checkpoint(reader)
        for old in range(1, size + 1):
            given = read_event(event(reader, newest, old))
            assert given is not None
            assert (given.old_size, list(given.proof)) == (old, naive_proof(old, leaves[:size]))


def test_after_retention_a_proof_is_made_from_every_checkpoint_that_there_ever_was(
    journal: Path,
) -> None:
    before = checkpoints(journal)
    ever = {row[0]: row[3] for row in held(journal)}
    take_out(journal, before[1][0])
    go_on(journal, 100, 3)
    ever |= {row[0]: row[3] for row in held(journal)}
    begins, _ = before[4]
    take_out(journal, begins)
    n, size = checkpoints(journal)[-1]
    leaves = [ever[each] for each in sorted(ever) if each < n]
    assert records(journal)[0].n == begins

    for _, old in before:
        given = read_event(printed(journal, "--old", old))
        assert given is not None
        assert (given.old_size, list(given.proof)) == (old, naive_proof(old, leaves[:size]))


def test_a_witness_cosigns_it_and_verify_says_so_after_retention_too(journal: Path) -> None:
    assert cosign(journal, "--old", 0).exit_code == 0
    upto = checkpoints(journal)[-1][0] - 1
    for first in (100, 200, 300):
        go_on(journal, first, 4)
    missed = cosign(journal)
    assert (missed.exit_code, missed.stdout) == (1, "")
    assert "came without a proof from size 28, the last one cosigned" in missed.stderr

    take_out(journal, checkpoints(journal)[-1][0])

    assert cosign(journal, "--witness", witness_key(journal)).exit_code == 0
    said = invoke(shoectl, "verify", journal, "--witness", witness_key(journal), "--json")
    (seen,) = json.loads(said.stdout)["witnessed"]
    assert (said.exit_code, seen["first_other"]) == (0, None)
    assert seen["upto"] == checkpoints(journal)[-1][0] - 1 > upto


def test_a_shell_carries_it_to_the_witness_and_the_cosignature_back(journal: Path) -> None:
    journal.with_name("w1.keys").write_text(f"{witness_key(journal)}\n")
    key = invoke(shoectl, "checkpoint", journal, "--key").stdout
    journal.with_name("casino.keys").write_text(key)
    program = shlex.quote(str(Path(sys.executable).with_name("shoectl")))
    line = (
        f"{program} checkpoint journal.db --witness w1.keys"
        f" | {program} witness --signing-key w1.key --name {NAME} --journal casino.keys -"
        f" | {program} cosignatures journal.db - --witness w1.keys"
    )

    for _ in range(2):
        done = subprocess.run(
            ["bash", "--norc", "-o", "pipefail", "-c", line], cwd=journal.parent,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout == "journal.db-cosignatures: 1 added, 0 there before\n"
        go_on(journal, 100 * len(records(journal)), 2)
        go_on(journal, 100 * len(records(journal)), 1)


def test_a_witness_that_cosigned_nothing_yet_needs_no_proof(journal: Path) -> None:
    found = told(journal, "--witness", witness_key(journal))

    assert (found["old_size"], found["proof"]) == (0, [])


@pytest.mark.usefixtures("known_salts")
def test_a_journal_written_anew_by_the_holder_of_its_key_raises_the_alarm(journal: Path) -> None:
    assert cosign(journal, "--old", 0).exit_code == 0
    _, size = checkpoints(journal)[-1]
    for end in ("", "-head"):
        journal.with_name(f"{journal.name}{end}").unlink()
    for number, many in enumerate((*GROUPS[:-1], GROUPS[-1] + 1)):
        go_on(journal, 10 * number + number // 4, many)

    found = cosign(journal, "--witness", witness_key(journal))

    assert found.exit_code == 1
    assert f"does not continue {size}, the last one cosigned" in found.stderr


def test_it_is_printed_while_a_writer_goes_on(journal: Path) -> None:
    with opened(journal) as store:
        for number in range(5):
            store.commit([stored_round(500 + number)])
            store.checkpoint(open_signer(journal, None), T_US + 500 + number)
            assert told(journal)["note"].split("\n")[3] == f"checkpoint {len(GROUPS) + 1 + number}"


def refusal(path: Path, *words: object) -> str:
    found = invoke(shoectl, "checkpoint", path, *words)
    assert isinstance(found.exception, InputRefused | JournalError | UsageError)
    assert "\n" not in str(found.exception)
    return str(found.exception)


def test_what_has_no_checkpoint_to_print_is_refused_in_a_line(tmp_path: Path) -> None:
    path = tmp_path / "new.db"
    with opened(path) as store:
        store.commit([stored_round(1)])

    assert refusal(path) == f"{path}: no checkpoint yet: a running daemon signs one soon"
    assert refusal(tmp_path / "none.db").endswith("none.db does not exist")


def test_a_size_that_the_journal_cannot_prove_is_refused_in_a_line(journal: Path) -> None:
    sizes = [size for _, size in checkpoints(journal)]
    assert refusal(journal, "--old", 29) == (
        f"{journal}: its newest checkpoint has a tree of 28 groups, less than 29: it was cut, or "
        "it is another journal"
    )
    take_out(journal, checkpoints(journal)[4][0])
    assert sizes[:3] == [3, 5, 10]
    assert "no checkpoint has a tree of 4 groups" in refusal(journal, "--old", 4)


def test_one_way_to_choose_the_older_checkpoint_is_taken_and_one_witness(journal: Path) -> None:
    keys = journal.with_name("witness.keys")
    keys.write_text(f"{witness_key(journal)}\n" * 2)

    assert refusal(journal, "--old", 1, "--key") == "give one of --old, --witness and --key"
    assert refusal(journal, "--witness", keys).endswith("2 keys: one witness at a time")


def test_groups_that_are_not_those_that_were_signed_get_no_event(journal: Path) -> None:
    n = held(journal)[-3][0]
    spoil(journal, f"UPDATE record_group SET hash = zeroblob(32) WHERE n = {n}")

    assert "are not those that checkpoint 6 signed" in refusal(journal)
