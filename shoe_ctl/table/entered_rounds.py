"""A round finished by hand while the table was halted, and entered afterwards: marked *manual*.

In: both hands as two people saw them. Out: every card in its slot and in the ledger once, the
round complete. Must not know: why the table halted, what the round pays.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import msgspec

from firmware_proto.cards import Card, card
from shoe_ctl.errors import InputRefused
from shoe_ctl.games.game import Settlement
from shoe_ctl.games.table_of_play import next_hand
from shoe_ctl.records import Audience

from . import arguments
from .effects import TableEvent
from .procedures import stack, withdrawal
from .procedures.shared import CARDS_OUT, halt_of
from .round import card_entry, outcome, pulls, reveal
from .round import deal as dealing
from .shoe import ledger as card_ledger
from .shoe import link, unplaced
from .state import INITIAL_DEAL, DealtCard, SettledRound, TableState, UnplacedCard
from .turn import Cause, Objection, Turn
from .wagers.money import json_amount
from .wagers.settlement import SettlementLine, line_data, settle_all

HANDS = ("player", "banker")
ORDER = (*INITIAL_DEAL, ("player", 3), ("banker", 3))


def slots_of_round(player: str, banker: str) -> dict[tuple[str, int], str]:
    """The code in each slot of both hands, in dealing order."""
    hands = {"player": player.split(), "banker": banker.split()}
    return {(h, i): hands[h][i - 1] for h, i in ORDER if len(hands[h]) >= i}


class EnteredRound(arguments.NoArgs, frozen=True, kw_only=True):
    """Both hands in dealing order, card codes with spaces between them.

    ``against_reading``: where the shoe read a card otherwise, the people are right.
    """

    player: str
    banker: str
    against_reading: bool = False

    def cards(self) -> dict[tuple[str, int], str]:
        """The code in each slot, in dealing order."""
        return slots_of_round(self.player, self.banker)


# What was seen.


def check_entry(turn: Turn, args: EnteredRound | None) -> Objection | str | None:
    """What stands against this entry, or against any; never what only the shoe has read."""
    if (no_round := _check_round(turn)) is not None or args is None:
        return no_round
    if args.against_reading and (low := card_entry.why_not_against_reading(turn)) is not None:
        return low
    return _check_entered_hands(turn, args)


def _check_round(turn: Turn) -> str | None:
    """What stands against entering any round, whatever its cards are."""
    played, now = turn.now.round, turn.now
    begun = ("betting", "closed") if turn.implied else ("closed",)
    if played is None or now.shoe is None:
        return "no round is open"
    if halt_of(turn).back_to not in (*begun, *CARDS_OUT):
        return f"no cards were being dealt: the table was {halt_of(turn).back_to}"
    if withdrawal.is_open(turn):
        return "a withdrawal window is open: it is closed first"
    return None


def _check_entered_hands(turn: Turn, args: EnteredRound) -> str | None:
    entered = args.cards()
    if len(entered) != len(args.player.split()) + len(args.banker.split()):
        return "a hand has two cards or three"
    seen = {(d.hand, d.index): d.card.code for d in turn.round.cards if d.revealed and d.card}
    for slot, code in seen.items():
        if entered.get(slot) != code:
            return f"{slot[0].capitalize()}'s card {slot[1]} was seen to be {code}"
    for dealt in turn.round.cards:
        if (dealt.hand, dealt.index) not in entered:
            return f"{dealt.hand.capitalize()} has a card {dealt.index} on the table"
    new = [code for slot, code in entered.items() if slot not in seen]
    for at, code in enumerate(new):
        if (wrong := card_entry.check_card(turn, code, besides=new[:at].count(code))) is not None:
            return wrong
    return check_complete(entered)


def _hands(entered: dict[tuple[str, int], str]) -> tuple[list[Card], list[Card]]:
    hands = [[card(c) for (hand, _), c in entered.items() if hand == h] for h in HANDS]
    return hands[0], hands[1]


def check_complete(entered: dict[tuple[str, int], str]) -> str | None:
    """The Table of Play deals no such hands, or deals on."""
    try:
        due = next_hand(*_hands(entered))
    except InputRefused as refused:
        return str(refused)
    return None if due is None else f"the round is not complete: {due.title()} draws"


def entry_contradicts_reading(turn: Turn) -> bool:
    """The shoe read a card that lay face down otherwise, and nobody ruled that it was wrong.

    Also a card that it gave meanwhile, where people name another for the place it must lie in.
    """
    args = arguments.require_args(turn, EnteredRound)
    if args.against_reading:
        return False
    entered = {slot: card(code) for slot, code in args.cards().items()}
    here = {(d.hand, d.index): d for d in turn.round.cards}
    if not all(d.card in (None, entered[slot]) for slot, d in here.items()):
        return True
    known = [(d.number, entered[slot]) for slot, d in here.items() if d.card is None]
    left = {slot: face for slot, face in entered.items() if slot not in here}
    spare = _spare(turn, _out_of_place(turn))
    matched = _matched(turn.now, left, spare)
    known += [(matched[slot], face) for slot, face in left.items() if slot in matched]
    lies_nowhere = any(k.card is not None and k.number not in matched.values() for k in spare)
    return not pulls.can_be_named(turn.now, known) or (len(matched) < len(left) and lies_nowhere)


# What is done.


def enter(turn: Turn) -> None:
    """The round is entered, unless it must be decided first who read a card rightly."""
    if entry_contradicts_reading(turn):
        halt_for_entry_dispute(turn)
    else:
        turn.then("round_entered")


def halt_for_entry_dispute(turn: Turn) -> None:
    """Two people and the shoe say otherwise of a card: nothing is entered, and it is decided."""
    _tell_who(turn)
    seen = "the round that was entered by hand is not what the shoe read"
    stack.raise_irregularity(turn, Cause("other", seen, subject=f"entry {turn.now.inputs}"))


def enter_round(turn: Turn) -> None:
    """All that halted the table ends, every card takes its slot, and the outcome is told."""
    drawn_meanwhile = _out_of_place(turn)
    if not turn.round.cards:
        unplaced.drop_roles(turn, "opening")
    stack.close_all(turn, "entered by hand")
    if turn.now.wagers.betting == "open":
        dealing.close_bets(turn)
    _tell_who(turn)
    _lay(turn, drawn_meanwhile)
    reveal.reveal(turn, [d for d in turn.round.cards if not d.revealed])
    if not turn.round.totals_announced:
        reveal.announce_totals(turn)
    link.lose_alignment(turn)
    turn.set_round(manual=True, result_overruled=True, due=None)
    outcome.announce_outcome(turn)


def _out_of_place(turn: Turn) -> tuple[UnplacedCard, ...]:
    """Cards that are out and in no slot, and may be this round's."""
    now = turn.now
    opening = () if turn.round.cards else now.opening
    pending = () if now.pending is None else (now.pending,)
    return (*opening, *pending, *now.early, *now.held, *now.outside_game)


