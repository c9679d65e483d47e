"""A search over the reachable table: whatever may halt it, at every step, so many deep.

In: places to start from. Out: each place once, the inputs that led there, what was offered there.
"""

from __future__ import annotations

import itertools
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any, NamedTuple

from firmware_proto.cards import card
from shoe_ctl.errors import InputRefused
from shoe_ctl.games.table_of_play import next_hand
from shoe_ctl.table.effects import Answer, Effect
from shoe_ctl.table.inputs import Input, TableCommand
from shoe_ctl.table.preview import preview
from shoe_ctl.table.procedures import stack
from shoe_ctl.table.state import TableState
from shoe_ctl.table.status import status
from shoe_ctl.table.turn import Turn
from shoe_testing.generators import (
    ASKED,
    PUT_RIGHT,
    OfferingTable,
    by_hand,
    causes,
    corrections,
    decisions,
    declarations,
    hands_to_rule_on,
    put_right,
    retractions,
    spares,
    ways_on,
)
from shoe_testing.invariants import EVERY_END, Reached, ends_reached
from shoe_testing.places import Place
from shoe_testing.tables import EnglishEvents, TableHarness


class Way(NamedTuple):
    """What happened at a place, as which trigger, and what became of it."""

    before: Place
    trigger: str
    happened: Input
    table: TableHarness
    effects: list[Effect]


Look = Callable[[Way], None]


def features(place: Place) -> Iterator[Hashable]:
    """What may be new about a place: any two things that can matter together.

    A search that keeps a place for any new one of these grows with their sum, not their product.
    """
    now = place.now
    opened = now.open_irregularities
    steps = [(each.key, each.step) for each in opened]
    top = steps[-1] if steps else now.state
    back_to = now.state if now.halt is None else now.halt.resume_state
    offered = [(choice.name, choice.leads_to) for choice in stack.offered_choices(place.at)]
    yield top, tuple(offered), now.halt is None, now.link.up
    yield back_to, top
    if len(steps) > 1:
        yield from (((key, top), ((key, step), top[0])) for key, step in steps[:-1])
        return
    conducted = tuple(place.given.get(name) for name in ("name", "method", "announcements"))
    played = now.round
    yield place.shoe, top, now.link.up, now.link.aligned, now.pending_set is None
    yield top, frozenset(opened[-1].data) if opened else None
    yield back_to, top, bool(now.held), bool(now.early), bool(now.opening)
    yield top, None if now.pending is None else (now.pending.named_slot or (None,))[0]
    yield back_to, top, played and (bool(played.cards), played.all_revealed, played.manual)
    yield conducted, top


def depth(now: TableState) -> int:
    """How many irregularities are open; several cards drawn early are one."""
    return len({opened.key for opened in now.open_irregularities})


class PutRight(NamedTuple):
    """A correction or a retraction tried at a place: what its preview said, and its answer."""

    place: Place
    command: str
    preview: Answer
    answer: Answer

    @property
    def taken(self) -> bool:
        """The table did it."""
        return self.answer.accepted


