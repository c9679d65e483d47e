"""Someone else on the line: what is made up, altered, sent again or sent back is refused and told.

In: two ends with keys, and frames that neither sent just then. Out: events, reasons.
Must not know: how MACs are made.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from firmware_proto.cards import FRENCH52
from firmware_proto.commands import Acknowledge, Armed, Challenge, HelloRequest, Locked
from firmware_proto.events import (
    CANNOT_AUTHENTICATE,
    HOST_WITHOUT_KEY,
    NO_KEY,
    WRONG_PROOF,
    Authenticated,
    AuthenticationFailed,
    CardDrawn,
    ChallengeAnswered,
    Challenged,
    Discarded,
    Hello,
    KeyRotated,
    Repeated,
    ShoeEvent,
    Status,
)
from firmware_proto.reference.codec import Decoder, Message, body_of, encode
from firmware_proto.reference.framing import frame_body
from firmware_proto.reference.mac import (
    BAD_MAC,
    NO_SESSION,
    SENT_BEFORE,
    HostKeys,
    MacSigner,
    ShoeKeys,
)
from firmware_proto.reference.packing import VERSION_WITH_MAC
from shoe_testing.reference_protocol import KEY, Ends, Host, Shoe, keyed, nonces, us

OTHER_KEY = bytes(32)
FORGED = CardDrawn(card=FRENCH52.cards[0], number=1, armed=True)


def agreed() -> Ends:
    """Ends that agreed on a key and are quiet."""
    ends = keyed()
    ends.connect()
    ends.run(0.5)
    return ends


def frames(chunks: list[bytes]) -> list[bytes]:
    """Each frame with its delimiters; a stuffed frame holds no other 00."""
    return [b"\0" + piece + b"\0" for chunk in chunks for piece in chunk.split(b"\0") if piece]


def given(ends: Ends, data: bytes) -> list[ShoeEvent]:
    return [h.event for h in ends.host.session.receive(data, ends.t)]


def test_ends_with_the_same_key_agree_and_everything_comes_through() -> None:
    ends = agreed()
    ends.shoe.draw(ends.t)
    ends.host.session.set_desired_state(Armed(2, "banker", 1))
    ends.run(0.5)
    assert [h.event.type for h in ends.host.given] == [
        "challenged", "authenticated", "hello", "status", "card_drawn", "status", "status",
    ]  # fmt: skip
    assert ends.shoe.armed == 2
    assert ends.host.session.capabilities.authenticated


def test_a_forged_card_without_a_mac_is_refused() -> None:
    ends = agreed()
    forged = encode(Message(content=FORGED, seq=1, boot_id=1, t_us=1))
    assert given(ends, forged) == [Discarded(reason="no_mac", of="card_drawn")]


@pytest.mark.parametrize("key", [OTHER_KEY, KEY], ids=["another key", "the shared key itself"])
def test_a_forged_card_with_a_mac_of_another_key_is_refused(key: bytes) -> None:
    ends = agreed()
    body = body_of(Message(content=FORGED, seq=1, boot_id=1, t_us=1))
    sealed = MacSigner(key).sign(body)
    assert sealed is not None
    assert given(ends, frame_body(sealed)) == [Discarded(reason=BAD_MAC)]


def test_any_altered_byte_is_refused_even_if_the_crc_is_made_to_fit() -> None:
    ends = agreed()
    ends.shoe.draw(ends.t)
    from cobs import cobs

    body = cobs.decode(frames([ends.shoe.session.outgoing()])[0].strip(b"\0"))[:-4]
    assert body[0] == VERSION_WITH_MAC
    for at in range(1, len(body)):
        altered = body[:at] + bytes([body[at] ^ 1]) + body[at + 1 :]
        assert given(ends, frame_body(altered)) == [Discarded(reason=BAD_MAC)]
    assert [e.type for e in given(ends, frame_body(body))] == ["card_drawn"]


def test_a_frame_of_this_connection_sent_again_is_refused() -> None:
    ends = agreed()
    ends.shoe.draw(ends.t)
    [card, status] = frames([ends.shoe.session.outgoing()])
    assert [e.type for e in given(ends, card + status)] == ["card_drawn", "status"]
    assert given(ends, card) == [Discarded(reason=SENT_BEFORE)]


def test_frames_of_this_connection_in_another_order_are_refused() -> None:
    ends = agreed()
    ends.shoe.draw(ends.t)
    [card, status] = frames([ends.shoe.session.outgoing()])
    assert [e.type for e in given(ends, status)] == ["status"]
    assert given(ends, card) == [Discarded(reason=SENT_BEFORE)]


def test_frames_of_an_earlier_connection_are_refused_by_both() -> None:
    ends = agreed()
    ends.shoe.draw(ends.t)
    old_card = frames([ends.shoe.session.outgoing()])[0]
    ends.host.session.set_desired_state(Armed(2, "player", 2))
    ends.run(0.04)
    old_arm = frames(ends.from_host)[-1]
    ends.connect()
    ends.run(0.5)
    assert given(ends, old_card) == [Discarded(reason=BAD_MAC)]
    assert ends.shoe.session.receive(old_arm, ends.t) == [Discarded(reason=BAD_MAC)]


def test_a_whole_earlier_connection_played_to_a_host_gives_nothing() -> None:
    first = agreed()
    first.shoe.draw(first.t)
    first.run(0.5)
    recorded = b"".join(first.from_shoe)
    host = Host(keys=HostKeys({"SH-1": {1: KEY}}, nonces(99)))
    host.connect()
    heard = host.session.receive(recorded, 1.0)
    kinds = {h.event.type for h in heard}
    assert kinds == {"challenged", "authentication_failed", "discarded"}
    assert all(h.seq is None for h in heard)
    assert {h.event.reason for h in heard if isinstance(h.event, Discarded)} == {NO_SESSION}


def test_a_frame_sent_back_to_its_sender_is_refused_by_both() -> None:
    ends = agreed()
    ends.shoe.draw(ends.t)
    [card, *_] = frames([ends.shoe.session.outgoing()])
    ends.host.session.set_desired_state(Armed(2, "banker", 1))
    arms = frames([ends.host.session.outgoing()])
    assert arms
    assert ends.shoe.session.receive(card, ends.t) == [Discarded(reason=BAD_MAC)]
    assert {e.reason for e in given(ends, b"".join(arms)) if isinstance(e, Discarded)} == {BAD_MAC}


@pytest.mark.parametrize("said", [Armed(1, "player", 1), Locked(), Acknowledge(1)], ids=repr)
def test_a_command_of_a_host_without_the_key_is_refused(said: Armed | Locked) -> None:
    ends = agreed()
    [refused] = ends.shoe.session.receive(encode(Message(content=said)), ends.t)
    assert isinstance(refused, Discarded)
    assert refused.reason == "no_mac"
    assert ends.shoe.armed is None


def test_a_host_with_a_wrong_key_gets_nothing_from_the_shoe_and_says_so_once() -> None:
    ends = keyed()
    ends.host.keys = HostKeys({"SH-1": {1: OTHER_KEY}}, nonces(3))
    ends.connect()
    ends.shoe.draw(ends.t)
    ends.run(5.0)
    told = [h.event for h in ends.host.given if not isinstance(h.event, Repeated)]
    assert [e.type for e in told] == ["challenged", "authentication_failed"]
    assert told[1] == AuthenticationFailed(reason=WRONG_PROOF, device_id="SH-1", key_id=1)
    assert ends.host.stored == []


@pytest.mark.parametrize(
    ("shoe_keys", "host_keys", "reason"),
    [
        ({1: KEY}, {}, NO_KEY),
        ({1: KEY}, {"SH-2": {1: KEY}}, NO_KEY),
        (None, {"SH-1": {1: KEY}}, CANNOT_AUTHENTICATE),
        ({7: KEY}, {"SH-1": {1: KEY}}, "the shoe has no key 1"),
    ],
)
def test_a_shoe_that_is_not_known_is_told_and_nothing_of_it_is_given(
    shoe_keys: dict[int, bytes] | None, host_keys: dict[str, dict[int, bytes]], reason: str
) -> None:
    ends = Ends(
        shoe=Shoe(keys=ShoeKeys(shoe_keys, nonces(1)) if shoe_keys else None),
        host=Host(keys=HostKeys(host_keys, nonces(2))),
    )
    ends.connect()
    ends.shoe.draw(ends.t)
    ends.run(3.0)
    failures = [h.event for h in ends.host.given if isinstance(h.event, AuthenticationFailed)]
    assert [f.reason for f in failures] == [reason]
    assert all(h.seq is None for h in ends.host.given)
    assert {h.event.type for h in ends.host.given} <= {
        "challenged", "authentication_failed", "repeated", "discarded",
    }  # fmt: skip


def test_a_host_without_a_key_is_told_that_the_shoe_wants_one() -> None:
    ends = keyed()
    ends.host.keys = None
    ends.connect()
    ends.shoe.draw(ends.t)
    ends.run(3.0)
    told = {h.event for h in ends.host.given if not isinstance(h.event, Repeated)}
    assert told == {AuthenticationFailed(reason=HOST_WITHOUT_KEY, device_id="SH-1")}
    assert not ends.host.session.capabilities.authenticated


def test_an_introduction_says_nothing_of_the_cards() -> None:
    ends = keyed()
    ends.shoe.draw(ends.t)
    ends.connect()
    ends.shoe.receive(encode(Message(content=HelloRequest())), ends.t)
    session = Host().session
    heard = session.receive(ends.shoe.session.outgoing(), 1.0)
    assert [h.event for h in heard] == [
        AuthenticationFailed(reason=HOST_WITHOUT_KEY, device_id="SH-1")
    ]


def test_a_challenge_is_answered_under_number_1_before_the_proof_and_after_it() -> None:
    ends = agreed()
    for _ in range(5):
        ends.shoe.draw(ends.t)
    ends.run(1.0)
    after = ends.shoe.session
    ends.shoe.connect()
    ends.shoe.hello(ends.t)
    before = ends.shoe.session
    assert ends.shoe.next_seq == 6
    for session in (before, after):
        session.outgoing()
        session.receive(challenges(ends), ends.t)
        [found] = Decoder().feed(session.outgoing())
        assert isinstance(found.content, Message)
        assert isinstance(found.content.content, ChallengeAnswered)
        assert (found.content.seq, found.content.boot_id) == (1, ends.shoe.boot_id)


def challenges(ends: Ends) -> bytes:
    return encode(Message(content=Challenge(1, "77" * 16)))


def hellos(ends: Ends) -> bytes:
    return encode(Message(content=HelloRequest()))


@pytest.mark.parametrize("inject", [challenges, hellos])
def test_whoever_asks_a_shoe_without_the_key_ends_nothing(inject: Callable[[Ends], bytes]) -> None:
    ends = agreed()
    for _ in range(3):
        ends.shoe.receive(inject(ends), ends.t)
        ends.shoe.draw(ends.t)
        ends.host.session.set_desired_state(Armed(ends.shoe.drawn + 1, "player", 1))
        ends.run(0.5)
        assert ends.shoe.armed == ends.shoe.drawn + 1
    assert [seq for seq, _ in ends.host.stored] == [1, 2, 3]
    assert not [h for h in ends.host.given if isinstance(h.event, AuthenticationFailed)]


@pytest.mark.parametrize("boot", [1, 2])
def test_whoever_names_himself_to_a_host_ends_nothing(boot: int) -> None:
    ends = agreed()
    hello = Hello(device_id="SH-1", firmware="1", boot_id=boot, deck="french52", authenticates=True)
    for _ in range(3):
        forged = encode(Message(content=hello, seq=1, boot_id=boot, t_us=1))
        assert {e.type for e in given(ends, forged)} <= {"challenged", "repeated"}
        ends.shoe.draw(ends.t)
        ends.run(0.5)
    assert [seq for seq, _ in ends.host.stored] == [1, 2, 3]
    hello = replace(hello, device_id="SH-9")
    forged = encode(Message(content=hello, seq=1, boot_id=1, t_us=1))
    assert given(ends, forged) == [AuthenticationFailed(reason=NO_KEY, device_id="SH-9")]
    ends.shoe.draw(ends.t)
    ends.run(0.5)
    assert len(ends.host.stored) == 4


def test_an_answer_to_no_challenge_is_refused() -> None:
    ends = agreed()
    answer = next(f for f in frames(ends.from_shoe) if b"\x01\x04" in f[:5])
    assert given(ends, answer) == [Discarded(reason="no_challenge", of="challenge_answered")]


def test_a_shoe_swapped_for_another_with_a_key_of_its_own_must_prove_itself() -> None:
    ends = keyed()
    ends.host.keys = HostKeys({"SH-1": {1: KEY}, "SH-2": {1: OTHER_KEY}}, nonces(4))
    ends.connect()
    ends.run(0.5)
    ends.shoe = Shoe(device_id="SH-2", keys=ShoeKeys({1: OTHER_KEY}, nonces(5)))
    ends.shoe.connect()
    ends.run(10.0)
    met = [h.event.device_id for h in ends.host.given if isinstance(h.event, Authenticated)]
    assert met == ["SH-1", "SH-2"]


def test_an_older_key_is_used_where_the_shoe_has_not_the_newer_one() -> None:
    ends = keyed()
    ends.host.keys = HostKeys({"SH-1": {1: KEY, 2: OTHER_KEY}}, nonces(4))
    ends.connect()
    ends.run(0.5)
    kinds = [h.event for h in ends.host.given]
    assert [e.key_id for e in kinds if isinstance(e, Challenged)] == [2, 1]
    assert [e.key_id for e in kinds if isinstance(e, Authenticated)] == [1]


def rotated() -> Ends:
    """Ends that agreed on key 1; the shoe has just said, and no more, that it has key 2 as well."""
    ends = keyed()
    assert ends.shoe.keys is not None
    ends.host.keys = HostKeys({"SH-1": {1: KEY, 2: OTHER_KEY}}, nonces(4))
    ends.connect()
    ends.run(0.5)
    ends.shoe.keys.keys[2] = OTHER_KEY
    ends.shoe.kept[ends.shoe.next_seq] = event = KeyRotated(key_id=2)
    ends.shoe.next_seq += 1
    ends.shoe.session.send(event, seq=ends.shoe.next_seq - 1, t_us=us(ends.t))
    return ends


def proved(ends: Ends) -> list[int]:
    return [h.event.key_id for h in ends.host.given if isinstance(h.event, Authenticated)]


@pytest.mark.parametrize("statuses", [0, 1, 2])
@pytest.mark.parametrize("passes_s", [None, 0.0, 0.2])
def test_a_new_key_is_proved_whatever_comes_with_the_word_that_the_shoe_has_it(
    statuses: int, passes_s: float | None
) -> None:
    ends = rotated()
    for _ in range(statuses):
        ends.shoe.status(ends.t)
    ends.host.receive(ends.shoe.session.outgoing(), ends.t)
    if passes_s is not None:
        ends.host.session.tick(ends.t + passes_s)
    ends.run(1.0)
    assert proved(ends) == [1, 2]
    assert ends.shoe.keys is not None
    assert ends.shoe.keys.keys.keys() == {2}


@pytest.mark.parametrize("lost", range(4))
def test_a_new_key_is_proved_although_what_was_said_first_got_lost(lost: int) -> None:
    ends = rotated()
    ends.host.receive(ends.shoe.session.outgoing(), ends.t)
    for said in range(4):
        request = ends.host.session.outgoing()
        ends.shoe.receive(b"" if said == lost else request, ends.t)
        ends.shoe.status(ends.t)
        ends.host.receive(ends.shoe.session.outgoing(), ends.t)
    ends.run(3.0)
    assert proved(ends) == [1, 2]
    ends.run(5.0)
    hellos = [said for said in ends.shoe.received if isinstance(said, HelloRequest)]
    ends.run(20.0)
    assert [said for said in ends.shoe.received if isinstance(said, HelloRequest)] == hellos


def test_a_shoe_that_says_it_has_a_key_that_it_has_not_is_challenged_once() -> None:
    ends = rotated()
    assert ends.shoe.keys is not None
    del ends.shoe.keys.keys[2]
    ends.run(20.0)
    assert [h.event.key_id for h in ends.host.given if isinstance(h.event, Challenged)] == [
        2,
        1,
    ] * 2
    assert proved(ends) == [1, 1]


def test_a_status_in_the_open_does_not_count_as_the_shoe_s() -> None:
    ends = agreed()
    status = Status(armed=None, drawn=0, unacknowledged=0)
    forged = encode(Message(content=status, seq=9, boot_id=1, t_us=1))
    assert given(ends, forged) == [Discarded(reason="no_mac", of="status")]


def test_no_key_shows_in_what_stands_for_keys_and_ends() -> None:
    ends = agreed()
    shown = repr((ends.host.keys, ends.shoe.keys, [h.event for h in ends.host.given]))
    assert KEY.hex() not in shown
    assert repr(KEY)[2:-1] not in shown
