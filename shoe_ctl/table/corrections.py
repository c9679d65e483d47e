"""Corrections: an open card is really another one than the shoe read; what follows is derived anew.

Rule: displays are informational, the cards dealt stand (6.3). Reading and ruling are both kept. A
third card that is now missing is drawn *(5.7, reading)*, one that lies at the wrong hand is moved
(5.7), one that was not due is ruled on (6.1). A round whose outcome was announced is reopened where
a card is missing; its outcome is revised, never announced twice.

In: a revealed card, and which it really is. Out: round.card_corrected .card_moved .reopened
.revised, the totals announced anew, cards drawn early. Must not know: any card that is not
revealed; nothing here says whether the shoe agrees.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from firmware_proto.cards import Card, card
from shoe_ctl.games.table_of_play import next_hand
from shoe_ctl.table.arguments import Name, NoArgs, Possible, require_args
from shoe_ctl.table.irregularities import card_taken, draw_order, overdraw, power_failure
from shoe_ctl.table.procedures import stack, withdrawal
from shoe_ctl.table.round import card_entry, outcome, reconstruct, reveal
from shoe_ctl.table.round import deal as dealing
from shoe_ctl.table.shoe import ledger as card_ledger
from shoe_ctl.table.shoe import unplaced
from shoe_ctl.table.situations import CARDS_OUT
from shoe_ctl.table.state import INITIAL_DEAL, DealtCard, FormerOutcome, pending_cards
from shoe_ctl.table.turn import Cause, Turn
from shoe_ctl.texts.message import Message, message


class CorrectedCard(NoArgs, frozen=True, kw_only=True):
    """Arguments of *correct_card*: which card really lies open in a slot."""

    hand: Literal["player", "banker"]
    """The hand."""
    index: int
    """Its place in the hand, from 1."""
    card: Name
    """Its code: rank, then suit (``TS``)."""


# Conditions.


def check_correction(turn: Turn, args: CorrectedCard | None) -> Message | None:
    """Return what stands against this correction; with None, against every correction.

    Only revealed cards make a difference.
    """
    played = turn.now.round
    if played is None or not any(dealt.revealed for dealt in played.cards):
        return check_not_settled(turn) or message("refused_no_card_shown")
    if args is None:
        return None
    opened = {dealt.place: dealt for dealt in turn.round.cards if dealt.revealed}
    dealt = opened.get(f"{args.hand} {args.index}")
    if dealt is None or dealt.card is None:
        return message("refused_card_not_open", open=[_named(one) for one in opened.values()])
    if dealt.card.code == args.card:
        return message("refused_same_card", card=args.card)
    return card_entry.check_card(turn, args.card)


def open_cards(turn: Turn) -> Possible:
    """Return the hands and the places of the cards that lie open."""
    opened = [dealt for dealt in turn.round.cards if dealt.revealed]
    hands = list(dict.fromkeys(dealt.hand for dealt in opened))
    return {"hand": hands, "index": sorted({dealt.index for dealt in opened})}


def check_not_settled(turn: Turn) -> Message | None:
    """Return that the last round is settled, while no other one is open."""
    settled = turn.now.last_settled
    if turn.now.round is not None or settled is None:
        return None
    return message("refused_round_is_settled", round_id=settled.round.id)


def _named(dealt: DealtCard) -> Message:
    return message("refused_open_card", hand=dealt.hand, index=dealt.index)


# Actions: the card, and the hands.


def correct_card(turn: Turn) -> None:
    """Record which card it really is, and derive from the revealed cards what follows."""
    args = require_args(turn, CorrectedCard)
    slot = (args.hand, args.index)
    if _is_announced(turn):
        _note_former_outcome(turn)
    card_entry.correct_revealed_card(turn, dealing.find_card(turn, slot), card(args.card))
    derive_round(turn, announces=slot in INITIAL_DEAL)
    turn.fire("card_corrected")


def _is_announced(turn: Turn) -> bool:
    """Return True if the round waits for *settle*; one that was reopened does not."""
    return "resolved" in (turn.source, turn.now.halt and turn.resume_state)


def _note_former_outcome(turn: Turn) -> None:
    played = turn.round
    former = FormerOutcome(
        cards=played.cards,
        until_us=turn.now.t_us,
        settled=False,
        against_table=played.against_table,
    )
    turn.set_round(revised=(*turn.round.revised, former))


def derive_round(turn: Turn, *, announces: bool) -> None:
    """Derive totals and third cards anew; ``announces``: the totals of two cards may have changed.

    The shoe's own result rests on its reading: it counts no longer (6.3).
    """
    was_due = turn.round.due is not None
    turn.set_round(due=None, complete_us=None, result_overruled=True, against_table=False)
    if not turn.round.totals_announced:
        return
    if announces:
        reveal.announce_totals(turn)
    _arrange_third_cards(turn)
    if was_due and pending_cards(turn.now) and turn.round.all_revealed:
        reveal.call_for_third_card(turn)  # the pending card takes its slot, if one is still due


def _arrange_third_cards(turn: Turn) -> None:
    """Give each third card, in the order drawn, to the hand that is due; lay aside what is left."""
    cards = turn.round.cards
    card_taken.name_place(turn)
    thirds = [dealt for dealt in cards if not reconstruct.is_initial_card(dealt)]
    placed = [dealt for dealt in cards if reconstruct.is_initial_card(dealt)]
    left: list[DealtCard] = []
    for third in thirds:
        hand = None if left else _next_hand(placed)
        if hand is None:
            left.append(third)
        else:
            placed.append(msgspec.structs.replace(third, hand=hand, index=3))
    for third in left:
        card_taken.leave_round(turn, third)
    turn.set_round(cards=tuple(placed))
    _hold_early(turn, left)
    for was, now in zip(thirds, placed[len(placed) - len(thirds) + len(left) :], strict=False):
        if was.hand != now.hand:
            reconstruct.emit_moved(turn, was, now)
            stack.follow_card(turn, was, now)


def _next_hand(placed: list[DealtCard]) -> str | None:
    """Return the hand that the next third card is for; None where it is for none, or not known."""
    if not all(dealt.revealed for dealt in placed):
        return None
    hands: dict[str, list[Card]] = {"player": [], "banker": []}
    for dealt in placed:
        assert dealt.card is not None, "it is revealed"
        hands[dealt.hand].append(dealt.card)
    return next_hand(hands["player"], hands["banker"])


def _hold_early(turn: Turn, left: list[DealtCard]) -> None:
    """Hold the cards that no hand is due as drawn early, before those that came early after them.

    One that lay open may never open a round.
    """
    if not left:
        return
    behind = turn.now.early
    unplaced.drop_cards(turn, behind)
    for dealt in left:
        reconstruct.emit_moved(turn, dealt, None)
        if dealt.revealed and dealt.card is not None:
            card_ledger.hide_card(turn, dealt.card)  # it is shown again if it gets a slot again
        unplaced.add_card(turn, dealt.card, dealt.number, role="early", seen=dealt.revealed)
    unplaced.move_cards(turn, behind, "early")
    for early in turn.now.early[: len(left)]:
        cause = Cause(overdraw.OVERDRAW_KEY, overdraw.NOT_DUE, subject=early.subject)
        stack.raise_pending(turn, cause)


# Actions: the round after it.


def is_card_due(turn: Turn) -> bool:
    """Return True if by the corrected cards the announced round lacks a card."""
    return reveal.due_hand(turn) is not None


def revise_announced(turn: Turn) -> None:
    """Announce the outcome anew by the corrected cards. What was drawn and not due is ruled on."""
    outcome.emit_revised(turn, turn.round, turn.shoe.id, turn.method)
    if turn.now.early:
        turn.fire("overdrawn")


def derive_in_halt(turn: Turn) -> None:
    """Derive in a halt what the corrected cards change: where play resumes, and what is open."""
    if turn.resume_state == "resolved":
        if is_card_due(turn):
            outcome.reopen_round(turn)
            reconstruct.set_phase(turn)
        else:
            revise_announced(turn)
    elif turn.resume_state in CARDS_OUT:
        reconstruct.set_phase(turn)
    withdrawal.decide_again(turn)
    power_failure.decide_again(turn)
    if draw_order.is_draw_missed(turn):
        stack.go_to(turn, draw_order.RULING)
    elif not stack.is_paused(turn):
        stack.emit_open_step(turn)
