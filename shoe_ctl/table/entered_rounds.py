"""Rounds that people enter: one finished by hand in a halt, or a correction of the last outcome.

In: both hands as two people saw them. Out: a round marked *manual* with every card in its slot and
in the ledger once; or round.revised, with what each settled wager changes by. Must not know: why
the table halted.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import msgspec

from firmware_proto.cards import Card, card
from shoe_ctl.games.table_of_play import ImpossibleRound, next_hand
from shoe_ctl.table import arguments
from shoe_ctl.table.procedures import stack, withdrawal
from shoe_ctl.table.procedures.shared import ENTRY_DIFFERS
from shoe_ctl.table.round import card_entry, outcome, reconstruct, reveal, unordered_cards
from shoe_ctl.table.round import deal as dealing
from shoe_ctl.table.shoe import ledger as card_ledger
from shoe_ctl.table.shoe import link, unplaced
from shoe_ctl.table.situations import CARDS_OUT
from shoe_ctl.table.state import (
    INITIAL_DEAL,
    DealtCard,
    FormerOutcome,
    OlderRound,
    Round,
    SettledRound,
    TableState,
    UnplacedCard,
    older_from_bytes,
)
from shoe_ctl.table.turn import Cause, Objection, Turn
from shoe_ctl.table.wagers.money import json_amount
from shoe_ctl.table.wagers.payments import player_gets
from shoe_ctl.table.wagers.settlement import SettlementLine, line_data, settle_all
from shoe_ctl.table.wagers.types import Wagers
from shoe_ctl.texts.message import Message, message

HANDS = ("player", "banker")
"""Both hands."""

THIRD = 3
"""The index of a third card."""

ORDER = (*INITIAL_DEAL, ("player", THIRD), ("banker", THIRD))
"""All slots of a round, in dealing order."""


class BothHands(arguments.NoArgs, frozen=True, kw_only=True):
    """Both hands of a round."""

    player: arguments.Cards
    """The Player hand in dealing order: card codes with spaces between them."""
    banker: arguments.Cards
    """The Banker hand in dealing order: card codes with spaces between them."""

    def codes(self) -> dict[tuple[str, int], str]:
        """Return the card code in each slot, in dealing order."""
        hands = {"player": self.player.split(), "banker": self.banker.split()}
        return {(h, i): hands[h][i - 1] for h, i in ORDER if len(hands[h]) >= i}

    def cards(self) -> dict[tuple[str, int], Card]:
        """Return the card in each slot, in dealing order. The codes were checked before."""
        return {slot: card(code) for slot, code in self.codes().items()}

    def check_sizes(self) -> Message | None:
        """Return that a hand has more cards than a round can give it."""
        named = len(self.player.split()) + len(self.banker.split())
        return None if len(self.codes()) == named else message("refused_hand_size")


class EnteredRound(BothHands, frozen=True, kw_only=True):
    """Arguments of *enter_round*: both hands as they lie on the table."""

    against_reading: bool = False
    """True to rule that the people are right where the shoe read another card, open or not. An open
    third card may then go to the other hand, or be left out as one that was not due."""


# A round finished by hand. Conditions.


def check_entry(turn: Turn, args: EnteredRound | None) -> Objection | Message | None:
    """Return what stands against this entry; with None, against every entry.

    What only the shoe has read makes no difference.
    """
    if (no_round := _check_round(turn)) is not None or args is None:
        return no_round
    if args.against_reading and (low := card_entry.check_against_reading(turn)) is not None:
        return low
    return _check_entered_hands(turn, args)


def _check_round(turn: Turn) -> Message | None:
    """Return what stands against entering a round, whatever its cards are."""
    played, now = turn.now.round, turn.now
    begun = ("betting", "closed") if turn.implied else ("closed",)
    if played is None or now.shoe is None:
        return message("refused_no_round")
    if turn.resume_state not in (*begun, *CARDS_OUT):
        return message("refused_no_cards_were_dealt", state=turn.resume_state)
    if withdrawal.has_open_window(turn):
        return message("refused_window_is_open")
    return None


def _check_entered_hands(turn: Turn, args: EnteredRound) -> Message | None:
    """Return what is wrong with these hands, by what everybody at the table has seen."""
    if (wrong := args.check_sizes()) is not None:
        return wrong
    entered = args.codes()
    seen = {(d.hand, d.index): d.card.code for d in turn.round.cards if d.revealed and d.card}
    for slot, code in seen.items():
        if entered.get(slot) != code and not args.against_reading:
            return message("refused_card_was_seen", hand=slot[0], index=slot[1], card=code)
    thirds = [dealt for dealt in turn.round.cards if dealt.index == THIRD]
    may_move = args.against_reading and all(dealt.revealed for dealt in thirds)
    for dealt in turn.round.cards:
        if (dealt.hand, dealt.index) not in entered and not may_move:
            return message("refused_card_left_out", hand=dealt.hand, index=dealt.index)
    here, _ = _arrange(turn.round.cards, entered)
    # An open card may be another one than the shoe read.
    seen = {slot: entered[slot] for slot, d in here.items() if _is_seen_as(d, entered[slot])}
    new = [code for slot, code in entered.items() if slot not in seen]
    shown = [d.card.code for d in here.values() if d.revealed and d.card]
    for slot in seen:
        shown.remove(entered[slot])
    for at, code in enumerate(new):
        besides = new[:at].count(code) - shown.count(code)
        if (wrong := card_entry.check_card(turn, code, besides=besides)) is not None:
            return wrong
    return check_complete(entered)


def _is_seen_as(dealt: DealtCard, code: str) -> bool:
    """Return True if the card lies open and was read as this one."""
    return dealt.revealed and dealt.card is not None and dealt.card.code == code


def _arrange(
    cards: tuple[DealtCard, ...], entered: Collection[tuple[str, int]]
) -> tuple[dict[tuple[str, int], DealtCard], list[DealtCard]]:
    """Return the card for each slot as entered, and the third cards that no hand was due.

    Where a third card lies at a hand that is to have none, the third cards go, in the order drawn,
    to the hands that are entered with one (5.7). Which cards they are makes no difference.
    """
    here = {(dealt.hand, dealt.index): dealt for dealt in cards}
    if all(slot in entered for slot in here):
        return here, []
    thirds = [dealt for dealt in cards if dealt.index == THIRD]
    slots = [slot for slot in ORDER if slot in entered and slot[1] == THIRD]
    initial = {slot: dealt for slot, dealt in here.items() if dealt.index != THIRD}
    return {**initial, **dict(zip(slots, thirds, strict=False))}, thirds[len(slots) :]


def check_complete(entered: dict[tuple[str, int], str]) -> Message | None:
    """Return what is wrong with these hands by the Table of Play: impossible, or not complete."""
    player, banker = ([card(c) for (h, _), c in entered.items() if h == hand] for hand in HANDS)
    try:
        due = next_hand(player, banker)
    except ImpossibleRound as impossible:
        return impossible.why
    return None if due is None else message("refused_hand_must_draw", hand=due)


def entry_contradicts_reading(turn: Turn) -> bool:
    """Return True if the entry names another card than the shoe read, and nobody ruled on that.

    That is so for a card in its slot, and for one drawn while the table was halted if the entry has
    no place for it.
    """
    args = arguments.require_args(turn, EnteredRound)
    if args.against_reading:
        return False
    entered = args.cards()
    here = {(d.hand, d.index): d for d in turn.round.cards}
    if not all(d.card in (None, entered[slot]) for slot, d in here.items()):
        return True
    known = [(d.number, entered[slot]) for slot, d in here.items() if d.card is None]
    left = {slot: face for slot, face in entered.items() if slot not in here}
    spare = _counted_cards(turn, _cards_without_slot(turn))
    matched = _match_cards(turn.now, left, spare)
    known += [(matched[slot], face) for slot, face in left.items() if slot in matched]
    has_no_place = any(k.card is not None and k.number not in matched.values() for k in spare)
    can_be = unordered_cards.can_be_named(turn.now, known)
    return not can_be or (len(matched) < len(left) and has_no_place)


# A round finished by hand. Actions.


def enter(turn: Turn) -> None:
    """Enter the round, unless it must be decided first who read a card correctly."""
    if not turn.assumes_reading and entry_contradicts_reading(turn):
        halt_for_entry_dispute(turn)
    else:
        turn.fire("round_entered")


def halt_for_entry_dispute(turn: Turn) -> None:
    """Raise an irregularity because the entry names another card than the shoe read.

    The round is not entered.
    """
    _emit_entered(turn)
    seen = message("seen_entered_round_differs")
    subject = f"entry {turn.now.inputs}"
    stack.raise_irregularity(turn, Cause("other", seen, subject=subject, step=ENTRY_DIFFERS))


def enter_round(turn: Turn) -> None:
    """End the halt, put every card into its slot, reveal all and announce the outcome."""
    drawn_meanwhile = _cards_without_slot(turn)
    if not turn.round.cards:
        unplaced.drop_roles(turn, "opening")
    stack.close_all(turn, "entered_by_hand")
    if turn.now.wagers.betting == "open":
        dealing.close_bets(turn)
    _emit_entered(turn)
    _place_cards(turn, drawn_meanwhile)
    reveal.reveal(turn, [d for d in turn.round.cards if not d.revealed])
    if not turn.round.totals_announced:
        reveal.announce_totals(turn)
    link.lose_alignment(turn)
    turn.set_round(manual=True, result_overruled=True, due=None)
    outcome.announce_outcome(turn)


def _cards_without_slot(turn: Turn) -> tuple[UnplacedCard, ...]:
    """Return the cards on the table that have no slot and may be this round's."""
    now = turn.now
    opening = () if turn.round.cards else now.opening
    pending = () if now.pending is None else (now.pending,)
    return (*opening, *pending, *now.early, *now.held, *now.outside_game)


