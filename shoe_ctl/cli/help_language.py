"""The language of help pages and of wrong usage: as ``--language`` or the environment says.

In: the words of the command line, English texts. Out: the same in the language that was asked for.
Must not know: any command. click asks ``gettext`` for each text of its own; here it gets them from
the catalogue. Without another language than English nothing of the catalogues is imported.
"""

from __future__ import annotations

import gettext
import inspect
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import click

_texts: Mapping[str, str] = {}
"""English text → the same in the language of this process; empty in English."""

_language = "en"


def asked_language(args: Sequence[str]) -> str:
    """Return the language that the command line names, or else the environment."""
    for number, word in enumerate(args):
        name, equals, value = word.partition("=")
        if name == "--language":
            value = value if equals else "".join(args[number + 1 : number + 2])
            return value if value == "zh" else "en"
    if not any(value.startswith("zh") for value in os.environ.values()):
        return "en"  # as in most starts, which do not pay for the catalogues
    from shoe_ctl.texts.screen import language_of

    return language_of(os.environ)


def speak(language: str) -> None:
    """Show help pages and wrong usage in this language from now on."""
    global _texts, _language  # noqa: PLW0603 - like gettext's: one language a process
    _texts, _language = {}, language
    if language != "en":
        from shoe_ctl.texts.help_chinese import HELP

        _texts = HELP
    click.Context.formatter_class = click.HelpFormatter if language == "en" else _Formatter
    vars(gettext).update(dgettext=_dgettext, dngettext=_dngettext)


def said(english: str, /, **args: Any) -> str:
    """Return a text with its arguments; it is named by its English."""
    text = _texts.get(english, english)
    return text.format(**args) if args else text


def name_of(kind: str, code: str) -> str:
    """Return the name of a code."""
    if not _texts:
        return code.replace("_", " ")
    from shoe_ctl.texts import catalogue

    return catalogue.name_of(kind, code, _language)


def is_english() -> bool:
    """Return True if nothing is translated."""
    return not _texts


def _dgettext(_domain: str, message: str) -> str:
    return said(message)


def _dngettext(_domain: str, one: str, many: str, count: int) -> str:
    return said(one if count == 1 else many)


class _Formatter(click.HelpFormatter):
    """A help page whose texts are translated, and whose lines are measured in columns."""

    def write_heading(self, heading: str) -> None:
        self.write(f"{'':>{self.current_indent}}{said(heading)}：\n")

    def write_text(self, text: str) -> None:
        paragraphs = inspect.cleandoc(text).split("\n\n")
        for number, paragraph in enumerate(paragraphs):
            if number:
                self.write("\n")
            if paragraph.startswith("\b"):
                first, *lines = paragraph.removeprefix("\b\n").splitlines()
                for line in (said(first), *lines):
                    self.write(f"{'':>{self.current_indent}}{line}\n")
            else:
                self._write_wrapped(said(" ".join(paragraph.split())))

    def _write_wrapped(self, text: str, first: str | None = None, rest: str = "") -> None:
        from shoe_ctl.terminal_text import wrap

        margin = " " * self.current_indent
        begins = margin if first is None else first
        for line in wrap(text, self.width, first=begins, rest=margin + rest):
            self.write(f"{line}\n")

    def write_dl(
        self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2
    ) -> None:
        from shoe_ctl.terminal_text import cell_width, pad

        named = [(said(name), _translated(text)) for name, text in rows]
        widest = max((cell_width(name) for name, _ in named), default=0)
        column = min(widest, col_max) + col_spacing
        margin = " " * self.current_indent
        for name, text in named:
            first = margin + pad(name, column)
            if cell_width(name) > column - col_spacing:
                self.write(f"{margin}{name}\n")
                first = margin + " " * column
            self._write_wrapped(text, first, " " * column)


def _translated(text: str) -> str:
    """Return an option's text; what click adds behind it in brackets is translated already."""
    if text in _texts:
        return said(text)
    own, bracket, added = text.rpartition("  [")
    return said(own) + bracket + added
