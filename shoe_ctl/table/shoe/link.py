"""The link and the power as the table sees them: connected, lost, restarted.

In: LinkUp, LinkLost, Restarted, who the shoe says it is, the time. Out: shoe.connected .refused
.lost .not_aligned, what is known of the link. Must not know: ports, back-off, what a halt does.
"""

from __future__ import annotations

from typing import Final

from firmware_proto.events import (
    Authenticated,
    AuthenticationFailed,
    Challenged,
    Discarded,
    Hello,
    Redesignated,
)
from shoe_ctl.records import utc
from shoe_ctl.texts.message import Message, message

from ..inputs import LineResumed, LineSuspended, LinkLost, LinkUp, Restarted, ShoeSaid, Tick
from ..state import Claim, Refusal, Suspended, TableState
from ..turn import Turn
from . import arming

PROOF_US: Final = 5_000_000
"""A shoe answers a challenge in milliseconds and is asked for it once a second."""

NOT_PROVED: Final = "no_proof"

HELLO_US: Final = 5_000_000
"""A shoe is asked who it is once a second, and its answer takes 15 ms of a line at 115200 baud."""

NO_HELLO: Final = "no_hello"

GARBAGE: Final = "garbage"

REFUSALS: Final = {
    "no_key": message("shoe_refused_no_key"),
    "unauthenticated": message("shoe_refused_unauthenticated"),
    "wrong_key": message("shoe_refused_wrong_key"),
    NOT_PROVED: message("shoe_refused_not_proved"),
}
"""What is wrong with who speaks, by the code of the refusal, and what to do."""


def cannot_replay(turn: Turn) -> bool:
    """What this shoe says while the link is away is never heard."""
    return not turn.now.link.replay


def has_unnamed_sets(turn: Turn) -> bool:
    """Shoes of this profile never say which set they hold: the table numbers sets itself."""
    return isinstance(turn.happened, LinkUp) and not turn.happened.replay


def check_new_shoe(turn: Turn, _args: object = None) -> Message | None:
    """The shoe names its set: a person need not say that there is another."""
    return message("refused_shoe_names_its_set") if turn.now.link.replay else None


def check_aligned(turn: Turn, _args: object = None) -> Message | None:
    """Not aligned, and no card of this shoe can mend it: it never says what a card is for."""
    if turn.now.link.aligned or turn.now.link.names_hands:
        return None
    return message("refused_align_first")


def check_unaligned(turn: Turn, _args: object = None) -> Message | None:
    """What stands against saying where the shoe stands: it is known."""
    return message("refused_is_aligned") if turn.now.link.aligned else None


def may_hide_a_card(turn: Turn) -> bool:
    """Of such a shoe a card that was lost is never missed: nothing counts or names its cards."""
    return not turn.now.link.replay and not turn.now.link.names_hands


def is_identified(now: TableState) -> bool:
    """The shoe at the other end said who it is; one that never does is taken for the table's."""
    return now.link.up and (now.link.met or not now.link.replay)


def restarts_hand(turn: Turn) -> bool:
    """The shoe is taken to count the hand from its first card again: this table does not."""
    event = turn.shoe_event
    assert isinstance(event, Redesignated)
    return event.meaning == "dealt_anew"


def link_state(now: TableState) -> str:
    """``up``, ``unidentified`` (the port is open), ``refused``, ``suspended`` or ``lost``."""
    link = now.link
    if not link.up:
        return "lost" if link.suspended is None else "suspended"
    if is_identified(now):
        return "up"
    here = link.refusal is not None and link.refusal.connection == link.connection
    return "refused" if here else "unidentified"


def link_trouble(now: TableState, t_us: int) -> tuple[str, Message] | None:
    """What is wrong at the other end of the line at this time: a code and a message.

    A refusal is told until a shoe is connected.
    """
    link = now.link
    if link.suspended is not None:
        until = utc(link.suspended.until_us)[11:19]
        return GARBAGE, message("shoe_line_suspended", until=until)
    if is_identified(now):
        return None
    if link.refusal is not None:
        reason = link.refusal.reason
        return reason, REFUSALS[reason]
    if link.up and t_us >= link.since_us + HELLO_US:
        open_s = (t_us - link.since_us) // 1_000_000
        return NO_HELLO, message("shoe_no_hello", seconds=open_s)
    return None


def proof_due_us(now: TableState) -> int | None:
    """When who said who it is should have proved it; None where nobody is waited for."""
    claim = now.link.claim
    return None if claim is None else claim.t_us + PROOF_US


# What is done.

SAYS_WHO = frozenset({Challenged, Authenticated, AuthenticationFailed, Hello})


