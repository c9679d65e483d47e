"""Bee-Tek lines against the bytes in SPEC.md: read liberally, nothing guessed, any split alike.

In: golden blocks, lines, garbage. Out: heard events. Must not know: the round.
"""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import firmware_proto.bee_tek
from firmware_proto.bee_tek.codec import Listener
from firmware_proto.bee_tek.fields import LONGEST_LINE
from firmware_proto.bee_tek.lines import CardForm, TenForm, encode
from firmware_proto.bee_tek.profile import device_session, host_session
from firmware_proto.cards import ELEMENT65, FRENCH52, card
from firmware_proto.commands import Armed, Locked
from firmware_proto.events import (
    CardDrawn,
    CuttingCard,
    Discarded,
    Error,
    Hello,
    ShoeEvent,
    Started,
    Warned,
    from_plain,
)
from firmware_proto.session import HostSession, ReceivedEvent

SPEC = Path(firmware_proto.bee_tek.__path__[0], "SPEC.md").read_text(encoding="utf-8")
GAME, UNREAD = b" [Game]<Card:4S> \r\n", b" [Game]<Game> \r\n"


def _golden(block: str) -> list[tuple[bytes, str]]:
    """The lines of a golden block: bytes, and what stands beside them."""
    found = re.search(rf"```{block}\n(.*?)```", SPEC, re.DOTALL)
    assert found is not None
    parts = [line.split(" | ") for line in found[1].splitlines()]
    return [(bytes.fromhex(raw), said) for raw, said in parts]


def _heard(*portions: bytes) -> list[ReceivedEvent]:
    listener = Listener()
    return [heard for portion in portions for heard in listener.feed(portion)] + listener.end()


def _said(data: bytes) -> list[ShoeEvent]:
    return [heard.event for heard in _heard(data)]


sayable = st.one_of(
    st.builds(CardDrawn, card=st.sampled_from(FRENCH52.cards),
              hand=st.sampled_from([None, "burn"])),
    st.builds(CardDrawn, card=st.none(), hand=st.sampled_from([None, "burn"])),
    st.builds(Error, place=st.sampled_from([None, "game", "burn"]),
              code=st.from_regex(r"E[0-9A-F]{1,4}", fullmatch=True),
              text=st.none() | st.from_regex(r"[A-Za-z0-9.]+( [A-Za-z0-9.]+){0,3}", fullmatch=True)
              .filter(lambda words: len(words) < 80)),
    st.builds(Warned, code=st.from_regex(r"W(0x)?[0-9A-Fa-f]{1,4}", fullmatch=True)),
)  # fmt: skip
_line = st.builds(encode, sayable, form=st.sampled_from(CardForm), ten=st.sampled_from(TenForm))
_piece = st.sampled_from([b"\r", b"\n", b" ", b"[", b"<", b">", b"[Game]", b"\xff", b"\x00", b"4S"])
_noise = st.binary(max_size=6) | st.binary(min_size=120, max_size=300)
streams = st.lists(_line | _piece | _noise | st.just(GAME[:7]), max_size=12).map(b"".join)


@pytest.mark.parametrize(("raw", "said"), _golden("golden-lines"))
def test_every_golden_line_is_read_and_written(raw: bytes, said: str) -> None:
    event = from_plain(json.loads(said))
    assert _heard(raw) == [ReceivedEvent(event, None, 0, len(raw))]
    assert encode(event) == raw


@pytest.mark.parametrize(("line", "event"), [
    (b" [Manual Burn Cards]<Game> ", CardDrawn(card=None, hand="burn")),
    (b"[manual burn cards] < game >", CardDrawn(card=None, hand="burn")),
    (b" [Game]<Alarm:E3 Card Not Read> ", Error(code="E3", text="Card Not Read", place="game")),
    (b" [Manual Burn Cards]<Alarm:E3> ", Error(code="E3", place="burn")),
    (b" [GameAlarm]<Alarm:E3> ", Error(code="E3")),
])  # fmt: skip
def test_a_failed_read_and_an_alarm_say_of_which_cards_they_are(
    line: bytes, event: ShoeEvent
) -> None:
    assert _said(line + b"\r\n") == [event]


@pytest.mark.parametrize(("raw", "code"), _golden("golden-forms"))
def test_every_form_of_a_card_is_read(raw: bytes, code: str) -> None:
    assert _said(raw) == [CardDrawn(card=card(code))]


