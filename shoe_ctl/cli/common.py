"""The common part of several commands: numbers, tables on a terminal, a bar, damage of a journal.

In: rows, records done, a journal's path. Out: text on the terminal; an error in one line.
Must not know: any command. ``rich`` is imported only when a table is shown on a terminal.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from shoe_ctl.errors import JournalError, ShoeCtlError, UsageError
from shoe_ctl.terminal_text import cell_width, pad, printable

if TYPE_CHECKING:
    from click._termui_impl import ProgressBar
    from rich.console import Console, RenderableType
    from rich.table import Table

    from shoe_ctl.journal.signed_note import VerifierKey
    from shoe_ctl.texts.screen import Words


# The language of what people read.


def language_option(**more: Any) -> click.Option:
    """Return the option that names the language, one of ``LANGUAGES``."""
    from shoe_ctl.texts.catalogue import LANGUAGES

    text = "The language of what is shown.  [$LC_ALL, $LC_MESSAGES or $LANG, else en]"
    return click.Option(["--language"], type=click.Choice(list(LANGUAGES)), help=text, **more)


def with_language(command: Any) -> Any:
    """Give a command the option ``--language``."""
    option = language_option()
    return click.option(*option.opts, type=option.type, help=option.help)(command)


def words_in(language: str | None) -> Words:
    """Return the words of this language, by default of the one that the environment names."""
    import os

    from shoe_ctl.texts.screen import Words, language_of

    return Words(language or language_of(os.environ))


# Keys among the options.


def read_verifier_keys(option: str, given: Sequence[str]) -> list[VerifierKey]:
    """Return the verifier keys that an option names: each as text, or in a file with one a line.

    Raises:
        UsageError: one is none, or a file cannot be read.
    """
    from shoe_ctl.journal.signed_note import NoteError, read_verifier_key

    found: list[VerifierKey] = []
    for each in given:
        lines = [(f"{option} {each}", each)]
        if Path(each).is_file():
            try:
                text = Path(each).read_text("utf-8")
            except (OSError, ValueError) as error:
                raise UsageError(f"{option} {each}: it cannot be read ({error})") from None
            lines = [(f"{each} line {n}", line) for n, line in enumerate(text.splitlines(), 1)]
        for where, line in lines:
            if not (key := line.partition("#")[0].strip()):
                continue
            try:
                found.append(read_verifier_key(key))
            except NoteError as error:
                raise UsageError(f"{where}: {error}") from None
    return found


# Numbers among the options.


class WholeNumber(click.IntRange):
    """A whole number in a range; an error calls it so."""

    name = "whole number"


class Number(click.FloatRange):
    """A number in a range; an error calls it so."""

    name = "number"


class Moment(click.ParamType):  # type: ignore[type-arg]
    """A date or a time, of UTC unless it names another zone; as µs since 1970 UTC."""

    name = "time"

    def convert(
        self, value: str | int, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        """Return the moment.

        Raises:
            click.BadParameter: it is none.
        """
        from datetime import datetime, timedelta, timezone

        if isinstance(value, int):
            return value
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            self.fail(f"{value!r} is no time; write 2026-03-01 or 2026-03-01T18:30", param, ctx)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=timezone.utc)
        began = datetime(1970, 1, 1, tzinfo=timezone.utc)
        return (moment - began) // timedelta(microseconds=1)


# Tables. A terminal gets one that rich draws; a pipe gets the plain text of each command.

SHORTEST_INTERVAL_S = 0.3
"""Between two updates of the bar of a long run."""

COLUMNS = 80
"""The width of plain text, and the least that a table on a terminal is laid out for."""


class Column(NamedTuple):
    """A column of a table on a terminal. ``fits``: its cells are never broken or cut."""

    head: str
    right: bool = False
    style: str = ""
    fits: bool = True


def format_row(cells: Sequence[str], widths: Sequence[int]) -> str:
    """Return cells in columns of plain text; a column of negative width is set to the right."""
    padded = [
        pad(cell, width) if width >= 0 else " " * (-width - cell_width(cell)) + cell
        for cell, width in zip(map(printable, cells), widths, strict=True)
    ]
    return "  ".join(padded).rstrip()


def is_terminal() -> bool:
    """Return True if stdout is a terminal, where tables, colours and bars may be shown."""
    return sys.stdout is not None and sys.stdout.isatty()


def make_console() -> Console:
    """Return rich's view of the terminal on stdout; it takes no colours from text.

    Without colour where ``NO_COLOR`` is set.
    """
    from rich.console import Console

    console = Console(highlight=False, markup=False, emoji=False)
    console.width = max(console.width, COLUMNS)  # the terminal wraps; nothing is lost
    return console


def make_table(columns: list[Column], title: str = "", *, least: int = 0) -> Table:
    """Return an empty table for a terminal; its first column is ``least`` wide or wider."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(
        title=Text(printable(title), style="bold") if title else None,
        title_justify="left",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
        show_edge=False,
        show_header=any(column.head for column in columns),
        header_style="bold",
    )
    for number, column in enumerate(columns):
        table.add_column(
            Text(printable(column.head)),
            min_width=None if number else least or None,
            justify="right" if column.right else "left",
            style=column.style or None,
            no_wrap=column.fits,
            overflow="fold",
        )
    return table


def make_cell(value: str, style: str = "") -> RenderableType:
    """Return a cell that shows this text as it is, whatever stands in it."""
    from rich.text import Text

    return Text(printable(value), style=style)


# The bar of a long run.


class Progress:
    """A bar on stderr of how many records are done, and how many a second; removed at the end.

    Nothing is shown where stderr is no terminal, or where all is done at once. ``done`` is what is
    done with them, in one word, and ``what`` they are if not records.
    """

    def __init__(self, done: str, what: str = "records") -> None:
        self._done = f"{done} {what}"
        self._shows = sys.stderr is not None and sys.stderr.isatty()
        self._updated_at = time.monotonic()
        self._began: tuple[int, float] | None = None
        self._bar: ProgressBar[Any] | None = None

    def __enter__(self) -> Callable[[int, int], None]:
        return self._update

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.render_finish()
            click.echo("\x1b[1A\r\x1b[K", err=True, nl=False)  # the line that the bar was on

    def _update(self, n: int, last_n: int) -> None:
        now = time.monotonic()
        if self._began is None:
            self._began = n, now
        if not self._shows or now - self._updated_at < SHORTEST_INTERVAL_S:
            return
        self._updated_at = now
        if self._bar is None:
            self._bar = click.progressbar(
                length=max(last_n, 1),
                label=self._done,
                file=sys.stderr,
                width=20,
                show_pos=True,
                show_percent=True,
            )
        first, began_at = self._began
        if now > began_at:
            self._bar.label = f"{self._done}, {(n - first) / (now - began_at):,.0f}/s"
        self._bar.length = max(last_n, 1)
        self._bar.update(n - self._bar.pos)


# Damage.


@contextmanager
def explain_damage(journal: Path) -> Iterator[None]:
    """Verify the journal if the body fails in a way that nobody foresaw.

    Raises:
        JournalError: it is not what was written. Of a whole journal the error itself is raised.
    """
    try:
        yield
    except (ShoeCtlError, OSError):
        raise
    except Exception:
        from shoe_ctl.journal.reader import Reader
        from shoe_ctl.journal.verify import verify

        with Reader.open(journal) as reader:
            bad = verify(reader).first_bad
        if bad is None:
            raise
        found = f"journal {journal} is corrupt: record {bad.n}, {bad.text}"
        raise JournalError(f"{found}. Run: shoectl verify {journal}") from None
