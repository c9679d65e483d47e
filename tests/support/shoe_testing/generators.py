"""Whatever can happen to a table, one of each kind: what the shoe says, what is asked, the rest.

In: a table's state. Out: the inputs that are tried in it, each with the trigger that it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from firmware_proto.cards import card
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
from shoe_ctl.table import commands, transitions
from shoe_ctl.table.inputs import (
    CommandsRefused,
    DeliveryParked,
    DeliveryTaken,
    Fault,
    Input,
    LineResumed,
    LineSuspended,
    LinkLost,
    LinkUp,
    NotTold,
    Restarted,
    ShoeSaid,
    StorageRestored,
    TableCommand,
    Tick,
)
from shoe_ctl.table.irregularities.catalog import PROCEDURES
from shoe_ctl.table.state import next_slot
from shoe_ctl.table.wagers.declared import RECORDED
from shoe_testing.choices import At, decisions, declarations, spares
from shoe_testing.table_corpus import DECLARED_WITH
from shoe_testing.tables import DEVICE

FACTS = (
    "link_up",
    "link_lost",
    "line_suspended",
    "line_resumed",
    "restarted",
    "tick",
    "not_told",
    "fault",
    "storage_restored",
    "delivery_parked",
    "delivery_taken",
    "commands_refused",
)
KINDS = (
    LinkUp, LinkLost, LineSuspended, LineResumed, Restarted, Tick, NotTold, Fault, StorageRestored,
    DeliveryParked, DeliveryTaken, CommandsRefused,
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
    Warned(code="W0x01"), CommandUnanswered(command_id=1, reason="no reply"),
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
    ("restrict_wagers", {"number": 2}),
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
    yield Restarted(t_us=t_us, host_boot="b1")
    yield Restarted(t_us=t_us, host_boot="b9")
    yield Restarted(t_us=t_us, host_boot="b1", reopened=True)
    yield Tick(t_us=t_us)
    yield Tick(t_us=t_us + 60_000_000)
    yield NotTold(t_us=t_us, number=1, why="the key file has no such key")
    yield Fault(t_us=t_us, where="ShoeSaid", what="KeyError: 9S")
    parked = {"sink": "jsonl:-", "event_type": "round.settled", "why": "too long"}
    yield DeliveryParked(t_us=t_us, public=True, event="bac-07/p1", record=7, **parked)
    taken = {"sink": "jsonl:-", "event": "bac-07/p1", "event_type": "round.settled"}
    yield DeliveryTaken(t_us=t_us, record=7, **taken)
    yield CommandsRefused(t_us=t_us, user="dora", count=3, since_us=t_us - 1)
    yield StorageRestored(t_us=t_us, since_us=t_us - 1, what="the disk is full")


def inputs(at: At) -> Iterator[Tried]:
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


def asked(at: At, command: str, args: dict[str, Any], position: str | None = None) -> Tried:
    """Somebody says so who may, with a reason and the consent of another."""
    if position is None:
        position = commands.lowest_position(command, at.game, args)
    return command, TableCommand(
        t_us=at.now.t_us + 1, command_id=f"new-{at.now.inputs}", command=command, args=args,
        person="kim", position=position, reason="r", consented_by="lee",
    )  # fmt: skip


def of_arming(at: At) -> Iterator[ShoeEvent]:
    """The shoe refuses the draw that it is to be armed for, or takes it; it counts otherwise."""
    armed, shoe = at.now.armed, at.now.shoe
    if armed is not None and shoe is not None:
        yield Reply(accepted=False, reason="not the next draw", number=armed[0])
        yield Status(armed=armed[0], drawn=shoe.drawn, unacknowledged=0)
        for drawn in (max(0, shoe.drawn - 1), shoe.drawn + 1):
            yield Status(drawn=drawn, unacknowledged=0)


def next_cards(at: At) -> Iterator[CardDrawn]:
    """The card that comes next, read or not, in its turn or early, as each shoe tells of it."""
    shoe, slot = at.now.shoe, next_slot(at.now)
    if shoe is None:
        return
    for face in (card(spares(at)[-1]), None):
        for armed in (True, False):
            yield CardDrawn(card=face, number=shoe.drawn + 1, armed=armed)
        if at.now.link.names_hands and slot is not None:
            yield CardDrawn(card=face, hand=slot[0], index=slot[1])


def next_pulls(at: At) -> Iterator[CardsDrawn]:
    """The two cards that come next, in one pull, where the shoe gives one."""
    shoe, armed = at.now.shoe, at.now.armed
    if shoe is not None and armed is not None:
        two = tuple(card(code) for code in spares(at)[-2:])
        for known in (True, False):
            yield CardsDrawn(cards=two, number=shoe.drawn + 1, order_known=known, armed=True)
