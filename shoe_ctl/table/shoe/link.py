"""The link to the shoe: connected, lost or suspended; who is at the other end; aligned or not.

In: LinkUp, LinkLost, Restarted, line inputs, who the shoe says it is, the time. Out: shoe.connected
.refused .lost .line_suspended .line_resumed .hearing_lost .hearing_restored .not_aligned,
frame.discarded, the Link.
Must not know: ports, back-off, what a halt does.
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
from shoe_ctl.table.inputs import (
    LineResumed,
    LineSuspended,
    LinkLost,
    LinkUp,
    Restarted,
    ShoeSaid,
    Tick,
)
from shoe_ctl.table.shoe import arming
from shoe_ctl.table.state import Claim, Refusal, Suspended, TableState
from shoe_ctl.table.turn import Turn
from shoe_ctl.texts.message import Message, message

# Who is at the other end.

PROOF_US: Final = 5_000_000
"""A shoe answers a challenge in milliseconds, and is challenged once a second."""

NOT_PROVED: Final = "no_proof"

REFUSALS: Final = {
    "no_key": message("shoe_refused_no_key"),
    "unauthenticated": message("shoe_refused_unauthenticated"),
    "wrong_key": message("shoe_refused_wrong_key"),
    NOT_PROVED: message("shoe_refused_not_proved"),
}
"""By the code of the refusal: what is wrong with the device at the other end, and what to do."""


def is_identified(now: TableState) -> bool:
    """True if the shoe at the other end has said who it is.

    A shoe that can never say so is taken to be the shoe of this table.
    """
    return now.link.up and (now.link.identified or not now.link.replay)


def proof_due_us(now: TableState) -> int | None:
    """Return when the proof of the device that named itself is due, or None."""
    claim = now.link.claim
    return None if claim is None else claim.t_us + PROOF_US


IDENTIFYING_EVENTS = frozenset({Challenged, Authenticated, AuthenticationFailed, Hello})


def identify(turn: Turn) -> None:
    """Act on what this input says about who is at the other end, before anything else."""
    happened = turn.input
    if isinstance(happened, Tick):
        claim = turn.now.link.claim
        if claim is not None and turn.now.t_us >= claim.t_us + PROOF_US:
            _refuse(turn, NOT_PROVED, claim.device_id)
    elif isinstance(happened, ShoeSaid) and type(happened.event) in IDENTIFYING_EVENTS:
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
                    _emit_connected(turn, device_id=who)


def _refuse(turn: Turn, reason: str, device_id: str) -> None:
    """Record that the device at the other end is not the shoe of this table."""
    turn.set_link(claim=None, refusal=Refusal(reason=reason, connection=turn.now.link.connection))
    data = {"reason": reason}
    turn.emit("shoe.refused", data, restricted={**data, "device_id": device_id})


def _emit_connected(turn: Turn, *, device_id: str | None) -> None:
    """Emit shoe.connected, once for each connection.

    A shoe of a profile without names is reported as not identified.
    """
    link = turn.now.link
    turn.set_link(connected=True)
    data = {
        "profile": link.profile,
        "authenticated": link.authenticated,
        "identified": device_id is not None,
    }
    who = {} if device_id is None else {"device_id": device_id}
    turn.emit("shoe.connected", data, restricted={**data, **who})


# How the link stands, for people.

HELLO_US: Final = 5_000_000
"""A shoe is asked for its hello once a second; the answer takes 15 ms on a line at 115200 baud."""

NO_HELLO: Final = "no_hello"

GARBAGE: Final = "garbage"


DOES_NOT_HEAR: Final = "does_not_hear"


def link_state(now: TableState) -> str:
    """Return the state of the link, in one word.

    ``up``, ``unidentified`` (the port is open), ``refused``, ``suspended`` or ``lost``.
    """
    link = now.link
    if not link.up:
        return "lost" if link.suspended is None else "suspended"
    if is_identified(now):
        return "up"
    here = link.refusal is not None and link.refusal.connection == link.connection
    return "refused" if here else "unidentified"


_CHECK_LINE = message("shoe_check_line")
_CHECK_WIRE = message("shoe_check_wire")
_TRY_PORT = message("shoe_try_port")


def link_trouble(now: TableState, t_us: int) -> tuple[str, Message] | None:
    """Return what is wrong with the link at this time: a code and a message.

    A refusal stands until a shoe is connected.
    """
    link = now.link
    if link.suspended is not None:
        until = utc(link.suspended.until_us)[11:19]
        return GARBAGE, message("shoe_line_suspended", until=until, then=[_CHECK_LINE])
    if link.refusal is not None and not is_identified(now):
        reason = link.refusal.reason
        return reason, REFUSALS[reason]
    if not link.hears:
        return DOES_NOT_HEAR, message("shoe_does_not_hear", then=[_CHECK_WIRE])
    if is_identified(now):
        return None
    if link.up and t_us >= link.since_us + HELLO_US:
        open_s = (t_us - link.since_us) // 1_000_000
        return NO_HELLO, message("shoe_no_hello", seconds=open_s, then=[_CHECK_LINE, _TRY_PORT])
    return None


# What this shoe can do. Conditions.


def cannot_replay(turn: Turn) -> bool:
    """True if what this shoe says while the link is down is lost."""
    return not turn.now.link.replay


def has_unnamed_sets(turn: Turn) -> bool:
    """True if shoes of this profile do not name their set: the table numbers sets itself."""
    return isinstance(turn.input, LinkUp) and not turn.input.replay


def may_hide_a_card(turn: Turn) -> bool:
    """True if a lost message of this shoe may have been a card that nobody would miss.

    Such a shoe neither numbers its cards nor names their hands.
    """
    return not turn.now.link.replay and not turn.now.link.names_hands


def restarts_hand(turn: Turn) -> bool:
    """True if the shoe counts the hand from its first card again, which this table does not."""
    return turn.event(Redesignated).meaning == "dealt_anew"


def check_new_shoe(turn: Turn, _args: object = None) -> Message | None:
    """Return why a person need not declare a new set: the shoe names its set itself."""
    return message("refused_shoe_names_its_set") if turn.now.link.replay else None


# The link comes and goes.


def connect(turn: Turn) -> None:
    """Record that the port is open.

    Who is there is not known yet, and some shoes can never say. A shoe that cannot replay is not
    aligned until Player card 1.
    """
    up = turn.input_of(LinkUp)
    turn.set_link(
        up=True,
        connection=up.connection,
        profile=up.profile,
        arm=up.arm,
        replay=up.replay,
        judges=up.judges,
        names_hands=up.names_hands,
        commands=up.commands,
        commands_known=up.obeys,
        queries_known=up.tells,
        authenticated=up.authenticated,
        identified=False,
        aligned=up.replay,
        connected=False,
        claim=None,
        suspended=None,
        since_us=turn.now.t_us,
        hears=True,
    )
    if not up.replay:
        _emit_connected(turn, device_id=None)
        emit_not_aligned(turn)


def disconnect(turn: Turn) -> None:
    """Record that the link was lost."""
    lost = turn.input_of(LinkLost)
    if turn.now.link.up:
        _drop_link(turn, lost.reason, lost.why)


def note_restart(turn: Turn) -> None:
    """Record that the controller was restarted: its link is down."""
    restart = turn.input_of(Restarted)
    if turn.now.link.up:
        _drop_link(turn, link_lost_reason(restart))
    turn.set_link(suspended=None)
    turn.change(host_boot=restart.host_boot)


def _drop_link(turn: Turn, reason: str, why: Message | None = None) -> None:
    """Record that the shoe is out of reach. It stays armed as it was."""
    was_connected = turn.now.link.connected
    turn.set_link(up=False, aligned=turn.now.link.replay, connected=False, claim=None, hears=True)
    arming.on_link_lost(turn)
    if was_connected:
        data = {"reason": reason}
        secret = None if why is None else {**data, "detail": why.as_data()}
        turn.emit("shoe.lost", data, restricted=secret)


def link_lost_reason(restart: Restarted) -> str:
    """Return why a restart cost the link. After a storage fault the process went on running."""
    return "storage_failed" if restart.reopened else "controller_restarted"


def suspend_line(turn: Turn) -> None:
    """Record that the line brought more garbage than is kept, and is closed for a while.

    If that happens again after it was opened, the event goes to the restricted stream only.
    """
    suspension = turn.input_of(LineSuspended)
    turn.set_link(suspended=Suspended(until_us=turn.now.t_us + suspension.wait_s * 1_000_000))
    data = {"reason": GARBAGE, "wait_s": suspension.wait_s}
    secret = {**data, "unkept": suspension.unkept}
    if suspension.again:
        turn.emit_restricted("shoe.line_suspended", secret)
    else:
        turn.emit("shoe.line_suspended", data, restricted=secret)


def resume_line(turn: Turn) -> None:
    """Record that the line is quiet and is opened again."""
    resumption = turn.input_of(LineResumed)
    turn.set_link(suspended=None)
    turn.emit("shoe.line_resumed", {}, restricted={"unkept": resumption.unkept})


def lose_hearing(turn: Turn) -> None:
    """Record that nothing sent to the shoe has an effect."""
    _set_hearing(turn, hears=False, event="shoe.hearing_lost")


def restore_hearing(turn: Turn) -> None:
    """Record that the shoe receives again what is sent to it."""
    _set_hearing(turn, hears=True, event="shoe.hearing_restored")


def _set_hearing(turn: Turn, *, hears: bool, event: str) -> None:
    if turn.now.link.up and turn.now.link.hears != hears:
        turn.set_link(hears=hears)
        turn.emit(event, {})


def emit_discarded(turn: Turn) -> None:
    """Emit to the restricted stream that bytes were discarded, and how many."""
    event = turn.event(Discarded)
    run = {
        "event": event.of,
        "count": event.count,
        "first": event.first_bytes,
        "last": event.last_bytes,
    }
    data = {name: value for name, value in run.items() if value is not None}
    turn.emit_restricted("frame.discarded", {"reason": event.reason, **data})


def emit_quarantined(turn: Turn) -> None:
    """Emit to the restricted stream that a result was discarded: no round awaits it."""
    turn.emit_restricted("frame.discarded", {"reason": "result_not_awaited"})


# Alignment: whether the table knows where in the round the shoe is.


def check_aligned(turn: Turn, _args: object = None) -> Message | None:
    """Return why no round can begin: a person must first say where the shoe is.

    That is so if the shoe is not aligned and names no hands: no card can then align it.
    """
    if turn.now.link.aligned or turn.now.link.names_hands:
        return None
    return message("refused_align_first")


def check_unaligned(turn: Turn, _args: object = None) -> Message | None:
    """Return why a person need not say where the shoe is: it is known."""
    return message("refused_is_aligned") if turn.now.link.aligned else None


def lose_alignment(turn: Turn) -> None:
    """Record that the table does not know any more where in the round the shoe is.

    A shoe that can replay stays aligned.
    """
    if turn.now.link.aligned and not turn.now.link.replay:
        turn.set_link(aligned=False)
        emit_not_aligned(turn)


def emit_not_aligned(turn: Turn) -> None:
    """Emit that the table does not know where in the round the shoe is."""
    until = "first_card_or_align" if turn.now.link.names_hands else "align"
    turn.emit("shoe.not_aligned", {"until": until})
