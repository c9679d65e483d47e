"""The link and the power as the table sees them: connected, lost, restarted.

In: LinkUp, LinkLost, Restarted. Out: shoe.connected .lost .not_aligned, what is known of the link.
Must not know: ports, back-off, what a halt does.
"""

from __future__ import annotations

from firmware_proto.events import Discarded, Redesignated

from .inputs import LinkLost, LinkUp, Restarted
from .state import TableState
from .turn import Turn


def cannot_replay(turn: Turn) -> bool:
    """What this shoe says while the link is away is never heard."""
    return not turn.now.link.replay


def cannot_name_its_set(turn: Turn) -> bool:
    """Shoes of this profile never say which set they hold: the table numbers sets itself."""
    return isinstance(turn.happened, LinkUp) and not turn.happened.replay


def says_itself_what_it_holds(turn: Turn) -> bool:
    """The shoe names its set: a person need not say that there is another."""
    return turn.now.link.replay


def only_a_person_aligns(turn: Turn) -> bool:
    """Not aligned, and no card of this shoe can mend it: it never says what a card is for."""
    return not turn.now.link.aligned and not turn.now.link.names_hands


def may_have_been_a_card(turn: Turn) -> bool:
    """Of such a shoe a card that was lost is never missed: nothing counts or names its cards."""
    return not turn.now.link.replay and not turn.now.link.names_hands


def is_met(now: TableState) -> bool:
    """The shoe at the other end said who it is; one that never does is taken for the table's."""
    return now.link.up and (now.link.met or not now.link.replay)


def deals_anew(turn: Turn) -> bool:
    """The shoe is taken to count the hand from its first card again: this table does not."""
    event = turn.shoe_event
    assert isinstance(event, Redesignated)
    return event.meaning == "dealt_anew"


def connect(turn: Turn) -> None:
    """The link is up; a shoe that cannot replay is not aligned until Player card 1."""
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
    )
    turn.tell("shoe.connected", {"profile": up.profile, "authenticated": up.authenticated})
    if not up.replay:
        tell_not_aligned(turn)


def disconnect(turn: Turn) -> None:
    """The link is down."""
    lost = turn.happened
    assert isinstance(lost, LinkLost)
    if turn.now.link.up:
        _leave(turn, lost.reason)


def restart(turn: Turn) -> None:
    """The controller starts on what it remembers; its link is down."""
    again = turn.happened
    assert isinstance(again, Restarted)
    if turn.now.link.up:
        _leave(turn, why_restarted(again))
    turn.change(host_boot=again.host_boot)


def why_restarted(again: Restarted) -> str:
    """What cost the link: a controller that goes on after a storage fault was not restarted."""
    if again.reopened:
        return "the storage failed, and the controller closed the link"
    return "the controller was restarted"


def why_restarted_in_a_round(turn: Turn) -> str:
    """The same of a round whose cards are out."""
    assert isinstance(turn.happened, Restarted)
    return f"{why_restarted(turn.happened)} in a round"


def _leave(turn: Turn, reason: str) -> None:
    """The shoe is out of reach, and stays armed for what it was armed for."""
    turn.set_link(up=False, aligned=turn.now.link.replay)
    shoe, played, number = turn.now.shoe, turn.now.round, _freed_for(turn)
    if shoe is not None and played is not None and number is not None:
        left = shoe.left_armed
        if left is None or left[0] != number:  # not while that very draw may be on its way
            turn.set_shoe(left_armed=(number, played.id))
    turn.tell("shoe.lost", {"reason": reason})


def _freed_for(turn: Turn) -> int | None:
    """The draw that the shoe is armed for, or was and does not show yet that it is locked."""
    armed, freed = turn.now.armed, turn.now.link.freed
    if armed is not None:
        return armed[0]
    may_come = freed is not None and freed.number == turn.shoe.drawn + 1
    return freed.number if freed is not None and may_come else None


def tell_not_aligned(turn: Turn) -> None:
    """Say that the host does not know where in the round the shoe is."""
    by_card = "player card 1, or " if turn.now.link.names_hands else ""
    turn.tell("shoe.not_aligned", {"until": f"{by_card}a person's decision"})


def lose_alignment(turn: Turn) -> None:
    """The shoe started anew in a round: where it stands is not known."""
    if turn.now.link.aligned and not turn.now.link.replay:
        turn.set_link(aligned=False)
        tell_not_aligned(turn)


def tell_discarded(turn: Turn) -> None:
    """Bytes that did not fit: counted where the restricted stream is read."""
    event = turn.shoe_event
    assert isinstance(event, Discarded)
    turn.tell_restricted("frame.discarded", {"reason": event.reason})


def tell_quarantined(turn: Turn) -> None:
    """A result that no round awaits is kept apart, never applied."""
    turn.tell_restricted("frame.discarded", {"reason": "a result that no round awaits"})
