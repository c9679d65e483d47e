"""Inputs to try: what the shoe can say, what can be asked, and what leads in and out of a halt.

In: a table as it stands. Out: inputs, and answers that people may give, from their form alone.
"""

from __future__ import annotations

import itertools
import typing
from collections.abc import Iterator
from typing import Any

import msgspec

from firmware_proto.cards import CARDS, card
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
    Hello,
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
from shoe_ctl.errors import InputRefused
from shoe_ctl.games.game import Game
from shoe_ctl.games.table_of_play import next_hand
from shoe_ctl.table import cases, commands, positions, transitions
from shoe_ctl.table.arguments import NoArgs
from shoe_ctl.table.entered_rounds import HANDS, ORDER
from shoe_ctl.table.inputs import (
    CommandsRefused,
    DeliveryLost,
    DeliveryParked,
    DeliveryRefilled,
    DeliveryTaken,
    DiskChecked,
    DoorNoted,
    Fault,
    HearingLost,
    HearingRestored,
    Input,
    LineResumed,
    LineSuspended,
    LinkLost,
    LinkUp,
    NotesRefused,
    NotTold,
    OutcomeApplied,
    Restarted,
    ShoeSaid,
    ShoeStated,
    StorageRestored,
    TableCommand,
    Tick,
)
from shoe_ctl.table.irregularities.catalog import PROCEDURES
from shoe_ctl.table.procedures import stack
from shoe_ctl.table.settings import TableSettings
from shoe_ctl.table.state import TableState, next_slot
from shoe_ctl.table.turn import TableView
from shoe_ctl.table.wagers.declared import RECORDED
from shoe_ctl.texts.message import message
from shoe_testing.table_corpus import DECLARED_WITH
from shoe_testing.tables import DEVICE, restarted

PLAYERS = ("ann", "ben")
SEATS = (3, 5)
WAGER = ("player", "seat", "wager")
MOST_CARDS = 6
"""More cards are never named at once: two hands of three."""


class OfferingTable(TableView):
    """A table for whoever only reads it, with every procedure."""

    def __init__(self, now: TableState, game: Game, settings: TableSettings) -> None:
        super().__init__(now, game, settings, PROCEDURES)


def decisions(at: OfferingTable) -> Iterator[dict[str, Any]]:
    """Each choice that is offered now: its arguments, and the lowest position that takes it."""
    for choice in stack.offered_choices(at):
        position = stack.lowest_position(choice, at.game)
        for args in filled(at, choice.arguments):
            by = positions.who_decides(at.game) if args.get("against_reading") else position
            yield {"choice": choice.name, "position": by, **args}


def declarations(at: OfferingTable) -> Iterator[dict[str, Any]]:
    """Each irregularity that is declared at all, in each way."""
    for key, procedure in PROCEDURES.items():
        if procedure.declared is not None:
            for args in filled(at, procedure.declared.takes):
                yield {"key": key, "position": procedure.declared.by, **args}


def retractions(at: OfferingTable) -> Iterator[dict[str, Any]]:
    """Each declaration that people may take back."""
    yield from ({"declaration": one.number} for one in at.now.declarations)


def corrections(at: OfferingTable, faces: int = 3) -> Iterator[dict[str, Any]]:
    """Each open card as really another one: low, middling, high by its place."""
    played = at.now.round
    opened = [] if played is None else [dealt for dealt in played.cards if dealt.revealed]
    for number, dealt in enumerate(opened):
        spare = [code for code in spares(at) if dealt.card is None or code != dealt.card.code]
        for face in range(faces):
            code = spare[(3 * number + 4 * face) % min(13, len(spare))] if spare else "AS"
            yield {"hand": dealt.hand, "index": dealt.index, "card": code}


def found_on_the_layout(at: OfferingTable) -> Iterator[dict[str, Any]]:
    """What may be declared of wagers that lie there: more than the maximum, or some of it late."""
    for held in at.now.wagers.standing:
        of = {"player": held.player, "seat": held.seat, "wager": held.wager}
        most = at.settings.limits.of(held.wager)[1]
        if most is not None:
            lies = max(most, held.chips) + 1
            yield {"key": "over_maximum", "position": "dealer", **of, "amount": lies}
        yield {"key": "late_wager", "position": "dealer", **of, "amount": 100}


