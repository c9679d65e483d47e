"""What the log tells of a shoe: who speaks, and why it is not believed or not whole.

In: what is heard on a table's connections, in order. Out: log lines with a next step.
Must not know: bytes, connections, the round.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

from firmware_proto.events import AuthenticationFailed, Gap, Hello, ShoeEvent, UnknownFirmware
from firmware_proto.session import ReceivedEvent

from .refusals import remedy

log = logging.getLogger(__name__)


class Noted:
    """The log of one table's shoe; ``known`` is whom the table spoke with last."""

    def __init__(self, name: str, known: str | None) -> None:
        self._name = name
        self._known = known

    def heard(self, heard: Iterable[ReceivedEvent]) -> None:
        """Tells what is worth it; sessions give a shoe that says the same again as a repeat."""
        for each in heard:
            self._note(each.event)

    def _note(self, event: ShoeEvent) -> None:
        match event:
            case Hello():
                self._hello(event)
            case AuthenticationFailed(device_id=who, reason=why):
                log.warning(
                    "%s: nothing that %s says counts, for %s: %s",
                    *(self._name, who, why, remedy(event)[1]),
                )
            case UnknownFirmware(firmware=firmware, refused=refused):
                log.warning(
                    "%s: the shoe's firmware %s is not on the list%s: update it, or add its digest "
                    "to shoe.firmware",
                    *(self._name, firmware, ", so it is not armed" if refused else ""),
                )
            case Gap(first=first, last=last):
                log.warning(
                    "%s: the shoe's events %d to %d are lost: staff decide, or enter the cards",
                    *(self._name, first, last),
                )

    def _hello(self, hello: Hello) -> None:
        who, known = hello.device_id, self._known
        self._known = who
        if known not in (None, who):
            log.warning(
                "%s: %s speaks where %s did: if nobody changed the shoe, look where the cables go",
                *(self._name, who, known),
            )
        elif known is not None and not hello.resumed:
            log.warning(
                "%s: %s speaks, and has forgotten its numbers: was its memory replaced?",
                *(self._name, who),
            )
        else:
            log.info("%s: %s speaks, firmware %s", self._name, who, hello.firmware)
