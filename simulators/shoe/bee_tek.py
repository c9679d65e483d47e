"""A shoe of the bee_tek profile: it says that a card was drawn, and no more.

In: as ``Device``. Out: cards of the game and burned ones, failed reads with their alarm.
Must not know: who deals, bytes, ports; it forgets what nobody heard, and hears nothing itself.
"""

from __future__ import annotations

import re

from firmware_proto.commands import HostMessage
from firmware_proto.events import CardDrawn, Discarded, Error, ShoeEvent, Warned
from simulators.shoe.judge import Judge
from simulators.shoe.model import CannotSay, CardOut
from simulators.shoe.unarmed import UnarmedDevice

_ALARM = re.compile("E[0-9A-F]{1,4}")
_WARNING = re.compile("(W0x|W)[0-9A-F]{1,4}")

NOT_READ = Error(code="E3", text="Card Not Read")


class BeeTekDevice(UnarmedDevice):
    """Power, sets, the key and the cutting card leave no trace on its wire.

    Which card opens a round is known at the table only: its ``lamp`` is the dealer's own count,
    which no power cut changes.
    """

    profile = "bee_tek"
    _reports = (Error, Warned)
    _errors_in_words = "E and one to four hex digits, such as E3"

    def _check_reportable(self, event: ShoeEvent) -> None:
        super()._check_reportable(event)
        if isinstance(event, Warned) and not _WARNING.fullmatch(event.code):
            has = "W0x and one to four hex digits, such as W0x01"
            raise CannotSay(self.profile, f"a warning {event.code!r} (has: {has})")
        if isinstance(event, Error) and event.in_error_mode:
            raise CannotSay(self.profile, "that it has stopped")

    def _has_error(self, code: str) -> bool:
        return _ALARM.fullmatch(code) is not None

    def _on_happening(self, event: ShoeEvent, t: float) -> None:
        self._say(event, t)

    def _on_boot(self, t: float) -> None:
        """Nothing is said."""

    def _on_loaded(self, t: float) -> None:  # noqa: ARG002
        self._await_first_card()

    def _on_cutting_card(self, t: float) -> None:
        """Nothing is said: the dealer sees it."""

    def _on_key(self, t: float) -> None:
        """Nothing is said."""

    def _on_card(self, out: CardOut, t: float) -> None:
        if not self.powered:
            return
        if self._to_burn is None:
            self._burns_for(out.card)
            self._say_burned(out, t)
        elif self._burned < self._to_burn:
            self._burned += 1
            self._say_burned(out, t)
            if self._burned == self._to_burn:
                self._await_round()
        else:
            self._deal(out, t)

    def _deal(self, out: CardOut, t: float) -> None:
        if self._judge is None:
            self._judge = Judge()
        self._judge.place(out.card)
        self._say(CardDrawn(card=out.seen), t)
        if out.seen is None:
            self._say(NOT_READ, t)
        if self._judge.complete:
            self._await_round()

    def _say_burned(self, out: CardOut, t: float) -> None:
        self._say(CardDrawn(card=out.seen, hand="burn"), t)
        if out.seen is None:
            self._say(NOT_READ, t)

    def _on_host(self, said: HostMessage, t: float) -> None:  # noqa: ARG002
        """Nothing that a host sends is understood."""
        self.refused.append(said.reason if isinstance(said, Discarded) else f"not known: {said}")

    def _say(self, event: ShoeEvent, t: float) -> None:
        self._note_said(event)
        self._send(event, 0, self._t_us(t))
