"""Whether the table would take a command as it stands: every condition is asked, nothing is done.

In: a table's state, a command with arguments. Out: yes or no; what stands against a choice.
Must not know: which commands there are, what arguments are likely.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shoe_ctl.texts.message import Message

from . import deciding
from .inputs import TableCommand
from .rows import Refuse
from .transitions import Line, lines
from .turn import TableView, Turn

_SOMEBODY, _ANOTHER, _WHY = "somebody", "another", "why"


class Trial:
    """One table as it stands, asked again and again."""

    def __init__(self, view: TableView) -> None:
        self._now = view.now
        self._turn = Turn(view.game, view.settings, view.procedures)
        self._turn.state = view.now.state

    def takes(
        self,
        command: str,
        args: dict[str, Any],
        position: str,
        *,
        reason: bool = True,
        second: bool = True,
    ) -> bool:
        """Whether it is done, given from this position, with a reason and a second person or not.

        The position is taken to be high enough for the command itself.
        """
        turn = self._begin(command, args, position, reason=reason, second=second)
        line = _line_of(turn)
        return line is not None and not isinstance(line.do[0], Refuse)

    def asks(
        self, why: Callable[[Turn], Message | None], command: str, position: str
    ) -> Message | None:
        """What stands against this command whatever it is given, by this part of its conditions."""
        turn = self._begin(command, {}, position, reason=True, second=True)
        turn.source = turn.state
        return why(turn)

    def against(self, choice: str, args: dict[str, Any], position: str) -> Message | None:
        """What stands against this choice of the open step, with a reason and a second person."""
        turn = self._begin("decide", {"choice": choice, **args}, position, reason=True, second=True)
        turn.source = turn.state
        objection = deciding.objection_to_choice(turn)
        return None if objection is None else objection.why

    def _begin(
        self, command: str, args: dict[str, Any], position: str, *, reason: bool, second: bool
    ) -> Turn:
        turn = self._turn
        asked = TableCommand(
            t_us=self._now.t_us,
            command_id="",
            command=command,
            args=args,
            person=_SOMEBODY,
            position=position,
            reason=_WHY if reason else None,
            consented_by=_ANOTHER if second else None,
        )
        turn.begin(self._now, asked)
        return turn


def _line_of(turn: Turn) -> Line | None:
    of_it = lines()[turn.state, turn.command.command]
    return next((line for line in of_it if all(holds(turn) for holds in line.when)), None)
