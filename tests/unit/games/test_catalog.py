"""The shipped games: whole, and true to their documents beyond wagers and pays."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest

from shoe_ctl.errors import GameFileError
from shoe_ctl.games import catalog
from shoe_ctl.games.game_file import CLAUSES, METHOD_CLAUSES
from shoe_ctl.games.irregularity_ends import ENDS

GAMES = {name: catalog.load(name) for name in catalog.shipped()}
PAPERS = [name for name in GAMES if name != "dragon_bonus_royal"]
ALL_SEATS = tuple(range(1, 17))


def test_five_games_are_shipped() -> None:
    assert set(GAMES) == {
        "dragon_bonus_royal",
        "dragon_tiger_no_commission",
        "fa_fa_fabulous_4",
        "immortal_dragon_tiger",
        "tiger",
    }


@pytest.mark.parametrize("name", GAMES)
def test_a_game_keeps_the_bytes_of_its_file_and_their_digest(name: str) -> None:
    game = GAMES[name]
    assert game.id == name
    assert game.sha256 == hashlib.sha256(game.source).hexdigest()
    assert game.source.startswith(b"# ")


def test_a_game_is_loaded_from_a_path_too(tmp_path: Path) -> None:
    copy = tmp_path / "copy.toml"
    copy.write_bytes(GAMES["tiger"].source)
    assert catalog.load(str(copy)).sha256 == GAMES["tiger"].sha256


def test_a_file_is_a_game_whatever_its_name_ends_with(tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    copy.write_bytes(GAMES["tiger"].source)
    assert catalog.load(str(copy)).sha256 == GAMES["tiger"].sha256
    with pytest.raises(GameFileError, match=r"no such game: .*shipped: .*tiger"):
        catalog.load(str(tmp_path / "no_copy"))


@pytest.mark.parametrize("ref", ["tigre", "", ".", "../tiger", "no/such/file.toml", "a\0b.toml"])
def test_a_game_that_is_not_there_is_refused_in_one_line(ref: str) -> None:
    with pytest.raises(GameFileError) as refused:
        catalog.load(ref)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("name", GAMES)
def test_every_end_of_every_irregularity_has_its_citation(name: str) -> None:
    for key, ends in ENDS.items():
        for end in ends:
            rule = GAMES[name].rule(key, end)
            assert rule is None or re.fullmatch(r"\d+(\.\d+)*", rule)
    with pytest.raises(KeyError):
        GAMES[name].rule("double_draw", "no_such_end")


@pytest.mark.parametrize("name", PAPERS)
@pytest.mark.parametrize(
    ("key", "end", "rule"),
    [
        ("foreign_card", "void", "5.1"),
        ("extra_card", "void", "5.1"),
        ("unshuffled", "void", "5.1"),
        ("missing_card_in_shoe", "earlier_stand", "5.1.2"),
        ("order_altered", "void", "5.2"),
        ("insufficient_cards", "void", "5.3"),
        ("late_wager", "refused", "5.4"),
        ("late_withdrawal", "settled_as_placed", "5.5"),
        ("face_up_in_shoe", "played_as_face_down", "5.6"),
        ("wrong_order", "reconstructed", "5.7"),
        ("wrong_player", "stands", "5.7.1"),
        ("double_draw", "void", "5.8.2.1"),
        ("double_draw", "ordered", "5.8.2.2"),
        ("device_reset", "reset", "5.9"),
        ("holder_absent", "exposed", "5.10"),
        ("card_taken", "determined", "5.11.2.1"),
        ("misread", "entered", "6.3"),
        ("other", "ruled", "6.1"),
        ("after_void", "wagers_returned", None),
    ],
)
def test_the_four_papers_number_their_irregularities_alike(
    name: str, key: str, end: str, rule: str | None
) -> None:
    assert GAMES[name].rule(key, end) == rule


@pytest.mark.parametrize(
    ("key", "end", "immortal", "others"),
    [
        ("exposed_while_moving", "played_as_face_down", None, "5.12.1"),
        ("order_altered_while_moving", "void", None, "5.12.2"),
        ("after_void", "shoe_replaced", "6.1", "5.13"),
        ("under_minimum", "once", "5.12", "5.14"),
        ("over_maximum", "to_maximum", "5.13", "5.15"),
        ("over_maximum", "earlier_settled", "5.14", "5.16"),
        ("power_failure", "withdrawal", "5.15.1", "5.17.1"),
        ("power_failure", "continued", "5.15.2", "5.17.2"),
        ("table_differential", "decreased", "5.16.1", "5.18.1"),
        ("table_differential", "removed", "5.16.3", "5.18.3"),
    ],
)
def test_immortal_numbers_some_irregularities_differently(
    key: str, end: str, immortal: str | None, others: str
) -> None:
    assert GAMES["immortal_dragon_tiger"].rule(key, end) == immortal
    for name in set(PAPERS) - {"immortal_dragon_tiger"}:
        assert GAMES[name].rule(key, end) == others


def test_the_electronic_game_cites_nothing_and_names_no_staff() -> None:
    royal = GAMES["dragon_bonus_royal"]
    assert {rule for ends in royal.irregularities.values() for rule in ends.values()} == {None}
    assert set(royal.clauses.values()) == {None}
    assert (dict(royal.methods), dict(royal.windows), royal.positions) == ({}, {}, ())
    assert royal.decides is None
    assert royal.decks == (8, 8, 8)
    assert royal.options.payout_cap
    assert not royal.options.staffed


@pytest.mark.parametrize("name", GAMES)
def test_every_clause_is_named(name: str) -> None:
    game = GAMES[name]
    assert tuple(game.clauses) == CLAUSES
    for letter, method in game.methods.items():
        assert tuple(method.clauses) == METHOD_CLAUSES[letter]


@pytest.mark.parametrize(
    ("name", "rules"),
    [
        ("immortal_dragon_tiger", "3.12 3.13 3.7 3.10 3.9.2 3.16.1"),
        ("dragon_tiger_no_commission", "3.13 3.14 3.7.1 3.10 3.9.2 3.17.1"),
        ("tiger", "3.13 3.15 3.7.1 3.10 3.9.2 3.22.1"),
        ("fa_fa_fabulous_4", "3.12 3.14 3.6.1 3.9 3.8.2 3.17.1"),
    ],
)
def test_each_paper_numbers_its_clauses_its_own_way(name: str, rules: str) -> None:
    game = GAMES[name]
    named = ("dealing_order", "table_of_play", "wagers_per_area_lowered")
    assert rules.split() == [
        *(game.clause(clause) for clause in named),
        game.methods["A"].rule,
        game.methods["A"].chosen_under,
        game.windows["cutting_card"].rule,
    ]
    assert game.windows["cutting_card"].rule == game.rule("cutting_card", "withdrawal")


def test_only_immortal_lets_players_withdraw_of_right_when_the_cutting_card_comes_first() -> None:
    for name in PAPERS:
        window = GAMES[name].windows["cutting_card"]
        of_right = name == "immortal_dragon_tiger"
        assert window.opened == ("of_right" if of_right else "dealer_allows")
        assert window.areas == ("Paiza Club", "Ruby Room")


def test_method_c_is_for_high_limit_areas_and_unknown_to_immortal() -> None:
    for name in PAPERS:
        methods = GAMES[name].methods
        if name == "immortal_dragon_tiger":
            assert tuple(methods) == ("A", "B")
            continue
        assert methods["C"].chosen_by == "assistant_casino_manager"
        assert methods["C"].areas == ("Paiza Club", "Ruby Room")
        assert methods["A"].areas == methods["B"].areas == ()


@pytest.mark.parametrize(
    ("name", "highest"),
    [
        ("immortal_dragon_tiger", {"A": 8, "B": 8, "C": 8, "D": 8, "E": 8}),
        (
            "dragon_tiger_no_commission",
            dict.fromkeys("ABCFGHIJK", 8) | {"D": 9, "E": 16},
        ),
        ("tiger", dict.fromkeys("ABCFG", 8) | {"D": 9, "E": 16, "H": 9}),
        ("fa_fa_fabulous_4", {"A": 5, "B": 7, "C": 9, "D": 1, "E": 16}),
        ("dragon_bonus_royal", {"A": 1}),
    ],
)
def test_each_layout_lists_its_seats(name: str, highest: dict[str, int]) -> None:
    layouts = GAMES[name].layouts
    assert {key: layout.seats for key, layout in layouts.items()} == {
        key: ALL_SEATS[:last] for key, last in highest.items()
    }
    for layout in layouts.values():
        assert layout.min_seats == (8 if len(layout.seats) == 16 else 1)


def test_immortals_pairs_and_immortal_dragon_depend_on_the_layout() -> None:
    layouts = GAMES["immortal_dragon_tiger"].layouts
    with_pairs = {"player_pair", "banker_pair"}
    assert {key for key, one in layouts.items() if with_pairs <= set(one.wagers)} == {*"BDE"}
    assert {key for key, one in layouts.items() if "immortal_dragon" in one.wagers} == {*"CDE"}
    assert all(len(one.wagers) >= 9 for one in layouts.values())


@pytest.mark.parametrize("name", [n for n in GAMES if n != "immortal_dragon_tiger"])
def test_elsewhere_every_layout_offers_every_wager(name: str) -> None:
    game = GAMES[name]
    assert all(layout.wagers == tuple(game.wagers) for layout in game.layouts.values())


@pytest.mark.parametrize("name", GAMES)
def test_player_and_banker_are_the_main_wagers(name: str) -> None:
    mains = {wager.main: key for key, wager in GAMES[name].wagers.items() if wager.main}
    assert mains == {"player": "player", "banker": "banker"}


@pytest.mark.parametrize("name", GAMES)
def test_every_game_states_its_readings(name: str) -> None:
    readings = GAMES[name].readings
    assert len(readings) >= 8
    assert len({reading.about for reading in readings}) == len(readings)


def test_no_code_knows_a_game_by_its_id() -> None:
    package = Path(catalog.__file__).parent
    for module in package.glob("*.py"):
        text = module.read_text()
        assert not [name for name in GAMES if f'"{name}"' in text], module.name
