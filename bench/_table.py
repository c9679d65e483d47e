"""A table that benches play at, with whatever version of the packages is imported.

In: cards, and how the table is set. Out: inputs, and the effects that they have.
Uses only what every version has: a controller's ``handle`` and ``desired``, the tags of inputs.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import process_time
from typing import Any

ROOT = Path(__file__).parents[1]
BEFORE = "25e38fb"
"""The last commit before the core was redesigned: what is promised is measured against it."""

CALIBRATION_STEPS = 20_000

PACKAGES = ("shoe_ctl", "firmware_proto")


@contextmanager
def packages_at(commit: str) -> Iterator[Path]:
    """A folder with the packages as they were at this commit.

    Raises:
        SystemExit: this repository does not have the commit.
    """
    packed = subprocess.run(
        ("git", "-C", str(ROOT), "archive", commit, *PACKAGES), capture_output=True, check=False
    )
    if packed.returncode != 0:
        raise SystemExit(f"{commit}: git cannot export it: {packed.stderr.decode().strip()}")
    with tempfile.TemporaryDirectory(prefix="shoe-ctl-") as folder:
        subprocess.run(("tar", "-x", "-C", folder), input=packed.stdout, check=True)
        yield Path(folder)


def daemon_at(packages: Path) -> tuple[str, ...]:
    """What runs the shoectl of these packages."""
    program = "from shoe_ctl.cli.entry_point import main; main()"
    return ("env", f"PYTHONPATH={packages}", sys.executable, "-P", "-c", program)


def run_with(packages: Path, script: str, *options: str, may_miss: bool = False) -> str:
    """Runs a script of this repository in a new process that imports these packages; its stdout.

    ``may_miss``: it may exit 1 with what it printed, as a bench does that misses a promise.

    Raises:
        SystemExit: it failed; the message ends with what it said last.
    """
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPATH"] = str(packages)
    done = subprocess.run(
        (sys.executable, script, *options), env=environment, capture_output=True, check=False
    )
    if done.returncode != 0 and not (may_miss and done.returncode == 1 and done.stdout):
        said = (done.stderr.decode(errors="replace").strip().splitlines() or [""])[-1]
        raise SystemExit(f"{Path(script).name}: exit {done.returncode}: {said}")
    return done.stdout.decode()


def calibration_ms() -> float:
    """Processor time of a fixed loop, in ms: how fast this machine runs Python at this moment."""
    began = process_time()
    kept: dict[int, tuple[int, str]] = {}
    for step in range(CALIBRATION_STEPS):
        kept[step % 97] = (step, str(step))
        sorted((step % 7, step % 5, step % 3))
    return (process_time() - began) * 1e3


def imported_from() -> Path:
    """The folder that the packages are imported from in this process."""
    import shoe_ctl

    (folder,) = shoe_ctl.__path__
    return Path(folder).parent


class Table:
    """A table of Tiger with a reference shoe of eight decks.

    ``implied``: cards are dealt face up, and the announcements follow them. Else the dealer turns
    the cards over, and makes the announcements.
    """

    def __init__(self, *, implied: bool) -> None:
        from shoe_ctl.games import catalog
        from shoe_ctl.table import inputs
        from shoe_ctl.table.controller import TableController
        from shoe_ctl.table.settings import TableSettings

        self.implied = implied
        settings = TableSettings(
            table="bac-07",
            decks=8,
            announcements="implied" if implied else "explicit",
            faces="face_up" if implied else "turned_by_dealer",
        )
        self.controller = TableController(catalog.load("tiger"), settings)
        self.inputs: list[Any] = []
        self.wake_us: int | None = None
        self._classes: dict[str, Any] = {
            str(kind.__struct_config__.tag): kind for kind in inputs.KINDS
        }
        self._t_us = 0
        self._drawn = 0

    # What happens.

    def feed(self, tag: str, *, t_us: int | None = None, **fields: Any) -> list[Any]:
        """The input of this tag, handled; its effects."""
        self._t_us = self._t_us + 1000 if t_us is None else max(t_us, self._t_us)
        happened = self._classes[tag](t_us=self._t_us, **fields)
        self.inputs.append(happened)
        effects: list[Any] = list(self.controller.handle(happened))
        for effect in effects:
            if type(effect).__name__ == "WakeAt":
                self.wake_us = effect.t_us
        return effects

    def shoe_event(self, event: Any) -> list[Any]:
        """The shoe reports this event."""
        return self.feed("shoe", event=event, connection=1)

    def command(
        self,
        name: str,
        *,
        position: str = "gaming_shift_manager",
        reason: str | None = None,
        **args: str,
    ) -> None:
        """Somebody gives this command, and the table accepts it."""
        effects = self.feed(
            "command",
            command_id=f"c{len(self.inputs)}",
            command=name,
            args=args,
            person="kim",
            position=position,
            reason=reason,
        )
        (answer,) = (e for e in effects if type(e).__name__ == "Answer")
        assert answer.accepted, answer

    def connect(self) -> None:
        """The link to the shoe is up."""
        self.feed(
            "link_up",
            connection=1,
            profile="reference",
            arm=True,
            replay=True,
            judges=False,
            names_hands=False,
        )

    def hello(self) -> None:
        """The shoe reports who it is and how many cards are drawn."""
        from firmware_proto.events import Hello

        self.shoe_event(
            Hello(
                device_id="SH-0042",
                firmware="1",
                boot_id=7,
                deck="french52",
                decks=8,
                set_id=None,
                drawn=self._drawn,
                resumed=False,
            )
        )

    def open_shoe(self) -> None:
        """A shoe at the table, ready for the first round."""
        from firmware_proto.events import ShoeLoaded

        self.connect()
        self.hello()
        self.shoe_event(ShoeLoaded(set_id="set-1", decks=8))

    def open_round(self) -> None:
        """The announcements that a dealer makes before the first card."""
        if not self.implied:
            self.command("place_your_bets")
            self.command("no_more_bets")

    @property
    def armed(self) -> Any:
        """What the shoe is armed for, or None."""
        desired = self.controller.desired
        return desired if type(desired).__name__ == "Armed" else None

    def draw(self, code: str) -> None:
        """The next card, as a reference shoe reports it."""
        from firmware_proto.cards import card
        from firmware_proto.events import CardDrawn

        face, armed = card(code), self.armed is not None
        self._drawn += 1
        self.shoe_event(CardDrawn(card=face, number=self._drawn, armed=armed))

    def play_round(self, codes: Iterator[str]) -> None:
        """A whole round from these cards, with what a reference shoe reports beside them."""
        self.open_round()
        for _ in range(4):
            self._deal(next(codes))
        if not self.implied:
            self.command("expose", hand="player")
            self.command("expose", hand="banker")
            self.command("announce_totals")
        while (due := self.armed) is not None and due.index == 3:
            self._deal(next(codes))
            if not self.implied:
                self.command("expose", hand=due.hand)
        if not self.implied:
            self.command("announce_outcome")
            self.command("settle")

    def _deal(self, code: str) -> None:
        """A card; the shoe locks, and is armed again; in time the room sees the card."""
        from firmware_proto.events import Status

        self.draw(code)
        self.shoe_event(Status(drawn=self._drawn, unacknowledged=1))
        armed = None if self.armed is None else self.armed.number
        self.shoe_event(Status(drawn=self._drawn, unacknowledged=0, armed=armed))
        if self.wake_us is not None:
            wake_us, self.wake_us = self.wake_us, None
            self.feed("tick", t_us=wake_us)
