"""Ports of the loopback at which nobody listens."""

from __future__ import annotations

import random
import socket
from pathlib import Path

HOST = "127.0.0.1"
LOWEST = 10_000
_EPHEMERAL = Path("/proc/sys/net/ipv4/ip_local_port_range")

_chance = random.SystemRandom()  # runs with the same seed, side by side, take other ports


def free_port() -> int:
    """A port at which nobody listens now, and that the kernel gives to nobody by itself.

    So it is still free when a server that was killed starts again: meanwhile the kernel chooses a
    port for each connection of all other tests.
    """
    first_of_kernel = int(_EPHEMERAL.read_text().split()[0])
    while True:
        port = _chance.randrange(LOWEST, first_of_kernel)
        with socket.socket() as probe:
            try:
                probe.bind((HOST, port))
            except OSError:
                continue
            return port
