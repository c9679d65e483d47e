"""How serving ends: the error that is told of several, being stopped meanwhile, the last records.

In: what ended it. Out: one error, a cancellation heeded, records stored and signed.
Must not know: links, rules, who serves.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from shoe_ctl.daemon.keeping import Keeper
from shoe_ctl.daemon.table_runner import TableRunner
from shoe_ctl.errors import JournalError, ShoeCtlError

log = logging.getLogger(__name__)


def heed_being_stopped() -> None:
    """Where tasks fail just as they are stopped, their group tells of the failure alone.

    Raises:
        asyncio.CancelledError: whoever runs this was told to stop, too.
    """
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


async def end_of(runners: Sequence[TableRunner], keeper: Keeper | None) -> None:
    """The last records. What fails now is told and no more: it must not undo being stopped."""
    try:
        for runner in runners:
            await runner.stop()
        if keeper is not None:
            await keeper.sign()
    except JournalError as error:
        log.error("%s: the last records are not stored", error)  # noqa: TRY400 - one line


def first_of(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    """The error to tell: one of ours before any other."""
    leaves = [first_of(e) if isinstance(e, BaseExceptionGroup) else e for e in errors.exceptions]
    return next((e for e in leaves if isinstance(e, ShoeCtlError)), leaves[0])
