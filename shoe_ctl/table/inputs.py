"""Inputs: everything that can happen to a table, as one value each, and its bytes in the journal.

In: shoe events, commands, news of the link, the power and storage, ticks. Out: Input values and
their JSON bytes. Must not know: where they came from in the program, clocks, the round's state.
"""

from __future__ import annotations

from typing import Annotated, Any, get_args

import msgspec

from firmware_proto.events import ShoeEvent, from_plain, to_plain
from shoe_ctl.texts.message import Message


class Happened(
    msgspec.Struct, frozen=True, kw_only=True, tag_field="input", forbid_unknown_fields=True
):
    """Base of every input. ``t_us`` is microseconds since 1970 UTC and never runs backwards."""

    t_us: int


class ShoeSaid(Happened, frozen=True, kw_only=True, tag="shoe"):
    """An event of the shoe."""

    event: ShoeEvent
    """The decoded event."""
    connection: int = 0
    """The number of the connection that it came on; numbers only rise."""
    seq: int | str | None = None
    """The profile's own number of the event."""
    first: int = 0
    """The first of the bytes that carried it, as in ``session.ReceivedEvent``."""
    last: int = 0
    """The last of the bytes that carried it."""
    device_us: int | None = None
    """The device's own time of the event, in µs since its present boot; None where the profile or
    the event has none. What was recorded without it is the same without it."""


