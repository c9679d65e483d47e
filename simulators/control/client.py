"""Change a served shoe over Python: each call returns once the change has happened.

    with ShoeControl("shoe.ctl") as shoe:
        shoe.change("unplug")
        shoe.change("fault", drop=0.1)
        shoe.change("replug")
        shoe.change("wait", until="host")

In: the socket of ``shoe-sim serve --control``, changes. Out: what happened. Imports nothing but the
standard library and the simulators' errors.
"""

from __future__ import annotations

import json
import socket
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from simulators.errors import PortFault, SimulatorError, WrongUsage

ANSWER_WITHIN_S = 30.0
"""A shoe answers at once; on a machine that has stalled even that takes long."""

_LONGEST_ANSWER = 1 << 20
_LONGEST_WAIT_S = 36_000.0


class ChangeRefused(SimulatorError):
    """The change cannot be made as the shoe stands, or shoes of its profile cannot report it."""


class CannotReport(ChangeRefused):
    """Shoes of this profile have no message for it."""


class ChangeNotInTime(ChangeRefused):
    """The state that the change waits for did not come in its time."""


_KINDS = {
    "usage": WrongUsage,
    "refused": ChangeRefused,
    "cannot_report": CannotReport,
    "not_in_time": ChangeNotInTime,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """A change that has happened, at ``time`` (UTC, ISO 8601).

    ``cards`` left the shoe with it; ``reported`` is what the shoe had to say of it, whether or not
    a host heard it; ``shoe`` is how the shoe stands now.
    """

    did: str
    arguments: Mapping[str, Any]
    time: str
    cards: Sequence[str]
    reported: Sequence[Mapping[str, Any]]
    shoe: Mapping[str, Any]


class ShoeControl:
    """One connection to a served shoe, made when it is first used."""

    def __init__(self, path: str | Path) -> None:
        self._path = str(path)
        self._socket: socket.socket | None = None
        self._read = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def change(self, name: str, /, **arguments: Any) -> Changed:
        """Make a change, and return once it has happened.

        Raises:
            simulators.errors.WrongUsage: no such change, or a wrong argument.
            ChangeRefused: it cannot be made as the shoe stands; also ``CannotReport`` and
                ``ChangeNotInTime``.
            simulators.errors.PortFault: no shoe answers there, or its port fails.
        """
        within_s = arguments.get("within_s", 30.0)
        wait_s = within_s if isinstance(within_s, int | float) else 0.0
        if name == "draw" and isinstance(cards := arguments.get("cards"), int):
            wait_s *= cards  # it may wait so long for each
        wait_s = min(max(0.0, wait_s), _LONGEST_WAIT_S)
        answer = self._ask({"do": name, **arguments}, ANSWER_WITHIN_S + wait_s)
        if isinstance(why := answer.get("error"), str) and isinstance(answer.get("kind"), str):
            raise _KINDS.get(answer["kind"], PortFault)(why)
        if answer.get("did") != name or not answer.keys() >= Changed.__dataclass_fields__.keys():
            self.close()
            raise PortFault(f"{self._path}: what answers there is no shoe of shoe-sim serve")
        return Changed(**{key: answer[key] for key in Changed.__dataclass_fields__})

    def close(self) -> None:
        """Hang up; a change after it connects again."""
        if self._socket is not None:
            self._socket.close()
        self._socket, self._read = None, b""

    def _ask(self, asked: Mapping[str, Any], within_s: float) -> dict[str, Any]:
        try:
            line = json.dumps(asked).encode() + b"\n"
        except (TypeError, ValueError) as error:
            raise WrongUsage(f"{asked['do']}: {error}") from None
        try:
            answer = json.loads(self._exchange(line, within_s))
            if not isinstance(answer, dict):
                raise ValueError("not an object")
        except BaseException as error:
            self.close()
            match error:
                case TimeoutError():
                    raise PortFault(f"{self._path}: no answer in {within_s:g} s") from None
                case OSError() if _is_another_file(self._path):
                    raise PortFault(
                        f"{self._path}: not a socket: name the one that shoe-sim serve --control "
                        "serves"
                    ) from None
                case OSError():
                    why = error.strerror or str(error)
                    raise PortFault(
                        f"{self._path}: no shoe answers there: {why} (shoe-sim serve --control "
                        f"{self._path} starts one)"
                    ) from None
                case ValueError():
                    raise PortFault(f"{self._path}: what came is no answer") from None
            raise
        return answer

    def _exchange(self, line: bytes, within_s: float) -> bytes:
        if self._socket is None:
            self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            self._socket.settimeout(ANSWER_WITHIN_S)
            self._socket.connect(self._path)
        self._socket.settimeout(within_s)
        self._socket.sendall(line)
        while b"\n" not in self._read:
            more = self._socket.recv(65536)
            if not more:
                raise ConnectionResetError(0, "it hung up")
            self._read += more
            if len(self._read) > _LONGEST_ANSWER:
                raise ValueError("too long")
        answer, _, self._read = self._read.partition(b"\n")
        return answer


def _is_another_file(path: str) -> bool:
    """Return whether a file or a folder is there, and no socket."""
    try:
        return not stat.S_ISSOCK(Path(path).stat().st_mode)
    except OSError:
        return False