class Search:
    """What was found: ``places`` with something open, those in which a feature was new.

    ``searched`` are all places that something was tried at; ``put_right`` what people corrected or
    took back there.
    """

    def __init__(self, deepest: int) -> None:
        self.deepest = deepest
        self.places: list[Place] = []
        self.reached: set[Reached] = set()
        self.inside: set[tuple[str, Reached]] = set()
        self.searched: list[Place] = []
        self.put_right: list[PutRight] = []
        self.tried = 0
        self._seen: set[Hashable] = set()

    def run(self, start: Iterable[Place], look: Look) -> None:
        """Everything from these places on."""
        ahead = deque(place for place in start if self._is_new(place))
        with ends_reached(self._reach):
            while ahead:
                ahead.extend(self._from(ahead.popleft(), look))

    def _from(self, place: Place, look: Look) -> Iterator[Place]:
        self.searched.append(place)
        corrected = put_right(place.at)
        leads_on = ways_on(place.at) if is_open(place.now) else ()
        halts = causes(place.at) if depth(place.now) < self.deepest else ()
        for ways in (corrected, leads_on, halts):
            for trigger, happened in ways:
                table = place.table()
                foretold = previewed(place, happened) if ways is corrected else None
                effects = table.feed(happened)
                self.tried += 1
                if foretold is not None:
                    answer = next(each for each in effects if isinstance(each, Answer))
                    self.put_right.append(PutRight(place, trigger, foretold, answer))
                look(Way(place, trigger, happened, table, effects))
                new = place._replace(now=table.now)
                if is_open(new.now) and depth(new.now) <= self.deepest and self._is_new(new):
                    self.places.append(new)
                    yield new

    def _is_new(self, place: Place) -> bool:
        new = set(features(place)) - self._seen
        self._seen |= new
        return bool(new)

    def _reach(self, turn: Turn, end: Reached) -> None:
        self.reached.add(end)
        under = turn.now.open_irregularities
        self.inside |= {(opened.key, end) for opened in under if opened.key != end[0]}

    @property
    def never_reached(self) -> frozenset[Reached]:
        """Ends of procedures that nothing led to."""
        return EVERY_END - self.reached

    @property
    def deep(self) -> dict[int, int]:
        """How many places were found with so many irregularities open."""
        return dict(sorted(Counter(depth(place.now) for place in self.places).items()))


def put_right_table(search: Search) -> Iterator[str]:
    """How many places were searched, and what people tried to put right there, state by state."""
    tried = Counter((where(one.place), one.command) for one in search.put_right)
    taken = Counter((where(one.place), one.command) for one in search.put_right if one.taken)
    yield f"{'state':<20}{'places':>7}{'corrected':>14}{'taken back':>14}{'previews':>9}"
    for state, places in sorted(Counter(map(where, search.searched)).items()):
        of = [(taken[state, command], tried[state, command]) for command in PUT_RIGHT]
        cells = "".join(f"{f'{done} of {all_of}':>14}" for done, all_of in of)
        yield f"{state:<20}{places:>7}{cells}{sum(all_of for _, all_of in of):>9}"


def where(place: Place) -> str:
    """The state of a place; in a halt the one that play resumes in."""
    halt = place.now.halt
    return place.now.state if halt is None else f"halt in {halt.resume_state}"


def assert_put_right_everywhere(search: Search) -> None:
    """At each place a correction and a retraction are tried and previewed, and agree with that.

    A card of the round that lies open can always be corrected.
    """
    tried = {(id(one.place), one.command) for one in search.put_right}
    assert tried == {(id(place), command) for place in search.searched for command in PUT_RIGHT}
    for one in search.put_right:
        assert (one.preview.accepted, one.preview.error) == (one.answer.accepted, one.answer.error)
        if one.command == "correct_card":
            played = one.place.now.round
            shown = played is not None and any(dealt.revealed for dealt in played.cards)
            assert one.taken is shown, one


def previewed(place: Place, happened: Input) -> Answer:
    """What anyone is told beforehand of this command."""
    assert isinstance(happened, TableCommand)
    return preview(place.table().controller, place.now, happened).answer


def is_open(now: TableState) -> bool:
    """Something is open that people or cards may answer."""
    return bool(now.open_irregularities) or bool(now.early) or bool(now.opening)


Args = dict[str, Any]

HAND_ARGS = ({"hand": "player"}, {"hand": "banker"})
PEOPLE: tuple[Args, ...] = (
    {}, *({"player": name} for name in ("ann", "ben", "cat")), {"seat": 1}, {"seat": 3},
)  # fmt: skip


def answered(place: Place, command: str, args: Args, **more: Any) -> EnglishEvents:
    """The answer to this at the place, from whoever may, with a reason and a second person."""
    asked = {"reason": "r", "consented_by": "lee", "position": "gaming_shift_manager", **more}
    return place.table().asks(command, **asked, **args)


