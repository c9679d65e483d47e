"""Angel Eye streams: any split gives the same items, every byte is accounted for, nothing raises.

In: frames, garbage and mixtures. Out: items. Must not know: sessions' memory, time.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmware_proto.angel_eye.codec import CommandDecoder, Decoder, Item, Listener
from firmware_proto.angel_eye.frames import (
    Checks,
    CommandBcc,
    encode_command,
    encode_event,
    encode_reply,
)
from firmware_proto.angel_eye.profile import device_session, host_session
from firmware_proto.angel_eye.scanner import RUN_BYTES
from firmware_proto.cards import card
from firmware_proto.events import (
    CardDrawn,
    CuttingCard,
    Discarded,
    Error,
    Lock,
    PresetChanged,
    Redesignated,
    Reply,
    Result,
    Standby,
    Started,
)

EVENTS = [
    Started(),
    Standby(),
    CuttingCard(),
    CardDrawn(card=card("8S"), hand="player", index=1),
    Redesignated(card=card("KC"), hand="banker", index=3),
    Result(winner="tie", player_pair=True, banker_pair=False),
    Error(code="overdraw", in_error_mode=True),
    Lock(locked=True),
    PresetChanged(address="03", value="0012"),
]
FRAMES = [encode_event(e, s) for e, s in zip(EVENTS, "0123456Fz", strict=True)]
REPLIES = [
    encode_reply(r, framed=f)
    for r in (Reply(accepted=True), Reply(accepted=False, reason="no_etx"))
    for f in (None, CommandBcc.FROM_STX)
]
COMMANDS = [encode_command("LK", "02"), encode_command("GP", "00")]
_special = st.sampled_from([bytes((b,)) for b in b"\x02\x03\x05\x06\x150FDMO\x81"])
_cut = st.builds(
    lambda frame, a, b: frame[a:] + frame[:b],
    st.sampled_from(FRAMES + COMMANDS),
    st.integers(0, 12),
    st.integers(0, 12),
)
_whole = st.sampled_from(FRAMES + REPLIES + COMMANDS)
_noise = st.binary(max_size=6) | st.binary(min_size=60, max_size=140)
streams = st.lists(_whole | _cut | _special | _noise, max_size=12).map(b"".join)
Maker = Callable[[], Decoder | CommandDecoder]


def of_a_shoe() -> Decoder:
    return Decoder(Checks())


def of_a_host() -> CommandDecoder:
    return CommandDecoder(CommandBcc.FROM_STX)


DECODERS = [of_a_shoe, of_a_host]


def _portions(stream: bytes, cuts: list[int]) -> list[bytes]:
    at = [0, *sorted(c % (len(stream) + 1) for c in cuts), len(stream)]
    return [stream[a:b] for a, b in pairwise(at)]


def _items(maker: Maker, portions: list[bytes]) -> list[Item]:
    decoder = maker()
    return [item for portion in portions for item in decoder.feed(portion)] + decoder.end()


def _bytes(stream: bytes) -> list[bytes]:
    return [bytes((b,)) for b in stream]


@pytest.mark.parametrize("maker", DECODERS)
@given(stream=streams, cuts=st.lists(st.integers(0, 10_000), max_size=8))
def test_any_split_gives_the_same_items(maker: Maker, stream: bytes, cuts: list[int]) -> None:
    whole = _items(maker, [stream])
    assert _items(maker, _portions(stream, cuts)) == whole
    assert _items(maker, _bytes(stream)) == whole


@pytest.mark.parametrize("maker", DECODERS)
@given(stream=streams)
def test_every_byte_is_in_exactly_one_item(maker: Maker, stream: bytes) -> None:
    at = 0
    for item in _items(maker, [stream]):
        assert (item.first, item.last) == (at, at + len(item.raw))
        assert item.raw == stream[item.first : item.last] != b""
        at = item.last
    assert at == len(stream)


@given(stream=st.binary(max_size=400))
def test_garbage_raises_nowhere(stream: bytes) -> None:
    host = host_session(resume=None, settings={"commands": True})
    device = device_session(settings={})
    listener = Listener()
    for byte in _bytes(stream):
        host.receive(byte, 0.0)
        device.receive(byte, 0.0)
        listener.feed(byte)
    listener.end()


@given(before=st.binary(max_size=100), frame=st.sampled_from(FRAMES))
def test_whatever_came_before_a_whole_event_after_any_garbage_is_heard(
    before: bytes, frame: bytes
) -> None:
    heard = Decoder(Checks()).feed(before + frame)
    assert heard[-1].raw == frame
    assert not isinstance(heard[-1].content, Discarded)


@given(stream=streams)
def test_little_is_held_back(stream: bytes) -> None:
    decoder = Decoder(Checks())
    reported = sum(len(item.raw) for item in decoder.feed(stream))
    assert len(stream) - reported < RUN_BYTES
    assert decoder.position == len(stream)


def _heard(data: bytes) -> list[tuple[str, str]]:
    """What is said, with reasons, or the kind of event."""
    items = _items(of_a_shoe, [data])
    return [
        (
            i.raw.hex(),
            i.content.reason if isinstance(i.content, Discarded) else type(i.content).__name__,
        )
        for i in items
    ]


CARD = FRAMES[3]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"\x00\xff\x06", [("00ff", "outside_frame"), ("06", "Reply")]),
        (CARD[:4] + CARD, [(CARD[:4].hex(), "cut_short"), (CARD.hex(), "CardDrawn")]),
        (b"\x05" + CARD, [("05", "cut_short"), (CARD.hex(), "CardDrawn")]),
        (b"\x051" + CARD, [("0531", "cut_short"), (CARD.hex(), "CardDrawn")]),
        (b"\x05\x06\x06" + CARD, [("050606", "sequence"), (CARD.hex(), "CardDrawn")]),
        (b"\x051Q\x81\x0340\x06", [("05315181033430", "code"), ("06", "Reply")]),
        (CARD[:5] + b"\x0434\x06", [(CARD[:5].hex() + "043334", "etx"), ("06", "Reply")]),
        (CARD[:6] + b"\x064\x06", [(CARD[:6].hex() + "0634", "bcc"), ("06", "Reply")]),
        (CARD[:6] + b"4f", [(CARD[:6].hex() + "3466", "bcc")]),
        (b"\x15\x02" + CARD, [("1502", "Reply"), (CARD.hex(), "CardDrawn")]),
        (b"\x15\x03\x06", [("1503", "Reply"), ("06", "Reply")]),
        (b"\x15\x06\x06", [("1506", "refusal"), ("06", "Reply")]),
        (b"\x15" + CARD, [("15", "cut_short"), (CARD.hex(), "CardDrawn")]),
        (b"\x02\x41\x03\x30\x30\x06", [("0241033030", "framed"), ("06", "Reply")]),
        (COMMANDS[0][:5] + CARD, [("024f504c4b", "cut_short"), (CARD.hex(), "CardDrawn")]),
        (b"\x02" + CARD, [("02", "cut_short"), (CARD.hex(), "CardDrawn")]),
        (CARD[:3], [(CARD[:3].hex(), "cut_short")]),
    ],
)
def test_what_does_not_fit_costs_itself_and_says_why(
    data: bytes, expected: list[tuple[str, str]]
) -> None:
    assert _heard(data) == expected


def test_endless_garbage_is_reported_in_portions() -> None:
    heard = Decoder(Checks()).feed(b"\x00" * (2 * RUN_BYTES + 1))
    assert [len(item.raw) for item in heard] == [RUN_BYTES, RUN_BYTES]
