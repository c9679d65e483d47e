"""What each game cites, allows and limits, as its document says: written from the papers alone.

A row names a clause, then its number in each of the four papers; ``-``: that paper is silent.
The fifth game is electronic: its document has no numbers, no staff and no irregularities.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from shoe_ctl.games import catalog
from shoe_ctl.games.game import Game

PAPERS = ("immortal_dragon_tiger", "dragon_tiger_no_commission", "tiger", "fa_fa_fabulous_4")
ROYAL = "dragon_bonus_royal"

CLAUSES = """
round_of_play            1.1.10    1.1.8     1.1.7     1.1.9
hlga                     1.1.5     1.1.5     1.1.4     1.1.4
decks                    2.1       2.1       2.1       2.1
layouts                  2.2       2.2       2.2       2.2
place_your_bets          3.1       3.1       3.1       3.1
no_more_bets             3.2       3.2       3.2       3.2
points                   3.3       3.3       3.3       3.3
totals                   3.4       3.4       3.4       3.4
wagers                   3.5       3.5       3.5       3.5
limits                   3.5.1     3.5.1     3.5.1     3.5.1
side_wagers_alone        3.6       3.6       3.6       -
wagers_per_area          3.7       3.7       3.7       3.6
wagers_per_area_lowered  3.7       3.7.1     3.7.1     3.6.1
on_behalf                3.8       3.8       3.8       3.7
methods                  3.9       3.9       3.9       3.8
device_control           3.9.1     3.9.1     3.9.1     3.8.1
method_choice            3.9.2     3.9.2     3.9.2     3.8.2
dealing_order            3.12      3.13      3.13      3.12
table_of_play            3.13      3.14      3.15      3.14
squeeze_allowed          3.15      3.16      3.21      3.16
uncovered                6.1       6.1       6.1       6.1
higher_position          6.2       6.2       6.2       6.2
displays                 6.3       6.3       6.3       6.3
"""

METHODS = """
A                          3.10      3.10      3.10      3.9
A.announcements            3.10.1    3.10.1    3.10.1    3.9.1
A.highest_wager            3.10.2    3.10.2    3.10.2    3.9.2
A.refused_next_highest     3.10.3    3.10.3    3.10.3    3.9.3
A.equal_first_placed       3.10.4    3.10.4    3.10.4    3.9.4
A.pit_supervisor_names     3.10.4.1  3.10.4.1  3.10.4.1  3.9.4.1
A.equal_counter_clockwise  3.10.5    3.10.5    3.10.5    3.9.5
A.reveal_order             3.10.6    3.10.6    3.10.6    3.9.6
A.further_cards            3.10.7    3.10.7    3.10.7    3.9.7
B                          3.11      3.11      3.11      3.10
B.announcements            3.11.1    3.11.1    3.11.1    3.10.1
B.dealer_keeps_cards       3.11.2    3.11.2    3.11.2    3.10.2
C                          -         3.12      3.12      3.11
C.player_draws             -         3.12.1    3.12.1    3.11.1
C.without_wager            -         3.12.2    3.12.2    3.11.2
C.through_dealer           -         3.12.3    3.12.3    3.11.3
C.full_view                -         3.12.4    3.12.4    3.11.4
C.placed                   -         3.12.5    3.12.5    3.11.5
C.further_cards            -         3.12.6    3.12.6    3.11.6
C.relinquished             -         3.12.8.1  3.12.8.1  3.11.8.1
C.wager_lost               -         3.12.8.2  3.12.8.2  3.11.8.2
"""

# What a paper's fifth section does not say is the Gaming Shift Manager's (6.1); what a reader or a
# display got wrong follows the cards (6.3); where play simply goes on, nothing is cited.
IRREGULARITIES = """
foreign_card.corrected                          6.3      6.3      6.3      6.3
foreign_card.void                               5.1      5.1      5.1      5.1
foreign_card.earlier_stand                      5.1.2    5.1.2    5.1.2    5.1.2
extra_card.corrected                            6.3      6.3      6.3      6.3
extra_card.void                                 5.1      5.1      5.1      5.1
extra_card.earlier_stand                        5.1.2    5.1.2    5.1.2    5.1.2
unshuffled.cleared                              -        -        -        -
unshuffled.void                                 5.1      5.1      5.1      5.1
unshuffled.earlier_stand                        5.1.2    5.1.2    5.1.2    5.1.2
missing_card_in_shoe.void                       5.1      5.1      5.1      5.1
missing_card_in_shoe.earlier_stand              5.1.2    5.1.2    5.1.2    5.1.2
insufficient_cards.void                         5.3      5.3      5.3      5.3
late_wager.refused                              5.4      5.4      5.4      5.4
late_wager.returned                             -        -        5.4      5.4
late_withdrawal.refused                         5.5      5.5      5.5      5.5
late_withdrawal.settled_as_placed               5.5      5.5      5.5      5.5
face_up_in_shoe.played_as_face_down             5.6      5.6      5.6      5.6
face_up_in_shoe.ruled                           6.1      6.1      6.1      6.1
wrong_order.reconstructed                       5.7      5.7      5.7      5.7
wrong_order.void                                5.2      5.2      5.2      5.2
double_draw.withdrawal                          5.8.1    5.8.1    5.8.1    5.8.1
double_draw.reconstructed                       5.8      5.8      5.8      5.8
double_draw.void                                5.8.2.1  5.8.2.1  5.8.2.1  5.8.2.1
double_draw.ordered                             5.8.2.2  5.8.2.2  5.8.2.2  5.8.2.2
double_draw.remaining_withdrawal                5.8.2.2  5.8.2.2  5.8.2.2  5.8.2.2
double_draw.named                               6.3      6.3      6.3      6.3
overdraw.kept                                   5.7      5.7      5.7      5.7
overdraw.next_round                             6.1      6.1      6.1      6.1
overdraw.set_aside                              6.1      6.1      6.1      6.1
missed_draw.reconstructed                       5.7      5.7      5.7      5.7
missed_draw.ruled                               6.1      6.1      6.1      6.1
order_altered.reconstructed                     5.7      5.7      5.7      5.7
order_altered.void                              5.2      5.2      5.2      5.2
wrong_player.retrieved                          5.7      5.7      5.7      5.7
wrong_player.stands                             5.7.1    5.7.1    5.7.1    5.7.1
holder_absent.exposed                           5.10     5.10     5.10     5.10
holder_absent.ruled                             6.1      6.1      6.1      6.1
card_taken.value_known                          5.11     5.11     5.11     5.11
card_taken.two_set_aside                        5.11.1   5.11.1   5.11.1   5.11.1
card_taken.sorted                               5.11.2   5.11.2   5.11.2   5.11.2
card_taken.determined                           5.11.2.1 5.11.2.1 5.11.2.1 5.11.2.1
card_taken.replaced                             5.11.3   5.11.3   5.11.3   5.11.3
card_taken.finished                             5.11.4   5.11.4   5.11.4   5.11.4
card_taken.shoe_replaced                        5.11.5   5.11.5   5.11.5   5.11.5
exposed_while_moving.played_as_face_down        -        5.12.1   5.12.1   5.12.1
order_altered_while_moving.rectified            -        5.12.2   5.12.2   5.12.2
order_altered_while_moving.void                 -        5.12.2   5.12.2   5.12.2
order_altered_while_moving.shoe_replaced        -        5.12.2   5.12.2   5.12.2
under_minimum.refused                           3.5.1    3.5.1    3.5.1    3.5.1
under_minimum.once                              5.12     5.14     5.14     5.14
under_minimum.returned                          5.12     5.14     5.14     5.14
under_minimum.earlier_settled                   5.14     5.16     5.16     5.16
over_maximum.refused                            3.5.1    3.5.1    3.5.1    3.5.1
over_maximum.to_maximum                         5.13     5.15     5.15     5.15
over_maximum.excess_returned                    5.13     5.15     5.15     5.15
over_maximum.earlier_settled                    5.14     5.16     5.16     5.16
power_failure.withdrawal                        5.15.1   5.17.1   5.17.1   5.17.1
power_failure.continued                         5.15.2   5.17.2   5.17.2   5.17.2
power_failure.ruled                             6.1      6.1      6.1      6.1
cutting_card.completed                          3.16     3.17     3.22     3.17
cutting_card.withdrawal                         3.16.1   3.17.1   3.22.1   3.17.1
misread.entered                                 6.3      6.3      6.3      6.3
link_lost.resumed                               -        -        -        -
link_lost.entered                               6.3      6.3      6.3      6.3
link_lost.ruled                                 6.1      6.1      6.1      6.1
gap.resumed                                     -        -        -        -
gap.entered                                     6.3      6.3      6.3      6.3
gap.ruled                                       6.1      6.1      6.1      6.1
result_disagrees.cards_stand                    6.3      6.3      6.3      6.3
result_disagrees.entered                        6.3      6.3      6.3      6.3
result_disagrees.ruled                          6.1      6.1      6.1      6.1
result_missing.cards_stand                      6.3      6.3      6.3      6.3
result_missing.entered                          6.3      6.3      6.3      6.3
result_missing.ruled                            6.1      6.1      6.1      6.1
table_differential.decreased                    5.16.1   5.18.1   5.18.1   5.18.1
table_differential.increased                    5.16.2   5.18.2   5.18.2   5.18.2
table_differential.removed                      5.16.3   5.18.3   5.18.3   5.18.3
table_differential.ruled                        6.1      6.1      6.1      6.1
other.ruled                                     6.1      6.1      6.1      6.1
other.void                                      6.1      6.1      6.1      6.1
after_void.wagers_returned                      -        -        -        -
after_void.shoe_replaced                        6.1      5.13     5.13     5.13
device_reset.withdrawal                         5.9      5.9      5.9      5.9
device_reset.reset                              5.9      5.9      5.9      5.9
device_reset.next_round                         6.1      6.1      6.1      6.1
device_reset.set_aside                          6.1      6.1      6.1      6.1
device_reset.ruled                              6.1      6.1      6.1      6.1
"""

# Name: who opens it and its rule in each paper (or "all"), which wagers, where, whether anew.
OF_RIGHT, IF_ALLOWED = "of_right", "dealer_allows"
ANYWHERE: tuple[str, ...] = ()
HLGA = ("Paiza Club", "Ruby Room")
WINDOWS = """
cutting_card         3.16.1   3.17.1   3.22.1   3.17.1
double_draw          5.8.1    5.8.1    5.8.1    5.8.1
double_draw_ordered  5.8.2.2  5.8.2.2  5.8.2.2  5.8.2.2
device_reset         5.9      5.9      5.9      5.9
power_failure        5.15.1   5.17.1   5.17.1   5.17.1
"""
ALL_WINDOWS = {
    "cutting_card": (IF_ALLOWED, "any", HLGA, False),
    "double_draw": (OF_RIGHT, "any", ANYWHERE, False),
    "double_draw_ordered": (OF_RIGHT, "remaining_or_none", ANYWHERE, False),
    "device_reset": (OF_RIGHT, "any", ANYWHERE, True),
    "power_failure": (OF_RIGHT, "all_or_none", ANYWHERE, False),
}

# Of each wager the rule that defines it, then that of each way to be paid or to push.
WAGERS = {
    "immortal_dragon_tiger": """
        player 3.14 4.1 4.1 3.14.1 3.14.2; banker 3.14 4.1 3.14.1; tie 1.1.16 4.1
        dragon_tiger 1.1.3 4.2 4.2 4.2; big_dragon 1.1.1 4.3; small_dragon 1.1.11 4.3
        big_tiger 1.1.2 4.3; small_tiger 1.1.12 4.3; tiger_tie 1.1.17 4.4
        player_pair 1.1.9 4.5; banker_pair 1.1.9 4.5; immortal_dragon 1.1.6 4.6""",
    "dragon_tiger_no_commission": """
        player 3.15 4.1 3.15.1; banker 3.15 4.1 4.1 3.15.1; tie 1.1.14 4.1
        dragon_tiger 1.1.3 4.2 4.2 4.2; big_dragon 1.1.1 4.3; small_dragon 1.1.9 4.3
        big_tiger 1.1.2 4.3; small_tiger 1.1.10 4.3""",
    "tiger": """
        player 3.16 4.1 3.16.1; banker 3.16 4.1 3.16.1; tie 1.1.12 4.1; tiger 1.1.13 4.3 4.3
        big_tiger 1.1.1 4.3; small_tiger 1.1.8 4.3; tiger_pair 1.1.14 4.2 4.2 4.2
        tiger_tie 1.1.15 4.3""",
    "fa_fa_fabulous_4": """
        player 3.15 4.1 4.1 4.1 3.15.1; banker 3.15 4.1 4.1 4.1 3.15.1; tie 1.1.14 4.1 4.1
        player_precious_pair 1.1.8.1 4.2 4.2 4.2 4.2; banker_precious_pair 1.1.8.1 4.2 4.2 4.2 4.2
        player_fabulous_4 1.1.7 4.1; banker_fabulous_4 1.1.1 4.1""",
}

# What each wager pays, line by line in the order of the papers' tables of settlement.
BONUS = "30:1 10:1 6:1 4:1 2:1 1:1 1:1 push"
PAYS = {
    "immortal_dragon_tiger": """
        player 1:1 1:2 push push; banker 0.95:1 push; tie 8:1; dragon_tiger 100:1 40:1 30:1
        big_dragon 30:1; small_dragon 15:1; big_tiger 50:1; small_tiger 22:1; tiger_tie 35:1
        player_pair 11:1; banker_pair 11:1; immortal_dragon 25:1""",
    "dragon_tiger_no_commission": """
        player 1:1 push; banker 1:2 1:1 push; tie 8:1; dragon_tiger 100:1 40:1 30:1
        big_dragon 30:1; small_dragon 15:1; big_tiger 50:1; small_tiger 22:1""",
    "tiger": """
        player 1:1 push; banker 0.95:1 push; tie 8:1; tiger 12:1 20:1; big_tiger 50:1
        small_tiger 22:1; tiger_pair 4:1 20:1 100:1; tiger_tie 35:1""",
    "fa_fa_fabulous_4": """
        player 1:2 2:1 1:1 push; banker push 2:1 1:1 push; tie 800:1 8:1
        player_precious_pair 30:1 15:1 12:1 9:1; banker_precious_pair 30:1 15:1 12:1 9:1
        player_fabulous_4 50:1; banker_fabulous_4 25:1""",
    ROYAL: f"""
        player 1:1 push; banker 0.95:1 push; tie 8:1; player_pair 11:1; banker_pair 11:1
        player_dragon_bonus {BONUS}; banker_dragon_bonus {BONUS}; fortune_six 20:1 12:1""",
}

BEGINS = {
    "immortal_dragon_tiger": ("Immortal Dragon Tiger Baccarat", None, "2025-07-28", "french52"),
    "dragon_tiger_no_commission": (
        "Dragon Tiger No Commission Baccarat", None, "2023-12-07", "french52",
    ),
    "tiger": ("Tiger Baccarat", "3", "2022-03-09", "french52"),
    "fa_fa_fabulous_4": ("Fa Fa Fabulous 4 Baccarat", "3", "2020-01-23", "element65"),
    ROYAL: ("Dragon Bonus Royal Baccarat", None, None, "french52"),
}  # fmt: skip
"""The title, version and date of each document, and its deck."""


def game(name: str) -> Game:
    return catalog.load(name)


def rows(table: str, paper: str) -> dict[str, str | None]:
    """Each row's number in this paper."""
    column = 1 + PAPERS.index(paper)
    words = [line.split() for line in table.strip().splitlines()]
    assert all(len(each) == 1 + len(PAPERS) for each in words)
    assert len({each[0] for each in words}) == len(words)
    return {each[0]: None if each[column] == "-" else each[column] for each in words}


