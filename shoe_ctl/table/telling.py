"""What people may tell the shoe: reset, test, ask, clear an error, take a new key.

In: commands and the shoe that is connected. Out: errands given, or why not.
Must not know: how an errand reaches the shoe, what its answer changes.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from shoe_ctl.texts.message import Message, message

from . import outbox
from .arguments import Args, checked
from .errands import Command
from .irregularities import device_reset
from .irregularities.grounds import CARDS_OUT, halt_of, note
from .link_facts import is_met
from .turn import Turn


class Question(Args, frozen=True, kw_only=True):
    """What the shoe is asked."""

    what: str


class ErrorClearance(Args, frozen=True, kw_only=True):
    """What becomes of an overdrawn card, where that is the error."""

    overdraw: Literal["keep", "discard"] | None = None


class KeyId(Args, frozen=True, kw_only=True):
    """Which key of the key file; never the key. Without it the daemon has put one in."""

    key_id: Annotated[int, msgspec.Meta(ge=1, lt=2**32)] | None = None


class DisplayText(Args, frozen=True, kw_only=True):
    """What stands on its display: printable ASCII; empty is dark."""

    text: Annotated[str, msgspec.Meta(max_length=64, pattern="^[ -~]*$")]


# What was seen. Each check is asked with the arguments, or with none: of whatever is given.


def check_told(turn: Turn, command: Command) -> Message | None:
    """What stands against telling the shoe this: it cannot, may not, or was told so just now."""
    now = turn.now
    if not now.link.up:
        return message("refused_link_down")
    if command not in now.link.obeys:
        keyless = command == "rotate_key" and not now.link.authenticated and now.link.replay
        if keyless:
            return message("refused_link_without_key", profile=now.link.profile)
        return message("refused_shoe_cannot", profile=now.link.profile, what=command)
    if not now.link.commands:
        return message("refused_commands_not_configured")
    if not is_met(now):
        return message("refused_shoe_not_met")
    # Whether a secret one is on its way may follow from a card: it is never an objection.
    before = None if command in outbox.SECRET else now.outbox.of(command)
    if before is not None and not before.overdue:
        return message("refused_shoe_not_answered")
    return None


def check_reset(turn: Turn, _args: object = None) -> Message | None:
    """The same; once bets are closed a reset is a procedure, with a window first (5.9)."""
    halt = turn.now.halt
    if halt is not None and halt.back_to in ("closed", *CARDS_OUT) and not _is_at_reset(turn):
        return message("refused_declare_device_reset")
    return check_told(turn, "reset")


def check_test(turn: Turn, _args: object = None) -> Message | None:
    """The same for a self-test."""
    return check_told(turn, "self_test")


def check_question(turn: Turn, args: Question | None) -> Message | None:
    """The same for a question; of those that such a shoe can answer."""
    if (why := check_told(turn, "query")) is not None:
        return why
    tells = turn.now.link.tells
    if tells if args is None else args.what in tells:
        return None
    return message("refused_question_not_known", profile=turn.now.link.profile, questions=tells)


def check_clearing(turn: Turn, _args: object = None) -> Message | None:
    """The same for clearing an error. Which one is open, only the shoe knows."""
    return check_told(turn, "clear_error")


def check_rotation(turn: Turn, args: KeyId | None) -> Message | None:
    """The same for a new key; whether the key file has it is looked at before."""
    if (why := check_told(turn, "rotate_key")) is not None:
        return why
    return message("refused_no_key_id") if args is not None and args.key_id is None else None


def check_display(turn: Turn, _args: object = None) -> Message | None:
    """The same for a text on its display."""
    return check_told(turn, "show")


def _kind(turn: Turn) -> str:
    profile = turn.now.link.profile
    return f"{'an' if profile[:1] in 'aeiou' else 'a'} {profile} shoe"


def _is_at_reset(turn: Turn) -> bool:
    top = halt_of(turn).top
    return (top.key, top.step) == (device_reset.KEY, device_reset.RESET)


# What is done.


def reset(turn: Turn) -> None:
    """The shoe is reset; the procedure that is open waits for this one."""
    number = outbox.give(turn, "reset")
    if turn.now.halt is not None and _is_at_reset(turn):
        note(turn, told=number)


def test(turn: Turn) -> None:
    """The shoe tests itself."""
    outbox.give(turn, "self_test")


def ask(turn: Turn) -> None:
    """The shoe is asked."""
    outbox.give(turn, "query", checked(turn, Question).what)


def clear(turn: Turn) -> None:
    """The shoe's error is dealt with."""
    outbox.give(turn, "clear_error", checked(turn, ErrorClearance).overdraw)


def rotate(turn: Turn) -> None:
    """The shoe takes a new key: from its next connection on it proves itself with that."""
    outbox.give(turn, "rotate_key", checked(turn, KeyId).key_id)


def show(turn: Turn) -> None:
    """The shoe shows what people wrote: nothing of it comes from a card that was not revealed."""
    outbox.give(turn, "show", checked(turn, DisplayText).text)
