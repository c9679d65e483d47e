"""Settling any round: complete, equal to plain evaluation, and refused where it is no round."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmware_proto.cards import Card, card
from shoe_ctl.errors import InputRefused
from shoe_ctl.games import catalog
from shoe_ctl.games.game import Game
from shoe_ctl.games.settle import judge
from shoe_ctl.games.table_of_play import natural, next_hand, total
from shoe_ctl.games.wagers import Settlement

GAMES = {name: catalog.load(name) for name in catalog.shipped()}
TIGER = GAMES["tiger"]


def cards(codes: str) -> list[Card]:
    return [card(code) for code in codes.split()]


@st.composite
def finished(draw: st.DrawFn, game: Game) -> list[Card]:
    """A whole round from a full shoe of the game's default number of decks."""
    shoe = list(game.deck.cards) * game.decks.default
    dealt: list[Card] = []
    hands: dict[str, tuple[Card, ...]] = {"player": (), "banker": ()}
    while (due := next_hand(hands["player"], hands["banker"])) is not None:
        one = shoe.pop(draw(st.integers(0, len(shoe) - 1)))
        hands[due] += (one,)
        dealt.append(one)
    return dealt


def assert_plain(game: Game, done: Settlement) -> None:
    """The settlement is what evaluating every pay line says."""
    player, banker = done.player.cards, done.banker.cards
    plain = judge(player, banker, game.wagers, game.outcome)
    assert (done.winner, dict(done.wagers), done.rules) == (
        plain.winner,
        plain.wagers,
        plain.rules,
    )
    assert (done.player.total, done.banker.total) == (total(player), total(banker))
    assert (done.player.natural, done.banker.natural) == (natural(player), natural(banker))


@pytest.mark.parametrize("name", GAMES)
def test_every_finished_round_settles_every_wager_as_plain_evaluation_does(name: str) -> None:
    game = GAMES[name]

    @given(finished(game))
    def holds(dealt: list[Card]) -> None:
        done = game.settle(dealt)
        assert tuple(done.wagers) == tuple(game.wagers)
        assert all(end.result in {"win", "lose", "push"} for end in done.wagers.values())
        assert all((end.odds is not None) == (end.result == "win") for end in done.wagers.values())
        assert_plain(game, done)
        assert done == game.settle(dealt)
        assert done == game.settle_hands(done.player.cards, done.banker.cards)

    holds()


def first_cards(game: Game) -> dict[int, list[tuple[Card, Card]]]:
    """All first two cards of a hand by the kind the look-up sorts them into."""
    game.settle(cards("Tf Tg 9e 7w") if game.deck.name == "element65" else cards("7D 9C TS TH"))
    found: dict[int, list[tuple[Card, Card]]] = {}
    for first, row in game._table._banker.items():
        for second, kind in row.items():
            found.setdefault(kind, []).append((first, second))
    return found


def every_ending(
    game: Game, player: tuple[Card, ...], banker: tuple[Card, ...], rng: random.Random
) -> Iterator[tuple[tuple[Card, ...], tuple[Card, ...]]]:
    """Each way the round can end, by the points of the third cards."""
    due = next_hand(player, banker)
    if due is None:
        yield player, banker
        return
    for points in range(10):
        one = rng.choice([face for face in game.deck.cards if face.points == points])
        if due == "player":
            yield from every_ending(game, (*player, one), banker, rng)
        else:
            yield from every_ending(game, player, (*banker, one), rng)


@pytest.mark.parametrize(
    "share",
    [0.1, pytest.param(1.0, marks=[pytest.mark.slow, pytest.mark.exhaustive(cpu_s=3)])],
    ids=["some", "every"],
)
@pytest.mark.parametrize("name", GAMES)
def test_the_look_up_equals_plain_evaluation_at_every_key(
    name: str, share: float, seed: int
) -> None:
    """Each key twice, from different cards: the first fills the look-up, the second reads it."""
    game = catalog.load(name)
    rng = random.Random(seed)
    kinds = first_cards(game)
    keys = [pair for pair in product(kinds.values(), repeat=2) if rng.random() < share]
    assert keys
    for turn in range(2):
        for player, banker in keys:
            ends = every_ending(game, rng.choice(player), rng.choice(banker), rng)
            for hands in ends:
                done = game.settle_hands(*hands)
                if turn:
                    assert_plain(game, done)


