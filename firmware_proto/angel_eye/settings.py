"""The profile's settings: where integrators disagree, and whether commands may be sent.

In: a mapping as a configuration holds it. Out: checked values; errors that name the key.
Must not know: where the mapping came from.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from enum import Enum
from typing import Final

from firmware_proto.angel_eye.frames import CommandBcc
from firmware_proto.angel_eye.scanner import RepeatKey


class Redesignation(Enum):
    """The meaning of ``R`` for its card: integrators disagree."""

    NEXT_ROUND = "next_round"
    DEALT_ANEW = "dealt_anew"


SENDS: Final = (1, 3)
"""The least and the most times that a shoe may send each event."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostSettings:
    """The host's end; SPEC.md, "Settings"."""

    command_bcc: CommandBcc = CommandBcc.FROM_STX
    reply_bcc: CommandBcc = CommandBcc.FROM_STX
    repeats: RepeatKey = RepeatKey.SEQ_AND_CODE
    redesignation: Redesignation = Redesignation.NEXT_ROUND
    lock_confirmed_by_event: bool = False
    commands: bool = False
    ask_when_silent: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceSettings:
    """The shoe's end: where a command's check begins, and how often each event is sent."""

    command_bcc: CommandBcc = CommandBcc.FROM_STX
    sends: int = 1


def host_settings(given: Mapping[str, object]) -> HostSettings:
    """The host's settings, each at its default unless given.

    Raises:
        ValueError: a key that is none of them, or a value that it cannot take.
    """
    _only(given, tuple(field.name for field in fields(HostSettings)))
    meanings = [meaning.value for meaning in Redesignation]
    return HostSettings(
        command_bcc=_bcc(given, "command_bcc"),
        reply_bcc=_bcc(given, "reply_bcc"),
        repeats=RepeatKey(_one_of(given, "repeats", [k.value for k in RepeatKey])),
        redesignation=Redesignation(_one_of(given, "redesignation", meanings)),
        lock_confirmed_by_event=_flag(given, "lock_confirmed_by_event"),
        commands=_flag(given, "commands"),
        ask_when_silent=_flag(given, "ask_when_silent", default=True),
    )


def device_settings(given: Mapping[str, object]) -> DeviceSettings:
    """The shoe's settings, each at its default unless given.

    Raises:
        ValueError: a key that is none of them, or a value that it cannot take.
    """
    _only(given, ("command_bcc", "sends"))
    sends = given.get("sends", SENDS[0])
    if type(sends) is not int or sends not in SENDS:
        raise ValueError(f"sends: must be 1 or 3, not {sends!r}")
    return DeviceSettings(command_bcc=_bcc(given, "command_bcc"), sends=sends)


def _only(given: Mapping[str, object], known: Iterable[str]) -> None:
    for key in given:
        if key not in known:
            raise ValueError(f"{key}: not a setting of angel_eye (have: {', '.join(known)})")


def _bcc(given: Mapping[str, object], key: str) -> CommandBcc:
    return CommandBcc(_one_of(given, key, [c.value for c in CommandBcc]))


def _one_of(given: Mapping[str, object], key: str, values: list[str]) -> str:
    value = given.get(key, values[0])
    if not isinstance(value, str) or value not in values:
        raise ValueError(f"{key}: must be {' or '.join(values)}, not {value!r}")
    return value


def _flag(given: Mapping[str, object], key: str, *, default: bool = False) -> bool:
    value = given.get(key, default)
    if not isinstance(value, bool):
        raise ValueError(f"{key}: must be true or false, not {value!r}")
    return value
