"""Requests to the tables from outside, checked before anything else looks at them.

In: one line of JSON. Out: a Command, a question (status, redeliver, resend, events, states, rounds)
or a report (applied, shoe, note); or a BadRequest that says what is wrong with it.
Must not know: tables, sockets, which commands there are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, Protocol

import msgspec

from shoe_ctl.errors import InputRefused
from shoe_ctl.records import Audience
from shoe_ctl.validation import find_mistakes, in_words

_NO_CONTROLS = r"^[^\x00-\x1f\x7f]*\Z"

Name = Annotated[
    str,
    msgspec.Meta(
        pattern=r"^[a-z][a-z0-9_]{0,63}\Z",
        description="1 to 64 small letters, digits and _, a letter first",
    ),
]
Id = Annotated[
    str,
    msgspec.Meta(
        pattern=r"^[!-~]{1,128}\Z",
        description="1 to 128 letters, digits and signs of ASCII, without a space",
    ),
]
Person = Annotated[
    str,
    msgspec.Meta(
        min_length=1,
        max_length=200,
        pattern=_NO_CONTROLS,
        description="1 to 200 characters in one line",
    ),
]
Text = Annotated[
    str,
    msgspec.Meta(
        max_length=2000, pattern=_NO_CONTROLS, description="at most 2,000 characters in one line"
    ),
]

Money = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
Share = Annotated[
    str,
    msgspec.Meta(
        pattern=r"^[0-9]{1,18}/[1-9][0-9]{0,17}\Z",
        description='a fraction such as "19/2"',
    ),
]

# Arguments are journaled and read again years later: nothing deep, and no inexact number.
Whole = Annotated[int, msgspec.Meta(ge=-(2**53), le=2**53)]
Plain = None | bool | Whole | str
Grouped = None | bool | Whole | str | list[Plain] | dict[str, Plain]
Argument = None | bool | Whole | str | list[Grouped] | dict[str, Grouped]


AudienceName = Literal["public", "restricted"]
Language = Literal["en", "zh", "none"]
"""The language of the texts in an answer; ``none``: codes and arguments alone."""


Way = Literal["pin", "token", "certificate"]
"""The way in which somebody logged in."""


NoteName = Literal[
    "login.accepted", "login.refused", "login.locked", "login.ended", "restricted.viewed"
]
"""The events that a user who vouches for logins may note."""

Address = Annotated[
    str,
    msgspec.Meta(
        pattern=r"^[0-9a-zA-Z.:%_\[\]-]{1,64}\Z",
        description="the address of a host, up to 64 characters",
    ),
]


class Login(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A login that the user at the other end vouches for.

    ``positions`` are the highest that the person may act in: without any, those of the user. A
    second person has no ``session``.
    """

    person: Person
    by: Way
    session: Id | None = None
    positions: list[Name] = []


