"""Tables brought to a situation that several tests want, and what their staff do there.

In: cards, a method, what is declared. Out: the table at that step, and what it told.
"""

from __future__ import annotations

from typing import Any

import msgspec

from firmware_proto.bee_tek.profile import CAPABILITIES as BEE_TEK
from firmware_proto.cards import card
from firmware_proto.commands import Armed
from firmware_proto.events import (
    CardOutsideGame,
    CardsDrawn,
    Error,
    ErrorCleared,
    KeyRotated,
    QueryAnswered,
    Reply,
    ResetDone,
    SelfTested,
)
from firmware_proto.reference.settings import CAPABILITIES as REFERENCE
from firmware_proto.session import Capabilities
from shoe_ctl.cli.table_view import lines
from shoe_ctl.records import Audience
from shoe_ctl.table.effects import Effect, ShoeCommand
from shoe_ctl.table.procedures import stack
from shoe_ctl.table.status import status
from shoe_testing.event_check import OwnData
from shoe_testing.generators import OfferingTable
from shoe_testing.table_corpus import WAYS, goes_on
from shoe_testing.tables import (
    BOTH_DRAW,
    SHIFT,
    TableHarness,
    betting_table,
    cards,
    dealt_table,
    place_bet,
)

THIRD_CARDS_DRAWN = "2D 3C TS TH"  # each hand wants a third card
NO_THIRD_CARD = "7D 7C TS TH"


def face_down_table(codes: str, *, way: int = 0, **more: Any) -> TableHarness:
    table = TableHarness(**{**WAYS[way], **more}).open_shoe()
    table.open_round()
    table.deal(codes)
    return table


def reveal_all(table: TableHarness) -> None:
    table.turn_over()
    if not table.settings.implied and not table.now.round.totals_announced:
        table.does("announce_totals")


def object_to_card(table: TableHarness, code: str = "4C") -> None:
    """What an angel_eye says of a card that its own judging has no place for."""
    table.says(Error(code="overdraw", in_error_mode=True))
    table.says(CardOutsideGame(card=card(code), mode="error"))
    table.says(ErrorCleared(code="overdraw"))


def early_card_ends(table: TableHarness) -> list[tuple[str, str | None]]:
    told = table.told("irregularity.resolved")
    return [(d["how"], d["rule"]) for d in told if d["key"] == "drawn_early"]


SHOE_COMMANDS = {
    "reset_shoe": "reset",
    "test_shoe": "self_test",
    "ask_shoe": "query",
    "clear_error": "clear_error",
    "rotate_key": "rotate_key",
    "show_on_shoe": "show",
}
"""Each command of the table with what the shoe is told by it."""


def commanded_table(
    can: Capabilities = REFERENCE, *, commands: bool = True, **more: Any
) -> TableHarness:
    """A table between rounds, whose shoe can do this."""
    table = TableHarness(angel_eye=can.judges, bee_tek=can is BEE_TEK, **more)
    commanded_again(table, can, commands=commands)
    if table.profile == "reference":
        table.load()
    elif can is BEE_TEK:
        table.does("align")
    return table


def commanded_again(
    table: TableHarness, can: Capabilities = REFERENCE, *, commands: bool = True
) -> None:
    """The link comes up, and a shoe that names itself says hello."""
    table.connect(
        commands=commands and bool(can.obeys),
        obeys=can.obeys,
        tells=can.tells,
        authenticated=can.authenticated,
    )
    if can.replay:
        table.hello(resumed=table.now.shoe is not None)


def shoe_commands_sent(table: TableHarness, command: str | None = None) -> list[ShoeCommand]:
    """What the shoe was told, but for the time."""
    told = [e for e in table.effects if isinstance(e, ShoeCommand)]
    return [c for c in told if c.command == command or (not command and c.command != "set_time")]


def restricted_events(table: TableHarness, kind: str) -> list[dict[str, Any]]:
    """The data of these events as the restricted stream has it."""
    return [OwnData(e.restricted_data or e.data) for e in table.events if e.type == kind]


def accept(number: int) -> Reply:
    return Reply(accepted=True, command_id=number)


COMMAND_DONE: dict[str, Any] = {
    "reset": lambda number: ResetDone(command_id=number),
    "self_test": lambda number: SelfTested(failed=(), command_id=number),
    "query": lambda number: QueryAnswered(command_id=number, what="battery", value=83),
    "rotate_key": lambda _: KeyRotated(key_id=2),
}
"""What a reference shoe says when it has done it."""

