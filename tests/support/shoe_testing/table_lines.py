"""Plays: for each line of a table's tables, a table that stands before it, and the input for it.

In: the name of a message and where the table stands. Out: the table, reached by inputs alone, and
what happens next. Must not know: what follows; the tables under test.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import msgspec

from firmware_proto.cards import card
from firmware_proto.commands import Armed
from firmware_proto.events import (
    Authenticated,
    AuthenticationFailed,
    Button,
    CardDrawn,
    CardOutsideGame,
    CardPushedBack,
    CardsDrawn,
    Challenged,
    CommandUnanswered,
    CuttingCard,
    Discarded,
    Error,
    ErrorCleared,
    Gap,
    HostTraffic,
    KeyRotated,
    Lid,
    Lock,
    PowerLow,
    PowerRestored,
    PresetChanged,
    QueryAnswered,
    Redesignated,
    Repeated,
    Reply,
    ResetDone,
    Result,
    SelfTested,
    ShoeEmpty,
    ShoeEvent,
    ShoeLoaded,
    Standby,
    Started,
    Status,
    Tamper,
    UnknownFirmware,
    Warned,
)
from shoe_ctl.table.inputs import (
    CommandsRefused,
    DeliveryLost,
    DeliveryParked,
    DeliveryRefilled,
    DeliveryTaken,
    DiskChecked,
    DoorNoted,
    HearingLost,
    HearingRestored,
    Input,
    LineResumed,
    LineSuspended,
    NotesRefused,
    NotTold,
    OutcomeApplied,
    ShoeStated,
    StorageRestored,
    Tick,
)
from shoe_ctl.table.wagers.limits import TableLimits
from shoe_ctl.texts.message import message
from shoe_testing.tables import DEVICE, SHIFT, TableHarness, betting_table, place_bet

STAND = "7D 7C TS TH"
BOTH_DRAW = "2D 3C TS TH"
Act = Callable[[TableHarness], object]
ANGEL_EYE: dict[str, Any] = {"angel_eye": True}
BEE_TEK: dict[str, Any] = {"bee_tek": True}
FACE_UP: dict[str, Any] = {"announcements": "explicit", "faces": "face_up"}
IMPLIED: dict[str, Any] = {"announcements": "implied", "faces": "face_up"}
FULL = message("daemon_journal_failed", detail="the disk is full")
PARKED: dict[str, Any] = {
    "sink": "jsonl:-",
    "event": "bac-07/p1",
    "event_type": "round.settled",
    "record": 7,
}
SEEN: dict[str, Any] = {**FACE_UP, "face_up_after_ms": 0}
AT_ONCE: dict[str, Any] = {**IMPLIED, "face_up_after_ms": 0}
"""Announcements are implied, and a card is seen as it is drawn."""


class Play(NamedTuple):
    """A table, and what happens to it next."""

    table: TableHarness
    act: Act


def begun(**given: Any) -> TableHarness:
    """A table that was started; no shoe is connected."""
    table = TableHarness(**given)
    table.restart("b1")
    return table


def idle(**given: Any) -> TableHarness:
    """A shoe is ready; the table knows where it is."""
    table = begun(**given)
    table.open_shoe()
    if table.angel_eye:
        table.play(STAND)
    return table


def standing(state: str, **given: Any) -> TableHarness:
    """A table in this state of an explicit round, without a halt. ``no_shoe``: never a card."""
    if state == "no_shoe":
        table = begun(**given)
        if table.profile == "reference":
            table.connect()
        return table
    table = idle(**given)
    if state == "shoe_change":
        table.does("change_shoe")
    elif state != "idle":
        if not table.settings.implied:
            table.does("place_your_bets")
        if state != "betting":
            _play_to(table, state)
    assert table.now.state == state, table.now.state
    return table


def _play_to(table: TableHarness, state: str) -> None:
    if not table.settings.implied:
        table.does("no_more_bets")
    codes = {"closed": "", "dealing": "2D 3C", "resolved": STAND}.get(state, BOTH_DRAW)
    table.deal(codes)
    if state in ("drawing", "resolved"):
        table.turn_over()
        if not table.settings.implied:
            table.does("announce_totals")
    if state == "resolved":
        if table.angel_eye:
            table.judges()
        table.does("announce_outcome")


def halted(state: str, **given: Any) -> TableHarness:
    """The table halted in this state, for something that nothing which follows is about."""
    table = standing(state, **given)
    if state == "no_shoe":
        table.fails()
    else:
        table.does("declare", key="unshuffled", reason="four sevens in a row")
    return table


def says(event: ShoeEvent) -> Act:
    """The shoe says this."""
    return lambda table: table.says(event)


def happens(make: Callable[[int], Input]) -> Act:
    """This happens, at the table's time."""
    return lambda table: table.feed(make(table.t_us))


def commands(name: str, **more: Any) -> Act:
    """A person gives this command, and it is taken."""
    return lambda table: table.does(name, **more)


def _drawn(table: TableHarness) -> int:
    shoe = table.now.shoe
    return 0 if shoe is None else int(shoe.drawn)


def _has_set(table: TableHarness) -> bool:
    return table.now.shoe is not None


def _error_at_a_card_closed() -> Play:
    # Of a shoe that can replay: at any other, the card that is due is then the unread one.
    return Play(standing("closed"), says(Error(code="E9", place="game")))


def opening_card_table(state: str = "idle") -> TableHarness:
    """A card was drawn early, and ruled to open the next round or this one."""
    table = standing(state)
    table.draw("4C")
    table.rules("first_card")
    return table


def _pushed_back(table: TableHarness) -> Play:
    number = _drawn(table)
    return Play(table, says(CardPushedBack(card=card("4C"), number=number)))


def _held_in(state: str) -> Play:
    """In a halt a card came that lies without a slot; it goes back into the shoe."""
    table = halted(state)
    table.draw("4C", armed=False)
    return _pushed_back(table)


def _pull_left_over(state: str, *, halted_below: bool = False) -> Play:
    """Two cards came as one where none is due, or one too many, and are put in order."""
    if state in ("closed", "revealing"):
        table = standing("closed")
        table.deal("2D 3C TS" if state == "revealing" else "")
        codes = "TH 4C" if state == "revealing" else "2D 3C TS TH 4C"
    else:
        table, codes = standing(state), "4C 5D"
    if halted_below:
        table.does("declare", key="unshuffled", reason="four sevens in a row")
    number = _drawn(table) + 1
    table.says(CardsDrawn(cards=tuple(map(card, codes.split())), number=number, order_known=True))
    table.does("decide", choice="order_from_shoe", position="pit_supervisor", reason="as read")
    if state in ("closed", "revealing"):
        table.does("decide", choice="close_window", position="dealer")
    return Play(table, commands("decide", choice="reconstruct", position="dealer"))