def identify(turn: Turn) -> None:
    """Before anything else is made of an input: what it says of who is at the other end."""
    happened = turn.happened
    if isinstance(happened, Tick):
        claim = turn.now.link.claim
        if claim is not None and turn.now.t_us >= claim.t_us + PROOF_US:
            _refuse(turn, NOT_PROVED, claim.device_id)
    elif isinstance(happened, ShoeSaid) and type(happened.event) in SAYS_WHO:
        match happened.event:
            case Challenged(device_id=who) if not is_identified(turn.now):
                turn.set_link(claim=Claim(device_id=who, t_us=turn.now.t_us))
            case Authenticated():
                turn.set_link(claim=None)
            case AuthenticationFailed(device_id=who) as failed:
                _refuse(turn, failed.code, who)
            case Hello(device_id=who):
                turn.set_link(claim=None, refusal=None)
                if not turn.now.link.connected:
                    _tell_connected(turn, device_id=who)


def _refuse(turn: Turn, reason: str, device_id: str) -> None:
    turn.set_link(claim=None, refusal=Refusal(reason=reason, connection=turn.now.link.connection))
    told = {"reason": reason}
    turn.tell("shoe.refused", told, restricted={**told, "device_id": device_id})


def _tell_connected(turn: Turn, *, device_id: str | None) -> None:
    """Said once a connection. A shoe of a profile without names is told as not identified."""
    link = turn.now.link
    turn.set_link(connected=True)
    told = {
        "profile": link.profile,
        "authenticated": link.authenticated,
        "identified": device_id is not None,
    }
    who = {} if device_id is None else {"device_id": device_id}
    turn.tell("shoe.connected", told, restricted={**told, **who})


def connect(turn: Turn) -> None:
    """The port is open. Who is there is not known yet; some shoes can never say.

    A shoe that cannot replay is not aligned until Player card 1.
    """
    up = turn.happened
    assert isinstance(up, LinkUp)
    turn.set_link(
        up=True,
        connection=up.connection,
        profile=up.profile,
        arm=up.arm,
        replay=up.replay,
        judges=up.judges,
        names_hands=up.names_hands,
        commands=up.commands,
        obeys=up.obeys,
        tells=up.tells,
        authenticated=up.authenticated,
        met=False,
        aligned=up.replay,
        connected=False,
        claim=None,
        suspended=None,
        since_us=turn.now.t_us,
    )
    if not up.replay:
        _tell_connected(turn, device_id=None)
        emit_not_aligned(turn)


def disconnect(turn: Turn) -> None:
    """The link is down."""
    lost = turn.happened
    assert isinstance(lost, LinkLost)
    if turn.now.link.up:
        _note_stale_arm(turn, lost.reason)


def note_restart(turn: Turn) -> None:
    """The controller starts on what it remembers; its link is down."""
    again = turn.happened
    assert isinstance(again, Restarted)
    if turn.now.link.up:
        _note_stale_arm(turn, link_lost_reason(again))
    turn.set_link(suspended=None)
    turn.change(host_boot=again.host_boot)


def link_lost_reason(again: Restarted) -> str:
    """What cost the link: a controller that goes on after a storage fault was not restarted."""
    return "storage_failed" if again.reopened else "controller_restarted"


def suspend_line(turn: Turn) -> None:
    """The line brought more garbage than is kept; that it still does is told to staff alone."""
    found = turn.happened
    assert isinstance(found, LineSuspended)
    turn.set_link(suspended=Suspended(until_us=turn.now.t_us + found.wait_s * 1_000_000))
    told = {"reason": GARBAGE, "wait_s": found.wait_s}
    secret = {**told, "unkept": found.unkept}
    if found.again:
        turn.tell_restricted("shoe.line_suspended", secret)
    else:
        turn.tell("shoe.line_suspended", told, restricted=secret)


def resume_line(turn: Turn) -> None:
    """The line is quiet, and is opened again."""
    found = turn.happened
    assert isinstance(found, LineResumed)
    turn.set_link(suspended=None)
    turn.tell("shoe.line_resumed", {}, restricted={"unkept": found.unkept})


def _note_stale_arm(turn: Turn, reason: str) -> None:
    """The shoe is out of reach, and stays armed for what it was armed for."""
    was_connected = turn.now.link.connected
    turn.set_link(up=False, aligned=turn.now.link.replay, connected=False, claim=None)
    arming.on_link_lost(turn)
    if was_connected:
        turn.tell("shoe.lost", {"reason": reason})


def emit_not_aligned(turn: Turn) -> None:
    """Say that the host does not know where in the round the shoe is."""
    until = "first_card_or_align" if turn.now.link.names_hands else "align"
    turn.tell("shoe.not_aligned", {"until": until})


def lose_alignment(turn: Turn) -> None:
    """The shoe started anew in a round: where it stands is not known."""
    if turn.now.link.aligned and not turn.now.link.replay:
        turn.set_link(aligned=False)
        emit_not_aligned(turn)


def emit_discarded(turn: Turn) -> None:
    """Bytes that did not fit: counted where the restricted stream is read."""
    event = turn.shoe_event
    assert isinstance(event, Discarded)
    run = {"count": event.count, "first": event.first_bytes, "last": event.last_bytes}
    told = {name: value for name, value in run.items() if value is not None}
    turn.tell_restricted("frame.discarded", {"reason": event.reason, **told})


def emit_quarantined(turn: Turn) -> None:
    """A result that no round awaits is kept apart, never applied."""
    turn.tell_restricted("frame.discarded", {"reason": "result_not_awaited"})
