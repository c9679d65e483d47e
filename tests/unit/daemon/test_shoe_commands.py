"""What a session is told for a command, and what a command becomes before it is an input."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from firmware_proto.commands import ClearError, Query, Reset, RotateKey, SetTime, Show, TestSelf
from firmware_proto.events import Authenticated, Hello
from shoe_ctl.daemon.shoe_commands import ShoeCommandSender
from shoe_ctl.errors import InputRefused
from shoe_ctl.link.keyring import KeyRing, read_keys
from shoe_ctl.table.effects import ShoeCommand
from shoe_ctl.table.inputs import TableCommand

KEY, OTHER, MADE = "ab" * 32, "cd" * 32, "11" * 32
DEVICE = "SH-1"


@pytest.fixture
def executor() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as pool:
        yield pool


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "shoes.keys"
    path.write_text(f"{DEVICE} 1 {KEY}\n")
    path.chmod(0o600)
    return path


@pytest.fixture
def sender(path: Path, executor: ThreadPoolExecutor) -> ShoeCommandSender:
    return ShoeCommandSender(KeyRing(path, lambda: bytes.fromhex(MADE)), executor)


def rotate(**args: Any) -> TableCommand:
    return TableCommand(
        t_us=0, command_id="c1", command="rotate_key", args=args, person="kim", position="dealer"
    )


def proof(key_id: int) -> Authenticated:
    return Authenticated(
        device_id=DEVICE, boot_id=7, key_id=key_id, host_nonce="00", shoe_nonce="01"
    )


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (ShoeCommand(number=5, command="reset"), Reset(5)),
        (ShoeCommand(number=5, command="self_test"), TestSelf(5)),
        (ShoeCommand(number=5, command="query", of="battery"), Query(5, "battery")),
        (ShoeCommand(number=5, command="show", of="NEW SHOE"), Show(5, "NEW SHOE")),
        (ShoeCommand(number=5, command="clear_error"), ClearError(5)),
        (ShoeCommand(number=5, command="clear_error", of="keep"), ClearError(5, "keep")),
        (ShoeCommand(number=5, command="set_time"), SetTime(5, 1_790_000_000_000_000)),
    ],
)
async def test_each_command_is_told_as_the_wire_has_it(command: ShoeCommand, said: object) -> None:
    assert (
        await ShoeCommandSender().to_session_command(command, DEVICE, 1_790_000_000_000_000) == said
    )


async def test_what_no_session_is_told_is_an_error() -> None:
    with pytest.raises(ValueError, match="no shoe is told to sing"):
        await ShoeCommandSender().to_session_command(
            ShoeCommand(number=1, command="to sing"), DEVICE, 0
        )


async def test_a_new_key_gets_its_number_first_and_is_made_when_it_is_told(
    sender: ShoeCommandSender, path: Path
) -> None:
    await sender.note_proofs([proof(1)])
    whole = await sender.with_key_number(rotate(), DEVICE)
    assert whole == rotate(key_id=2)
    assert set(read_keys(path)[DEVICE]) == {1}  # the table may still refuse it
    told = ShoeCommand(number=9, command="rotate_key", of=2)
    assert await sender.to_session_command(told, DEVICE, 0) == RotateKey(9, 2, bytes.fromhex(MADE))
    assert read_keys(path)[DEVICE] == {1: bytes.fromhex(KEY), 2: bytes.fromhex(MADE)}


async def test_told_again_it_is_the_same_key_after_a_crash_too(
    sender: ShoeCommandSender, path: Path, executor: ThreadPoolExecutor
) -> None:
    told = ShoeCommand(number=9, command="rotate_key", of=2)
    first = await sender.to_session_command(told, DEVICE, 0)
    after = ShoeCommandSender(KeyRing(path, lambda: bytes.fromhex(OTHER)), executor)
    assert await after.to_session_command(told, DEVICE, 0) == first


async def test_a_key_that_the_shoe_has_not_proved_yet_is_the_new_one(
    sender: ShoeCommandSender, path: Path
) -> None:
    await sender.note_proofs([proof(1)])
    path.write_text(f"{DEVICE} 1 {KEY}\n{DEVICE} 5 {OTHER}\n")  # put there by hand
    assert await sender.with_key_number(rotate(), DEVICE) == rotate(key_id=5)
    assert await sender.with_key_number(rotate(key_id=5), DEVICE) == rotate(key_id=5)


async def test_older_keys_are_kept_until_the_shoe_proves_the_new_one(
    sender: ShoeCommandSender, path: Path
) -> None:
    told = ShoeCommand(number=9, command="rotate_key", of=2)
    await sender.to_session_command(told, DEVICE, 0)
    await sender.note_proofs([proof(1)])
    assert set(read_keys(path)[DEVICE]) == {1, 2}
    await sender.note_proofs([proof(2), Hello(device_id=DEVICE, firmware="1", boot_id=7,
                                        deck="french52", decks=8, resumed=True)])  # fmt: skip
    assert set(read_keys(path)[DEVICE]) == {2}
    assert f"# retired {DEVICE} 1 {KEY}" in path.read_text()
    with pytest.raises(InputRefused, match="has no key 1"):
        await sender.with_key_number(rotate(key_id=1), DEVICE)
    assert await sender.with_key_number(rotate(), DEVICE) == rotate(key_id=3)


@pytest.mark.parametrize(
    "args", [{"key": KEY}, {"key_id": 2, "key": KEY}, {"key_id": KEY}, {"key_id": 1.5}]
)
async def test_a_key_itself_never_becomes_an_input(
    sender: ShoeCommandSender, args: dict[str, Any]
) -> None:
    with pytest.raises(InputRefused, match="keys stay in the key file") as refused:
        await sender.with_key_number(rotate(**args), DEVICE)
    assert KEY[:8] not in str(refused.value)
    with pytest.raises(InputRefused):
        await ShoeCommandSender().with_key_number(rotate(**args), None)


@pytest.mark.parametrize(("key_id", "why"), [(9, "has no key 9"), (1, "has key 1 already")])
async def test_a_number_that_is_no_new_key_is_refused(
    sender: ShoeCommandSender, key_id: int, why: str
) -> None:
    await sender.note_proofs([proof(1)])
    with pytest.raises(InputRefused, match=why):
        await sender.with_key_number(rotate(key_id=key_id), DEVICE)


async def test_a_file_that_became_wrong_is_refused_and_keys_stay(
    sender: ShoeCommandSender, path: Path
) -> None:
    path.write_text("nonsense\n")
    with pytest.raises(InputRefused, match="line 1"):
        await sender.with_key_number(rotate(), DEVICE)
    with pytest.raises(ValueError, match="line 1"):
        await sender.to_session_command(
            ShoeCommand(number=9, command="rotate_key", of=2), DEVICE, 0
        )


async def test_a_key_that_could_not_be_stored_is_refused_before_anything_is_told(
    sender: ShoeCommandSender, monkeypatch: pytest.MonkeyPatch
) -> None:
    await sender.note_proofs([proof(1)])
    monkeypatch.setattr("os.access", lambda *_: False)
    with pytest.raises(InputRefused, match="cannot write to its folder: check its mode"):
        await sender.with_key_number(rotate(), DEVICE)


async def test_a_file_that_cannot_be_changed_is_warned_of_and_the_old_key_counts_no_more(
    path: Path,
    executor: ThreadPoolExecutor,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    path.write_text(f"{DEVICE} 1 {KEY}\n{DEVICE} 2 {OTHER}\n")
    keys = KeyRing(path, lambda: b"")

    def read_only(*_: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(Path, "replace", read_only)
    await ShoeCommandSender(keys, executor).note_proofs([proof(2)])
    assert "Read-only file system" in caplog.text
    assert set(keys.keys[DEVICE]) == {2} and set(read_keys(path)[DEVICE]) == {1, 2}


async def test_other_commands_are_as_they_were_asked() -> None:
    asked = TableCommand(
        t_us=0, command_id="c1", command="expose", args={"hand": "player"}, person="kim",
        position="dealer",
    )  # fmt: skip
    assert await ShoeCommandSender().with_key_number(asked, None) is asked
    assert await ShoeCommandSender().with_key_number(rotate(), None) == rotate()
