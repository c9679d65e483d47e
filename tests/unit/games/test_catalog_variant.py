"""A made-up game, added as a file and nothing else."""

from __future__ import annotations

import pytest

from firmware_proto.cards import card
from shoe_ctl.errors import GameFileError
from shoe_ctl.games import catalog
from shoe_ctl.games.game_file import parse
from shoe_testing.paths import LUCKY_EIGHT, ROOT

FILE = LUCKY_EIGHT
PAGE = ROOT / "docs" / "guides" / "add-a-game.md"


@pytest.mark.parametrize(
    ("codes", "paid"),
    [
        ("7S 9H AD TC", {"banker": "19/20", "lucky_eight": "3"}),
        ("9S 7H TD AC", {"player": "1", "lucky_eight": "3"}),
        (
            "7S 8H AD TC",
            {"player": "push", "banker": "push", "tie": "9", "lucky_eight": "25/2"},
        ),
        ("9S 7H TD TC", {"player": "1"}),
        ("3S 9H 3S TC", {"banker": "19/20", "perfect_pair": "25"}),
        ("2S 4H 7S 4H", {"player": "1", "lucky_eight": "3", "perfect_pair": "25"}),
        ("3S 9H 3D TC", {"banker": "19/20"}),
    ],
)
def test_a_game_written_as_a_file_settles_without_a_line_of_code(
    codes: str, paid: dict[str, str]
) -> None:
    game = catalog.load(str(FILE))
    done = game.settle([card(code) for code in codes.split()])
    found = {
        wager: "push" if end.odds is None else str(end.odds)
        for wager, end in done.wagers.items()
        if end.result != "lose"
    }
    assert found == paid


def test_the_page_for_integrators_shows_this_very_file() -> None:
    shown = PAGE.read_text().split("```toml\n")[1].split("```")[0]
    assert shown == FILE.read_text()


@pytest.mark.parametrize(
    ("written", "wrong"),
    [
        ('pays = "9:1"', 'pays = "9 to 1"'),
        ('"banker", "tie", "lucky', '"banker", "tei", "lucky'),
        ('title = "Tie"', 'titles = "Tie"'),
    ],
)
def test_the_page_shows_the_messages_as_they_are(written: str, wrong: str) -> None:
    source = FILE.read_text().replace(written, wrong, 1)
    with pytest.raises(GameFileError) as refused:
        parse(source.encode(), "lucky-eight.toml")
    assert f"shoectl: {refused.value}" in PAGE.read_text().splitlines()