def _lay(turn: Turn, kept: tuple[UnplacedCard, ...]) -> None:
    entered = {
        s: card(code) for s, code in arguments.require_args(turn, EnteredRound).cards().items()
    }
    here = {(d.hand, d.index): d for d in turn.round.cards}
    for slot, dealt in here.items():
        card_entry.name_card(turn, dealt, entered[slot])
    left = {slot: face for slot, face in entered.items() if slot not in here}
    numbers = {d.number for d in here.values()}
    spare = _spare(turn, kept)
    matched = _matched(turn.now, left, spare)
    for slot, face in left.items():
        number = matched.get(slot)
        if number is None:
            number = _next_number(turn, numbers | {k.number for k in kept if k.number is not None})
            card_ledger.count_card(turn, None, number)
            card_ledger.note_entered(turn, number, face.code)
            card_ledger.name_unknown_card(turn, face)
        elif next(k for k in spare if k.number == number).card is None:
            pulls.name_pulled_card(turn, number, face)
        numbers.add(number)
        dealing.place_counted_card(turn, slot, face, number)
        if not any(k.number == number and k.card == face for k in spare):
            dealing.set_card(turn, slot, face, entered=True)


def _spare(turn: Turn, kept: tuple[UnplacedCard, ...]) -> list[UnplacedCard]:
    """Of these the cards that the ledger has, and that lie in no slot."""
    numbers = {dealt.number for dealt in turn.round.cards}
    return [k for k in kept if k.counted and k.number is not None and k.number not in numbers]


def _matched(
    now: TableState, left: dict[tuple[str, int], Card], spare: list[UnplacedCard]
) -> dict[tuple[str, int], int]:
    """Cards drawn meanwhile are those of the round: each counts once, read ones by their face."""
    matched: dict[tuple[str, int], int] = {}
    free = list(spare)
    for slot, face in left.items():
        found = next((k for k in free if k.card == face), None)
        if found is not None and found.number is not None:
            matched[slot] = found.number
            free.remove(found)
    unknown = [k.number for k in free if k.card is None and k.number is not None]
    of_pulls = [number for number in unknown if pulls.find_pull(now, number) is not None]
    for slot, face in left.items():
        fits = (number for number in of_pulls if pulls.can_be_named(now, [(number, face)]))
        if slot not in matched and (number := next(fits, None)) is not None:
            matched[slot] = number
            of_pulls.remove(number)
    unread = [number for number in unknown if number not in matched.values()]
    for slot in left:
        if slot not in matched and unread:
            matched[slot] = unread.pop(0)
    return matched


def _next_number(turn: Turn, known: set[int]) -> int:
    """The first draw since the round began that nothing is known of, else the shoe's next."""
    shoe, before = turn.shoe, turn.round.drawn_before
    passed_over = (n for n in shoe.missed if n > before and n not in known)
    return next(passed_over, shoe.drawn + 1)


def _tell_who(turn: Turn) -> None:
    args, command = arguments.require_args(turn, EnteredRound), turn.command
    said = {"round_id": turn.round.id, "player": args.player, "banker": args.banker}
    who = {**turn.actor(), "consented_by": command.consented_by}
    turn.tell_restricted("round.entered", {**said, "against_reading": args.against_reading, **who})


