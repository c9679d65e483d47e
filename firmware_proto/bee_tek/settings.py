"""The profile's settings: how a simulated shoe writes its cards; a host has none to make.

In: a mapping as a configuration holds it. Out: checked values; errors that name the key.
Must not know: where the mapping came from.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from firmware_proto.bee_tek.lines import CardForm, TenForm


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceSettings:
    """The shoe's end; SPEC.md, "Settings"."""

    card_form: CardForm = CardForm.NAMED
    ten: TenForm = TenForm.DIGITS


def check_host(given: Mapping[str, object]) -> None:
    """Finds fault with a host's settings; the only one is ``commands``, and it is false.

    Raises:
        ValueError: a key that is none of them, or commands where none are known.
    """
    _only(given, ("commands",))
    commands = given.get("commands", False)
    if not isinstance(commands, bool):
        raise ValueError(f"commands: must be true or false, not {commands!r}")
    if commands:
        raise ValueError("commands: no command of a bee_tek shoe is known: set false")


def device_settings(given: Mapping[str, object]) -> DeviceSettings:
    """The shoe's settings, each at its default unless given.

    Raises:
        ValueError: a key that is none of them, or a value that it cannot take.
    """
    _only(given, ("card_form", "ten"))
    return DeviceSettings(
        card_form=CardForm(_one_of(given, "card_form", [form.value for form in CardForm])),
        ten=TenForm(_one_of(given, "ten", [form.value for form in TenForm])),
    )


def _only(given: Mapping[str, object], known: Iterable[str]) -> None:
    for key in given:
        if key not in known:
            raise ValueError(f"{key}: not a setting of bee_tek (have: {', '.join(known)})")


def _one_of(given: Mapping[str, object], key: str, values: list[str]) -> str:
    value = given.get(key, values[0])
    if not isinstance(value, str) or value not in values:
        raise ValueError(f"{key}: must be {' or '.join(values)}, not {value!r}")
    return value