def methods(of: Game) -> Iterator[tuple[str, str | None]]:
    for letter, method in of.methods.items():
        yield letter, method.rule
        yield from ((f"{letter}.{name}", rule) for name, rule in method.clauses.items())


@pytest.mark.parametrize("paper", PAPERS)
def test_each_clause_has_its_number_in_the_document(paper: str) -> None:
    assert dict(game(paper).clauses) == rows(CLAUSES, paper)


@pytest.mark.parametrize("paper", PAPERS)
def test_each_clause_of_a_method_has_its_number_in_the_document(paper: str) -> None:
    expected = rows(METHODS, paper)
    has_no_c = paper == "immortal_dragon_tiger"
    kept = {name: rule for name, rule in expected.items() if not (has_no_c and name[0] == "C")}
    assert dict(methods(game(paper))) == kept


@pytest.mark.parametrize("paper", PAPERS)
def test_each_end_of_an_irregularity_cites_the_document(paper: str) -> None:
    found = {
        f"{key}.{end}": rule
        for key, ends in game(paper).irregularities.items()
        for end, rule in ends.items()
    }
    assert found == rows(IRREGULARITIES, paper)


@pytest.mark.parametrize("name", PAYS)
def test_each_wager_pays_what_the_document_says_in_its_order(name: str) -> None:
    stated = [each.split() for each in PAYS[name].replace("\n", ";").split(";") if each.strip()]
    found = [
        [w.id, *(x.pays or x.done.result for x in w.lines)] for w in game(name).wagers.values()
    ]
    assert found == stated


