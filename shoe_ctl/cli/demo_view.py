"""The view of the demo: rounds as they happen, a bar, a summary; or the events as they are.

In: public events. Out: lines for people, or JSON lines.
Must not know: daemons, shoes, journals' insides.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections import Counter
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

import click

from shoe_ctl.cli.common import is_terminal, make_console
from shoe_ctl.terminal_text import cell_width, pad
from shoe_ctl.texts.screen import Words


class View(AbstractContextManager[Any], Protocol):
    """Where the demo's events go."""

    @property
    def halted(self) -> str | None:
        """Why the table halted, or None."""

    def show(self, event: dict[str, Any]) -> bool:
        """Show one event; True when it ends what was asked for."""

    def sum_up(self, *, journal: Path | None, again: str) -> None:
        """Say what was dealt, and where its journal is if it was kept."""


class Tally:
    """Counts what the summary tells."""

    def __init__(self, rounds: int | None) -> None:
        self.wanted = rounds
        self.rounds = 0
        self.cards = 0
        self.wins: Counter[str] = Counter()
        self.cutting_card: tuple[int, int] | None = None
        """After how many cards, and in which round, the cutting card came."""
        self.halted: str | None = None

    def count(self, event: dict[str, Any]) -> bool:
        """Take one event in; True when the wanted rounds are settled."""
        data = event["data"]
        match event["type"]:
            case "round.card_dealt":
                self.cards += 1
            case "round.outcome":
                self.wins[data["winner"]] += 1
            case "round.settled":
                self.rounds += 1
                return self.rounds == self.wanted
            case "irregularity.raised" if data["key"] == "cutting_card":
                self.cutting_card = self.cards, self.rounds + 1
            case "table.halted":
                self.halted = data["reason"]
        return False


class JsonView:
    """The public events, one a line; the summary goes to stderr."""

    def __init__(self, rounds: int | None) -> None:
        self._tally = Tally(rounds)

    @property
    def halted(self) -> str | None:
        """Why the table halted."""
        return self._tally.halted

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Nothing is held."""

    def show(self, event: dict[str, Any]) -> bool:
        """Print the event."""
        click.echo(json.dumps(event, separators=(",", ":")))
        return self._tally.count(event)

    def sum_up(self, *, journal: Path | None, again: str) -> None:
        """One line: the events were the result."""
        where = "journal not kept" if journal is None else f"journal {journal}"
        click.echo(f"{self._tally.rounds} rounds, again with {again}, {where}", err=True)


class TextView:
    """A line a round, made for 80 columns; on a terminal in colour, with a bar of the cards."""

    def __init__(self, rounds: int | None, cards: int, words: Words) -> None:
        self._words = words
        self._tally = Tally(rounds)
        self._bar = _Bar(rounds, cards, words) if is_terminal() else None

    @property
    def halted(self) -> str | None:
        """Why the table halted."""
        return self._tally.halted

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def show(self, event: dict[str, Any]) -> bool:
        """Print a line for a round or an irregularity, and move the bar."""
        ended = self._tally.count(event)
        data = event["data"]
        match event["type"]:
            case "round.outcome":
                self._print(_round_line(self._tally.rounds + 1, data, self._words))
            case "irregularity.raised":
                seen = self._words.text(data["seen"])
                if data.get("rule"):
                    seen = self._words("demo_rule", seen=seen, rule=data["rule"])
                self._print(f"      {_paint(seen, 'yellow')}")
            case "shoe.change_due":
                self._print(f"      {self._words('demo_change_due')}")
            case "table.halted":
                halted = self._words("demo_halted", reason=data["reason"])
                self._print(f"      {_paint(halted, 'red')}")
        tally = self._tally
        if self._bar is not None:
            self._bar.move(tally.cards if tally.wanted is None else tally.rounds)
        return ended

    def _print(self, line: str) -> None:
        """Print a line, above the bar where there is one."""
        if self._bar is None:
            click.echo(line)
        else:
            self._bar.print_above(line)

    def sum_up(self, *, journal: Path | None, again: str) -> None:
        """The summary, as a table; of a journal that was kept, what can be done with it."""
        tally, words = self._tally, self._words
        came = words("demo_not_reached")
        if tally.cutting_card is not None:
            cards, number = tally.cutting_card
            came = words("demo_cutting_card", cards=cards, round=number)
        lines = {
            "rounds": words(
                "demo_rounds",
                rounds=tally.rounds,
                player=tally.wins["player"],
                banker=tally.wins["banker"],
                tie=tally.wins["tie"],
            ),
            "cards seen": str(tally.cards),
            "cutting card": came,
        }
        if journal is None:
            lines["keep journal"] = f"{_program()} demo {again} --keep"
        else:
            lines |= {
                "journal": str(journal),
                "verify it": f"{_program()} verify {journal}",
                "replay it": f"{_program()} replay {journal}",
            }
        lines["deal it again"] = f"{_program()} demo {again}"
        click.echo()
        for name, value in lines.items():
            label = words("demo_label", label=name)
            click.echo(f"{' ' * (14 - cell_width(label))}{label}  {value}")


class _Bar:
    """The progress of the demo, on a terminal: of the rounds wanted, or of the cards."""

    def __init__(self, rounds: int | None, cards: int, words: Words) -> None:
        from rich.progress import BarColumn, Progress, TextColumn

        self._console = make_console()
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=30),
            TextColumn("{task.completed:.0f}/{task.total:.0f}"),
            console=self._console,
            transient=True,
        )
        counted = "cards" if rounds is None else "rounds"
        label = words("demo_label", label=counted)
        self._task = self._progress.add_task(label, total=rounds or cards)
        self.start, self.stop = self._progress.start, self._progress.stop

    def move(self, done: int) -> None:
        """Show that so many are done."""
        self._progress.update(self._task, completed=done)

    def print_above(self, line: str) -> None:
        """Print a line, in the colours that it was painted in."""
        from rich.text import Text

        self._console.print(Text.from_ansi(line), soft_wrap=True)


def _paint(words: str, colour: str) -> str:
    """Return the words in this colour on a terminal, as they are in a pipe."""
    return click.style(words, fg=colour) if is_terminal() else words


def _program() -> str:
    """This program, as it can be typed here again: by name only where that finds it."""
    started = Path(sys.argv[0])
    found = shutil.which(started.name)
    return started.name if found is not None and Path(found).samefile(started) else str(started)


def _round_line(number: int, data: dict[str, Any], words: Words) -> str:
    sides = {name: words("demo_side", side=name) for name in ("player", "banker", "tie")}
    hands = "  ".join(
        f"{sides[name]} {' '.join(data[name]['cards']):<8} {data[name]['total']}"
        f"{'*' if data[name]['natural'] else ' '}"
        for name in ("player", "banker")
    )
    colour = {"player": "blue", "banker": "red", "tie": "green"}[data["winner"]]
    side = [
        words("demo_wager", wager=wager, odds=result["odds"])
        for wager, result in data["wagers"].items()
        if result["result"] == "win" and wager not in ("player", "banker", "tie")
    ]
    winner = sides[data["winner"]]
    winner = pad(winner, 6) if side else winner
    extra = f"  {words.join(side)}" if side else ""
    return f"{number:>4}  {hands} {_paint(winner, colour)}{extra}"