def _place_cards(turn: Turn, kept: tuple[UnplacedCard, ...]) -> None:
    """Put the entered cards into their slots; ``kept`` are the cards that had none."""
    entered = arguments.require_args(turn, EnteredRound).cards()
    _move_third_cards(turn, entered)
    here = {(d.hand, d.index): d for d in turn.round.cards}
    for slot, dealt in here.items():
        if dealt.revealed and dealt.card != entered[slot]:
            card_entry.correct_revealed_card(turn, dealt, entered[slot])
        else:
            card_entry.name_card(turn, dealt, entered[slot])
    left = {slot: face for slot, face in entered.items() if slot not in here}
    numbers = {d.number for d in here.values()}
    spare = _counted_cards(turn, kept)
    matched = _match_cards(turn.now, left, spare)
    for slot, face in left.items():
        number = matched.get(slot)
        if number is None:
            number = _next_number(turn, numbers | {k.number for k in kept if k.number is not None})
            card_ledger.count_card(turn, None, number)
            card_ledger.note_entered(turn, number, face.code)
            card_ledger.name_unknown_card(turn, face)
        elif next(k for k in spare if k.number == number).card is None:
            unordered_cards.name_pulled_card(turn, number, face)
        numbers.add(number)
        dealing.place_counted_card(turn, slot, face, number)
        if not any(k.number == number and k.card == face for k in spare):
            dealing.set_card(turn, slot, face, entered=True)