def _unread_in_halt() -> Play:
    """The power is gone with cards open; a card drawn before is reported, and was not read."""
    table = standing("dealing", **FACE_UP)
    table.restart("b2")
    table.connect()
    return Play(table, lambda t: t.says(CardDrawn(card=None, number=3, armed=True)))


def _left_over_behind_an_early_card() -> Play:
    """The shoe objects to a card before the first one, which lies there; then two come as one."""
    table = standing("closed")
    table.says(Error(code="overdraw", in_error_mode=True))
    table.says(CardsDrawn(cards=(card("4C"), card("5D")), number=1, order_known=True))
    table.does("decide", choice="order_from_shoe", position="pit_supervisor", reason="as read")
    table.does("decide", choice="close_window", position="dealer")
    return Play(table, commands("decide", choice="reconstruct", position="dealer"))


def round_at(codes: str, **given: Any) -> TableHarness:
    """A round with these cards dealt, all face down or open as the table is set."""
    table = idle(**given)
    if not table.settings.implied:
        table.does("place_your_bets")
        table.does("no_more_bets")
    table.deal(codes)
    return table


def nearly_empty(left: int, **given: Any) -> TableHarness:
    """A table whose shoe has so many cards left."""
    table = begun(**given)
    table.connect()
    table.hello(resumed=False, set_id="set-1", drawn=8 * 52 - left)
    return table


def next_card(code: str | None = "4C", **more: Any) -> Act:
    """The shoe's next card."""
    return lambda table: table.draw(code, **more)


def corrects(hand: str, index: int, code: str) -> Act:
    """Two people say that an open card is really this one."""
    said: dict[str, Any] = {"reason": "it lies open", "consented_by": "lee", "position": SHIFT}
    return commands("correct_card", hand=hand, index=index, card=code, **said)


def _third_card_due(codes: str) -> TableHarness:
    table = _all_seen(round_at(codes))
    table.does("announce_totals")
    return table


def _announced(codes: str) -> TableHarness:
    """The outcome of a round with these cards is announced."""
    table = round_at(codes)
    table.turn_over()
    if not table.now.round.totals_announced:
        table.does("announce_totals")
    table.does("announce_outcome")
    return table


def _halted_after(table: TableHarness) -> TableHarness:
    table.does("declare", key="unshuffled", reason="four sevens in a row")
    return table


def _drawing_at_once() -> TableHarness:
    """Announcements are implied: Player is to draw a third card."""
    table = idle(**AT_ONCE)
    table.deal(BOTH_DRAW)
    return table


def _wagered(codes: str, table: TableHarness | None = None) -> TableHarness:
    """Ann has a wager on Player; where the deal is complete, the outcome is announced."""
    table = idle() if table is None else table
    table.does("place_your_bets")
    place_bet(table, "player", 500)
    table.does("no_more_bets")
    table.deal(codes)
    if table.now.state == "revealing":
        table.turn_over()
        table.does("announce_totals")
        table.does("announce_outcome")
    return table


def _paused_at_the_end() -> Play:
    table = nearly_empty(1, **IMPLIED)
    table.does("pause", position="surveillance", reason="look")
    table.draw("4C", armed=True)
    return Play(table, commands("resume", position="surveillance"))


def _result_awaited() -> Play:
    """All cards are seen and none is due; a shoe that judges has not judged."""
    table = begun(**ANGEL_EYE, **AT_ONCE)
    table.open_shoe()
    table.deal(STAND)
    return Play(table, TableHarness.judges)


def _hears_again() -> Play:
    table = standing("dealing")
    table.feed(HearingLost(t_us=table.t_us, connection=1))
    return Play(table, happens(lambda t_us: HearingRestored(t_us=t_us, connection=1)))


def _other_cards_in_a_halt() -> TableHarness:
    table = halted("betting")
    table.load("set-2")
    return table


def exposes(*hands: str) -> Act:
    """The dealer exposes these hands."""

    def act(table: TableHarness) -> None:
        for hand in hands:
            table.does("expose", hand=hand)

    return act


def decides(choice: str, **more: Any) -> Act:
    """Whoever may takes this choice."""
    given = {"position": SHIFT, "reason": "as seen", "consented_by": "lee", **more}
    return commands("decide", choice=choice, **given)


def _card_taken(*choices: str, draws: str = "", **given: Any) -> TableHarness:
    """A Player left with a card that nobody knows (5.11), up to these choices."""
    table = round_at(BOTH_DRAW, method="A", **given)
    table.does("pass_cards", hand="player", seat=3)
    table.does("declare", key="card_taken", hand="player", index=1, reason="seat 3 ran")
    table.does("decide", choice="not_known", reason="no camera", consented_by="lee")
    for code in draws.split():
        table.draw(code)
    for choice in choices:
        table.does("decide", choice=choice, consented_by="lee")
    return table


def _shoe_sorted(**given: Any) -> TableHarness:
    return _card_taken("sorted", draws="4C 5D", **given)


def _entered_by_people(card_entered: str | None) -> TableHarness:
    """A card was missed while the link was away; people entered it, and play went on."""
    given = FACE_UP if card_entered is not None else {}
    table = round_at("2D 3C", **given)
    table.disconnect()
    named = {} if card_entered is None else {"card": card_entered}
    decides("enter", **named)(table)
    table.connect()
    decides("play_on")(table)
    return table


def _counted_fewer() -> Play:
    table = round_at("2D 3C")
    table.disconnect()
    decides("enter")(table)
    table.connect()
    return Play(table, lambda t: t.hello(drawn=2))


def _refused_draw(drawn: int, *, armed: int | None = None) -> Play:
    table = round_at("2D 3C")
    table.says(Reply(accepted=False, reason="not_the_next_draw", number=3))
    return Play(table, says(Status(drawn=drawn, unacknowledged=0, armed=armed)))


def _reported_late() -> Play:
    table = round_at("2D 3C")
    table.disconnect()
    table.connect()
    return Play(table, next_card("TS", armed=True))


def _paused(codes: str) -> TableHarness:
    table = round_at(codes)
    table.does("pause", position="surveillance", reason="look at seat 3")
    return table


def _armed_until_now() -> Play:
    table = round_at("2D 3C")
    assert isinstance(table.desired, Armed)
    table.fails()
    return Play(table, next_card("TS", armed=True))


def _ruled_differential() -> Play:
    """The shoe is armed as a wager is found to be too high: main wagers are too far apart then."""
    limits = {"minimum": 100, "maximum": 2000, "differential": 500}
    table = betting_table(limits)
    place_bet(table, "player", 1900)
    place_bet(table, "banker", 1600, player="ben", seat=4)
    table.does("no_more_bets")
    said: dict[str, Any] = {"player": "ann", "seat": 3, "wager": "player", "amount": 2500}
    table.does("declare", key="over_maximum", reason="seen", **said)
    return Play(table, next_card("TS", armed=True))


def _set_aside() -> Play:
    """The second of the two cards is under way as the first, which was shown, was decided on."""
    table = _card_taken(draws="4C")
    assert isinstance(table.desired, Armed)
    table.rules("play_on")
    return Play(table, next_card("5D", armed=True))


