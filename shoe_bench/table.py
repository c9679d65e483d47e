"""The table of a test: commands, the status, and ordinary play as the status asks for it.

In: the daemon's socket, the shoe, the events. Out: answers. It knows no rule of a game: what comes
next is what the status says.
"""

from __future__ import annotations

import itertools
import json
import socket
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from shoe_bench.errors import (
    BenchError,
    CommandRefused,
    DaemonEnded,
    NotInTime,
    is_told_by_its_text,
)
from shoe_bench.events import Event, Events, event_pattern
from shoe_bench.shoe import BenchShoe

__tracebackhide__ = is_told_by_its_text

TABLE = "bench"
"""The table's id at every bench: its rounds are ``bench-s1-r1`` and so on."""

SILENT = ("bee_tek",)
"""Profiles whose shoes do not report that another set of cards is in them."""

_PIECE = 65536


class Commands:
    """Gives commands at the daemon's socket, each with an id of its own."""

    def __init__(
        self, path: Path, events: Events, *, within_s: float, ended: Callable[[], str]
    ) -> None:
        self._path = path
        self._events = events
        self._within_s = within_s
        self._ended = ended
        self._numbers = itertools.count(1)
        self._socket: socket.socket | None = None
        self._rest = b""

    def give(
        self,
        command: str,
        /,
        *,
        position: str = "dealer",
        person: str | None = None,
        reason: str | None = None,
        consented_by: str | None = None,
        **args: Any,
    ) -> Mapping[str, Any]:
        """Give a command, and return the table's answer once the events that it caused are here.

        ``consented_by`` is one of ``shoe_bench.daemon.SECOND_PERSONS``.

        Raises:
            CommandRefused: the table refuses it.
            NotInTime, DaemonEnded: there is no answer.
        """
        asked = {
            "command_id": f"bench-{next(self._numbers)}",
            "table": TABLE,
            "command": command,
            "args": args,
            "person": person or f"the {position.replace('_', ' ')}",
            "position": position,
            "reason": reason,
            "consented_by": consented_by,
        }
        answer = self.ask(asked, command)
        if not answer.get("accepted"):
            raise CommandRefused(command, answer)
        self._events.read_up_to(answer["events"], f"the events of {command}")
        return answer

    def refused(self, command: str, /, **given: Any) -> CommandRefused:
        """Give a command that the table has to refuse, and return the refusal.

        Raises:
            AssertionError: the table accepts it.
        """
        try:
            answer = self.give(command, **given)
        except CommandRefused as refused:
            return refused
        done = (answer.get("message") or {}).get("text") or answer
        raise AssertionError(f"{command} was accepted: {done}")

    def ask(self, asked: Mapping[str, Any], what: str) -> dict[str, Any]:
        """Send a request, and return its answer.

        Raises:
            NotInTime, DaemonEnded: there is none.
        """
        try:
            answer: dict[str, Any] = json.loads(self._exchange(json.dumps(asked).encode() + b"\n"))
        except TimeoutError:
            self.close()
            raise NotInTime(f"{what}: the daemon did not answer in {self._within_s:g} s") from None
        except (OSError, EOFError) as error:
            self.close()
            why = getattr(error, "strerror", None) or "it hung up"
            raise DaemonEnded(
                f"{what}: the daemon does not answer: {why}; {self._ended()}"
            ) from None
        return answer

    def close(self) -> None:
        """Hang up; the next command connects again."""
        if self._socket is not None:
            self._socket.close()
        self._socket, self._rest = None, b""

    def _exchange(self, line: bytes) -> bytes:
        limit = time.monotonic() + self._within_s
        if self._socket is None:
            self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            self._socket.settimeout(self._within_s)
            self._socket.connect(str(self._path))
        self._socket.settimeout(self._within_s)
        self._socket.sendall(line)
        while b"\n" not in self._rest:
            self._socket.settimeout(max(0.001, limit - time.monotonic()))
            piece = self._socket.recv(_PIECE)
            if not piece:
                raise EOFError
            self._rest += piece
        answer, _, self._rest = self._rest.partition(b"\n")
        return answer