@pytest.mark.parametrize("paper", PAPERS)
def test_each_wager_and_each_of_its_pay_lines_cites_the_document(paper: str) -> None:
    stated = [each.split() for each in WAGERS[paper].replace("\n", ";").split(";") if each.strip()]
    wagers = game(paper).wagers.values()
    found = [[w.id, w.lost.rule, *(line.done.rule for line in w.lines)] for w in wagers]
    assert found == stated


@pytest.mark.parametrize("paper", PAPERS)
def test_wagers_are_withdrawn_when_the_document_says_so(paper: str) -> None:
    windows = game(paper).windows
    assert {key: each.rule for key, each in windows.items()} == rows(WINDOWS, paper)
    found = {
        key: (each.opened, each.scope, each.areas, each.wager_anew) for key, each in windows.items()
    }
    opened = OF_RIGHT if paper == "immortal_dragon_tiger" else IF_ALLOWED
    assert found == ALL_WINDOWS | {"cutting_card": (opened, "any", HLGA, False)}


@pytest.mark.parametrize("name", BEGINS)
def test_a_game_names_its_document_and_its_deck(name: str) -> None:
    title, version, day, deck = BEGINS[name]
    found = game(name)
    assert (found.title, found.version, found.date, found.deck.name) == (title, version, day, deck)


