"""Tables whose shoes can be told things, and what became of that.

In: what a shoe can do. Out: a table at work, what was sent and told.
"""

from __future__ import annotations

from typing import Any

from firmware_proto.bee_tek.profile import CAPABILITIES as BEE_TEK
from firmware_proto.events import KeyRotated, QueryAnswered, Reply, ResetDone, SelfTested
from firmware_proto.reference.settings import CAPABILITIES as REFERENCE
from firmware_proto.session import Capabilities
from shoe_ctl.table.effects import ShoeCommand
from shoe_testing.tables import Playing

TELLS = {
    "reset_shoe": "reset",
    "test_shoe": "self_test",
    "ask_shoe": "query",
    "clear_error": "clear_error",
    "rotate_key": "rotate_key",
    "show_on_shoe": "show",
}
"""Each command of the table with what the shoe is told by it."""


def at_work(can: Capabilities = REFERENCE, *, commands: bool = True, **more: Any) -> Playing:
    """A table between rounds, whose shoe can do this."""
    table = Playing(angel_eye=can.judges, bee_tek=can is BEE_TEK, **more)
    again(table, can, commands=commands)
    if table.profile == "reference":
        table.load()
    elif can is BEE_TEK:
        table.does("align")
    return table


def again(table: Playing, can: Capabilities = REFERENCE, *, commands: bool = True) -> None:
    """The link comes up, and a shoe that names itself says hello."""
    table.connect(
        commands=commands and bool(can.obeys),
        obeys=can.obeys,
        tells=can.tells,
        authenticated=can.authenticated,
    )
    if can.replay:
        table.hello(resumed=table.now.shoe is not None)


def sent(table: Playing, command: str | None = None) -> list[ShoeCommand]:
    """What the shoe was told, but for the time."""
    told = [e for e in table.effects if isinstance(e, ShoeCommand)]
    return [c for c in told if c.command == command or (not command and c.command != "set_time")]


def restricted(table: Playing, kind: str) -> list[dict[str, Any]]:
    """The data of these events as the restricted stream has it."""
    return [e.restricted_data or e.data for e in table.events if e.type == kind]


def yes(number: int) -> Reply:
    return Reply(accepted=True, command_id=number)


DONE: dict[str, Any] = {
    "reset": lambda number: ResetDone(command_id=number),
    "self_test": lambda number: SelfTested(failed=(), command_id=number),
    "query": lambda number: QueryAnswered(command_id=number, what="battery", value=83),
    "rotate_key": lambda _: KeyRotated(key_id=2),
}
"""What a reference shoe says when it has done it."""

ARGS: dict[str, dict[str, Any]] = {"ask_shoe": {"what": "battery"}, "rotate_key": {"key_id": 2},
        "show_on_shoe": {"text": "NEW SHOE"}}  # fmt: skip
