"""Signed notes: what others of the same form make is read here, and what is wrong is refused."""

from __future__ import annotations

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from shoe_ctl.journal.signed_note import (
    COSIGNATURE,
    CheckpointText,
    Note,
    NoteError,
    NoteSignature,
    Verified,
    VerifierKey,
    cosign,
    read_checkpoint_text,
    read_note,
    read_verifier_key,
    sign,
    verifier_key,
    verify_note,
)
from shoe_ctl.journal.signing import Signer

SECRET = bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
"""The first secret key of RFC 8032, section 7.1."""

SIGNER = Signer(Ed25519PrivateKey.from_private_bytes(SECRET))

# What `openssl pkeyutl -sign -rawin` and `openssl dgst -sha256` make of that key.
JOURNAL = "table.example/journal+f7db2e71+AddamAGCsQq31Uv+08lkBzoO4XLz2qYjJa8CGmj3B1Ea"
WITNESS = "witness.example/one+56dd39ef+BNdamAGCsQq31Uv+08lkBzoO4XLz2qYjJa8CGmj3B1Ea"
TEXT = """\
table.example/journal
7
47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=
extra line
"""
SIGNED = (
    "— table.example/journal 99sucQrYTyTs3a/conZqnGcUEizUnKEbpLEBuBy2vS0sG9hUnRiZmqRHWIkjRloVZOk6mR"
    "fICXo3ZJ+79b6s5bB8+gE=\n"
)
COSIGNED_AT_S = 1_700_000_000
COSIGNED = (
    "— witness.example/one Vt057wAAAABlU/EA7kKLyAuXSSCHIw6z/B3xQaAjhVFuH45CHctUAdglTO9P/cTkDZzl0qO"
    "AOWI6c+ogOEIxAu3Q/1UQ2HFVF3QFCw==\n"
)

# The example of Go's package golang.org/x/mod/sumdb/note.
OF_GO = (
    "If you think cryptography is the answer to your problem,\n"
    "then you don't know what your problem is.\n\n"
    "— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZ"
    "b6KE6RyyBwJnAM=\n"
)
KEY_OF_GO = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"


def test_a_note_that_go_signed_is_verified() -> None:
    note = read_note(OF_GO.encode())

    assert note.to_bytes() == OF_GO.encode()
    assert [each.key.name for each in verify_note(note, [read_verifier_key(KEY_OF_GO)])] == [
        "PeterNeumann"
    ]


def test_a_checkpoint_is_signed_and_cosigned_as_openssl_does_it() -> None:
    note = Note(TEXT).add(
        sign(TEXT, "table.example/journal", SIGNER),
        cosign(TEXT, "witness.example/one", SIGNER, COSIGNED_AT_S),
    )

    assert note.to_bytes() == f"{TEXT}\n{SIGNED}{COSIGNED}".encode()


def test_a_verifier_key_is_written_as_it_is_read() -> None:
    for text in (JOURNAL, WITNESS, KEY_OF_GO):
        assert str(read_verifier_key(text)) == text

    assert str(verifier_key("table.example/journal", SIGNER.public_key)) == JOURNAL
    assert str(verifier_key("witness.example/one", SIGNER.public_key, COSIGNATURE)) == WITNESS


def test_a_cosignature_is_verified_with_its_time_and_other_signatures_are_passed_over() -> None:
    note = read_note(f"{TEXT}\n{SIGNED}{COSIGNED}".encode())
    witness, journal = read_verifier_key(WITNESS), read_verifier_key(JOURNAL)

    assert verify_note(note, [witness]) == (Verified(witness, COSIGNED_AT_S),)
    assert verify_note(note, [witness, journal]) == (
        Verified(journal),
        Verified(witness, COSIGNED_AT_S),
    )


def test_a_plain_signature_is_no_cosignature_of_the_same_key() -> None:
    witness = read_verifier_key(WITNESS)
    plain = NoteSignature(witness.name, witness.key_id, SIGNER.sign(TEXT.encode()))

    with pytest.raises(NoteError, match="one is not that of its key"):
        verify_note(Note(TEXT, (plain,)), [witness])


@pytest.mark.parametrize("at", [0, 3, 5, 12, 40])
def test_a_signature_with_an_altered_byte_is_refused(at: int) -> None:
    witness = read_verifier_key(WITNESS)
    (good,) = read_note(f"{TEXT}\n{COSIGNED}".encode()).signatures
    body = bytearray(good.signature)
    body[at] ^= 1

    with pytest.raises(NoteError, match="is not that of its key"):
        verify_note(Note(TEXT, (NoteSignature(good.name, good.key_id, bytes(body)),)), [witness])


def test_a_note_with_an_altered_text_is_refused() -> None:
    altered = read_note(f"{TEXT}\n{SIGNED}".replace("\n7\n", "\n8\n").encode())

    with pytest.raises(NoteError, match="journal is not that of its key"):
        verify_note(altered, [read_verifier_key(JOURNAL)])


