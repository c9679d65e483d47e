"""The shoe under test: a simulated one in this process, or a device at a port.

In: what a test asks of the shoe. Out: it happens, or ``LeftOut`` says why it cannot. Both have
one interface, so that a test is written once.
Must not know: the daemon, tables, what a report says.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import stat
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from shoe_bench.errors import BenchError, LeftOut, NoKnownState, NotInTime, is_told_by_its_text
from simulators.control.client import CannotReport, Changed, ChangeNotInTime, ShoeControl
from simulators.errors import SimulatorError

__tracebackhide__ = is_told_by_its_text

HARMLESS = frozenset({"status", "wait", "draw", "rest", "deal", "pace"})
"""Changes after which a shoe does nothing that its table would not want."""

SIMULATED, DEVICE = "simulated", "device"

ASK_AFTER_S = 1.0
"""A device that draws by itself has drawn by then; else a person is asked to."""

_STALLED_S = 5.0
"""Added to a wait that ends by itself in the shoe's thread: if it does not, the thread hangs."""

ENOUGH = 60
"""Cards for a test: with fewer before it begins, another set is pushed in."""

_RESTORES: Mapping[str, Callable[[Mapping[str, Any]], bool]] = {
    "rest": lambda shoe: shoe.get("resting") is False,
    "replug": lambda shoe: shoe.get("plugged") is False,
    "thaw": lambda shoe: bool(shoe.get("frozen")),
    "power_on": lambda shoe: shoe.get("powered") is False,
    "clean_line": lambda shoe: bool(shoe.get("fault")),
    "free": lambda shoe: bool(shoe.get("jammed")),
    "mend": lambda shoe: bool(shoe.get("cut")),
    "unlock": lambda shoe: bool(shoe.get("locked_by_key")),
    "clean_lens": lambda shoe: any(
        shoe.get("dirty_lens", {}).get(key) for key in ("misread", "unsure")
    ),
    "new_shoe": lambda shoe: shoe.get("remaining", ENOUGH) < ENOUGH,
}
"""Changes that bring a shoe back, in order, and whether each is due as the shoe stands.

What a rig does not tell of its shoe is taken to be well.
"""


class Cards(Protocol):
    """The cards that the table has from the shoe, in order, as they come."""

    def pass_over(self) -> None:
        """Leave out those that have come by now."""

    def next(self, cards: int, within_s: float) -> Sequence[str | None]:
        """Wait for so many behind those that were returned or left out before."""


class BenchShoe:
    """The shoe of a test. ``port`` is the daemon's, ``kind`` is ``simulated`` or ``device``.

    ``control`` is the socket at which it takes changes; None for a device that takes none.
    """

    def __init__(
        self,
        *,
        kind: str,
        profile: str,
        port: str,
        control: Path | None,
        tell: Callable[[str], None],
    ) -> None:
        self.kind = kind
        self.profile = profile
        self.port = port
        self.was_changed = False
        """True if the test made a change after which the shoe may do anything."""

        self._control = None if control is None else ShoeControl(control)
        self._tell = tell
        self._cards: Cards | None = None
        self._within_s = 30.0

    def connect(self, cards: Cards, within_s: float) -> None:
        """Set how cards are awaited. The bench calls this."""
        self._cards, self._within_s = cards, within_s

    def restore(self) -> None:
        """Undo what an earlier test left of a shoe that takes changes; its dealer rests.

        Raises:
            NoKnownState: there is no such shoe, or it cannot be brought back.
        """
        if self._control is None:
            return
        try:
            stands = self._control.change("status").shoe
            for name, is_due in _RESTORES.items():
                if is_due(stands):
                    stands = self._control.change(name).shoe
        except SimulatorError as error:
            raise NoKnownState(str(error)) from None

    def draw(self, cards: int = 1, *, within_s: float | None = None) -> Sequence[str | None]:
        """Draw cards, each when the shoe frees it, and return them once the table has them.

        None stands for a card that was not read. A device either draws by itself when a card is
        freed, or the terminal asks the person beside it to draw.

        Raises:
            NotInTime: the cards do not come.
            BenchError: none can be drawn: the shoe is jammed, say.
        """
        assert self._cards is not None
        within_s = self._within_s if within_s is None else within_s
        if self._control is not None:
            self._cards.pass_over()
            self._made("draw", {"cards": cards, "within_s": within_s})
        elif within_s > ASK_AFTER_S:
            with suppress(NotInTime):
                return self._cards.next(cards, ASK_AFTER_S)
            within_s -= ASK_AFTER_S
            count = "a card" if cards == 1 else f"{cards} cards, each"
            self._tell(f"{self.port}: draw {count} when the shoe frees it ({within_s:.0f} s)")
        return self._cards.next(cards, within_s)

    def change(self, name: str, /, **arguments: Any) -> Changed:
        """Make one of the changes that ``shoe-sim ctl --help`` lists; return when it has happened.

        Raises:
            LeftOut: a real shoe does not do this on command, or a shoe of this profile cannot
                report it. The test is left out, with the reason.
            simulators.errors.SimulatorError: it cannot be made as the shoe stands.
        """
        self.check_takes(name)
        if name not in HARMLESS:
            self.was_changed = True
        if name != "new_shoe" or self._cards is None:
            return self._made(name, arguments)
        self._cards.pass_over()
        made = self._made(name, arguments)
        if made.shoe.get("host", True):  # the cards that open the set are no cards of the next draw
            self._cards.next(len(made.cards), self._within_s)
        return made

    def check_takes(self, name: str) -> None:
        """Check that the shoe takes changes; ``name`` is the one that is meant.

        Raises:
            LeftOut: a real shoe does not do this on command.
        """
        if self._control is None:
            raise LeftOut(f"{name}: the shoe at {self.port} takes no changes (no --shoe-control)")

    def close(self) -> None:
        """Hang up."""
        if self._control is not None:
            self._control.close()

    def _made(self, name: str, arguments: Mapping[str, Any]) -> Changed:
        assert self._control is not None
        try:
            return self._control.change(name, **arguments)
        except CannotReport as error:
            raise LeftOut(str(error)) from None
        except SimulatorError as error:
            if name != "draw":
                raise error.with_traceback(None) from None
            kind = NotInTime if isinstance(error, ChangeNotInTime) else BenchError
            raise kind(str(error)) from None


