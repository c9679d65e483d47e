"""``shoectl decided``: which wagers are won or lost already, from the cards revealed so far.

In: a game, cards in dealing order with ? for those not revealed. Out: a line a wager, or JSON.
Must not know: how wagers are decided, shoes, stakes.
"""

from __future__ import annotations

import json

import click

from firmware_proto.cards import Card, card
from shoe_ctl.errors import InputRefused
from shoe_ctl.games import catalog
from shoe_ctl.games.decided import decide
from shoe_ctl.games.game import Game

_UNKNOWN = "?"


@click.command()
@click.argument("game")
@click.argument("cards")
@click.option("--layout", metavar="L", help="Only the wagers of this layout; default: all.")
@click.option("--decks", type=int, metavar="N", help="Decks in the shoe; default: the game's own.")
@click.option("as_json", "--json", is_flag=True, help="Print JSON, for programs.")
def decided(game: str, cards: str, layout: str | None, decks: int | None, as_json: bool) -> None:
    """Tell for every wager of GAME whether it is won or lost already: win, lose or open.

    CARDS are the cards dealt so far, in one argument and in dealing order: Player, Banker, Player,
    Banker, then the third cards. ? is a card not revealed; cards not dealt yet are left off. A
    fifth card is Player's where Player draws, else Banker's. A wager is won (lost) when
    it wins (loses) whatever the other cards are; a certain push is open.

    Example: shoectl decided tiger "7D ? TS ?" --layout A
    """
    rules = catalog.load(game)
    if decks is not None:
        rules.check_decks(decks)
    found = decide(rules, _shown(cards, rules), decks=decks, layout=layout)
    if as_json:
        click.echo(json.dumps({"wagers": found}))
        return
    width = max(map(len, found), default=0)
    for wager, state in found.items():
        click.echo(f"{wager:<{width}}  {state}")


def _shown(text: str, game: Game) -> list[Card | None]:
    try:
        return [None if code == _UNKNOWN else card(code) for code in text.split()]
    except ValueError as error:
        raise InputRefused(f"{error}; {game.id} is played with {game.deck.name}") from None
