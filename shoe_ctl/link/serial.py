"""A serial port as a transport: pyserial opens and configures it, the event loop reads and writes.

In: a path, the profile's serial settings. Out: chunks of bytes, or why the port is lost.
Must not know: frames, sessions, reconnecting.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import termios
from concurrent.futures import Executor, Future
from typing import Any

from firmware_proto.profiles import SerialSettings

from .descriptor import DescriptorTransport
from .device_node import DeviceNode
from .port_trouble import trouble
from .ports import SerialPort
from .transport import Opener, Transport

_UNPLUGGED = (errno.EIO, errno.ENXIO, errno.ENODEV, errno.EPIPE)


def serial_opener(
    port: SerialPort,
    settings: SerialSettings,
    executor: Executor,
    node: DeviceNode | None = None,
) -> Opener:
    """Opens this port with these settings, each time it is called.

    Opening can block (a driver that waits for its adapter), so it runs in ``executor``. ``node``
    is what other openers of the same port know of it.
    """
    node = DeviceNode(port.path) if node is None else node

    async def open_port() -> Transport:
        opening = executor.submit(_open, port.path, settings, node)
        try:
            device = await asyncio.wrap_future(opening)
        except asyncio.CancelledError:
            # The thread cannot be stopped: what it still opens it closes itself.
            opening.add_done_callback(_close_unwanted)
            raise
        return _transport(device, port.path)

    return open_port


def _open(path: str, settings: SerialSettings, node: DeviceNode) -> Any:
    """The open pyserial port: raw, locked for us alone, its input flushed.

    What a tty received before it was raw may be cut or our own echo: pyserial flushes it.
    """
    import serial  # type: ignore[import-untyped]

    try:
        with node.held():
            return serial.Serial(
                path,
                baudrate=settings.baud,
                bytesize=settings.bits,
                parity=settings.parity,
                stopbits=settings.stop_bits,
                exclusive=True,
                # Makes VMIN 1: a read that finds nothing then says EAGAIN, and empty means
                # unplugged.
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


def _transport(device: Any, path: str) -> Transport:
    """The open port in the running loop."""

    def why_lost(error: OSError | None) -> str:
        if error is None or error.errno in _UNPLUGGED:
            return f"unplugged: {path}"
        return f"{path}: {error.strerror or error}"

    return DescriptorTransport(
        device.fileno(), path, why_lost=why_lost, give_back=lambda: _close(device)
    )
