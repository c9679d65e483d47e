"""Everything that can happen to a table, as one value each, and its exact bytes in the journal.

In: shoe events, commands, link and power facts, ticks. Out: Input values and their JSON bytes.
Must not know: where they came from in the program, clocks, the round's state.
"""

from __future__ import annotations

from typing import Any

import msgspec

from firmware_proto.events import ShoeEvent, from_plain, to_plain
from shoe_ctl.texts.message import Message


class Happened(
    msgspec.Struct, frozen=True, kw_only=True, tag_field="input", forbid_unknown_fields=True
):
    """Base of every input. ``t_us`` is microseconds since 1970 UTC and never runs backwards."""

    t_us: int


class ShoeSaid(Happened, frozen=True, kw_only=True, tag="shoe"):
    """A shoe event, with the connection (a number that rises) and the bytes that carried it.

    ``seq`` is the profile's own event number; ``first``/``last`` as in ``session.Heard``.
    """

    event: ShoeEvent
    connection: int = 0
    seq: int | str | None = None
    first: int = 0
    last: int = 0


class SecondPerson(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """The named second person as looked up among the configured users.

    ``positions`` are the highest that the user may act in, and others. ``why_not``: the name is no
    configured user's, or is who asks; one line for people.
    """

    positions: tuple[str, ...] = ()
    why_not: Message | None = None


class TableCommand(Happened, frozen=True, kw_only=True, tag="command"):
    """What a person or the table system asks of the table: the command envelope.

    ``round_id`` None means the round that is open. ``consented_by`` is the second person.

    ``user`` is the configured user through whom it came; empty where it came in no such way.
    ``second_person`` is None where nobody is named, or nobody looked it up.
    ``added`` names the arguments that were not given, and that the controller filled in.
    """

    command_id: str
    command: str
    args: dict[str, Any] = {}
    round_id: str | None = None
    person: str = ""
    position: str = "dealer"
    reason: str | None = None
    consented_by: str | None = None
    user: str = ""
    added: tuple[str, ...] = ()
    second_person: SecondPerson | None = None


class LinkUp(Happened, frozen=True, kw_only=True, tag="link_up"):
    """A connection to the shoe opened, with what shoes of its profile can do.

    ``authenticated``: whatever is heard on it was proved with a key to be the shoe's. ``obeys`` and
    ``tells`` are the commands and queries that such a shoe has, if ``commands`` may be sent to it.
    """

    connection: int
    profile: str
    arm: bool
    replay: bool
    judges: bool
    names_hands: bool
    authenticated: bool = False
    commands: bool = False
    obeys: tuple[str, ...] = ()
    tells: tuple[str, ...] = ()


class LinkLost(Happened, frozen=True, kw_only=True, tag="link_lost"):
    """The connection went away. ``reason`` is one line for people."""

    connection: int
    reason: str


class LineSuspended(Happened, frozen=True, kw_only=True, tag="line_suspended"):
    """The line brought more garbage than is kept: nothing is made of what comes for ``wait_s``.

    ``unkept`` bytes came since it was suspended; ``again``: it still brings as much.
    """

    connection: int
    wait_s: int
    unkept: int = 0
    again: bool = False


class LineResumed(Happened, frozen=True, kw_only=True, tag="line_resumed"):
    """The line is quiet and is opened again; ``unkept`` bytes came meanwhile and are nowhere."""

    unkept: int


class Restarted(Happened, frozen=True, kw_only=True, tag="restarted", omit_defaults=True):
    """The table is started on an existing journal. ``host_boot`` changes when the host boots.

    ``reopened``: the daemon itself went on. The storage failed, and it opened the journal again.
    """

    host_boot: str
    reopened: bool = False


class Tick(Happened, frozen=True, kw_only=True, tag="tick"):
    """The time asked for with ``WakeAt`` has come."""


class NotTold(Happened, frozen=True, kw_only=True, tag="not_told"):
    """A command to the shoe, by its id on the wire, could not be sent. ``why`` holds no secret."""

    number: int
    why: str


class Fault(Happened, frozen=True, kw_only=True, tag="fault"):
    """Decoding or handling raised; the raw bytes are kept and the table halts."""

    where: str
    what: str


FAULT_IN_SHOE_INPUT = "ShoeSaid"
"""``Fault.where`` where it stands in the place of what the shoe said."""

_FAULT_PLACES = {
    "shoe": FAULT_IN_SHOE_INPUT,
    "command": "TableCommand",
    "link_up": "LinkUp",
    "link_lost": "LinkLost",
    "line_suspended": "LineSuspended",
    "line_resumed": "LineResumed",
    "restarted": "Restarted",
    "tick": "Tick",
    "not_told": "NotTold",
    "fault": "Fault",
    "storage_restored": "StorageRestored",
    "delivery_parked": "DeliveryParked",
    "delivery_taken": "DeliveryTaken",
    "commands_refused": "CommandsRefused",
}
"""By the tag of an input. The names stand in journals: they stay, whatever a class is called."""


def fault_place(happened: Happened) -> str:
    """``Fault.where`` where handling this input raised."""
    return _FAULT_PLACES[str(type(happened).__struct_config__.tag)]


class StorageRestored(
    Happened, frozen=True, kw_only=True, tag="storage_restored", omit_defaults=True
):
    """The journal failed and was opened and verified again: nothing was stored meanwhile.

    ``since_us``: when it failed, µs since 1970 UTC. ``what`` is one line for people. ``ruling`` is
    the command with which a person ruled that a journal goes on without a lost part, where it was
    given to this table: its id is then known like that of every other command.
    """

    since_us: int
    what: str
    ruling: TableCommand | None = None


class DeliveryParked(
    Happened, frozen=True, kw_only=True, tag="delivery_parked", omit_defaults=True
):
    """A sink would not take an event of this table: it was passed over, and stands in the journal.

    ``public``: the sink gets the public stream. ``event`` is its id, ``record`` its place in the
    journal (0 where that was not noted yet); ``why`` one line for people.
    """

    sink: str
    public: bool
    event: str
    event_type: str
    why: str
    record: int = 0


class DeliveryTaken(Happened, frozen=True, kw_only=True, tag="delivery_taken"):
    """A sink took an event after all that had been parked; ``record`` as there."""

    sink: str
    event: str
    event_type: str
    record: int


class CommandsRefused(Happened, frozen=True, kw_only=True, tag="commands_refused"):
    """So many commands of a user were refused and not recorded, since then (µs since 1970 UTC)."""

    user: str
    count: int
    since_us: int


Input = (
    ShoeSaid
    | TableCommand
    | LinkUp
    | LinkLost
    | LineSuspended
    | LineResumed
    | Restarted
    | Tick
    | NotTold
    | Fault
    | StorageRestored
    | DeliveryParked
    | DeliveryTaken
    | CommandsRefused
)
"""Anything that can happen."""

KINDS: tuple[type[Happened], ...] = (
    ShoeSaid,
    TableCommand,
    LinkUp,
    LinkLost,
    LineSuspended,
    LineResumed,
    Restarted,
    Tick,
    NotTold,
    Fault,
    StorageRestored,
    DeliveryParked,
    DeliveryTaken,
    CommandsRefused,
)


class _Wire(Happened, frozen=True, kw_only=True, tag="shoe"):
    """``ShoeSaid`` as it stands in the journal: its event as a tagged object."""

    event: dict[str, Any]
    connection: int
    seq: int | str | None
    first: int
    last: int


# In the order given: what is read back must be like what was handled, key for key, or a replay
# could meet a command's arguments in another order.
_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(
    _Wire
    | TableCommand
    | LinkUp
    | LinkLost
    | LineSuspended
    | LineResumed
    | Restarted
    | Tick
    | NotTold
    | Fault
    | StorageRestored
    | DeliveryParked
    | DeliveryTaken
    | CommandsRefused
)


def to_bytes(happened: Input) -> bytes:
    """The input's bytes: the same input always gives the same bytes."""
    if isinstance(happened, ShoeSaid):
        return _encoder.encode(
            _Wire(
                t_us=happened.t_us,
                event=to_plain(happened.event),
                connection=happened.connection,
                seq=happened.seq,
                first=happened.first,
                last=happened.last,
            )
        )
    return _encoder.encode(happened)


def from_bytes(body: bytes) -> Input:
    """The input that ``to_bytes`` gave.

    Raises:
        ValueError: these bytes are not an input (msgspec's errors are ValueErrors).
    """
    plain: _Wire | Input = _decoder.decode(body)
    if isinstance(plain, _Wire):
        try:
            event = from_plain(plain.event)
        except TypeError as error:
            raise ValueError(f"no shoe event: {error}") from None
        return ShoeSaid(
            t_us=plain.t_us,
            event=event,
            connection=plain.connection,
            seq=plain.seq,
            first=plain.first,
            last=plain.last,
        )
    return plain