class Table:
    """The table of the test; its id is ``bench``."""

    def __init__(self, commands: Commands, events: Events, shoe: BenchShoe) -> None:
        self._commands = commands
        self._events = events
        self._shoe = shoe

    @property
    def status(self) -> dict[str, Any]:
        """The table's status as the socket gives it.

        Raises:
            NotInTime, DaemonEnded: there is none.
        """
        answer = self._commands.ask({"request": "status", "table": TABLE}, "status")
        if "tables" not in answer:
            raise BenchError(f"the daemon gives no status: {answer.get('error', answer)}")
        (status,) = answer["tables"]
        return dict(status)

    @property
    def state(self) -> str:
        """The table's state, such as ``idle``."""
        return str(self.status["state"])

    def wait_for(self, state: str, within_s: float | None = None) -> dict[str, Any]:
        """Wait until the table is in this state, and return the status.

        Raises:
            NotInTime: it does not get there.
            Unasked: the shoe does what the test did not ask for.
        """
        within_s = self._events.within_s if within_s is None else within_s
        limit = time.monotonic() + within_s
        while (status := self.status)["state"] != state:
            left = limit - time.monotonic()
            if left <= 0:
                raise NotInTime(f"{state}: not in {within_s:g} s; {stands(status)}")
            self._events.wait_for_news(f"{state} ({stands(status)})", left)
        return status

    def play(self, until: str = "round.settled", within_s: float | None = None) -> Event:
        """Play in the ordinary way until this event comes, and return it.

        Staff give the commands that the status names, and the shoe's cards are drawn when they are
        due.

        Raises:
            NotInTime: it does not come.
            BenchError: the table is halted, or a person has to decide what comes next.
        """
        wanted = event_pattern(until)
        begun = len(self._events.seen)
        within_s = self._events.within_s if within_s is None else within_s
        limit = time.monotonic() + within_s
        while True:
            status = self.status
            self._events.take()
            for event in self._events.seen[begun:]:
                if wanted.matches(event.told):
                    return event
            begun = len(self._events.seen)
            left = limit - time.monotonic()
            if left <= 0:
                raise NotInTime(f"{until} did not come in {within_s:g} s; {stands(status)}")
            self._play_on(status, until, left)

    def new_shoe(self, **arguments: Any) -> Event:
        """Change the set of cards between two rounds, and return the event ``shoe.loaded``.

        Staff order the change, and name the new set where the shoe does not report it.
        ``arguments`` are those of the change ``new_shoe``, such as ``seed``.

        Raises:
            CommandRefused: a round is open, or the table is halted.
            LeftOut: nobody can load a real shoe on command: the test is left out.
            NotInTime: the table does not get the set.
        """
        self._shoe.check_takes("new_shoe")
        self._events.pass_over()
        if self.state != "shoe_change":
            self._commands.give("change_shoe", position="pit_supervisor")
        if self._shoe.profile in SILENT:
            self._commands.give("declare_new_shoe", position="pit_supervisor")
        self._shoe.change("new_shoe", **arguments)
        loaded = self._events.wait("shoe.loaded")
        self.wait_for("idle")
        return loaded

    def _play_on(self, status: Mapping[str, Any], until: str, left_s: float) -> None:
        """Do what is next; where that is nobody's to do, wait for the next event."""
        after = status["next"] or {}
        if status["halt"] is not None:
            raise BenchError(f"play until {until}: the table is halted; {stands(status)}")
        round_id = (status["round"] or {}).get("round_id")
        if round_id != self._events.open_round:  # the stream is behind: it may hold what is awaited
            self._events.wait_for_news(f"{until} ({stands(status)})", left_s)
        elif after.get("draw"):
            self._shoe.draw(1, within_s=left_s)
        elif after.get("command"):
            takes = {each["command"]: each for each in status["takes"]}
            position = takes.get(after["command"], {}).get("position", "dealer")
            self._commands.give(after["command"], position=position, **(after.get("args") or {}))
        else:
            self._events.wait_for_news(f"{until} ({stands(status)})", left_s)


def stands(status: Mapping[str, Any]) -> str:
    """Return in words how a table stands."""
    halt, after = status.get("halt"), status.get("next") or {}
    words = [f"the table is {status['state']}", f"its link is {status['link']}"]
    if halt is not None:
        words.append(f"halted for {halt['reason']}")
    if text := (after.get("message") or {}).get("text"):
        words.append(f"next: {text}")
    return ", ".join(words)