class SimulatedShoe:
    """A simulated shoe on a pty, served by a thread of this process until ``stop``.

    ``setup`` has the keys of ``shoe`` in a scenario: ``cards``, ``cut_after``, ``decks`` and so on.
    """

    def __init__(self, folder: Path, profile: str, setup: Mapping[str, Any]) -> None:
        self.port = folder / "shoe"
        self.control = folder / "shoe.ctl"
        self._profile = profile
        self._setup = setup
        self._started: Future[None] = Future()
        self._stop = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="simulated shoe")
        self._failures: list[str] = []

    def start(self, within_s: float) -> None:
        """Serve it.

        Raises:
            BenchError: a setup that is wrong, or a port that cannot be made.
        """
        self._thread.start()
        try:
            self._started.result(within_s)
        except TimeoutError:
            raise NotInTime(f"the simulated shoe did not start in {within_s:g} s") from None
        except SimulatorError as error:
            self._thread.join()
            raise BenchError(f"the simulated shoe: {error}") from None

    def stop(self, within_s: float) -> None:
        """Unplug it, and end its thread.

        Raises:
            BenchError: it failed while it was served.
        """
        if self._thread.is_alive() and self._started.done():
            self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(within_s)
        if self._thread.is_alive():
            raise NotInTime(f"the simulated shoe did not stop in {within_s:g} s")
        if self._failures:
            raise BenchError(f"the simulated shoe failed: {'; '.join(self._failures)}")

    def open(self, within_s: float) -> int:
        """Open a shoe that has a host: its power, then the first card and those that are burned.

        Returns:
            How many cards were drawn; a shoe that asks for none draws none.

        Raises:
            NotInTime: no host opens its port.
        """
        opening = asyncio.run_coroutine_threadsafe(self._open(within_s), self._loop)
        try:
            return opening.result(within_s + _STALLED_S)
        except TimeoutError:
            raise NotInTime(f"the simulated shoe did not open in {within_s:g} s") from None

    async def _open(self, within_s: float) -> int:
        rig, device = self._rig, self._rig.device
        if not await self._bench.until(lambda: device.line_open, within_s):
            raise NotInTime(f"no host opened the simulated shoe's port in {within_s:g} s")
        if not device.powered:  # what a shoe that stores nothing says without a host is lost
            device.boot(rig.now)
            rig.turn()
        self._bench.open_set()
        return device.shoe.drawn

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as error:  # noqa: BLE001 - it is raised where the shoe is started
            if self._started.done():
                self._failures.append(repr(error))
            else:
                self._started.set_exception(error)

    async def _serve(self) -> None:
        from simulators.control.changes import ShoeBench
        from simulators.control.server import controlled
        from simulators.faults import Faults, FaultyLine
        from simulators.ports.pty import PtyPort
        from simulators.rig import Rig
        from simulators.shoe.model import CannotSay
        from simulators.table.dealer import Supply, dealer_for
        from simulators.table.fields import Fields, Wrong
        from simulators.table.scenario_player import shoe_of
        from simulators.table.shoe_setup import ShoeSetup

        self._loop = loop = asyncio.get_running_loop()
        loop.set_exception_handler(self._note_failure)
        setup = ShoeSetup.read(Fields(dict(self._setup), "shoe"))
        try:
            device = shoe_of(self._profile, setup, device_id=f"SIM-{secrets.token_hex(3).upper()}")
        except CannotSay as why:
            raise Wrong(f"shoe: {why}") from None
        lines = FaultyLine(setup.seed, Faults()), FaultyLine(setup.seed + 1, Faults())
        rig = Rig(device, PtyPort(str(self.port)), to_host=lines[0], to_shoe=lines[1])
        self._rig = rig
        supply = Supply(setup.deck, setup.decks, setup.seed + 1, 0)
        rig.dealer = dealer_for(device, supply, pace_s=0.0)
        self._bench = bench = ShoeBench(rig, lines, supply)
        rig.dealer.open_table(rig.now)
        bench.rest()
        rig.start()
        try:
            async with controlled(self.control, bench):
                self._started.set_result(None)
                await self._stop.wait()
        finally:
            rig.stop()

    def _note_failure(self, _: asyncio.AbstractEventLoop, context: Mapping[str, Any]) -> None:
        self._failures.append(repr(context.get("exception") or context["message"]))


def has_driver(port: str) -> bool:
    """Return whether a driver of this kernel is behind a port: a USB device, or a serial chip.

    A pty, or a device server, has none.
    """
    if port.startswith("usb:"):
        return True
    if "://" in port:
        return False
    try:
        found = Path(port).stat()
    except OSError:
        return False
    if not stat.S_ISCHR(found.st_mode):
        return False
    number = f"{os.major(found.st_rdev)}:{os.minor(found.st_rdev)}"
    return Path(f"/sys/dev/char/{number}/device/driver").exists()
