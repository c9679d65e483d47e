"""A shoe of the angel_eye profile: it judges, names hands, and forgets what nobody heard.

In: as ``Device``. Out: started, stand-by, cards with their hand, cutting card, result, lock.
Must not know: who deals, bytes, ports; it cannot be armed and holds no card back.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from firmware_proto.angel_eye.fields import ERRORS
from firmware_proto.commands import HostMessage, VendorCommand
from firmware_proto.events import (
    CardDrawn,
    CardOutsideGame,
    CuttingCard,
    Discarded,
    Error,
    ErrorCleared,
    Lock,
    Redesignated,
    Reply,
    Result,
    ShoeEvent,
    Standby,
    Started,
)
from simulators.shoe.device import Lamp
from simulators.shoe.judge import Judge, Verdict
from simulators.shoe.model import CardOut, CuttingCardOut, Refused
from simulators.shoe.unarmed import UnarmedDevice

_UNLOCK, _LOCK = "01", "02"
_KEEP, _DISCARD = "01", "02"
_CANNOT_READ, _OVERDRAW = "cannot_read", "overdraw"

Misjudgement = Literal["none", "player", "banker", "tie", "forced_quit"]
"""A winner that the shoe gives, or ``none``: it says no result at all."""


class AngelEyeDevice(UnarmedDevice):
    """Counts what it says; nothing it said is kept. ``said`` is that running count."""

    profile = "angel_eye"
    _jam_code = "draw_time_out"
    _reverse_run_code = "reverse_run_at_exit"
    said = 0
    _error: str | None = None
    """The error that it stopped for."""

    _stopped_at: CardOut | None = None
    """The card that it stopped at: unread, or drawn too many."""

    _objects = False
    misjudges: Misjudgement | None = None
    """Its result for the next round that it judges, whatever the cards are."""

    @property
    def _deals(self) -> bool:
        return super()._deals and self._error is None

    @property
    def _errors_in_words(self) -> str:
        return ", ".join(ERRORS)

    def _has_error(self, code: str) -> bool:
        return code in ERRORS

    @property
    def _knows_of_jam(self) -> bool:
        return self._error == self._jam_code

    def _on_happening(self, event: ShoeEvent, t: float) -> None:
        if isinstance(event, Error) and event.in_error_mode:
            self._error = event.code
        elif isinstance(event, ErrorCleared) and event.code == self._error:
            self._error = self._stopped_at = None
        self._say(event, t)

    def _on_boot(self, t: float) -> None:
        """A reset forgets the round; cards already drawn make it stand by for the next one."""
        self._error = self._stopped_at = None
        self.truth.broken_off()
        self._say(Started(), t)
        if self.shoe.drawn:
            self._stand_by(t)
        else:
            self._await_first_card()

    def _on_loaded(self, t: float) -> None:
        self._await_first_card()
        self._say(Started(), t)

    def _on_card(self, out: CardOut, t: float) -> None:
        if self._objects:
            self._error, self._stopped_at = _OVERDRAW, out
            self._say(Error(code=_OVERDRAW, in_error_mode=True), t)
            self._say(CardOutsideGame(card=out.seen, mode="error", code=ERRORS[_OVERDRAW]), t)
        elif not self._deals:
            mode = "lock" if self.shoe.locked_by_key else "error"
            self._say(CardOutsideGame(card=out.seen, mode=mode), t)
        elif out.seen is None:
            self._error, self._stopped_at = _CANNOT_READ, out
            self._say(Error(code=_CANNOT_READ, in_error_mode=True), t)
        elif self._to_burn is None:
            self._burns_for(out.seen)
            self._say(CardDrawn(card=out.seen, hand="first_card", index=1), t)
        elif self._burned < self._to_burn:
            self._burn(out, t)
        else:
            self._deal(out, t)

    def read_again(self, t: float) -> None:
        """The card that it could not read is passed over the sensor once more, and read."""
        unread = self._stopped_at
        if unread is None or self._error != _CANNOT_READ:
            raise Refused("no card lies there that could not be read")
        self._error = self._stopped_at = None
        self._say(ErrorCleared(code=_CANNOT_READ), t)
        self._on_card(replace(unread, seen=unread.card), t)

    @property
    def lamp(self) -> Lamp | None:
        """As ``UnarmedDevice.lamp``; None for a card that the shoe takes for one too many."""
        return None if self._objects else super().lamp

    def overdraw(self, t: float) -> None:
        """A hand draws one more card as the round's last one is judged: the shoe objects to it.

        A lock that follows on the last card comes too late for it.

        Raises:
            simulators.shoe.model.Refused: a card is due, or none was dealt, or the shoe has stopped
                already: it would take the card for another.
        """
        if not self.between_rounds or not self.truth.rounds or self._error is not None:
            raise Refused("the shoe has not just judged a round: it would not object to a card")
        self._objects = True
        try:
            while isinstance(self.draw(t), CuttingCardOut):
                pass
        finally:
            self._objects = False

    def clear_overdraw(self, t: float, *, keep: bool) -> None:
        """Someone says at the shoe what becomes of that card: the next round's first, or nothing.

        Raises:
            simulators.shoe.model.Refused: the shoe has not objected to a card.
        """
        card = self._stopped_at
        if card is None or self._error != _OVERDRAW:
            raise Refused("the shoe has not objected to a card")
        self._error = self._stopped_at = None
        self._say(ErrorCleared(code=_OVERDRAW), t)
        if not keep:
            return
        judge = self._judge = Judge()
        hand, index = judge.place(card.card)
        self.truth.designated(card.card)
        self._say(Redesignated(card=card.seen, hand=hand, index=index), t)

    def _on_cutting_card(self, t: float) -> None:
        self._say(CuttingCard(), t)

    def _on_key(self, t: float) -> None:
        self._say(Lock(locked=self.shoe.locked_by_key), t)

    def _on_host(self, said: HostMessage, t: float) -> None:
        """It is locked and unlocked, and its errors are cleared.

        A card that it could not read it forgets then. How far the game is, it accepts to be asked
        and does not say.
        """
        match said:
            case VendorCommand("OP", "LK", data) if data in (_UNLOCK, _LOCK):
                self._reply(t)
                self.turn_key(t, locked=data == _LOCK)
            case VendorCommand("OP", "EC", data) if self.shoe.jammed and data == "00":
                self._reply(t, "busy")
            case VendorCommand("OP", "EC", "00") if self._error not in (None, _OVERDRAW):
                code, self._error, self._stopped_at = str(self._error), None, None
                self._reply(t)
                self._say(ErrorCleared(code=code), t)
            case VendorCommand("OP", "EC", data) if self._error == _OVERDRAW and data in (
                _KEEP,
                _DISCARD,
            ):
                self._reply(t)
                self.clear_overdraw(t, keep=data == _KEEP)
            case VendorCommand("OP", "GP", "00"):
                self._reply(t)
            case VendorCommand("OP", "LK" | "EC" | "GP"):
                self._reply(t, "type")
            case VendorCommand():
                self._reply(t, "command")
            case Discarded(reason=reason):
                self.refused.append(reason)
            case _:
                self.refused.append(f"not said to such a shoe: {said}")

    def _stand_by(self, t: float) -> None:
        self._await_round()
        self._say(Standby(), t)

    def _burn(self, out: CardOut, t: float) -> None:
        self._burned += 1
        self._say(CardDrawn(card=out.seen, hand="burn", index=self._burned), t)
        if self._burned == self._to_burn:
            self._stand_by(t)

    def _deal(self, out: CardOut, t: float) -> None:
        if self._judge is None:
            self._judge = Judge()
        hand, index = self._judge.place(out.card)
        self._say(CardDrawn(card=out.seen, hand=hand, index=index), t)
        if self._judge.complete:
            self._judged(self._judge.verdict(), t)
            self._stand_by(t)

    def _judged(self, verdict: Verdict, t: float) -> None:
        wrongly, self.misjudges = self.misjudges, None
        if wrongly == "none":
            return
        self._say(
            Result(
                winner=verdict.winner if wrongly is None else wrongly,
                player_pair=verdict.player_pair,
                banker_pair=verdict.banker_pair,
            ),
            t,
        )

    def _reply(self, t: float, refused: str | None = None) -> None:
        if refused is not None:
            self.refused.append(refused)
        self._send(Reply(accepted=refused is None, reason=refused), self.said + 1, self._t_us(t))

    def _say(self, event: ShoeEvent, t: float) -> None:
        if not self.powered:
            return
        self._note_said(event)
        self.said += 1
        self._send(event, self.said, self._t_us(t))
