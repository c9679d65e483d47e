"""A serial port's rate, from the configuration down to the line."""

from __future__ import annotations

import os
import termios
from pathlib import Path

import pytest

from firmware_proto.profiles import SerialSettings
from shoe_testing.daemon import ShoeAtTable, ToldEvents, serving, write_config

SETTINGS = SerialSettings(baud=4800, others=(9600, 19200))


def test_a_known_rate_can_be_taken_and_the_others_stay_known() -> None:
    assert SETTINGS.at(None) is SETTINGS.at(4800) is SETTINGS
    assert SETTINGS.at(9600).baud == 9600
    assert SETTINGS.at(9600).rates == (9600, 4800, 19200)


def test_a_rate_that_is_not_known_is_refused_with_those_that_are() -> None:
    with pytest.raises(ValueError, match="baud: expected 4800 or 9600 or 19200, not 300"):
        SETTINGS.at(300)


@pytest.mark.parametrize(("more", "rate"), [("", termios.B4800), ("baud = 9600", termios.B9600)])
async def test_the_daemon_sets_the_port_to_the_rate_of_its_configuration(
    tmp_path: Path, more: str, rate: int
) -> None:
    told = ToldEvents()
    with ShoeAtTable(tmp_path, "angel_eye", seed=1) as shoe:
        path = write_config(tmp_path, str(tmp_path / "shoe"), profile="angel_eye", decks=4)
        text = path.read_text().replace("[table.shoe]", f"[table.shoe]\n{more}")
        path.write_text(text)
        async with serving(path, told):
            await told.times(1, "shoe.connected")
            line = os.open(tmp_path / "shoe", os.O_RDWR | os.O_NOCTTY)
            found = termios.tcgetattr(line)[4:6]
            os.close(line)
        shoe.rig.stop()
    assert found == [rate, rate]
