"""A frame between two others on a line without keys, and on one with: what is believed of it.

In: a frame of SPEC.md, bytes in its place. Out: which frames were believed. Must not know: what
was done to the bytes.
"""

from __future__ import annotations

from collections.abc import Callable

from firmware_proto.cards import FRENCH52
from firmware_proto.commands import Acknowledge
from firmware_proto.events import CardDrawn
from firmware_proto.reference.authentication import KeyAuthenticator, ShoeAuthenticator
from firmware_proto.reference.codec import Message, body_of, read
from firmware_proto.reference.framing import FrameError, Splitter, frame_body
from firmware_proto.reference.mac import HostKeys, SessionKeys, ShoeKeys, Transcript
from firmware_proto.reference.packing import FIRST_OF_HOST
from shoe_testing.reference_spec import unstuffed_by_the_book

KEY = bytes(range(32))
TRANSCRIPT = Transcript(1, bytes(16), bytes(range(16)), 7, "SH-1")
CARD = Message(content=CardDrawn(card=FRENCH52.cards[0], number=1), seq=1, boot_id=1, t_us=1)
NEIGHBOUR = {True: body_of(Message(content=Acknowledge(77))), False: body_of(CARD)}
"""By whether a host says it."""


class Line:
    """``before``, ``frame`` and ``behind`` as they are sent; with ``keyed`` each has its MAC."""

    def __init__(self, example: bytes, *, keyed: bool) -> None:
        body = unstuffed_by_the_book(example)[:-4]
        by_host = body[1] >= FIRST_OF_HOST
        bodies = (NEIGHBOUR[by_host], body, NEIGHBOUR[by_host])
        self._read: Callable[[bytes], object] = read
        self._session_keys: SessionKeys | None = None
        if keyed:
            host, shoe = SessionKeys.by_host(TRANSCRIPT, KEY), SessionKeys.by_shoe(TRANSCRIPT, KEY)
            sender, self._session_keys = (host, shoe) if by_host else (shoe, host)
            self._read = _reader(self._session_keys, by_host=by_host)
            bodies = tuple(sender.signer.sign(b) or b"" for b in bodies)  # type: ignore[assignment]
        self.before, self.frame, self.behind = map(frame_body, bodies)

    def believed(self, instead: bytes) -> list[bytes]:
        """The frames, without delimiters, that are believed with this in the frame's place."""
        if self._session_keys is not None:
            self._session_keys.verifier.last = (
                0  # each time is the first: no counter hides a wrong MAC
            )
        splitter = Splitter()
        pieces = splitter.feed(self.before + instead + self.behind) + splitter.end()
        return [piece[0] for piece in pieces if piece[4] is None and self._takes(piece[0])]

    @property
    def neighbours(self) -> list[bytes]:
        """What is to come through whatever stands between."""
        return [self.before.strip(b"\0"), self.behind.strip(b"\0")]

    def _takes(self, stuffed: bytes) -> bool:
        try:
            self._read(stuffed)
        except FrameError:
            return False
        return True


def _reader(agreed: SessionKeys, *, by_host: bool) -> Callable[[bytes], object]:
    if by_host:
        shoe = ShoeAuthenticator(ShoeKeys({1: KEY}, bytes))
        shoe._session_keys = agreed
        return shoe.read
    host = KeyAuthenticator(HostKeys({"SH-1": {1: KEY}}, bytes))
    host._session_keys = agreed
    return lambda stuffed: host.read(stuffed, 0)