def accepted(place: Place, command: str, ways: Iterable[Args], **more: Any) -> list[Args]:
    """Those of the ways to give this command that are taken."""
    return [args for args in ways if answered(place, command, args, **more).accepted]


def ways(at: OfferingTable, command: str) -> Iterator[Args]:
    """Ways to give this command: people, hands, wagers, cards that can be meant here."""
    yield from (args for named, args in ASKED if named == command)
    for hand, person in itertools.product(HAND_ARGS, PEOPLE):
        yield {**hand, **person}
        yield {**hand, "by": "dealer"}
    yield from PEOPLE
    yield from ({"method": method} for method in at.game.methods)
    yield from ({"what": what} for what in at.now.link.queries_known)
    yield from ({"key_id": 2}, {"text": "HELLO"}, {"number": None})
    for held in at.now.wagers.standing:
        of = {"player": held.player, "seat": held.seat, "wager": held.wager}
        yield of
        yield from ({**of, "amount": amount} for amount in (1, held.amount - 1) if amount > 0)
    for wager, seat in (("tie", 4), ("player", 1)):
        for player in ("cat", "ann"):
            yield {"player": player, "seat": seat, "wager": wager, "amount": 50}
    if command == "enter_round" and (hands := by_hand(at)) is not None:
        yield hands
    if command == "revise_round":
        yield from itertools.islice(complete_hands(at), 12)
        yield from ({**hands, "against_table": True} for hands in hands_to_rule_on(at))
    if command == "declare":
        yield from of_an_earlier_round(at)
    offered = {
        "decide": decisions,
        "declare": declarations,
        "correct_card": corrections,
        "retract": retractions,
    }
    for named, found in ((named, each(at)) for named, each in offered.items()):
        if named == command:
            yield from ({n: v for n, v in args.items() if n != "position"} for args in found)


def of_an_earlier_round(at: OfferingTable) -> Iterator[Args]:
    """A wager outside the limits that an earlier round settled."""
    low, high = at.settings.limits.of("tie")
    for key, amount in (("under_minimum", low - 1), ("over_maximum", (high or 0) + 1)):
        of = {"player": "ann", "seat": 1, "wager": "tie", "amount": amount}
        yield {"key": key, **of, "earlier": True}


def complete_hands(at: OfferingTable) -> Iterator[Args]:
    """Two hands of two cards each that the Table of Play deals no card to."""
    for codes in itertools.permutations(spares(at)[:14], 4):
        hands = [[card(code) for code in codes[:2]], [card(code) for code in codes[2:]]]
        try:
            due = next_hand(*hands)
        except InputRefused:
            continue
        if due is None:
            yield {"player": " ".join(codes[:2]), "banker": " ".join(codes[2:])}


def shown(place: Place) -> dict[str, Any]:
    at = place.at
    return status(at.now, at.game, at.settings)


def assert_choices_ask_what_they_want(place: Place) -> None:
    """A choice that says nothing against it is taken, and one that does is refused."""
    held = shown(place)
    asks = (waiting.get("choices", []) for waiting in held["waiting"])
    choices = held["halt"]["choices"] if held["halt"] else list(itertools.chain(*asks))
    given = list(decisions(place.at)) if place.now.state in ("idle", "suspended") else []
    assert {c["choice"] for c in choices} == {g["choice"] for g in given}, place
    for choice in choices:
        own = [g for g in given if g["choice"] == choice["choice"]]
        ways = [{n: v for n, v in args.items() if n != "position"} for args in own]
        position = choice["position"]
        taken = accepted(place, "decide", ways, position=position)
        assert bool(taken) is ("not_now" not in choice), (place, choice)
        unreasoned = accepted(place, "decide", taken, position=position, reason=None)
        assert unreasoned == ([] if choice.get("reason") else taken), choice
        alone = accepted(place, "decide", taken, position=position, consented_by=None)
        assert alone == ([] if choice.get("second_person") else taken), choice