def _objected(*, known: bool) -> TableHarness:
    table = standing("revealing", **ANGEL_EYE)
    table.says(Error(code="overdraw", in_error_mode=True))
    if known:
        table.says(CardOutsideGame(card=card("4C"), mode="error"))
    return table


def _opened_by_a_ruling() -> TableHarness:
    """The card to which the shoe had objected opens the next round."""
    table = round_at(STAND, **ANGEL_EYE)
    table.says(Error(code="overdraw", in_error_mode=True))
    table.says(CardOutsideGame(card=card("4C"), mode="error"))
    table.says(ErrorCleared(code="overdraw"))
    table.turn_over()
    table.does("announce_totals")
    table.rules("first_card")
    table.finish()
    table.open_round()
    return table


def _early_card(codes: str = STAND) -> TableHarness:
    """A card was drawn early while the first four lie face down."""
    table = round_at(codes)
    table.draw("4C", armed=False)
    return table


def _all_seen(table: TableHarness) -> TableHarness:
    table.turn_over()
    return table


def _unread(codes: str, **given: Any) -> TableHarness:
    """A round dealt so far; ``?`` is a card that the shoe could not read."""
    table = round_at("", **given)
    for code in codes.split():
        table.draw(None if code == "?" else code)
    return table


def _reset(*, ordered: bool = False) -> TableHarness:
    """A reset is declared, the window closed: the shoe is to be reset."""
    table = begun()
    table.connect(commands=ordered, obeys=("reset",) if ordered else ())
    table.hello(resumed=False)
    table.load()
    table.does("place_your_bets")
    table.does("no_more_bets")
    table.does("declare", key="device_reset", reason="drawn too early")
    table.does("decide", choice="close_window", position="dealer")
    return table


def _reset_of_a_shoe_that_starts() -> TableHarness:
    table = idle(**ANGEL_EYE)
    table.does("place_your_bets")
    table.does("no_more_bets")
    table.does("declare", key="device_reset", reason="drawn too early")
    table.does("decide", choice="close_window", position="dealer")
    return table


def _another_set_waits() -> Play:
    table = standing("closed")
    table.does("declare", key="table_differential", reason="counted")
    table.load("set-2")
    return Play(table, decides("decreased", position="dealer"))


def _cutting_card_first(name: str) -> Play:
    given = {"layout": "A"} if name == "immortal_dragon_tiger" else {}
    table = begun(name=name, area="Paiza Club", **given)
    table.open_shoe()
    table.does("place_your_bets")
    table.does("no_more_bets")
    return Play(table, says(CuttingCard()))


def _cards_seen() -> Play:
    table = standing("dealing", **FACE_UP)
    table.restart("b2")
    return Play(table, happens(lambda t_us: Tick(t_us=t_us + 2_000_000)))


def _result_overdue() -> Play:
    table = round_at(STAND, **ANGEL_EYE)
    table.turn_over()
    table.does("announce_totals")
    return Play(table, happens(lambda t_us: Tick(t_us=t_us + 10_000_000)))


def _judged_too_soon() -> Play:
    """The shoe judges before the cards are seen; they call for a third card."""
    table = round_at(BOTH_DRAW, **ANGEL_EYE)
    table.judges("tie")
    table.turn_over()
    return Play(table, commands("announce_totals"))


def _disputed_outcome() -> Play:
    table = round_at(STAND, **ANGEL_EYE)
    table.judges("player")
    table.turn_over()
    table.does("announce_totals")
    return Play(table, commands("announce_outcome"))


def _differential_exceeded() -> Play:
    limits = {"minimum": 100, "maximum": 2000, "differential": 500}
    table = betting_table(limits)
    place_bet(table, "player", 1000)
    place_bet(table, "banker", 300, player="cho", seat=4)
    return Play(table, commands("no_more_bets"))


def _drawn_together() -> Play:
    table = idle(**IMPLIED)
    pulled = CardsDrawn(cards=(card("2D"), card("3C")), number=1, order_known=True)
    return Play(table, says(pulled))


def _at(state: str, act: Act, **given: Any) -> Callable[[], Play]:
    return lambda: Play(standing(state, **given), act)


def _delivery_taken(state: str = "revealing") -> Play:
    table = standing(state)
    table.feed(DeliveryParked(t_us=table.t_us, public=True, why=FULL, **PARKED))
    return Play(table, happens(lambda t_us: DeliveryTaken(t_us=t_us, **PARKED)))


def _delivery_refilled() -> Play:
    table = standing("revealing")
    table.feed(DeliveryLost(t_us=table.t_us, sink="floor", public=True, first=3, last=9))
    return Play(table, happens(lambda t_us: DeliveryRefilled(t_us=t_us, sink="floor", refused=0)))


def _with_ledger() -> TableHarness:
    """A table whose first round is over, and whose table system reports what it applied."""
    table = idle(applied_within_s=60)
    table.play(STAND)
    return table


def _outcome_applied() -> Play:
    table = _with_ledger()
    (told,) = table.now.told.rounds
    return Play(table, happens(
        lambda t_us: OutcomeApplied(
            t_us=t_us, user="ledger", reference="b-1", round_id=told.round_id, type=told.type,
            told_us=told.told_us, public_id="bac-07/p1", restricted_id="bac-07/r1",
        )
    ))  # fmt: skip


def _shoe_stated() -> Play:
    table = _with_ledger()
    return Play(table, happens(
        lambda t_us: ShoeStated(t_us=t_us, user="ledger", shoe_id=table.now.shoe.id, rounds=())
    ))  # fmt: skip


def _door_noted() -> Play:
    return Play(round_at("2D 3C"), happens(
        lambda t_us: DoorNoted(t_us=t_us, user="shoe-web", event="login.refused", by="pin")
    ))  # fmt: skip


def _notes_refused() -> Play:
    return Play(round_at("2D 3C"), happens(
        lambda t_us: NotesRefused(
            t_us=t_us, user="shoe-web", event="login.refused", count=9, since_us=t_us
        )
    ))  # fmt: skip


def _link_is_back() -> Play:
    table = round_at("2D 3C")
    table.disconnect()
    table.connect()
    return Play(table, lambda t: t.hello(drawn=3))


def _loaded_again() -> Play:
    table = begun()
    table.connect()
    table.hello(resumed=False, set_id="set-1", drawn=3)
    return Play(table, lambda t: t.load("set-1"))


def _missed_round() -> Play:
    """The link of a shoe that cannot replay was away; its next card is not the first of a hand."""
    table = idle(**ANGEL_EYE)
    table.disconnect()
    table.connect()
    return Play(table, says(CardDrawn(card=card("9S"), hand="banker", index=2)))


def _reset_ordered() -> Play:
    table = _reset(ordered=True)
    number = int(table.now.outbox.waiting[-1].number)
    return Play(table, says(ResetDone(command_id=number)))


