"""What the status shows to be typed next, typed: in every situation of every shipped scenario."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner, Result

from firmware_proto.reference.settings import WITH_KEYS
from shoe_ctl.api.requests import Command, read_request
from shoe_ctl.cli import table as command_line
from shoe_ctl.cli.main import shoectl
from shoe_ctl.cli.table_view import WIDTH, lines, next_commands
from shoe_ctl.errors import UsageError
from shoe_ctl.table.commands import COMMANDS, lowest_position
from shoe_ctl.table.controller import TableController
from shoe_ctl.table.effects import Answer
from shoe_ctl.table.inputs import TableCommand
from shoe_ctl.table.state import TableState
from shoe_ctl.table.status import status
from shoe_ctl.texts.catalogue import text, with_texts
from shoe_testing.bench import played_once
from shoe_testing.examples import sampled
from shoe_testing.table_situations import commanded_table
from shoe_testing.tables import SHIFT
from simulators.table.scenario import shipped

REACHED = ("--socket", "/run/a folder/shoectl.sock")


class AtTheTable:
    """Answers as the daemon does for one table, and forgets what was done."""

    def __init__(self, controller: TableController, state: TableState) -> None:
        self.controller, self.state = controller, state
        self.asked: list[Command] = []

    def __call__(self, path: Path) -> AtTheTable:
        assert str(path) == REACHED[1]
        return self

    def __enter__(self) -> AtTheTable:
        return self

    def __exit__(self, *_: object) -> None: ...

    def status(self, table: str | None) -> dict[str, Any]:
        held = status(self.state, self.controller.game, self.controller.settings)
        assert table in (None, held["table"])
        return {"user": "kim", "position": SHIFT, "tables": [held]}

    def ask(self, envelope: dict[str, Any]) -> dict[str, Any]:
        asked = read_request(msgspec.json.encode(envelope))
        assert isinstance(asked, Command)
        self.asked.append(asked)
        plain = {**msgspec.structs.asdict(asked), "t_us": self.state.t_us + 1}
        del plain["table"]
        self.controller.state = self.state
        effects = self.controller.handle(TableCommand(**plain))
        (answer,) = [effect for effect in effects if isinstance(effect, Answer)]
        return {**with_texts(msgspec.to_builtins(answer)), "events": []}


def typed(words: list[str], monkeypatch: pytest.MonkeyPatch, at: AtTheTable) -> Result:
    monkeypatch.setattr(command_line, "Wire", at)
    return CliRunner().invoke(shoectl, words[1:], standalone_mode=False)


def filled(words: list[str]) -> list[str]:
    """With a reason and a second person where both are left to whoever types it."""
    besides = {"--reason": "seen by all", "--consented-by": "Bo"}
    return [
        besides[before] if word == "..." and before in besides else word
        for before, word in zip(["", *words], words, strict=False)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("name", sampled(shipped(), one_in=5, cpu_s=0.05))
async def test_each_line_of_next_does_what_it_says_or_asks_for_what_is_missing(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario = await played_once(name)
    controller = TableController(scenario.bench.game, scenario.bench.settings)
    states: list[TableState] = []
    for happened in scenario.bench.inputs:
        controller.handle(happened)
        states.append(controller.state)
    seen: set[tuple[str, ...]] = set()
    for state in states:
        at = AtTheTable(controller, state)
        (held,) = at.status(None)["tables"]
        shown = next_commands(held, REACHED, SHIFT)
        assert all(len(line) <= WIDTH for line in lines(held, REACHED, SHIFT))
        if held["next"]["command"] is not None:
            assert shown, held
        if (state.state, *shown) in seen:
            continue
        seen.add((state.state, *shown))
        for line in shown:
            _is_what_it_says(shlex.split(line), monkeypatch, at)


def _is_what_it_says(words: list[str], monkeypatch: pytest.MonkeyPatch, at: AtTheTable) -> None:
    at.asked.clear()
    whole = filled(words)
    if whole != words or any(word.endswith("=...") for word in words):
        refused = typed(words, monkeypatch, at)
        assert isinstance(refused.exception, UsageError), (words, refused.output)
        assert "fill in " in str(refused.exception)
        assert not at.asked
    if any(word.endswith("=...") for word in whole):
        return
    done = typed(whole, monkeypatch, at)
    assert done.exception is None and done.return_value == 0, (words, done.output, done.exception)
    assert len(at.asked) == 1


UNKNOWN = "zz"


async def test_the_pages_name_the_arguments_that_the_commands_take() -> None:
    """A table that is asked something with an argument it does not know says which it takes.

    In the scenarios no shoe is given a key: that is asked of one that takes keys.
    """
    missing = set(COMMANDS) - {"declare", "decide"}  # each key and choice its own
    for name in shipped():
        bench = (await played_once(name)).bench
        controller = TableController(bench.game, bench.settings)
        for happened in bench.inputs:
            missing -= _named(controller, missing)
            controller.handle(happened)
    assert missing == {"rotate_key"}
    assert _named(commanded_table(WITH_KEYS).controller, missing) == missing


def _named(controller: TableController, commands: set[str]) -> set[str]:
    """Those of the commands whose refusal names their arguments at this moment."""
    before, found = controller.state, set()
    for command in commands:
        if before.state in COMMANDS[command].states:
            if (takes := _takes(controller, command)) is not None:
                fields = msgspec.structs.fields(COMMANDS[command].args)
                assert takes == [field.name for field in fields], command
                found.add(command)
            controller.state = before
    return found


def _takes(controller: TableController, command: str) -> list[str] | None:
    """The arguments that a refusal names, None where it says something else."""
    asked = TableCommand(
        t_us=controller.state.t_us + 1, command_id="zz", command=command, args={UNKNOWN: 1},
        person="kim", position=lowest_position(command, controller.game), reason="r",
        consented_by="lee",
    )  # fmt: skip
    (answer,) = [e for e in controller.handle(asked) if isinstance(e, Answer)]
    error = "" if answer.error is None else text(answer.error)
    if f"takes no arguments: there is no {UNKNOWN}=" in error:
        return []
    _, found, takes = error.partition(f"there is no {UNKNOWN}=... here: it takes ")
    if not found:
        return None
    return [] if takes == "no arguments" else takes.split(", ")
