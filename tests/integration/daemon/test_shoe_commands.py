"""What the shoe is told, over a pty: done once, answered, journaled; keys made, proved, retired."""

from __future__ import annotations

import asyncio
import json
import os
import random
import secrets
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from firmware_proto.commands import HostMessage, RotateKey, SetTime, ShoeCommand
from firmware_proto.reference.codec import read
from firmware_proto.reference.framing import Splitter
from firmware_proto.reference.mac import ShoeKeys
from shoe_ctl.daemon.daemon import Daemon
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.record_format import Direction, Kind, Wire
from shoe_ctl.link.keyring import read_keys
from shoe_ctl.records import Audience
from shoe_ctl.texts.catalogue import text as english
from shoe_testing.config import SOCKET, TABLE, write_config
from shoe_testing.daemon import (
    PATIENCE_S,
    ShoeAtTable,
    ToldEvents,
    command,
    nothing_is_wrong_with,
    runner,
    serving,
)
from shoe_testing.journals import all_bytes_of
from shoe_testing.programs import daemon_process
from shoe_testing.socket_client import Caller, calling
from shoe_testing.transports import until
from simulators.shoe.reference import ReferenceDevice

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("commands")]

KEY = "ab" * 32
DEVICE = "SIM-0001"


class Done:
    """The commands that a reference shoe did, each time it did one anew."""

    def __init__(self, device: ReferenceDevice) -> None:
        self.commands: list[ShoeCommand] = []
        self._answered = device.hardware._answered
        self._do = device.hardware.do
        device.hardware.do = self.do  # type: ignore[method-assign]

    def do(self, command: ShoeCommand, t: float) -> Any:
        if command.command_id not in self._answered:
            self.commands.append(command)
        return self._do(command, t)

    def of(self, kind: type[ShoeCommand]) -> list[ShoeCommand]:
        return [said for said in self.commands if isinstance(said, kind)]


@contextmanager
def resting(folder: Path, keys: ShoeKeys | None = None) -> Iterator[tuple[ShoeAtTable, Done]]:
    """A shoe that nobody draws from."""
    with ShoeAtTable(folder, "reference", seed=3, keys=keys) as shoe:
        shoe.rig.dealer = None
        assert isinstance(shoe.rig.device, ReferenceDevice)
        yield shoe, Done(shoe.rig.device)


async def met(daemon: Daemon) -> None:
    """Waits until the shoe has said who it is."""
    await until(lambda: runner(daemon).controller.state.link.identified)


def said_to_the_shoe(folder: Path) -> list[HostMessage]:
    """What the journal holds of the bytes that went to a shoe without a key."""
    splitters: dict[int, Splitter] = {}
    said: list[HostMessage] = []
    with Reader.open(folder / "journal.db") as reader:
        for record in reader.records(kinds=(Kind.WIRE,)):
            wire = Wire.from_bytes(record.body)
            if wire.direction is Direction.TO_SHOE:
                splitter = splitters.setdefault(wire.connection, Splitter())
                said += [read(stuffed)[1] for stuffed, *_ in splitter.feed(wire.data)]
    return said


async def test_errands_are_done_once_answered_journaled_and_replayed(tmp_path: Path) -> None:
    told = ToldEvents()
    with resting(tmp_path) as (_, done):
        config = write_config(tmp_path, str(tmp_path / "shoe"))
        async with serving(config, told, sees=Audience.RESTRICTED) as daemon:
            await met(daemon)
            for number, (name, args) in enumerate(
                [("test_shoe", {}), ("reset_shoe", {}), ("ask_shoe", {"what": "battery"})], start=1
            ):
                answered = await command(daemon, f"c{number}", name, **args)
                assert answered.answer.accepted, answered
                await told.times(number, "shoe.answered")
            refused = await command(daemon, "c9", "rotate_key", key_id=2)
            assert refused.answer.error is not None
            assert "the link to it has none" in english(refused.answer.error)
    assert [type(c).__name__ for c in done.commands if not isinstance(c, SetTime)] == [
        "TestSelf", "Reset", "Query"
    ]  # fmt: skip
    assert len(done.of(SetTime)) == 1
    kept = [said for said in said_to_the_shoe(tmp_path) if isinstance(said, ShoeCommand)]
    assert {said.command_id for said in kept} == {said.command_id for said in done.commands}
    assert told.data("shoe.unanswered") == []
    nothing_is_wrong_with(tmp_path / "journal.db")


