"""Decided wagers: by hand where the documents speak, and by dealing every completion."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from firmware_proto.cards import FRENCH52, Card, card
from shoe_ctl.errors import InputRefused
from shoe_ctl.games import catalog
from shoe_ctl.games.decided import decide
from shoe_ctl.games.game import Game
from shoe_ctl.games.table_of_play import next_hand
from shoe_ctl.games.wagers import Wager
from shoe_testing import rounds as expected_rounds
from shoe_testing.examples import sampled
from shoe_testing.paths import LUCKY_EIGHT

GAMES = {name: catalog.load(name) for name in catalog.shipped()}
TIGER = GAMES["tiger"]
FA_FA = GAMES["fa_fa_fabulous_4"]

VARIANT = LUCKY_EIGHT

Shown = list[Card | None]


def shown(codes: str) -> Shown:
    return [None if code == "?" else card(code) for code in codes.split()]


def decided(game: Game, codes: str, decks: int | None = None) -> dict[str, str]:
    """The wagers that are not open."""
    found = decide(game, shown(codes), decks=decks)
    assert list(found) == list(game.wagers)
    return {wager: state for wager, state in found.items() if state != "open"}


# What the rules say.


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("codes", ["", "?", "? ? ? ?", "? ? ? ? ?"])
def test_with_nothing_revealed_every_wager_is_open(name: str, codes: str) -> None:
    assert decided(GAMES[name], codes) == {}


def test_tiger_pair_is_won_once_players_two_cards_pair() -> None:
    assert decided(TIGER, "4D ? 4S ?")["tiger_pair"] == "win"
    assert "tiger_pair" not in decided(TIGER, "4D ? 5S ?")
    assert decided(TIGER, "4D 7H 5S 2H")["tiger_pair"] == "lose"


def test_a_player_natural_has_lost_big_tiger_already() -> None:
    six_tiger = {"tiger": "lose", "big_tiger": "lose", "small_tiger": "lose", "tiger_tie": "lose"}
    assert decided(TIGER, "9D ? TS ?") == six_tiger


def test_cards_may_be_revealed_in_any_order() -> None:
    found = decided(TIGER, "? 9H ? KH")
    assert found == {
        "tiger": "lose",
        "big_tiger": "lose",
        "small_tiger": "lose",
        "tiger_tie": "lose",
    }
    assert "player" not in found  # beaten only where Player holds less than 9


def test_a_third_card_dealt_but_not_revealed_tells_that_there_was_no_natural() -> None:
    assert "small_tiger" not in decided(TIGER, "? 6C ? TH")
    assert decided(TIGER, "? 6C ? TH ? ?")["small_tiger"] == "lose"
    # With a fifth card, 4 and 4 would be a Natural: no Player pair any more.
    game = GAMES["immortal_dragon_tiger"]
    assert "player_pair" not in decided(game, "4D ? ? ?")
    assert decided(game, "4D ? ? ? ?")["player_pair"] == "lose"


def test_a_fifth_card_is_bankers_where_player_stands() -> None:
    # Player 7, Banker 2: the fifth card is Banker's and makes 6.
    assert decided(TIGER, "7D 2C TS KH 4H")["banker"] == "lose"
    assert decided(TIGER, "7D 2C TS KH 6H")["banker"] == "win"
    # Player 5: the fifth is Player's, and Banker's 7 stands.
    assert decided(TIGER, "5D 7C TS KH 4H")["player"] == "win"


def test_a_fifth_card_that_can_be_either_hands_counts_both_ways() -> None:
    game = GAMES["dragon_tiger_no_commission"]
    found = decided(game, "? KC ? KH 2S")
    assert "small_dragon" not in found  # Player stood on 7: the fifth is Banker's
    assert "big_dragon" not in found  # Player drew it to 5
    assert decided(game, "? KC ? KH 2S ?")["small_dragon"] == "lose"


def test_a_certain_push_is_open() -> None:
    whole = decide(GAMES["immortal_dragon_tiger"], shown("7D 9C TS TH"))
    assert whole["player"] == "open"
    assert (whole["banker"], whole["immortal_dragon"], whole["tie"]) == ("win", "win", "lose")
    assert decide(TIGER, shown("7D 7C TS TH"))["player"] == "open"


def test_a_wager_won_at_odds_still_open_is_won() -> None:
    assert decided(FA_FA, "4g ? 4g ?")["player_precious_pair"] == "win"
    # Two Fours are a Natural 8; the tie may pay 800 or 8 or lose.
    assert "tie" not in decided(FA_FA, "4g ? 4g ?")
    assert decided(FA_FA, "4g 5g 4g 3g")["tie"] == "win"


def test_a_face_of_which_no_copy_is_left_cannot_come() -> None:
    perfect = {"perfect": catalog.load_file(VARIANT).wagers["perfect_pair"]}
    game = expected_rounds.tiny_game(FRENCH52, perfect)
    assert decide(game, shown("7S"), decks=1) == {"perfect": "lose"}
    assert decide(game, shown("7S 9H ? 2D"), decks=2) == {"perfect": "open"}
    assert decide(game, shown("7S 7S ? 2D"), decks=2) == {"perfect": "lose"}
    assert decide(game, shown("7S 7S ? 2D"), decks=3) == {"perfect": "open"}
    # The third cards count as well: Player's 7 and Ace draw, then Banker's 7 and Two.
    assert decide(game, shown("7S AD ? 2D"), decks=2) == {"perfect": "open"}
    assert decide(game, shown("7S AD ? 2D 7S"), decks=2) == {"perfect": "lose"}


def test_a_layout_decides_only_what_it_offers() -> None:
    game = GAMES["immortal_dragon_tiger"]
    found = decide(game, shown("7D ? TS ?"), layout="A")
    assert tuple(found) == game.layouts["A"].wagers
    assert "player_pair" not in found
    with pytest.raises(InputRefused, match="no layout 'Z'"):
        decide(game, [], layout="Z")


@pytest.mark.parametrize(
    ("codes", "told"),
    [
        ("4g", "4g is not a card of french52"),
        ("TS TS TS TS TS", "5 copies of TS: 4 decks hold 4"),
        ("? ? ? ? ? ? ?", "7 cards are too many: a round has 6 at most"),
        ("9D ? TS ? ?", "5 cards are too many: the round is complete after 4"),
        ("? 9D ? TS 3S ?", "6 cards are too many: the round is complete after 4"),
        ("7D 6D TS TH ?", "5 cards are too many: the round is complete after 4"),
        ("7D ? TS ? ? ?", "6 cards are too many: the round is complete after 5"),
        ("5D 7D TS TH ? ?", "6 cards are too many: the round is complete after 5"),
        ("? 3D ? TH 8S ?", "6 cards are too many: the round is complete after 5"),
    ],
)
def test_what_no_round_can_show_is_refused(codes: str, told: str) -> None:
    with pytest.raises(InputRefused) as refused:
        decide(TIGER, shown(codes), decks=4)
    assert str(refused.value) == told


def test_a_shoe_without_a_deck_is_refused() -> None:
    with pytest.raises(InputRefused, match="at least one deck, not 0"):
        decide(TIGER, [], decks=0)


# Against dealing.


def states(results: set[str]) -> str:
    if results == {"win"}:
        return "win"
    return "lose" if results == {"lose"} else "open"


def matches(dealt: Sequence[Card], seen: Shown) -> bool:
    if len(dealt) < len(seen):
        return False
    return all(wanted is None or wanted is got for wanted, got in zip(seen, dealt, strict=False))


@given(
    shoe=st.sampled_from(expected_rounds.TINY),
    wagers=st.lists(expected_rounds.tiny_wager(), min_size=1, max_size=6),
    data=st.data(),
)
@settings(max_examples=8)
def test_any_wager_is_decided_as_every_round_of_a_tiny_shoe_says(
    shoe: tuple[str, str, int], wagers: list[Wager], data: st.DataObject
) -> None:
    is_decided_as_dealt(shoe, wagers, data)


@pytest.mark.slow
@pytest.mark.exhaustive(cpu_s=8)
@given(
    shoe=st.sampled_from(expected_rounds.TINY),
    wagers=st.lists(expected_rounds.tiny_wager(), min_size=1, max_size=6),
    data=st.data(),
)
@settings(max_examples=80)
def test_many_wagers_are_decided_as_every_round_of_a_tiny_shoe_says(
    shoe: tuple[str, str, int], wagers: list[Wager], data: st.DataObject
) -> None:
    is_decided_as_dealt(shoe, wagers, data)


def is_decided_as_dealt(
    shoe: tuple[str, str, int], wagers: list[Wager], data: st.DataObject
) -> None:
    ranks, suits, decks = shoe
    rounds = expected_rounds.every_round(ranks, suits, decks)
    dealt = data.draw(st.sampled_from(rounds)).cards
    seen: Shown = [
        one if data.draw(st.booleans()) else None
        for one in dealt[: data.draw(st.integers(0, len(dealt)))]
    ]
    named = {str(n): wager for n, wager in enumerate(wagers)}
    game = expected_rounds.tiny_game(expected_rounds.tiny_deck(ranks, suits), named)
    possible = {id(r.seen): r.seen for r in rounds if matches(r.cards, seen)}.values()
    expected = {
        name: states({wager.judge(end).result for end in possible}) for name, wager in named.items()
    }
    assert decide(game, seen, decks=decks) == expected


@pytest.mark.slow
@pytest.mark.parametrize(
    "examples", [2, pytest.param(8, marks=pytest.mark.exhaustive(cpu_s=3))], ids=["few", "more"]
)
@pytest.mark.parametrize("name", sampled(GAMES, one_in=len(GAMES), cpu_s=1))
def test_every_game_decides_as_settling_every_completion_says(name: str, examples: int) -> None:
    game = GAMES[name]
    decks = game.decks.min

    @given(data=st.data())
    @settings(max_examples=examples)
    def holds(data: st.DataObject) -> None:
        few = data.draw(st.sets(st.sampled_from(game.deck.cards), min_size=1, max_size=4))
        cards = st.sampled_from(sorted(few, key=repr))
        seen: Shown = [data.draw(cards) for _ in range(data.draw(st.integers(4, 6)))]
        seen[data.draw(st.integers(0, len(seen) - 1))] = None
        results: dict[str, set[str]] = {wager: set() for wager in game.wagers}
        for dealt in completions(game, seen, decks):
            for wager, end in game.settle(dealt, decks=decks).wagers.items():
                results[wager].add(end.result)
        assume(results["player"])
        expected = {wager: states(met) for wager, met in results.items()}
        assert decide(game, seen, decks=decks) == expected

    holds()


def completions(game: Game, seen: Shown, decks: int) -> Iterator[list[Card]]:
    """Every round that shows this, with no more copies of a card than the decks hold."""

    def deal(dealt: list[Card], player: list[Card], banker: list[Card]) -> Iterator[list[Card]]:
        due = next_hand(player, banker)
        place = len(dealt)
        if due is None:
            if place >= len(seen):
                yield dealt
            return
        known = seen[place] if place < len(seen) else None
        faces = [known] if known is not None else game.deck.cards
        held = [one for one in seen[place:] if one is not None]
        for one in faces:
            copies = [*dealt, *held].count(one) + (known is None)  # what is shown later is gone
            if copies <= decks:
                hands = ([*player, one], banker) if due == "player" else (player, [*banker, one])
                yield from deal([*dealt, one], *hands)

    try:
        yield from deal([], [], [])
    except InputRefused:
        return
