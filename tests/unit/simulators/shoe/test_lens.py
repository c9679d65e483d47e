"""A dirty lens: what it spoils, at which rate, and the same again by its seed."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from firmware_proto.cards import DECKS
from simulators.shoe.lens import SURE, UNSURE, Lens


@given(
    misread=st.floats(0, 1),
    unsure=st.floats(0, 1),
    seed=st.integers(0, 1000),
    draws=st.permutations(range(1, 60)),
)
def test_a_dirty_lens_reads_each_draw_alike_in_any_order(
    misread: float, unsure: float, seed: int, draws: list[int]
) -> None:
    lens = Lens(misread=misread, unsure=unsure, seed=seed)
    card = DECKS["french52"].cards[0]
    read = {draw: lens.look(card, card_set=1, draw=draw) for draw in draws}
    assert read == {draw: lens.look(card, card_set=1, draw=draw) for draw in sorted(draws)}
    for seen, confidence in read.values():
        assert (seen, confidence) == (None, 0) or seen is card
        assert seen is None or confidence == SURE or confidence in UNSURE


def test_a_dirty_lens_spoils_about_the_part_that_it_says_and_other_draws_by_another_seed() -> None:
    card = DECKS["french52"].cards[0]

    def spoiled(seed: int) -> list[str]:
        lens = Lens(misread=0.1, unsure=0.3, seed=seed)
        looks = [lens.look(card, card_set=1, draw=draw) for draw in range(2000)]
        return ["not" if c == 0 else "unsure" if c < SURE else "sure" for _, c in looks]

    count = Counter(spoiled(4))
    assert 150 < count["not"] < 250 and 440 < count["unsure"] < 640
    assert spoiled(4) == spoiled(4) != spoiled(5)