@given(sayable, st.sampled_from(CardForm), st.sampled_from(TenForm))
def test_what_is_written_is_read_again(event: ShoeEvent, form: CardForm, ten: TenForm) -> None:
    assert _said(encode(event, form=form, ten=ten)) == [event]


@pytest.mark.parametrize(("line", "reason"), [
    (b" [Game]<Card:1S> ", "card"), (b" [Game]<Card:4X> ", "card"), (b" [Game]<Card:> ", "card"),
    (b" [Game]<Card:0H> ", "card"), (b" [Game]<4S 5S> ", "card"), (b" [Game]<S> ", "card"),
    (b" [Manual Burn Cards]<Manual Burn Cards> ", "card"), (b" [Game]<W0x01> ", "card"),
    (b" [Game]<Card:4S> [Game]<Card:5S> ", "form"), (b"x [Game]<Card:4S> ", "form"),
    (b" [Game]<Card:4S> x", "form"), (b" [Game]", "form"), (b"hello", "form"),
    (b" Game]<4S>", "form"), (b" [Game]<4S", "form"),
    (b" [Gane]<Card:4S> ", "tag"), (b"<Card:4S>", "tag"), (b"<>", "tag"), (b"[]<4S>", "tag"),
    (b" [Game]<Alarm:Card Not Read> ", "alarm"), (b" [Manual Burn Cards]<Alarm:> ", "alarm"),
    (b" [GameAlarm]<Game> ", "alarm"), (b" [GameAlarm]<E3 Card Not Read> ", "alarm"),
    (b" [GameAlarm]<Alarm:Card Not Read> ", "alarm"),
    (b" [Game]<Card:4S\xb8> ", "not_text"), (b"\x00 [Game]<Card:4S> ", "not_text"),
    (b"x" * (LONGEST_LINE - 1), "form"),
])  # fmt: skip
def test_a_line_that_does_not_fit_is_discarded_whole_and_costs_no_other(
    line: bytes, reason: str
) -> None:
    raw = line + b"\r\n"
    told = _heard(GAME + raw + GAME)
    kept = Discarded(reason=reason)
    assert [heard.event for heard in told] == [_said(GAME)[0], kept, _said(GAME)[0]]
    assert (told[1].first, told[1].last) == (len(GAME), len(GAME + raw))


def test_a_line_without_end_is_discarded_in_pieces_and_its_tail_not_believed() -> None:
    told = _heard(b"x" * (2 * LONGEST_LINE) + GAME + GAME)
    too_long = Discarded(reason="too_long")
    assert [heard.event for heard in told] == [too_long] * 3 + _said(GAME)
    assert [(h.first, h.last) for h in told[:2]] == [(0, 128), (128, 256)]


@pytest.mark.parametrize(
    "end", [b"\r\n", b"\n", b"\r", b"\n\r", b"\r\r\n", b"\r\n\r\n", b" \t\r\n"]
)
def test_any_end_of_a_line_will_do_and_blank_lines_say_nothing(end: bytes) -> None:
    body = GAME.rstrip()
    assert _said(body + end + body + end) == _said(GAME) * 2


def test_a_line_that_the_recording_cuts_short_is_not_believed() -> None:
    assert _said(GAME.rstrip()) == [Discarded(reason="cut_short")]
    assert _said(GAME.rstrip() + b"\r") == _said(GAME)


def test_a_failed_read_is_a_card_that_nobody_can_name() -> None:
    assert _said(UNREAD) == [CardDrawn(card=None)]


@given(streams, st.lists(st.integers(0, 2000), max_size=8))
def test_any_split_of_the_same_bytes_gives_the_same(stream: bytes, cuts: list[int]) -> None:
    at = [0, *sorted(cut % (len(stream) + 1) for cut in cuts), len(stream)]
    whole = _heard(stream)
    assert _heard(*(stream[a:b] for a, b in pairwise(at))) == whole
    assert _heard(*(bytes((byte,)) for byte in stream)) == whole


@given(streams)
def test_every_byte_that_is_no_blank_is_in_exactly_one_event(stream: bytes) -> None:
    at, unsaid = 0, b""
    for heard in _heard(stream):
        assert heard.first >= at
        assert heard.last > heard.first
        unsaid += stream[at : heard.first]
        at = heard.last
    assert (unsaid + stream[at:]).strip(b" \t\r\n") == b""


