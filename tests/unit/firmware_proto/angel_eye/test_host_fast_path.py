"""The fast path of cards, the way of all frames and the declared layouts, held equal.

In: frames, ordinary, damaged, repeated, in any portions, with garbage between them. Out: that a
session returns of each portion what construct reads, and then stands as one without a fast path.
"""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from firmware_proto.angel_eye.fields import ETX
from firmware_proto.angel_eye.frames import (
    CARDS_READ,
    CommandBcc,
    bcc,
    encode_command,
    encode_event,
    encode_reply,
)
from firmware_proto.angel_eye.host import AngelEyeHost
from firmware_proto.angel_eye.scanner import REPEAT_WINDOW, Scanner
from firmware_proto.angel_eye.settings import host_settings
from firmware_proto.cards import FRENCH52, card
from firmware_proto.commands import Armed, Locked, Query
from firmware_proto.events import (
    CardDrawn,
    CardOutsideGame,
    CuttingCard,
    Discarded,
    Error,
    ErrorCleared,
    Lock,
    PresetChanged,
    Redesignated,
    Repeated,
    Reply,
    Result,
    Standby,
    Started,
)
from firmware_proto.session import ReceivedEvent
from shoe_testing.declared_wires import DeclaredAngelEye
from shoe_testing.examples import sampled

CARD = CardDrawn(card=card("8S"), hand="player", index=1)
FRAME = encode_event(CARD, "1")
HANDS = [("player", 1), ("banker", 3), ("burn", None), ("burn_count", 5)]

cards = st.builds(
    lambda face, place: CardDrawn(card=face, hand=place[0], index=place[1]),
    st.sampled_from([*FRENCH52.cards[:3], None]),
    st.sampled_from(HANDS),
)
others = st.sampled_from(
    [
        Started(),
        Standby(),
        CuttingCard(),
        Redesignated(card=card("KC"), hand="banker", index=3),
        CardOutsideGame(card=card("QH"), mode="lock"),
        Result(winner="tie", player_pair=True, banker_pair=False),
        Error(code="overdraw", in_error_mode=True),
        ErrorCleared(code="overdraw"),
        Lock(locked=True),
        Lock(locked=False),
        PresetChanged(address="03", value="0012"),
    ]
)
frames = st.builds(encode_event, cards | cards | others, st.sampled_from("0123456789Az"))


