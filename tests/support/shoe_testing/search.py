"""A search over the reachable table: whatever may halt it, at every step, so many deep.

In: places. Out: those with something open in which anything is new, the ends that were reached.
Must not know: any particular irregularity.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import NamedTuple

from shoe_ctl.table.effects import Effect
from shoe_ctl.table.inputs import Input
from shoe_ctl.table.procedures import stack
from shoe_ctl.table.state import TableState
from shoe_ctl.table.turn import Turn
from shoe_testing.places import Place
from shoe_testing.possible_inputs import causes, ways_on
from shoe_testing.reached_ends import EVERY_END, Reached, ends_reached
from shoe_testing.tables import Playing


class Way(NamedTuple):
    """What happened at a place, as which trigger, and what became of it."""

    before: Place
    trigger: str
    happened: Input
    table: Playing
    effects: list[Effect]


Look = Callable[[Way], None]


def features(place: Place) -> Iterator[Hashable]:
    """What may be new about a place: any two things that can matter together.

    A search that keeps a place for any new one of these grows with their sum, not their product.
    """
    now = place.now
    opened = stack.all_open(now)
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
    return len({opened.key for opened in stack.all_open(now)})


class Search:
    """What was found: ``places`` with something open, those in which a feature was new."""

    def __init__(self, deepest: int) -> None:
        self.deepest = deepest
        self.places: list[Place] = []
        self.reached: set[Reached] = set()
        self.inside: set[tuple[str, Reached]] = set()
        self.tried = 0
        self._seen: set[Hashable] = set()

    def run(self, start: Iterable[Place], look: Look) -> None:
        """Everything from these places on."""
        ahead = deque(place for place in start if self._is_new(place))
        with ends_reached(self._reach):
            while ahead:
                ahead.extend(self._from(ahead.popleft(), look))

    def _from(self, place: Place, look: Look) -> Iterator[Place]:
        leads_on = ways_on(place.at) if is_open(place.now) else ()
        halts = causes(place.at) if depth(place.now) < self.deepest else ()
        for ways in (leads_on, halts):
            for trigger, happened in ways:
                table = place.table()
                effects = table.feed(happened)
                self.tried += 1
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
        under = stack.all_open(turn.now)
        self.inside |= {(opened.key, end) for opened in under if opened.key != end[0]}

    @property
    def never_reached(self) -> frozenset[Reached]:
        """Ends of procedures that nothing led to."""
        return EVERY_END - self.reached

    @property
    def deep(self) -> dict[int, int]:
        """How many places were found with so many irregularities open."""
        return dict(sorted(Counter(depth(place.now) for place in self.places).items()))


def is_open(now: TableState) -> bool:
    """Something is open that people or cards may answer."""
    return bool(stack.all_open(now)) or bool(now.early) or bool(now.opening)
