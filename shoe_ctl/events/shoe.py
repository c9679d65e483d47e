"""Events of the shoe: its link, the set of cards in it, what it is told and what it reports."""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec import UNSET, UnsetType

from shoe_ctl.events.event_type import (
    Code,
    Count,
    Data,
    EventData,
    EventType,
    Index,
    Message,
    Rule,
)


class Connected(EventData, frozen=True, kw_only=True):
    """The shoe said who it is and, if it has a key, proved it."""

    profile: str
    """The profile: how the shoe speaks."""
    authenticated: bool
    """True: the shoe proved who it is with its key."""
    identified: bool
    """False: the profile has no names, so only the line is known to be open."""


class DeviceIfAny(Data, frozen=True, kw_only=True):
    """The device, if it says who it is."""

    device_id: str | UnsetType = UNSET
    """The shoe's own name."""


class Device(Data, frozen=True, kw_only=True):
    """The device."""

    device_id: str | None
    """The shoe's own name; null where it has none."""


class Refused(EventData, frozen=True, kw_only=True):
    """A device speaks that is not this table's shoe."""

    reason: Literal["no_key", "unauthenticated", "wrong_key", "no_proof"]
    """Why, one of [these codes](../guides/keys.md#what-you-see)."""


class Lost(EventData, frozen=True, kw_only=True):
    """The shoe cannot be heard any more."""

    reason: Literal[
        "unplugged",
        "closed",
        "no_answer",
        "silent",
        "garbage",
        "decoding_failed",
        "write_queue_full",
        "link_failed",
        "events_lost",
        "controller_restarted",
        "storage_failed",
    ]
    """Why. `closed`: by the other end. `events_lost`: the shoe does not have all events that follow
    the last stored one, and the link is opened again."""


class LostDetails(Data, frozen=True, kw_only=True):
    """Why the link was lost, in full."""

    detail: Message | UnsetType = UNSET
    """Why, with the port; absent where the daemon itself was away."""


class LineSuspended(EventData, frozen=True, kw_only=True):
    """The line brings more garbage than is kept, and is suspended.

    [Ports](../guides/ports.md#a-line-that-brings-garbage) says what to do. Restricted only where
    that happens again after the line was opened.
    """

    reason: Literal["garbage"]
    """Why."""
    wait_s: Count
    """For how many seconds the line is ignored."""


class LineResumed(EventData, frozen=True, kw_only=True):
    """The line is open again."""


class Unkept(Data, frozen=True, kw_only=True):
    """The bytes that were not recorded."""

    unkept: Count
    """The number of bytes not kept."""


class HearingLost(EventData, frozen=True, kw_only=True):
    """The shoe is received, and nothing that is sent to it has an effect.

    It cannot be armed. [Ports](../guides/ports.md#a-line-that-is-half-dead) says what to do.
    """


class HearingRestored(EventData, frozen=True, kw_only=True):
    """The shoe receives again what is sent to it."""


class NotAligned(EventData, frozen=True, kw_only=True):
    """The daemon does not know where in the round the shoe stands."""

    until: Literal["first_card_or_align", "align"]
    """The way to align it again: Player card 1 or the command `align`, or the command alone."""


class OfShoe(EventData, frozen=True, kw_only=True):
    """An event about a set of cards."""

    shoe_id: str
    """The set of cards, as this table counts sets."""


class Loaded(OfShoe, frozen=True, kw_only=True):
    """A set of cards is in the shoe."""

    set_id: str | None
    """The set, as the shoe names it; null where it does not."""
    decks: Count
    """The number of its decks."""
    replaces: str | None
    """The set of cards before it; null for the first."""


class Opened(OfShoe, frozen=True, kw_only=True):
    """The opening record of a set of cards."""

    set_id: str | None
    """The set, as the casino or the shoe names it."""
    decks: Count
    """The number of its decks."""
    shuffle: str
    """The person or machine that shuffled it."""
    cut: str
    """The person or machine that cut it."""
    burn: Count
    """The number of cards burned."""
    same_backs: bool
    """True: all backs were seen to be of one colour and design."""
    rule: Rule
    """The rule."""


class OpenedDetails(Device, frozen=True, kw_only=True):
    """The device, and how far it is."""

    drawn: Count
    """The number of cards drawn already."""


class Counted(OfShoe, frozen=True, kw_only=True):
    """The remaining cards were counted."""

    left: Count
    """The number of cards found."""
    agrees: bool
    """True: they are what the table expects."""