def test_a_note_of_unknown_keys_only_is_refused_and_they_are_named() -> None:
    note = read_note(f"{TEXT}\n{SIGNED}".encode())

    with pytest.raises(
        NoteError, match=r"signed by no known key, only by 'table\.example/journal'"
    ):
        verify_note(note, [read_verifier_key(WITNESS)])


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (b"", "no empty line with signatures behind it"),
        (TEXT.encode(), "no empty line with signatures behind it"),
        (f"{TEXT}\n".encode(), "no empty line with signatures behind it"),
        (f"{TEXT}\n{SIGNED}".encode()[:-1], "its last line is torn"),
        (f"{TEXT}\n{SIGNED}".encode()[:-20], "its last line is torn"),
        (f"{TEXT}\n{SIGNED}\r\n".encode(), "it holds a control character"),
        (b"a\n\n\xff\n", "byte 4 is not UTF-8"),
        (f"{TEXT}\n- {SIGNED[2:]}".encode(), "no signature: '- table.example"),
        (f"{TEXT}\n— a+b AAAAAAA=\n".encode(), "no signature: '— a\\+b"),
        (f"{TEXT}\n— a\u00a0b AAAAAAA=\n".encode(), "no signature"),
        (f"{TEXT}\n—  AAAAAAA=\n".encode(), "no signature"),
        (f"{TEXT}\n— a AAAAAA==\n".encode(), "of a is not base64 of a key id and a signature"),
        (f"{TEXT}\n— a AAAAAAB=\n".encode(), "of a is not base64"),
        (f"{TEXT}\n— a AAAA AAA=\n".encode(), "of a is not base64"),
        (f"{TEXT}\n{SIGNED * 65}".encode(), "more than 64 signatures"),
        (b"a" * (1 << 16) + b"\n\n", "larger than 65,536 bytes"),
    ],
)
def test_what_is_no_note_is_refused_in_one_line(data: bytes, line: str) -> None:
    with pytest.raises(NoteError, match=line) as refused:
        read_note(data)

    assert "\n" not in str(refused.value)


def test_sixteen_signatures_are_accepted() -> None:
    assert len(read_note(f"{TEXT}\n{SIGNED * 16}".encode()).signatures) == 16


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("table.example/journal", "NAME\\+HASH\\+KEY was expected"),
        (JOURNAL.replace("f7db2e71", "f7db2e72"), "its hash is not that of its name and key"),
        (JOURNAL.replace("f7db2e71", "F7DB2E71"), "its hash is not that of its name and key"),
        (JOURNAL.replace("table", "other"), "its hash is not that of its name and key"),
        (JOURNAL.replace("Addam", "Atdam"), "no Ed25519 key"),
        (JOURNAL[:-4], "no Ed25519 key"),
        (f"{JOURNAL}=", "no Ed25519 key"),
        (f"a b{JOURNAL}", "NAME\\+HASH\\+KEY was expected"),
    ],
)
def test_a_verifier_key_that_was_copied_wrongly_is_refused(text: str, line: str) -> None:
    with pytest.raises(NoteError, match=line):
        read_verifier_key(text)


def test_the_text_of_a_checkpoint_is_read_and_written_alike() -> None:
    said = read_checkpoint_text(TEXT)

    # The root is SHA-256 of nothing, as `openssl dgst -sha256 /dev/null` prints it.
    root = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert said == CheckpointText("table.example/journal", 7, bytes.fromhex(root), ("extra line",))
    assert said.to_text() == TEXT


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", "at least three lines"),
        ("a\n7\n", "at least three lines"),
        (TEXT.removesuffix("\n"), "at least three lines"),
        (TEXT + "\n", "none of them empty"),
        (TEXT.replace("\n7\n", "\n07\n"), "no tree size: '07'"),
        (TEXT.replace("\n7\n", "\n+7\n"), "no tree size"),
        (TEXT.replace("\n7\n", "\n\u0667\n"), "no tree size"),
        (TEXT.replace("\n7\n", "\n9223372036854775808\n"), "its tree size is too large"),
        (TEXT.replace("\n7\n", f"\n{'9' * 5000}\n"), "its tree size is too large"),
        (TEXT.replace("uFU=", "uFV="), "no hash of 32 bytes"),
        (TEXT.replace("uFU=", ""), "no hash of 32 bytes"),
        ("a" * 256 + TEXT, "longer than 255 bytes"),
    ],
)
def test_a_text_that_is_no_checkpoint_is_refused(text: str, line: str) -> None:
    with pytest.raises(NoteError, match=line):
        read_checkpoint_text(text)


@pytest.mark.parametrize(
    "said",
    [
        CheckpointText("", 1, bytes(32)),
        CheckpointText("two\nlines", 1, bytes(32)),
        CheckpointText("a", 1, bytes(31)),
        CheckpointText("a", -1, bytes(32)),
        CheckpointText("a", 1, bytes(32), ("",)),
    ],
)
def test_a_checkpoint_that_could_not_be_read_back_is_not_written(said: CheckpointText) -> None:
    with pytest.raises(NoteError, match="checkpoint"):
        said.to_text()


@pytest.mark.parametrize("name", ["", "a b", "a+b", "a\u2003b", "x" * 256])
def test_a_name_that_no_signature_line_can_hold_is_refused(name: str) -> None:
    with pytest.raises(NoteError, match="key name"):
        sign(TEXT, name, SIGNER)


def test_a_signature_is_added_once() -> None:
    signed = sign(TEXT, "a", SIGNER)

    assert Note(TEXT).add(signed).add(signed).signatures == (signed,)


@given(st.binary(max_size=300) | st.text(max_size=99).map(lambda end: f"{TEXT}\n{end}\n".encode()))
def test_any_bytes_are_a_note_or_one_line(data: bytes) -> None:
    try:
        found = read_note(data).to_bytes()
    except NoteError as error:
        found = data + b"\n" * str(error).count("\n")

    assert found == data


@given(
    st.text(st.characters(min_codepoint=32, exclude_categories=["Cs"]), min_size=1, max_size=60),
    st.integers(0, (1 << 63) - 1),
    st.binary(min_size=32, max_size=32),
)
def test_any_checkpoint_is_read_as_it_was_written(origin: str, size: int, root: bytes) -> None:
    said = CheckpointText(origin, size, root)

    signed = read_note(Note(said.to_text(), (sign(said.to_text(), "a", SIGNER),)).to_bytes())

    assert read_checkpoint_text(signed.text) == said
    assert verify_note(signed, [VerifierKey("a", 1, SIGNER.public_key)])
