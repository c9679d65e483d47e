"""The fast path of cards, the way of all lines and the declared layouts, held equal.

In: lines, ordinary, damaged, in any portions, with garbage between them. Out: that a decoder
returns of each portion what construct reads, and then stands as one without a fast path.
"""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from firmware_proto.bee_tek import codec, lines
from firmware_proto.bee_tek.codec import Decoder
from firmware_proto.bee_tek.fields import LONGEST_LINE
from firmware_proto.bee_tek.lines import CardForm, TenForm, encode, read_line
from firmware_proto.bee_tek.profile import BeeTekHost
from firmware_proto.cards import FRENCH52, card
from firmware_proto.events import CardDrawn, Error, Warned
from firmware_proto.session import ReceivedEvent
from shoe_testing.declared_wires import DeclaredBeeTek, line_event
from shoe_testing.examples import sampled

CARD = CardDrawn(card=card("4S"))
LINE = encode(CARD)
ALL_LINES = [
    encode(CardDrawn(card=face, hand=hand), form=form, ten=ten)
    for face in FRENCH52.cards
    for hand in (None, "burn")
    for form in CardForm
    for ten in TenForm
]
OTHERS = [
    encode(CardDrawn(card=None)),
    encode(Error(code="E3", text="Card Not Read", place="game")),
    encode(Warned(code="W0x01")),
    b"[game] < card : 10h >\n",
    b" [Game]<HT> \r",
    b"  \r\n",
]
known = st.sampled_from([LINE, encode(CardDrawn(card=card("TH"), hand="burn")), *OTHERS])


def changed(line: bytes, at: int, byte: int) -> bytes:
    return line[: at % len(line)] + bytes((byte,)) + line[at % len(line) + 1 :]


pieces = st.one_of(
    known,
    known,
    st.builds(changed, known, st.integers(0, 50), st.integers(0, 255)),
    st.builds(lambda line, a, b: line[a:b], known, st.integers(0, 40), st.integers(0, 40)),
    st.lists(st.sampled_from(b"\r\n [<>]x"), max_size=6).map(bytes),
    st.builds(lambda size: b"x" * size, st.sampled_from([*range(126, 131), 256, 300])),
    st.binary(max_size=6),
)
streams = st.lists(pieces, max_size=12).map(b"".join)
cuts: st.SearchStrategy[list[int]] = st.one_of(
    st.just([]), st.lists(st.integers(0, 10_000), max_size=12), st.just(list(range(900)))
)


def portions(stream: bytes, cuts: list[int]) -> list[bytes]:
    at = [0, *sorted(cut % (len(stream) + 1) for cut in cuts), len(stream)]
    return [stream[a:b] for a, b in pairwise(at)]


@given(streams, cuts)
@example(LINE[:-1] + b"\r\n" + LINE, [len(LINE) - 1, len(LINE)])
@example(b"x" * (LONGEST_LINE - 1) + b"\r\n" + LINE, [])
@example(b"x" * LONGEST_LINE + LINE + LINE, [LONGEST_LINE, LONGEST_LINE + len(LINE)])
def test_each_portion_gives_what_the_declared_layouts_read(stream: bytes, cuts: list[int]) -> None:
    read_line(LINE[:-2])  # a card that was read before
    session, declared = BeeTekHost(), DeclaredBeeTek()
    for portion in portions(stream, cuts):
        assert session.receive(portion, 0.0) == declared.receive(portion)
    assert session.end() == declared.end()


class WithoutFastPath(Decoder):
    """All bytes go through the path of all lines."""

    def feed(self, data: bytes) -> list[ReceivedEvent]:
        return self._feed_other(self._line + data)


def state(decoder: Decoder) -> tuple[object, ...]:
    """All that the next bytes could depend on."""
    return decoder._line, decoder._first, decoder._too_long, decoder.unfinished, decoder.position


@given(streams, cuts)
def test_a_decoder_with_a_fast_path_then_stands_as_one_without(
    stream: bytes, cuts: list[int]
) -> None:
    fast, slow = Decoder(), WithoutFastPath()
    for portion in portions(stream, cuts):
        assert fast.feed(portion) == slow.feed(portion)
        assert state(fast) == state(slow)


@pytest.mark.parametrize("cut", [[], [9], [18], list(range(20))])
def test_a_card_that_was_read_before_takes_the_fast_path(
    cut: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    read_line(LINE[:-2])
    monkeypatch.delattr(codec, "read_line")
    session = BeeTekHost()
    received = [
        event
        for line in (LINE, LINE)
        for portion in portions(line, cut)
        for event in session.receive(portion, 0.0)
    ]
    size = len(LINE)
    assert received == [
        ReceivedEvent(CARD, None, 0, size),
        ReceivedEvent(CARD, None, size, 2 * size),
    ]
    assert [type(each) for each in received] == [ReceivedEvent] * 2


def test_every_card_in_every_form_is_read_as_declared_the_first_time_and_again() -> None:
    for line in dict.fromkeys(ALL_LINES):
        wanted = [ReceivedEvent(line_event(line[:-2]), None, 0, len(line))]  # type: ignore[arg-type]
        assert BeeTekHost().receive(line, 0.0) == wanted
        assert BeeTekHost().receive(line, 0.0) == wanted


@pytest.mark.parametrize("at", sampled(range(len(LINE)), one_in=6, cpu_s=0.1))
def test_every_changed_byte_of_a_card_is_read_as_declared(at: int) -> None:
    for byte in range(256):
        stream = changed(LINE, at, byte) + LINE
        assert BeeTekHost().receive(stream, 0.0) == DeclaredBeeTek().receive(stream)


def test_no_number_of_ways_to_write_a_card_fills_the_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lines, "MOST_CARD_LINES", len(lines.CARD_LINES) + 1)
    blank = LINE[:-2] + b" " * 20
    for more in range(3):
        line = blank + b"\t" * more + b"\r\n"
        assert [each.event for each in BeeTekHost().receive(line, 0.0)] == [CARD]
    assert len(lines.CARD_LINES) <= lines.MOST_CARD_LINES
