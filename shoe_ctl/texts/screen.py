"""The words of screens and reports around messages, in one language.

In: the language, a phrase with its arguments, codes. Out: words for people.
Must not know: what is shown, where. The phrases are modules of their own (``screen_english``,
``screen_chinese``): they are never stored or sent, and the daemon does without them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from importlib import import_module
from typing import Any

from shoe_ctl.texts import catalogue
from shoe_ctl.texts.message import Message

VARIABLES = ("LC_ALL", "LC_MESSAGES", "LANG")
"""Environment variables that name a language: the first that is set and not empty decides."""


def language_of(environment: Mapping[str, str]) -> str:
    """Return the language that an environment asks for; English where we do not have it."""
    named = next((value for name in VARIABLES if (value := environment.get(name))), "")
    wanted = named.partition(".")[0].partition("_")[0].partition("-")[0].lower()
    return wanted if wanted in catalogue.LANGUAGES else "en"


_KINDS = (
    *("state", "position", "key", "how", "act", "end", "wager", "game", "link", "round_state"),
    *("told", "hand", "face", "argument", "field"),
)
"""Kinds of codes, in the order in which a code is looked up."""


class Words:
    """The phrases of a language, one of ``LANGUAGES``, and its names for codes."""

    def __init__(self, language: str = "en") -> None:
        self.language = language

    @cached_property
    def _phrases(self) -> Mapping[str, str]:
        module = f".screen_{catalogue.LANGUAGES[self.language]}"
        return dict(import_module(module, __package__).PHRASES)

    def __call__(self, phrase: str, /, **args: Any) -> str:
        """Return a phrase with its arguments."""
        return catalogue.fill(self._phrases[phrase], args, self.language)

    @cached_property
    def _sentences(self) -> Mapping[str, str]:
        module = f".screen_{catalogue.LANGUAGES[self.language]}"
        return dict(import_module(module, __package__).SENTENCES)

    def sentence(self, english: str, /, **args: Any) -> str:
        """Return a sentence of a report with its arguments; it is named by its English."""
        said = self._sentences.get(english, english)
        return said.format_map(args) if args else said

    def text(self, said: Message | Mapping[str, Any]) -> str:
        """Return a message in words."""
        return catalogue.text(said, self.language)

    def name(self, kind: str, code: str) -> str:
        """Return the name of a code; one without a name is written with spaces."""
        return catalogue.name_of(kind, code, self.language)

    def code(self, code: str) -> str:
        """Return the name of a code whose kind is not known."""
        known = catalogue.language(self.language).WORDS
        found = (known[kind][code] for kind in _KINDS if code in known.get(kind, {}))
        return next(found, code.replace("_", " "))

    def join(self, parts: Iterable[str], between: str = "") -> str:
        """Return a list in words; ``between`` is one of the language's ``LISTS``."""
        return catalogue.language(self.language).LISTS[between].join(parts)