def _nine_of_a_face() -> Play:
    """An unread card is named as a face that lies in another hand already, of the only one."""
    table = idle(decks=1)
    table.does("place_your_bets")
    table.does("no_more_bets")
    for code in (None, "9D", "TS", "4C"):
        table.draw(code)
    table.does("expose", hand="player")
    return Play(table, decides("enter", card="4C"))


def _nine_as_the_round_ends() -> Play:
    """A round is entered in which a card is that was counted as set aside before."""
    table = begun(**ANGEL_EYE, **IMPLIED, decks=1)
    table.open_shoe()
    table.says(CardOutsideGame(card=card("TS"), mode="lock"))
    table.draw("2D")
    table.fails()
    return Play(
        table,
        commands(
            "enter_round",
            player="2D TS 4C",
            banker="3C TH 5D",
            reason="by hand",
            consented_by="lee",
        ),
    )


def _left_over_is_open() -> Play:
    """Third cards that came as one are ordered by the Pit Manager; the second waits already."""
    table = begun(name="immortal_dragon_tiger")
    table.open_shoe()
    table.does("place_your_bets")
    table.does("no_more_bets")
    table.deal(BOTH_DRAW)
    table.turn_over()
    table.does("announce_totals")
    table.draw("4C")
    table.draw("5D", armed=False)
    table.does("declare", key="double_draw", reason="two in one pull")
    pit: dict[str, Any] = {"position": "pit_manager", "reason": "as they lay"}
    table.does("decide", choice="order_unknown", **pit)
    table.does("decide", choice="lower_first", **pit)
    table.does("decide", choice="close_window", position="dealer")
    return Play(table, commands("decide", choice="reconstruct", position="dealer"))


def _last_card_after_the_deal() -> Play:
    """The shoe's last card came as the table was paused: it completes the initial deal."""
    table = nearly_empty(4)
    table.does("place_your_bets")
    table.does("no_more_bets")
    table.deal("7D 7C TS")
    table.does("pause", position="surveillance", reason="look")
    table.draw("TH", armed=True)
    return Play(table, commands("resume", position="surveillance"))


def _after_a_void(**given: Any) -> TableHarness:
    """A round was void: the question is open whether its cards are replaced."""
    table = round_at("2D 3C TS", **given)
    table.does("declare", key="other", reason="a glass fell over")
    table.rules("void")
    return table


def _pulls(codes: str) -> Act:
    def act(table: TableHarness) -> None:
        faces = tuple(map(card, codes.split()))
        number = _drawn(table) + 1
        table.says(CardsDrawn(cards=faces, number=number, order_known=True))

    return act


def opening_card_table_implied() -> TableHarness:
    """A card of the round before was drawn early, and ruled to open the next one."""
    table = idle(**IMPLIED)
    table.deal(STAND)
    table.draw("4C", armed=False)
    table.turn_over()
    table.rules("first_card")
    return table


def _pending_in(state: str, code: str, **given: Any) -> Play:
    """In a pause a card came on the arm that stood; play resumes."""
    table = idle(**given) if state == "betting" and given else standing(state, **given)
    if table.now.state != state:
        table.does("place_wager", player="ann", seat=3, wager="player", amount=500)
    table.does("pause", position="surveillance", reason="look")
    table.draw(code, armed=True)
    return Play(table, commands("resume", position="surveillance"))


def _change_due() -> Play:
    """A card waits to open the next round; then the last card of the shoe is burned."""
    table = nearly_empty(2)
    table.draw("4C")
    table.rules("first_card")
    return Play(table, next_card("9S", hand="burn", number=None))


def _implied_bets(act: Act) -> Play:
    limits = {"minimum": 100, "maximum": 2000, "differential": 500}
    table = betting_table_implied(limits)
    return Play(table, act)


def betting_table_implied(limits: dict[str, Any]) -> TableHarness:
    """Wagers are too far apart, and announcements are implied."""
    given = {**IMPLIED, "face_up_after_ms": 0, "limits": msgspec.convert(limits, TableLimits)}
    table = idle(**given)
    table.does("place_wager", player="ann", seat=3, wager="player", amount=1000)
    return table


def _open_again() -> TableHarness:
    """Cards were drawn unseen as the shoe had to be reset: they open the round by a ruling."""
    table = round_at("2D 3C")
    table.does("declare", key="device_reset", reason="drawn too early")
    table.does("decide", choice="close_window", position="dealer")
    table.does("decide", choice="device_is_reset", position="dealer")
    table.rules("open_round")
    return table


def _last_card_outside(state: str) -> TableHarness:
    """The last card left the shoe outside of a game, with the round open."""
    table = nearly_empty(1)
    table.does("place_your_bets")
    if state == "closed":
        table.does("no_more_bets")
    table.says(CardOutsideGame(card=card("2D"), mode="lock"))
    return table


def _last_card_in_the_deal() -> Play:
    table = nearly_empty(2)
    table.does("place_your_bets")
    table.does("no_more_bets")
    table.deal("7D")
    return Play(table, next_card("7C"))


def _from_aside() -> Play:
    table = _card_taken("sorted", draws="4C 5D")
    table.does("decide", choice="determined", cards="2D", consented_by="lee")
    table.does("decide", choice="replaced", consented_by="lee")
    table.turn_over()
    return Play(table, commands("announce_totals"))


def _ran_out_at_a_third_card() -> Play:
    table = nearly_empty(4)
    table.does("place_your_bets")
    table.does("no_more_bets")
    table.deal(BOTH_DRAW)
    table.turn_over()
    return Play(table, commands("announce_totals"))


def _complete() -> Play:
    table = round_at(STAND)
    table.turn_over()
    table.does("announce_totals")
    return Play(table, commands("announce_outcome"))


def _last_card_seen() -> Play:
    table = idle(**IMPLIED)
    table.deal(STAND)
    return Play(table, happens(lambda t_us: Tick(t_us=t_us + 5_000_000)))


def _opening_seen() -> Play:
    table = idle(**FACE_UP, face_up_after_ms=0)
    table.does("place_your_bets")
    table.draw("4C")
    table.rules("first_card")
    return Play(table, commands("no_more_bets"))


def _opening_and_wagers() -> TableHarness:
    table = opening_card_table_implied()
    table.does("place_wager", player="ann", seat=3, wager="player", amount=500)
    return table


def _wagers_implied() -> TableHarness:
    table = idle(**IMPLIED)
    table.does("place_wager", player="ann", seat=3, wager="player", amount=500)
    return table


def _early_seen() -> Play:
    table = idle(**IMPLIED)
    table.deal(BOTH_DRAW)
    table.draw("4C", armed=False)
    return Play(table, happens(lambda t_us: Tick(t_us=t_us + 5_000_000)))


def _paused_before(codes: str, code: str) -> Play:
    table = idle(**AT_ONCE)
    table.deal(codes)
    table.does("pause", position="surveillance", reason="look")
    table.draw(code, armed=True)
    return Play(table, commands("resume", position="surveillance"))


