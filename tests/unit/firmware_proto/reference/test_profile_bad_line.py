"""Both ends of the reference profile over a line that loses, doubles, flips, cuts and splits.

In: seeds. Out: that the host stores every event once and in order, whatever breaks meanwhile, and
that a recording replays. Must not know: how.
"""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmware_proto.commands import Acknowledge, Armed, Locked
from firmware_proto.events import Discarded, Gap, Hello, Repeated
from firmware_proto.reference.authentication import KeyAuthenticator, RecordedAuthenticator
from firmware_proto.reference.device import WINDOW
from firmware_proto.reference.host import ReferenceHost
from firmware_proto.reference.mac import HostKeys
from shoe_testing.reference_protocol import KEY, Ends, Line, card_event, keyed, nonces

DRAWS = 40


def dealt_over_a_bad_line(
    seed: int, trouble: float, *, breaks: bool, with_keys: bool = False
) -> Ends:
    """Draws, now and then a lost port or a reboot, until all is quiet and everything is stored."""
    random = Random(seed)
    line = Line(random, trouble)
    ends = keyed(line) if with_keys else Ends(line=line)
    ends.connect()
    ends.run(4.0)
    while ends.host.resume is None:
        ends.step()
    while ends.shoe.drawn < DRAWS or ends.shoe.kept or len(ends.host.stored) < DRAWS:
        assert ends.t < 2000, "the events do not get through"
        chance = random.random()
        if chance < 0.1 and ends.shoe.drawn < DRAWS:
            ends.shoe.draw(ends.t)
        elif breaks and chance < 0.11:
            ends.connect()
        elif breaks and chance < 0.12:
            ends.shoe.reboot(ends.t)
        ends.step(store=random.choice((0, 0, 1, 5)))
    return ends


either_way = pytest.mark.parametrize("with_keys", [False, True], ids=["open", "keyed"])


@either_way
@pytest.mark.parametrize("seed", range(12))
def test_every_event_is_stored_once_and_in_order(seed: int, with_keys: bool) -> None:
    ends = dealt_over_a_bad_line(seed, 0.25, breaks=seed % 2 == 1, with_keys=with_keys)
    assert ends.host.stored == [(n, card_event(n)) for n in range(1, DRAWS + 1)]
    assert not any(isinstance(h.event, Gap) for h in ends.host.given)


@either_way
@pytest.mark.parametrize("seed", range(4))
def test_a_recorded_connection_gives_the_same_again_without_time_store_or_key(
    seed: int, with_keys: bool
) -> None:
    ends = dealt_over_a_bad_line(seed, 0.25, breaks=True, with_keys=with_keys)
    random = Random(seed)
    assert len(ends.host.connections) > 1
    for resume, stream, heard in ends.host.connections:
        verdicts = {h.first: h.event for h in heard}
        auth = RecordedAuthenticator(verdicts.get) if with_keys else None
        again = ReferenceHost(resume, auth=auth)
        got = []
        while stream:
            size = random.randrange(1, 60)
            got += again.receive(bytes(stream[:size]), 0.0)
            del stream[:size]
        assert got == heard


@given(st.integers(0, 2**32), st.floats(0, 0.4))
def test_a_bad_line_never_makes_an_event_that_the_shoe_did_not_say(
    seed: int, trouble: float
) -> None:
    random = Random(seed)
    ends = Ends(line=Line(random, trouble))
    ends.connect()
    for _ in range(150):
        if random.random() < 0.1:
            ends.shoe.draw(ends.t)
        ends.step(store=random.choice((0, 1, 5)))
    numbers = [int(h.seq) for h in ends.host.given if h.event.type == "card_drawn" and h.seq]
    assert numbers == sorted(set(numbers))
    # Whatever was drawn before hello came through is history: the rest is given without a hole.
    assert numbers == list(range(numbers[0], numbers[-1] + 1)) if numbers else True
    assert all(
        h.event == card_event(int(h.seq))
        for h in ends.host.given
        if h.event.type == "card_drawn" and h.seq
    )


