"""A message for people, as a code with arguments: what events, the journal and the state hold.

In: a code and plain values. Out: Message. Must not know: any language, who reads it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec


class Message(msgspec.Struct, frozen=True):
    """A message to people, without its words.

    ``code`` (``[a-z0-9_]+``) names a text in every catalogue. It begins with what the text is for:
    ``prompt_`` asks for something at an open step, ``choice_`` says what a choice is and leads to,
    ``seen_`` says why an irregularity was raised, ``refused_`` why a command was not taken,
    ``next_`` what the table waits for, ``done_`` what came of a command, ``preview_`` what would
    come of one, ``shoe_`` what is wrong with the shoe, ``events_`` why events are not sent,
    ``link_`` why the link was lost.

    ``args`` are plain JSON values: cards, hands, numbers, names, and other messages. They hold no
    words of a language, but for what a person typed or a device reported. An argument ``rule`` is
    the number of the rule behind the message; every text may have it.
    """

    code: str
    args: dict[str, Any] = {}

    def __hash__(self) -> int:
        """By the code alone: arguments may be lists."""
        return hash(self.code)

    def as_data(self) -> dict[str, Any]:
        """The message as it stands in events: ``{"code", "args"}``."""
        return {"code": self.code, "args": self.args}

    def citing(self, rule: str | None) -> Message:
        """The message with the rule behind it, where there is one."""
        return self if rule is None else Message(self.code, {**self.args, "rule": rule})


def message(code: str, /, **args: Any) -> Message:
    """The message with this code. Messages among the arguments become plain values too."""
    return Message(code, {name: _plain(value) for name, value in args.items()})


def is_message(value: object) -> bool:
    """True for ``{"code", "args"}``, also with its ``text``: a message among plain values."""
    return isinstance(value, Mapping) and {"code", "args"} <= value.keys() <= _KEYS


_KEYS = {"code", "args", "text"}


def _plain(value: Any) -> Any:
    if isinstance(value, Message):
        return value.as_data()
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value
