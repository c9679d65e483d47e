"""Impostors at a keyed table's port: nothing says connected or authenticated before a proof.

In: a device server in this loop that plays shoes written on the wire's own layouts.
Out: both streams, the status, what doctor says, the replay.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from firmware_proto.reference.mac import ShoeKeys
from shoe_ctl.records import Audience
from shoe_ctl.texts.catalogue import text as english
from shoe_testing.cli import run_shoectl_async
from shoe_testing.config import SOCKET, add_shoe_settings, write_config
from shoe_testing.daemon import (
    OTHER_KEY,
    PATIENCE_S,
    SHOE_KEY,
    ToldEvents,
    nothing_is_wrong_with,
    runner,
    serving,
)
from shoe_testing.faulty_ports import DevicePlay, device_server
from shoe_testing.reference_protocol import Shoe

SHOECTL = [sys.executable, "-c", "from shoe_ctl.cli.main import main; main()"]


def of_key(key: str) -> ShoeKeys:
    return ShoeKeys({1: bytes.fromhex(key)}, lambda: os.urandom(16))


class Speaks:
    """A shoe that says who it is and answers as it can; ``said`` is all that it sent."""

    def __init__(self, keys: ShoeKeys | None, device_id: str = "SH-7") -> None:
        self.shoe = Shoe(device_id=device_id, keys=keys)
        self.said = b""

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        clock = asyncio.get_running_loop().time
        self.shoe.connect()
        self.shoe.hello(clock())
        data = b""
        while True:
            self.shoe.receive(data, clock())
            self.shoe.tick(clock())
            out = self.shoe.session.outgoing()
            self.said += out
            writer.write(out)
            await writer.drain()
            data = await reader.read(4096)
            if not data:
                return


class OnlyHello:
    """Says who it is whenever it hears anything, and proves nothing."""

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        shoe = Shoe(device_id="SH-7", keys=of_key(OTHER_KEY))
        shoe.connect()
        shoe.hello(0.0)
        hello = shoe.session.outgoing()
        writer.write(hello)
        while await reader.read(4096):
            writer.write(hello)


class Replayed:
    """The true shoe to the first host; to each later one its bytes again, as they went."""

    def __init__(self) -> None:
        self.true = Speaks(of_key(SHOE_KEY))
        self.cut = asyncio.Event()
        self.connections = 0

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        if self.connections == 1:
            true = asyncio.create_task(self.true(reader, writer))
            await self.cut.wait()
            true.cancel()
            return
        writer.write(self.true.said)
        while await reader.read(4096):
            pass


def keyed_configuration(folder: Path, port: str) -> Path:
    keys = folder / "shoes.keys"
    keys.write_text(f"SH-7 1 {SHOE_KEY}\nSH-8 1 {OTHER_KEY}\n")
    keys.chmod(0o600)
    return add_shoe_settings(write_config(folder, port, way_in=True), f'key_file = "{keys}"')


def streams(folder: Path) -> list[dict[str, Any]]:
    """Both streams, as their sinks wrote them."""
    return [
        json.loads(line)
        for name in ("public.jsonl", "restricted.jsonl")
        for line in (folder / name).read_text().splitlines()
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("impostor", "reason"),
    [
        (lambda: Speaks(None), "unauthenticated"),
        (lambda: Speaks(of_key("ee" * 32)), "wrong_key"),
        (lambda: Speaks(of_key(OTHER_KEY)), "wrong_key"),
        (lambda: Speaks(of_key(SHOE_KEY), "SH-9"), "no_key"),
        (OnlyHello, "no_proof"),
    ],
    ids=["no key", "a wrong key", "another device's key", "an unknown device", "never proves"],
)
async def test_an_impostor_is_refused_and_never_told_as_connected(
    tmp_path: Path, impostor: Callable[[], DevicePlay], reason: str
) -> None:
    told = ToldEvents()
    async with (
        device_server(impostor()) as port,
        serving(keyed_configuration(tmp_path, port), told) as daemon,
    ):
        await told.times(1, "shoe.refused")
        stands = await runner(daemon).status(Audience.PUBLIC)
    assert told.data("shoe.refused")[0] == {"reason": reason}
    assert (stands["link"], stands["link_reason"]) == ("refused", reason)
    assert "refused" in english(stands["next"]["message"])
    kinds = {event["type"] for event in streams(tmp_path)}
    assert "shoe.refused" in kinds
    assert not kinds & {"shoe.connected", "shoe.loaded", "shoe.lost"}
    assert '"authenticated": true' not in json.dumps(streams(tmp_path))
    nothing_is_wrong_with(tmp_path / "journal.db")


@pytest.mark.slow
async def test_what_a_true_shoe_said_proves_nothing_when_it_is_played_again(
    tmp_path: Path,
) -> None:
    told, shoes = ToldEvents(), Replayed()
    async with device_server(shoes) as port, serving(keyed_configuration(tmp_path, port), told):
        await told.times(1, "shoe.connected")
        shoes.cut.set()
        await told.times(1, "shoe.refused")
    assert told.data("shoe.refused") == [{"reason": "wrong_key"}]
    assert [each["authenticated"] for each in told.data("shoe.connected")] == [True]
    assert len(told.data("shoe.lost")) == 1
    nothing_is_wrong_with(tmp_path / "journal.db")


@pytest.mark.usefixtures("commands")
@pytest.mark.slow
async def test_doctor_asks_the_daemon_that_has_the_port_and_says_what_is_wrong(
    tmp_path: Path,
) -> None:
    async with device_server(Speaks(of_key("ee" * 32))) as port:
        file = keyed_configuration(tmp_path, port)
        daemon = await asyncio.create_subprocess_exec(
            *SHOECTL, "run", "--config", "table.toml", "--json", cwd=tmp_path,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
        )  # fmt: skip
        assert daemon.stdout is not None
        try:
            async with asyncio.timeout(PATIENCE_S):
                assert b"table.started" in await daemon.stdout.readline()
                assert b"shoe.refused" in await daemon.stdout.readline()
            assert (tmp_path / SOCKET).exists()
            by_config = await run_shoectl_async("doctor", "--config", str(file))
            by_port = await run_shoectl_async("doctor", "--profile", "reference", "--port", port)
        finally:
            daemon.terminate()
            await daemon.communicate()
    for code, out, err in (by_config, by_port):
        said = out + err
        text = " ".join(said.split())
        assert code == 1, text
        assert "FAILED:" in text and "its table refuses this shoe" in text
        assert "well" not in text
