"""A shoe's end of a pty, and what opens the other."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from shoe_ctl.link.address import SerialAddress
from shoe_ctl.link.serial import serial_opener
from shoe_ctl.link.transport import Opener
from shoe_testing.transports import LineProfile, ShoeEnd


@pytest.fixture
def shoe(tmp_path: Path) -> Iterator[ShoeEnd]:
    end = ShoeEnd(tmp_path / "shoe")
    yield end
    end.unplug()


@pytest.fixture
def executor() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as pool:
        yield pool


@pytest.fixture
def opener(shoe: ShoeEnd, executor: ThreadPoolExecutor) -> Opener:
    return serial_opener(SerialAddress(str(shoe.link)), LineProfile.SERIAL, executor)
