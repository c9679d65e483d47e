"""What the daemon reaches threads, ports and callers through, so that a test can own all of them.

In: nothing. Out: Outside; as it stands, the system's own.
Must not know: tables, the journal, what runs in a thread.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

from firmware_proto.profiles import SerialSettings
from shoe_ctl.api.asked import Caller
from shoe_ctl.api.socket import Handler
from shoe_ctl.link.openers import opener
from shoe_ctl.link.ports import Port
from shoe_ctl.link.transport import Opener
from shoe_ctl.link.usb_devices import Backends

Thread = Callable[[str], Executor]
"""An executor of this name that does one call at a time, in order, until it is shut down."""

WayIn = Callable[[Handler], AbstractAsyncContextManager[None]]
"""Hands what callers ask to the handler, from entering to leaving."""


def one_thread(name: str) -> Executor:
    """A thread of the system."""
    return ThreadPoolExecutor(1, name)


def draw_epoch() -> str:
    """Eight hex digits, by chance."""
    return secrets.token_hex(4)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outside:
    """``ways_in`` are taken beside the socket that is configured, by ``callers``.

    ``epoch`` draws what tells the events of one journal, or of a part of it, from any other's.
    """

    thread: Thread = one_thread
    opener: Callable[[Port, SerialSettings, Executor, Backends], Opener] = opener
    ways_in: tuple[WayIn, ...] = ()
    callers: tuple[Caller, ...] = ()
    epoch: Callable[[], str] = draw_epoch


SYSTEM = Outside()
"""The system's own threads and ports, and no way in but the socket."""
