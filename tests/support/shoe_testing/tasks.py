"""Tasks that a test ends."""

from __future__ import annotations

import asyncio
from typing import Any

CANCELLED_AGAIN_S = 1.0
"""After so long a task that goes on is cancelled once more: longer than any cleaning up takes."""


async def ended(*tasks: asyncio.Task[Any]) -> None:
    """Cancels tasks until they have ended, whatever they end with.

    Once is not enough: in Python 3.11 ``asyncio.wait_for``, which brokers' clients use, loses a
    cancellation if what it waits for comes at the same moment.
    """
    running = set(tasks)
    while running:
        for task in running:
            task.cancel()
        _, running = await asyncio.wait(running, timeout=CANCELLED_AGAIN_S)
    for task in tasks:
        if not task.cancelled():
            task.exception()  # known here: asyncio need not report it