def flipped(frame: bytes, bits: list[int]) -> bytes:
    damaged = bytearray(frame)
    for bit in bits:
        damaged[bit // 8 % len(frame)] ^= 1 << bit % 8
    return bytes(damaged)


replies = [
    encode_reply(reply, framed=framed)
    for reply in (Reply(accepted=True), Reply(accepted=False, reason="no_etx"))
    for framed in (None, CommandBcc.FROM_STX)
]
commands = [encode_command("LK", "02"), encode_command("GP", "00")]
special = st.lists(st.sampled_from(b"\x02\x03\x05\x06\x150FDMO\x81"), max_size=6).map(bytes)
pieces = st.one_of(
    frames,
    frames.map(lambda frame: frame * 3),
    st.builds(flipped, frames, st.lists(st.integers(0, 100), min_size=1, max_size=2)),
    st.builds(lambda frame, a, b: frame[a:b], frames, st.integers(0, 12), st.integers(0, 12)),
    st.sampled_from(replies + commands),
    special | st.binary(max_size=6) | st.binary(min_size=60, max_size=140),
)
streams = st.lists(pieces, max_size=12).map(b"".join)
cuts: st.SearchStrategy[list[int]] = st.one_of(
    st.just([]), st.lists(st.integers(0, 10_000), max_size=12), st.just(list(range(600)))
)


def portions(stream: bytes, cuts: list[int]) -> list[bytes]:
    at = [0, *sorted(cut % (len(stream) + 1) for cut in cuts), len(stream)]
    return [stream[a:b] for a, b in pairwise(at)]


def _one_after_another() -> bytes:
    """The first key comes again with another card, then seven more; then all of them again."""
    faces = FRENCH52.cards[:10]
    sent = [
        encode_event(CardDrawn(card=face, hand="player", index=1), seq)
        for face, seq in zip(faces, "0102345678", strict=True)
    ]
    for frame in sent:
        host().receive(frame, 0.0)
    return b"".join(sent + sent[1:])


def host(**settings: object) -> AngelEyeHost:
    return AngelEyeHost(host_settings(settings))


ONE_AFTER_ANOTHER = _one_after_another()


@given(streams, cuts)
@example(FRAME + flipped(FRAME, [25]) + FRAME * 2, [])
@example(FRAME + b"\x06", [4, 8])
@example(ONE_AFTER_ANOTHER, [])
@example((FRAME + encode_event(Started(), "1")) * 3, [8, 14, 22])
@example(b"\x05\x03" + FRAME[-2:] + FRAME, list(range(600)))
def test_each_portion_gives_what_the_declared_layouts_read(stream: bytes, cuts: list[int]) -> None:
    session, declared = host(), DeclaredAngelEye()
    session.receive(FRAME + FRAME[:1], 0.0)  # a card that was read before
    declared.receive(FRAME + FRAME[:1])
    for portion in portions(stream, cuts):
        assert session.receive(portion, 0.0) == declared.receive(portion)
    assert session.end() == declared.end()


class WithoutFastPath(AngelEyeHost):
    """All bytes go through the scanner."""

    def receive(self, data: bytes, t: float) -> list[ReceivedEvent]:  # noqa: ARG002
        return [
            ReceivedEvent(self._event(item), item.seq, item.first, item.last)
            for item in self._decoder.feed(data)
        ]


def state(session: AngelEyeHost) -> tuple[object, ...]:
    """All that the next bytes could depend on, and what would be sent."""
    scanner = session._scanner
    window = list(session._repeats.frames.items())[-REPEAT_WINDOW:]
    return scanner.rest, scanner.at, window, session.outgoing(), session.next_deadline


ALL_SETTINGS: list[dict[str, object]] = [
    {},
    {"repeats": "seq"},
    {"redesignation": "dealt_anew", "reply_bcc": "after_stx"},
    {"commands": True},
    {"commands": True, "lock_confirmed_by_event": True, "repeats": "seq"},
]


@example({}, FRAME + b"\x06", [4, 8], [])
@example({}, ONE_AFTER_ANOTHER, [], [])
@given(
    st.sampled_from(ALL_SETTINGS),
    streams,
    cuts,
    st.lists(st.sampled_from(["", "lock", "arm", "ask", "tick"]), max_size=12),
)
def test_a_session_with_a_fast_path_then_stands_as_one_without(
    settings: dict[str, object], stream: bytes, cuts: list[int], acts: list[str]
) -> None:
    fast = host(**settings)
    slow = WithoutFastPath(host_settings(settings))
    for number, portion in enumerate(portions(stream, cuts)):
        assert fast.receive(portion, number) == slow.receive(portion, number)
        act = acts[number] if number < len(acts) else ""
        for session in (fast, slow):
            if act in ("lock", "arm"):
                session.set_desired_state(Locked() if act == "lock" else Armed(1, "player", 1))
            elif act == "ask" and settings.get("commands"):
                session.command(Query(command_id=number, what="progress"))
        if act == "tick":
            assert fast.tick(40.0 * number) == slow.tick(40.0 * number)
        assert state(fast) == state(slow)


@pytest.mark.parametrize("cut", [[], [4], list(range(1, 8))], ids=["at once", "in halves", "bytes"])
def test_a_card_that_was_read_before_takes_the_fast_path(
    cut: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    host().receive(FRAME, 0.0)
    monkeypatch.delattr(Scanner, "feed")
    session = host()
    again = encode_event(CARD, "2")
    received = [
        event
        for frame in (FRAME, again, again)
        for portion in portions(frame, cut)
        for event in session.receive(portion, 0.0)
    ]
    assert received == [
        ReceivedEvent(CARD, "1", 0, 8),
        ReceivedEvent(CARD, "2", 8, 16),
        ReceivedEvent(Repeated(of="card_drawn"), "2", 16, 24),
    ]
    assert [type(each) for each in received] == [ReceivedEvent] * 3


def test_several_frames_in_one_portion_take_the_fast_path(monkeypatch: pytest.MonkeyPatch) -> None:
    host().receive(FRAME, 0.0)
    monkeypatch.delattr(Scanner, "feed")
    received = host().receive(FRAME * 3 + FRAME[:5], 0.0)
    assert [each.event for each in received] == [CARD, *[Repeated(of="card_drawn")] * 2]


@pytest.mark.parametrize("place", sampled(range(256), one_in=16, cpu_s=0.1))
def test_every_card_in_every_place_is_read_as_declared_the_first_time_and_again(
    place: int,
) -> None:
    for byte in range(256):
        body = b"1D" + bytes((place, byte, ETX))
        frame = b"\x05" + body + bcc(body)
        wanted = DeclaredAngelEye().receive(frame)
        assert host().receive(frame, 0.0) == wanted
        assert host().receive(frame, 0.0) == wanted


def test_of_every_sequence_character_and_check_only_the_right_ones_are_taken() -> None:
    host().receive(FRAME, 0.0)
    for value in range(256):
        body = bytes((value,)) + FRAME[2:-2]
        check = bytes((value,)).hex().encode()
        for frame in (
            b"\x05" + body + bcc(body),
            FRAME[:-2] + check.upper(),
            FRAME[:-2] + check,
            bytes((value,)) + FRAME[1:],
        ):
            assert host().receive(frame, 0.0) == DeclaredAngelEye().receive(frame)


def test_damaged_frames_are_not_remembered() -> None:
    before = dict(CARDS_READ)
    for bit in range(8, 8 * len(FRAME)):
        received = host().receive(flipped(FRAME, [bit]) + b"\x05", 0.0)
        assert all(isinstance(each.event, Discarded) for each in received)
    assert before == CARDS_READ