def _move_third_cards(turn: Turn, entered: Collection[tuple[str, int]]) -> None:
    """Move each third card to the hand that is entered with it; set aside one that is not due."""
    here, not_due = _arrange(turn.round.cards, entered)
    slots = {dealt.number: slot for slot, dealt in here.items()}
    before = turn.round.cards
    cards = tuple(
        msgspec.structs.replace(dealt, hand=slot[0], index=slot[1])
        for dealt in before
        if (slot := slots.get(dealt.number)) is not None
    )
    turn.set_round(cards=cards)
    for dealt in not_due:
        reconstruct.emit_moved(turn, dealt, None)
        _leave_round(turn, dealt)
    were = {dealt.number: dealt for dealt in before}
    for now in cards:
        if (was := were[now.number]).hand != now.hand:
            reconstruct.emit_moved(turn, was, now)


def _counted_cards(turn: Turn, kept: tuple[UnplacedCard, ...]) -> list[UnplacedCard]:
    """Return those of these cards that the ledger counted and that lie in no slot."""
    numbers = {dealt.number for dealt in turn.round.cards}
    return [k for k in kept if k.counted and k.number is not None and k.number not in numbers]


def _match_cards(
    now: TableState, left: dict[tuple[str, int], Card], spare: list[UnplacedCard]
) -> dict[tuple[str, int], int]:
    """Return for each slot the number of the draw that its card came from, as far as found.

    Cards that were drawn while the table was halted are cards of the round, and each counts once.
    A card that was read is matched by its face; then cards drawn at once; then unread ones.
    """
    matched: dict[tuple[str, int], int] = {}
    free = list(spare)
    for slot, face in left.items():
        found = next((k for k in free if k.card == face), None)
        if found is not None and found.number is not None:
            matched[slot] = found.number
            free.remove(found)
    unknown = [k.number for k in free if k.card is None and k.number is not None]
    of_pulls = [n for n in unknown if unordered_cards.find_pull(now, n) is not None]
    for slot, face in left.items():
        fits = (n for n in of_pulls if unordered_cards.can_be_named(now, [(n, face)]))
        if slot not in matched and (number := next(fits, None)) is not None:
            matched[slot] = number
            of_pulls.remove(number)
    unread = [number for number in unknown if number not in matched.values()]
    for slot in left:
        if slot not in matched and unread:
            matched[slot] = unread.pop(0)
    return matched


