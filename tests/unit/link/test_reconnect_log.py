"""What the log says of who speaks: one line each, with what to do."""

from __future__ import annotations

import logging

import pytest

from firmware_proto.events import (
    CANNOT_AUTHENTICATE,
    HOST_WITHOUT_KEY,
    NO_KEY,
    WRONG_PROOF,
    AuthenticationFailed,
    Gap,
    Hello,
    Repeated,
    ShoeEvent,
    Standby,
    UnknownFirmware,
)
from firmware_proto.session import ReceivedEvent
from shoe_ctl.link.keyring import troubleshooting_hint
from shoe_ctl.link.reconnect import ShoeLog


def hello(who: str, *, resumed: bool = False) -> Hello:
    return Hello(device_id=who, firmware="1.2", boot_id=3, deck="french52", resumed=resumed)


def said(
    caplog: pytest.LogCaptureFixture, known: str | None, *events: ShoeEvent
) -> list[tuple[str, str]]:
    caplog.set_level(logging.INFO, "shoe_ctl.link.reconnect")
    ShoeLog("bac-07", known).heard(ReceivedEvent(event, None, 0, 1) for event in events)
    return [(record.levelname, record.getMessage()) for record in caplog.records]


@pytest.mark.parametrize(
    ("why", "step"),
    [
        (NO_KEY, "no key for this shoe: add a key of SH-2 to the key_file, or is it the wrong"),
        (WRONG_PROOF, "wrong proof: put the key that the shoe has into the key_file"),
        (
            CANNOT_AUTHENTICATE,
            "the shoe cannot prove who it is: give the shoe a key, or take key_file away",
        ),
        (HOST_WITHOUT_KEY, "this host has none: name a key_file with its key"),
        ("the shoe has no key 3", "put a key that the shoe has into the key_file"),
    ],
)
def test_a_shoe_that_is_not_believed_is_a_warning_that_says_what_to_do(
    caplog: pytest.LogCaptureFixture, why: str, step: str
) -> None:
    failed = AuthenticationFailed(reason=why, device_id="SH-2")
    [(level, line)] = said(caplog, "SH-1", failed, Repeated(of=failed.type))
    assert level == "WARNING"
    assert line.startswith("bac-07: nothing that SH-2 says counts, for ")
    assert step in line
    assert troubleshooting_hint(failed)[0] in {"no_key", "wrong_key", "unauthenticated"}


def test_another_shoe_than_before_is_a_warning_with_both_names(
    caplog: pytest.LogCaptureFixture,
) -> None:
    first, second = said(caplog, "SH-1", hello("SH-2"), hello("SH-2", resumed=True))
    assert first[0] == "WARNING"
    assert first[1].startswith("bac-07: SH-2 speaks where SH-1 did: ")
    assert second == ("INFO", "bac-07: SH-2 speaks, firmware 1.2")


def test_a_shoe_that_is_new_or_goes_on_is_no_warning(caplog: pytest.LogCaptureFixture) -> None:
    told = said(caplog, None, hello("SH-1"), hello("SH-1", resumed=True), Standby())
    assert told == [("INFO", "bac-07: SH-1 speaks, firmware 1.2")] * 2


def test_a_shoe_that_counts_anew_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    [(level, line)] = said(caplog, "SH-1", hello("SH-1"))
    assert level == "WARNING"
    assert "SH-1 speaks, and has forgotten its numbers" in line


@pytest.mark.parametrize("refused", [True, False])
def test_a_firmware_that_is_not_listed_is_a_warning(
    caplog: pytest.LogCaptureFixture, refused: bool
) -> None:
    [(level, line)] = said(caplog, None, UnknownFirmware(firmware="0.9", refused=refused))
    assert level == "WARNING"
    assert "firmware 0.9 is not on the list" in line
    assert ("not armed" in line) == refused
    assert "shoe.firmware" in line


def test_events_that_are_lost_are_a_warning_with_their_numbers(
    caplog: pytest.LogCaptureFixture,
) -> None:
    [(level, line)] = said(caplog, "SH-1", Gap(first=5, last=8))
    assert (level, "events 5 to 8 are lost" in line) == ("WARNING", True)