def filled(at: OfferingTable, kind: type[NoArgs]) -> Iterator[dict[str, Any]]:
    """Each way to fill in what is taken beside the choice or the key; what may be left out, is."""
    fields = [f for f in msgspec.structs.fields(kind) if f.name not in ("choice", "key")]
    names = [f.name for f in fields]
    if set(WAGER) <= set(names):
        yield from _of_wagers(at, names)
        return
    ways = [([None] if not f.required else []) + list(_values(at, f.name, f.type)) for f in fields]
    for values in itertools.product(*ways):
        given = zip(names, values, strict=True)
        yield {name: value for name, value in given if value is not None}


def _of_wagers(at: OfferingTable, names: list[str]) -> Iterator[dict[str, Any]]:
    """Each wager that lies there, and a new one, by little or by much."""
    lying = [(w.player, w.seat, w.wager, w.amount) for w in at.now.wagers.standing]
    for player, seat, wager, amount in lying or [(PLAYERS[0], SEATS[0], "player", 0)]:
        of = dict(zip(WAGER, (player, seat, wager), strict=True))
        if "amount" not in names:
            yield of
            continue
        for some in sorted({1, 100, 400, amount // 2, amount} - {0}):
            yield {**of, "amount": some}


def _values(at: OfferingTable, name: str, kind: Any) -> Iterator[Any]:
    literals = [typing.get_args(kind), *map(typing.get_args, typing.get_args(kind))]
    strings = [value for values in literals for value in values if isinstance(value, str)]
    match name:
        case "card":
            yield from spares(at)[:1]
        case "player":
            yield from dict.fromkeys((*(w.player for w in at.now.wagers.standing), PLAYERS[0]))
        case "seat":
            yield from dict.fromkeys((*(w.seat for w in at.now.wagers.standing), SEATS[0]))
        case "index":
            yield from (1, 2, 3)
        case _ if strings:
            yield from strings
        case _ if bool in (kind, *typing.get_args(kind)):
            yield True
        case _:  # as many cards as are asked for
            spare = spares(at)
            yield from (" ".join(spare[:n]) for n in range(1, MOST_CARDS + 1) if len(spare) >= n)


def hands_to_rule_on(at: OfferingTable) -> Iterator[dict[str, object]]:
    """Hands that the Table of Play does not give: all cards differ in points."""
    left = {card(code).points: code for code in spares(at)}
    if {0, 2, 3, 7} <= left.keys():
        first, second = f"{left[2]} {left[0]}", f"{left[7]} {left[3]}"
        yield {"player": first, "banker": second}
        yield {"player": second, "banker": first}


def spares(at: OfferingTable) -> list[str]:
    """Cards that the shoe still holds, each of another face."""
    shoe, faces = at.now.shoe, [card.code for card in at.game.deck.cards]
    if shoe is None:
        return faces
    return [code for code in faces if shoe.counts.get(code, 0) < shoe.decks]


FACTS = (
    "link_up",
    "link_lost",
    "line_suspended",
    "line_resumed",
    "hearing_lost",
    "hearing_restored",
    "restarted",
    "tick",
    "not_told",
    "fault",
    "storage_restored",
    "delivery_parked",
    "delivery_taken",
    "delivery_lost",
    "delivery_refilled",
    "commands_refused",
    "disk_checked",
    "outcome_applied",
    "shoe_stated",
    "door_noted",
    "notes_refused",
)
KINDS = (
    LinkUp, LinkLost, LineSuspended, LineResumed, HearingLost, HearingRestored, Restarted, Tick,
    NotTold, Fault, StorageRestored,
    DeliveryParked, DeliveryTaken, DeliveryLost, DeliveryRefilled, CommandsRefused, DiskChecked,
    OutcomeApplied, ShoeStated, DoorNoted, NotesRefused,
)  # fmt: skip
NAMES = dict(zip(KINDS, FACTS, strict=True))
Tried = tuple[str, Input]
WAGER_COMMANDS = ("place_wager", "increase_wager", "decrease_wager", "withdraw_wager")


def hello(**more: object) -> Hello:
    fields = {"device_id": DEVICE, "boot_id": 7, "deck": "french52", "decks": 8, **more}
    return Hello(firmware="1", **fields)  # type: ignore[arg-type]


EVENTS_TRIED: tuple[ShoeEvent, ...] = (
    hello(), hello(set_id="set-1", resumed=True), hello(set_id="set-1", boot_id=8, drawn=9),
    hello(set_id="set-2"), hello(set_id="set-2", decks=6), hello(set_id="set-1", drawn=99),
    Started(), Standby(), ShoeLoaded(set_id="set-1"), ShoeLoaded(set_id="set-9", decks=8),
    ShoeLoaded(set_id="set-9", decks=4),
    CardDrawn(card=card("9S")), CardDrawn(card=None), CardDrawn(card=card("4f")),
    *(CardDrawn(card=card("9S"), number=n, armed=a) for n in (1, 4, 6, 20) for a in (True, False)),
    *(CardDrawn(card=card("9S"), number=n, armed=True, face_up=True) for n in (1, 2, 4)),
    *(CardDrawn(card=card("9S"), hand=h, index=i) for h in ("player", "banker") for i in (1, 2, 3)),
    *(CardDrawn(card=card("9S"), hand=h) for h in ("burn", "first_card", "burn_count")),
    Redesignated(card=None, hand="player"), CardOutsideGame(card=card("9S"), mode="lock"),
    CuttingCard(), Result(winner="tie", player_pair=False, banker_pair=False),
    Result(winner="forced_quit", player_pair=False, banker_pair=False),
    Error(code="cannot_read"), Error(code="overdraw", in_error_mode=True),
    ErrorCleared(code="overdraw"), ErrorCleared(code="cannot_read"), Lock(locked=True),
    PresetChanged(address="01", value="0001"), Reply(accepted=False), Gap(first=1, last=2),
    Status(drawn=9, unacknowledged=0), Repeated(of="card_drawn"), Discarded(reason="bcc"),
    CardsDrawn(cards=(card("9S"), None), number=4, order_known=True),
    CardsDrawn(cards=(card("9S"), card("4f"), card("9S")), order_known=False, armed=False),
    CardPushedBack(card=card("9S"), number=4), Lid(open=True), Lid(open=False), Tamper(what="seal"),
    Button(button=1), ShoeEmpty(drawn=416), SelfTested(), SelfTested(failed=("sensor",)),
    PowerLow(percent=3), PowerRestored(), ResetDone(command_id=1), KeyRotated(key_id=2),
    QueryAnswered(command_id=1, what="clock"), Challenged(device_id=DEVICE, key_id=1, nonce="00"),
    Authenticated(device_id=DEVICE, boot_id=7, key_id=1, host_nonce="00", shoe_nonce="01"),
    AuthenticationFailed(reason="wrong proof", device_id=DEVICE, key_id=1),
    *(UnknownFirmware(firmware="1", refused=refused) for refused in (True, False)),
    Warned(code="W0x01"), CommandUnanswered(command_id=1, reason="no_reply"),
    HostTraffic(command="arm"),  # said by a host, heard in recordings only: no row names it
)  # fmt: skip
CHOICES = (
    *dict.fromkeys(c.name for p in PROCEDURES.values() for s in p.steps for c in s.choices),
    "toss_a_coin",
)
ASKED: tuple[tuple[str, dict[str, Any]], ...] = (
    *((command, {}) for command in commands.COMMANDS),
    *((command, {"hand": "player", "seat": 3}) for command in ("pass_cards", "name_holder")),
    *((command, {"hand": "banker"}) for command in ("refuse_cards", "set_first_hand")),
    ("allow_squeeze", {"hand": "banker", "designee": "eve"}),
    *((command, {"seat": 3}) for command in ("offer_shoe", "allow_without_wager")),
    ("change_method", {"method": "A"}), ("change_method", {"method": "C"}),
    ("expose", {"hand": "player"}), ("expose", {"hand": "banker", "index": 2}),
    *(("decide", {"choice": r}) for r in CHOICES),
    *((c, {"player": "ann", "seat": 1, "wager": "tie", "amount": 5}) for c in WAGER_COMMANDS),
    ("restrict_wagers", {"number": 2}), ("retract", {"declaration": 1}),
    ("correct_card", {"hand": "player", "index": 1, "card": "9S"}),
    ("record_shoe", {"shuffle": "machine", "cut": "ann", "burn": 1, "same_backs": True}),
    ("count_remainder", {"left": 3}), ("count_remainder", {"cards": "9S 4f"}),
    *(("declare", {"key": key, **DECLARED_WITH.get(key, {})})
      for key in (*PROCEDURES, *RECORDED, "bad_luck")),
    *(("declare", {"key": key, "player": "ann", "seat": 1, "wager": "tie", "amount": 5})
      for key in RECORDED),
)  # fmt: skip


def facts(t_us: int) -> Iterator[Input]:
    for own, names in ((True, False), (False, True), (False, False)):
        yield LinkUp(
            t_us=t_us, connection=2, profile="x", arm=own, replay=own, judges=names,
            names_hands=names,
        )  # fmt: skip
    yield LinkLost(t_us=t_us, connection=2, reason="unplugged")
    yield LineSuspended(t_us=t_us, connection=2, wait_s=5)
    yield LineResumed(t_us=t_us, unkept=60_000)
    yield HearingLost(t_us=t_us, connection=2)
    yield HearingRestored(t_us=t_us, connection=2)
    yield restarted(t_us, host_boot="b1")
    yield restarted(t_us, host_boot="b9")
    yield restarted(t_us, host_boot="b1", reopened=True)
    yield Tick(t_us=t_us)
    yield Tick(t_us=t_us + 60_000_000)
    why = message("shoe_not_told", detail="the key file has no such key")
    yield NotTold(t_us=t_us, number=1, reason="no_key", why=why)
    yield Fault(t_us=t_us, where="ShoeSaid", what="KeyError: 9S")
    why = message("daemon_sink_refused", detail="too long")
    parked = {"sink": "jsonl:-", "event_type": "round.settled"}
    yield DeliveryParked(t_us=t_us, public=True, event="bac-07/p1", record=7, why=why, **parked)
    taken = {"sink": "jsonl:-", "event": "bac-07/p1", "event_type": "round.settled"}
    yield DeliveryTaken(t_us=t_us, record=7, **taken)
    yield DeliveryLost(t_us=t_us, sink="nats:floor", public=True, first=1, last=7)
    yield DeliveryRefilled(t_us=t_us, sink="nats:floor", refused=0)
    yield CommandsRefused(t_us=t_us, user="dora", count=3, since_us=t_us - 1)
    yield DiskChecked(t_us=t_us, full_us=t_us + 3_600_000_000)
    yield from reports(t_us)
    yield StorageRestored(
        t_us=t_us,
        since_us=t_us - 1,
        what=message("daemon_journal_failed", detail="the disk is full"),
    )


def reports(t_us: int) -> Iterator[Input]:
    """What a table system reports: of a round that may be there, and of its shoe."""
    yield OutcomeApplied(
        t_us=t_us, user="ledger", reference="b-1", round_id="bac-07-s1-r1", type="round.outcome",
        told_us=t_us, public_id="bac-07/p1", restricted_id="bac-07/r1",
    )  # fmt: skip
    yield ShoeStated(t_us=t_us, user="ledger", shoe_id="bac-07-s1", rounds=())
    yield DoorNoted(t_us=t_us, user="shoe-web", event="login.accepted", person="Ann", by="pin")
    yield NotesRefused(t_us=t_us, user="shoe-web", event="login.refused", count=9, since_us=t_us)


def inputs(at: OfferingTable) -> Iterator[Tried]:
    """All of them, and whatever may be answered or declared now, in each way."""
    t_us = at.now.t_us + 1
    for fact in facts(t_us):
        yield NAMES[type(fact)], fact
    for event in (*EVENTS_TRIED, *next_cards(at), *next_pulls(at), *of_arming(at)):
        yield said(event, t_us)
    for command, args in ASKED:
        yield asked(at, command, args)
    for command, offered in (("decide", decisions(at)), ("declare", declarations(at))):
        for args in offered:
            position = args.pop("position")
            yield asked(at, command, args, position=position)


def said(event: ShoeEvent, t_us: int) -> Tried:
    """The shoe says so."""
    named = event.type if event.type in transitions.triggers() else transitions.UNFORESEEN
    return named, ShoeSaid(t_us=t_us, event=event)


def asked(
    at: OfferingTable, command: str, args: dict[str, Any], position: str | None = None
) -> Tried:
    """Somebody says so who may, with a reason and the consent of another."""
    if position is None:
        position = commands.lowest_position(command, at.game, args)
    return command, TableCommand(
        t_us=at.now.t_us + 1, command_id=f"new-{at.now.inputs}", command=command, args=args,
        person="kim", position=position, reason="r", consented_by="lee",
    )  # fmt: skip


def of_arming(at: OfferingTable) -> Iterator[ShoeEvent]:
    """The shoe refuses the draw that it is to be armed for, or takes it; it counts otherwise."""
    armed, shoe = at.now.armed, at.now.shoe
    if armed is not None and shoe is not None:
        yield Reply(accepted=False, reason="not_the_next_draw", number=armed[0])
        yield Status(armed=armed[0], drawn=shoe.drawn, unacknowledged=0)
        for drawn in (max(0, shoe.drawn - 1), shoe.drawn + 1):
            yield Status(drawn=drawn, unacknowledged=0)


def next_cards(at: OfferingTable) -> Iterator[CardDrawn]:
    """The card that comes next, read or not, in its turn or early, as each shoe tells of it."""
    shoe, slot = at.now.shoe, next_slot(at.now)
    if shoe is None:
        return
    for face in (card(spares(at)[-1]), None):
        for armed in (True, False):
            yield CardDrawn(card=face, number=shoe.drawn + 1, armed=armed)
        if at.now.link.names_hands and slot is not None:
            yield CardDrawn(card=face, hand=slot[0], index=slot[1])


def next_pulls(at: OfferingTable) -> Iterator[CardsDrawn]:
    """The two cards that come next, in one pull, where the shoe gives one."""
    shoe, armed = at.now.shoe, at.now.armed
    if shoe is not None and armed is not None:
        two = tuple(card(code) for code in spares(at)[-2:])
        for known in (True, False):
            yield CardsDrawn(cards=two, number=shoe.drawn + 1, order_known=known, armed=True)


HALTING = frozenset(
    trigger
    for trigger in transitions.triggers()
    for case in cases.list_cases(trigger)
    for (state, named), lines in transitions.lines().items()
    if named == case and state != "suspended" and any(line.to == "suspended" for line in lines)
)
"""Whatever may halt a table."""


def causes(at: OfferingTable) -> Iterator[Tried]:
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


def wrong_cards(at: OfferingTable) -> Iterator[CardDrawn]:
    """The next card where it is not one of the shoe's: of another deck, or one too many."""
    shoe = at.now.shoe
    if shoe is not None:
        ours = {each.code for each in at.game.deck.cards}
        foreign = next(code for code in CARDS if code not in ours)
        too_many = [c for c, count in shoe.counts.items() if count >= shoe.decks and c in ours]
        for code in (foreign, *too_many[:1]):
            yield CardDrawn(card=card(code), number=shoe.drawn + 1, armed=at.now.armed is not None)


def back_in_the_shoe(at: OfferingTable) -> Iterator[CardPushedBack]:
    """The card that was drawn last goes back."""
    played, shoe = at.now.round, at.now.shoe
    if played is not None and played.cards and shoe is not None:
        yield CardPushedBack(card=played.cards[-1].card, number=shoe.drawn)


def ways_on(at: OfferingTable) -> Iterator[Tried]:
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


PUT_RIGHT = ("correct_card", "retract")


def put_right(at: OfferingTable) -> Iterator[Tried]:
    """Each open card as another one, each declaration taken back, by whoever decides.

    Where there is none, one of each is tried all the same.
    """
    found = {"correct_card": corrections(at, faces=1), "retract": retractions(at)}
    for command in PUT_RIGHT:
        for args in list(found[command]) or [args for named, args in ASKED if named == command]:
            yield asked(at, command, args, position=positions.who_decides(at.game))


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


def _people_go_on(at: OfferingTable) -> Iterator[tuple[str, dict[str, object]]]:
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


def by_hand(at: OfferingTable) -> dict[str, object] | None:
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
