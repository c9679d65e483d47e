"""How a command is refused: what stands against it, and the answer that says so.

In: an objection to a command. Out: its refusal, told to whoever gave the command.
Must not know: which commands and states there are, what an action does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from shoe_ctl.texts.message import Message, message

from .turn import Turn


class Objection(NamedTuple):
    """Why a command cannot be taken, and what it would need.

    ``tell`` refuses the command where another event than ``command.refused`` says it.
    """

    why: Message
    needs: Mapping[str, str] = {}
    tell: Callable[[Turn], None] | None = None


Check = Callable[[Turn, Any], Message | Objection | None]
"""What stands against a command with these arguments, or, with None, whatever it is given."""


def check_nothing(_turn: Turn, _args: object = None) -> None:
    """Nothing stands against it."""


def refuse(turn: Turn, objection: Message | Objection) -> None:
    """Refuse the command for this."""
    why, needs, tell = objection if isinstance(objection, Objection) else (objection, {}, None)
    if tell is None:
        turn.refuse(why, **needs)
    else:
        tell(turn)


@dataclass(frozen=True, slots=True)
class Refuse:
    """An action that refuses the command in a state that does not take it.

    ``states`` are those that take it. ``why`` finds what else is said in this state, or nothing.
    """

    states: tuple[str, ...]
    why: Callable[[Turn], Message | Objection | None] | None = None

    def __call__(self, turn: Turn) -> None:
        """Refuse it."""
        if self.why is not None and (objection := self.why(turn)) is not None:
            refuse(turn, objection)
            return
        error = message("refused_in_this_state", command=turn.command.command, state=turn.state)
        turn.refuse(error, state=", ".join(s for s in self.states if s != turn.state))


def not_taken(states: tuple[str, ...]) -> Objection:
    """That the state does not take the command; these do."""
    return Objection(message("refused_not_now"), tell=Refuse(states))
