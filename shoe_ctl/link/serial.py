"""A serial port as a transport: pyserial opens and configures it, the event loop reads and writes.

In: a path, the profile's serial settings. Out: chunks of bytes, or why the port is lost.
Must not know: frames, sessions, reconnecting.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import termios
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any

from firmware_proto.profiles import SerialSettings

from .port_trouble import trouble
from .ports import SerialPort
from .transport import Opener, Transport, TransportLost

READ_SIZE = 4096
"""Bytes taken at once: what a tty holds for its reader, so that one read empties it."""

WRITE_LIMIT = 64 * 1024
"""Bytes that may wait to be sent. A host says some dozens of bytes a draw: this much waits only
where the shoe has read nothing for a long while, and then a new connection is the better hope."""

_UNPLUGGED = (errno.EIO, errno.ENXIO, errno.ENODEV, errno.EPIPE)


def serial_opener(port: SerialPort, settings: SerialSettings, executor: Executor) -> Opener:
    """Opens this port with these settings, each time it is called.

    Opening can block (a driver that waits for its adapter), so it runs in ``executor``.
    """

    async def open_port() -> Transport:
        opening = executor.submit(_open, port.path, settings)
        try:
            device = await asyncio.wrap_future(opening)
        except asyncio.CancelledError:
            # The thread cannot be stopped: what it still opens it closes itself.
            opening.add_done_callback(_close_unwanted)
            raise
        return SerialTransport(device, port.path)

    return open_port


def _open(path: str, settings: SerialSettings) -> Any:
    """The open pyserial port: raw, locked for us alone, its input flushed.

    What a tty received before it was raw may be cut or our own echo: pyserial flushes it.
    """
    import serial  # type: ignore[import-untyped]

    try:
        return serial.Serial(
            path,
            baudrate=settings.baud,
            bytesize=settings.bits,
            parity=settings.parity,
            stopbits=settings.stop_bits,
            exclusive=True,
            # Makes VMIN 1: a read that finds nothing then says EAGAIN, and empty means unplugged.
            inter_byte_timeout=0,
        )
    except (OSError, ValueError, termios.error) as error:
        raise trouble(path, error) from error


def _close_unwanted(opening: Future[Any]) -> None:
    if not opening.cancelled() and opening.exception() is None:
        _close(opening.result())


def _close(device: Any) -> None:
    """Closes at once: the kernel would wait up to 30 s for what is not sent yet."""
    with contextlib.suppress(OSError, termios.error):
        if device.out_waiting:
            device.reset_output_buffer()
    # A port that was unplugged may refuse even this; its descriptor is gone all the same.
    with contextlib.suppress(OSError):
        device.close()


class SerialTransport:
    """An open serial port in the running loop (see ``Transport``)."""

    def __init__(self, device: Any, path: str) -> None:
        self._device = device
        self._fd: int = device.fileno()
        self._path = path
        self._loop = asyncio.get_running_loop()
        self._wake: Callable[[], None] | None = None
        self._unsent = bytearray()
        self._lost: str | None = None
        self._closed = False

    @property
    def lost(self) -> str | None:
        return self._lost

    def read(self) -> bytes:
        if self._lost is None:
            try:
                data = os.read(self._fd, READ_SIZE)
            except BlockingIOError:
                return b""
            except OSError as error:
                self._lose(self._why(error))
            else:
                if data:
                    return data
                self._lose(f"unplugged: {self._path}")
        raise TransportLost(self._lost)

    def when_readable(self, wake: Callable[[], None] | None) -> None:
        self._wake = wake
        if wake is None:
            if not self._closed:
                self._loop.remove_reader(self._fd)
        elif self._lost is not None:
            self._loop.call_soon(wake)
        else:
            self._loop.add_reader(self._fd, wake)

    def write(self, data: bytes) -> None:
        if self._lost is not None:
            return
        self._unsent += data
        if len(self._unsent) == len(data):
            self._send()
        if len(self._unsent) > WRITE_LIMIT:
            self._lose(f"{self._path} takes nothing: {len(self._unsent)} bytes wait to be sent")

    def close(self) -> None:
        if not self._closed:
            self._lose(f"closed: {self._path}")
            self._closed = True
            _close(self._device)

    def _send(self) -> None:
        """Sends what the kernel takes now; the loop calls again while some is left."""
        try:
            while self._unsent:
                del self._unsent[: os.write(self._fd, self._unsent)]
        except BlockingIOError:
            self._loop.add_writer(self._fd, self._send)
        except OSError as error:
            self._lose(self._why(error))
        else:
            self._loop.remove_writer(self._fd)

    def _lose(self, why: str) -> None:
        """A hung-up descriptor is always ready: the loop must let go of it at once."""
        if self._lost is None:
            self._lost = why
            self._unsent.clear()
            self._loop.remove_reader(self._fd)
            self._loop.remove_writer(self._fd)
            if self._wake is not None:
                self._wake()

    def _why(self, error: OSError) -> str:
        if error.errno in _UNPLUGGED:
            return f"unplugged: {self._path}"
        return f"{self._path}: {error.strerror or error}"
