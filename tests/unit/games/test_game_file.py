"""What a game file can get wrong: each is one line with file, key and what was expected."""

from __future__ import annotations

import pytest

from shoe_ctl.errors import GameFileError, InputRefused
from shoe_ctl.games import catalog
from shoe_ctl.games.game_file import parse
from shoe_testing.paths import LUCKY_EIGHT

GOOD = LUCKY_EIGHT.read_text()

TIE = 'lines = [{ when = { winner = "tie" }, pays = "9:1", rule = "4.3" }]'


def refusal(source: str | bytes) -> str:
    with pytest.raises(GameFileError) as refused:
        parse(source.encode() if isinstance(source, str) else source, "my.toml")
    told = str(refused.value)
    assert "\n" not in told
    return told


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        # keys
        ('title = "Lucky Eight Baccarat"\n', "", "title: expected text, but the key is missing"),
        ("hlga = []", "hlga = []\ncolour = 1", "colour: expected no such key here (known: "),
        ("payout_cap", "payout_cup", "options.payout_cap: expected true or false, but the key is"),
        ("staffed = true", "staffed = 1", "options.staffed: expected true or false, found 1"),
        ("[wagers.tie]", "[wagers.Tie]", "wagers.Tie: expected an id of lower-case letters"),
        ('id = "lucky_eight"', 'id = "Lucky Eight"', "id: expected an id of lower-case letters"),
        ('id = "lucky_eight"', "id = 8", "id: expected an id of lower-case letters"),
        ('title = "Tie"', 'title = "Tie"\nodds = 9', "wagers.tie.odds: expected no such key here"),
        ("date = 2025-01-31", 'date = "January"', "date: expected a date such as 2022-03-09"),
        ('version = "1"', "version = 1", 'version: expected text, or "none", found 1'),
        # decks, positions, areas
        ('"french52"', '"french54"', "deck: expected french52 or element65, found 'french54'"),
        ("default = 8", "default = 9", "decks.default: expected a whole number from 6 to 8"),
        ("min = 6", "min = 0", "decks.min: expected a whole number from 1 to 100, found 0"),
        ("min = 6", "min = true", "decks.min: expected a whole number from 1 to 100, found True"),
        ('"pit_supervisor"', '"pit_boss"', "positions[1]: expected dealer, pit_supervisor"),
        ('decides = "gaming_shift', 'decides = "shift', "decides: expected dealer, pit_super"),
        ('lowered_by = "pit_manager"', 'lowered_by = "me"', "limits.lowered_by: expected dealer"),
        ("lowered_by", "players = 0\nlowered_by", "limits.players: expected a whole number from 1"),
        # methods and windows
        ("[methods.B]", "[methods.D]", "methods.D: expected a method: A, B, C"),
        ('area = "any"', 'area = "vip"', "methods.B.area: expected hlga or any, found 'vip'"),
        ('clauses = "none"\n\n[lay', "clauses = {}\n\n[lay", "methods.B.clauses.announcements: "),
        ('windows = "none"', "windows = {}", "windows.cutting_card: expected a table, but the key"),
        (
            'windows = "none"',
            "windows = {cutting_card = {rule = 'none', opened = 'of_right', scope = 'any', "
            "area = 'any', wager_anew = true}, double_draw = 'none', double_draw_ordered = 'none', "
            "device_reset = 'none', power_failure = 'none'}",
            "windows.cutting_card.wager_anew: expected false: bets open again only in device_reset",
        ),
        # layouts
        ('"tie", "lucky_eight"', '"tei", "lucky_eight"', "layouts.A.wagers[2]: expected player, "),
        (', "perfect_pair"]', "]", "layouts: expected some layout that offers perfect_pair"),
        ("[1, 2, 3, 4, 5]", "[1, 2, 2]", "layouts.A.seats: expected a list of different whole"),
        ("[1, 2, 3, 4, 5]", "[]", "layouts.A.seats: expected at least one seat"),
        ("min_seats = 1", "min_seats = 6", "layouts.A.min_seats: expected a whole number from 1"),
        # rule numbers
        ('rule = "4.3"', 'rule = "four"', "wagers.tie.lines[0].rule: expected a rule number such"),
        ('clauses = "none"', "clauses = {}", "clauses.round_of_play: expected a rule number such"),
        ('irregularities = "none"', "irregularities = {}", "irregularities.foreign_card: expected"),
        # odds
        ('"9:1"', '"9"', "wagers.tie.lines[0].pays: expected odds to a stake such as"),
        ('"9:1"', '"9:0"', "wagers.tie.lines[0].pays: expected odds to a stake such as"),
        ('"9:1"', '"0:1"', "wagers.tie.lines[0].pays: expected odds to a stake such as"),
        ('"9:1"', '"-9:1"', "wagers.tie.lines[0].pays: expected odds to a stake such as"),
        ('"9:1"', "9.0", "wagers.tie.lines[0].pays: expected odds to a stake such as"),
        ('"0.05"', '"0.04"', "wagers.banker.lines[0].commission: expected the part kept of an "),
        # pay lines
        (TIE, "lines = []", "wagers.tie.lines: expected at least one pay line"),
        (TIE, "", "wagers.tie.lines: expected a list of tables, but the key is missing"),
        ('pays = "9:1", rule', 'result = "push", rule', "wagers.tie.lines: expected at least one"),
        ('pays = "9:1", rule', "rule", 'wagers.tie.lines[0].pays: expected either pays = "8:1" or'),
        ('pays = "9:1"', 'pays = "9:1", result = "push"', "wagers.tie.lines[0].pays: expected eit"),
        ('result = "push"', 'result = "win"', "wagers.player.lines[1].result: expected push"),
        # conditions
        ('title = "Tie"', 'titles = "Tie"', "the key is missing (is `titles` a typing error?)"),
        ("player_suited", "player_suit_ed", "banker_suit): is it `player_suited`?"),
        ("player_suited", "player_colour", "wagers.perfect_pair.lines[0].when.player_colour: "),
        (
            'player_total = 8 }, pays = "25',
            'player_total = 10 }, pays = "25',
            "lines[2].when.playe",
        ),
        ('player_total = 8 }, pays = "25', 'player_total = "8" }, pays = "25', "found '8'"),
        (
            "player_pair = true",
            "player_pair = 1",
            "lines[0].when.player_pair: expected true or fal",
        ),
        ("player_pair = true", "player_pair = []", "expected at least one of true or false"),
        (
            'winner = ["player", "banker"], banker_total',
            'winner = "both", banker_total',
            "winner: ",
        ),
        # main wagers
        ('title = "Tie"', 'title = "Tie"\nmain = "banker"', "wagers.tie.main: expected one main "),
        # outcome
        ("when = {}", 'when = { winner = "player" }', "outcome[1].when: expected a line for every"),
        ("when = {}", "when = { pairs = 'twin' }", "outcome[1].when.pairs: expected a known cond"),
    ],
)
def test_a_wrong_file_is_refused_in_one_clear_line(old: str, new: str, told: str) -> None:
    assert old in GOOD
    said = refusal(GOOD.replace(old, new, 1))
    assert said.startswith("my.toml: ")
    assert told in said