class SecondPerson(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """The second person of a command, as looked up among the configured users."""

    positions: tuple[str, ...] = ()
    """The highest positions that the user may act in, and others."""
    why_not: Message | None = None
    """Why that person cannot consent: no configured user, or who asks. One line for people."""


class Login(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The login of a person, as the user at the other end vouched for it."""

    person: str
    """The person who logged in."""
    by: str
    """The way: ``pin``, ``token`` or ``certificate``."""
    session: str | None
    """The session, by the name that the user gives it; None for a second person."""


class TableCommand(Happened, frozen=True, kw_only=True, tag="command"):
    """A command from a person or from the table system."""

    command_id: str
    """The id that the sender gave it. A command that is repeated with its id is not done again."""
    command: str
    """The command's name."""
    args: dict[str, Any] = {}
    """Its arguments by name."""
    round_id: str | None = None
    """The round that it is for; None: the one that is open."""
    person: str = ""
    """The person who gives it."""
    position: str = "dealer"
    """The position in which the person acts."""
    reason: str | None = None
    """The person's reason."""
    consented_by: str | None = None
    """The second person, who consents."""
    user: str = ""
    """The configured user through whom it came; empty if it came otherwise."""
    added: tuple[str, ...] = ()
    """Arguments that were not given and that the controller filled in."""
    second_person: SecondPerson | None = None
    """The second person as looked up; None if nobody is named or nobody looked."""
    older: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    """The round that it revises, as ``state.OlderRound``; unset where it is the last one."""
    login: Login | msgspec.UnsetType = msgspec.UNSET
    """The login of the person who gives it; unset where the user vouches for none."""
    consent_login: Login | msgspec.UnsetType = msgspec.UNSET
    """The login of the second person; unset where the user vouches for none."""

    @property
    def logged_in(self) -> str | msgspec.UnsetType:
        """The person who logged in to give it; unset where the user vouches for none."""
        return self.login.person if isinstance(self.login, Login) else msgspec.UNSET


class LinkUp(Happened, frozen=True, kw_only=True, tag="link_up"):
    """A connection to the shoe was opened. What shoes of its profile can do comes with it."""

    connection: int
    """The number of the connection."""
    profile: str
    """The profile: the protocol that the shoe speaks."""
    arm: bool
    """True if the host arms such a shoe for each draw."""
    replay: bool
    """True if such a shoe sends again what was missed while the link was down."""
    judges: bool
    """True if such a shoe judges the round too."""
    names_hands: bool
    """True if such a shoe names the hand of each card."""
    authenticated: bool = False
    """True if all that arrives on the connection is proved with a key to be from the shoe."""
    commands: bool = False
    """True if commands may be sent to it."""
    obeys: tuple[str, ...] = ()
    """The commands that such a shoe knows."""
    tells: tuple[str, ...] = ()
    """The queries that such a shoe knows."""


class LinkLost(Happened, frozen=True, kw_only=True, tag="link_lost", omit_defaults=True):
    """The connection to the shoe was lost."""

    connection: int
    """The number of the connection."""
    reason: str
    """Why, for programs: a code."""
    why: Message | None = None
    """Why, in full, for people. It may name the port of this host, which is not public."""


class LineSuspended(Happened, frozen=True, kw_only=True, tag="line_suspended"):
    """The line brought more garbage than is recorded and is ignored for a while."""

    connection: int
    """The number of the connection."""
    wait_s: int
    """For how many seconds the line is ignored."""
    unkept: int = 0
    """The number of bytes that came since it was suspended; they are not recorded."""
    again: bool = False
    """True if it was suspended before and still brings as much."""


class LineResumed(Happened, frozen=True, kw_only=True, tag="line_resumed"):
    """The line is quiet and is opened again."""

    unkept: int
    """The number of bytes that came meanwhile; they are not recorded."""


class HearingLost(Happened, frozen=True, kw_only=True, tag="hearing_lost"):
    """The shoe is received, and receives nothing itself: what is sent to it has no effect."""

    connection: int
    """The number of the connection."""


class HearingRestored(Happened, frozen=True, kw_only=True, tag="hearing_restored"):
    """The shoe receives again what is sent to it."""

    connection: int
    """The number of the connection."""


class Restarted(Happened, frozen=True, kw_only=True, tag="restarted", omit_defaults=True):
    """The table was started."""

    host_boot: str
    """The host's boot; it changes when the host restarts."""
    profile: str
    """The profile of the table's shoe."""
    software: str
    """The version of shoe-ctl that runs."""
    reopened: bool = False
    """True if the daemon kept running: the storage failed, and the journal was opened again."""


class Tick(Happened, frozen=True, kw_only=True, tag="tick"):
    """The time that the table asked for with ``WakeAt`` has come."""


class NotTold(Happened, frozen=True, kw_only=True, tag="not_told"):
    """A command to the shoe could not be sent."""

    number: int
    """The id of the command on the wire."""
    reason: str
    """Why, for programs: a code."""
    why: Message
    """Why, for people; it holds no secret."""


class Fault(Happened, frozen=True, kw_only=True, tag="fault"):
    """Decoding or handling raised an error. The raw bytes are recorded and the table halts."""

    where: str
    """The message or input that was being decoded or handled."""
    what: str
    """The error."""


FAULT_IN_SHOE_INPUT = "ShoeSaid"
"""``Fault.where`` of a fault that stands in the place of a shoe event."""

_FAULT_PLACES = {
    "shoe": FAULT_IN_SHOE_INPUT,
    "command": "TableCommand",
    "link_up": "LinkUp",
    "link_lost": "LinkLost",
    "line_suspended": "LineSuspended",
    "line_resumed": "LineResumed",
    "hearing_lost": "HearingLost",
    "hearing_restored": "HearingRestored",
    "restarted": "Restarted",
    "tick": "Tick",
    "not_told": "NotTold",
    "fault": "Fault",
    "storage_restored": "StorageRestored",
    "delivery_parked": "DeliveryParked",
    "delivery_taken": "DeliveryTaken",
    "delivery_lost": "DeliveryLost",
    "delivery_refilled": "DeliveryRefilled",
    "commands_refused": "CommandsRefused",
    "disk_checked": "DiskChecked",
    "outcome_applied": "OutcomeApplied",
    "shoe_stated": "ShoeStated",
    "door_noted": "DoorNoted",
    "notes_refused": "NotesRefused",
}
"""Tag of an input → its name in ``Fault.where``. Journals contain these names: they stay as they
are, also when a class is renamed."""


def fault_place(happened: Happened) -> str:
    """Return ``Fault.where`` for an error in handling this input."""
    return _FAULT_PLACES[str(type(happened).__struct_config__.tag)]


class StorageRestored(
    Happened, frozen=True, kw_only=True, tag="storage_restored", omit_defaults=True
):
    """The journal failed and was opened and verified again. Nothing was stored meanwhile."""

    since_us: int
    """When it failed, µs since 1970 UTC."""
    what: Message
    """The failure, in words."""
    ruling: TableCommand | None = None
    """The command with which a person ruled that the journal goes on without a lost part, if it was
    given to this table. Its id is then known like that of every other command."""


class DeliveryParked(
    Happened, frozen=True, kw_only=True, tag="delivery_parked", omit_defaults=True
):
    """A sink refused an event of this table. The event was passed over and is in the journal."""

    sink: str
    """The sink."""
    public: bool
    """True if the sink gets the public stream."""
    event: str
    """The id of the event."""
    event_type: str
    """The type of the event."""
    why: Message
    """Why the sink refused it."""
    record: int = 0
    """The event's record in the journal; 0 where it was not noted."""


class DeliveryTaken(Happened, frozen=True, kw_only=True, tag="delivery_taken"):
    """A sink took an event that it had refused before."""

    sink: str
    """The sink."""
    event: str
    """The id of the event."""
    event_type: str
    """The type of the event."""
    record: int
    """The event's record in the journal."""


class DeliveryLost(Happened, frozen=True, kw_only=True, tag="delivery_lost"):
    """A sink lost events of this table that it had acknowledged. They are offered to it again."""

    sink: str
    """The sink."""
    public: bool
    """True if the sink gets the public stream."""
    first: int
    """The number of the first event that it lost."""
    last: int
    """The number of the last one."""


class DeliveryRefilled(Happened, frozen=True, kw_only=True, tag="delivery_refilled"):
    """A sink was offered again all events that it had lost."""

    sink: str
    """The sink."""
    refused: int
    """The number of these that it refused."""


class CommandsRefused(Happened, frozen=True, kw_only=True, tag="commands_refused"):
    """Commands of a user were refused without being recorded, because they were too many."""

    user: str
    """The user."""
    count: int
    """The number of commands."""
    since_us: int
    """Since when, µs since 1970 UTC."""
    person: str | msgspec.UnsetType = msgspec.UNSET
    """The person who gave them, where the user vouches for logins."""


class DoorNoted(Happened, frozen=True, kw_only=True, tag="door_noted", omit_defaults=True):
    """Something happened at the door of a program at which people log in."""

    user: str
    """The configured user who notes it."""
    event: str
    """The type of the event: ``login.accepted .refused .locked .ended``, ``restricted.viewed``."""
    person: str | None = None
    """The person; None where nobody by that name is known."""
    by: str | None = None
    """The way of the login: ``pin``, ``token`` or ``certificate``."""
    session: str | None = None
    """The session, by the name that the user gives it."""
    position: str | None = None
    """The highest position of the person."""
    address: str | None = None
    """The address that it came from."""
    reason: str | None = None
    """Why, as a code of the user's."""
    about: str | None = None
    """The part of the restricted stream that was viewed."""


class NotesRefused(Happened, frozen=True, kw_only=True, tag="notes_refused"):
    """Notes of a user were not recorded, because they were too many."""

    user: str
    """The user."""
    event: str
    """The type of the event that each of them would have been."""
    count: int
    """The number of notes."""
    since_us: int
    """Since when, µs since 1970 UTC."""


class OutcomeApplied(Happened, frozen=True, kw_only=True, tag="outcome_applied"):
    """A table system reports that it applied an outcome, a revision or a void."""

    user: str
    """The configured user who reports it."""
    reference: str
    """The table system's own reference."""
    round_id: str
    """The round, as found by the event's id."""
    type: str
    """The type of that event."""
    told_us: int
    """When the event was told, in µs since 1970 UTC."""
    public_id: str | None
    """The event's id on the public stream."""
    restricted_id: str
    """Its id on the restricted stream."""


class ToldMoney(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The money of one wager of the game in one round, all Players together, in minor units."""

    staked: Annotated[int, msgspec.Meta(ge=0, le=2**53)] = 0
    """The chips that lay there."""
    paid_out: (
        Annotated[int, msgspec.Meta(ge=0, le=2**53)]
        | Annotated[str, msgspec.Meta(pattern=r"^[0-9]{1,18}/[1-9][0-9]{0,17}\Z")]
    ) = 0
    """The amount that the Players got, stakes that went back included: a whole number, or an exact
    fraction such as ``"19/2"``."""


class StatedRound(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One round as a table system counts it."""

    round_id: str
    """The round."""
    void: bool = False
    """True if it was void: no money changed hands."""
    wagers: dict[str, ToldMoney] = {}
    """Its money by wager. A wager that nobody placed may be left out."""


class ShoeStated(Happened, frozen=True, kw_only=True, tag="shoe_stated"):
    """A table system states the rounds of a shoe and their money, to be compared."""

    user: str
    """The configured user who states it."""
    shoe_id: str
    """The set of cards."""
    rounds: tuple[StatedRound, ...]
    """Its rounds."""


class DiskChecked(Happened, frozen=True, kw_only=True, tag="disk_checked"):
    """The disk of the journal will be full soon, or not so soon any more."""

    full_us: int | None = None
    """When, at the rate of the last hour, µs since 1970 UTC; None where that is not soon."""


_OtherInput = (
    TableCommand
    | LinkUp
    | LinkLost
    | LineSuspended
    | LineResumed
    | HearingLost
    | HearingRestored
    | Restarted
    | Tick
    | NotTold
    | Fault
    | StorageRestored
    | DeliveryParked
    | DeliveryTaken
    | DeliveryLost
    | DeliveryRefilled
    | CommandsRefused
    | OutcomeApplied
    | ShoeStated
    | DoorNoted
    | NotesRefused
    | DiskChecked
)

Input = ShoeSaid | _OtherInput
"""Anything that can happen to a table."""

KINDS: tuple[type[Happened], ...] = get_args(Input)
"""The types of inputs."""


# Bytes.


class _Wire(Happened, frozen=True, kw_only=True, tag="shoe", omit_defaults=True):
    """``ShoeSaid`` as it is stored in the journal: its event is a tagged object."""

    event: dict[str, Any]
    connection: int
    seq: int | str | None
    first: int
    last: int
    device_us: int | None = None


# Keys keep their order. A command's arguments must be read back in the order in which they were
# handled, or a replay could give other events.
_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(_Wire | _OtherInput)


def to_bytes(happened: Input) -> bytes:
    """Return the input's bytes: the same input always gives the same bytes."""
    if isinstance(happened, ShoeSaid):
        return _encoder.encode(
            _Wire(
                t_us=happened.t_us,
                event=to_plain(happened.event),
                connection=happened.connection,
                seq=happened.seq,
                first=happened.first,
                last=happened.last,
                device_us=happened.device_us,
            )
        )
    return _encoder.encode(happened)


def from_bytes(body: bytes) -> Input:
    """Return the input that ``to_bytes`` encoded.

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
            device_us=plain.device_us,
        )
    return plain
