"""What can happen at a table as it stands: what raises an irregularity, what leads out of one.

In: a place. Out: inputs, each with the trigger that it is. Must not know: any particular
irregularity: what is declared, answered or drawn is read from the form.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from firmware_proto.cards import CARDS, card
from firmware_proto.events import (
    CardDrawn,
    CardPushedBack,
    CuttingCard,
    Hello,
    ResetDone,
    Result,
    ShoeEvent,
    ShoeLoaded,
    Started,
)
from shoe_ctl.errors import InputRefused
from shoe_ctl.games.table_of_play import next_hand
from shoe_ctl.table import cases, transitions
from shoe_ctl.table.entered_rounds import HANDS, ORDER
from shoe_ctl.table.inputs import LinkUp, Tick
from shoe_ctl.table.state import TableState
from shoe_testing.choices import At, decisions, declarations, found_on_the_layout, spares
from shoe_testing.generators import (
    EVENTS_TRIED,
    NAMES,
    Tried,
    asked,
    facts,
    next_cards,
    next_pulls,
    said,
)
from shoe_testing.tables import DEVICE

HALTING = frozenset(
    trigger
    for trigger in transitions.triggers()
    for case in cases.list_cases(trigger)
    for (state, named), lines in transitions.lines().items()
    if named == case and state != "suspended" and any(line.to == "suspended" for line in lines)
)
"""Whatever may halt a table."""


def causes(at: At) -> Iterator[Tried]:
    """Whatever may halt a table: what comes from the shoe and the link, and what is declared."""
    t_us = at.now.t_us + 1
    heard = (
        said(event, t_us) for event in (*EVENTS_TRIED, *wrong_cards(at), *back_in_the_shoe(at))
    )
    happened = ((NAMES[type(fact)], fact) for fact in facts(t_us))
    yield from ((named, each) for named, each in (*happened, *heard) if named in HALTING)
    for args in (*declarations(at), *found_on_the_layout(at)):
        position = args.pop("position")
        yield asked(at, "declare", args, position=position)
    yield asked(at, "pause", {})


def wrong_cards(at: At) -> Iterator[CardDrawn]:
    """The next card where it is not one of the shoe's: of another deck, or one too many."""
    shoe = at.now.shoe
    if shoe is not None:
        ours = {each.code for each in at.game.deck.cards}
        foreign = next(code for code in CARDS if code not in ours)
        too_many = [c for c, count in shoe.counts.items() if count >= shoe.decks and c in ours]
        for code in (foreign, *too_many[:1]):
            yield CardDrawn(card=card(code), number=shoe.drawn + 1, armed=at.now.armed is not None)


def back_in_the_shoe(at: At) -> Iterator[CardPushedBack]:
    """The card that was drawn last goes back."""
    played, shoe = at.now.round, at.now.shoe
    if played is not None and played.cards and shoe is not None:
        yield CardPushedBack(card=played.cards[-1].card, number=shoe.drawn)


def ways_on(at: At) -> Iterator[Tried]:
    """What people and the shoe bring about to come out of a halt, or to play on without one."""
    now, t_us = at.now, at.now.t_us + 1
    for args in decisions(at):
        position = args.pop("position")
        yield asked(at, "decide", args, position=position)
    for event in (*next_cards(at), *next_pulls(at), *_shoe_comes(now)):
        yield said(event, t_us)
    if not now.link.up:
        yield "link_up", _link_up(now)
    for command, args in _people_go_on(at):
        yield asked(at, command, args)
    if now.wake_us is not None:
        yield "tick", Tick(t_us=max(now.wake_us, t_us))


def _link_up(now: TableState) -> LinkUp:
    """To the shoe that was there before."""
    link = now.link
    return LinkUp(
        t_us=now.t_us + 1, connection=link.connection + 1, profile=link.profile, arm=link.arm,
        replay=link.replay, judges=link.judges, names_hands=link.names_hands,
    )  # fmt: skip


def _shoe_comes(now: TableState) -> Iterator[ShoeEvent]:
    """The shoe is there again as it was, with other cards, or anew; it judges."""
    shoe, boot = now.shoe, now.link.boot_id or 7
    if shoe is not None:
        for resumed in (True, False):
            yield Hello(
                firmware="1", device_id=DEVICE, boot_id=boot, deck="french52", decks=shoe.decks,
                set_id=shoe.set_id, drawn=shoe.drawn, resumed=resumed,
            )  # fmt: skip
    yield ShoeLoaded(set_id=f"set-{now.inputs}", decks=8 if shoe is None else shoe.decks)
    yield from (Started(), ResetDone(command_id=1), CuttingCard())
    if now.link.judges and now.state == "revealing":
        for winner in ("player", "banker", "tie"):
            yield Result(winner=winner, player_pair=False, banker_pair=False)


def _people_go_on(at: At) -> Iterator[tuple[str, dict[str, object]]]:
    if at.now.halt is not None:
        yield from (("resume", {}), ("align", {}))
        if (hands := by_hand(at)) is not None:
            yield "enter_round", hands
        return
    yield from ((command, {}) for command in _ANNOUNCED)
    for hand in HANDS:
        yield "expose", {"hand": hand}
        yield "pass_cards", {"hand": hand, "player": "ann"}
    yield "declare_new_shoe", {}


_ANNOUNCED = ("place_your_bets", "no_more_bets", "announce_totals", "announce_outcome", "settle")


def by_hand(at: At) -> dict[str, object] | None:
    """Both hands as they lie, and played to their end with cards that the shoe still holds."""
    played = at.now.round
    if played is None:
        return None
    spare = {c[0]: c for c in spares(at)}.values()
    there = {(d.hand, d.index): d.card for d in played.cards}
    for chosen in itertools.product(list(spare)[:4], repeat=2):
        slots = {slot: card(chosen[slot[1] % 2]) for slot in ORDER[:4]}
        slots |= {slot: face for slot, face in there.items() if face is not None}
        hands = {hand: [slots[s] for s in ORDER if s[0] == hand and s in slots] for hand in HANDS}
        try:
            due = next_hand(*hands.values())
            while due is not None:
                hands[due].append(card(chosen[0]))
                due = next_hand(*hands.values())
        except InputRefused:
            continue
        if all(len(hands[hand]) >= index for hand, index in there):
            return {hand: " ".join(c.code for c in held) for hand, held in hands.items()}
    return None
