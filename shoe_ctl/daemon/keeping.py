"""What keeps a journal provable while tables are at work: signs it, at each shoe and in between.

In: the journal, its key, a clock, word of each new set of cards, what holds it to a length. Out:
checkpoints.
Must not know: tables, links, what is signed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import Executor

from shoe_ctl.daemon.journal_upkeep import Retention
from shoe_ctl.errors import JournalError
from shoe_ctl.journal.journal import Journal
from shoe_ctl.journal.signing import Signer
from shoe_ctl.link.clock import Clock, sleep

log = logging.getLogger(__name__)


FIRST_S = 1.0
"""How long the first signature waits: what signs takes longer to load than the tables to start."""


class Keeper:
    """Signs soon after it starts, at each shoe, at least every ``every_s`` seconds, in the end.

    ``load`` gives the key; it blocks, and is called once, in ``executor``. With ``retention``, what
    is older than it is kept is looked for after each signature but the last.
    """

    def __init__(  # noqa: PLR0913 - what it signs, with what, when, and what goes with it
        self,
        journal: Journal,
        load: Callable[[], Signer],
        clock: Clock,
        executor: Executor,
        *,
        every_s: float,
        retention: Retention | None = None,
    ) -> None:
        self._journal = journal
        self._load = load
        self._signer: Signer | None = None
        self._loading: asyncio.Future[Signer] | None = None
        self._clock = clock
        self._executor = executor
        self._every_s = every_s
        self._retention = retention
        self._due = asyncio.Event()

    def new_shoe(self) -> None:
        """A set of cards ended or began: sign what there is."""
        self._due.set()

    async def run(self) -> None:
        """Signs until cancelled.

        Raises:
            JournalError: the journal takes nothing more.
        """
        await sleep(self._clock, FIRST_S)
        while True:
            self._due.clear()
            signer = await self.sign()
            if self._retention is not None:
                await self._retention.hold(signer, self._clock.wall_us())
            await sleep(self._clock, self._every_s, unless=self._due)

    async def sign(self) -> Signer:
        """Signs what is stored, if anything was added since it was last signed; with what.

        Raises:
            JournalError: as ``run``; or the key is not to be had any more.
        """
        if self._signer is None:
            self._signer = await self._loaded()
        n = await self._journal.checkpoint(self._signer, self._clock.wall_us())
        if n is not None:
            key = self._signer.public_key.hex()
            log.info("journal: records up to %d are signed with %s", n - 1, key)
        return self._signer

    async def _loaded(self) -> Signer:
        """The key, looked for or made once, though who asked first was stopped meanwhile."""
        if self._loading is None:
            loop = asyncio.get_running_loop()
            self._loading = loop.run_in_executor(self._executor, self._load)
        try:
            return await asyncio.shield(self._loading)
        except JournalError:
            self._loading = None
            raise
