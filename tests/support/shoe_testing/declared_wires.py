"""The vendors' wires read straight from their construct declarations: slow, and as SPEC.md says.

In: what a shoe sends, in any portions. Out: what a host that only listens has to return of each
portion. Nothing of the sessions, their scanners or their compiled layouts is used.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from construct import Construct, ConstructError, Container

from firmware_proto.angel_eye import layouts as angel_eye
from firmware_proto.bee_tek import layouts as bee_tek
from firmware_proto.events import Discarded, Repeated, ShoeEvent, Started, from_plain
from firmware_proto.session import ReceivedEvent

ENQ, STX, ETX, ACK, NAK = b"\x05\x02\x03\x06\x15"
PAYLOAD_BYTES = {**dict.fromkeys(b"SPC", 0), **dict.fromkeys(b"DRd", 2)}
PAYLOAD_BYTES |= {**dict.fromkeys(b"GEeL", 1), ord("M"): 6}
FRAMED_BYTES = {ACK: 5, NAK: 6, ord("O"): 10}
LONGEST_RUN = 64
WINDOW = 8
TYPES = {
    "S": "started", "P": "standby", "C": "cutting_card", "D": "card_drawn", "R": "redesignated",
    "d": "card_outside_game", "G": "result", "E": "error", "e": "error_cleared", "L": "lock",
    "M": "preset_changed",
}  # fmt: skip
FLAGS = ("player_pair", "banker_pair", "in_error_mode", "locked")
HEX = b"0123456789ABCDEF"


def parsed(layout: Construct, data: bytes) -> Any:
    """What construct reads, or None."""
    try:
        return layout.parse(data)
    except ConstructError:
        return None


def fields_of(container: Any) -> Iterator[tuple[str, Any]]:
    """The fields of a container and of those in it; a list of characters as text."""
    for name, value in (container or {}).items():
        if isinstance(value, Container):
            yield from fields_of(value)
        elif name != "_io":
            yield name, bytes(value).decode() if isinstance(value, list) else value


class Misfit(NamedTuple):
    """Why no frame begins so, and the bytes of which each ends such a run."""

    reason: str
    ends: bytes


class DeclaredAngelEye:
    """A host that only listens, with the settings that are the default."""

    def __init__(self) -> None:
        self._bytes = b""
        self._at = 0
        self._latest = b""
        self._window: list[tuple[bytes, bytes]] = []

    def receive(self, data: bytes) -> list[ReceivedEvent]:
        found = []
        for byte in data:
            self._bytes += bytes((byte,))
            while (size := self._complete()) > 0:
                found.append(self._received(size))
        return found

    def end(self) -> list[ReceivedEvent]:
        if not self._bytes:
            return []
        begins = self._begins()
        reason = begins.reason if isinstance(begins, Misfit) else "cut_short"
        at = self._at
        return [ReceivedEvent(Discarded(reason=reason), None, at, at + len(self._bytes))]

    def _begins(self) -> int | Misfit:
        """The length of the frame that begins here, 0 if it is not known yet."""
        first, *more = self._bytes[:3]
        if first not in (ENQ, STX, ACK, NAK):
            return Misfit("outside_frame", bytes((ENQ, STX, ACK, NAK)))
        if first == ENQ:
            return self._begins_event(more)
        if first == ACK:
            return 1
        if more[:1] == [ENQ]:
            return Misfit("cut_short", b"\x05")
        if first == NAK or not more:
            return 2 if first == NAK else 0
        return FRAMED_BYTES.get(more[0]) or Misfit("framed", b"\x05")

    @staticmethod
    def _begins_event(more: list[int]) -> int | Misfit:
        if more[:1] and not bytes(more[:1]).isalnum():
            return Misfit("cut_short" if more[0] == ENQ else "sequence", b"\x05")
        if len(more) < 2:
            return 0
        if more[1] not in PAYLOAD_BYTES:
            return Misfit("cut_short" if more[1] == ENQ else "code", b"\x05")
        return 3 + PAYLOAD_BYTES[more[1]] + 3

    def _complete(self) -> int:
        """The bytes of the first piece, 0 while it has no end."""
        if not self._bytes:
            return 0
        begins, size = self._begins(), len(self._bytes)
        if isinstance(begins, Misfit):
            if size > 1 and self._bytes[-1] in begins.ends:
                return size - 1
            is_tail = self._bytes[-3:-2] == b"\x03" and all(b in HEX for b in self._bytes[-2:])
            return size if is_tail or size == LONGEST_RUN else 0
        if ENQ in self._bytes[1:]:
            return self._bytes.index(b"\x05", 1)
        return begins if begins == size else 0

    def _received(self, size: int) -> ReceivedEvent:
        begins = self._begins()
        raw, self._bytes = self._bytes[:size], self._bytes[size:]
        first, self._at = self._at, self._at + size
        if isinstance(begins, Misfit):
            return ReceivedEvent(Discarded(reason=begins.reason), None, first, self._at)
        if size != begins:
            return ReceivedEvent(Discarded(reason="cut_short"), None, first, self._at)
        event = self._event(raw)
        is_event = raw[0] == ENQ and not isinstance(event, Discarded)
        seq = chr(raw[1]) if is_event else None
        if is_event:
            event = self._fresh_or_repeated(event, raw)
        return ReceivedEvent(event, seq, first, self._at)

    def _event(self, raw: bytes) -> ShoeEvent:
        if raw[0] in (ACK, NAK):
            known = parsed(angel_eye.REPLY, raw) is not None
            return Discarded(reason="reply_to_nothing" if known else "refusal")
        body, check = raw[:-2], raw[-2:]
        if body[-1] != ETX:
            return Discarded(reason="etx")
        value = 0
        for byte in body if raw[0] == STX else body[1:]:
            value ^= byte
        if check != b"%02X" % value:
            return Discarded(reason="bcc")
        if raw[0] == STX:
            if raw[1] != ord("O"):
                return self._event(body[1:-1])
            is_command = parsed(angel_eye.COMMAND, body) is not None
            return Discarded(reason="host_command" if is_command else "layout")
        frame = parsed(angel_eye.EVENT, body)
        return Discarded(reason="layout") if frame is None else _event_of(frame)

    def _fresh_or_repeated(self, event: ShoeEvent, raw: bytes) -> ShoeEvent:
        directly, self._latest = raw == self._latest, raw
        known = dict(self._window).get(raw[1:3])
        if directly or (known == raw and not isinstance(event, Started)):
            return Repeated(of=event.type)
        if isinstance(event, Started):
            self._window = []
        kept = [(key, frame) for key, frame in self._window if key != raw[1:3]]
        self._window = [*kept, (raw[1:3], raw)][-WINDOW:]
        return event


def _event_of(frame: Any) -> ShoeEvent:
    fields = dict(fields_of(frame.data))
    if "suit" in fields:
        suit, rank = fields.pop("suit"), fields.pop("rank")
        fields["card"] = rank + suit if suit else None
    for name in ("index", "code"):
        if fields.get(name) == 0:
            fields[name] = None
    plain = {name: bool(value) if name in FLAGS else value for name, value in fields.items()}
    meaning = {"meaning": "next_round"} if frame.code == "R" else {}
    return from_plain({"type": TYPES[frame.code], **plain, **meaning})


LONGEST_LINE = 128
HANDS = {"game": None, "manual burn cards": "burn"}
PLACES = {"game": "game", "manual burn cards": "burn", "gamealarm": None}


class DeclaredBeeTek:
    """A host: what each line says."""

    def __init__(self) -> None:
        self._line = b""
        self._at = 0
        self._too_long = False

    def receive(self, data: bytes) -> list[ReceivedEvent]:
        found: list[ReceivedEvent] = []
        for byte in data:
            if self._line[-1:] == b"\r" and byte != 0x0A:
                found += self._ended()
            self._line += bytes((byte,))
            if byte == 0x0A:
                found += self._ended()
            elif byte != 0x0D and len(self._line) == LONGEST_LINE:
                self._too_long = True
                found += self._given(Discarded(reason="too_long"))
        return found

    def end(self) -> list[ReceivedEvent]:
        if self._line[-1:] == b"\r":
            return self._ended()
        return self._given(Discarded(reason="cut_short")) if self._line else []

    def _ended(self) -> list[ReceivedEvent]:
        text = self._line.rstrip(b"\r\n")
        event = Discarded(reason="too_long") if self._too_long else line_event(text)
        self._too_long = False
        return self._given(event if text else None)

    def _given(self, event: ShoeEvent | None) -> list[ReceivedEvent]:
        first, self._at = self._at, self._at + len(self._line)
        self._line = b""
        return [] if event is None else [ReceivedEvent(event, None, first, self._at)]


def line_event(line: bytes) -> ShoeEvent | None:
    """What a line without its end says; None for blanks."""
    if any(byte != 0x09 and not 0x20 <= byte < 0x7F for byte in line):
        return Discarded(reason="not_text")
    if not line.strip():
        return None
    tagged = parsed(bee_tek.TAGGED_LINE, line)
    if tagged is None:
        return _warning(line)
    tag, token = " ".join(tagged.tag.split()).lower(), tagged.token.encode()
    if tag not in PLACES:
        return Discarded(reason="tag")
    if tag in HANDS and parsed(bee_tek.ALARM_START, token) is None:
        return _card(token, HANDS[tag])
    for layout in (bee_tek.ALARM_CODE, bee_tek.ALARM_WITH_TEXT):
        if (alarm := parsed(layout, token)) is not None:
            more = {"text": alarm.get("text"), "place": PLACES[tag]}
            return from_plain({"type": "error", "code": alarm.code.upper(), **more})
    return Discarded(reason="alarm")


def _warning(line: bytes) -> ShoeEvent:
    bare = parsed(bee_tek.BARE_LINE, line)
    if bare is None:
        return Discarded(reason="form")
    if parsed(bee_tek.WARNING, bare.token.encode()) is None:
        return Discarded(reason="tag")
    return from_plain({"type": "warning", "code": bare.token})


def _card(token: bytes, hand: str | None) -> ShoeEvent:
    if token.lower() == b"game":
        return from_plain({"type": "card_drawn", "hand": hand})
    for form in bee_tek.CARDS.values():
        if (card := parsed(form, token)) is not None:
            code = ("T" if card.rank == "10" else card.rank.upper()) + card.suit.upper()
            return from_plain({"type": "card_drawn", "card": code, "hand": hand})
    return Discarded(reason="card")
