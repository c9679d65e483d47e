"""Signed checkpoints: whoever has the file but not the key cannot change what they cover."""

from __future__ import annotations

import json
import re
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)

from shoe_ctl.cli.verify import verify as command
from shoe_ctl.errors import JournalError, UsageError
from shoe_ctl.journal import signing
from shoe_ctl.journal.chain import (
    GENESIS,
    BadRecord,
    Fault,
    SignedHead,
    chain_hash,
    read_checkpoint,
)
from shoe_ctl.journal.files import head_path
from shoe_ctl.journal.merkle_tree import Frontier
from shoe_ctl.journal.signing import Signer, key_path, open_signer, parse_public_key
from shoe_ctl.journal.verify import Verification
from shoe_ctl.records import Record
from shoe_testing.cli import invoke
from shoe_testing.journals import (
    T_US,
    held,
    opened,
    plain_group,
    records,
    rewrite_records,
    spoil,
    stored_round,
    verified,
)

SIGNED_AT = (21, 42, 63)
"""The checkpoints of the journal below: behind every 5 groups of 4 records."""

LAST = 67


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A journal of two tables in turn: three checkpoints, and one group that is not signed."""
    path = tmp_path / "journal.db"
    with opened(path) as store:
        key = open_signer(path, None)
        for number in range(16):
            store.commit([stored_round(number, "ab"[number % 2])])
            if number % 5 == 4:
                store.checkpoint(key, T_US + number)
    return path


def the_key(path: Path) -> bytes:
    return open_signer(path, None).public_key


def checked(path: Path) -> Verification:
    """As an auditor does who has been given the public key."""
    return verified(path, frozenset({the_key(path)}))


def rewrite(path: Path, changed: dict[int, bytes], *, without: Sequence[int] = ()) -> None:
    """Changes bodies, leaves records out, and makes every number, hash and head anew."""

    def edit(record: Record) -> bytes | None:
        return None if record.n in without else changed.get(record.n, record.body)

    rewrite_records(path, edit)
    spoil(path, *_noted(records(path)))
    head_path(path).unlink(missing_ok=True)


def _noted(found: Sequence[Record]) -> Iterator[tuple[str, Sequence[Any]]]:
    """What stands beside the records, as they lead to it."""
    last = {record.table: json.loads(record.body) for record in found if record.kind == "input"}
    for table, said in last.items():
        if "t_us" in said:
            yield 'UPDATE head SET t_us = ? WHERE "table" = ?', (said["t_us"], table)
            yield 'UPDATE device SET seq = ? WHERE "table" = ?', (said["seq"], table)


def test_what_is_signed_and_what_is_not_is_told(path: Path) -> None:
    found = checked(path)
    assert (found.ok, found.records, found.tables) == (True, LAST, 2)
    assert (found.signed.checkpoints, found.signed.upto) == (3, 62)
    assert found.signed.t_us == T_US + 14
    assert found.signed.keys == (the_key(path).hex(),)
    assert [r.n for r in records(path) if r.kind == "checkpoint"] == list(SIGNED_AT)


def test_a_checkpoint_is_made_only_when_something_was_added(path: Path) -> None:
    with opened(path) as store:
        key = open_signer(path, store.signed_with)
        assert store.checkpoint(key, T_US + 20) == LAST + 1
        assert store.checkpoint(key, T_US + 21) is None
    with opened(path) as store:
        assert store.checkpoint(key, T_US + 22) is None
        store.commit([stored_round(17, "a")])
        assert store.checkpoint(key, T_US + 23) == LAST + 6
    assert checked(path).signed.checkpoints == 5


# What whoever has the file, but not the key, may try.


def test_a_record_rewritten_with_every_hash_behind_it_is_found_and_placed(path: Path) -> None:
    rewrite(path, {30: b'{"number":99}'})
    assert checked(path).first_bad == BadRecord(
        table_of(path, 30), last_of(path, 30, 42), Fault.REWRITTEN, rewritten(path, 30, 2)
    )


def table_of(path: Path, n: int) -> str:
    return records(path)[n - 1].table


def last_of(path: Path, n: int, before: int) -> int:
    """The last record of the same table before this one."""
    table = table_of(path, n)
    return max(r.n for r in records(path) if r.table == table and r.n < before)


def rewritten(path: Path, n: int, number: int) -> str:
    first = last_of(path, n, SIGNED_AT[number - 2]) + 1
    last = last_of(path, n, SIGNED_AT[number - 1])
    return f"records {first} to {last} are not those that checkpoint {number} signed"


def test_every_record_under_a_checkpoint_is_covered_whatever_its_kind(path: Path) -> None:
    whole = path.read_bytes()
    for n in range(1, SIGNED_AT[-1] + 1):
        path.write_bytes(whole)
        rewrite(path, {n: b"{}"})
        found = checked(path)
        assert not found.ok, n
        assert found.first_bad is not None and found.first_bad.n <= SIGNED_AT[-1]


def test_a_tail_rewritten_behind_the_last_checkpoint_is_told_not_to_be_signed(path: Path) -> None:
    rewrite(path, {65: b'{"number":99}'})
    found = checked(path)
    assert found.ok
    assert found.last_n - found.signed.upto - 1 == 4
    shown = invoke(command, str(path)).output
    assert "not signed  4 records after that" in shown


@pytest.mark.parametrize("cut", [66, 64, 63, 62, 43, 42, 41, 22, 21, 1])
def test_a_journal_cut_short_never_says_more_than_is_left(path: Path, cut: int) -> None:
    gone = range(cut, LAST + 1)
    rewrite(path, {}, without=gone)
    found = checked(path)
    left = [n for n in SIGNED_AT if n < cut]
    assert found.ok == bool(left)
    assert found.signed.checkpoints == len(left)
    assert found.signed.upto == (left[-1] - 1 if left else 0)


def test_records_cut_off_behind_a_checkpoint_but_left_in_the_heads_are_found(path: Path) -> None:
    spoil(path, "DELETE FROM record_group WHERE n > 42")
    bad = checked(path).first_bad
    assert bad is not None and bad.text == "missing: the journal breaks off at record 42"


@pytest.mark.parametrize("gone", SIGNED_AT[:-1])
def test_a_checkpoint_taken_out_is_found_by_the_next(path: Path, gone: int) -> None:
    rewrite(path, {}, without=[gone])
    bad = checked(path).first_bad
    number = SIGNED_AT.index(gone) + 1
    assert bad is not None
    assert bad.text.startswith(f"missing: checkpoint {number} before")


def test_all_checkpoints_taken_out_is_found_by_who_has_the_key(path: Path) -> None:
    key = the_key(path)
    rewrite(path, {}, without=SIGNED_AT)
    assert verified(path).ok
    assert verified(path).signed.checkpoints == 0
    bad = verified(path, frozenset({key})).first_bad
    assert bad is not None and bad.text == "missing: no checkpoint signs any of it"


def other_key(path: Path) -> Signer:
    return open_signer(path.with_name("other.db"), None)


def signed_anew(path: Path, key: Signer) -> None:
    """Every checkpoint signed by another key, over what stands there now."""
    for at in SIGNED_AT:
        ends = {r.table: r for r in records(path)[: at - 1]}
        said = read_checkpoint(records(path)[at - 1].body)
        tree = Frontier()
        tree.append_all([row[3] for row in held(path) if row[0] < at])
        again = msgspec.structs.replace(
            said,
            root=tree.root(),
            heads={t: SignedHead(r.n, r.hash.hex()) for t, r in ends.items()},
            frontier=tuple(map(bytes.hex, tree.hashes)),
            public_key=key.public_key.hex(),
        )
        rewrite(path, {at: again.to_bytes(key)})


def test_a_journal_signed_anew_with_another_key_is_found_by_who_has_the_key(path: Path) -> None:
    key, other = the_key(path), other_key(path)
    rewrite(path, {30: b'{"number":99}'})
    signed_anew(path, other)
    found = verified(path)
    assert found.ok
    assert found.signed.keys == (other.public_key.hex(),)  # and whoever looks sees it
    bad = verified(path, frozenset({key})).first_bad
    assert bad == BadRecord("", 21, Fault.WRONG_KEY, other.public_key.hex())


def test_another_journal_in_its_place_is_found_by_who_has_the_key(path: Path) -> None:
    key, replaced = the_key(path), path.with_name("other.db")
    with opened(replaced) as store:
        store.commit([stored_round(1)])
        store.checkpoint(other_key(path), T_US)
    replaced.rename(path)
    head_path(replaced).rename(head_path(path))
    assert verified(path).ok
    assert not verified(path, frozenset({key})).ok


@pytest.mark.parametrize("at", [0, 60, 100, 300, -1])
def test_a_checkpoint_altered_in_any_part_is_found(path: Path, at: int) -> None:
    body = bytearray(records(path)[41].body)
    body[at] ^= 1
    rewrite(path, {42: bytes(body)})
    bad = checked(path).first_bad
    assert bad is not None
    assert (bad.table, bad.n, bad.text.partition(":")[0]) == ("", 42, "altered")


def test_a_checkpoint_put_in_a_second_time_is_found(path: Path) -> None:
    rewrite(path, {42: records(path)[20].body})
    bad = checked(path).first_bad
    assert bad is not None and bad.text == "missing: checkpoint 2 before checkpoint 42"


def test_a_table_put_in_before_a_checkpoint_is_found(path: Path) -> None:
    rewrite(path, {})
    added = plain_group(("I", b"{}"))
    fake = chain_hash(GENESIS, 62, "c", added)
    spoil(
        path,
        ("UPDATE record_group SET n = 61 WHERE n = 62"),
        ("INSERT INTO record_group VALUES (62, 'c', ?, ?)", (added, fake)),
    )
    assert not checked(path).ok


# The key.


def test_the_key_is_made_once_for_its_owner_only_and_is_not_in_the_journal(path: Path) -> None:
    file = key_path(path)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    before = file.read_bytes()
    assert open_signer(path, the_key(path)).public_key == the_key(path)
    assert file.read_bytes() == before
    noted, _, pem = before.partition(b"\n")
    assert noted.decode() == f"public key: {the_key(path).hex()}"
    key = load_pem_private_key(pem, password=None)
    assert isinstance(key, Ed25519PrivateKey)
    secret = key.private_bytes_raw()
    assert secret not in path.read_bytes()
    assert the_key(path).hex().encode() in records(path)[SIGNED_AT[0] - 1].body


def test_a_key_that_is_missing_is_told_and_none_is_made_in_its_place(path: Path) -> None:
    key = the_key(path)
    key_path(path).unlink()
    with pytest.raises(JournalError, match=f"signed with {key.hex()}, and its key .* is missing"):
        open_signer(path, key)
    assert not key_path(path).exists()


def test_a_key_that_is_another_one_is_told(path: Path) -> None:
    key, other = the_key(path), other_key(path)
    key_path(path.with_name("other.db")).rename(key_path(path))
    for asked in (signing.check_key, open_signer):
        with pytest.raises(JournalError, match=f"another key, {other.public_key.hex()}"):
            asked(path, key)


def test_a_key_file_that_says_it_is_another_key_is_not_believed(path: Path) -> None:
    key, other = the_key(path), key_path(path.with_name("other.db"))
    other_key(path)
    pem = other.read_bytes().partition(b"\n")[2]
    key_path(path).write_bytes(f"public key: {key.hex()}\n".encode() + pem)
    with pytest.raises(JournalError, match="another key"):
        open_signer(path, key)


def test_a_key_file_that_is_only_pem_is_taken(path: Path) -> None:
    key, file = the_key(path), key_path(path)
    file.write_bytes(file.read_bytes().partition(b"\n")[2])
    signing.check_key(path, key)
    assert open_signer(path, key).public_key == key


def test_a_key_in_the_words_of_another_program_is_read_alike(path: Path) -> None:
    key, file = the_key(path), key_path(path)
    private = load_pem_private_key(file.read_bytes().partition(b"\n")[2], password=None)
    assert isinstance(private, Ed25519PrivateKey)
    pem = private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    assert pem == file.read_bytes().partition(b"\n")[2]  # byte for byte as cryptography writes it
    file.write_bytes(pem.replace(b"\n", b"\r\n"))
    assert open_signer(path, key).public_key == key


@pytest.mark.parametrize(
    ("content", "mode", "told"),
    [
        (b"", 0o600, "is not an Ed25519 private key"),
        (b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", 0o600, "is not an"),
        (None, 0o640, "may be used by others"),
    ],
)
def test_a_key_that_cannot_be_used_is_told_in_one_line(
    path: Path, content: bytes | None, mode: int, told: str
) -> None:
    key, file = the_key(path), key_path(path)
    if content is not None:
        file.write_bytes(content)
    file.chmod(mode)
    with pytest.raises(JournalError, match=told) as error:
        open_signer(path, key)
    assert "\n" not in str(error.value)


def test_a_key_that_cannot_be_made_leaves_nothing_half_made(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match="cannot be made"):
        open_signer(tmp_path / "none" / "journal.db", None)
    key_path(tmp_path / "journal.db").with_name("journal.db-key-new").write_bytes(b"cut off")
    assert len(open_signer(tmp_path / "journal.db", None).public_key) == 32
    assert sorted(p.name for p in tmp_path.iterdir()) == ["journal.db-key"]


# On the command line.


def test_verify_takes_the_public_key_as_it_shows_it(path: Path, tmp_path: Path) -> None:
    shown = invoke(command, str(path)).output
    (key,) = re.findall(r"^public key  ([0-9a-f]{64})$", shown, re.MULTILINE)
    assert "signed      records up to 62, by 3 checkpoints, last 2023-11-14T22:13:20" in shown
    assert invoke(command, str(path), "--public-key", key).exit_code == 0
    other = other_key(path).public_key.hex()
    refused = invoke(command, str(path), "--public-key", other)
    assert refused.exit_code == 1
    assert "record 21 of the journal's own" in refused.output
    both = ["--public-key", other, "--public-key", key]
    assert invoke(command, str(path), *both).exit_code == 0


def test_verify_takes_the_public_key_from_a_file(path: Path, tmp_path: Path) -> None:
    pem, digits = tmp_path / "key.pem", tmp_path / "key.txt"
    key = Ed25519PublicKey.from_public_bytes(the_key(path))
    pem.write_bytes(key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    digits.write_text(the_key(path).hex() + "\n")
    assert parse_public_key(str(pem)) == parse_public_key(str(digits)) == the_key(path)


@pytest.mark.parametrize("text", ["12ab", "no such file", "zz" * 32, ""])
def test_what_is_no_public_key_is_wrong_usage(text: str) -> None:
    with pytest.raises(UsageError, match="public key"):
        parse_public_key(text)


def test_a_file_without_a_public_key_is_wrong_usage(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("not a key")
    with pytest.raises(UsageError, match="no Ed25519 public key"):
        parse_public_key(str(tmp_path / "key"))


def test_a_signature_is_ed25519_as_everybody_else_has_it() -> None:
    # RFC 8032, section 7.1, test 2
    key = bytes.fromhex("3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c")
    signature = bytes.fromhex(
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
        "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
    )
    assert signing.is_valid_signature(b"\x72", signature, key)
    assert not signing.is_valid_signature(b"\x73", signature, key)
    assert not signing.is_valid_signature(b"\x72", signature, key[:-1])
