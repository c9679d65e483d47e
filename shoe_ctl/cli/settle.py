"""``shoectl settle``: settle rounds: what each wager pays.

In: rounds on stdin, one a line, cards in dealing order. Out: one line each, as text or JSON.
Must not know: how a round is judged, shoes, stakes.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from firmware_proto.cards import Card, card
from shoe_ctl.errors import InputRefused, UsageError
from shoe_ctl.games import catalog
from shoe_ctl.games.game import Game
from shoe_ctl.games.wagers import HandResult, Settlement, Wager, WagerResult, plain_wagers


@click.command()
@click.argument("game", required=False)
@click.option(
    "--from",
    "journal",
    type=click.Path(path_type=Path),
    metavar="JOURNAL",
    help="Settle a round of this journal, or of a proof, again.",
)
@click.option("--round", "round_id", metavar="ID", help="With --from a journal: this round.")
@click.option("--decks", type=int, metavar="N", help="Decks in the shoe.  [the game's default]")
@click.option("as_json", "--json", is_flag=True, help="Print one JSON object per round.")
@click.pass_context
def settle(  # noqa: PLR0913 - one for each option
    ctx: click.Context,
    game: str | None,
    journal: Path | None,
    round_id: str | None,
    decks: int | None,
    as_json: bool,
) -> None:
    """Settle rounds of GAME that are read from stdin: what each wager pays.

    GAME is a shipped game or the path of a game file. A round is one line of card codes in
    dealing order: Player, Banker, Player, Banker, then the third cards that are due. Blank
    lines and text after # are ignored. If a line cannot be settled, the reason is printed and
    the next line is taken; the exit code is then 1.

    With --from no GAME is given: the wagers that a journal recorded of one round are
    settled again by its cards and its game file, with the rule of each, and compared
    with what was paid. Amounts are in minor units. The exit code is 1 if one differs.

    \b
    Examples:
      echo "7D 9C TS TH" | shoectl settle immortal_dragon_tiger
      shoectl settle --from journal.db --round bac-07-s1-r12
      shoectl settle --from round.json
    """  # noqa: D301 - click wants the very character
    if journal is not None:
        from shoe_ctl.cli.settle_round import settle_recorded

        if game is not None or decks is not None:
            raise UsageError("--from takes game and decks from the journal: remove GAME, --decks")
        ctx.exit(0 if settle_recorded(journal, round_id, as_json=as_json) else 1)
    if game is None or round_id is not None:
        raise UsageError("name a GAME, or a journal with --from and --round")
    _settle_lines(ctx, game, decks, as_json=as_json)


def _settle_lines(ctx: click.Context, game: str, decks: int | None, *, as_json: bool) -> None:
    rules = catalog.load(game)
    if decks is not None:
        rules.check_decks(decks)
    if sys.stdin.isatty():
        click.echo("type a round on each line, for example 7D 9C TS TH; end with Ctrl-D", err=True)
    rounds, refused, first = 0, 0, ""
    for number, text in _lines():
        rounds += 1
        try:
            done = rules.settle(_cards(text, rules), decks=decks)
        except InputRefused as error:
            refused += 1
            first = first or f"line {number}: {error}"
            told = (
                json.dumps({"cards": text, "error": str(error)})
                if as_json
                else _refused(text, error)
            )
        else:
            told = json.dumps(_plain(text, done)) if as_json else _told(text, done, rules)
        # One line out for each line in, at once: whoever feeds us may wait for the answer.
        sys.stdout.write(told + "\n")
        sys.stdout.flush()
    if refused:
        lines = "line" if rounds == 1 else "lines"
        click.echo(f"shoectl: {refused} of {rounds} {lines} refused: {first}", err=True)
        ctx.exit(1)


def _lines() -> Iterator[tuple[int, str]]:
    """Each line that holds a round, with its number; bytes that are no text become bad cards."""
    for number, line in enumerate(sys.stdin.buffer, 1):
        text = " ".join(line.decode(errors="replace").partition("#")[0].split())
        if text:
            yield number, text


def _cards(text: str, game: Game) -> list[Card]:
    try:
        return [card(code) for code in text.split()]
    except ValueError as error:
        raise InputRefused(f"{error}; {game.id} is played with {game.deck.name}") from None


def _plain(text: str, done: Settlement) -> dict[str, object]:
    return {
        "cards": text,
        "winner": done.winner,
        "player": {"total": done.player.total, "cards": len(done.player.cards)},
        "banker": {"total": done.banker.total, "cards": len(done.banker.cards)},
        "wagers": plain_wagers(done.wagers),
    }


def _told(text: str, done: Settlement, game: Game) -> str:
    """The round for people: totals, winner, then what wins and what pushes; the rest loses."""
    winner = "tie" if done.winner == "tie" else f"{done.winner} wins"
    wagers = [
        _wager(game.wagers[name], end) for name, end in done.wagers.items() if end.result != "lose"
    ]
    hands = f"player {_hand(done.player)}, banker {_hand(done.banker)}"
    return f"{text:<17}  {hands}: {winner}; {', '.join(wagers)}"


def _hand(hand: HandResult) -> str:
    return f"natural {hand.total}" if hand.natural else str(hand.total)


def _wager(wager: Wager, end: WagerResult) -> str:
    """Return what it pays, in the words of the game's file: nobody knows odds of 17 to 2."""
    return f"{wager.id} pushes" if end.odds is None else f"{wager.id} pays {wager.written(end)}"


def _refused(text: str, error: InputRefused) -> str:
    return f"{text:<17}  refused: {error}"
