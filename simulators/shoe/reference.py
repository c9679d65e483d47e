"""A shoe of the reference profile: bolted, armed by the host, remembering what was not heard.

In: as ``Device``. Out: hello, loaded, card, cutting card, status, refusals.
Must not know: hands and rules (the host names the slot it arms), bytes, ports.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from functools import partial

from firmware_proto.cards import Card
from firmware_proto.commands import (
    Acknowledge,
    Armed,
    HelloRequest,
    HostMessage,
    Locked,
    Query,
    ReplayRequest,
    Reset,
    RotateKey,
    SetTime,
    ShoeCommand,
    Show,
    TestSelf,
)
from firmware_proto.events import (
    Button,
    CardDrawn,
    CardPushedBack,
    CardsDrawn,
    CuttingCard,
    Discarded,
    Error,
    ErrorCleared,
    Hello,
    Lid,
    PowerLow,
    PowerRestored,
    Reply,
    SelfTested,
    ShoeEmpty,
    ShoeEvent,
    ShoeLoaded,
    Status,
    Tamper,
)
from firmware_proto.reference.fields import FAULT_CODES
from firmware_proto.session import DeviceSession
from simulators.shoe.device import FIRMWARE, Device, Lamp
from simulators.shoe.event_log import EventLog, Stored
from simulators.shoe.ground_truth import GroundTruth
from simulators.shoe.hardware import Hardware
from simulators.shoe.model import CardOut, Refused, Shoe

STATUS_EVERY_S = 2.0
"""Often enough that a silent line is noticed within seconds, seldom enough to cost nothing."""

FEWEST_TOGETHER, MOST_TOGETHER = 2, 4
"""Cards of which the shoe can report that they left it as one."""


class ReferenceDevice(Device):
    """Says nothing on a connection until the host asks for hello; then everything unheard."""

    def __init__(
        self,
        shoe: Shoe,
        truth: GroundTruth,
        *,
        session: Callable[[], DeviceSession],
        event_log: EventLog | None = None,
        keys: dict[int, bytes] | None = None,
    ) -> None:
        super().__init__(shoe, truth, session=session)
        self.event_log = EventLog() if event_log is None else event_log
        self.hardware = Hardware(keys=keys)
        self._greeted = False
        self._lamp: Lamp | None = None
        self._status_due: float | None = None
        self.firmware = FIRMWARE
        self.firmware_digest: str | None = None
        self._opened_without_power = False

    profile = "reference"
    _reports = (Lid, Tamper, Button, PowerLow, PowerRestored, Error, ErrorCleared, SelfTested)
    _reports_confidence = True
    _reports_times = True
    _jam_code = "jam"
    _reverse_run_code = "reverse_run"

    @property
    def lamp(self) -> Lamp | None:
        """The draw that the host armed; dark without power, and once the card is out."""
        lamp = self._lamp
        if lamp is None or lamp.number != self.shoe.armed or self._booted_at is None:
            return None
        return lamp

    @property
    def next_deadline(self) -> float | None:
        """The next status, or what the session waits for (a repeat of what was not heard)."""
        if self._session is None:
            return None
        resend, status = self._session.next_deadline, self._status_due
        if resend is None or status is None:
            return status if resend is None else resend
        return min(resend, status)

    def host_opened(self) -> None:
        super().host_opened()
        self._greeted = False
        self._status_due = None

    def tick(self, t: float) -> None:
        if self._session is None:
            return
        if self._status_due is not None and t >= self._status_due:
            self._status(t)
        self._session.tick(t)

    def happen(self, event: ShoeEvent, t: float) -> None:
        """As ``Device.happen``; a lid that is opened without power is noticed when power is back.

        A fault in error mode lets the bolt fall.
        """
        if isinstance(event, Lid) and not self.powered:
            self._opened_without_power |= event.open
            return
        super().happen(event, t)

    def install(self, firmware: str, digest: str | None, t: float) -> None:
        """Give the shoe other firmware; with power, it starts again with it."""
        self.firmware, self.firmware_digest = firmware, digest
        if self.powered:
            self.boot(t)

    def set_key(self, key: bytes | None, t: float) -> None:
        """Give the shoe this key alone, or none; with power, it starts again with it."""
        from firmware_proto.reference.mac import ShoeKeys
        from firmware_proto.reference.profile import device_session

        keys = None if key is None else ShoeKeys({1: key}, partial(secrets.token_bytes, 16))
        self.hardware.keys = None if keys is None else keys.keys
        self._new_session = lambda: device_session(settings={}, keys=keys)
        if self.powered:
            self.boot(t)

    @property
    def _errors_in_words(self) -> str:
        return ", ".join(FAULT_CODES)

    def _has_error(self, code: str) -> bool:
        return code in FAULT_CODES

    @property
    def _knows_of_jam(self) -> bool:
        return "jam" in self.hardware.faults

    def _on_happening(self, event: ShoeEvent, t: float) -> None:
        self.hardware.note(event)
        if self.hardware.in_error_mode:
            self.shoe.lock()
        self._remember(event, t)
        self._status(t)

    def pull_together(self, t: float, count: int = 2, *, order_known: bool) -> list[CardOut]:
        """Let a hand pull several cards as one, past the bolt, and lay them as the rules say.

        Raises:
            simulators.shoe.model.Refused: there are not so many, or one pull cannot be of so many.
        """
        if not FEWEST_TOGETHER <= count <= MOST_TOGETHER:
            raise Refused(f"one pull is of {FEWEST_TOGETHER} to {MOST_TOGETHER} cards, not {count}")
        if self.shoe.remaining < count:
            raise Refused("empty")
        outs: list[CardOut] = []
        while len(outs) < count:
            out = self.shoe.draw(bolted=False)
            if isinstance(out, CardOut):
                outs.append(out)
                self.truth.card(out, place=None)
            else:
                self.truth.cutting_card(out)
                self._on_cutting_card(t)
        self.hardware.lifetime_draws += count
        seen = tuple(out.seen for out in outs)
        first = outs[0]
        self._remember(
            CardsDrawn(cards=seen, number=first.number, order_known=order_known, armed=first.armed),
            t,
        )
        self._told_if_empty(t)
        self._status(t)
        return outs

    def push_back(self, t: float) -> None:
        """As ``Device.push_back``."""
        card = self.shoe.push_back()
        self._remember(CardPushedBack(card=card, number=self.shoe.drawn), t)
        self._status(t)

    def _on_boot(self, t: float) -> None:
        self._greeted = False
        self._status_due = None
        if self.connected:
            self._greet(t)
        if self._opened_without_power:
            self._opened_without_power = False
            self._remember(Tamper(what="opened_without_power"), t)

    def _draw_in_brown_out(self, t: float, *, kept: bool) -> None:
        if kept:
            self.draw(t)
        else:
            self.slip()

    def slip(self) -> Card:
        """Let a hand pull a card that the shoe does not notice: its electronics have no power.

        Raises:
            simulators.shoe.model.Refused: no card lies at the front.
        """
        lamp = self.lamp
        card = self.shoe.slip()
        self.truth.slipped(card, place=None if lamp is None else lamp.hand)
        return card

    def _on_host(self, said: HostMessage, t: float) -> None:
        match said:
            case Acknowledge(through):
                self._replay(self.event_log.acknowledge(through))
            case Armed():
                self._arm(said, t)
            case HelloRequest():
                self._greet(t)
            case ReplayRequest(first):
                for stored in self.event_log.since(first):
                    self._replay(stored)
            case Locked():
                self.shoe.lock()
                self._status(t)
            case Show() | Reset() | TestSelf() | Query() | SetTime() | RotateKey():
                self._command(said, t)
            case Discarded(reason=reason):
                self.refused.append(reason)
            case _:
                self._refuse(f"no such command: {said}", t)

    def _on_loaded(self, t: float) -> None:
        cards = self.shoe.cards
        if cards is not None:
            self._remember(ShoeLoaded(set_id=cards.set_id, decks=cards.decks), t)
            self._status(t)

    def _on_card(self, out: CardOut, t: float) -> None:
        self._remember(
            CardDrawn(
                card=out.seen,
                number=out.number,
                armed=out.armed,
                face_up=out.face_up,
                confidence=out.confidence,
            ),
            t,
        )
        self.hardware.lifetime_draws += 1
        self._told_if_empty(t)
        self._status(t)

    def _told_if_empty(self, t: float) -> None:
        if not self.shoe.remaining:
            self._remember(ShoeEmpty(drawn=self.shoe.drawn), t)

    def _on_cutting_card(self, t: float) -> None:
        self._remember(CuttingCard(), t)

    def _on_key(self, t: float) -> None:
        self._status(t)

    def _arm(self, order: Armed, t: float) -> None:
        try:
            if self.event_log.full:
                raise Refused("memory_full")
            if self.hardware.in_error_mode:
                raise Refused("busy")
            self.shoe.arm(order.number)
        except Refused as refusal:
            self._refuse(str(refusal), t, number=order.number)
        else:
            self._lamp = Lamp(order.number, order.hand, order.index)
        self._status(t)

    def _command(self, command: ShoeCommand, t: float) -> None:
        answer, events = self.hardware.do(command, self.clock.read(t))
        self._say_now(answer, t)
        for event in events:
            self._remember(event, t)
        if isinstance(command, Reset):
            self.shoe.lock()
            self._check_jam(t)
            self._status(t)

    def _refuse(self, reason: str, t: float, *, number: int | None = None) -> None:
        self.refused.append(reason)
        self._say_now(Reply(accepted=False, reason=reason, number=number), t)

    def _greet(self, t: float) -> None:
        """Hello, then everything unheard: when asked, and unasked when power comes back."""
        self._greeted = True
        self._hello(t)
        for stored in self.event_log.unheard():
            self._replay(stored)
        self._status(t)

    def _hello(self, t: float) -> None:
        cards = self.shoe.cards
        self._say_now(
            Hello(
                device_id=self.shoe.device_id,
                firmware=self.firmware,
                firmware_digest=self.firmware_digest,
                boot_id=self.shoe.boot_id,
                deck="french52" if cards is None else cards.deck.name,
                set_id=None if cards is None else cards.set_id,
                decks=None if cards is None else cards.decks,
                drawn=self.shoe.drawn,
                cutting_card_out=self.shoe.cutting_card_out,
                oldest_seq=self.event_log.oldest_seq,
                can_arm=True,
            ),
            t,
        )

    def _status(self, t: float) -> None:
        self._status_due = t + STATUS_EVERY_S
        shoe = self.shoe
        self._say_now(
            Status(
                armed=shoe.armed,
                drawn=shoe.drawn,
                unacknowledged=self.event_log.unacknowledged,
                locked_by_key=shoe.locked_by_key,
            ),
            t,
        )

    def _say_now(self, event: ShoeEvent, t: float) -> None:
        if self._greeted:
            self._send(event, self.event_log.next_seq, self._t_us(t))

    def _remember(self, event: ShoeEvent, t: float) -> None:
        self._note_said(event)
        stored = self.event_log.store(event, boot_id=self.shoe.boot_id, t_us=self._t_us(t))
        if self.event_log.full:
            self.shoe.lock()
        self._replay(stored)

    def _replay(self, stored: Stored | None) -> None:
        if stored is not None and self._greeted:
            self._send(stored.event, stored.seq, stored.t_us, stored.boot_id)
