"""The examples of SPEC.md are what the codec reads and writes, and what the SPEC's rules give.

In: SPEC.md. Out: that SPEC, layouts and codec say the same. Must not know: sessions.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from firmware_proto.cards import CARDS
from firmware_proto.commands import (
    Acknowledge,
    Armed,
    Challenge,
    HelloRequest,
    HostMessage,
    Locked,
    Query,
    ReplayRequest,
    Reset,
    RotateKey,
    SetTime,
    Show,
    TestSelf,
)
from firmware_proto.events import ShoeEvent, from_plain, to_plain
from firmware_proto.reference.codec import Decoder, Listener, Message, encode
from firmware_proto.reference.compiled_layouts import COMPILED
from firmware_proto.reference.fields import CARD_CODES
from firmware_proto.reference.framing import MAX_BODY_BYTES
from firmware_proto.reference.packing import FIRST_OF_HOST, Kind
from shoe_testing.reference_protocol import (
    EXAMPLES,
    SPEC,
    Example,
    framed_by_the_book,
    unstuffed_by_the_book,
)

every_example = pytest.mark.parametrize("example", EXAMPLES, ids=str)


COMMANDS: dict[str, Callable[..., HostMessage]] = {
    "hello_request": HelloRequest,
    "acknowledge": Acknowledge,
    "arm": Armed,
    "lock": Locked,
    "replay_from": ReplayRequest,
    "challenge": Challenge,
    "show": Show,
    "reset": Reset,
    "test_self": TestSelf,
    "query": Query,
    "set_time": SetTime,
    "rotate_key": RotateKey,
}


def told(example: Example) -> Message:
    """The message that an example describes."""
    plain = dict(example.plain["said"])
    command = plain.get("command")
    said: ShoeEvent | HostMessage
    if command is None:
        said = from_plain(plain)
    else:
        carried = {name: value for name, value in plain.items() if name not in ("type", "command")}
        if command == "rotate_key":
            carried["key"] = bytes(range(32))  # which no recording shows
        said = COMMANDS[command](**carried)
    seq, boot_id, t_us = (example.plain.get(name) for name in ("seq", "boot_id", "t_us"))
    return Message(content=said, seq=seq, boot_id=boot_id, t_us=t_us)


def test_there_is_an_example_of_every_kind() -> None:
    assert {unstuffed_by_the_book(e.frame)[1] for e in EXAMPLES} == set(Kind)


@every_example
def test_the_frame_says_what_the_spec_says_of_it(example: Example) -> None:
    [found] = Decoder().feed(example.frame)
    assert found.content == told(example)
    assert (found.raw, found.first, found.last) == (example.frame, 0, len(example.frame))
    assert isinstance(found.content, Message)
    assert found.content.raw == example.frame


@every_example
def test_the_codec_writes_the_frame_of_the_spec(example: Example) -> None:
    assert encode(told(example)) == example.frame


@every_example
def test_decode_shows_the_fields_of_the_spec(example: Example) -> None:
    [heard] = Listener().feed(example.frame)
    assert to_plain(heard.event) == example.plain["said"]


@every_example
def test_stuffing_and_crc_are_as_the_spec_says_and_not_as_a_library_does(example: Example) -> None:
    body = unstuffed_by_the_book(example.frame)[:-4]
    assert framed_by_the_book(body) == example.frame


@pytest.mark.parametrize("kind", Kind)
def test_the_spec_gives_the_kind_and_its_exact_length(kind: Kind) -> None:
    text = SPEC.read_text(encoding="utf-8")
    row = re.search(rf"^\| `{kind:02X}` \| {kind.name.lower()} \| (shoe|host) ", text, re.MULTILINE)
    assert row
    assert (row[1] == "host") == (kind >= FIRST_OF_HOST)
    section = text[text.index(f"**{kind.name.lower()}** `{kind:02X}`") :]
    length = re.search(r"\*\*(\d+)\*\*", section)
    assert length
    assert int(length[1]) == COMPILED[kind].frame.size <= MAX_BODY_BYTES


def test_the_longest_frame_leaves_room_for_a_mac() -> None:
    assert max(d.frame.size for d in COMPILED.values()) + 16 <= MAX_BODY_BYTES


def test_every_card_of_both_decks_has_a_code_of_its_own() -> None:
    codes = [code for card, code in CARD_CODES.items() if card is not None]
    assert len(set(codes)) == len(codes) == len(CARDS) == 52 + 65
    assert 0 not in codes
    assert CARD_CODES[CARDS["KC"]] == 0x4D
    assert CARD_CODES[CARDS["Af"]] == 0x51
    assert CARD_CODES[CARDS["Fa"]] == 0x9D