class CountDetails(Data, frozen=True, kw_only=True):
    """The comparison of the count with the table's ledger."""

    expected: int
    """The number of cards that the table expects."""
    too_many: Count
    """The number of cards found beyond that."""
    too_few: Count
    """The number of cards that were missing."""
    foreign: dict[str, Count]
    """Cards that are not of the game's deck, with their number."""
    extra: dict[str, Count]
    """Cards of which there are too many, where the cards were listed."""
    missing: dict[str, Count]
    """Cards of which there are too few, where the cards were listed and every draw is known."""


class ChangeDue(OfShoe, frozen=True, kw_only=True):
    """No further round is dealt from these cards."""

    rule: Rule | UnsetType = UNSET
    """The rule, where one has the cards replaced."""


class HolderChanged(EventData, frozen=True, kw_only=True):
    """The shoe goes to a Player, or back to the dealer (Method C)."""

    holder: Literal["player", "dealer"]
    """The holder now."""
    seat: int | None
    """The Player's seat; null for the dealer."""
    rule: Rule
    """The rule."""


class HolderDetails(Data, frozen=True, kw_only=True):
    """The holder, and the one before."""

    player: str | UnsetType | None = UNSET
    """The Player who has it now; null for a seat without a name."""
    former: str | UnsetType | None = msgspec.field(name="from", default=UNSET)
    """The Player who had it; null for a seat without a name."""
    because: Code | UnsetType = UNSET
    """Why it goes back to the dealer."""


class DrawAllowed(EventData, frozen=True, kw_only=True):
    """A Player may draw without a wager (Method C)."""

    seat: int | None
    """The Player's seat."""
    rule: Rule
    """The rule."""


class AllowedPlayer(Data, frozen=True, kw_only=True):
    """The Player."""

    player: str | None
    """The Player; null for a seat without a name."""


class ArmRefused(EventData, frozen=True, kw_only=True):
    """The shoe refuses to give the card that is due."""

    number: Count
    """The draw, counted in the set of cards."""
    hand: Literal["player", "banker", "set_aside"]
    """The hand that the card is for."""
    index: Index
    """Its place in the hand, from 1."""
    reason: Literal[
        "locked_by_key",
        "empty",
        "memory_full",
        "busy",
        "already_drawn",
        "not_the_next_draw",
        "other",
    ]
    """Why, as the shoe says."""
    counted: Count
    """The number of cards that the table has counted."""


class ArmTaken(EventData, frozen=True, kw_only=True):
    """The shoe gives that card after all."""

    number: Count
    """The draw, counted in the set of cards."""


ShoeCommand = Literal["reset", "self_test", "query", "clear_error", "rotate_key", "show"]
"""A command that the shoe answers."""


class OfCommand(EventData, frozen=True, kw_only=True):
    """An event about a command to the shoe."""

    command: ShoeCommand
    """The command. `clear_error` is on the restricted stream only: it may say something of a
    card."""


class Told(OfCommand, frozen=True, kw_only=True):
    """A command for the shoe is stored and on its way."""


class Answered(OfCommand, frozen=True, kw_only=True):
    """The shoe carried out the command, or refused it."""

    accepted: bool
    """True: it carried it out."""
    passed: bool | UnsetType = UNSET
    """Of a self-test: true if no part failed."""
    what: Code | UnsetType = UNSET
    """Of a question: what was asked."""
    value: int | UnsetType | None = UNSET
    """Of a question: the answer; null where the shoe does not know it."""


class Unanswered(OfCommand, frozen=True, kw_only=True):
    """The shoe did not answer in time."""

    given_up: bool
    """True: the command is given up, and nobody knows whether it was done."""


class Numbered(Data, frozen=True, kw_only=True):
    """The command's number."""

    number: int
    """Its id on the wire, 1 to 2**32 - 1."""
    of: str | int | UnsetType = UNSET
    """The question or the text that is shown, what becomes of an overdrawn card, or the number of
    the new key."""


class AnswerDetails(Numbered, frozen=True, kw_only=True):
    """The command's number, and the answer of the shoe."""

    failed: list[Code] | UnsetType = UNSET
    """Of a self-test: the parts that failed."""
    reason: Code | UnsetType | None = UNSET
    """Why the shoe refused the command, as its profile names it."""


class UnansweredDetails(Numbered, frozen=True, kw_only=True):
    """The command's number, and why it was given up."""

    reason: Code | UnsetType = UNSET
    """Why it was given up: `link_lost`, `controller_restarted`, `storage_failed`, `another_shoe`,
    `no_key`, `not_sent`; `no_reply`, `error_changed` or the shoe's refusal, where the profile gives
    commands up by itself."""
    detail: Message | UnsetType = UNSET
    """Of `no_key` and `not_sent`: what was wrong."""


class Fault(EventData, frozen=True, kw_only=True):
    """The shoe reports a fault. An overdraw and warnings are restricted only."""