def _next_number(turn: Turn, known: set[int]) -> int:
    """Return the first draw of the round of which nothing is known, or else the shoe's next."""
    shoe, before = turn.shoe, turn.round.drawn_before
    passed_over = (n for n in shoe.unreported_draws if n > before and n not in known)
    return next(passed_over, shoe.drawn + 1)


def _emit_entered(turn: Turn) -> None:
    args = arguments.require_args(turn, EnteredRound)
    entered = {"player": args.player, "banker": args.banker}
    turn.emit_restricted("round.entered", {**entered, "against_reading": args.against_reading})


REVISE = "revise_round"
"""The command that corrects an outcome."""


class Revision(BothHands, frozen=True, kw_only=True):
    """Arguments of *revise_round*: both hands as they really were."""

    round: str | None = None
    """The id of a round of the shoe on the table or of the one before; None: the last round."""
    against_table: bool = False
    """True to rule that these cards stand, though the Table of Play gives no such hands (6.1)."""


# Correcting the last outcome. Conditions.


def check_revision(turn: Turn, args: Revision | None) -> Objection | Message | None:
    """Return what stands against this revision; with None, against every revision."""
    last = _last_announced(turn)
    if args is not None and args.round is not None and not _is_last(last, args.round):
        older = _older_round(turn, args.round)
        if older is None:
            return message("refused_round_unknown", round_id=args.round)
        if older.shoe < turn.now.shoes - 1:
            return message("refused_round_of_older_shoe", round_id=args.round)
        return _check_revised_hands(turn, _as_told(older), args, older.shown)
    if last is None:
        return message("refused_no_outcome_to_revise")
    return None if args is None else _check_revised_hands(turn, last, args)


