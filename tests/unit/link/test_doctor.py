"""What is found wrong with a shoe: each cause made for real, on ptys, sockets and a bus of our own.

In: simulated shoes, ends that speak at one rate only. Out: causes and their one line.
Must not know: how a port is tried.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Mapping
from pathlib import Path

import pytest

from firmware_proto.events import Discarded, HostTraffic
from firmware_proto.profiles import profile as profile_named
from firmware_proto.reference.codec import Listener
from shoe_testing.faulty_ports import (
    BRIEFLY_S,
    EVENTS,
    KEY,
    OTHER_KEY,
    Heard,
    diagnosed,
    reference_bytes,
    shoe,
    speaking,
    target,
)
from shoe_testing.simulated_usb import UsbBus, UsbPort
from shoe_testing.transports import ShoeEnd
from simulators.faults import Faults, FaultyLine
from simulators.ports.pty import PtyPort
from simulators.ports.tcp import TcpPort
from simulators.shoe.reference import ReferenceDevice

# A shoe that answers.


async def test_a_reference_shoe_is_asked_who_it_is_and_told_nothing_else(tmp_path: Path) -> None:
    heard = Heard()
    with shoe(PtyPort(str(tmp_path / "shoe")), to_shoe=heard) as rig:
        assert isinstance(rig.device, ReferenceDevice)
        kept = rig.device.event_log.unacknowledged
        found = await diagnosed(target(str(tmp_path / "shoe")))
        assert rig.device.event_log.unacknowledged == kept > 0
    assert (found.well, found.cause, found.device_id) == (True, "well", "SH-0042")
    assert "unauthenticated" in found.says
    assert said_by_host(heard.data) == {"hello_request"}


async def test_with_its_key_it_proves_who_it_is_and_is_told_nothing_else(tmp_path: Path) -> None:
    heard = Heard()
    wanted = target(str(tmp_path / "shoe"), keys={"SH-0042": {2: KEY}})
    with shoe(PtyPort(str(tmp_path / "shoe")), keys={2: KEY}, to_shoe=heard):
        found = await diagnosed(wanted)
    assert (found.well, found.cause) == (True, "well")
    assert "SH-0042 answers and is authenticated with key 2" in found.says
    assert said_by_host(heard.data) == {"hello_request", "challenge"}


def said_by_host(data: bytes) -> set[str]:
    listener = Listener()
    heard = [h.event for h in (*listener.feed(data), *listener.end())]
    assert not [event for event in heard if isinstance(event, Discarded)]
    return {event.command for event in heard if isinstance(event, HostTraffic)}


@pytest.mark.parametrize("profile", ["angel_eye", "bee_tek"])
async def test_a_vendors_shoe_is_heard_and_sent_no_byte(profile: str) -> None:
    with speaking(EVENTS[profile], profile_named(profile).SERIAL.baud) as end:
        settings = {"commands": True} if profile == "angel_eye" else {}
        found = await diagnosed(target(end.path, profile, settings=settings))
        await asyncio.sleep(0)
        assert end.heard == b""
    assert (found.well, found.cause, found.speaks) == (True, "well", profile)


async def test_over_tcp_and_usb_a_shoe_is_found_as_well() -> None:
    bus = UsbBus()
    for port in (TcpPort("127.0.0.1", 0), UsbPort(bus, "SH-0042")):
        with shoe(port):
            found = await diagnosed(target(port.address), bus=bus)
        assert (found.well, found.device_id) == (True, "SH-0042")


async def test_a_firmware_that_is_not_on_the_list_is_told() -> None:
    port = TcpPort("127.0.0.1", 0)
    with shoe(port):
        found = await diagnosed(target(port.address, settings={"firmware": ["00" * 32]}))
    assert (found.well, found.cause) == (False, "firmware")
    assert "add its digest" in found.says


# Keys.


@pytest.mark.parametrize(
    ("shoes", "hosts", "cause", "step"),
    [
        (
            {2: KEY},
            {"SH-0042": {2: OTHER_KEY}},
            "wrong_key",
            "wrong proof: put a key that SH-0042 has into key_file",
        ),
        ({2: KEY}, {"SH-0042": {3: KEY}}, "wrong_key", "the shoe has no key 3"),
        ({2: KEY}, {"SH-0043": {2: KEY}}, "no_key", "add a key for SH-0042"),
        ({2: KEY}, None, "no_key", "configure a key_file"),
        (None, {"SH-0042": {2: KEY}}, "unauthenticated", "an impostor or the wrong shoe"),
    ],
)
async def test_keys_that_do_not_fit_are_told_apart(
    shoes: Mapping[int, bytes] | None,
    hosts: Mapping[str, Mapping[int, bytes]] | None,
    cause: str,
    step: str,
) -> None:
    port = TcpPort("127.0.0.1", 0)
    with shoe(port, keys=shoes):
        found = await diagnosed(target(port.address, keys=hosts))
    assert (found.well, found.cause, found.device_id) == (False, cause, "SH-0042")
    assert step in found.says
    assert KEY.hex() not in found.says.lower()


# Rates and profiles.


async def test_a_shoe_at_another_rate_of_its_profile_is_found_there() -> None:
    with speaking(EVENTS["angel_eye"], 9600) as end:
        found = await diagnosed(target(end.path, "angel_eye"))
        assert end.heard == b""
    assert (found.well, found.cause, found.baud) == (False, "wrong_baud", 9600)
    assert "set baud = 9600 in [table.shoe]" in found.says


@pytest.mark.parametrize(
    ("spoken", "baud", "configured"),
    [
        ("angel_eye", 4800, "reference"),
        ("angel_eye", 9600, "bee_tek"),
        ("bee_tek", 9600, "angel_eye"),
    ],
)
async def test_a_shoe_of_another_profile_is_named(spoken: str, baud: int, configured: str) -> None:
    with speaking(EVENTS[spoken], baud) as end:
        found = await diagnosed(target(end.path, configured))
    assert (found.well, found.cause, found.speaks) == (False, "other_profile", spoken)
    assert f'set profile = "{spoken}"' in found.says


async def test_a_reference_shoe_that_speaks_is_known_to_a_host_that_expects_another() -> None:
    port = TcpPort("127.0.0.1", 0)
    with shoe(port) as rig:
        first = await diagnosed(target(port.address))
        assert first.well
        with speaking(reference_bytes(rig), 115200) as end:
            found = await diagnosed(target(end.path, "angel_eye"))
    assert (found.cause, found.speaks, found.baud) == ("other_profile", "reference", 115200)


async def test_bytes_that_make_sense_at_no_rate_are_garbage() -> None:
    with speaking(b"\xfe\x13\x37 no shoe \x05\x05", 57600) as end:
        found = await diagnosed(target(end.path, "angel_eye"), seconds=BRIEFLY_S)
    assert (found.well, found.cause) == (False, "garbage")
    assert "4800, 9600, 115200 baud" in found.says


async def test_garbage_from_a_device_server_sends_one_to_its_settings() -> None:
    def babble(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"\xf8\x80" * 600)
        writer.close()

    server = await asyncio.start_server(babble, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        found = await diagnosed(target(f"tcp://127.0.0.1:{port}", "angel_eye"))
    assert (found.well, found.cause) == (False, "garbage")
    assert "device server's line is at 4800 or 9600 baud" in found.says


async def test_a_noisy_line_is_no_reason_to_give_up_a_shoe_that_answers(tmp_path: Path) -> None:
    line = FaultyLine(3, Faults(flip=0.3, split=0.5))
    with shoe(PtyPort(str(tmp_path / "shoe")), to_host=line):
        found = await diagnosed(target(str(tmp_path / "shoe")))
    assert (found.well, found.cause) == (True, "well")


# Silence.


@pytest.mark.parametrize(
    ("profile", "step"),
    [("reference", "check power and cable, and that a shoe"), ("angel_eye", "Draw a card or turn")],
)
async def test_a_silent_port_is_called_silent(profile: str, step: str) -> None:
    end, host = os.openpty()
    path = os.ttyname(host)
    os.close(host)
    try:
        found = await diagnosed(target(path, profile), seconds=BRIEFLY_S)
    finally:
        os.close(end)
    assert (found.well, found.cause) == (False, "silence")
    assert step in found.says


async def test_a_device_server_without_a_shoe_is_told_from_none() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        number = server.getsockname()[1]
        silent = await diagnosed(target(f"tcp://127.0.0.1:{number}"), seconds=BRIEFLY_S)
    refused = await diagnosed(target(f"tcp://127.0.0.1:{number}"), seconds=BRIEFLY_S)
    assert (silent.cause, refused.cause) == ("silence", "refused")
    assert "device server reached" in silent.says


async def test_a_shoe_that_speaks_and_does_not_hear_is_told() -> None:
    port = TcpPort("127.0.0.1", 0)
    with shoe(port) as rig:
        said = reference_bytes(rig)
    status_only = said[said.rindex(b"\0", 0, len(said) - 1) :]
    with speaking(status_only, 115200) as end:
        found = await diagnosed(target(end.path), seconds=BRIEFLY_S)
    assert (found.well, found.cause) == (False, "no_answer_to_hello")


async def test_a_cable_pulled_while_it_is_tried_is_told(tmp_path: Path) -> None:
    end = ShoeEnd(tmp_path / "shoe")
    trying = asyncio.create_task(diagnosed(target(str(end.link))))
    await end.hear(9)  # the port is open: hello_request
    end.unplug()
    found = await trying
    assert (found.well, found.cause) == (False, "lost")
