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
from shoe_ctl.texts.catalogue import text


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
        self.cutting_card: str | None = None
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
                self.cutting_card = f"after {self.cards} cards, in round {self.rounds + 1}"
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

    def __init__(self, rounds: int | None, cards: int) -> None:
        self._tally = Tally(rounds)
        self._bar = _Bar(rounds, cards) if is_terminal() else None

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
                self._print(_round_line(self._tally.rounds + 1, data))
            case "irregularity.raised":
                rule = f" (rule {data['rule']})" if data.get("rule") else ""
                self._print(f"      {_paint(text(data['seen']) + rule, 'yellow')}")
            case "shoe.change_due":
                self._print("      shoe change due")
            case "table.halted":
                self._print(f"      {_paint('table halted: ' + data['reason'], 'red')}")
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
        tally = self._tally
        wins = ", ".join(f"{side} {tally.wins[side]}" for side in ("player", "banker", "tie"))
        lines = {
            "rounds": f"{tally.rounds}  ({wins})",
            "cards seen": str(tally.cards),
            "cutting card": tally.cutting_card or "not reached",
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
            click.echo(f"{name:>14}  {value}")


class _Bar:
    """The progress of the demo, on a terminal: of the rounds wanted, or of the cards."""

    def __init__(self, rounds: int | None, cards: int) -> None:
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
        self._task = self._progress.add_task(counted, total=rounds or cards)
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


def _round_line(number: int, data: dict[str, Any]) -> str:
    hands = "  ".join(
        f"{name} {' '.join(data[name]['cards']):<8} {data[name]['total']}"
        f"{'*' if data[name]['natural'] else ' '}"
        for name in ("player", "banker")
    )
    colour = {"player": "blue", "banker": "red", "tie": "green"}[data["winner"]]
    side = [
        f"{wager} {result['odds']}"
        for wager, result in data["wagers"].items()
        if result["result"] == "win" and wager not in ("player", "banker", "tie")
    ]
    winner = data["winner"].ljust(6) if side else data["winner"]
    extra = f"  {', '.join(side)}" if side else ""
    return f"{number:>4}  {hands} {_paint(winner, colour)}{extra}"