def _is_last(last: SettledRound | None, round_id: str) -> bool:
    return last is not None and last.round.id == round_id


def _older_round(turn: Turn, round_id: str) -> OlderRound | None:
    """Return the round that came with the command; None if none did, or another one."""
    given = turn.command.older
    if isinstance(given, msgspec.UnsetType):
        return None
    older = older_from_bytes(given)
    return older if older.settled.round.id == round_id else None


def _as_told(older: OlderRound) -> SettledRound:
    """Return the round with the cards that were told last."""
    told, settled = BothHands(player=older.player, banker=older.banker), older.settled
    played = msgspec.structs.replace(
        settled.round,
        cards=_revised_cards(settled, told.cards()),
        against_table=check_complete(told.codes()) is not None,
    )
    return msgspec.structs.replace(settled, round=played)


def last_told(state: TableState) -> str | None:
    """Return the round that the table holds to be revised; any other one comes with the command."""
    if state.state == "resolved" and state.round is not None:
        return state.round.id
    return None if state.last_settled is None else state.last_settled.round.id


def _last_announced(turn: Turn) -> SettledRound | None:
    """Return the round whose outcome was announced last, settled or not."""
    now = turn.now
    if turn.source == "resolved":
        return SettledRound(
            round=turn.round, wagers=now.wagers, shoe_id=turn.shoe.id, method=turn.method
        )
    return now.last_settled


def _check_revised_hands(
    turn: Turn, last: SettledRound, args: Revision, shown: Mapping[str, int] = {}
) -> Message | None:
    """Return what is wrong with these hands.

    ``shown`` are the faces that the round's shoe is known to have dealt, if they came with it.
    """
    entered = args.codes()
    before = {(d.hand, d.index): d.card.code for d in last.round.cards if d.card}
    if entered == before:
        return message("refused_same_cards")
    if (wrong := args.check_sizes()) is not None:
        return wrong
    new = list(entered.values())
    same_shoe = _is_same_shoe(turn, last)
    mine = list(before.values()) if same_shoe or shown else []
    for at, code in enumerate(new):
        besides = new[:at].count(code) - mine.count(code)
        of_shoe = None if same_shoe or not shown else shown
        if (why := card_entry.check_card(turn, code, besides=besides, shown=of_shoe)) is not None:
            return why
    return _check_ruling(args)


def _check_ruling(args: Revision) -> Message | None:
    """Return that these hands need a ruling, as the Table of Play gives no such, or need none."""
    entered = args.codes()
    why = check_complete(entered)
    if why is None:
        return message("refused_no_ruling_needed") if args.against_table else None
    if not all((hand, 2) in entered for hand in HANDS):
        return why
    return None if args.against_table else message("refused_needs_ruling", why=why)


def _is_same_shoe(turn: Turn, last: SettledRound) -> bool:
    """Return True if the round was dealt from the cards that are in the shoe now."""
    return turn.now.shoe is not None and turn.now.shoe.id == last.shoe_id


# Correcting the last outcome. Actions.


def revise(turn: Turn) -> None:
    """Correct an outcome: emit it anew, with what each settled wager changes by."""
    args = arguments.require_args(turn, Revision)
    last, entered = _last_announced(turn), args.cards()
    if args.round is not None and not _is_last(last, args.round):
        older = _older_round(turn, args.round)
        assert older is not None
        _revise_older(turn, _as_told(older), args)
        return
    assert last is not None
    if _is_same_shoe(turn, last):
        cards = _match_revised(turn, last.round, entered)
    else:
        cards = _revised_cards(last, entered)
        for slot, wrong, right in _differing(last.round.cards, entered):
            card_entry.emit_card_corrected(turn, slot, wrong, right, of_round=last.round.id)
    former = FormerOutcome(
        cards=last.round.cards,
        until_us=turn.now.t_us,
        settled=turn.source != "resolved",
        against_table=last.round.against_table,
    )
    revised = msgspec.structs.replace(
        last.round,
        cards=cards,
        against_table=args.against_table,
        revised=(*last.round.revised, former),
    )
    after = msgspec.structs.replace(last, round=revised)
    outcome.emit_revised(turn, after.round, after.shoe_id, after.method)
    if turn.source == "resolved":
        turn.set_round(
            cards=revised.cards, against_table=revised.against_table, revised=revised.revised
        )
        return
    _settle_again(turn, last, after)
    turn.change(last_settled=after)


