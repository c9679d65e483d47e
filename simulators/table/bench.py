"""The surroundings of the bots at a table: the shoe, the public stream, a client, the cables.

In: nothing. Out: the Bench protocol, and Stuck. Must not know: which scenario is played, whether
time is real.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from simulators.errors import SimulatorError
from simulators.shoe.device import Device
from simulators.table.client import Client
from simulators.table.expectation import Told


class Stuck(SimulatorError):
    """Something that the bots wait for does not come, or what they do is not taken."""


class Bench(Protocol):
    """A table with its shoe, in process or live."""

    @property
    def device(self) -> Device:
        """The shoe."""

    @property
    def client(self) -> Client:
        """The way in for commands."""

    @property
    def now(self) -> float:
        """The time that the shoe lives in, in seconds."""

    @property
    def public(self) -> Sequence[Told]:
        """The public stream from its beginning, as far as it has come."""

    @property
    def connections(self) -> int:
        """The number of times that the host opened the shoe's port, as the shoe sees it."""

    def touched(self) -> None:
        """The shoe was touched: lets happen what follows at once."""

    async def until(self, so: Callable[[], bool], what: str) -> None:
        """Wait until it is so; ``what`` says in words what is waited for.

        Raises:
            Stuck: it never is.
        """

    async def pass_time(self, us: int) -> None:
        """Let so many microseconds pass at the table."""

    async def taken_up(self, cards: int = 0) -> None:
        """Wait until the host has all that the shoe said, and ``cards`` that were drawn now."""

    def unplug(self) -> None:
        """The shoe's cable comes off."""

    def replug(self) -> None:
        """It is plugged in again."""

    def cut(self, direction: str) -> None:
        """One wire of its cable breaks: ``to_shoe`` or ``to_host``."""

    def mend(self) -> None:
        """Both wires are whole again."""

    async def noise(self) -> None:
        """The line brings garbage until the host leaves it alone, and is quiet then."""

    def hold(self) -> None:
        """Hold in the line what the shoe says from now on."""

    def release(self) -> None:
        """It arrives, and so does whatever comes."""

    async def host(self, what: str, part: str) -> None:
        """Something happens around the daemon: see ``steps.HostDoes``."""