def _missed_round_at_the_end() -> Play:
    table = begun(**ANGEL_EYE, decks=1)
    table.open_shoe()
    for _ in range(51):
        table.says(CardDrawn(card=None, hand="burn"))
    return Play(table, says(CardDrawn(card=None, hand="banker", index=2)))


def nearly_empty_betting() -> TableHarness:
    """A round takes bets with one card left."""
    table = nearly_empty(1)
    table.does("place_your_bets")
    return table


def _set_after_a_halt() -> Play:
    table = halted("idle")
    table.load("set-2")
    return Play(table, decides("play_on"))


def _decided_meanwhile() -> Play:
    """Player has a natural: the wagers on it are decided once the room has seen the cards."""
    table = idle(**FACE_UP)
    table.does("place_your_bets")
    table.does("no_more_bets")
    table.deal("9C 2D KD 3H")
    table.restart("b2")
    return Play(table, happens(lambda t_us: Tick(t_us=t_us + 5_000_000)))


def _last_round() -> Play:
    table = standing("resolved")
    table.says(CuttingCard())
    return Play(table, commands("settle"))


def _set_after_a_round() -> Play:
    table = standing("resolved")
    table.load("set-2")
    return Play(table, commands("settle"))


# What happens, by line.

STANDS: Mapping[str, Callable[..., TableHarness]] = {
    "no_shoe": lambda **given: standing("no_shoe", **given),
    "between": lambda **given: standing("idle", **given),
    "betting": lambda **given: standing("betting", **given),
    "closed": lambda **given: standing("closed", **given),
    "cards": lambda **given: standing("revealing", **given),
    "resolved": lambda **given: standing("resolved", **given),
    "halted": lambda **given: halted("betting", **given),
    "halted_closed": lambda **given: halted("closed", **given),
    "halted_cards": lambda **given: halted("revealing", **given),
}
"""Situation → a table in it; the rest are settings of the table."""

ANSWERS: Mapping[str, ShoeEvent] = {
    "error_cleared": ErrorCleared(code="button_mishandled"),
    "discarded": Discarded(reason="bcc"),
    "reply": Reply(accepted=True),
    "lid": Lid(open=False),
    "button": Button(button=2),
    "shoe_empty": ShoeEmpty(drawn=416),
    "self_test": SelfTested(),
    "power_low": PowerLow(percent=3),
    "power_restored": PowerRestored(),
    "unknown_firmware": UnknownFirmware(firmware="9", refused=False),
    "warning": Warned(code="W0x01"),
    "query_answered": QueryAnswered(command_id=1, what="clock"),
    "key_rotated": KeyRotated(key_id=2),
    "command_unanswered": CommandUnanswered(command_id=1, reason="no_reply"),
    "challenged": Challenged(device_id=DEVICE, key_id=1, nonce="00"),
    "authenticated": Authenticated(
        device_id=DEVICE, boot_id=7, key_id=1, host_nonce="00", shoe_nonce="01"
    ),
    "standby": Standby(),
    "lock": Lock(locked=True),
    "preset_changed": PresetChanged(address="01", value="0001"),
    "repeated": Repeated(of="card_drawn"),
}
"""What the shoe says of itself and of orders to it, at any time."""

MESSAGES: Mapping[str, tuple[dict[str, Any], Act]] = {
    "link_lost": ({}, TableHarness.disconnect),
    "link_lost.unheard": (ANGEL_EYE, TableHarness.disconnect),
    "restarted": ({}, TableHarness.restart),
    "restarted.unheard": (ANGEL_EYE, TableHarness.restart),
    "restarted.power": ({}, lambda table: table.restart("b2")),
    "tick": (FACE_UP, happens(lambda t_us: Tick(t_us=t_us + 2_000_000))),
    "hello": ({}, lambda table: table.hello(drawn=_drawn(table) + 2 * _has_set(table))),
    "hello.another_set": ({}, lambda table: table.hello(set_id="set-2", drawn=0, boot=8)),
    "shoe_loaded": ({}, says(ShoeLoaded(set_id="set-2", decks=8))),
    "started": (ANGEL_EYE, says(Started())),
    "gap": ({}, says(Gap(first=7, last=9))),
    "card_outside_game": (ANGEL_EYE, says(CardOutsideGame(card=card("9S"), mode="lock"))),
    "redesignated": (
        ANGEL_EYE,
        says(Redesignated(card=card("9S"), hand="banker", index=1, meaning="next_round")),
    ),
    "result": (ANGEL_EYE, says(Result(winner="tie", player_pair=False, banker_pair=False))),
    "error": ({}, says(Error(code="button_mishandled"))),
    "error.at_a_card": (BEE_TEK, says(Error(code="E9", place="game"))),
    "discarded.a_card": (BEE_TEK, says(Discarded(reason="line"))),
    "lid.opened": ({}, says(Lid(open=True))),
    "tamper": ({}, says(Tamper(what="seal"))),
    "self_test.failed": ({}, says(SelfTested(failed=("sensor",)))),
    "reset_done": ({}, says(ResetDone())),
    "not_genuine": (
        {}, says(AuthenticationFailed(reason="wrong proof", device_id=DEVICE, key_id=1)),
    ),
    "firmware.refused": ({}, says(UnknownFirmware(firmware="9", refused=True))),
    "unforeseen": ({}, says(HostTraffic(command="arm"))),
}  # fmt: skip
"""Message → the settings of the table, and what happens."""

OF_ITS_OWN: Mapping[tuple[str, str], Callable[[], Play]] = {
    ("error.at_a_card", "closed"): _error_at_a_card_closed,
    ("error.at_a_card", "no_shoe"): lambda: Play(
        standing("no_shoe"), MESSAGES["error.at_a_card"][1]
    ),
    ("started", "no_shoe"): lambda: Play(standing("no_shoe"), says(Started())),
    ("hello.another_set", "no_shoe"): lambda: Play(
        standing("no_shoe"), lambda t: t.hello(set_id="set-1", drawn=0)
    ),
    ("hello.another_set", "halted_closed"): lambda: Play(
        halted("closed"), lambda t: t.hello(set_id="set-2", drawn=0)
    ),
    ("card_pushed_back", "no_shoe"): lambda: _pushed_back(standing("no_shoe")),
    ("card_pushed_back", "between"): lambda: _pushed_back(opening_card_table()),
    ("card_pushed_back", "betting"): lambda: _pushed_back(opening_card_table("betting")),
    ("card_pushed_back", "closed"): lambda: Play(
        standing("closed"), says(CardPushedBack(card=None, number=None))
    ),
    ("card_pushed_back", "cards"): lambda: _pushed_back(standing("revealing")),
    ("card_pushed_back", "resolved"): lambda: _pushed_back(standing("resolved")),
    ("card_pushed_back", "halted"): lambda: _held_in("betting"),
    ("card_pushed_back", "halted_closed"): lambda: _held_in("closed"),
    ("card_pushed_back", "halted_cards"): lambda: _pushed_back(halted("revealing")),
    ("left_over", "between"): lambda: _pull_left_over("idle"),
    ("left_over", "betting"): lambda: _pull_left_over("betting"),
    ("left_over", "resolved"): lambda: _pull_left_over("resolved"),
    ("left_over", "halted"): lambda: _pull_left_over("betting", halted_below=True),
    ("left_over", "cards"): lambda: _pull_left_over("revealing"),
    ("left_over", "halted_cards"): lambda: _pull_left_over("revealing", halted_below=True),
    ("left_over", "halted_closed"): _left_over_behind_an_early_card,
}

