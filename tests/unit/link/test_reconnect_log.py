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
    ShoeLog("bac-07", known).log_events(ReceivedEvent(event, None, 0, 1) for event in events)
    return [(record.levelname, record.getMessage()) for record in caplog.records]


@pytest.mark.parametrize(
    ("why", "reason", "until", "step"),
    [
        (
            NO_KEY,
            "no_key",
            "a key for SH-2 is added to key_file",
            "add a key for SH-2 to key_file, or connect the right shoe",
        ),
        (
            WRONG_PROOF,
            "wrong_key",
            "key_file has a key that SH-2 has",
            "put a key that SH-2 has into key_file",
        ),
        (
            CANNOT_AUTHENTICATE,
            "unauthenticated",
            "SH-2 has a key, or another shoe is connected",
            "it proves nothing, an impostor or the wrong shoe: connect the shoe that has the key",
        ),
        (
            HOST_WITHOUT_KEY,
            "no_key",
            "a key_file with a key for SH-2 is configured",
            "configure a key_file with a key for SH-2",
        ),
        (
            "the shoe has no key 3",
            "wrong_key (the shoe has no key 3)",
            "key_file has a key that SH-2 has",
            "put a key that SH-2 has into key_file",
        ),
    ],
)
def test_a_shoe_that_is_not_believed_is_a_warning_that_says_what_to_do(
    caplog: pytest.LogCaptureFixture, why: str, reason: str, until: str, step: str
) -> None:
    failed = AuthenticationFailed(reason=why, device_id="SH-2")
    [(level, line)] = said(caplog, "SH-1", failed, Repeated(of=failed.type))
    assert level == "WARNING"
    assert line == (
        f"bac-07: authentication failed: shoe=SH-2 reason={reason}. Events are ignored until "
        f"{until}."
    )
    hint = troubleshooting_hint(failed)
    assert (hint.cause, hint.step) == (reason.partition(" ")[0], step)


def test_another_shoe_than_before_is_a_warning_with_both_names(
    caplog: pytest.LogCaptureFixture,
) -> None:
    first, second = said(caplog, "SH-1", hello("SH-2"), hello("SH-2", resumed=True))
    assert first[0] == "WARNING"
    assert first[1] == (
        "bac-07: shoe changed: expected=SH-1 found=SH-2. If the shoe was not replaced, check the "
        "cabling."
    )
    assert second == ("INFO", "bac-07: shoe identified: shoe=SH-2 firmware=1.2")


def test_a_shoe_that_is_new_or_goes_on_is_no_warning(caplog: pytest.LogCaptureFixture) -> None:
    told = said(caplog, None, hello("SH-1"), hello("SH-1", resumed=True), Standby())
    assert told == [("INFO", "bac-07: shoe identified: shoe=SH-1 firmware=1.2")] * 2


def test_a_shoe_that_counts_anew_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    [(level, line)] = said(caplog, "SH-1", hello("SH-1"))
    assert level == "WARNING"
    assert line.startswith("bac-07: event numbers restarted: shoe=SH-1. Check whether its memory")


@pytest.mark.parametrize("refused", [True, False])
def test_a_firmware_that_is_not_listed_is_a_warning(
    caplog: pytest.LogCaptureFixture, refused: bool
) -> None:
    [(level, line)] = said(caplog, None, UnknownFirmware(firmware="0.9", refused=refused))
    assert level == "WARNING"
    assert line.startswith("bac-07: unknown firmware: firmware=0.9 arming=")
    assert ("arming=refused" in line, "arming=allowed" in line) == (refused, not refused)
    assert "shoe.firmware" in line


def test_events_that_are_lost_are_a_warning_with_their_numbers(
    caplog: pytest.LogCaptureFixture,
) -> None:
    [(level, line)] = said(caplog, "SH-1", Gap(first=5, last=8))
    assert (level, line.startswith("bac-07: events lost: first=5 last=8. ")) == ("WARNING", True)
