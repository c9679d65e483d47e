"""``shoectl odds``: what each wager of a game gives back, exactly.

In: a game, a number of decks. Out: a table of 80 columns in percent, or JSON with exact fractions.
Must not know: how odds are counted, stakes.
"""

from __future__ import annotations

import json

import click

from shoe_ctl.games import catalog
from shoe_ctl.games.odds import WagerOdds
from shoe_ctl.games.odds import odds as odds_of

_ROW = "{:<{}}  {:>10}  {:>10}  {:>10}  {:>10}"
_HEADS = ("WINS %", "PUSHES %", "RETURNS %", "EDGE %")


@click.command()
@click.argument("game")
@click.option("--decks", type=int, metavar="N", help="Decks in the shoe; default: the game's own.")
@click.option("as_json", "--json", is_flag=True, help="Print JSON with exact fractions.")
def odds(game: str, decks: int | None, as_json: bool) -> None:
    """Count the exact odds of every wager of GAME: a shipped game, or a path to a game file.

    For a full shoe, by going through every order of its cards, none put back. RETURNS is what
    comes back of 100 staked, on average; EDGE is what the house keeps of it.

    Example: shoectl odds tiger --decks 6
    """
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
    width = max(map(len, (*found, "WAGER")))
    click.echo(f"{rules.title}, {shoe}")
    click.echo(_ROW.format("WAGER", width, *_HEADS))
    for name, wager in found.items():
        click.echo(_row(name, width, wager))


def _row(name: str, width: int, wager: WagerOdds) -> str:
    parts = (wager.wins / wager.rounds, wager.pushed / wager.rounds, wager.rtp, -wager.ev)
    return _ROW.format(name, width, *(f"{100 * float(part):.4f}" for part in parts))
