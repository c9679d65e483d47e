"""The serial transport on real ptys."""

from __future__ import annotations

import asyncio
import errno
import fcntl
import os
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
import serial  # type: ignore[import-untyped]

from firmware_proto.profiles import SerialSettings
from shoe_ctl.errors import PortError
from shoe_ctl.link.address import SerialAddress
from shoe_ctl.link.serial import ports_closed, serial_opener
from shoe_ctl.link.transport import WRITE_LIMIT, Opener, Transport, TransportLost
from shoe_testing.transports import HangingPorts, ShoeEnd, until

SETTINGS = SerialSettings(baud=4800)


@pytest.fixture
def opener(shoe: ShoeEnd, executor: ThreadPoolExecutor) -> Opener:
    return serial_opener(SerialAddress(str(shoe.link)), SETTINGS, executor)


@pytest.fixture
async def transport(opener: Opener) -> AsyncIterator[Transport]:
    open_port = await opener()
    yield open_port
    open_port.close()


async def readable(transport: Transport) -> None:
    woken = asyncio.Event()
    transport.when_readable(woken.set)
    try:
        async with asyncio.timeout(10):
            await woken.wait()
    finally:
        transport.when_readable(None)


async def refusal(path: str, executor: ThreadPoolExecutor) -> str:
    with pytest.raises(PortError) as refused:
        await serial_opener(SerialAddress(path), SETTINGS, executor)()
    line = str(refused.value)
    assert "\n" not in line
    return line


async def test_bytes_pass_both_ways_unchanged(shoe: ShoeEnd, transport: Transport) -> None:
    every = bytes(range(256))
    assert transport.read() == b""
    shoe.say(every)
    heard = b""
    while len(heard) < len(every):
        await readable(transport)
        heard += transport.read()
    transport.write(every)
    assert heard == every
    assert await shoe.hear(256) == every


async def test_what_came_before_the_port_was_open_is_flushed(shoe: ShoeEnd, opener: Opener) -> None:
    shoe.say(b"cut in ha")
    transport = await opener()
    shoe.say(b"whole")
    await readable(transport)
    assert transport.read() == b"whole"
    transport.close()


async def test_an_unplug_is_a_loss_and_wakes_the_reader(
    shoe: ShoeEnd, transport: Transport
) -> None:
    woken = asyncio.Event()
    transport.when_readable(woken.set)
    shoe.unplug()
    async with asyncio.timeout(10):
        await woken.wait()
    for _ in range(2):
        with pytest.raises(TransportLost, match=f"unplugged: {shoe.link}"):
            transport.read()
    assert str(transport.lost) == f"unplugged: {shoe.link}"


async def test_an_unplug_found_by_a_write_wakes_the_reader(
    shoe: ShoeEnd, transport: Transport
) -> None:
    shoe.unplug()
    transport.write(b"to no one")
    await readable(transport)
    with pytest.raises(TransportLost, match="unplugged"):
        transport.read()
    transport.write(b"nor this")


async def test_a_shoe_that_does_not_read_never_blocks_the_loop(
    shoe: ShoeEnd, transport: Transport
) -> None:
    sent = bytes(range(250)) * 200
    for at in range(0, len(sent), 250):
        transport.write(sent[at : at + 250])
    assert transport.lost is None
    assert await shoe.hear(len(sent)) == sent


