"""What flipped bits can do to Angel Eye frames: one nothing wrong, two the rate SPEC.md states.

In: the golden frames. Out: every flip of one bit, every pair. Must not know: layouts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import pytest

import firmware_proto.angel_eye
from firmware_proto.angel_eye.frames import CommandBcc, encode_command, encode_event, encode_reply
from firmware_proto.angel_eye.profile import device_session, host_session
from firmware_proto.commands import Locked, VendorCommand
from firmware_proto.events import CuttingCard, Discarded, Reply, ShoeEvent, Standby
from firmware_proto.session import HostSession

SPEC = Path(firmware_proto.angel_eye.__path__[0], "SPEC.md").read_text(encoding="utf-8")
BEFORE, AFTER = encode_event(Standby(), "y"), encode_event(CuttingCard(), "z")


def _frames() -> list[bytes]:
    block = SPEC.split("```golden-events\n")[1].split("```")[0]
    return [bytes.fromhex(line.split("|")[0]) for line in block.splitlines()]


def _flipped(frame: bytes, *bits: int) -> bytes:
    changed = bytearray(frame)
    for bit in bits:
        changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def _single_flips(frame: bytes) -> Iterator[bytes]:
    return (_flipped(frame, bit) for bit in range(len(frame) * 8))


def _host(*, outstanding: bool) -> HostSession:
    host = host_session(resume=None, settings={"commands": outstanding})
    if outstanding:
        host.set_desired_state(Locked())
        assert host.outgoing()
    return host


def _said(host: HostSession, data: bytes) -> list[ShoeEvent]:
    return [h.event for h in host.receive(data, 0.0) if not isinstance(h.event, Discarded)]


@pytest.mark.parametrize("outstanding", [False, True])
@pytest.mark.parametrize("frame", _frames(), ids=lambda f: f.hex())
def test_one_flipped_bit_of_an_event_costs_that_event_and_no_other(
    frame: bytes, outstanding: bool
) -> None:
    for flipped in _single_flips(frame):
        heard = _said(_host(outstanding=outstanding), BEFORE + flipped + AFTER)
        assert heard == [Standby(), CuttingCard()], flipped.hex(" ")


@pytest.mark.parametrize("data", ["01", "02"])
@pytest.mark.parametrize("check", CommandBcc)
def test_one_flipped_bit_of_a_command_is_no_command(data: str, check: CommandBcc) -> None:
    for flipped in _single_flips(encode_command("LK", data, check)):
        device = device_session(settings={"command_bcc": check.value})
        heard = device.receive(flipped + encode_command("GP", "00", check), 0.0)
        asked = [h for h in heard if isinstance(h, VendorCommand)]
        assert asked == [VendorCommand("OP", "GP", "00")], flipped.hex(" ")


@pytest.mark.parametrize("reason", ["line_error", "bcc", "no_etx", "busy", "other"])
def test_one_flipped_bit_never_makes_a_bare_refusal_an_acceptance(reason: str) -> None:
    for flipped in _single_flips(encode_reply(Reply(accepted=False, reason=reason))):
        heard = _said(_host(outstanding=True), flipped + AFTER)
        assert Reply(accepted=True) not in heard
        assert heard[-1] == CuttingCard()


def test_in_a_framed_refusal_one_bit_alone_can_as_the_spec_says() -> None:
    refused = Reply(accepted=False, reason="busy")
    frame = encode_reply(refused, framed=CommandBcc.FROM_STX)
    for flipped in _single_flips(frame):
        heard = _said(_host(outstanding=True), flipped + AFTER)
        accepted = flipped == b"\x06" + frame[1:]
        assert heard[-1] == CuttingCard()
        assert heard[:-1] in ([[Reply(accepted=True)]] if accepted else [[], [refused]])


def test_without_a_command_no_byte_is_ever_heard_as_a_reply() -> None:
    for reply in (Reply(accepted=True), Reply(accepted=False, reason="busy")):
        for framed in (None, CommandBcc.FROM_STX):
            raw = encode_reply(reply, framed=framed)
            heard = _host(outstanding=False).receive(raw, 0.0)
            assert [h.event for h in heard] == [Discarded(reason="reply_to_nothing")]


def test_two_flipped_bits_go_wrong_as_often_as_the_spec_says() -> None:
    pairs = wrong = 0
    for frame in _frames():
        for bits in combinations(range(len(frame) * 8), 2):
            pairs += 1
            wrong += bool(_said(_host(outstanding=False), _flipped(frame, *bits)))
    stated = re.search(r"of all (\d+) pairs .*?events, (\d+) \(([\d.]+) %\)", SPEC, re.DOTALL)
    assert stated is not None
    assert (pairs, wrong) == (int(stated[1]), int(stated[2]))
    assert f"{100 * wrong / pairs:.2f}" == stated[3]
