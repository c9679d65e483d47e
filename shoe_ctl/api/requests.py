"""What may be asked of the tables from outside, checked before anything looks at it.

In: one line of JSON. Out: a Command, a StatusAsked or a RedeliverAsked, or what is wrong with it.
Must not know: tables, ways in, which commands there are.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated

import msgspec

from shoe_ctl.errors import InputRefused
from shoe_ctl.records import Audience

_NO_CONTROLS = r"^[^\x00-\x1f\x7f]*\Z"

Name = Annotated[str, msgspec.Meta(pattern=r"^[a-z][a-z0-9_]{0,63}\Z")]
Id = Annotated[str, msgspec.Meta(pattern=r"^[!-~]{1,128}\Z")]
Person = Annotated[str, msgspec.Meta(min_length=1, max_length=200, pattern=_NO_CONTROLS)]
Text = Annotated[str, msgspec.Meta(max_length=2000, pattern=_NO_CONTROLS)]

# Arguments are journaled and read again years later: nothing deep, and no inexact number.
Whole = Annotated[int, msgspec.Meta(ge=-(2**53), le=2**53)]
Plain = None | bool | Whole | str
Grouped = None | bool | Whole | str | list[Plain] | dict[str, Plain]
Argument = None | bool | Whole | str | list[Grouped] | dict[str, Grouped]


class Caller(msgspec.Struct, frozen=True, kw_only=True):
    """Who is at the other end: the user, the highest position it may act in, what it may see.

    ``also`` are positions that it may act in beside those. ``names`` are all that it goes by.
    """

    user: str
    position: str
    sees: Audience
    also: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


class Command(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The command envelope. ``round_id`` None means the round that is open."""

    command_id: Id
    table: Id
    command: Name
    person: Person
    position: Name
    round_id: Id | None = None
    args: dict[str, Argument] = {}
    reason: Text | None = None
    consented_by: Person | None = None


class StatusRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the tables stand, or the one named."""

    request: str
    table: Id | None = None


class RedeliverRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Events that a sink would not take are to be offered to it again: all, or this sink's."""

    request: str
    sink: Text | None = None


Request = Command | StatusRequest | RedeliverRequest
"""Anything that may be asked."""


class _Peek(msgspec.Struct):
    """What tells a question from a command, and an answer to a bad command from any other's."""

    request: str | None = None
    command_id: str | None = None


class BadRequest(InputRefused):
    """A line that is neither a command nor a question; ``command_id`` where it names one."""

    def __init__(self, what: str, command_id: str | None = None) -> None:
        super().__init__(what)
        self.command_id = command_id


_peek = msgspec.json.Decoder(_Peek)
_command = msgspec.json.Decoder(Command)
_questions: Mapping[str, msgspec.json.Decoder[Request]] = {
    "status": msgspec.json.Decoder(StatusRequest),
    "redeliver": msgspec.json.Decoder(RedeliverRequest),
}


def read_request(line: bytes) -> Request:
    """What this line asks.

    Raises:
        NotAsked: not JSON, not an object, an unknown, missing or wrong key.
    """
    seen = _Peek()
    try:
        seen = _peek.decode(line)
        if seen.request is None:
            return _command.decode(line)
        if seen.request in _questions:
            return _questions[seen.request].decode(line)
    except RecursionError:
        raise BadRequest("not taken: nested too deeply", seen.command_id) from None
    except msgspec.ValidationError as error:
        raise BadRequest(_error_text(str(error)), seen.command_id) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadRequest(f"not JSON: {error}") from None
    raise BadRequest(f"request: expected {' or '.join(_questions)}, not {seen.request[:64]!r}")


def _error_text(message: str) -> str:
    """msgspec's message with the key first: ``command: missing``."""
    place = re.search(r" - at `(?:key in )?`?\$\.?([^`]*)`$", message)
    what = message[: place.start()] if place else message
    key = place[1] if place else ""
    what = what.replace("Object contains unknown field", "unknown key")
    what = what.replace("Object missing required field", "missing key")
    what = what.replace("Expected", "expected")
    return f"{key}: {what}" if key else what