async def test_the_queue_to_a_shoe_that_does_not_read_is_bounded(
    shoe: ShoeEnd, transport: Transport
) -> None:
    for _ in range(2 * WRITE_LIMIT // 1000):
        transport.write(b"x" * 1000)
    with pytest.raises(
        TransportLost, match=r"write queue full: .* reads nothing, \d+ bytes are waiting"
    ):
        transport.read()


async def test_the_last_words_reach_the_shoe_after_closing(
    shoe: ShoeEnd, transport: Transport
) -> None:
    transport.write(b"lock")
    transport.close()
    transport.close()
    assert await shoe.hear(4) == b"lock"


async def test_a_port_is_set_as_the_profile_says(
    shoe: ShoeEnd, executor: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: dict[str, object] = {}
    real = serial.Serial

    def spy(path: str, **settings: object) -> object:
        asked.update(settings)
        return real(path, **settings)

    monkeypatch.setattr(serial, "Serial", spy)
    settings = SerialSettings(baud=9600, bits=7, parity="E", stop_bits=2)
    (await serial_opener(SerialAddress(str(shoe.link)), settings, executor)()).close()
    names = ("baudrate", "bytesize", "parity", "stopbits")
    assert [asked[n] for n in names] == [9600, 7, "E", 2]


async def test_an_open_port_is_locked_and_a_closed_one_is_free(
    shoe: ShoeEnd, transport: Transport
) -> None:
    with shoe.link.open("rb", buffering=0) as other:
        with pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        transport.close()
        await ports_closed()
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)


async def test_a_port_taken_names_who_holds_it(
    transport: Transport, shoe: ShoeEnd, executor: ThreadPoolExecutor
) -> None:
    line = await refusal(str(shoe.link), executor)
    assert line == f"port taken: {shoe.link} by this program itself (give each table its own port)"


async def test_a_port_taken_by_another_names_that_process(
    shoe: ShoeEnd, executor: ThreadPoolExecutor
) -> None:
    hold = "import fcntl, sys; f = open(sys.argv[1]); fcntl.flock(f, 2); print(flush=True); input()"
    other = await asyncio.create_subprocess_exec(
        sys.executable, "-c", hold, str(shoe.link), stdin=-1, stdout=-1
    )
    assert other.stdout is not None
    await other.stdout.readline()
    line = await refusal(str(shoe.link), executor)
    await other.communicate(b"\n")
    assert line.startswith(f"port taken: {shoe.link} by python")
    assert line.endswith(f"(process {other.pid})")


async def test_a_missing_port_names_its_neighbours(
    shoe: ShoeEnd, executor: ThreadPoolExecutor
) -> None:
    line = await refusal(f"{shoe.link}s", executor)
    assert line.startswith(f"no such port: {shoe.link}s (there are: {shoe.link}")


async def test_what_is_no_port_is_not_named_beside_a_missing_one(
    tmp_path: Path, executor: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shoe_ctl.link.serial._PLACES", ())
    (tmp_path / "shoes").mkdir()
    (tmp_path / "shoe1").touch()
    line = await refusal(str(tmp_path / "shoe"), executor)
    assert line.startswith(f"no such port: {tmp_path / 'shoe'} (no serial adapter is plugged in: ")


async def test_a_link_to_nowhere_says_where_it_leads(
    tmp_path: Path, executor: ThreadPoolExecutor
) -> None:
    link = tmp_path / "SH-0042"
    link.symlink_to("/dev/pts/none")
    line = await refusal(str(link), executor)
    assert line.startswith(
        f"no such port: {link} (it links to /dev/pts/none, which does not exist: check power"
    )


async def test_a_folder_that_udev_removes_meanwhile_is_no_place_to_look(
    tmp_path: Path, executor: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_id = tmp_path / "by-id"
    by_id.mkdir()
    scandir = os.scandir

    def removed_before(path: Path) -> object:
        if Path(path) == by_id and by_id.exists():
            by_id.rmdir()
        return scandir(path)

    monkeypatch.setattr("shoe_ctl.link.serial._PLACES", ((str(by_id), "*"),))
    monkeypatch.setattr(os, "scandir", removed_before)
    line = await refusal("/dev/ttyNone", executor)
    assert line.startswith("no such port: /dev/ttyNone (no serial adapter is plugged in: ")


async def test_a_link_that_udev_removes_meanwhile_is_a_missing_port(
    tmp_path: Path, executor: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = tmp_path / "SH-0042"
    monkeypatch.setattr("shoe_ctl.link.serial._PLACES", ())
    monkeypatch.setattr(Path, "is_symlink", lambda path: path == link)
    assert (await refusal(str(link), executor)).startswith(f"no such port: {link} (no serial ")


async def test_a_port_in_a_missing_folder_says_what_to_check(
    executor: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shoe_ctl.link.serial._PLACES", ())
    line = await refusal("/dev/no-such-folder/SH-1", executor)
    assert "/dev/no-such-folder does not exist either" in line


async def test_without_any_adapter_the_cable_is_named(
    executor: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shoe_ctl.link.serial._PLACES", ())
    line = await refusal("/dev/ttyUSB99", executor)
    assert line == (
        "no such port: /dev/ttyUSB99 (no serial adapter is plugged in: check power and cable, "
        "and the port's name)"
    )


@pytest.mark.parametrize(
    ("path", "kind"), [("/dev/null", "a device of another kind"), ("/", "a folder")]
)
async def test_what_is_no_serial_port_is_called_so(
    path: str, kind: str, executor: ThreadPoolExecutor
) -> None:
    assert await refusal(path, executor) == f"not a serial port: {path} ({kind})"


@pytest.mark.parametrize(
    ("number", "says"),
    [
        (errno.EACCES, "permission denied: {} (its mode allows access: check container"),
        (errno.EBUSY, "port taken: {} by another program (fuser -v {} names it)"),
        (errno.ENXIO, "no device answers behind {} (check power and cable)"),
        (errno.EMFILE, "cannot open port {}: [Errno 24] as the system says"),
    ],
)
async def test_what_the_system_refuses_is_told_in_one_line(
    number: int,
    says: str,
    shoe: ShoeEnd,
    executor: ThreadPoolExecutor,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise serial.SerialException(number, "as the system says")

    monkeypatch.setattr(serial, "Serial", refuse)
    path = str(shoe.link)
    assert (await refusal(path, executor)).startswith(says.replace("{}", path))


async def test_opening_that_is_cancelled_leaves_nothing_open(
    shoe: ShoeEnd, opener: Opener, executor: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_it, go_on = threading.Event(), threading.Event()
    opened: list[serial.Serial] = []
    real = serial.Serial

    def slow(path: str, **settings: object) -> serial.Serial:
        at_it.set()
        assert go_on.wait(10)
        opened.append(real(path, **settings))
        return opened[0]

    monkeypatch.setattr(serial, "Serial", slow)
    task = asyncio.ensure_future(opener())
    await until(at_it.is_set)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    go_on.set()
    executor.shutdown()
    await ports_closed()
    assert not opened[0].is_open


async def test_a_port_whose_opening_was_cancelled_is_opened_again_once_that_is_closed(
    shoe: ShoeEnd, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_it, go_on = threading.Event(), threading.Event()
    real = serial.Serial

    def slow(path: str, **settings: object) -> serial.Serial:
        port = real(path, **settings)
        at_it.set()
        assert go_on.wait(10)
        return port

    monkeypatch.setattr(serial, "Serial", slow)
    with ThreadPoolExecutor(2) as executor:
        opener = serial_opener(SerialAddress(str(shoe.link)), SETTINGS, executor)
        task = asyncio.ensure_future(opener())
        await until(at_it.is_set)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        again = asyncio.ensure_future(opener())
        for _ in range(5):
            await asyncio.sleep(0)
        await asyncio.wrap_future(executor.submit(int))  # behind another opening, if there were one
        go_on.set()
        transport = await again
        transport.write(b"whole")
        assert await shoe.hear(5) == b"whole"
        transport.close()


@pytest.fixture
def hanging(monkeypatch: pytest.MonkeyPatch) -> Iterator[HangingPorts]:
    ports = HangingPorts(monkeypatch)
    yield ports
    ports.sent.set()


async def test_ports_that_hang_in_closing_hold_up_no_other_port_and_no_other_work(
    tmp_path: Path, executor: ThreadPoolExecutor, hanging: HangingPorts
) -> None:
    with ExitStack() as plugged:

        def opener_of(number: int) -> Opener:
            end = ShoeEnd(tmp_path / f"shoe-{number}")
            plugged.callback(end.unplug)
            return serial_opener(SerialAddress(str(end.link)), SETTINGS, executor)

        for number in range(6):
            (await opener_of(number)()).close()
        await until(lambda: hanging.closing == 6)
        async with asyncio.timeout(5):
            (await opener_of(6)()).close()
            assert await asyncio.wrap_future(executor.submit(int)) == 0
        hanging.sent.set()
        await ports_closed()


async def test_the_end_waits_for_ports_that_are_being_closed_but_not_for_one_that_hangs(
    opener: Opener, hanging: HangingPorts, monkeypatch: pytest.MonkeyPatch
) -> None:
    (await opener()).close()
    ends = asyncio.ensure_future(ports_closed())
    await until(lambda: hanging.closing == 1)
    for _ in range(5):
        await asyncio.sleep(0)
    assert not ends.done()
    hanging.sent.set()
    await ends
    hanging.sent.clear()
    (await opener()).close()
    monkeypatch.setattr("shoe_ctl.link.serial.CLOSED_WITHIN_S", 0.01)
    await until(lambda: hanging.closing == 2)
    async with asyncio.timeout(5):
        await ports_closed()
    hanging.sent.set()


ENDS = """
import asyncio, sys, threading
from concurrent.futures import ThreadPoolExecutor
import serial
from firmware_proto.profiles import SerialSettings
from shoe_ctl.link import serial as link
from shoe_ctl.link.address import SerialAddress

serial.Serial.close = lambda port: threading.Event().wait()
link.CLOSED_WITHIN_S = 0.01

async def main():
    with ThreadPoolExecutor() as executor:
        opener = link.serial_opener(SerialAddress(sys.argv[1]), SerialSettings(baud=4800), executor)
        (await opener()).close()
        await link.ports_closed()

asyncio.run(main())
"""


async def test_a_program_ends_although_a_port_hangs_in_closing_and_the_port_is_free(
    shoe: ShoeEnd, opener: Opener
) -> None:
    ends = await asyncio.create_subprocess_exec(sys.executable, "-c", ENDS, str(shoe.link))
    try:
        async with asyncio.timeout(30):
            assert await ends.wait() == 0
    finally:
        with suppress(ProcessLookupError):
            ends.kill()
    (await opener()).close()


async def test_closing_that_takes_long_holds_up_only_the_next_opening_of_that_port(
    shoe: ShoeEnd, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A driver may wait for what is not sent: here until ``sent``."""
    closing, sent = threading.Event(), threading.Event()
    real_open, real_close = serial.Serial.open, serial.Serial.close
    opened = 0

    def open_port(port: serial.Serial) -> None:
        nonlocal opened
        opened += 1
        real_open(port)

    def close(port: serial.Serial) -> None:
        assert threading.current_thread() is not threading.main_thread(), "the loop would wait"
        closing.set()
        assert sent.wait(10)
        real_close(port)

    monkeypatch.setattr(serial.Serial, "open", open_port)
    monkeypatch.setattr(serial.Serial, "close", close)
    with ThreadPoolExecutor(2) as executor:
        opener = serial_opener(SerialAddress(str(shoe.link)), SETTINGS, executor)
        (await opener()).close()
        await until(closing.is_set)
        again = asyncio.ensure_future(opener())
        for _ in range(5):
            await asyncio.sleep(0)
        assert (again.done(), opened) == (False, 1)
        sent.set()
        transport = await again
        transport.write(b"whole")
        assert await shoe.hear(5) == b"whole"
        transport.close()
    assert opened == 2