@pytest.mark.parametrize(
    ("codes", "why"),
    [
        ("", "0 cards are too few: the next card is Player's"),
        ("7D", "1 card is too few: the next card is Banker's"),
        ("7D 9C TS", "3 cards are too few: the next card is Banker's"),
        ("2D 6C KS TH", "4 cards are too few: the next card is Player's"),
        ("7D 2C TS 3H", "4 cards are too few: the next card is Banker's"),
        ("2D TC 2S 3H AD", "5 cards are too few: the next card is Banker's"),
        ("7D 9C TS TH 2S", "5 cards are too many: the round is complete after 4"),
        ("2D 6C KS TH AH 2S", "6 cards are too many: the round is complete after 5"),
        ("2D TC 2S 3H AD 3S 4D", "7 cards are too many: the round is complete after 6"),
        ("4g 9C TS TH", "4g is not a card of french52"),
        ("7D 9C TS Fa", "Fa is not a card of french52"),
        ("2D TC 2S 3H AD Lf", "Lf is not a card of french52"),
    ],
)
def test_what_is_not_a_whole_round_of_the_game_is_refused(codes: str, why: str) -> None:
    for _ in range(2):  # with the look-up empty and filled
        with pytest.raises(InputRefused) as refused:
            TIGER.settle(cards(codes))
        assert why in str(refused.value)
        TIGER.settle(cards("7D 9C TS TH"))


def test_more_copies_of_a_card_than_the_decks_hold_are_refused() -> None:
    five = cards("TS TS TS TS TS 6D")
    assert TIGER.settle(five, decks=5).winner == "banker"
    with pytest.raises(InputRefused, match="5 copies of TS: 4 decks hold 4"):
        TIGER.settle(five, decks=4)


@pytest.mark.parametrize(
    ("name", "decks"), [("tiger", 3), ("tiger", 11), ("dragon_bonus_royal", 6)]
)
def test_a_number_of_decks_the_game_is_not_played_with_is_refused(name: str, decks: int) -> None:
    with pytest.raises(InputRefused, match=f"decks, not {decks}"):
        GAMES[name].settle(cards("7D 9C TS TH"), decks=decks)


@pytest.mark.parametrize(
    ("player", "banker", "winner", "totals"),
    [
        ("2D TS", "7C TH", "banker", (2, 7)),  # Player has no third card
        ("9D TS", "7C TH 2D", "tie", (9, 9)),  # Banker has one after a Natural
        ("7D TS 4H", "7C TH 3D", "player", (1, 0)),  # both have one, and stand on 7
    ],
)
@pytest.mark.parametrize("name", GAMES)
def test_hands_against_the_table_of_play_settle_by_their_totals_where_people_ruled_so(
    name: str, player: str, banker: str, winner: str, totals: tuple[int, int]
) -> None:
    game = GAMES[name]
    suit = game.deck.cards[0].code[1]
    players, bankers = (
        tuple(card(code[0] + suit) for code in codes.split()) for codes in (player, banker)
    )
    with pytest.raises(InputRefused):
        game.settle_hands(players, bankers)
    done = game.settle_hands(players, bankers, ruled=True)
    assert (done.winner, done.player.total, done.banker.total) == (winner, *totals)
    assert {one: done.wagers[one].result for one in ("player", "banker", "tie")} == {
        one: "push" if winner == "tie" != one else "win" if one == winner else "lose"
        for one in ("player", "banker", "tie")
    }


@pytest.mark.parametrize("codes", ["7D 9C TS TH", "2D 3C TS TH 4C 5D", "2D 7C TS TH 4C"])
def test_a_round_of_the_table_of_play_settles_alike_with_and_without_a_ruling(codes: str) -> None:
    done = TIGER.settle(cards(codes))
    hands = (done.player.cards, done.banker.cards)
    assert TIGER.settle_hands(*hands, ruled=True) == done


def test_a_layout_settles_only_the_wagers_it_offers() -> None:
    game = GAMES["immortal_dragon_tiger"]
    hands = (tuple(cards("7D TS")), tuple(cards("9C TH")))
    whole = game.settle_hands(*hands)
    plain = game.settle_hands(*hands, layout="A")
    assert set(whole.wagers) - set(plain.wagers) == {
        "player_pair",
        "banker_pair",
        "immortal_dragon",
    }
    assert plain.wagers["player"] == whole.wagers["player"]
    with pytest.raises(InputRefused, match="no layout 'Z'"):
        game.settle_hands(*hands, layout="Z")


def test_hands_that_are_not_complete_are_refused() -> None:
    with pytest.raises(InputRefused, match="not complete: the next card is Player's"):
        TIGER.settle_hands(tuple(cards("2D KS")), tuple(cards("6C TH")))


def test_a_settlement_cannot_be_altered() -> None:
    done = TIGER.settle(cards("7D 9C TS TH"))
    with pytest.raises(AttributeError):
        done.winner = "player"  # type: ignore[misc]
    with pytest.raises(TypeError):
        done.wagers["player"] = done.wagers["banker"]  # type: ignore[index]
