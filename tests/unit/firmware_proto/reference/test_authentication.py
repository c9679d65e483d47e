"""The exchange with a key in SPEC.md: what both ends send is what it says, byte for byte.

In: SPEC.md, sections 7, 11 and 12. Out: that code and SPEC agree, and both with RFC 7693.
Must not know: how a line spoils frames.
"""

from __future__ import annotations

from firmware_proto.cards import card
from firmware_proto.commands import Armed, HelloRequest, RotateKey
from firmware_proto.events import Authenticated, CardDrawn, Challenged, Hello, Status, to_plain
from firmware_proto.reference.authentication import KeyAuthenticator, ShoeAuthenticator
from firmware_proto.reference.codec import Listener
from firmware_proto.reference.device import ReferenceDevice
from firmware_proto.reference.host import ReferenceHost
from firmware_proto.reference.mac import HostKeys, ShoeKeys
from firmware_proto.session import Resume
from shoe_testing.reference_protocol import (
    EXAMPLES,
    SEALED_EXAMPLES,
    SPEC,
    blake2s_by_the_book,
    unstuffed_by_the_book,
)

KEY, NEW_KEY = bytes(range(32)), bytes(range(0x40, 0x60))
HOST_NONCE, SHOE_NONCE = bytes(range(0x10, 0x20)), bytes(range(0x20, 0x30))
FRAMES = {e.name: e.frame for e in (*EXAMPLES, *SEALED_EXAMPLES)}
PLAIN = {e.name: e.frame for e in EXAMPLES}
DIGEST = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"


def secret(label: int, more: bytes = b"") -> bytes:
    """H of SPEC 7, by the book."""
    agreed = bytes([label, 2, 0, 0, 0]) + HOST_NONCE + SHOE_NONCE + bytes([7, 0, 0, 0])
    return blake2s_by_the_book(KEY, agreed + b"SH-0042".ljust(36, b"\0") + more)


def test_proof_and_mac_keys_are_as_the_spec_says() -> None:
    answer = unstuffed_by_the_book(PLAIN["challenge_answered"])
    assert answer[-20:-4] == secret(1)[:16]
    text = SPEC.read_text(encoding="utf-8")
    assert f"shoe's frames | `{secret(2).hex().upper()}`" in text
    assert f"host's frames | `{secret(3).hex().upper()}`" in text


def test_every_mac_is_as_the_spec_says_and_not_as_a_library_does() -> None:
    assert len(SEALED_EXAMPLES) == 7
    for example in SEALED_EXAMPLES:
        frame = unstuffed_by_the_book(example.frame)
        signed, mac = frame[:-16], frame[-16:-4]
        label = {"shoe": 2, "host": 3}[example.plain["sealed_by"]]
        assert blake2s_by_the_book(secret(label), signed)[:12] == mac
        assert int.from_bytes(signed[-4:], "little") == example.plain["counter"]


def test_decode_shows_what_sealed_frames_say_without_any_key() -> None:
    for example in SEALED_EXAMPLES:
        [heard] = Listener().feed(example.frame)
        plain = to_plain(heard.event)
        plain.pop("resumed", None)
        assert plain == {k: v for k, v in example.plain["said"].items() if k != "resumed"}


def test_both_ends_say_what_the_spec_shows() -> None:
    shoe_keys = ShoeKeys({1: bytes(32), 2: KEY}, lambda: SHOE_NONCE)
    host = ReferenceHost(
        Resume("SH-0042", 813),
        auth=KeyAuthenticator(HostKeys({"SH-0042": {2: KEY}}, lambda: HOST_NONCE)),
    )
    shoe = ReferenceDevice(ShoeAuthenticator(shoe_keys))
    host.set_desired_state(Armed(58, "banker", 2))
    assert shoe.receive(host.outgoing(), 1.0) == [HelloRequest()]
    shoe.send(full_hello(), seq=814, t_us=2_500_000)
    introduction = shoe.outgoing()
    assert introduction == FRAMES["hello, an introduction"]
    [challenged] = host.receive(introduction, 1.0)
    assert challenged.event == Challenged(device_id="SH-0042", key_id=2, nonce=HOST_NONCE.hex())
    challenge = host.outgoing()
    assert challenge == PLAIN["challenge"]
    assert shoe.receive(challenge, 1.0) == []
    answer = shoe.outgoing()
    assert (
        unstuffed_by_the_book(answer)[18:][4:-4]
        == unstuffed_by_the_book(PLAIN["challenge_answered"])[18:][4:-4]
    )
    [authenticated] = host.receive(answer, 1.0)
    assert isinstance(authenticated.event, Authenticated)
    assert authenticated.event.shoe_nonce == SHOE_NONCE.hex()
    assert host.outgoing() == SEALED_EXAMPLES[0].frame
    assert shoe.receive(SEALED_EXAMPLES[0].frame, 1.1) == [HelloRequest()]
    assert shoe_keys.keys == {2: KEY}
    shoe.send(full_hello(), seq=814, t_us=2_501_000)
    shoe.send(Status(armed=None, drawn=57, unacknowledged=0), seq=814, t_us=2_502_000)
    said = shoe.outgoing()
    assert said == SEALED_EXAMPLES[1].frame + SEALED_EXAMPLES[2].frame
    hello, _ = host.receive(said, 1.2)
    assert (hello.event, hello.seq) == (full_hello(resumed=True), 813)
    assert host.outgoing() == SEALED_EXAMPLES[3].frame + SEALED_EXAMPLES[4].frame
    shoe.receive(SEALED_EXAMPLES[3].frame + SEALED_EXAMPLES[4].frame, 1.2)
    drawn = CardDrawn(card=card("8S"), number=58, armed=True, confidence=99)
    shoe.send(drawn, seq=814, t_us=5_123_456)
    sealed_card = shoe.outgoing()
    assert sealed_card == SEALED_EXAMPLES[5].frame
    [heard] = host.receive(sealed_card, 1.3)
    assert (heard.event, heard.seq) == (drawn, 814)
    host.command(RotateKey(20, 3, NEW_KEY))
    assert SEALED_EXAMPLES[6].frame in host.outgoing()
    assert shoe.receive(SEALED_EXAMPLES[6].frame, 1.4) == [RotateKey(20, 3, NEW_KEY)]


def full_hello(*, resumed: bool = False) -> Hello:
    return Hello(
        device_id="SH-0042",
        firmware="1.4.0",
        firmware_digest=DIGEST,
        boot_id=7,
        deck="french52",
        decks=8,
        set_id="SH-0042-19",
        drawn=57,
        oldest_seq=814,
        can_arm=True,
        authenticates=True,
        resumed=resumed,
    )


def test_a_new_key_is_carried_as_the_spec_says() -> None:
    mask = secret(4, bytes([20, 0, 0, 0, 3, 0, 0, 0]))
    wrapped = unstuffed_by_the_book(SEALED_EXAMPLES[6].frame)[10:42]
    assert bytes(a ^ b for a, b in zip(wrapped, mask, strict=True)) == NEW_KEY