COMMAND_ARGS: dict[str, dict[str, Any]] = {
    "ask_shoe": {"what": "battery"},
    "rotate_key": {"key_id": 2},
    "show_on_shoe": {"text": "NEW SHOE"},
}

CARD_TAKEN_GAMES = [
    "immortal_dragon_tiger",
    "dragon_tiger_no_commission",
    "tiger",
    "fa_fa_fabulous_4",
]
EYES = "surveillance"
PIT_SUPERVISOR = "pit_supervisor"


def card_taken_table(codes: str = BOTH_DRAW, method: str = "A", **more: Any) -> TableHarness:
    """Seat 3 has left with Player's first card, or with what is said."""
    table = dealt_table(codes=codes, method=method, name=more.pop("name", "tiger"))
    if method != "B":
        table.does("pass_cards", hand="player", seat=3)
    said = more or {"hand": "player", "index": 1}
    table.does("declare", key="card_taken", reason="seat 3 ran", **said)
    return table


def decide_with_consent(
    table: TableHarness, choice: str, position: str = SHIFT, **more: Any
) -> None:
    table.does("decide", choice=choice, position=position, consented_by="lee", **more)


def set_two_aside(table: TableHarness, codes: str = "4C 5D") -> TableHarness:
    """Nobody knows the value, and two cards lie aside."""
    decide_with_consent(table, "not_known", reason="no camera saw it")
    for code in codes.split():
        table.draw(code)
    return table


def count_decks(table: TableHarness, cards: str = "2D", **more: Any) -> TableHarness:
    decide_with_consent(table, "sorted")
    decide_with_consent(table, "determined", cards=cards, **more)
    return table


def open_step(table: TableHarness) -> dict[str, Any]:
    kinds = ("irregularity.raised", "irregularity.step")
    return next(e.data for e in reversed(table.public) if e.type in kinds)


def opinions(table: TableHarness) -> list[dict[str, Any]]:
    return [d for d in table.told("irregularity.step", Audience.RESTRICTED) if "cards" in d]


def last_resolved(table: TableHarness) -> dict[str, Any]:
    return table.told("irregularity.resolved")[-1]


def finish_round(table: TableHarness) -> None:
    """The dealer turns over what lies face down, and the round comes to its end."""
    table.turn_over()
    table.does("announce_totals")
    while table.now.state == "revealing" and not table.now.round.all_revealed:
        table.turn_over()
    table.does("announce_outcome")
    table.does("settle")


def overdraw_table(table: TableHarness) -> OfferingTable:
    return OfferingTable(table.now, table.game, table.settings)


DOUBLE_DRAW_GAMES = (
    "immortal_dragon_tiger",
    "dragon_tiger_no_commission",
    "tiger",
    "fa_fa_fabulous_4",
)
ELEMENT_NAMES = str.maketrans("DCSH", "fgew")
"""A card of the same rank in the other deck, suit for element."""


def pulled_table(
    before: str, together: str, *, known: bool, way: int = 0, **more: Any
) -> TableHarness:  # fmt: skip
    table = TableHarness(**{**WAYS[way], **more})
    open_shoe(table)
    if not table.settings.implied:
        table.does("place_your_bets")
        table.does("place_wager", player="ann", seat=1, wager="player", amount=100)
        table.does("no_more_bets")
    table.deal(of_deck(table, before))
    pull_cards(table, together, known=known)
    return table


def open_shoe(table: TableHarness) -> None:
    if table.game.deck.name == "french52":
        table.open_shoe()
        return
    table.connect()
    table.hello(resumed=False, deck=table.game.deck.name)
    table.load()


def of_deck(table: TableHarness, codes: str) -> str:
    return codes if table.game.deck.name == "french52" else codes.translate(ELEMENT_NAMES)


def pull_cards(table: TableHarness, codes: str, *, known: bool) -> None:
    number = table.now.shoe.drawn + 1
    faces = tuple(cards(of_deck(table, codes)))
    table.says(CardsDrawn(cards=faces, number=number, order_known=known))
    assert table.key == "double_draw"


def offered_choices(table: TableHarness) -> list[str]:
    return [choice.name for choice in stack.offered_choices(overdraw_table(table))]