class FaultDetails(Data, frozen=True, kw_only=True):
    """The fault."""

    code: str
    """The fault, as the profile names it."""
    in_error_mode: bool | UnsetType = UNSET
    """True: the shoe gives no card before the fault is cleared."""
    what: Code | UnsetType = UNSET
    """The part that was tampered with."""
    failed: list[Code] | UnsetType = UNSET
    """The parts that failed a self-test."""
    percent: Count | UnsetType = UNSET
    """The power that the shoe has left."""
    firmware: str | UnsetType | None = UNSET
    """The version of a firmware that is not on the table's list."""
    firmware_digest: str | UnsetType | None = UNSET
    """The digest of that firmware; null where the shoe does not report one."""
    refused: bool | UnsetType = UNSET
    """True: a shoe with that firmware gives no card."""
    warning: bool | UnsetType = UNSET
    """True: it is a warning, and the shoe goes on."""


class Cleared(EventData, frozen=True, kw_only=True):
    """The fault is over. An overdraw is restricted only."""


class ClearedDetails(Data, frozen=True, kw_only=True):
    """The fault that was cleared."""

    code: str
    """The fault, as the profile names it."""


class Alarm(OfShoe, frozen=True, kw_only=True):
    """Cards look unshuffled: a run in factory order."""

    what: Literal["factory_order"]
    """The thing that was noticed."""
    cards: Count
    """The number of cards in the run."""
    draws: tuple[int, int]
    """The first and the last draw of the run."""


class Noted(EventData, frozen=True, kw_only=True):
    """The shoe reports its lid, its buttons, its last card."""

    what: Code
    """The report."""
    open: bool | UnsetType = UNSET
    """Of the lid: true if it was opened."""
    button: int | UnsetType = UNSET
    """The button that was pressed, counted from 1 as its maker counts them."""
    drawn: Count | UnsetType = UNSET
    """The number of cards that are out, as the last one left."""


class Discarded(EventData, frozen=True, kw_only=True):
    """Bytes from the shoe that could not be used, or a message that was not expected."""

    reason: Code
    """Why, as the profile names it; `several` for a run with several reasons; `not_foreseen` and
    `result_not_awaited` for messages that the table has no use for."""
    event: Code | UnsetType = UNSET
    """The message that it was, where that is known."""
    count: Count | UnsetType = UNSET
    """The number of pieces that came in one go, where there were several."""
    first: str | UnsetType = UNSET
    """The first bytes of the run, in hexadecimal."""
    last: str | UnsetType = UNSET
    """The last bytes of the run, in hexadecimal."""


EVENTS = (
    EventType(name="shoe.connected", data=Connected, adds=(DeviceIfAny,)),
    EventType(name="shoe.refused", data=Refused, adds=(Device,)),
    EventType(name="shoe.lost", data=Lost, adds=(LostDetails,)),
    EventType(name="shoe.line_suspended", data=LineSuspended, adds=(Unkept,), audience="either"),
    EventType(name="shoe.line_resumed", data=LineResumed, adds=(Unkept,)),
    EventType(name="shoe.hearing_lost", data=HearingLost),
    EventType(name="shoe.hearing_restored", data=HearingRestored),
    EventType(name="shoe.not_aligned", data=NotAligned),
    EventType(name="shoe.loaded", data=Loaded, adds=(Device,)),
    EventType(name="shoe.opened", data=Opened, adds=(OpenedDetails,)),
    EventType(name="shoe.counted", data=Counted, adds=(CountDetails,)),
    EventType(name="shoe.change_due", data=ChangeDue),
    EventType(name="shoe.holder_changed", data=HolderChanged, adds=(HolderDetails,)),
    EventType(name="shoe.draw_allowed", data=DrawAllowed, adds=(AllowedPlayer,)),
    EventType(name="shoe.arm_refused", data=ArmRefused),
    EventType(name="shoe.arm_taken", data=ArmTaken),
    EventType(name="shoe.told", data=Told, adds=(Numbered,), audience="either"),
    EventType(name="shoe.answered", data=Answered, adds=(AnswerDetails,), audience="either"),
    EventType(
        name="shoe.unanswered", data=Unanswered, adds=(UnansweredDetails,), audience="either"
    ),
    EventType(name="shoe.fault", data=Fault, adds=(FaultDetails,), audience="either"),
    EventType(name="shoe.cleared", data=Cleared, adds=(ClearedDetails,), audience="either"),
    EventType(name="shoe.alarm", data=Alarm, audience="restricted"),
    EventType(name="shoe.noted", data=Noted, audience="restricted"),
    EventType(name="frame.discarded", data=Discarded, audience="restricted"),
)