@either_way
def test_a_clean_line_discards_and_repeats_nothing(with_keys: bool) -> None:
    ends = dealt_over_a_bad_line(1, 0.0, breaks=False, with_keys=with_keys)
    odd = [h for h in ends.host.given if isinstance(h.event, Discarded | Repeated)]
    # Storing late makes the shoe send again; apart from that nothing is said twice.
    assert not [h for h in odd if isinstance(h.event, Discarded)]
    assert not [said for said in ends.shoe.received if isinstance(said, Discarded)]


def test_a_long_memory_gets_through_a_window_at_a_time_without_repeats() -> None:
    ends = Ends()
    ends.connect()
    ends.run(0.2)
    ends.shoe.connect()  # the host is gone: what is drawn stays in memory
    for _ in range(10 * WINDOW):
        ends.shoe.draw(ends.t)
    ends.connect()
    ends.run(2.0)
    assert [seq for seq, _ in ends.host.stored] == list(range(1, 10 * WINDOW + 1))
    assert not [h for h in ends.host.given if isinstance(h.event, Repeated)]


def test_what_the_shoe_is_told_to_be_arrives_over_a_bad_line() -> None:
    ends = Ends(line=Line(Random(5), 0.3))
    ends.connect()
    for number in range(1, 30):
        ends.host.session.set_desired_state(Armed(number, "player", 1))
        for _ in range(500):
            if ends.shoe.armed == number:
                break
            ends.step()
        assert ends.shoe.armed == number
        ends.shoe.draw(ends.t)
    ends.host.session.set_desired_state(Locked())
    ends.shoe.armed = 30
    ends.run(10.0)
    assert ends.shoe.armed is None


def test_once_the_shoe_shows_it_a_state_is_not_said_again() -> None:
    ends = Ends()
    ends.connect()
    ends.host.session.set_desired_state(Armed(1, "player", 1))
    ends.run(60.0)
    assert [said for said in ends.shoe.received if isinstance(said, Armed)] == [
        Armed(1, "player", 1)
    ]


def test_a_refused_state_rests_until_something_about_the_shoe_changes() -> None:
    ends = Ends()
    ends.shoe.locked_by_key = True
    ends.connect()
    ends.host.session.set_desired_state(Armed(1, "player", 1))
    ends.run(60.0)
    refused = [h.event for h in ends.host.given if h.event.type == "reply"]
    assert 1 <= len(refused) <= 2
    ends.shoe.locked_by_key = False
    ends.run(3.0)
    assert ends.shoe.armed == 1


def test_a_shoe_that_restarts_is_heard_of_and_armed_again() -> None:
    ends = Ends()
    ends.connect()
    ends.host.session.set_desired_state(Armed(1, "player", 1))
    ends.run(1.0)
    ends.shoe.reboot(ends.t)
    ends.run(3.0)
    boots = [(h.event.boot_id, h.event.resumed) for h in ends.host.given if type(h.event) is Hello]
    assert boots == [(1, False), (2, True)]
    assert ends.shoe.armed == 1


def test_a_host_that_knows_the_shoe_gets_what_happened_while_it_was_away() -> None:
    ends = Ends()
    ends.connect()
    ends.run(0.5)
    ends.shoe.connect()
    ends.shoe.draw(ends.t)
    ends.shoe.draw(ends.t)
    ends.connect()
    ends.run(0.5)
    assert [seq for seq, _ in ends.host.stored] == [1, 2]
    assert [h.event.resumed for h in ends.host.given if type(h.event) is Hello] == [False, True]
    assert Acknowledge(2) in ends.shoe.received
    assert not ends.shoe.kept


@given(st.data())
def test_any_split_of_a_keyed_connection_gives_the_same(data: st.DataObject) -> None:
    ends = keyed(Line(Random(data.draw(st.integers(0, 20))), 0.2))
    ends.connect()
    for _ in range(60):
        if data.draw(st.integers(0, 9)) == 0:
            ends.shoe.draw(ends.t)
        ends.step()
    [(resume, stream, _)] = ends.host.connections
    auths = (KeyAuthenticator(HostKeys({"SH-1": {1: KEY}}, nonces(2))) for _ in range(2))
    whole, session = (ReferenceHost(resume, auth=auth) for auth in auths)
    wanted = whole.receive(bytes(stream), 1.0)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=30)))
    edges = [0, *cuts, len(stream)]
    assert [
        heard
        for first, last in pairwise(edges)
        for heard in session.receive(bytes(stream[first:last]), 1.0)
    ] == wanted
