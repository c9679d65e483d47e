"""What keeps a journal provable while tables are at work: signs it, at each shoe and in between.

In: the journal, its key, a clock, word of each new set of cards. Out: checkpoints.
Must not know: tables, links, what is signed.
"""

from __future__ import annotations

import asyncio
import logging

from shoe_ctl.journal.journal import Journal
from shoe_ctl.journal.signing import Signer
from shoe_ctl.link.clock import Clock, sleep

log = logging.getLogger(__name__)


class Keeper:
    """Signs when it starts, at each shoe, at least every ``every_s`` seconds, and in the end."""

    def __init__(self, journal: Journal, signer: Signer, clock: Clock, *, every_s: float) -> None:
        self._journal = journal
        self._signer = signer
        self._clock = clock
        self._every_s = every_s
        self._due = asyncio.Event()

    def new_shoe(self) -> None:
        """A set of cards ended or began: sign what there is."""
        self._due.set()

    async def run(self) -> None:
        """Signs until cancelled.

        Raises:
            JournalError: the journal takes nothing more.
        """
        while True:
            self._due.clear()
            await self.sign()
            await sleep(self._clock, self._every_s, unless=self._due)

    async def sign(self) -> None:
        """Signs what is stored, if anything was added since it was last signed.

        Raises:
            JournalError: as ``run``.
        """
        n = await self._journal.checkpoint(self._signer, self._clock.wall_us())
        if n is not None:
            key = self._signer.public_key.hex()
            log.info("journal: records up to %d are signed with %s", n - 1, key)
