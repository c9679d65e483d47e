"""An outcome that was told and is wrong: revised by a new event, wagers settled by the difference.

In: both hands as they really were, of the round announced or the last one settled. Out:
round.revised, wager.revised; the ledger. Must not know: ids of events, how the error came about.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import msgspec

from firmware_proto.cards import Card, card
from shoe_ctl.games.game import Settlement
from shoe_ctl.records import Audience
from shoe_ctl.texts.message import Message, message

from . import arguments, by_hand, entering, outcome, shoe_cards
from .effects import TableEvent
from .rows import Objection
from .state import DealtCard, Settled
from .turn import Turn
from .wagers.money import plain
from .wagers.settling import Line, line_data
from .wagers.settling import settle as settle_wagers

CITES = ("result_disagrees", "entered")
"""The cards dealt stand, whatever was displayed (6.3)."""


class Revision(arguments.Args, frozen=True, kw_only=True):
    """Both hands in dealing order, card codes with spaces; ``round`` names the round meant."""

    player: str
    banker: str
    round: str | None = None

    def cards(self) -> dict[tuple[str, int], str]:
        """The code in each slot, in dealing order."""
        return by_hand.slots_of(self.player, self.banker)


# What was seen.


def check_revision(turn: Turn, args: Revision | None) -> Objection | Message | None:
    """What stands against revising the round announced, or the last one settled."""
    last = _told(turn)
    if last is None:
        return message("refused_no_outcome_to_revise")
    if args is None:
        return None
    if args.round not in (None, last.round.id):
        return message("refused_only_last_round", round_id=last.round.id)
    return _check_hands(turn, last, args)


def _told(turn: Turn) -> Settled | None:
    """The round whose outcome was told last, as it would be left behind now."""
    now = turn.now
    if turn.source == "resolved":
        return Settled(
            round=turn.round, wagers=now.wagers, shoe_id=turn.shoe.id, method=turn.method
        )
    return now.last


def _check_hands(turn: Turn, last: Settled, args: Revision) -> Message | None:
    entered = args.cards()
    before = {(d.hand, d.index): d.card.code for d in last.round.cards if d.card}
    if entered == before:
        return message("refused_same_cards")
    if len(entered) != len(args.player.split()) + len(args.banker.split()):
        return message("refused_hand_size")
    new = list(entered.values())
    mine = list(before.values()) if _same_shoe(turn, last) else []
    for at, code in enumerate(new):
        besides = new[:at].count(code) - mine.count(code)
        if (why := entering.check_card(turn, code, besides=besides)) is not None:
            return why
    return by_hand.check_complete(entered)


def _same_shoe(turn: Turn, last: Settled) -> bool:
    return turn.now.shoe is not None and turn.now.shoe.id == last.shoe_id


# What is done.


def revise(turn: Turn) -> None:
    """Tell the whole outcome anew, and what every settled wager changes by it."""
    last = _told(turn)
    assert last is not None
    entered = {slot: card(code) for slot, code in arguments.checked(turn, Revision).cards().items()}
    if _same_shoe(turn, last):
        _correct_ledger(turn, last, entered)
    revised = msgspec.structs.replace(last.round, cards=_dealt(last, entered))
    after = msgspec.structs.replace(last, round=revised)
    _tell(turn, after)
    if turn.source == "resolved":
        turn.set_round(cards=revised.cards)
        return
    _settle_again(turn, last, after)
    turn.change(last=after)


def _dealt(last: Settled, entered: dict[tuple[str, int], Card]) -> tuple[DealtCard, ...]:
    there = {(d.hand, d.index): d for d in last.round.cards}
    template = last.round.cards[-1]
    return tuple(
        msgspec.structs.replace(
            was := there.get(slot, template),
            hand=slot[0],
            index=slot[1],
            card=face,
            revealed=True,
            entered=was.entered or was.card != face,
        )
        for slot, face in entered.items()
    )


def _correct_ledger(turn: Turn, last: Settled, entered: dict[tuple[str, int], Card]) -> None:
    """Each card that was another is counted as what it was; one nobody knew of is counted now."""
    there = {(d.hand, d.index): d for d in last.round.cards}
    for slot, face in entered.items():
        dealt = there.get(slot)
        wrong = None if dealt is None else dealt.card
        if dealt is None or wrong is None:
            shoe_cards.count_card(turn, None, None)
            shoe_cards.name_unseen(turn, face)
            shoe_cards.show(turn, face)
        elif wrong != face:
            entering.correct(turn, dealt, face)
            shoe_cards.show_instead(turn, wrong, face)


def _tell(turn: Turn, after: Settled) -> None:
    rule = turn.game.rule(*CITES)
    told = outcome.outcome_of(turn, after.round, after.shoe_id, after.method)
    data = {**told, "rule": rule}
    who = {**arguments.by_whom(turn), "consented_by": turn.command.consented_by}
    proof = {"first": after.round.first_input, "last": turn.now.inputs}
    secret = {**data, **who, "proof": proof}
    turn.effects.append(
        TableEvent(
            "round.revised", Audience.PUBLIC, after.round.id, data, secret, revises=after.round.id
        )
    )


def _settlement(turn: Turn, one: Settled) -> Settlement:
    hands = one.round.hand("player"), one.round.hand("banker")
    return turn.game.settle_hands(*hands, layout=turn.settings.layout)


def _settle_again(turn: Turn, before: Settled, after: Settled) -> None:
    """What each wager comes to now, beside what it came to: told as a difference."""
    rules = turn.wager_rules
    old = settle_wagers(before.wagers, _settlement(turn, before), rules)
    new = settle_wagers(after.wagers, _settlement(turn, after), rules)
    for was, now in zip(old.lines, new.lines, strict=True):
        if was != now:
            _tell_line(turn, after.round.id, was, now)
    once = new.wagers.settled_once
    turn.change(wagers=msgspec.structs.replace(turn.now.wagers, settled_once=once))


def _tell_line(turn: Turn, round_id: str, was: Line, now: Line) -> None:
    change = _back(now) - _back(was)
    secret: dict[str, Any] = {"round_id": round_id, **line_data(now), "change": plain(change)}
    public = {name: value for name, value in secret.items() if name != "player"}
    turn.effects.append(TableEvent("wager.revised", Audience.PUBLIC, round_id, public, secret))


def _back(line: Line) -> Fraction:
    """What the Player has of the wager once it is settled."""
    return line.returned + line.pays
