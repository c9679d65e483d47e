"""A round finished by hand while the table was halted, and entered afterwards: marked *manual*.

In: both hands as two people saw them. Out: every card in its slot and in the ledger once, the
round complete. Must not know: why the table halted, what the round pays.
"""

from __future__ import annotations

from firmware_proto.cards import Card, card
from shoe_ctl.games.table_of_play import ImpossibleRound, next_hand
from shoe_ctl.texts.message import Message, message

from . import (
    arguments,
    dealing,
    entering,
    link_facts,
    outcome,
    placing,
    pulls,
    revealing,
    shoe_cards,
)
from .cause import Cause
from .irregularities import stack, withdrawal
from .irregularities.grounds import CARDS_OUT, halt_of
from .round import unplaced
from .rows import Objection
from .slots import INITIAL_DEAL
from .state import TableState, UnplacedCard
from .turn import Turn

HANDS = ("player", "banker")
ORDER = (*INITIAL_DEAL, ("player", 3), ("banker", 3))


def slots_of(player: str, banker: str) -> dict[tuple[str, int], str]:
    """The code in each slot of both hands, in dealing order."""
    hands = {"player": player.split(), "banker": banker.split()}
    return {(h, i): hands[h][i - 1] for h, i in ORDER if len(hands[h]) >= i}


class EnteredRound(arguments.Args, frozen=True, kw_only=True):
    """Both hands in dealing order, card codes with spaces between them.

    ``against_reading``: where the shoe read a card otherwise, the people are right.
    """

    player: str
    banker: str
    against_reading: bool = False

    def cards(self) -> dict[tuple[str, int], str]:
        """The code in each slot, in dealing order."""
        return slots_of(self.player, self.banker)


# What was seen.


def check_entry(turn: Turn, args: EnteredRound | None) -> Objection | Message | None:
    """What stands against this entry, or against any; never what only the shoe has read."""
    if (no_round := _check_round(turn)) is not None or args is None:
        return no_round
    if args.against_reading and (low := entering.too_low_against_reading(turn)) is not None:
        return low
    return _check_hands(turn, args)


def _check_round(turn: Turn) -> Message | None:
    """What stands against entering any round, whatever its cards are."""
    played, now = turn.now.round, turn.now
    begun = ("betting", "closed") if turn.implied else ("closed",)
    if played is None or now.shoe is None:
        return message("refused_no_round")
    if halt_of(turn).back_to not in (*begun, *CARDS_OUT):
        return message("refused_no_cards_were_dealt", state=halt_of(turn).back_to)
    if withdrawal.is_open(turn):
        return message("refused_window_is_open")
    return None


def _check_hands(turn: Turn, args: EnteredRound) -> Message | None:
    entered = args.cards()
    if len(entered) != len(args.player.split()) + len(args.banker.split()):
        return message("refused_hand_size")
    seen = {(d.hand, d.index): d.card.code for d in turn.round.cards if d.revealed and d.card}
    for slot, code in seen.items():
        if entered.get(slot) != code:
            return message("refused_card_was_seen", hand=slot[0], index=slot[1], card=code)
    for dealt in turn.round.cards:
        if (dealt.hand, dealt.index) not in entered:
            return message("refused_card_left_out", hand=dealt.hand, index=dealt.index)
    new = [code for slot, code in entered.items() if slot not in seen]
    for at, code in enumerate(new):
        if (wrong := entering.check_card(turn, code, besides=new[:at].count(code))) is not None:
            return wrong
    return check_complete(entered)


def _hands(entered: dict[tuple[str, int], str]) -> tuple[list[Card], list[Card]]:
    hands = [[card(c) for (hand, _), c in entered.items() if hand == h] for h in HANDS]
    return hands[0], hands[1]


