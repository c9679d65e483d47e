"""``shoectl games``: list the games, or check a game file.

In: shipped game files, or one file. Out: a table of 80 columns, or JSON.
Must not know: how rounds are settled.
"""

from __future__ import annotations

import json
from pathlib import Path

import click
import msgspec

from shoe_ctl.cli.common import Column, format_row, is_terminal, make_cell, make_console, make_table
from shoe_ctl.errors import GameFileError
from shoe_ctl.games import catalog
from shoe_ctl.games.game import Game

_WIDTHS = (26, -3, 10, 9, -5, 7, -6)
_HEADS = ("GAME", "VER", "DATE", "DECK", "DECKS", "METHODS", "WAGERS")
_NUMBERS = ("VER", "DECKS", "WAGERS")


@click.command()
@click.option("as_json", "--json", is_flag=True, help="Print one JSON document.")
@click.option(
    "file",
    "--check",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Check this game file; list nothing.",
)
def games(as_json: bool, file: Path | None) -> None:
    """List the shipped games, or check a game file.

    An error names the file, the key and what was expected there.

    \b
    Examples:
      shoectl games
      shoectl games --check my-baccarat.toml
    """  # noqa: D301 - click wants the very character
    if file is not None:
        _check(file, as_json)
        return
    found = [catalog.load(name) for name in catalog.shipped()]
    if as_json:
        click.echo(json.dumps([_plain(game) for game in found], indent=2))
        return
    if is_terminal():
        columns = [Column(head, right=head in _NUMBERS) for head in _HEADS]
        table = make_table([columns[0]._replace(style="cyan", fits=False), *columns[1:]])
        for game in found:
            table.add_row(*map(make_cell, _cells(game)))
        make_console().print(table)
        return
    click.echo(format_row(_HEADS, _WIDTHS))
    for game in found:
        click.echo(format_row(_cells(game), _WIDTHS))


def _check(file: Path, as_json: bool) -> None:
    try:
        game = catalog.load_file(file)
    except GameFileError as error:
        if as_json:
            click.echo(json.dumps({"ok": False, "file": str(file), "error": str(error)}))
        raise
    if as_json:
        click.echo(json.dumps({"ok": True, "file": str(file), "game": _plain(game)}, indent=2))
        return
    lines = sum(len(wager.lines) for wager in game.wagers.values())
    click.echo(
        f"{file}: valid: {game.title} ({game.id}), {len(game.wagers)} wagers, {lines} pay lines"
    )


def _plain(game: Game) -> dict[str, object]:
    return {
        "id": game.id,
        "title": game.title,
        "version": game.version,
        "date": game.date,
        "deck": game.deck.name,
        "decks": game.decks._asdict(),
        "methods": list(game.methods),
        "wagers": list(game.wagers),
        "readings": [msgspec.structs.asdict(reading) for reading in game.readings],
        "sha256": game.sha256,
    }


def _cells(game: Game) -> tuple[str, ...]:
    low, high = game.decks.min, game.decks.max
    return (
        game.id,
        str(game.version or "-"),
        game.date or "-",
        game.deck.name,
        str(low) if low == high else f"{low}-{high}",
        " ".join(game.methods) or "-",
        str(len(game.wagers)),
    )