async def test_what_had_no_answer_is_told_again_by_the_next_daemon_and_done_once(
    tmp_path: Path,
) -> None:
    told = ToldEvents()
    with resting(tmp_path) as (shoe, done):
        config = write_config(tmp_path, str(tmp_path / "shoe"))
        async with serving(config, told, sees=Audience.RESTRICTED) as daemon:
            await met(daemon)
            done_first = done.do
            pulled = asyncio.Event()

            def do_and_pull(command: ShoeCommand, t: float) -> Any:
                if not isinstance(command, SetTime):
                    shoe.rig.device.host_closed()  # its answer gets lost on the line
                    pulled.set()
                return done_first(command, t)

            assert isinstance(shoe.rig.device, ReferenceDevice)
            shoe.rig.device.hardware.do = do_and_pull  # type: ignore[method-assign]
            assert (await command(daemon, "c1", "test_shoe")).answer.accepted
            async with asyncio.timeout(PATIENCE_S):
                await pulled.wait()
        assert told.data("shoe.answered") == []
        shoe.rig.device.hardware.do = done_first  # type: ignore[method-assign]
        async with serving(config, told, sees=Audience.RESTRICTED):
            await told.times(1, "shoe.answered")
    assert told.data("shoe.answered")[0]["passed"] is True
    assert len([c for c in done.commands if not isinstance(c, SetTime)]) == 1
    nothing_is_wrong_with(tmp_path / "journal.db")


# --- keys -----------------------------------------------------------------------------------------


