"""``shoectl decided``: list the wagers that are won or lost from the cards revealed so far.

In: a game, cards in dealing order with ? for those not revealed. Out: a line a wager, or JSON.
Must not know: how wagers are decided, shoes, stakes.
"""

from __future__ import annotations

import json

import click

from firmware_proto.cards import Card, card
from shoe_ctl.cli.common import format_row
from shoe_ctl.errors import InputRefused
from shoe_ctl.games import catalog
from shoe_ctl.games.decided import decide
from shoe_ctl.games.game import Game

_UNKNOWN = "?"
_HEADS = ("WAGER", "STATE")


@click.command()
@click.argument("game")
@click.argument("cards")
@click.option("--layout", metavar="L", help="Only the wagers of this layout.  [all]")
@click.option("--decks", type=int, metavar="N", help="Decks in the shoe.  [the game's default]")
@click.option("as_json", "--json", is_flag=True, help="Print one JSON object.")
def decided(game: str, cards: str, layout: str | None, decks: int | None, as_json: bool) -> None:
    """Show for each wager of GAME whether it is decided: win, lose or open.

    CARDS are the cards dealt so far, as one argument in dealing order: Player, Banker, Player,
    Banker, then the third cards. Write ? for a card that is not revealed and leave off cards
    that are not dealt. A fifth card is Player's if Player draws, else Banker's. A wager is won
    (lost) if it wins (loses) with any other cards; a certain push is open.

    \b
    Example:
      shoectl decided tiger "7D ? TS ?" --layout A
    """  # noqa: D301 - click wants the very character
    rules = catalog.load(game)
    if decks is not None:
        rules.check_decks(decks)
    found = decide(rules, _shown(cards, rules), decks=decks, layout=layout)
    if as_json:
        click.echo(json.dumps({"wagers": found}))
        return
    width = max(map(len, (*found, _HEADS[0])))
    for cells in (_HEADS, *found.items()):
        click.echo(format_row(cells, (width, 0)))


def _shown(text: str, game: Game) -> list[Card | None]:
    try:
        return [None if code == _UNKNOWN else card(code) for code in text.split()]
    except ValueError as error:
        raise InputRefused(f"{error}; {game.id} is played with {game.deck.name}") from None
