"""Two tables that look alike: the same hands and words at both, other cards where none was seen.

In: how a table is set; steps. Out: both tables, compared after each step in all that the room may
know of them. Must not know: which irregularity is open.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from firmware_proto.cards import card
from firmware_proto.events import CardDrawn, CardOutsideGame, CardsDrawn, Error, Result
from shoe_ctl.cli.table_view import lines
from shoe_ctl.errors import InputRefused
from shoe_ctl.games.table_of_play import next_hand, total
from shoe_ctl.records import Audience
from shoe_ctl.table.effects import Answer, Effect, ShoeCommand, TableEvent, WakeAt
from shoe_ctl.table.inputs import TableCommand
from shoe_ctl.table.preview import preview
from shoe_ctl.table.procedures import stack
from shoe_ctl.table.state import next_slot
from shoe_ctl.table.status import staff, status
from shoe_ctl.texts.catalogue import LANGUAGES
from shoe_ctl.texts.screen import Words
from shoe_testing.staff import at
from shoe_testing.tables import TableHarness

Faces = tuple[str | None, str | None]
"""What the one shoe reads of a card, and what the other does."""

HANDS = ("player", "banker")
INITIAL_CARDS = 4


class Twins:
    """``one`` and ``other``. ``parted``: the room has seen a card that is not the same at both."""

    def __init__(self, **given: Any) -> None:
        self.one, self.other = TableHarness(**given), TableHarness(**given)
        self.one.open_shoe()
        self.other.open_shoe()
        self.compared = 0

    def both(self, step: Callable[[TableHarness], object]) -> None:
        """The same at both tables."""
        self._each(step, step)

    def previews(self, command: str, args: dict[str, Any]) -> None:
        """What the command would come to is the same at both, also with cards that lie at one."""
        if not self.parted:
            one, other = (previewed(table, command, args) for table in (self.one, self.other))
            assert one == other, (command, args)
            self.compared += 1

    def draws(self, faces: Faces, *, armed: bool | None = None) -> None:
        """A card comes out at both tables, which nobody there has seen.

        None does where one of the shoes alone would say again what lies there.
        """
        if is_repeat(self.one, faces[0]) == is_repeat(self.other, faces[1]):
            self._draws(faces, armed)

    def draws_early(self, faces: Faces, *, reported: bool) -> None:
        """A card comes out before its turn. A shoe that judges objects where none is due.

        ``reported``: a shoe that objects says which card it means.
        """
        if not self.one.angel_eye:
            self.draws(faces, armed=False)
        elif all(_can_judge(table) for table in (self.one, self.other)):
            self._each(*(lambda table, f=face: draw_early(table, f, reported) for face in faces))

    def _draws(self, faces: Faces, armed: bool | None) -> None:
        self._each(*(lambda table, f=face: draw(table, f, armed) for face in faces))

    def draws_together(self, first: Faces, second: Faces, *, order_known: bool) -> None:
        """Two cards come out as one."""
        pairs = zip(first, second, strict=True)
        self._each(*(lambda table, p=pair: together(table, p, order_known) for pair in pairs))

    def judge(self) -> None:
        """Each shoe judges as soon as it has read the last card: at one table, or at both."""
        self._each(judges, judges)

    def _each(
        self, at_one: Callable[[TableHarness], object], at_other: Callable[[TableHarness], object]
    ) -> None:
        told = len(self.one.effects), len(self.other.effects)
        at_one(self.one)
        at_other(self.other)
        if not self.parted:
            new = self.one.effects[told[0] :], self.other.effects[told[1] :]
            assert in_public(new[0]) == in_public(new[1])
            assert known(self.one) == known(self.other)
            self.compared += 1

    @property
    def parted(self) -> bool:
        """What the room has seen is no longer the same."""
        return seen(self.one) != seen(self.other)


def place_named(table: TableHarness) -> tuple[str, int]:
    """Where an Angel Eye says that the next card belongs."""
    return next_slot(table.now) or ("player", 3)


def is_repeat(table: TableHarness, face: str | None) -> bool:
    """An Angel Eye that names this card for the place where it lies says the same again."""
    dealt = () if table.now.round is None else table.now.round.cards
    there = [d.card.code for d in dealt if d.card and (d.hand, d.index) == place_named(table)]
    return table.angel_eye and face in there


def draw(table: TableHarness, face: str | None, armed: bool | None = None) -> None:
    """As such a shoe tells of it; which place it names never depends on what it has read."""
    shoe = table.now.shoe
    named: dict[str, Any] = {}
    if table.angel_eye:
        hand, index = place_named(table)
        named = {"hand": hand, "index": index}
    elif not table.bee_tek:
        armed = table.now.armed is not None if armed is None else armed
        named = {"number": 1 if shoe is None else shoe.drawn + 1, "armed": armed}
    table.says(CardDrawn(card=None if face is None else card(face), **named))


def _can_judge(table: TableHarness) -> bool:
    """True if this shoe has read the initial deal, and the card that comes is the first early."""
    played = table.now.round
    dealt = () if played is None else played.cards
    return len(dealt) == INITIAL_CARDS and all(d.card for d in dealt) and not table.now.unplaced


def draw_early(table: TableHarness, face: str | None, reported: bool) -> None:
    """The fifth card, at a shoe that judges by what it has read: for a hand, or objected to."""
    played = table.now.round
    assert played is not None
    hand = next_hand(*(played.hand(name) for name in HANDS))
    drawn = None if face is None else card(face)
    if hand is not None:
        table.says(CardDrawn(card=drawn, hand=hand, index=3))
        return
    table.says(Error(code="overdraw", in_error_mode=True))
    if reported and drawn is not None:
        table.says(CardOutsideGame(card=drawn, mode="error"))


def together(table: TableHarness, pair: tuple[str | None, str | None], order_known: bool) -> None:
    """Two cards in one pull."""
    cards = tuple(None if face is None else card(face) for face in pair)
    table.says(CardsDrawn(cards=cards, order_known=order_known))


def judges(table: TableHarness) -> None:
    """The shoe's own result, where by its cards the round is complete."""
    played = table.now.round
    if not table.angel_eye or played is None or any(d.card is None for d in played.cards):
        return
    hands = [played.hand(hand) for hand in HANDS]
    try:
        complete = len(played.cards) > 3 and next_hand(*hands) is None
    except InputRefused:
        return
    if complete and played.result is None:
        ours, theirs = map(total, hands)
        winner = "tie" if ours == theirs else "player" if ours > theirs else "banker"
        pairs = {f"{n}_pair": h[0].rank is h[1].rank for n, h in zip(HANDS, hands, strict=True)}
        table.says(Result(winner=winner, **pairs))


