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
from shoe_ctl.texts.screen import Words
from shoe_testing.bench import played_once
from shoe_testing.examples import sampled
from shoe_testing.table_situations import commanded_table
from shoe_testing.tables import SHIFT, TableHarness
from simulators.table.scenario import shipped

REACHED = ("--socket", "/run/a folder/shoectl.sock")


class AtTheTable:
    """Answers as the daemon does for one table, and forgets what was done."""

    def __init__(self, controller: TableController, state: TableState) -> None:
        self.controller, self.state = controller, state
        self.asked: list[Command] = []
        self.words = Words()

    def __call__(self, path: Path, words: Words) -> AtTheTable:
        assert str(path) == REACHED[1]
        self.words = words
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
        for key in ("table", "preview", "audience", "language", "login", "consent_login"):
            del plain[key]
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


# In the reader's language.


def at_totals() -> AtTheTable:
    """Four cards lie open, and nobody has announced the totals yet."""
    table = TableHarness(faces="turned_by_dealer").open_shoe()
    table.open_round()
    table.deal("2D 3C TS TH")
    for hand in ("player", "banker"):
        table.does("expose", hand=hand)
    return AtTheTable(table.controller, table.now)


@pytest.mark.parametrize("how", ["option before", "option behind", "environment"])
def test_the_status_is_shown_in_the_language_that_is_asked_for(
    how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["shoectl", "table", "--socket", REACHED[1], "status"]
    if how == "option before":
        words[2:2] = ["--language", "zh"]
    elif how == "option behind":
        words += ["--language", "zh"]
    else:
        monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    shown = typed(words, monkeypatch, at_totals()).output
    for line in (
        "bac-07      老虎百家乐，B 方式：开牌中",
        "牌靴        bac-07-s1",
        "闲家        2D TS",
        "下一步      宣布双方点数",
        "可用命令    restrict_wagers（限制投注数，监场经理）、announce_totals（宣布点数，",
    ):
        assert line in shown.splitlines(), shown
    assert ("announce_totals --table bac-07 --socket" in shown.replace("\n", "")) is True
    assert ("--language zh" in shown) is (how != "environment")


def test_an_answer_and_a_refusal_are_in_the_language_that_is_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    words = ["shoectl", "table", "--socket", REACHED[1], "--language", "zh", "--table", "bac-07"]
    done = typed([*words, "announce_totals"], monkeypatch, at_totals())
    assert done.output.startswith("已执行：闲家 2 点、庄家 3 点；下一步：抽闲家的第三张牌\n")
    words += ["--position", "dealer"]
    refused = typed([*words, "pause", "--reason", "look"], monkeypatch, at_totals())
    assert refused.output == (
        "shoectl: pause（暂停复核）须由监场主任作出；需要：职位 监场主任；下一步：宣布双方点数\n"
    )
    empty = typed([*words, "pause", "--reason", "..."], monkeypatch, at_totals())
    assert str(empty.exception) == "命令不完整：请填写 --reason。未执行任何操作。"


def test_json_has_its_texts_in_the_language_that_is_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    words = ["shoectl", "table", "--socket", REACHED[1], "--json", "--table", "bac-07"]
    for more, text_of in (([], "Player 2"), (["--language", "zh"], "闲家 2 点")):
        done = typed([*words, *more, "announce_totals"], monkeypatch, at_totals())
        answer = msgspec.json.decode(done.output.encode())
        assert text_of in answer["message"]["text"]
        assert answer["message"]["code"] == "done"