class Keyed:
    """A shoe with key 1, a table with its key file, and what became of both."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = folder / "shoes.keys"
        self.file.write_text(f"# ours\n{DEVICE} 1 {KEY}\n")
        self.file.chmod(0o600)
        self.of_shoe = ShoeKeys({1: bytes.fromhex(KEY)}, lambda: secrets.token_bytes(16))
        self.config = write_config(folder, str(folder / "shoe"))
        text = self.config.read_text()
        self.config.write_text(
            text.replace("[table.shoe]\n", f'[table.shoe]\nkey_file = "{self.file}"\n')
        )
        self.told = ToldEvents()

    @property
    def of_host(self) -> dict[int, bytes]:
        return read_keys(self.file)[DEVICE]

    async def both_have(self, key_id: int) -> None:
        """Waits until this key is proved, and every older one is retired on either side."""
        await until(lambda: set(self.of_shoe.keys) == set(self.of_host) == {key_id})
        assert self.of_host == self.of_shoe.keys

    def no_key_is_anywhere(self, *keys: bytes) -> None:
        kept = b"".join(path.read_bytes() for path in self.folder.glob("*.jsonl"))
        kept += all_bytes_of(self.folder)
        for key in keys:
            assert key not in kept and key.hex().encode() not in kept


async def test_a_new_key_is_made_stored_told_proved_and_the_old_one_retired(
    tmp_path: Path,
) -> None:
    keyed = Keyed(tmp_path)
    told = keyed.told
    with resting(tmp_path, keyed.of_shoe) as (shoe, done):
        async with serving(keyed.config, told, sees=Audience.RESTRICTED) as daemon:
            await met(daemon)
            assert (await command(daemon, "c1", "rotate_key")).answer.accepted
            await keyed.both_have(2)
            (answered,) = told.data("shoe.answered")
            assert (answered["command"], answered["of"]) == ("rotate_key", 2)
            again = await command(daemon, "c1", "rotate_key")  # the same command: done once
            assert again.answer.accepted
            shoe.rig.unplug()
            await told.times(1, "shoe.lost")
            shoe.rig.replug()
            await told.times(2, "shoe.connected")
            await met(daemon)
            assert (await command(daemon, "c2", "test_shoe")).answer.accepted
            await told.times(2, "shoe.answered")
            assert (await command(daemon, "c3", "rotate_key")).answer.accepted
            await keyed.both_have(3)
        async with serving(keyed.config, told, sees=Audience.RESTRICTED) as daemon:
            await met(daemon)
            assert (await command(daemon, "c4", "test_shoe")).answer.accepted
            await told.times(4, "shoe.answered")
    assert len(done.of(RotateKey)) == 2
    assert keyed.file.read_text().startswith(f"# ours\n# retired {DEVICE} 1 {KEY}\n")
    assert told.data("shoe.unanswered") == []
    keyed.no_key_is_anywhere(bytes.fromhex(KEY), *keyed.of_host.values())
    nothing_is_wrong_with(tmp_path / "journal.db")


async def test_a_table_whose_key_changes_does_not_wait_for_ports_that_hang(tmp_path: Path) -> None:
    keyed = Keyed(tmp_path)
    with resting(tmp_path, keyed.of_shoe):
        async with serving(keyed.config, keyed.told, sees=Audience.RESTRICTED) as daemon:
            await met(daemon)
            hang = threading.Event()
            hanging = daemon._executor.submit(hang.wait)  # its only thread
            try:
                async with asyncio.timeout(PATIENCE_S):
                    assert (await command(daemon, "c1", "rotate_key")).answer.accepted
                await keyed.both_have(2)
                assert not hanging.done()
            finally:
                hang.set()


@pytest.mark.parametrize("lost", ["before the shoe heard it", "after the shoe stored it"])
async def test_a_rotation_that_is_cut_off_is_finished_by_the_next_daemon(
    tmp_path: Path, lost: str
) -> None:
    keyed = Keyed(tmp_path)
    told = keyed.told
    with resting(tmp_path, keyed.of_shoe) as (shoe, done):
        device = shoe.rig.device
        assert isinstance(device, ReferenceDevice)
        hears: Callable[[HostMessage, float], None] = device._on_host
        cut = asyncio.Event()

        def cut_off(said: HostMessage, t: float) -> None:
            if not isinstance(said, RotateKey):
                hears(said, t)
                return
            if lost.startswith("after"):
                device.host_closed()
                hears(said, t)
            cut.set()

        async with serving(keyed.config, told, sees=Audience.RESTRICTED) as daemon:
            await met(daemon)
            device._on_host = cut_off  # type: ignore[method-assign]
            assert (await command(daemon, "c1", "rotate_key")).answer.accepted
            async with asyncio.timeout(PATIENCE_S):
                await cut.wait()
        assert set(keyed.of_host) == {1, 2}  # either may be the one that the shoe proves
        assert set(keyed.of_shoe.keys) == ({1, 2} if lost.startswith("after") else {1})
        device._on_host = hears  # type: ignore[method-assign, assignment]
        async with serving(keyed.config, told, sees=Audience.RESTRICTED):
            await told.times(1, "shoe.answered")
            await keyed.both_have(2)
    assert len(done.of(RotateKey)) == 1
    keyed.no_key_is_anywhere(bytes.fromhex(KEY), *keyed.of_host.values())
    nothing_is_wrong_with(tmp_path / "journal.db")


def envelope(command_id: str, name: str, **args: Any) -> bytes:
    said = {"command_id": command_id, "table": TABLE, "command": name, "args": args}
    who = {"person": "Ines", "position": "gaming_shift_manager"}
    return json.dumps(said | who).encode() + b"\n"


@asynccontextmanager
async def caller_at(way_in: Path) -> AsyncIterator[Caller]:
    """A caller at the socket of a daemon that is starting."""
    async with AsyncExitStack() as stack, asyncio.timeout(PATIENCE_S) as patience:
        while True:
            try:
                caller = await stack.enter_async_context(calling(way_in))
            except (FileNotFoundError, ConnectionRefusedError):
                await asyncio.sleep(0)  # as often as it may: none is cut off
            else:
                patience.reschedule(None)
                yield caller
                return


async def until_met(caller: Caller, name: str) -> None:
    """Asks the shoe until it takes that: it has said who it is."""
    async with asyncio.timeout(PATIENCE_S):
        tries = 0
        while not (await caller.says(envelope(f"{name}-{tries}", "ask_shoe", what="battery")))[
            "accepted"
        ]:
            tries += 1
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("seed", [1])
async def test_a_daemon_killed_while_a_key_is_rotated_leaves_one_that_both_have(
    tmp_path: Path, seed: int
) -> None:
    """Killed before the command is stored, while the key is, before or after the shoe has it."""
    keyed, chance = Keyed(tmp_path), random.Random(seed)
    way_in = tmp_path / SOCKET
    keyed.config.write_text(
        f'{keyed.config.read_text()}\n[socket]\npath = "{way_in}"\n[[socket.user]]\n'
        f'user = {os.getuid()}\nposition = "gaming_shift_manager"\n'
    )
    with resting(tmp_path, keyed.of_shoe) as (_, done):
        for number in range(4):
            async with daemon_process(keyed.config) as process, caller_at(way_in) as caller:
                await until_met(caller, f"a{number}")
                caller.writer.write(envelope(f"r{number}", "rotate_key"))
                await asyncio.sleep(chance.uniform(0.0, 0.04))
                process.kill()
                await process.wait()
        async with daemon_process(keyed.config), caller_at(way_in) as caller:
            await until_met(caller, "b")
            await until(
                lambda: len(keyed.of_host) == 1 and keyed.of_host == keyed.of_shoe.keys, PATIENCE_S
            )
            (newest,) = keyed.of_host
            assert (await caller.says(envelope("last", "rotate_key")))["accepted"]
            await until(
                lambda: set(keyed.of_host) == set(keyed.of_shoe.keys) == {newest + 1}, PATIENCE_S
            )
    told_keys = {said.key_id for said in done.of(RotateKey) if isinstance(said, RotateKey)}
    assert told_keys == set(range(2, newest + 2))  # none left out, none told under another number
    keyed.no_key_is_anywhere(bytes.fromhex(KEY), *keyed.of_host.values())
    nothing_is_wrong_with(tmp_path / "journal.db")