def check_complete(entered: dict[tuple[str, int], str]) -> Message | None:
    """The Table of Play deals no such hands, or deals on."""
    try:
        due = next_hand(*_hands(entered))
    except ImpossibleRound as impossible:
        return impossible.why
    return None if due is None else message("refused_hand_must_draw", hand=due)


def contradicts_reading(turn: Turn) -> bool:
    """The shoe read a card that lay face down otherwise, and nobody ruled that it was wrong.

    Also a card that it gave meanwhile, where people name another for the place it must lie in.
    """
    args = arguments.checked(turn, EnteredRound)
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
    return not pulls.can_be(turn.now, known) or (len(matched) < len(left) and lies_nowhere)


# What is done.


def enter(turn: Turn) -> None:
    """The round is entered, unless it must be decided first who read a card rightly."""
    if contradicts_reading(turn):
        halt_for_reading(turn)
    else:
        turn.then("round_entered")


def halt_for_reading(turn: Turn) -> None:
    """Two people and the shoe say otherwise of a card: nothing is entered, and it is decided."""
    _tell_who(turn)
    seen = message("seen_entered_round_differs")
    stack.raise_irregularity(turn, Cause("other", seen, subject=f"entry {turn.now.inputs}"))


def enter_round(turn: Turn) -> None:
    """All that halted the table ends, every card takes its slot, and the outcome is told."""
    drawn_meanwhile = _out_of_place(turn)
    if not turn.round.cards:
        unplaced.drop_roles(turn, "opening")
    stack.close_all(turn, "entered_by_hand")
    if turn.now.wagers.betting == "open":
        dealing.close_bets(turn)
    _tell_who(turn)
    _lay(turn, drawn_meanwhile)
    revealing.reveal(turn, [d for d in turn.round.cards if not d.revealed])
    if not turn.round.totals_announced:
        revealing.announce_totals(turn)
    link_facts.lose_alignment(turn)
    turn.set_round(manual=True, result_overruled=True, due=None)
    outcome.announce_outcome(turn)


def _out_of_place(turn: Turn) -> tuple[UnplacedCard, ...]:
    """Cards that are out and in no slot, and may be this round's."""
    now = turn.now
    opening = () if turn.round.cards else now.opening
    pending = () if now.pending is None else (now.pending,)
    return (*opening, *pending, *now.early, *now.held, *now.outside_game)


def _lay(turn: Turn, kept: tuple[UnplacedCard, ...]) -> None:
    entered = {s: card(code) for s, code in arguments.checked(turn, EnteredRound).cards().items()}
    here = {(d.hand, d.index): d for d in turn.round.cards}
    for slot, dealt in here.items():
        entering.name(turn, dealt, entered[slot])
    left = {slot: face for slot, face in entered.items() if slot not in here}
    numbers = {d.number for d in here.values()}
    spare = _spare(turn, kept)
    matched = _matched(turn.now, left, spare)
    for slot, face in left.items():
        number = matched.get(slot)
        if number is None:
            number = _next_number(turn, numbers | {k.number for k in kept if k.number is not None})
            shoe_cards.count_card(turn, None, number)
            shoe_cards.note_entered(turn, number, face.code)
            shoe_cards.name_unseen(turn, face)
        elif next(k for k in spare if k.number == number).card is None:
            pulls.name(turn, number, face)
        numbers.add(number)
        placing.lay(turn, slot, face, number)
        if not any(k.number == number and k.card == face for k in spare):
            placing.set_card(turn, slot, face, entered=True)


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
    of_pulls = [number for number in unknown if pulls.find(now, number) is not None]
    for slot, face in left.items():
        fits = (number for number in of_pulls if pulls.can_be(now, [(number, face)]))
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
    args, command = arguments.checked(turn, EnteredRound), turn.command
    said = {"round_id": turn.round.id, "player": args.player, "banker": args.banker}
    who = {**arguments.by_whom(turn), "consented_by": command.consented_by}
    turn.tell_restricted("round.entered", {**said, "against_reading": args.against_reading, **who})
