"""What a port's path leads to: another's pty under an old number, a person's terminal, no port.

In: ptys whose numbers are given out again, links, processes. Out: what is opened, and what is not.
Must not know: what is spoken on a port.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from shoe_ctl.errors import PortError
from shoe_ctl.link.address import SerialAddress
from shoe_ctl.link.serial import ports_closed, serial_opener
from shoe_ctl.link.transport import Opener
from shoe_testing.transports import (
    LineProfile,
    Pty,
    ShoeEnd,
    another_with_the_number_of,
    somebody_at,
)


@pytest.fixture
def pty() -> Iterator[Pty]:
    made = Pty()
    yield made
    made.close()


def opener_of(path: object, executor: ThreadPoolExecutor) -> Opener:
    return serial_opener(SerialAddress(str(path)), LineProfile.SERIAL, executor)


async def opened_and_lost(opener: Opener) -> None:
    """As a daemon uses a port: opened once, and closed when its shoe has gone."""
    (await opener()).close()
    await ports_closed()


async def refusal(opener: Opener) -> tuple[str, str]:
    with pytest.raises(PortError) as refused:
        await opener()
    assert "\n" not in str(refused.value)
    return refused.value.cause, str(refused.value)


async def test_a_pty_whose_number_another_has_is_not_opened_again(
    pty: Pty, executor: ThreadPoolExecutor
) -> None:
    opener = opener_of(pty.path, executor)
    await opened_and_lost(opener)
    pty.close()
    with another_with_the_number_of(pty.path, pty.made) as other:
        for _ in range(2):
            cause, line = await refusal(opener)
            assert cause == "no_such_port"
            assert line.startswith(
                f"no such port: the pty {pty.path} was closed, and its number belongs"
            )
            assert "pty:LINK" in line
        assert other.untouched


async def test_a_pty_that_is_given_out_while_it_is_looked_at_is_let_go_of(
    pty: Pty, executor: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    opener = opener_of(pty.path, executor)
    really_open = os.open
    with ExitStack() as others:
        given: list[Pty] = []

        def given_out_first(path: str, flags: int) -> int:
            pty.close()
            given.append(others.enter_context(another_with_the_number_of(pty.path, pty.made)))
            return really_open(path, flags)

        with monkeypatch.context() as patched:
            patched.setattr("shoe_ctl.link.serial.os.open", given_out_first)
            assert (await refusal(opener))[0] == "no_such_port"
        assert given[0].untouched


async def test_a_link_that_was_left_behind_does_not_lead_to_anothers_pty(
    pty: Pty, executor: ThreadPoolExecutor, tmp_path: Path
) -> None:
    link = tmp_path / "shoe"
    link.symlink_to(pty.path)
    opener = opener_of(link, executor)
    await opened_and_lost(opener)
    pty.close()  # as kill -9 ends a simulated shoe: its link stays
    with another_with_the_number_of(pty.path, pty.made) as other:
        cause, line = await refusal(opener)
        assert (cause, "is a stale link" in line) == ("no_such_port", True)
        assert other.untouched
        link.unlink()
        link.symlink_to(other.path)  # whoever makes a new link means it
        await opened_and_lost(opener)


async def test_a_pty_that_changed_its_owner_is_another(
    pty: Pty, executor: ThreadPoolExecutor
) -> None:
    opener = opener_of(pty.path, executor)
    await opened_and_lost(opener)
    while Path(pty.path).stat().st_ctime_ns == pty.made:  # until the kernel's clock ticks
        os.chown(pty.path, os.getuid(), os.getgid())
    set_before = pty.now_set()
    assert (await refusal(opener))[0] == "no_such_port"
    assert pty.now_set() == set_before


async def test_the_same_pty_is_opened_again_and_a_new_one_behind_a_new_link(
    shoe: ShoeEnd, executor: ThreadPoolExecutor
) -> None:
    bare = opener_of(shoe.link.readlink(), executor)
    linked = opener_of(shoe.link, executor)
    for _ in range(3):
        await opened_and_lost(bare)
        await opened_and_lost(linked)
    for _ in range(3):
        shoe.unplug()
        assert (await refusal(linked))[0] == "no_such_port"
        shoe.plug_in()
        await opened_and_lost(linked)


async def test_a_pty_that_is_gone_names_no_terminals_of_others(
    pty: Pty, executor: ThreadPoolExecutor
) -> None:
    cause, line = await refusal(opener_of("/dev/pts/none", executor))
    assert cause == "no_such_port"
    assert pty.path not in line
    assert "pty:LINK" in line


async def test_a_persons_terminal_is_no_port(
    pty: Pty, executor: ThreadPoolExecutor, tmp_path: Path
) -> None:
    link = tmp_path / "shoe"
    link.symlink_to(pty.path)
    with somebody_at(pty.path) as pid:
        for path in (pty.path, str(link)):
            cause, line = await refusal(opener_of(path, executor))
            assert cause == "not_serial"
            assert line.startswith(f"not a serial port: {path} is the terminal of python")
            assert f"(process {pid})" in line
        assert pty.untouched


async def test_what_is_no_serial_port_is_not_opened(
    executor: ThreadPoolExecutor, tmp_path: Path
) -> None:
    plain, pipe = tmp_path / "plain", tmp_path / "pipe"
    plain.touch()
    os.mkfifo(pipe)
    kinds = {
        str(plain): "a plain file",
        str(pipe): "a named pipe",
        str(tmp_path): "a folder",
        "/dev/null": "a device of another kind",
        "/dev/ptmx": "the other end of a pty",
        "/dev/tty": "a console of this host",
    }
    for path, kind in kinds.items():
        assert await refusal(opener_of(path, executor)) == (
            "not_serial",
            f"not a serial port: {path} ({kind})",
        )
