"""Write messages in a language, from its catalogue.

In: messages, as values or as they stand in events. Out: their texts.
Must not know: who reads them, how they are shown.

A catalogue is a module (``english``, ``chinese``) with ``TEXTS``, a template for each code, and
``WORDS``, names for the values of a kind. They are Python and not data files: the controller's
package needs no file access for them, only the language that is asked for is imported, and a
wheel cannot lack them.

A template holds ``{name}`` or ``{name:kind}`` for its arguments. A list is written with commas.
The kinds are those of ``WORDS`` (``{hand:hand}``), and three more: ``{names:or}`` and
``{parts:clauses}`` write a list (``{wanted:json_type or}`` one of such values),
``{n:count card cards}`` writes a number with its noun. ``{command:command+}`` writes a word that
people type, with its name in brackets where the language has one.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from importlib import import_module
from typing import Any, Protocol, cast

from shoe_ctl.texts.message import Message, is_message

_PLAIN = (str, int, float, type(None))

LANGUAGES: Mapping[str, str] = {"en": "english", "zh": "chinese"}
"""Language → its module."""

_FIELD = re.compile(r"\{(\w+)(?::([^}]*))?\}")


class _Language(Protocol):
    """The contents of a language's module."""

    TEXTS: Mapping[str, str]
    WORDS: Mapping[str, Mapping[str, str]]
    LISTS: Mapping[str, str]
    """The text between the parts of a list: ``""`` of any, ``or``, ``clauses``."""
    CITED: str
    """The form in which a text cites its rule, with ``{text}`` and ``{rule}``."""
    TYPED: str
    """A word as it is typed, with its ``{code}`` and its ``{name}`` in this language."""


@functools.cache
def language(name: str) -> _Language:
    """The catalogue of this language, one of ``LANGUAGES``."""
    return cast("_Language", import_module(f".{LANGUAGES[name]}", __package__))


def text(message: Message | Mapping[str, Any], to: str = "en") -> str:
    """The message in words.

    A journal or a daemon of a newer version may give a code that this catalogue does not have: it
    is written with the text that comes with it, else as it is.
    """
    code, args = _parts(message)
    written = language(to)
    template = written.TEXTS.get(code)
    if template is None and isinstance(message, Mapping) and "text" in message:
        return str(message["text"])
    if template is None:
        return " ".join([code, *(f"{name}={value}" for name, value in args.items())])
    filled = fill(template, args, to)
    if args.get("rule") is None or "{rule" in template:
        return filled
    return written.CITED.format(text=filled, rule=args["rule"])


def with_texts(data: Any, to: str = "en") -> Any:
    """Plain values in which each message has its ``text`` beside its code and arguments.

    A text that is there already is replaced, unless this catalogue does not have its code.
    """
    if isinstance(data, _PLAIN):  # most values: nothing is looked up for them
        return data
    if is_message(data):
        return {**data, "text": text(data, to)}
    if isinstance(data, Mapping):
        return {name: with_texts(value, to) for name, value in data.items()}
    if isinstance(data, list | tuple):
        return [with_texts(value, to) for value in data]
    return data


def without_texts(data: Any) -> Any:
    """Plain values in which each message has its code and arguments alone."""
    if is_message(data):
        return {name: without_texts(value) for name, value in data.items() if name != "text"}
    if isinstance(data, Mapping):
        return {name: without_texts(value) for name, value in data.items()}
    if isinstance(data, list | tuple):
        return [without_texts(value) for value in data]
    return data


def in_words(data: Any, to: str = "en") -> Any:
    """Plain values in which the text of each message stands in its place."""
    if is_message(data):
        return text(data, to)
    if isinstance(data, Mapping):
        return {name: in_words(value, to) for name, value in data.items()}
    if isinstance(data, list | tuple):
        return [in_words(value, to) for value in data]
    return data


def fill(template: str, args: Mapping[str, Any], to: str = "en") -> str:
    """The template with its arguments."""
    written = language(to)
    return _FIELD.sub(lambda field: _filled(written, to, args, field), template)


def name_of(kind: str, code: str, to: str = "en") -> str:
    """The name of a value of this kind; one without a name is written with spaces."""
    return language(to).WORDS.get(kind, {}).get(code) or code.replace("_", " ")


def arguments(template: str) -> dict[str, str]:
    """Return the kind of each argument of a template by its name; ``""`` where it has none."""
    return {
        found[1]: (found[2] or "").partition(" ")[0].rstrip("+")
        for found in _FIELD.finditer(template)
    }


def fields(template: str) -> set[str]:
    """The names of the arguments that a template writes."""
    return {found[1] for found in _FIELD.finditer(template)}


def _parts(message: Message | Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    if isinstance(message, Message):
        return message.code, message.args
    return message["code"], message["args"]


def _filled(written: _Language, to: str, args: Mapping[str, Any], field: re.Match[str]) -> str:
    name, kind = field[1], field[2] or ""
    if name not in args:
        return f"({name}?)"
    value = args[name]
    if kind.startswith("count "):
        one, many = kind.split(" ")[1:]
        return f"{value} {one if value == 1 else many}"
    words, _, between = kind.partition(" ")
    word = _typed if words.endswith("+") else _word
    words = words.removesuffix("+")
    joins = written.LISTS[between] if between else written.LISTS.get(words, written.LISTS[""])
    parts = value if isinstance(value, list | tuple) else [value]
    return joins.join(word(written, to, words, part) for part in parts)


def _typed(written: _Language, to: str, kind: str, value: Any) -> str:
    code, name = str(value), _word(written, to, kind, value)
    return code if name == code else written.TYPED.format(code=code, name=name)


def _word(written: _Language, to: str, kind: str, value: Any) -> str:
    if is_message(value):
        return text(value, to)
    named = str(value)
    return written.WORDS.get(kind, {}).get(named, named)
