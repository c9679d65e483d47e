"""Streams as lines deliver them: split, cut, flipped, mixed with garbage, without end.

In: examples and bytes at random. Out: that nothing wrong is accepted, nothing is lost between, and
pieces make no difference. Must not know: sessions.
"""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmware_proto.cards import FRENCH52
from firmware_proto.commands import Acknowledge
from firmware_proto.events import CardDrawn, Discarded, HostTraffic, Repeated, Status
from firmware_proto.reference.codec import Decoded, Decoder, Listener, Message, encode
from firmware_proto.reference.framing import MAX_STUFFED_BYTES, FrameError, frame_body
from firmware_proto.session import ReceivedEvent
from shoe_testing.reference_protocol import EXAMPLES, Example, framed_by_the_book

every_example = pytest.mark.parametrize("example", EXAMPLES, ids=str)

frames = st.sampled_from([e.frame for e in EXAMPLES])
garbage = st.binary(max_size=40) | st.binary(min_size=200, max_size=900)
streams = st.lists(frames | garbage, max_size=8).map(b"".join)
BEFORE = encode(
    Message(content=CardDrawn(card=FRENCH52.cards[0], number=1), seq=1, boot_id=1, t_us=1)
)
BEHIND = encode(Message(content=Acknowledge(77)))


def decoded(*chunks: bytes) -> list[Decoded]:
    decoder = Decoder()
    return [found for chunk in chunks for found in decoder.feed(chunk)] + decoder.end()


def messages(found: list[Decoded]) -> list[bytes]:
    return [f.raw.strip(b"\0") for f in found if isinstance(f.content, Message)]


@every_example
def test_no_flipped_bit_is_taken_for_a_message_nor_costs_a_neighbour(example: Example) -> None:
    wanted = [BEFORE.strip(b"\0"), BEHIND.strip(b"\0")]
    for bit in range(8 * len(example.frame)):
        flipped = bytearray(example.frame)
        flipped[bit // 8] ^= 1 << bit % 8
        found = decoded(BEFORE + bytes(flipped) + BEHIND)
        assert messages(found) == wanted
        assert any(isinstance(f.content, Discarded) for f in found)


@every_example
def test_a_cut_at_any_byte_costs_that_frame_alone(example: Example) -> None:
    for size in range(1, len(example.frame) - 1):
        for part in (example.frame[:size], example.frame[-size:]):
            found = decoded(BEFORE + part + BEHIND)
            assert messages(found) == [BEFORE.strip(b"\0"), BEHIND.strip(b"\0")]


@every_example
def test_a_byte_lost_or_doubled_anywhere_gives_nothing_wrong(example: Example) -> None:
    inner = example.frame.strip(b"\0")
    for at in range(len(example.frame)):
        for spoilt in (
            example.frame[:at] + example.frame[at + 1 :],
            example.frame[:at] + example.frame[at : at + 1] * 2 + example.frame[at + 1 :],
        ):
            got = messages(decoded(BEFORE + spoilt + BEHIND))
            assert got[0] == BEFORE.strip(b"\0")
            assert got[-1] == BEHIND.strip(b"\0")
            assert got[1:-1] in ([], [inner])


@given(streams, st.data())
def test_any_split_of_the_same_bytes_gives_the_same(stream: bytes, data: st.DataObject) -> None:
    whole = decoded(stream)
    assert decoded(*(stream[n : n + 1] for n in range(len(stream)))) == whole
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=6)))
    edges = [0, *cuts, len(stream)]
    assert decoded(*(stream[a:b] for a, b in pairwise(edges))) == whole


@given(streams)
def test_every_byte_but_a_delimiter_is_in_exactly_one_piece(stream: bytes) -> None:
    at = 0
    for found in decoded(stream):
        assert found.raw == stream[found.first : found.last]
        assert not stream[at : found.first].strip(b"\0")
        assert at <= found.first < found.last
        at = found.last
    assert not stream[at:].strip(b"\0")


@given(st.lists(frames | garbage.map(lambda g: g.replace(b"\0", b"\1")), max_size=8))
def test_whole_frames_survive_whatever_stands_between_them(parts: list[bytes]) -> None:
    sent = [part.strip(b"\0") for part in parts if part[:1] == b"\0"]
    assert messages(decoded(b"\0", *parts, b"\0")) == sent


@given(st.lists(st.binary(max_size=300), max_size=20))
def test_random_bytes_are_discarded_and_never_raise(chunks: list[bytes]) -> None:
    assert messages(decoded(b"\0", *chunks)) == []


def test_frames_may_share_a_delimiter() -> None:
    a, b = EXAMPLES[2].frame, EXAMPLES[6].frame
    found = decoded(a + b[1:])
    assert messages(found) == [a.strip(b"\0"), b.strip(b"\0")]
    assert [(f.first, f.last) for f in found] == [(0, len(a)), (len(a), len(a) + len(b) - 1)]


def test_a_delimiter_on_its_own_is_not_counted_twice() -> None:
    a, b = EXAMPLES[2].frame, EXAMPLES[6].frame
    assert decoded(b"\0", a, b[1:]) == decoded(b"\0" + a + b[1:])


def test_what_precedes_the_first_delimiter_is_discarded_even_if_it_is_a_frame() -> None:
    frame = EXAMPLES[0].frame
    cut, whole = decoded(frame[1:] + frame)
    assert cut.content == Discarded(reason="before_first_delimiter")
    assert (cut.first, cut.last) == (0, len(frame) - 1)
    assert isinstance(whole.content, Message)


