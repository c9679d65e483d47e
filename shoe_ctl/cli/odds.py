"""``shoectl odds``: compute the exact odds and house edge of each wager of a game.

In: a game, a number of decks. Out: a table of 80 columns in percent, or JSON with exact fractions.
Must not know: how odds are counted, stakes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

import click

from shoe_ctl.cli.common import Column, format_row, is_terminal, make_cell, make_console, make_table
from shoe_ctl.games import catalog
from shoe_ctl.games.odds import WagerOdds
from shoe_ctl.games.odds import odds as odds_of

_WIDTHS = (-10, -10, -10, -10)
_HEADS = ("WINS %", "PUSHES %", "RETURNS %", "EDGE %")


@click.command()
@click.argument("game")
@click.option("--decks", type=int, metavar="N", help="Decks in the shoe.  [the game's default]")
@click.option("as_json", "--json", is_flag=True, help="Print JSON with exact fractions.")
def odds(game: str, decks: int | None, as_json: bool) -> None:
    """Compute exact odds and house edge for each wager of GAME.

    GAME is a shipped game or the path of a game file. The odds are those of a full shoe, over every
    order of its cards without replacement. RETURNS is what a stake of 100 returns on average; EDGE
    is what the house keeps of it.

    \b
    Examples:
      shoectl odds tiger --decks 6
      shoectl odds tiger --json
    """  # noqa: D301 - click wants the very character
    rules = catalog.load(game)
    found = odds_of(rules, decks)
    held = rules.decks.default if decks is None else decks
    if as_json:
        wagers = {
            name: {"ev": str(wager.ev), "rtp": float(wager.rtp)} for name, wager in found.items()
        }
        click.echo(json.dumps({"game": rules.id, "decks": held, "wagers": wagers}))
        return
    shoe = f"1 deck of {rules.deck.name}" if held == 1 else f"{held} decks of {rules.deck.name}"
    title = f"{rules.title}, {shoe}"
    if is_terminal():
        _show_table(title, found)
        return
    width = max(map(len, (*found, "WAGER")))
    click.echo(title)
    click.echo(format_row(("WAGER", *_HEADS), (width, *_WIDTHS)))
    for name, wager in found.items():
        click.echo(format_row((name, *_percentages(wager)), (width, *_WIDTHS)))


def _percentages(wager: WagerOdds) -> list[str]:
    parts = (wager.wins / wager.rounds, wager.pushed / wager.rounds, wager.rtp, -wager.ev)
    return [f"{100 * float(part):.4f}" for part in parts]


def _show_table(title: str, found: Mapping[str, WagerOdds]) -> None:
    """Print the wagers on a terminal, with a bar for the edge of each."""
    from rich.bar import Bar

    heads = [Column(head, right=True) for head in _HEADS]
    table = make_table([Column("WAGER", style="cyan", fits=False), *heads, Column("")], title)
    most = max(float(-wager.ev) for wager in found.values())
    for name, wager in found.items():
        edge = max(0.0, float(-wager.ev))
        bar = Bar(size=most, begin=0, end=edge, width=_BAR, color=_colour(edge))
        table.add_row(make_cell(name), *map(make_cell, _percentages(wager)), bar)
    make_console().print(table)


_BAR = 10


def _colour(edge: float) -> str:
    """Return the colour of a house edge: below 5 %, below 15 %, or more."""
    return "green" if edge < 0.05 else "yellow" if edge < 0.15 else "red"
