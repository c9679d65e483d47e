"""Frames as a shoe would send them, and what a host's session makes of them and sends.

In: events, numbers, boots. Out: frames; what was given; what was sent. Must not know: the tests.
"""

from __future__ import annotations

from firmware_proto.events import Hello, ShoeEvent, Status
from firmware_proto.reference.codec import Decoder, Message, encode
from firmware_proto.reference.host import ReferenceHost
from firmware_proto.session import Resume
from shoe_testing.reference_protocol import card_event


def frame(event: ShoeEvent, seq: int, boot_id: int = 1) -> bytes:
    return encode(Message(content=event, seq=seq, boot_id=boot_id, t_us=9))


def hello(
    seq: int, *, device: str = "SH-1", boot: int = 1, oldest: int | None = None, arm: bool = True
) -> bytes:
    event = Hello(
        device_id=device,
        firmware="1",
        boot_id=boot,
        deck="french52",
        oldest_seq=oldest,
        can_arm=arm,
    )
    return frame(event, seq, boot)


def status(
    seq: int, *, armed: int | None = None, drawn: int = 0, boot: int = 1, unheard: int = 9
) -> bytes:
    return frame(Status(armed=armed, drawn=drawn, unacknowledged=unheard), seq, boot)


def card(seq: int, boot: int = 1) -> bytes:
    return frame(card_event(seq), seq, boot)


def given_by(session: ReferenceHost, *frames: bytes) -> list[tuple[ShoeEvent, int | str | None]]:
    return [(h.event, h.seq) for f in frames for h in session.receive(f, 1.0)]


def names(session: ReferenceHost, *frames: bytes) -> list[str]:
    return [event.type for event, _ in given_by(session, *frames)]


def sent(session: ReferenceHost) -> list[object]:
    found = Decoder().feed(b"\0" + session.outgoing())
    assert all(isinstance(f.content, Message) for f in found)
    return [f.content.content for f in found if isinstance(f.content, Message)]


def met(seq: int = 1, resume: Resume | None = None) -> ReferenceHost:
    """A session that has had hello, stored it, and sent what there was to send."""
    session = ReferenceHost(resume)
    for heard in session.receive(hello(seq), 1.0):
        if heard.seq is not None:
            session.stored(heard.seq)
    session.outgoing()
    return session
