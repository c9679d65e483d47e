"""One event of a table: its envelope read and checked.

In: a CloudEvents envelope as bytes, text or an object. Out: an Event with its table, audience and
number. Must not know: what was applied before.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Audience = Literal["public", "restricted"]
"""Who may see a stream of events."""

_LETTERS: Mapping[str, Audience] = {"p": "public", "r": "restricted"}
_MOST_DIGITS = 15


class InvalidEvent(ValueError):
    """What came is no event of a table. Its text says what was expected."""


@dataclass(frozen=True, slots=True)
class Event:
    """One event. ``source`` and ``id`` name it; ``number`` is its place in its stream, from 1.

    ``envelope`` is the whole CloudEvents object, with keys that this version does not know.
    """

    source: str
    id: str
    type: str
    time: str
    subject: str | None
    data: Mapping[str, Any]
    table: str
    audience: Audience
    number: int
    envelope: Mapping[str, Any]


def read_event(received: bytes | str | Mapping[str, Any]) -> Event:
    """Return the event in an envelope.

    Raises:
        InvalidEvent: it is no JSON object, lacks an attribute, or has an id of another kind.
    """
    if isinstance(received, Mapping):
        envelope = received
    else:
        try:
            envelope = json.loads(received)
        except (ValueError, RecursionError):
            raise InvalidEvent("expected a JSON object: it is no JSON") from None
        if not isinstance(envelope, dict):
            raise InvalidEvent(f"expected a JSON object, not {type(envelope).__name__}")
    table, audience, number = read_id(_text(envelope, "id"))
    data = envelope.get("data", {})
    if not isinstance(data, Mapping):
        raise InvalidEvent("data: expected an object")
    subject = envelope.get("subject")
    return Event(
        source=_text(envelope, "source"),
        id=envelope["id"],
        type=_text(envelope, "type"),
        time=str(envelope.get("time", "")),
        subject=subject if isinstance(subject, str) else None,
        data=data,
        table=table,
        audience=audience,
        number=number,
        envelope=envelope,
    )


def read_id(text: str) -> tuple[str, Audience, int]:
    """Return the table, the audience and the number of an id such as ``bac-07/p31``.

    Raises:
        InvalidEvent: it is no event's id.
    """
    table, _, last = text.rpartition("/")
    audience, digits = _LETTERS.get(last[:1]), last[1:]
    if not table or audience is None or not (digits.isascii() and digits.isdigit()):
        raise InvalidEvent(f"id: expected one such as bac-07/p31, not {text!r}")
    number = int(digits) if len(digits) <= _MOST_DIGITS else 0
    if number < 1:
        raise InvalidEvent(f"id: expected a number from 1, not {text!r}")
    return table, audience, number


def make_id(table: str, audience: Audience, number: int) -> str:
    """Return the id of an event; number 0 stands before a table's first event."""
    return f"{table}/{audience[0]}{number}"


def number_of(event_id: str) -> int:
    """Return the number in an id, which may be 0: before a table's first event."""
    return int(event_id.rpartition("/")[2][1:])


def _text(envelope: Mapping[str, Any], key: str) -> str:
    found = envelope.get(key)
    if not isinstance(found, str) or not found:
        raise InvalidEvent(f"{key}: expected a text")
    return found