ALONE: Mapping[str, Callable[[], Play]] = {
    "link_up": lambda: Play(begun(), TableHarness.connect),
    "link_up.first_set": lambda: Play(begun(**ANGEL_EYE), TableHarness.connect),
    "link_lost.shoe_sorted": lambda: Play(_shoe_sorted(), TableHarness.disconnect),
    "line_suspended": _at("revealing", happens(
        lambda t_us: LineSuspended(t_us=t_us, connection=1, wait_s=5)
    )),
    "line_resumed": _at("revealing", happens(lambda t_us: LineResumed(t_us=t_us, unkept=60))),
    "hearing_lost": _at(
        "revealing", happens(lambda t_us: HearingLost(t_us=t_us, connection=1))
    ),
    "hearing_restored": _hears_again,
    "tick.result_overdue": _result_overdue,
    "tick.cards_seen": _cards_seen,
    "fault": _at("revealing", TableHarness.fails),
    "storage_restored": _at("revealing", happens(
        lambda t_us: StorageRestored(t_us=t_us, since_us=t_us - 1, what=FULL)
    )),
    "delivery_parked": _at("revealing", happens(
        lambda t_us: DeliveryParked(t_us=t_us, public=True, why=FULL, **PARKED)
    )),
    "delivery_taken": _delivery_taken,
    "delivery_lost": _at("revealing", happens(
        lambda t_us: DeliveryLost(t_us=t_us, sink="floor", public=True, first=3, last=9)
    )),
    "delivery_refilled": _delivery_refilled,
    "commands_refused": _at("revealing", happens(
        lambda t_us: CommandsRefused(t_us=t_us, user="dora", count=3, since_us=t_us - 1)
    )),
    "disk_checked": _at("revealing", happens(
        lambda t_us: DiskChecked(t_us=t_us, full_us=t_us + 1)
    )),
    "outcome_applied": _outcome_applied,
    "shoe_stated": _shoe_stated,
    "door_noted": _door_noted,
    "notes_refused": _notes_refused,
    "not_told": _at("revealing", happens(
        lambda t_us: NotTold(t_us=t_us, number=1, reason="no_key", why=FULL)
    )),
    "hello.answers_step": _link_is_back,
    "hello.shoe_sorted": lambda: Play(
        _shoe_sorted(), lambda table: table.hello(set_id="set-2", drawn=0, boot=8)
    ),
    "hello.rebooted": _at("revealing", lambda table: table.hello(boot=8)),
    "hello.cards_missed": _at("revealing", lambda table: table.hello(resumed=False, drawn=6)),
    "hello.fewer_cards": _counted_fewer,
    "shoe_loaded.known": _loaded_again,
    "shoe_loaded.shoe_sorted": lambda: Play(_shoe_sorted(), lambda table: table.load("set-2")),
    "started.new_shoe": _at("shoe_change", says(Started()), **ANGEL_EYE),
    "started.answers_step": lambda: Play(_reset_of_a_shoe_that_starts(), says(Started())),
    "set.unlike": _another_set_waits,
    "cutting_card": _at("revealing", says(CuttingCard())),
    "cutting_card.no_shoe": _at("no_shoe", says(CuttingCard())),
    "cutting_card.first": lambda: _cutting_card_first("tiger"),
    "card.no_card": _at("idle", next_card("9S", hand="burn_count", number=None)),
    "card.repeated": lambda: Play(
        round_at("2D 3C", **ANGEL_EYE),
        says(CardDrawn(card=card("3C"), hand="banker", index=1)),
    ),
    "card.disputed": lambda: Play(_entered_by_people("TS"), next_card("9C", number=3)),
    "card.entered": lambda: Play(_entered_by_people("TS"), next_card("TS", number=3)),
    "card.answers_step": lambda: Play(
        _card_taken(), lambda table: table.draw("4C")
    ),
    "card.read_late": lambda: Play(
        _unread("2D ? TS", **ANGEL_EYE),
        says(CardDrawn(card=card("3C"), hand="banker", index=1)),
    ),
    "card.armed_before": _reported_late,
    "card.armed_until_now": _armed_until_now,
    "card.first_in_pause": lambda: Play(_paused(""), next_card(armed=False)),
    "card.undecided_in_pause": lambda: Play(_paused(BOTH_DRAW), next_card(armed=False)),
    "card.in_pause": lambda: Play(_paused("2D 3C"), next_card(armed=False)),
    "card.in_halt": lambda: Play(halted("dealing"), next_card(armed=False)),
    "card.without_shoe": _at("no_shoe", next_card(number=1)),
    "card.unarmed": lambda: Play(round_at("2D 3C"), next_card("TS", armed=False)),
    "card.burned": _at("idle", next_card("9S", hand="burn", number=None)),
    "card.of_missed_round": _missed_round,
    "card.set_aside": _set_aside,
    "card.early_undecided": lambda: Play(round_at(BOTH_DRAW), next_card(armed=False)),
    "card.early": _at("resolved", next_card(armed=False)),
    "card.misfit": lambda: Play(round_at("2D 3C"), next_card("4f")),
    "pull": lambda: Play(
        round_at("2D 3C"),
        says(CardsDrawn(cards=(card("TS"), card("TH")), number=3, order_known=True)),
    ),
    "pull.answers_step": lambda: Play(
        _card_taken(),
        says(CardsDrawn(cards=(card("4C"), card("5D")), number=5, order_known=True, armed=True)),
    ),
    "card_outside_game.objected": lambda: Play(
        _objected(known=False), says(CardOutsideGame(card=card("4C"), mode="error"))
    ),
    "card_outside_game.undecided": _at(
        "revealing", says(CardOutsideGame(card=card("4C"), mode="error", code=2)), **ANGEL_EYE
    ),
    "redesignated.anew": _at(
        "dealing",
        says(Redesignated(card=card("2D"), hand="player", index=1, meaning="dealt_anew")),
        **ANGEL_EYE,
    ),
    "redesignated.early_card": lambda: Play(
        _objected(known=True), says(Redesignated(card=card("4C"), hand="player", index=1))
    ),
    "redesignated.agrees": lambda: Play(
        _opened_by_a_ruling(),
        says(Redesignated(card=card("4C"), hand="player", index=1, meaning="next_round")),
    ),
    "result.forced": _at(
        "revealing",
        says(Result(winner="forced_quit", player_pair=False, banker_pair=False)),
        **ANGEL_EYE,
    ),
    "result.too_soon": _at(
        "dealing", says(Result(winner="tie", player_pair=False, banker_pair=False)), **ANGEL_EYE
    ),
    "error.known": lambda: Play(
        _unread("2D 3C TS ?", **BEE_TEK), says(Error(code="cannot_read", place="game"))
    ),
    "error.overdraw_undecided": _at(
        "revealing", says(Error(code="overdraw", in_error_mode=True)), **ANGEL_EYE
    ),
    "error.overdraw": _at(
        "dealing", says(Error(code="overdraw", in_error_mode=True)), **ANGEL_EYE
    ),
    "error.unread_card": _at("dealing", says(Error(code="cannot_read")), **ANGEL_EYE),
    "error.reverse_run": _at("revealing", says(Error(code="reverse_run"))),
    "status": _at("drawing", says(Status(drawn=4, unacknowledged=0, armed=5))),
    "status.counts_differ": lambda: _refused_draw(1),
    "status.arm_taken": lambda: _refused_draw(2, armed=3),
    "reply.refused": lambda: Play(
        round_at("2D 3C"), says(Reply(accepted=False, reason="locked_by_key", number=3))
    ),
    "reset.answers_step": _reset_ordered,
    "paused": _at("revealing", commands("pause", position="surveillance", reason="look")),
    "irregularity_declared": _at(
        "revealing", commands("declare", key="wrong_player", hand="player", reason="seat 4")
    ),
    "unread_exposed": lambda: Play(_unread("2D ? TS TH"), exposes("banker")),
    "drawn_together": _drawn_together,
    "face_up_first": _at("closed", next_card("2D", face_up=True)),
    "card_unread": lambda: Play(round_at("2D"), next_card(None)),
    "card_unread.shown": _at("dealing", next_card(None), **FACE_UP),
    "one_too_many": _nine_of_a_face,
    "third_card.contested": lambda: Play(
        _all_seen(_objected(known=True)), commands("announce_totals")
    ),
    "third_card.judged": _judged_too_soon,
    "overdrawn": lambda: Play(_all_seen(_early_card()), commands("announce_totals")),
    "overdrawn.after_outcome": lambda: Play(
        _announced("2D 3C TS TH 4C 5D"), corrects("player", 1, "9D")
    ),
    "outcome.disputed": _disputed_outcome,
    "differential_due": _differential_exceeded,
    "count_disagrees": _at("idle", commands("count_remainder", left=3)),
    "left_over.none": _left_over_is_open,
    "opening.none": _at("betting", commands("no_more_bets")),
    "deal.goes_on": _last_card_after_the_deal,
}  # fmt: skip
"""Message, case or finding → a table where it comes up, and what brings it about."""

