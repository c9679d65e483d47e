"""The set of cards as people vouch for it: how it was put into the shoe, what is left at its end.

In: record_shoe, count_remainder. Out: shoe.opened .counted; what disagrees with the ledger.
Must not know: single draws, hands, how an irregularity ends.
"""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Any

import msgspec

from firmware_proto.cards import CARDS
from shoe_ctl.texts.message import Message, message

from .arguments import Args, Name, by_whom, checked
from .cause import Cause
from .turn import Turn

Count = Annotated[int, msgspec.Meta(ge=0, le=10_000)]


class ShoePreparation(Args, frozen=True, kw_only=True):
    """How the set was prepared: who or what shuffled and cut it, how many cards were burned.

    ``same_backs``: all backs were seen to be of one colour and design (2.1). ``set`` is the
    house's own name of the set; ``decks`` how many were counted in.
    """

    shuffle: Name
    cut: Name
    burn: Count
    same_backs: bool
    decks: Count | None = None
    set: Name | int | None = None


class Remainder(Args, frozen=True, kw_only=True):
    """What is left in the shoe: how many cards, or ``cards``, each of them ("7D TS")."""

    left: Count | None = None
    cards: str | None = None


# What was seen.


def check_record(turn: Turn, args: ShoePreparation | None) -> Message | None:
    """What stands against recording how the set was put in."""
    shoe, rule = turn.shoe, turn.game.clause("decks")
    if shoe.recorded:
        return message("refused_shoe_is_recorded")
    if args is None:
        return None
    if not args.same_backs:
        return message("refused_unlike_backs").citing(rule)
    if args.decks not in (None, shoe.decks):
        return message("refused_other_decks", decks=shoe.decks).citing(rule)
    return None


def check_count(_turn: Turn, args: Remainder | None) -> Message | None:
    """What stands against counting what is left."""
    if args is None:
        return None
    if (args.left is None) is (args.cards is None):
        return message("refused_say_what_is_left")
    unknown = [code for code in (args.cards or "").split() if code not in CARDS]
    return message("refused_no_such_card", card=unknown[0]) if unknown else None


def causes(turn: Turn) -> list[Cause]:
    """The irregularities that the count shows, in words that name no card."""
    found = _compare(turn)
    told = []
    if found["foreign"]:
        told.append(Cause("foreign_card", message("seen_foreign_cards_left")))
    if found["extra"] or found["too_many"]:
        told.append(Cause("extra_card", message("seen_too_many_cards_left")))
    if found["missing"] or found["too_few"]:
        told.append(Cause("missing_card_in_shoe", message("seen_too_few_cards_left")))
    return told


def _compare(turn: Turn) -> dict[str, Any]:
    """What is left against the ledger; faces are missed only where every draw of them is known."""
    shoe, args = turn.shoe, checked(turn, Remainder)
    left = Counter((args.cards or "").split())
    counted = left.total() if args.left is None else args.left
    in_deck = [card.code for card in turn.game.deck.cards]
    ours = sum(count for code, count in shoe.counts.items() if code in in_deck)
    expected = shoe.decks * len(in_deck) - ours - shoe.unseen
    foreign = {code: n for code, n in left.items() if code not in in_deck}
    of_deck = counted - sum(foreign.values())
    faces = {code: left[code] + shoe.counts.get(code, 0) - shoe.decks for code in in_deck}
    listed, known = args.cards is not None, shoe.unseen == 0
    return {
        "left": counted,
        "expected": expected,
        "too_many": max(0, of_deck - expected),
        "too_few": max(0, expected - of_deck),
        "foreign": foreign,
        "extra": {code: n for code, n in faces.items() if listed and n > 0},
        "missing": {code: -n for code, n in faces.items() if listed and known and n < 0},
    }


# What is done.


def record(turn: Turn) -> None:
    """The shoe-opening record."""
    args, shoe = checked(turn, ShoePreparation), turn.shoe
    turn.set_shoe(recorded=True)
    data = {
        "shoe_id": shoe.id,
        "set_id": shoe.set_id if args.set is None else str(args.set),
        "decks": shoe.decks,
        "shuffle": args.shuffle,
        "cut": args.cut,
        "burn": args.burn,
        "same_backs": args.same_backs,
        "rule": turn.game.clause("decks"),
    }
    secret = {"device_id": turn.now.link.device_id, "drawn": shoe.drawn, **by_whom(turn)}
    turn.tell("shoe.opened", data, restricted={**data, **secret})


def count(turn: Turn) -> None:
    """What is left is counted; where it disagrees the table halts."""
    found, agrees = _compare(turn), not causes(turn)
    data = {"shoe_id": turn.shoe.id, "left": found["left"], "agrees": agrees}
    turn.tell("shoe.counted", data, restricted={**data, **found, **by_whom(turn)})
    if not agrees:
        turn.then("count_disagrees")
