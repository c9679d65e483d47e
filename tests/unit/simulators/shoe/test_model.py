"""The physical shoe and its memory.

In: draws, arms, acknowledgements. Out: what came out and what was refused.
Must not know: bytes.
"""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmware_proto.cards import ELEMENT65, FRENCH52, Deck
from firmware_proto.events import CuttingCard
from simulators.shoe.event_log import EventLog
from simulators.shoe.model import CardOut, CuttingCardOut, Refused, Shoe, shuffled


def loaded(*, behind_cut: int = 14) -> Shoe:
    shoe = Shoe("SIM-TEST")
    shoe.push_in(FRENCH52, 1, 7, behind_cut=behind_cut)
    shoe.boot()
    return shoe


def test_a_seed_gives_the_same_cards_for_ever() -> None:
    french = " ".join(c.code for c in shuffled(FRENCH52, 8, 7)[:12])
    element = " ".join(c.code for c in shuffled(ELEMENT65, 8, 7)[:12])
    assert french == "6D 5C QS 8H 2C TH 5C JH 8D 7S JD 9H"
    assert element == "5e 5e 4f 4w 8g 2f 9g 5w Lf 3f 2w 7e"


@given(st.sampled_from([FRENCH52, ELEMENT65]), st.integers(1, 10), st.integers(0, 2**64))
def test_a_shuffle_holds_every_card_of_every_deck(deck: Deck, decks: int, seed: int) -> None:
    assert Counter(shuffled(deck, decks, seed)) == dict.fromkeys(deck.cards, decks)


def test_two_seeds_give_two_orders() -> None:
    assert shuffled(FRENCH52, 8, 1) != shuffled(FRENCH52, 8, 2)


def test_a_set_of_no_deck_is_refused() -> None:
    with pytest.raises(ValueError, match="one deck or more"):
        shuffled(FRENCH52, 0, 1)


def test_a_locked_shoe_holds_its_cards() -> None:
    shoe = loaded()
    with pytest.raises(Refused, match="locked"):
        shoe.draw()
    assert shoe.drawn == 0


def test_an_armed_shoe_lets_out_exactly_one_card() -> None:
    shoe = loaded()
    shoe.arm(1)
    out = shoe.draw()
    assert isinstance(out, CardOut)
    assert (out.card, out.number, out.armed) == (shuffled(FRENCH52, 1, 7)[0], 1, True)
    with pytest.raises(Refused, match="locked"):
        shoe.draw()


def test_a_number_already_drawn_cannot_be_armed() -> None:
    shoe = loaded()
    shoe.arm(1)
    shoe.draw()
    with pytest.raises(Refused, match="already_drawn"):
        shoe.arm(1)
    assert shoe.armed is None


def test_only_the_next_number_can_be_armed() -> None:
    with pytest.raises(Refused, match="not_the_next_draw"):
        loaded().arm(2)


def test_arming_the_same_draw_twice_changes_nothing() -> None:
    shoe = loaded()
    shoe.arm(1)
    shoe.arm(1)
    assert shoe.armed == 1


def test_a_forced_draw_is_known_as_not_armed() -> None:
    out = loaded().draw(bolted=False)
    assert isinstance(out, CardOut)
    assert not out.armed


def test_the_cutting_card_comes_out_before_the_last_cards_and_leaves_the_arm() -> None:
    shoe = loaded(behind_cut=14)
    for number in range(1, 39):
        shoe.arm(number)
        assert isinstance(shoe.draw(), CardOut)
    shoe.arm(39)
    assert shoe.draw() == CuttingCardOut(38)
    assert shoe.armed == 39
    assert isinstance(shoe.draw(), CardOut)


def test_an_empty_shoe_gives_nothing() -> None:
    shoe = loaded()
    for _ in range(53):
        shoe.draw(bolted=False)
    assert shoe.remaining == 0
    with pytest.raises(Refused, match="empty"):
        shoe.draw(bolted=False)
    with pytest.raises(Refused, match="empty"):
        shoe.arm(53)