def seen(table: TableHarness) -> object:
    """What the room has seen of the cards."""
    now = table.now
    dealt = () if now.round is None else now.round.cards
    revealed = [(d.hand, d.index, d.card) for d in dealt if d.revealed]
    shown = None if now.shoe is None else now.shoe.shown
    return revealed, shown


def in_public(effects: list[Effect]) -> list[object]:
    """What the room is told, what the person is answered, what the shoe is to be and do."""
    return [public for effect in effects if (public := _public(effect)) is not None]


def _public(effect: Effect) -> object:
    if isinstance(effect, TableEvent):
        if effect.audience is not Audience.PUBLIC:
            return None
        return effect.type, effect.subject, msgspec.json.encode(effect.data)
    if isinstance(effect, Answer):
        said = (effect.accepted, effect.error, effect.needs, effect.halted, effect.asks)
        return (*said, effect.message)
    return effect if isinstance(effect, ShoeCommand | WakeAt) else (type(effect), effect)


def previewed(table: TableHarness, command: str, args: dict[str, Any]) -> object:
    """What anyone is told beforehand of this command."""
    asked = TableCommand(
        t_us=table.t_us, command_id="p", command=command, args=args, person="kim",
        position="gaming_shift_manager",
    )  # fmt: skip
    before = table.now
    found = preview(table.controller, before, asked)
    assert table.now is before
    return msgspec.json.encode([found.answer, found.shown])


def known(table: TableHarness) -> object:
    """What anyone at the table can see of it: its status, as screens show it in each language too,
    its shoe's lock, what is offered; and what its staff see besides.
    """
    now = table.now
    shown = status(now, table.game, table.settings)
    of_staff = staff(now, table.game, table.settings)
    # A table's clock moves on with each input, and one shoe may have judged at one of them.
    if shown["halt"] is not None:
        shown = {**shown, "halt": {**shown["halt"], "since": None}}
    shown = {**shown, "waiting": [{**each, "since": None} for each in shown["waiting"]]}
    of_staff["open"] = [{**each, "since": None} for each in of_staff["open"]]
    of_staff["commands"] = [{**each, "at": None} for each in of_staff["commands"]]
    offered = [(choice.name, choice.by) for choice in stack.offered_choices(at(table))]
    return (
        shown,
        of_staff,
        [[*lines(shown, words=Words(language))] for language in LANGUAGES],
        now.armed,
        now.wake_us,
        offered,
        [opened.step for opened in now.open_irregularities],
    )
