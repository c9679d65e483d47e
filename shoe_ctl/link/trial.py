"""Listens at a port as a daemon would, without telling the shoe anything that it would heed.

In: an open transport, a profile, how long. Out: what was heard, and whether anyone answered.
Must not know: what is wrong with it, how the port was opened, any card.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from typing import Protocol, cast

from firmware_proto.events import (
    Authenticated,
    AuthenticationFailed,
    Discarded,
    Hello,
    HostTraffic,
    Reply,
    ShoeEvent,
    UnknownFirmware,
)
from firmware_proto.profiles import PROFILES, Profile, SerialSettings
from firmware_proto.session import ReceivedEvent

from .clock import Clock
from .connection import Connection, Reception
from .ports import Port
from .transport import Transport, TransportLost

ENOUGH_BYTES = 1024
"""Without one frame in it: four of the longest. More of the same would say no more."""


class _Listener(Protocol):
    """What each profile's ``codec`` offers under this name."""

    def feed(self, data: bytes) -> list[ReceivedEvent]: ...

    def end(self) -> list[ReceivedEvent]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A port and what should be spoken there, at which rate."""

    port: Port
    name: str
    profile: Profile
    settings: Mapping[str, object]
    serial: SerialSettings


@dataclass(slots=True, kw_only=True)
class Tried:
    """What an attempt brought. ``frames`` counts those of the profile, whoever they were for.

    ``lost`` says why the transport ended by itself.
    """

    heard: bytearray = field(default_factory=bytearray)
    frames: int = 0
    hello: Hello | None = None
    proved: Authenticated | None = None
    failed: AuthenticationFailed | None = None
    firmware: UnknownFirmware | None = None
    lost: str | None = None


async def listen(transport: Transport, target: Target, *, clock: Clock, seconds: float) -> Tried:
    """Listens until the shoe is known or the time is over, and closes the transport.

    What the session has to say is sent up to the moment that the shoe is known: hello_request and
    challenge in ``reference`` (SPEC 6, 7), which change nothing that it keeps; in the others
    nothing at all. Nothing is acknowledged, nothing desired.
    """
    tried = Tried()
    frames = _listener(target.name)
    profile, settings = target.profile, target.settings
    asks = profile.CAPABILITIES.silence_s is not None
    over = asyncio.Event()

    async def take(reception: Reception) -> None:
        tried.heard += reception.chunk
        tried.frames += _good(frames.feed(reception.chunk))
        for heard in reception.heard:
            _note(tried, heard.event)
        known = tried.hello or tried.proved or tried.failed or (tried.frames and not asks)
        if known or reception.fault or (not tried.frames and len(tried.heard) >= ENOUGH_BYTES):
            over.set()
            await asyncio.Event().wait()  # while this does not return, nothing is sent

    silent = {key: value for key, value in settings.items() if key != "commands"}
    connection = Connection(
        name=str(target.port),
        number=1,
        transport=transport,
        session=profile.host_session(resume=None, settings=silent),
        clock=clock,
        on_reception=take,
    )
    serving = asyncio.create_task(connection.run(), name="trial")
    timer = clock.call_later(seconds, over.set)
    serving.add_done_callback(lambda _: over.set())
    try:
        await over.wait()
    finally:
        timer.cancel()
        serving.cancel()
        with suppress(asyncio.CancelledError):
            why = await serving
            tried.lost = None if connection.fell_silent else why
        transport.close()
    return tried


async def overhear(transport: Transport, *, clock: Clock, seconds: float) -> bytes:
    """The bytes that come in so many seconds, or enough of them. Nothing is sent."""
    heard = bytearray()
    over, readable = asyncio.Event(), asyncio.Event()

    def end() -> None:
        over.set()
        readable.set()

    timer = clock.call_later(seconds, end)
    transport.when_readable(readable.set)
    try:
        with suppress(TransportLost):
            while not over.is_set() and len(heard) < ENOUGH_BYTES:
                await readable.wait()
                readable.clear()
                heard += transport.read()
    finally:
        timer.cancel()
        transport.when_readable(None)
        transport.close()
    return bytes(heard)


def speakers(heard: bytes, names: Sequence[str] = PROFILES) -> list[str]:
    """The profiles of which these bytes hold a whole frame."""
    found = []
    for name in names:
        listener = _listener(name)
        if _good(listener.feed(heard)):
            found.append(name)
    return found


def _listener(name: str) -> _Listener:
    return cast(_Listener, import_module(f"firmware_proto.{name}.codec").Listener())


def _good(heard: list[ReceivedEvent]) -> int:
    """How many can only be a shoe's: a reply may be one stray byte, a command is a host's."""
    return sum(not isinstance(h.event, Discarded | HostTraffic | Reply) for h in heard)


def _note(tried: Tried, event: ShoeEvent) -> None:
    match event:
        case Hello():
            tried.hello = event
        case Authenticated():
            tried.proved = event
        case AuthenticationFailed():
            tried.failed = event
        case UnknownFirmware():
            tried.firmware = event