def slots_of(table: TableHarness) -> list[tuple[str, int, str | None]]:
    return [(d.hand, d.index, d.card and d.card.code) for d in table.now.round.cards]


def decide_double_draw(table: TableHarness, choice: str, position: str, **more: str) -> None:
    table.does("decide", choice=choice, position=position, **{"reason": "as seen", **more})


def on_hand(table: TableHarness) -> None:
    """One step towards the next round, by staff who hand the cards and the shoe as they must."""
    now = table.now
    if now.state == "closed" and not isinstance(table.desired, Armed):
        table.does("relinquish_shoe")
        return
    if now.state == "revealing" and not now.round.all_revealed:
        order = ("banker", "player") if now.round.hands.first == "banker" else ("player", "banker")
        down = [d.hand for d in now.round.cards if not d.revealed]
        hand = next(name for name in order if name in down)
        if not table.asks("expose", hand=hand).accepted:
            table.does("pass_cards", hand=hand)
        return
    goes_on(table)


def declare(table: TableHarness, key: str) -> None:
    table.does("declare", key=key, reason="seen by the dealer")


ON_A_FELT: dict[str, Any] = {"announcements": "explicit"}


def wagered_table(codes: str = "7D", **given: Any) -> TableHarness:
    """Ann has two wagers, Bo one; the power fails with these cards on the table."""
    table = betting_table(**(ON_A_FELT | given))
    place_bet(table, "player", 500)
    place_bet(table, "tie", 100)
    place_bet(table, "banker", 300, player="bo", seat=4)
    table.does("no_more_bets")
    table.deal(codes)
    declare(table, "power_failure")
    return table


def withdrawal_table(**given: Any) -> TableHarness:
    table = wagered_table(**given)
    table.does("decide", choice="offer_withdrawal", position="dealer")
    return table


FACE_DOWN: dict[str, Any] = {"announcements": "explicit", "faces": "turned_by_dealer"}


def voided_table(name: str = "tiger", **given: Any) -> TableHarness:
    table = TableHarness(name=name, **(FACE_DOWN | given)).open_shoe()
    table.open_round()
    table.deal("2D 3C TS")
    declare(table, "other")
    table.rules("void")
    return table


def told_in_public(effect: Effect) -> bytes:
    """An effect's bytes: events as they are journaled, the rest by their fields."""
    return msgspec.json.encode((type(effect).__name__, effect), order="deterministic")


def public_bytes(table: TableHarness) -> list[tuple[Any, ...]]:
    return [(e.type, e.subject, msgspec.json.encode(e.data)) for e in table.public]


REVIEW_WATCHES = "surveillance"


def review_table(codes: str = "2D 3C TS", way: int = 0) -> TableHarness:
    table = TableHarness(**WAYS[way]).open_shoe()
    table.open_round()
    table.deal(codes)
    return table


def pause(table: TableHarness, position: str = REVIEW_WATCHES) -> None:
    table.does("pause", position=position, reason="look at seat 3")


def resume(table: TableHarness, position: str = REVIEW_WATCHES) -> None:
    table.does("resume", position=position)


def shown_status(table: TableHarness) -> str:
    told = lines(status(table.now, table.game, table.settings))
    return " ".join(" ".join(told).split())


DIFFERENTIAL_LIMITS: dict[str, Any] = {"minimum": 100, "maximum": 2000, "differential": 500}
UNEVEN_STAKES = (("ann", 1, "player", 1000), ("ben", 2, "player", 600), ("cho", 3, "banker", 300))


def exceeded_table(game: str = "tiger", method: str = "B") -> TableHarness:
    """No more bets: Player 1600 against Banker 300, where 500 is allowed."""
    table = betting_table(DIFFERENTIAL_LIMITS, name=game, method=method)
    for player, seat, wager, amount in UNEVEN_STAKES:
        table.does("place_wager", player=player, seat=seat, wager=wager, amount=amount)
    table.does("place_wager", player="dan", seat=4, wager="tie", amount=900)
    table.does("no_more_bets")
    return table


def decide_differential(
    table: TableHarness, choice: str, who: str = "", *amount: int, **more: Any
) -> None:
    wager = next((w for w in UNEVEN_STAKES if w[0] == who), None)
    if wager is not None:
        more |= {"player": who, "seat": wager[1], "wager": wager[2]}
    more |= {"amount": amount[0]} if amount else {}
    table.does("decide", choice=choice, **{"position": "dealer", **more})
