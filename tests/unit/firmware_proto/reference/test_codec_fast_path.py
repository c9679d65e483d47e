"""The next card's own way and the way of every frame, held equal, with keys and without.

In: feeds of a frame each, ordinary, damaged, forged, out of turn. Out: that a session in one piece
and a session in two hear the same and then are the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from zlib import crc32

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from firmware_proto.cards import ELEMENT65, FRENCH52
from firmware_proto.events import Button, CardDrawn, CuttingCard, Gap, Hello, ShoeEvent, Status
from firmware_proto.reference.authentication import KeyAuthenticator
from firmware_proto.reference.codec import Message, body_of, next_card, read
from firmware_proto.reference.compiled_layouts import COMPILED
from firmware_proto.reference.framing import FrameError, Splitter, frame_body
from firmware_proto.reference.host import ReferenceHost
from firmware_proto.reference.mac import HostKeys, SessionKeys, Transcript
from firmware_proto.reference.messages import CONTENT_OF
from firmware_proto.reference.packing import VERSION, Kind
from firmware_proto.session import ReceivedEvent

KEY = bytes(range(32))
TRANSCRIPT = Transcript(1, bytes(16), bytes(range(16)), 7, "SH-1")
BOOT = 7
CARDS = (*FRENCH52.cards, *ELEMENT65.cards, None)


@dataclass(frozen=True)
class Sent:
    """One frame of a shoe: what it says, and what happened to it on the way."""

    event: ShoeEvent
    ahead: int = 0  # how far its number is from the next
    boot: int = BOOT
    flip: int | None = None
    field: tuple[int, int] | None = None  # a byte of the body, and what it is instead
    cut: tuple[int, int] = (0, 0)  # bytes off its front and off its end
    skipped: int = 0  # frames with a MAC that were lost before it
    twice: bool = False
    noise: bytes = b""  # what the line brings before it

    @property
    def counted(self) -> bool:
        untouched = self.flip is None and self.field is None and self.cut == (0, 0)
        heard = self.noise[-1:] in (b"", b"\0")  # else the noise costs its delimiter
        return untouched and heard and self.ahead == 0 and self.boot == BOOT


cards = st.builds(
    CardDrawn,
    card=st.sampled_from(CARDS),
    number=st.none() | st.integers(1, 65535),
    armed=st.booleans(),
    face_up=st.booleans(),
    confidence=st.none() | st.integers(0, 100),
)
others = st.sampled_from(
    [
        CuttingCard(),
        Button(button=2),
        Gap(first=0, last=0),
        Status(armed=1, drawn=2, unacknowledged=9),
    ]
)
sent = (
    st.builds(Sent, cards)
    | st.builds(Sent, cards | others, twice=st.booleans(), skipped=st.integers(0, 2))
    | st.builds(Sent, cards, ahead=st.integers(-2, 2), boot=st.sampled_from([BOOT, 8]))
    | st.builds(Sent, cards, flip=st.integers(0, 400))
    | st.builds(Sent, cards, field=st.tuples(st.integers(0, 22), st.integers(0, 255)))
    | st.builds(Sent, cards, noise=st.just(b"\0") | st.binary(max_size=60))
    | st.builds(Sent, cards, cut=st.sampled_from([(1, 0), (0, 1), (1, 1)]))
)


class Line:
    """A shoe's frames and two hosts: one that gets each whole, one that gets it in two feeds."""

    def __init__(self, *, keyed: bool) -> None:
        self._signer = SessionKeys.by_shoe(TRANSCRIPT, KEY).signer if keyed else None
        self.whole, self.halved = (ReferenceHost(None, auth=_auth(keyed)) for _ in range(2))
        self._next = 1
        self.heard: list[ReceivedEvent] = []
        hello = Hello(device_id="SH-1", firmware="1", boot_id=BOOT, deck="french52")
        self.put(self._frame(body_of(Message(content=hello, seq=1, boot_id=BOOT, t_us=1))))

    def send(self, sent: Sent) -> None:
        seq = max(1, self._next + sent.ahead)
        event = sent.event
        if isinstance(event, Gap):
            event = Gap(first=seq, last=seq)
        body = bytearray(body_of(Message(content=event, seq=seq, boot_id=sent.boot, t_us=9)))
        if sent.field is not None and sent.field[0] < len(body):
            body[sent.field[0]] = sent.field[1]
        for _ in range(sent.skipped):
            self._frame(bytes(body))
        frame = bytearray(self._frame(bytes(body)))
        if sent.flip is not None:
            at = sent.flip % (8 * len(frame))
            frame[at // 8] ^= 1 << at % 8
        if sent.noise:
            self.put(sent.noise)
        for _ in range(1 + sent.twice):
            self.put(bytes(frame)[sent.cut[0] : len(frame) - sent.cut[1]])
        if sent.counted and not isinstance(event, Status):
            self._next += 1

    def put(self, data: bytes) -> None:
        half = len(data) // 2
        heard = self.whole.receive(data, 1.0)
        assert heard == self.halved.receive(data[:half], 1.0) + self.halved.receive(
            data[half:], 1.0
        )
        assert [type(h) for h in heard] == [ReceivedEvent] * len(heard)
        self.heard += heard

    def _frame(self, body: bytes) -> bytes:
        return frame_body(body if self._signer is None else self._signer.sign(body) or b"")


def _auth(keyed: bool) -> KeyAuthenticator | None:
    if not keyed:
        return None
    auth = KeyAuthenticator(HostKeys({"SH-1": {1: KEY}}, bytes))
    auth._session_keys = SessionKeys.by_host(TRANSCRIPT, KEY)
    return auth


def state(session: ReferenceHost) -> tuple[object, ...]:
    """All that the next frame could depend on, and what would be said."""
    splitter, auth = session._splitter, session._auth
    last = (
        auth._session_keys.verifier.last
        if isinstance(auth, KeyAuthenticator) and auth._session_keys
        else None
    )
    stands = (splitter._rest, splitter._why, splitter.at, splitter.lead, splitter.between_frames)
    return (session._expected, session._received_t, last, *stands, session.outgoing())


DRAWN = CardDrawn(card=CARDS[0], number=1, armed=True, face_up=False)


@pytest.mark.parametrize("keyed", [False, True], ids=["open", "keyed"])
@given(st.lists(sent, max_size=8))
@example([Sent(DRAWN, noise=b"\0"), Sent(DRAWN)])
@example([Sent(DRAWN), Sent(DRAWN, field=(1, Kind.CUTTING_CARD)), Sent(DRAWN, field=(1, 0xEE))])
@example(
    [
        Sent(CardDrawn(card=card, number=n, armed=True, face_up=False))
        for n, card in enumerate(CARDS, 1)
    ]
)
def test_both_ways_hear_the_same_and_then_stand_alike(keyed: bool, frames: list[Sent]) -> None:
    line = Line(keyed=keyed)
    for each in frames:
        line.send(each)
        assert state(line.whole) == state(line.halved)


@pytest.mark.parametrize("keyed", [False, True], ids=["open", "keyed"])
def test_an_ordinary_card_goes_its_own_way(keyed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    line = Line(keyed=keyed)
    line.send(Sent(CuttingCard()))  # with keys, the first that is heard under the agreement
    frame = line._frame(body_of(Message(content=DRAWN, seq=2, boot_id=BOOT, t_us=9)))
    monkeypatch.delattr(Splitter, "feed")
    [heard] = line.whole.receive(frame, 2.0)
    assert (heard.event, heard.seq) == (DRAWN, 2)


def test_every_flipped_bit_of_a_card_with_a_mac_is_left_untaken() -> None:
    signer, verifier = (
        SessionKeys.by_shoe(TRANSCRIPT, KEY).signer,
        SessionKeys.by_host(TRANSCRIPT, KEY).verifier,
    )
    body = signer.sign(body_of(Message(content=DRAWN, seq=1, boot_id=BOOT, t_us=9))) or b""
    splitter = Splitter()
    splitter.feed(b"\0")
    for bit in range(8 * len(body)):
        damaged = bytearray(body)
        damaged[bit // 8] ^= 1 << bit % 8
        # A new CRC each time: it is the MAC, or the field itself, that has to refuse it.
        assert next_card(frame_body(bytes(damaged)), splitter, verifier, 1, BOOT) is None
        assert (verifier.last, splitter.at) == (0, 1)
    taken = next_card(frame_body(body), splitter, verifier, 1, BOOT)
    assert taken is not None and taken.event == DRAWN
    assert verifier.last == 1
    assert next_card(frame_body(body), splitter, verifier, 1, BOOT) is None  # sent before


def test_a_card_in_the_wrong_wrapping_is_left_untaken() -> None:
    body = body_of(Message(content=DRAWN, seq=1, boot_id=BOOT, t_us=9))
    verifier = SessionKeys.by_host(TRANSCRIPT, KEY).verifier
    splitter = Splitter()
    splitter.feed(b"\0")
    for version in (0, 2, 0x81):
        assert next_card(frame_body(bytes((version,)) + body[1:]), splitter, None, 1, BOOT) is None
    other_kind = bytes((body[0], Kind.CUTTING_CARD)) + body[2:]
    assert next_card(frame_body(other_kind), splitter, None, 1, BOOT) is None
    assert next_card(frame_body(body), splitter, verifier, 1, BOOT) is None
    assert next_card(frame_body(body), splitter, None, 1, BOOT) is not None


def outcome(read: Callable[[], object]) -> object:
    try:
        return read()
    except FrameError as error:
        return error.reason, error.of, error.field


@given(kind=st.sampled_from([Kind.ACKNOWLEDGE, Kind.ARM]), payload=st.binary(max_size=6))
@example(kind=Kind.ACKNOWLEDGE, payload=b"\x07\0\0\0")
@example(kind=Kind.ARM, payload=b"\x07\0\x01\x02")
@example(kind=Kind.ARM, payload=b"\0\0\x01\x02")  # no draw has the number 0
@example(kind=Kind.ARM, payload=b"\x07\0\xff\x02")  # nor a hand this code
def test_what_a_host_sends_for_each_card_is_read_as_its_layout_says(
    kind: Kind, payload: bytes
) -> None:
    body = bytes((VERSION, kind)) + payload
    layout = COMPILED[kind]
    found = outcome(lambda: read(frame_body(body)[1:-1]))
    assert found == outcome(
        lambda: (
            kind,
            CONTENT_OF[kind](layout.unpack(body + crc32(body).to_bytes(4, "little"))),
            0,
            0,
            0,
        )
    )
