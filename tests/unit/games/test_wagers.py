"""Every pay line of every shipped game, and every reading, against rounds settled by hand."""

from __future__ import annotations

from fractions import Fraction

import pytest

from firmware_proto.cards import card
from shoe_ctl.games import catalog
from shoe_ctl.games.conditions import features
from shoe_ctl.games.game import Game
from shoe_ctl.games.wagers import Settlement
from shoe_testing.rounds import PAID

ROUNDS = [(game, cards, paid) for game, rounds in PAID.items() for cards, paid in rounds]


@pytest.fixture(scope="module")
def games() -> dict[str, Game]:
    return {name: catalog.load(name) for name in PAID}


def settled(game: Game, codes: str) -> Settlement:
    return game.settle([card(code) for code in codes.split()])


def test_every_shipped_game_has_rounds_settled_by_hand() -> None:
    assert set(PAID) == set(catalog.shipped())


@pytest.mark.parametrize(("name", "cards", "paid"), ROUNDS)
def test_a_round_settles_as_the_document_says(
    games: dict[str, Game], name: str, cards: str, paid: str
) -> None:
    done = settled(games[name], cards)
    found = {
        wager: "push" if end.odds is None else str(end.odds)
        for wager, end in done.wagers.items()
        if end.result != "lose"
    }
    assert found == dict(item.split(" ") for item in paid.split(", "))
    assert all(end.odds is None for end in done.wagers.values() if end.result != "win")


@pytest.mark.parametrize("name", PAID)
def test_every_pay_line_is_met_by_a_round_settled_by_hand(
    games: dict[str, Game], name: str
) -> None:
    game = games[name]
    seen = []
    for cards, _ in PAID[name]:
        done = settled(game, cards)
        seen.append(features(done.player.cards, done.banker.cards))
    unmet = [
        (wager.id, place)
        for wager in game.wagers.values()
        for place, line in enumerate(wager.lines)
        if not any(line.holds(round_) for round_ in seen)
    ]
    assert unmet == []


@pytest.mark.parametrize(
    ("name", "cards", "winner", "rules"),
    [
        ("immortal_dragon_tiger", "7D 9C TS TH", "banker", ("3.14.2",)),
        ("immortal_dragon_tiger", "7D 7C TS TH", "tie", ("3.14.1",)),
        ("immortal_dragon_tiger", "2D 6C KS TH AH", "banker", ("3.14",)),
        ("immortal_dragon_tiger", "7D 6C TS TH", "player", ("3.14",)),
        ("dragon_tiger_no_commission", "7D 9C TS TH", "banker", ("3.15",)),
        ("dragon_tiger_no_commission", "7D 7C TS TH", "tie", ("3.15.1",)),
        ("tiger", "7D 9C TS TH", "banker", ("3.16",)),
        ("tiger", "7D 7C TS TH", "tie", ("3.16.1",)),
        ("fa_fa_fabulous_4", "Tf Tg 9e 7w", "player", ("3.15",)),
        ("fa_fa_fabulous_4", "4f 5g 4e 3w", "tie", ("3.15.1",)),
        ("dragon_bonus_royal", "7D 9C TS TH", "banker", ()),
    ],
)
def test_the_rules_that_decided_the_outcome_are_cited(
    games: dict[str, Game], name: str, cards: str, winner: str, rules: tuple[str, ...]
) -> None:
    done = settled(games[name], cards)
    assert (done.winner, done.rules) == (winner, rules)


def test_a_wager_cites_the_rule_of_its_pay_line_or_of_its_definition(
    games: dict[str, Game],
) -> None:
    done = settled(games["immortal_dragon_tiger"], "7D 9C TS TH").wagers
    assert done["player"].rule == "3.14.2"
    assert done["banker"].rule == "4.1"
    assert done["immortal_dragon"].rule == "4.6"
    assert done["tie"].rule == "1.1.16"


def test_the_commission_is_what_the_banker_wager_is_short_of_even_money(
    games: dict[str, Game],
) -> None:
    line = games["tiger"].wagers["banker"].lines[0]
    assert (line.done.odds, line.commission) == (Fraction(19, 20), Fraction(1, 20))


@pytest.mark.parametrize(
    ("name", "kept"),
    [("tiger", Fraction(1, 20)), ("immortal_dragon_tiger", None), ("dragon_bonus_royal", None)],
)
def test_a_settled_wager_names_a_commission_only_where_the_rules_do(
    games: dict[str, Game], name: str, kept: Fraction | None
) -> None:
    done = settled(games[name], "7D 9C TS TH").wagers
    assert (done["banker"].odds, done["banker"].commission) == (Fraction(19, 20), kept)
    assert done["tie"].commission is None


@pytest.mark.parametrize(
    ("name", "cards", "written"),
    [
        ("tiger", "7D 9C TS TH", "0.95:1"),
        ("immortal_dragon_tiger", "7D 9C TS TH", "0.95:1"),
        ("dragon_tiger_no_commission", "7D 9C TS TH", "1:1"),
        ("dragon_tiger_no_commission", "4D 6C AS TH JC", "1:2"),
        ("dragon_bonus_royal", "7D 9C TS TH", "0.95:1"),
    ],
)
def test_odds_are_written_as_in_the_document(
    games: dict[str, Game], name: str, cards: str, written: str
) -> None:
    banker = games[name].wagers["banker"]
    assert banker.written(settled(games[name], cards).wagers["banker"]) == written
    assert banker.written(banker.lost) is None