ROUND: Mapping[tuple[str, str], Callable[[], Play]] = {
    ("no_shoe", "set.admitted"): _at("no_shoe", lambda t: t.load("set-1")),
    ("no_shoe", "set.refused"): _at("no_shoe", lambda t: t.load("set-1", decks=6)),
    ("no_shoe", "set.taken_out"): _at("no_shoe", says(ShoeLoaded(decks=0))),
    ("idle", "place_your_bets"): lambda: Play(_after_a_void(), commands("place_your_bets")),
    ("idle", "first_wager"): lambda: Play(_after_a_void(**IMPLIED), commands(
        "place_wager", player="ann", seat=3, wager="player", amount=500
    )),
    ("idle", "card.in_turn"): lambda: Play(
        opening_card_table_implied(), lambda t: t.draw("9D")
    ),
    ("idle", "pull.opens_round"): lambda: Play(_after_a_void(**IMPLIED), _pulls("TH 9D")),
    ("idle", "cards_placed"): lambda: _pending_in("idle", "4C", **IMPLIED),
    ("idle", "change_shoe"): lambda: Play(opening_card_table(), commands("change_shoe")),
    ("idle", "change_due"): _change_due,
    ("idle", "change_decided"): lambda: Play(
        _after_a_void(), decides("replace_cards", position="pit_supervisor")
    ),
    ("idle", "set.admitted"): lambda: Play(_after_a_void(), lambda t: t.load("set-2")),
    ("idle", "set.refused"): lambda: Play(_after_a_void(), lambda t: t.load("set-2", decks=6)),
    ("idle", "set.taken_out"): lambda: Play(_after_a_void(), lambda t: t.hello(set_id=None)),
    ("betting", "no_more_bets"): _differential_exceeded,
    ("betting", "card.in_turn"): lambda: _implied_bets(next_card("2D")),
    ("betting", "pull.opens_round"): lambda: _implied_bets(_pulls("2D 3C")),
    ("betting", "cards_placed"): lambda: _pending_in("betting", "2D", **IMPLIED),
    ("betting", "deal.ran_out"): lambda: Play(_last_card_outside("betting"), decides("play_on")),
    ("closed", "card.in_turn"): _at("closed", next_card("2D")),
    ("closed", "opening_due"): lambda: Play(
        opening_card_table("betting"), commands("no_more_bets")
    ),
    ("dealing", "correct_card"): lambda: Play(
        round_at("2D 3C", **SEEN), corrects("player", 1, "4D")
    ),
    ("dealing", "card_corrected"): lambda: Play(
        round_at("2D 3C", **SEEN), corrects("player", 1, "4D")
    ),
    ("revealing", "correct_card"): lambda: Play(
        _all_seen(round_at(STAND)), corrects("player", 1, "8D")
    ),
    ("revealing", "card_corrected"): lambda: Play(
        _drawing_at_once(), corrects("player", 1, "9D")
    ),
    ("drawing", "correct_card"): lambda: Play(
        _third_card_due(BOTH_DRAW), corrects("banker", 1, "4S")
    ),
    ("resolved", "correct_card"): lambda: Play(_announced(STAND), corrects("banker", 1, "6C")),
    ("resolved", "card_corrected"): lambda: Play(_announced(STAND), corrects("banker", 1, "6C")),
    ("resolved", "card_corrected.card_due"): lambda: Play(
        _announced("7D 4H TS 3C"), corrects("banker", 1, "2H")
    ),
    ("suspended", "correct_card"): lambda: Play(
        _halted_after(_third_card_due(BOTH_DRAW)), corrects("player", 1, "8D")
    ),
    ("suspended", "card_corrected"): lambda: Play(
        _halted_after(_third_card_due(BOTH_DRAW)), corrects("player", 1, "8D")
    ),
    ("closed", "cards_placed"): lambda: _pending_in("closed", "2D"),
    ("closed", "deal.ran_out"): lambda: Play(_last_card_outside("closed"), decides("play_on")),
    ("dealing", "card.in_turn"): _at("dealing", next_card("TS")),
    ("dealing", "card.fourth"): lambda: Play(round_at("2D 3C TS"), next_card("TH")),
    ("dealing", "deal.ran_out"): _last_card_in_the_deal,
    ("dealing", "cards_placed"): lambda: _pending_in("dealing", "TS"),
    ("revealing", "third_card_due"): lambda: Play(
        _all_seen(round_at(BOTH_DRAW)), commands("announce_totals")
    ),
    ("revealing", "third_card.early"): lambda: Play(
        _all_seen(_early_card(BOTH_DRAW)), commands("announce_totals")
    ),
    ("revealing", "third_card.aside"): _from_aside,
    ("revealing", "third_card.ran_out"): _ran_out_at_a_third_card,
    ("revealing", "outcome_due"): _complete,
    ("drawing", "card.in_turn"): _at("drawing", next_card("4C")),
    ("drawing", "cards_placed"): lambda: _pending_in("drawing", "4C"),
    ("resolved", "settle"): _at("resolved", commands("settle")),
    ("resolved", "round_over"): _last_card_seen,
    ("suspended", "halt_ended"): lambda: Play(halted("dealing"), decides("play_on")),
    ("suspended", "round_voided"): lambda: Play(halted("dealing"), decides("void")),
    ("suspended", "round_over"): _nine_as_the_round_ends,
    ("suspended", "round_entered"): lambda: Play(halted("dealing"), commands(
        "enter_round", player="2D TS 4C", banker="3C TH 5D", reason="by hand", consented_by="lee"
    )),
    ("shoe_change", "declare_new_shoe"): lambda: Play(
        standing("shoe_change", **BEE_TEK), commands("declare_new_shoe")
    ),
    ("shoe_change", "set.admitted"): _at("shoe_change", lambda t: t.load("set-2")),
    ("shoe_change", "set.refused"): _at("shoe_change", lambda t: t.load("set-2", decks=6)),
    ("shoe_change", "set.taken_out"): _at("shoe_change", lambda t: t.hello(set_id=None)),
}  # fmt: skip
"""State and what comes → a table in that state, and what brings it about."""