class Asking(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The keys of every request. Without a ``language`` texts are English."""

    language: Language | None = None


class Reply(Protocol):
    """The place where one caller, and nobody else, gets the events that it asked for."""

    @property
    def address(self) -> str:
        """Its name, which no other caller's has."""

    async def send(self, events: Sequence[bytes]) -> None:
        """Send these there, in order.

        Raises:
            OSError: they cannot be sent now.
        """


class Caller(msgspec.Struct, frozen=True, kw_only=True):
    """The user at the other end, with the highest position it may act in and what it may see.

    ``also`` are further positions that it may act in. ``names`` are all the names it goes by.
    ``applies``: it reports what its table system applied. ``vouches``: it is no person itself, and
    says with each command who logged in.
    ``reply`` is where it gets events that it asks for alone; without it, its sink gets them.
    """

    user: str
    position: str
    sees: Audience
    also: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    applies: bool = False
    vouches: bool = False
    reply: Reply | None = None


class Command(Asking, frozen=True, kw_only=True):
    """The command envelope. ``round_id`` None means the round that is open.

    ``preview``: nothing is done; the answer says what would follow. The answer names the ids of
    events of this ``audience``, without it of the caller's own. A user who vouches for logins says
    in ``login`` who gives it, and in ``consent_login`` who consents.
    """

    command_id: Id
    table: Id
    command: Name
    person: Person
    position: Name
    round_id: Id | None = None
    args: dict[str, Argument] = {}
    reason: Text | None = None
    consented_by: Person | None = None
    login: Login | None = None
    consent_login: Login | None = None
    preview: bool = False
    audience: AudienceName | None = None


class StatusRequest(Asking, frozen=True, kw_only=True):
    """Ask how the tables stand, or the one named, as this ``audience`` may know it.

    With ``staff`` each status says besides who is who at the table.
    """

    request: str
    table: Id | None = None
    audience: AudienceName | None = None
    staff: bool = False


class RedeliverRequest(Asking, frozen=True, kw_only=True):
    """Redeliver parked events to every sink, or to the one named; of all tables, or of one."""

    request: str
    sink: Text | None = None
    table: Id | None = None


class AppliedRequest(Asking, frozen=True, kw_only=True):
    """Report that an outcome, a revision or a void was applied: the event's id, an own reference.

    ``source`` is that of the event, where the sender knows it.
    """

    request: str
    event: Id
    reference: Id
    source: Id | None = None


class StatedMoney(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The money of a wager in one round, in minor units; a fraction as ``"19/2"``."""

    staked: Money
    paid_out: Money | Share


class StatedRound(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One round of a shoe as the sender counts it; ``wagers`` has the money by wager."""

    round_id: Id
    void: bool = False
    wagers: dict[Name, StatedMoney] = {}


class ShoeRequest(Asking, frozen=True, kw_only=True):
    """State the rounds of a shoe and their money: the table compares them with its own."""

    request: str
    table: Id
    shoe_id: Id
    rounds: list[StatedRound]


class RoundsRequest(Asking, frozen=True, kw_only=True):
    """Ask for the rounds of a table that the journal has, newest first, as ``audience`` may know.

    ``shoe``: those of one shoe; ``round``: that one alone; ``before``: those opened before that
    one. The table may be left out where an id names it.
    """

    request: str
    table: Id | None = None
    shoe: Id | None = None
    round: Id | None = None
    before: Id | None = None
    limit: Annotated[int, msgspec.Meta(ge=1, le=100)] = 20
    audience: AudienceName | None = None


class NoteRequest(Asking, frozen=True, kw_only=True):
    """Note what happened at the door of a program at which people log in, in a table's journal.

    ``person`` is left out where nobody by that name is known: what was typed may be a PIN.
    ``reason`` is a code, ``about`` says which part of the restricted stream was viewed.
    """

    request: str
    table: Id
    event: NoteName
    person: Person | None = None
    by: Way | None = None
    session: Id | None = None
    position: Name | None = None
    address: Address | None = None
    reason: Name | None = None
    about: Person | None = None


class ResendRequest(Asking, frozen=True, kw_only=True):
    """Offer again what a sink had of a table behind the event with the id ``after``.

    ``upto`` is the id of the last one that is wanted; without it, all that the sink had.
    """

    request: str
    sink: Text
    after: Id
    upto: Id | None = None


class EventsRequest(Asking, frozen=True, kw_only=True):
    """Ask for the events of a table, or of all: those behind ``after``, then what comes.

    ``after`` is an event's id, ``beginning``, or ``shoe`` for the first event of the shoe on the
    table; without it only what comes is sent. ``source`` is
    that of the same event. Without an ``audience`` the caller gets its own. With ``beats`` a line
    comes each second that had none.
    """

    request: str
    after: Id | None = None
    source: Id | None = None
    table: Id | None = None
    audience: AudienceName | None = None
    beats: bool = False


class StatesRequest(Asking, frozen=True, kw_only=True):
    """Ask for the status of a table, or of all: each as it is, then whenever it changes.

    Without an ``audience`` the caller gets its own. ``staff`` is as in ``StatusRequest``.
    """

    request: str
    table: Id | None = None
    audience: AudienceName | None = None
    staff: bool = False


StreamRequest = EventsRequest | StatesRequest
"""Requests that are answered with lines without end."""

Question = (
    StatusRequest
    | RedeliverRequest
    | ResendRequest
    | StreamRequest
    | AppliedRequest
    | ShoeRequest
    | NoteRequest
    | RoundsRequest
)

Request = Command | Question
"""Anything that can be requested."""


class _Peek(msgspec.Struct):
    """The keys that tell a question from a command, and name the command of a bad request."""

    request: str | None = None
    command_id: str | None = None


class BadRequest(InputRefused):
    """The line is no valid request; ``command_id`` is the command's, where it names one."""

    def __init__(self, what: str, command_id: str | None = None) -> None:
        super().__init__(what)
        self.command_id = command_id


_peek = msgspec.json.Decoder(_Peek)
_decoders: Mapping[type, msgspec.json.Decoder[Request]] = {
    form: msgspec.json.Decoder(form)
    for form in (
        Command,
        StatusRequest,
        RedeliverRequest,
        ResendRequest,
        EventsRequest,
        StatesRequest,
        AppliedRequest,
        ShoeRequest,
        NoteRequest,
        RoundsRequest,
    )
}
_questions: Mapping[str, type[Question]] = {
    "status": StatusRequest,
    "redeliver": RedeliverRequest,
    "resend": ResendRequest,
    "events": EventsRequest,
    "states": StatesRequest,
    "applied": AppliedRequest,
    "shoe": ShoeRequest,
    "note": NoteRequest,
    "rounds": RoundsRequest,
}


def read_request(line: bytes) -> Request:
    """Return the request that this line makes.

    Raises:
        BadRequest: not JSON, not an object, an unknown, missing or wrong key.
    """
    seen = _Peek()
    form: type = _Peek
    try:
        seen = _peek.decode(line)
        form = Command
        if seen.request is not None:
            if seen.request not in _questions:
                *first, last = _questions
                known = f"{', '.join(first)} or {last}"
                raise BadRequest(f"request: expected {known}, not {seen.request[:64]!r}")
            form = _questions[seen.request]
        return _decoders[form].decode(line)
    except RecursionError:
        raise BadRequest("not taken: nested too deeply", seen.command_id) from None
    except msgspec.ValidationError as error:
        raise BadRequest(_first_mistake(line, form, error), seen.command_id) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadRequest(f"not JSON: {error}") from None


def _first_mistake(line: bytes, form: type, error: msgspec.ValidationError) -> str:
    """Return what is wrong with a line that is no request of this form, in words."""
    try:
        plain = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError) as unread:  # behind what was refused
        return f"not JSON: {unread}"
    wrong = find_mistakes(plain, form, section="an object")
    return str(wrong[0]) if wrong else in_words(str(error))