def test_a_new_set_has_a_new_id_and_counts_from_one() -> None:
    shoe = loaded()
    first = shoe.cards
    shoe.draw(bolted=False)
    second = shoe.push_in(FRENCH52, 1, 8)
    assert first is not None
    assert second.set_id != first.set_id
    assert (shoe.drawn, shoe.cutting_card_out) == (0, False)


def test_a_boot_changes_the_boot_id_and_lets_the_bolt_fall() -> None:
    shoe = loaded()
    shoe.arm(1)
    before = shoe.boot_id
    shoe.boot()
    assert (shoe.boot_id, shoe.armed, shoe.drawn) == (before + 1, None, 0)


def test_the_key_locks_whatever_is_armed() -> None:
    shoe = loaded()
    shoe.arm(1)
    shoe.turn_key(locked=True)
    with pytest.raises(Refused, match="locked"):
        shoe.draw()
    with pytest.raises(Refused, match="locked_by_key"):
        shoe.arm(1)


def test_the_sensor_misses_the_cards_it_is_told_to_miss() -> None:
    shoe = Shoe("SIM-TEST", unreadable=frozenset({2}))
    shoe.push_in(FRENCH52, 1, 7)
    outs = [shoe.draw(bolted=False) for _ in range(3)]
    assert [isinstance(o, CardOut) and o.seen is None for o in outs] == [False, True, False]


def test_memory_keeps_what_was_not_acknowledged_in_order() -> None:
    memory = EventLog()
    for t_us in range(5):
        memory.store(CuttingCard(), boot_id=1, t_us=t_us)
    memory.acknowledge(2)
    assert [s.seq for s in memory.unheard()] == [3, 4, 5]
    assert memory.unacknowledged == 3


def test_an_acknowledgement_of_the_future_is_ignored() -> None:
    memory = EventLog()
    memory.store(CuttingCard(), boot_id=1, t_us=0)
    memory.acknowledge(2)
    assert memory.unacknowledged == 1


def test_an_old_acknowledgement_takes_nothing_back() -> None:
    memory = EventLog()
    for _ in range(3):
        memory.store(CuttingCard(), boot_id=1, t_us=0)
    memory.acknowledge(3)
    memory.acknowledge(1)
    assert memory.unacknowledged == 0


@given(st.lists(st.one_of(st.none(), st.integers(0, 40)), max_size=60))
def test_memory_never_overwrites_and_accounts_for_every_number(steps: list[int | None]) -> None:
    memory = EventLog(capacity=8, reserve=2)
    acknowledged = given_out = 0
    kept: list[int] = []  # the last number of each place
    losing = False
    for step in steps:
        if step is None:
            given_out += 1
            stored = memory.store(CuttingCard(), boot_id=1, t_us=0)
            losing = len(kept) == 8
            if losing:
                assert stored is None
            else:
                assert stored is not None and stored.seq == given_out
                kept.append(given_out)
        elif step <= given_out:
            gap = memory.acknowledge(step)
            acknowledged = max(acknowledged, step)
            kept = [k for k in kept if k > step]
            if losing and len(kept) < 8:
                assert gap is not None and gap.last == given_out
                kept.append(given_out)
                losing = False
            else:
                assert gap is None
        else:
            assert memory.acknowledge(step) is None
        assert [s.last for s in memory.unheard()] == kept
        numbers = [n for s in memory.since(1) for n in range(s.seq, s.last + 1)]
        assert numbers == list(range(memory.oldest_seq, memory.oldest_seq + len(numbers)))
        assert len(memory.since(1)) <= 8
        assert memory.unacknowledged == given_out - acknowledged
        assert memory.full == (len(kept) >= 6)


def test_a_memory_without_room_is_refused() -> None:
    with pytest.raises(ValueError, match="does not fit"):
        EventLog(capacity=4, reserve=4)
