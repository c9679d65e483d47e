"""A shoe of the angel_eye profile: it judges, names hands, and forgets what nobody heard.

In: as ``Device``. Out: started, stand-by, cards with their hand, cutting card, result, lock.
Must not know: who deals, bytes, ports; it cannot be armed and holds no card back.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from firmware_proto.commands import HostMessage, VendorCommand
from firmware_proto.events import (
    CardDrawn,
    CardOutsideGame,
    CuttingCard,
    Discarded,
    Error,
    ErrorCleared,
    Lock,
    Reply,
    Result,
    ShoeEvent,
    Standby,
    Started,
)
from simulators.shoe.judge import Judge, Verdict
from simulators.shoe.model import CardOut, Refused
from simulators.shoe.unarmed import UnarmedDevice

_UNLOCK, _LOCK = "01", "02"

Misjudgement = Literal["none", "player", "banker", "tie", "forced_quit"]
"""A winner that the shoe gives, or ``none``: it says no result at all."""


class AngelEyeDevice(UnarmedDevice):
    """Counts what it says; nothing it said is kept. ``said`` is that running count."""

    said = 0
    _in_error = False
    _unread: CardOut | None = None
    misjudges: Misjudgement | None = None
    """What it says of the next round that it judges, whatever the cards are."""

    @property
    def _deals(self) -> bool:
        return super()._deals and not self._in_error

    def _on_boot(self, t: float) -> None:
        """A reset forgets the round; cards already drawn make it stand by for the next one."""
        self._in_error = False
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
        if not self._deals:
            mode = "lock" if self.shoe.locked_by_key else "error"
            self._say(CardOutsideGame(card=out.seen, mode=mode), t)
        elif out.seen is None:
            self._in_error, self._unread = True, out
            self._say(Error(code="cannot_read", in_error_mode=True), t)
        elif self._to_burn is None:
            self._burns_for(out.seen)
            self._say(CardDrawn(card=out.seen, hand="first_card", index=1), t)
        elif self._burned < self._to_burn:
            self._burn(out, t)
        else:
            self._deal(out, t)

    def read_again(self, t: float) -> None:
        """The card that it could not read is passed over the sensor once more, and read."""
        unread, self._unread = self._unread, None
        if unread is None:
            raise Refused("no card lies there that could not be read")
        self._in_error = False
        self._say(ErrorCleared(code="cannot_read"), t)
        self._on_card(replace(unread, seen=unread.card), t)

    def _on_cutting_card(self, t: float) -> None:
        self._say(CuttingCard(), t)

    def _on_key(self, t: float) -> None:
        self._say(Lock(locked=self.shoe.locked_by_key), t)

    def _on_host(self, said: HostMessage, t: float) -> None:
        """It is locked and unlocked, and forgets a card that it could not read when told to.

        It never sees an overdraw, so there is none to decide on; how far the game is, it accepts
        to be asked and does not say.
        """
        match said:
            case VendorCommand("OP", "LK", data) if data in (_UNLOCK, _LOCK):
                self._reply(t)
                self.turn_key(t, locked=data == _LOCK)
            case VendorCommand("OP", "EC", "00") if self._in_error:
                self._in_error, self._unread = False, None
                self._reply(t)
                self._say(ErrorCleared(code="cannot_read"), t)
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
        self.said += 1
        self._send(event, self.said, self._t_us(t))