@pytest.mark.parametrize(
    "when",
    [
        'winner = "player", player_total = 0',
        'winner = "tie", margin = 3',
        'winner = "player", player_natural = true, banker_cards = 3',
        # a pair is of even total, and Banker's natural eight of two Fours or Nines
        "banker_natural = true, banker_total = 9, banker_pair = true",
        'pairs = "single", player_pair = true, banker_pair = true',
        'player_pair_rank = "4", banker_pair_rank = "4", pairs = "double"',
        # Player stands on six and seven
        "player_pair_rank = '3', player_cards = 3",
    ],
)
def test_a_pay_line_that_no_round_can_match_is_refused(when: str) -> None:
    line = f'{{ when = {{ {when} }}, pays = "9:1", rule = "4.3" }}'
    said = refusal(GOOD.replace(TIE, TIE[:-1] + f", {line}]"))
    assert said == (
        "my.toml: wagers.tie.lines[1].when: "
        "expected a line that can match, but no finished round does"
    )


def test_an_outcome_line_that_is_never_reached_is_refused() -> None:
    said = refusal(GOOD + '\n[[outcome]]\nwhen = { winner = "player" }\nrule = "3.3"\n')
    assert "outcome[2].when: expected a line that can match" in said


@pytest.mark.parametrize(
    ("when", "told"),
    [
        ("banker_natural = true, player_natural = true", "winner tie"),
        ('player_suit = "S"', "player_suit S"),
        ("margin = 0", "margin 0"),
    ],
)
def test_overlapping_lines_that_differ_are_refused_with_a_round_they_share(
    when: str, told: str
) -> None:
    line = f'{{ when = {{ {when} }}, pays = "8:1", rule = "4.3" }}'
    said = refusal(GOOD.replace(TIE, TIE[:-1] + f", {line}]"))
    assert said.startswith(
        "my.toml: wagers.tie.lines[1]: expected no overlap with lines[0], which ends otherwise for "
    )
    assert told in said


def test_overlapping_lines_that_pay_the_same_are_fine() -> None:
    line = '{ when = { margin = 0, player_natural = true }, pays = "18:2", rule = "4.3" }'
    game = parse(GOOD.replace(TIE, TIE[:-1] + f", {line}]").encode(), "my.toml")
    assert len(game.wagers["tie"].lines) == 2


def test_a_pair_of_one_suit_needs_two_decks() -> None:
    parse(GOOD.encode(), "my.toml")
    one = GOOD.replace("min = 6, max = 8, default = 8", "min = 1, max = 1, default = 1")
    assert "wagers.perfect_pair.lines[0].when: expected a line that can match" in refusal(one)


@pytest.mark.parametrize(
    ("source", "told"),
    [
        (b"id = \xff", "my.toml: byte 5: expected UTF-8 text, found 0xff"),
        (b"id = ", "my.toml: end of line 1: expected TOML: there is no value here"),
        (b"id = 'a'\nid = 'b'", "my.toml: end of line 2: expected TOML: the key is there twice"),
        (b"", "my.toml: deck: expected french52 or element65, but the key is missing"),
    ],
)
def test_what_is_no_toml_of_a_game_is_refused(source: bytes, told: str) -> None:
    assert refusal(source).startswith(told)


def test_a_game_has_at_least_one_layout() -> None:
    before, _, rest = GOOD.partition("[layouts.A]")
    after = "[wagers.player]" + rest.partition("[wagers.player]")[2]
    said = refusal(f"{before}[layouts]\n\n{after}")
    assert said == "my.toml: layouts: expected at least one layout"


def test_a_number_for_a_clause_that_no_game_has_is_refused() -> None:
    source = catalog.load("tiger").source.decode()
    said = refusal(source.replace('displays = "6.3"', 'displays = "6.3"\nscreens = "6.3"'))
    assert said.startswith("my.toml: clauses.screens: expected no such key here")


def test_a_refused_file_is_a_refused_input() -> None:
    assert issubclass(GameFileError, InputRefused)


def test_the_same_bytes_are_one_game_under_any_name() -> None:
    source = LUCKY_EIGHT.read_bytes()
    assert parse(source, "a file") is parse(source, "the journal's copy of it")
    for name in ("one.toml", "two.toml"):
        with pytest.raises(GameFileError, match=rf"^{name}: "):
            parse(source + b"?", name)