def _revise_older(turn: Turn, before: SettledRound, args: Revision) -> None:
    """Correct the outcome of a round from before the last one: its results and its money.

    Of the table nothing else changes: neither limits found, nor allowances once used, nor who holds
    the shoe (I 5.14, N/T/F 5.16). Faces that were others are corrected in the ledger.
    """
    entered, there = args.cards(), before.round.cards
    same_shoe = _is_same_shoe(turn, before)
    for slot, wrong, right in _differing(there, entered):
        if same_shoe:
            dealt = next(d for d in there if (d.hand, d.index) == slot)
            card_entry.correct_counted_card(turn, dealt, right)
            card_ledger.show_other_card(turn, wrong, right)
        card_entry.emit_card_corrected(turn, slot, wrong, right, of_round=before.round.id)
    played = msgspec.structs.replace(
        before.round,
        cards=_revised_cards(before, entered),
        against_table=args.against_table,
    )
    after = msgspec.structs.replace(before, round=played)
    outcome.emit_revised(turn, played, after.shoe_id, after.method)
    _emit_changes(turn, before, after)


def _revised_cards(
    last: SettledRound, entered: dict[tuple[str, int], Card]
) -> tuple[DealtCard, ...]:
    """Return the cards of the round as entered, each in its slot."""
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


def _differing(
    cards: tuple[DealtCard, ...], entered: dict[tuple[str, int], Card]
) -> list[tuple[tuple[str, int], Card, Card]]:
    """Return each slot whose card is entered as another one, with both faces."""
    known = (((dealt.hand, dealt.index), dealt.card) for dealt in cards)
    return [
        (slot, was, entered[slot])
        for slot, was in known
        if slot in entered and was is not None and was != entered[slot]
    ]


def _match_revised(
    turn: Turn, played: Round, entered: dict[tuple[str, int], Card]
) -> tuple[DealtCard, ...]:
    """Return the cards of the round as entered, and correct the ledger by the difference.

    Cards that lie open are matched by their faces first: those of both hands, and those set aside.
    A card in its slot, or in another one, was another card than it was taken for. Then come cards
    that lie aside or open the next round face down, whichever they are: what only the shoe has read
    makes no difference. What is left of those entered is counted, what is left of the round lies
    aside.
    """
    mine = list(played.cards)
    aside = [card for card in turn.now.aside if unplaced.draw_of(card) > played.drawn_before]
    unseen = [*(card for card in aside if not card.seen), *turn.now.opening]
    found: dict[tuple[str, int], DealtCard | UnplacedCard] = {}
    in_place = {slot: [d for d in mine if (d.hand, d.index) == slot] for slot in entered}
    alike = {slot: [d for d in mine if d.card == face] for slot, face in entered.items()}
    seen = {slot: [c for c in aside if c.seen and c.card == face] for slot, face in entered.items()}
    both = {slot: [d for d in in_place[slot] if d in alike[slot]] for slot in entered}
    rest = dict.fromkeys(entered, mine), dict.fromkeys(entered, unseen)
    for fits in (both, alike, seen, in_place, *rest):
        for slot in entered:
            taken = found.values()
            free = (one for one in fits[slot] if not any(one is other for other in taken))
            if slot not in found and (one := next(free, None)) is not None:
                found[slot] = one
    lowest = min(0, *(dealt.number for dealt in mine))
    cards = tuple(
        _as_entered(turn, slot, face, found.get(slot), played.id, lowest)
        for slot, face in entered.items()
    )
    for left in mine:
        if not any(left is one for one in found.values()):
            _leave_round(turn, left)
    return cards