def test_a_line_without_delimiters_is_discarded_piece_by_piece_and_not_kept() -> None:
    decoder = Decoder()
    flood = b"\x55" * 100_000
    found = decoder.feed(b"\0" + flood) + decoder.feed(b"\0" + BEHIND) + decoder.end()
    assert {f.content for f in found[:-1]} == {Discarded(reason="too_long")}
    assert max(len(f.raw) for f in found) <= MAX_STUFFED_BYTES + 1
    assert sum(len(f.raw) for f in found[:-1]) == len(flood) + 2
    assert messages(found) == [BEHIND.strip(b"\0")]


def test_a_flood_before_the_first_delimiter_is_discarded_as_such() -> None:
    found = decoded(b"\x55" * 1000 + b"\0" + BEHIND)
    assert {f.content for f in found[:-1]} == {Discarded(reason="before_first_delimiter")}
    assert messages(found) == [BEHIND.strip(b"\0")]


def test_the_longest_run_that_may_be_a_frame_is_looked_at_and_one_byte_more_is_not() -> None:
    for size, reason in ((MAX_STUFFED_BYTES, "stuffing"), (MAX_STUFFED_BYTES + 1, "too_long")):
        found = decoded(b"\0" + b"\xf3" * size + b"\0")
        first = found[0].content
        assert isinstance(first, Discarded)
        assert first.reason == reason


@pytest.mark.parametrize(
    ("body", "refused"),
    [
        (b"\x02\x84", ("unknown_version",)),
        (b"\x82\x84" + bytes(16), ("unknown_version",)),
        (b"\x81\x84" + bytes(9), ("too_short_for_mac",)),
        (b"\x81\x84" + bytes(17), ("wrong_length", "lock")),
        (b"\x01\x30", ("unknown_kind",)),
        (b"\x01\x84\x00", ("wrong_length", "lock")),
        (b"\x01\x82\x00", ("wrong_length", "acknowledge")),
        (b"\x01\x83\x00\x00\x01\x01", ("field_without_meaning", "arm", "number")),
        (b"\x01\x83\x01\x00\x09\x01", ("field_without_meaning", "arm", "hand")),
        (b"\x01\x12" + bytes(16), ("field_without_meaning", "cutting_card", "seq")),
        (
            b"\x01\x1e\x05" + bytes(15) + b"\x04\0\0\0",
            ("field_without_meaning", "events_lost", "last"),
        ),
        (b"", ("unknown_version",)),
    ],
)
def test_a_sound_frame_that_this_version_has_not_is_discarded_and_named(
    body: bytes, refused: tuple[str, ...]
) -> None:
    [found] = decoded(framed_by_the_book(body))
    assert found.content == FrameError(*refused).discarded()


def test_a_body_that_no_frame_can_hold_is_refused_by_the_sender() -> None:
    with pytest.raises(ValueError, match="240"):
        frame_body(bytes(237))


def test_what_the_profile_has_no_frame_for_is_refused_by_the_sender() -> None:
    for said in (Repeated(of="status"), Discarded(reason="?")):
        with pytest.raises(ValueError, match="no frame"):
            encode(Message(content=said, seq=1, boot_id=1, t_us=1))


@pytest.mark.parametrize(
    "message",
    [
        Message(content=Acknowledge(2**32)),
        Message(content=Acknowledge(-1)),
        Message(content=CardDrawn(card=None, confidence=101), seq=1, boot_id=1, t_us=1),
        Message(content=CardDrawn(card=None), seq=0, boot_id=1, t_us=1),
        Message(content=CardDrawn(card=None), boot_id=1, t_us=1),
        Message(
            content=Status(armed=None, drawn=70_000, unacknowledged=0), seq=1, boot_id=1, t_us=1
        ),
    ],
    ids=repr,
)
def test_a_value_that_does_not_fit_its_field_is_refused_by_the_sender(message: Message) -> None:
    with pytest.raises(ValueError, match="cannot be"):
        encode(message)


def heard(*chunks: bytes) -> list[ReceivedEvent]:
    listener = Listener()
    return [h for chunk in chunks for h in listener.feed(chunk)] + listener.end()


def card_frame(seq: int, boot_id: int = 1, number: int = 1) -> bytes:
    said = CardDrawn(card=FRENCH52.cards[0], number=number)
    return encode(Message(content=said, seq=seq, boot_id=boot_id, t_us=1))


def test_a_listener_shows_an_event_sent_again_as_a_repeat_in_any_order() -> None:
    names = [h.event.type for h in heard(*map(card_frame, (5, 7, 5, 6, 7)))]
    assert names == ["card_drawn", "card_drawn", "repeated", "card_drawn", "repeated"]


def test_a_listener_shows_another_card_under_a_number_already_heard_as_a_card() -> None:
    names = [h.event.type for h in heard(card_frame(5), card_frame(5, number=2))]
    assert names == ["card_drawn", "card_drawn"]


def test_a_listener_takes_no_event_of_another_shoe_for_a_repeat() -> None:
    other = EXAMPLES[1].frame
    names = [h.event.type for h in heard(EXAMPLES[0].frame, card_frame(5), other, card_frame(5))]
    assert names == ["hello", "card_drawn", "hello", "card_drawn"]


def test_a_listener_hears_both_directions_and_says_what_was_left_unfinished() -> None:
    command, rest = heard(BEHIND + BEFORE[:9])
    assert command == ReceivedEvent(
        HostTraffic(command="acknowledge", through=77), None, 0, len(BEHIND)
    )
    assert rest == ReceivedEvent(Discarded(reason="unfinished"), None, len(BEHIND), len(BEHIND) + 9)


@given(streams)
def test_a_listener_reports_as_many_pieces_as_the_decoder_and_in_the_same_places(
    stream: bytes,
) -> None:
    places = [(f.first, f.last) for f in decoded(stream)]
    assert [(h.first, h.last) for h in heard(stream)] == places