@given(streams)
def test_no_bytes_make_a_session_raise_or_speak(stream: bytes) -> None:
    host, shoe = host_session(resume=None, settings={}), device_session(settings={})
    host.set_desired_state(Locked())
    told = host.receive(stream, 0.0)
    host.set_desired_state(Armed(1, "player", 1))
    host.stored("1")
    assert (host.tick(1e9), host.outgoing()) == ([], b"")
    assert len(told) <= len(stream)
    refused = shoe.receive(stream, 0.0)
    assert refused == ([Discarded(reason="no_commands")] if stream else [])


def ticked(host: HostSession, times: int) -> list[ShoeEvent]:
    """What is heard of so many ticks, each at its deadline."""
    told = []
    for _ in range(times):
        if (due := host.next_deadline) is not None:
            told += [heard.event for heard in host.tick(due)]
    return told


def test_a_line_that_has_no_end_is_told_of_once_and_read_when_its_end_comes() -> None:
    host = host_session(resume=None, settings={})
    assert host.receive(GAME.rstrip(), 0.0) == []
    assert ticked(host, 5) == [Discarded(reason="no_end")]
    assert host.next_deadline is None
    assert [h.event for h in host.receive(b"\r\n", 9.0)] == [CardDrawn(card=card("4S"))]
    assert (ticked(host, 5), host.next_deadline) == ([], None)


def test_a_line_whose_end_comes_in_time_is_no_line_without_one() -> None:
    host = host_session(resume=None, settings={})
    host.receive(GAME[:5], 0.0)
    assert ticked(host, 1) == []
    assert [h.event for h in host.receive(GAME[5:], 3.0)] == [CardDrawn(card=card("4S"))]
    assert ticked(host, 3) == []


def test_blanks_without_an_end_are_no_line() -> None:
    host = host_session(resume=None, settings={})
    host.receive(b"  ", 0.0)
    assert host.next_deadline is None


def test_the_end_of_a_connection_gives_what_it_cuts_and_a_line_that_only_lacks_its_lf() -> None:
    cut, whole = host_session(resume=None, settings={}), host_session(resume=None, settings={})
    cut.receive(GAME[:9], 0.0)
    whole.receive(GAME[:-1], 0.0)
    assert [h.event for h in cut.end()] == [Discarded(reason="cut_short")]
    assert [h.event for h in whole.end()] == [CardDrawn(card=card("4S"))]


def test_a_shoe_says_its_cards_in_the_form_that_it_is_set_to() -> None:
    shoe = device_session(settings={"card_form": "suit_first", "ten": "T"})
    shoe.send(CardDrawn(card=card("TH")), seq=1, t_us=0)
    shoe.send(Hello(device_id="x", firmware="1", boot_id=1, deck="french52"), seq=1, t_us=0)
    shoe.tick(1.0)
    assert (shoe.outgoing(), shoe.outgoing()) == (b" [Game]<HT> \r\n", b"")
    assert shoe.next_deadline is None


@pytest.mark.parametrize("event", [
    Started(), CuttingCard(), CardDrawn(card=ELEMENT65.cards[0]),
    CardDrawn(card=card("4S"), hand="player"), CardDrawn(card=card("4S"), number=3),
    Error(code="cannot_read"), Error(code="E3", in_error_mode=True), Error(code="E3", text="<"),
    Error(code="E3", text="é"), Error(code="E3", place="hand"), Warned(code="x"),
])  # fmt: skip
def test_what_the_wire_cannot_say_is_refused(event: ShoeEvent) -> None:
    with pytest.raises(ValueError, match="the wire"):
        device_session(settings={}).send(event, seq=1, t_us=0)


@pytest.mark.parametrize(("settings", "why"), [
    ({"commands": True}, "no command of a bee_tek shoe is known"),
    ({"commands": 1}, "true or false"),
    ({"card_form": "bare"}, "not a setting of bee_tek"),
])  # fmt: skip
def test_a_host_has_nothing_to_be_set(settings: dict[str, object], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        host_session(resume=None, settings=settings)
    host_session(resume=None, settings={"commands": False})


@pytest.mark.parametrize(("settings", "why"), [
    ({"card_form": "other"}, "named or bare or suit_first"), ({"ten": 10}, "10 or T"),
    ({"commands": False}, "not a setting of bee_tek"),
])  # fmt: skip
def test_a_wrong_setting_of_a_shoe_is_named(settings: dict[str, object], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        device_session(settings=settings)