VARIANTS: Mapping[str, Callable[[], Play]] = {
    "the bets are closed, and the wagers are even": _at("betting", commands("no_more_bets")),
    "the bets are closed, with cards out from before a reset": lambda: Play(
        _open_again(), commands("no_more_bets")
    ),
    "the bets are closed, with an open card ruled to begin the round": _opening_seen,
    "the first card closes the bets, behind one that was ruled to begin the round": lambda: Play(
        _opening_and_wagers(), next_card("9D")
    ),
    "the first card begins the round and is seen at once": lambda: Play(
        idle(**AT_ONCE), next_card("9D")
    ),
    "the first cards came as one, and the wagers are even": lambda: Play(
        _wagers_implied(), _pulls("2D 3C")
    ),
    "a card drawn early is due and seen, and the other hand draws too": _early_seen,
    "the fourth card came in a pause, and all are seen": lambda: _paused_before("7D 7C TS", "TH"),
    "the third card came in a pause, and all are seen": lambda: _paused_before(BOTH_DRAW, "4C"),
    "the last card is drawn outside of the game between rounds": lambda: Play(
        nearly_empty(1), says(CardOutsideGame(card=card("9S"), mode="lock"))
    ),
    "a card is burned as the last one": lambda: Play(
        nearly_empty(1), next_card("9S", hand="burn", number=None)
    ),
    "a card of a missed round is the last one": _missed_round_at_the_end,
    "the last card is drawn outside of the game while bets are open": lambda: Play(
        nearly_empty_betting(), says(CardOutsideGame(card=card("9S"), mode="lock"))
    ),
    "a card comes on the arm of before a halt for the wagers": _ruled_differential,
    "a halt ends with another set in the shoe, and no round is open": _set_after_a_halt,
    "the shoe is exchanged in a halt after the bets": lambda: Play(
        halted("closed"), lambda table: table.hello(set_id="set-2", drawn=0, boot=8)
    ),
    "the cutting card comes first in Immortal": lambda: _cutting_card_first(
        "immortal_dragon_tiger"
    ),
    "cards that lie open decide a wager while the power is away": _decided_meanwhile,
    "the round is over, and the cutting card is out": _last_round,
    "the last card of the shoe came in a pause between rounds": _paused_at_the_end,
    "the first card of the round is seen at once": lambda: Play(
        round_at("", **SEEN), next_card("9D")
    ),
    "other cards are called for after a void round": lambda: Play(
        _after_a_void(), commands("change_shoe")
    ),
    "the host loses its power with a wager decided": lambda: Play(
        standing("drawing"), lambda table: table.restart("b2")
    ),
    "the shoe has its own cards again in a halt": lambda: Play(
        _other_cards_in_a_halt(), TableHarness.hello
    ),
    "the third card is seen at once": lambda: Play(_drawing_at_once(), next_card("4C")),
    "the first card begins a round after a void one": lambda: Play(
        _after_a_void(**IMPLIED), next_card("9D")
    ),
    "the result of the shoe was all that was missing": _result_awaited,
    "a card is reported twice after the deal": lambda: Play(
        round_at(BOTH_DRAW, **ANGEL_EYE),
        says(CardDrawn(card=card("3C"), hand="banker", index=1)),
    ),
    "a sink takes an event between rounds": lambda: _delivery_taken("idle"),
    "the place of a card drawn early is reported in a halt": lambda: Play(
        _halted_after(_objected(known=True)),
        says(Redesignated(card=card("4C"), hand="player", index=1)),
    ),
    "a round with wagers is settled": lambda: Play(_wagered(STAND), commands("settle")),
    "a shoe that sends nothing again is lost with its cards sorted": lambda: Play(
        _shoe_sorted(**ANGEL_EYE), TableHarness.disconnect
    ),
    "the shoe reads an unread card in a halt": lambda: Play(
        _halted_after(_unread("2D ? TS", **ANGEL_EYE)),
        says(CardDrawn(card=card("3C"), hand="banker", index=1)),
    ),
    "a round with wagers is void": lambda: Play(_halted_after(_wagered("2D")), decides("void")),
    "a round with wagers is void for an empty shoe": lambda: Play(
        _wagered("7D", table=nearly_empty(2)), next_card("7C")
    ),
    "a round ends while another set waits": _set_after_a_round,
}


def play_message(message: str, situation: str) -> Play:
    """Return the table in this situation, and the message."""
    own = OF_ITS_OWN.get((message, situation))
    if own is not None:
        return own()
    given, act = MESSAGES[message]
    return Play(STANDS[situation](**given), act)


def play_message_in(message: str, state: str) -> Play:
    """Return the table in this state, and the message."""
    given, act = MESSAGES[message]
    return Play(standing(state, **given), act)


def play_answer(message: str, situation: str) -> Play:
    """Return the table in this situation, and what the shoe says of itself there."""
    return Play(STANDS[situation](), says(ANSWERS[message]))