@pytest.mark.parametrize("paper", PAPERS)
def test_four_to_ten_decks_are_played(paper: str) -> None:
    assert (game(paper).decks.min, game(paper).decks.max) == (4, 10)


@pytest.mark.parametrize("paper", PAPERS)
def test_three_wagers_an_area_or_no_number_and_a_pit_manager_may_restrict_them(paper: str) -> None:
    limits = game(paper).limits
    most = None if paper == "immortal_dragon_tiger" else 3
    found = (limits.wagers_per_area, limits.lowered_by, limits.players)
    assert found == (most, "pit_manager", None)


@pytest.mark.parametrize("paper", PAPERS)
def test_a_paper_names_its_staff_and_who_chooses_a_method(paper: str) -> None:
    found = game(paper)
    staff = ["dealer", "pit_supervisor", "pit_manager", "gaming_shift_manager"]
    chosen_by = {"A": "pit_manager", "B": "pit_manager"}
    if paper != "immortal_dragon_tiger":  # the only paper without an Assistant Casino Manager
        staff.append("assistant_casino_manager")
        chosen_by["C"] = "assistant_casino_manager"
    assert list(found.positions) == staff
    assert {key: method.chosen_by for key, method in found.methods.items()} == chosen_by
    under = "3.8.2" if paper == "fa_fa_fabulous_4" else "3.9.2"
    assert {method.chosen_under for method in found.methods.values()} == {under}
    assert (found.decides, found.hlga) == ("gaming_shift_manager", HLGA)


@pytest.mark.parametrize("paper", PAPERS)
def test_only_immortal_speaks_of_reasonable_discretion(paper: str) -> None:
    options = game(paper).options
    assert options.reason_for_discretion is (paper == "immortal_dragon_tiger")
    assert (options.staffed, options.payout_cap, options.clear_bets) == (True, False, False)


def test_the_electronic_game_has_one_player_clears_bets_and_caps_what_is_paid() -> None:
    royal = game(ROYAL)
    options, limits = royal.options, royal.limits
    assert (options.staffed, options.payout_cap, options.clear_bets) == (False, True, True)
    assert not options.reason_for_discretion
    assert (limits.players, limits.wagers_per_area, limits.lowered_by) == (1, 1, None)
    cited = [
        done.rule for w in royal.wagers.values() for done in (w.lost, *(x.done for x in w.lines))
    ]
    assert len(cited) > len(royal.wagers) and set(cited) == {None}