def _as_entered(  # noqa: PLR0913 - what is known of the card, and of its round
    turn: Turn,
    slot: tuple[str, int],
    face: Card,
    was: DealtCard | UnplacedCard | None,
    round_id: str,
    lowest: int,
) -> DealtCard:
    """Return the card in its slot as entered, corrected or counted in the ledger."""
    if isinstance(was, DealtCard) and was.card is not None:
        if was.card == face:
            return msgspec.structs.replace(was, hand=slot[0], index=slot[1], revealed=True)
        card_entry.correct_counted_card(turn, was, face)
        card_ledger.show_other_card(turn, was.card, face)
        card_entry.emit_card_corrected(turn, slot, was.card, face, of_round=round_id)
        corrected = card_entry.as_corrected(turn, was, face)
        return msgspec.structs.replace(corrected, hand=slot[0], index=slot[1], revealed=True)
    if was is None:
        number, entered = _count_entered(turn, face, lowest), True
    else:
        number, entered = unplaced.draw_of(was), was.card != face
        unplaced.drop_cards(turn, tuple(c for c in turn.now.unplaced if c is was))
        if was.card is None:
            unordered_cards.name_pulled_card(turn, number, face)
        elif entered:
            card_ledger.overrule_reading(turn, was.card, face)
    card_ledger.show_card(turn, face)
    return DealtCard(
        hand=slot[0], index=slot[1], card=face, number=number, drawn_us=turn.now.t_us,
        revealed=True, entered=entered,
        read=was.card if was is not None and entered else None,
    )  # fmt: skip


def _count_entered(turn: Turn, face: Card, lowest: int) -> int:
    """Count a card that nobody knew of, and return the number of its draw.

    A shoe that has counted every draw has counted none for this one: its number is below 0, and
    below the ``lowest`` of the round.
    """
    if card_ledger.has_reported_all(turn.now):
        card_ledger.count_uncounted(turn, face)
        return lowest - turn.shoe.uncounted
    card_ledger.count_card(turn, None, None)
    card_ledger.name_unknown_card(turn, face)
    return turn.shoe.drawn


def _leave_round(turn: Turn, left: DealtCard) -> None:
    """Set a card aside that is no card of the round; one that only people had counted never was."""
    if left.card is None:
        return
    card_ledger.hide_card(turn, left.card)
    if left.number < 0:
        card_ledger.give_back_uncounted(turn, left.card)
    else:
        unplaced.add_card(turn, left.card, left.number, role="aside", seen=True)


def _settle_again(turn: Turn, before: SettledRound, after: SettledRound) -> None:
    """Settle the wagers anew and emit for each what it changes by."""
    once = _emit_changes(turn, before, after).settled_once
    turn.change(wagers=msgspec.structs.replace(turn.now.wagers, settled_once=once))


def _emit_changes(turn: Turn, before: SettledRound, after: SettledRound) -> Wagers:
    """Emit for each wager what it changes by; return the wagers after the round."""
    rules = turn.wager_rules
    old = settle_all(before.wagers, turn.settle(before.round), rules)
    new = settle_all(after.wagers, turn.settle(after.round), rules)
    for was, now in zip(old.lines, new.lines, strict=True):
        if was != now:
            _emit_wager_revised(turn, after.round.id, was, now)
    return new.wagers


def _emit_wager_revised(
    turn: Turn, round_id: str, was: SettlementLine, now: SettlementLine
) -> None:
    change = player_gets(now) - player_gets(was)
    secret: dict[str, Any] = {**line_data(now), "change": json_amount(change)}
    public = {name: value for name, value in secret.items() if name != "player"}
    turn.emit("wager.revised", public, restricted=secret, of_round=round_id)