CITES = ("result_disagrees", "entered")
"""The cards dealt stand, whatever was displayed (6.3)."""


class Revision(arguments.NoArgs, frozen=True, kw_only=True):
    """Both hands in dealing order, card codes with spaces; ``round`` names the round meant."""

    player: str
    banker: str
    round: str | None = None

    def cards(self) -> dict[tuple[str, int], str]:
        """The code in each slot, in dealing order."""
        return slots_of_round(self.player, self.banker)


# What was seen.


def check_revision(turn: Turn, args: Revision | None) -> Objection | str | None:
    """What stands against revising the round announced, or the last one settled."""
    last = _told(turn)
    if last is None:
        return "no outcome was told that can be revised"
    if args is None:
        return None
    if args.round not in (None, last.round.id):
        return f"only the last round can be revised, {last.round.id}"
    return _check_revised_hands(turn, last, args)


def _told(turn: Turn) -> SettledRound | None:
    """The round whose outcome was told last, as it would be left behind now."""
    now = turn.now
    if turn.source == "resolved":
        return SettledRound(
            round=turn.round, wagers=now.wagers, shoe_id=turn.shoe.id, method=turn.method
        )
    return now.last


def _check_revised_hands(turn: Turn, last: SettledRound, args: Revision) -> str | None:
    entered = args.cards()
    before = {(d.hand, d.index): d.card.code for d in last.round.cards if d.card}
    if entered == before:
        return "those are the cards that were told"
    if len(entered) != len(args.player.split()) + len(args.banker.split()):
        return "a hand has two cards or three"
    new = list(entered.values())
    mine = list(before.values()) if _same_shoe(turn, last) else []
    for at, code in enumerate(new):
        besides = new[:at].count(code) - mine.count(code)
        if (why := card_entry.check_card(turn, code, besides=besides)) is not None:
            return why
    return check_complete(entered)


def _same_shoe(turn: Turn, last: SettledRound) -> bool:
    return turn.now.shoe is not None and turn.now.shoe.id == last.shoe_id


# What is done.


def revise(turn: Turn) -> None:
    """Tell the whole outcome anew, and what every settled wager changes by it."""
    last = _told(turn)
    assert last is not None
    entered = {
        slot: card(code) for slot, code in arguments.require_args(turn, Revision).cards().items()
    }
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


def _dealt(last: SettledRound, entered: dict[tuple[str, int], Card]) -> tuple[DealtCard, ...]:
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


def _correct_ledger(turn: Turn, last: SettledRound, entered: dict[tuple[str, int], Card]) -> None:
    """Each card that was another is counted as what it was; one nobody knew of is counted now."""
    there = {(d.hand, d.index): d for d in last.round.cards}
    for slot, face in entered.items():
        dealt = there.get(slot)
        wrong = None if dealt is None else dealt.card
        if dealt is None or wrong is None:
            card_ledger.count_card(turn, None, None)
            card_ledger.name_unknown_card(turn, face)
            card_ledger.show_card(turn, face)
        elif wrong != face:
            card_entry.correct_card(turn, dealt, face)
            card_ledger.show_other_card(turn, wrong, face)


def _tell(turn: Turn, after: SettledRound) -> None:
    rule = turn.game.rule(*CITES)
    told = outcome.outcome_data_of(turn, after.round, after.shoe_id, after.method)
    data = {**told, "rule": rule}
    who = {**turn.actor(), "consented_by": turn.command.consented_by}
    proof = {"first": after.round.first_input, "last": turn.now.inputs}
    secret = {**data, **who, "proof": proof}
    turn.effects.append(
        TableEvent(
            "round.revised", Audience.PUBLIC, after.round.id, data, secret, revises=after.round.id
        )
    )


def _settlement(turn: Turn, one: SettledRound) -> Settlement:
    hands = one.round.hand("player"), one.round.hand("banker")
    return turn.game.settle_hands(*hands, layout=turn.settings.layout)


def _settle_again(turn: Turn, before: SettledRound, after: SettledRound) -> None:
    """What each wager comes to now, beside what it came to: told as a difference."""
    rules = turn.wager_rules
    old = settle_all(before.wagers, _settlement(turn, before), rules)
    new = settle_all(after.wagers, _settlement(turn, after), rules)
    for was, now in zip(old.lines, new.lines, strict=True):
        if was != now:
            _tell_line(turn, after.round.id, was, now)
    once = new.wagers.settled_once
    turn.change(wagers=msgspec.structs.replace(turn.now.wagers, settled_once=once))


def _tell_line(turn: Turn, round_id: str, was: SettlementLine, now: SettlementLine) -> None:
    change = _back(now) - _back(was)
    secret: dict[str, Any] = {"round_id": round_id, **line_data(now), "change": json_amount(change)}
    public = {name: value for name, value in secret.items() if name != "player"}
    turn.effects.append(TableEvent("wager.revised", Audience.PUBLIC, round_id, public, secret))


def _back(line: SettlementLine) -> Fraction:
    """What the Player has of the wager once it is settled."""
    return line.returned + line.pays
