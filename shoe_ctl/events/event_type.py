"""The parts of an entry of the catalogue, and the values that many events share.

In: nothing. Out: EventType, Data and the parts that several types of data have in common.
Must not know: any particular event.
"""

from __future__ import annotations

import functools
from typing import Annotated, Any, Literal, cast

import msgspec
from msgspec import UNSET, Meta, UnsetType

Code = Annotated[str, Meta(pattern="^[A-Za-z0-9_]+$")]
"""A word for programs."""

Card = Annotated[str, Meta(pattern="^[0-9A-Z][A-Za-z]$")]
"""A card: rank and suit, as in ``7D`` or ``TS``. Other decks have suits in small letters."""

Rule = str | None
"""The number of a rule in the game's document; None where it has none."""

Hand = Literal["player", "banker"]
"""A hand of the round."""

Index = Annotated[int, Meta(ge=1)]
"""A place in a hand, from 1."""

Count = Annotated[int, Meta(ge=0)]
"""A number of things."""

Time = Annotated[str, Meta(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$")]
"""A time: UTC, microseconds, ``Z``."""

Fraction = Annotated[str, Meta(pattern="^-?[0-9]+(/[1-9][0-9]*)?$")]
"""An exact fraction, or a whole number, as text."""

Amount = int | Fraction
"""Money: whole minor units; a text such as ``"57/2"`` where a share is no whole number."""

Argument = str | int | bool | None
"""A value that a person gave with a command."""


class Data(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The data of an event. A field that may be unset is left out, not null."""


class EventData(Data, frozen=True, kw_only=True):
    """The data of an event, of a round or of none."""

    round_id: str | UnsetType = UNSET
    """The open round. Only while one is open."""


class Opens(EventData, frozen=True, kw_only=True):
    """An event of something that opens and closes."""

    instance: Index
    """Its number. The events of one have the same number, and each stream counts its own from 1."""


class Message(Data, frozen=True, kw_only=True):
    """A message to people, without its words."""

    code: Code
    """Names a text of the message catalogues."""
    args: dict[str, Any]
    """The values that fill in the text, by name."""


class Actor(Data, frozen=True, kw_only=True):
    """The person whose command brought the event about. Every restricted copy may have it."""

    person: str | UnsetType = UNSET
    """The person who gave the command."""
    position: str | UnsetType = UNSET
    """The position in which the person gave it. A command that was refused may name any."""
    why: str | UnsetType | None = UNSET
    """The reason that the person gave; null where none was given."""
    consented_by: str | UnsetType | None = UNSET
    """The second person, who consented; null where nobody did."""
    command_id: str | UnsetType = UNSET
    """The id of the command."""


class Arguments(Data, frozen=True, kw_only=True):
    """The arguments of the command that brought it about."""

    said: dict[str, Argument] | UnsetType = UNSET
    """The arguments of the command."""


class EventType(msgspec.Struct, frozen=True, kw_only=True):
    """One type of event."""

    name: str
    """Its ``type`` in the envelope, as in ``round.opened``."""
    data: type[EventData]
    """Its data on the public stream; the data of a restricted type."""
    adds: tuple[type[Data], ...] = ()
    """The further fields of the restricted copy, beside who brought the event about."""
    audience: Literal["public", "restricted", "either"] = "public"
    """``public``: on both streams. ``restricted``: on that one only. ``either``: some events of the
    type are on both, others on the restricted stream only."""

    @property
    def description(self) -> str:
        """The meaning of the event, in a sentence or a few."""
        return plain(self.data.__doc__ or "")

    @property
    def public(self) -> type[Data] | None:
        """The type of its data on the public stream; None if it is never there."""
        return None if self.audience == "restricted" else self.data

    @property
    def restricted(self) -> type[Data]:
        """The type of its data on the restricted stream: all public fields, and more."""
        return _with_parts(self.data, (*self.adds, Actor))


@functools.cache
def _with_parts(data: type[Data], parts: tuple[type[Data], ...]) -> type[Data]:
    """Return a struct with the fields of ``data`` and of all these parts."""
    fields = [
        (field.name, field.type, _default(field))
        for each in (data, *parts)
        for field in msgspec.structs.fields(each)
    ]
    joined = msgspec.defstruct(
        f"{data.__name__}Restricted",
        fields,
        bases=(Data,),
        frozen=True,
        kw_only=True,
        forbid_unknown_fields=True,
    )
    return cast("type[Data]", joined)


def _default(field: msgspec.structs.FieldInfo) -> Any:
    """Return the default of a field, with its key; a field without a default must be given."""
    return msgspec.field(default=field.default, name=field.encode_name)


def plain(docstring: str) -> str:
    """Return a docstring as one paragraph, with the marks of code as in Markdown."""
    return " ".join(docstring.split()).replace("``", "`")
