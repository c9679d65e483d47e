"""``shoectl table`` as a person or a script runs it, at a real daemon with a shoe on a pty."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from shoe_ctl.cli.table import Wire, refusal
from shoe_ctl.daemon.outage import fault_of
from shoe_ctl.table.status import in_storage_fault, status
from shoe_ctl.texts.catalogue import with_texts
from shoe_ctl.texts.screen import Words
from shoe_testing.cli import TERMINAL_WIDTH, Result, pasted_commands, run_shoectl_async
from shoe_testing.config import write_socket_config
from shoe_testing.daemon import SocketTable, ToldEvents, at_socket_table
from shoe_testing.socket_client import answering_socket
from shoe_testing.tables import TableHarness

pytestmark = pytest.mark.usefixtures("commands")


def flat(shown: str) -> str:
    """What was wrapped is one line again."""
    return " ".join(shown.split())


class Desk:
    """A person with a terminal at the table's daemon."""

    def __init__(self, table: SocketTable, config: Path) -> None:
        self.table = table
        self.config = str(config)

    async def runs(self, *words: str) -> Result:
        return await run_shoectl_async("table", *words, "--config", self.config)

    async def brought_to(self, state: str) -> None:
        await self.table.deal(lambda held: held["state"] == state)


@asynccontextmanager
async def desk(folder: Path, **config: Any) -> AsyncIterator[Desk]:
    async with at_socket_table(folder, **config) as table:
        await table.deal(lambda held: held["state"] == "idle")
        yield Desk(table, folder / "table.toml")


async def test_a_round_is_dealt_from_the_command_line(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        told = at.table.told
        for command, says in (
            ("place_your_bets", "done: round bac-07-s1-r1 is open; next: no more bets\n"),
            ("no_more_bets", "done: bets are closed; next: draw Player's card 1\n"),
        ):
            ran = await at.runs(command)
            assert (ran.code, ran.err) == (0, "")
            assert ran.out.startswith(f"{says}events      bac-07/p")
        await told.until(lambda: len(told.data("round.card_dealt")) == 4)
        for hand in ("player", "banker"):
            ran = await at.runs("expose", f"hand={hand}")
            await told.until(partial(lambda hand: len(revealed(told, hand)) == 2, hand))
            seen = revealed(told, hand)
            assert ran.code == 0 and f"{hand.capitalize()} shows {' '.join(seen)};" in ran.out
        ran = await at.runs("announce_totals", "--person", "Ann", "--position", "dealer")
        assert ran.code == 0
        await told.until(lambda: len(told.data("round.total_announced")) == 2)
        totals = [d["total"] for d in told.data("round.total_announced")]
        assert f"done: Player {totals[0]}, Banker {totals[1]};" in ran.out
        held = await at.table.deal(lambda held: held["next"]["command"] == "announce_outcome")
        ran = await at.runs("announce_outcome")
        await told.until(lambda: bool(told.data("round.outcome")))
        (outcome,) = told.data("round.outcome")
        high, low = sorted((outcome[h]["total"] for h in ("player", "banker")), reverse=True)
        won = "tie" if outcome["winner"] == "tie" else f"{outcome['winner']} wins"
        assert ran.out.startswith(
            f"done: {won}, {high} to {low}; next: pay and collect, then settle\n"
        )
        ran = await at.runs("settle")
        assert ran.out.startswith("done: the round is settled; next: place your bets\n")
        assert held["state"] == "revealing"


def revealed(told: ToldEvents, hand: str) -> list[str]:
    return [d["card"] for d in told.data("round.card_revealed") if d["hand"] == hand]


async def test_the_status_for_people_fits_their_terminal_and_hides_what_lies_face_down(
    tmp_path: Path,
) -> None:
    async with desk(tmp_path) as at:
        await at.brought_to("revealing")
        hidden = (await at.runs("status")).out
        await at.table.caller.gives("expose", args={"hand": "player"})
        shown = (await at.runs("status")).out
    assert max(map(len, (hidden + shown).splitlines())) <= TERMINAL_WIDTH
    assert "player      [ ] [ ]\nbanker      [ ] [ ]\n" in hidden
    assert "shoectl table expose hand=player" in hidden
    assert (
        f"player      {' '.join(revealed(at.table.told, 'player'))}\nbanker      [ ] [ ]\n" in shown
    )
    assert "expose (dealer)" in shown


async def test_the_status_for_programs_is_one_object(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        ran = await at.runs("status", "--json")
    held = json.loads(ran.out)
    assert held["tables"][0]["table"] == "bac-07"
    assert held["tables"][0]["next"]["command"] == "place_your_bets"
    assert ran.out.count("\n") == 1


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
async def test_shells_complete_a_choice_with_the_choices_that_are_open(
    shell: str, tmp_path: Path
) -> None:
    """As each shell's own script asks for it: ``choice=`` and ``--choice``."""
    async with desk(tmp_path) as at:
        await at.brought_to("revealing")
        await at.runs("declare", "key=wrong_order", "--reason", "mixed up")
        held = await at.table.status()
        choices = [choice for choice in held["halt"]["choices"] if "not_now" not in choice]
        words = ["shoectl", "table", "--config", at.config, "decide"]
        for typed, prefix in (("choice=", "choice="), ("--choice", "")):
            last = len(words) if prefix else len(words) + 1
            ran = await run_shoectl_async(
                _SHOECTL_COMPLETE=f"{shell}_complete",
                COMP_WORDS=" ".join([*words, typed]),
                COMP_CWORD=typed * bool(prefix) if shell == "fish" else str(last),
            )
            offered = re.findall(r"^(?:plain,)?([a-z=_]+)$", ran.out, re.MULTILINE)
            expected = [f"{prefix}{choice['choice']}" for choice in choices]
            assert [one for one in offered if one not in ("plain", "_")] == expected, ran
            assert 0 < len(expected) < 6


async def test_a_refusal_is_one_line_with_what_it_needs_and_exits_1(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        ran = await at.runs("settle")
        assert (ran.code, ran.out) == (1, "")
        assert ran.err == (
            "shoectl: settle cannot be taken now (the table is idle); it needs state: resolved; "
            "next: place your bets\n"
        )
        ran = await at.runs("change_shoe", "--position", "dealer")
        assert ran.code == 1 and ran.err.count("\n") == 1
        assert "it needs position: pit supervisor" in ran.err
        ran = await at.runs("settle", "--json")
        assert ran.code == 1 and ran.err == ""
        assert json.loads(ran.out)["needs"] == {"state": "resolved"}


def test_a_refusal_for_want_of_a_second_person_says_how_one_is_named() -> None:
    wants = "it needs the consent of another person"
    refused = {"error": {"text": wants}, "needs": {"consent": "another_person"}}
    assert refusal(refused, Words()) == f"{wants} (add --consented-by NAME)"


async def test_a_command_that_halts_the_table_says_so_and_what_is_typed_next(
    tmp_path: Path,
) -> None:
    async with desk(tmp_path) as at:
        ran = await at.runs("declare", "key=other", "--reason", "a fire alarm", "--id", "x")
        assert ran.code == 0 and max(map(len, ran.out.splitlines())) <= TERMINAL_WIDTH
        said = [" ".join(line.split()) for line in ran.out.splitlines()]
        assert said[0].startswith("done: other: ")
        assert any(line.startswith("events bac-07/p") for line in said)
        assert any(line.startswith("halted other: ") for line in said)
        assert "choice play_on (gaming shift manager, with a reason)" in said
        words = ["shoectl", "table", "decide", "choice=play_on", "--reason", "..."]
        assert pasted_commands(ran.out) == [[*words, "--table", "bac-07", "--config", at.config]]
        ran = await at.runs("show_on_shoe", "text=WAIT", "--json")
        assert json.loads(ran.out)["halted"] == "other" and ran.out.count("\n") == 1
        ran = await at.runs("decide", "choice=play_on", "--reason", "it was a drill")
        assert ran.out.startswith("done: other: ") and "; play goes on; next: " in flat(ran.out)
        assert "halted" not in ran.out
        ran = await at.runs("declare", "key=other", "--reason", "a fire alarm", "--id", "x")
        assert ran.out.endswith(
            "other is decided already. To see what is next: shoectl table status\n"
        )


async def test_an_id_given_twice_does_it_once(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        first = await at.runs("place_your_bets", "--id", "x", "--json")
        assert await at.runs("place_your_bets", "--id", "x", "--json") == first
        assert json.loads(first.out)["command_id"] == "x"
        assert (await at.runs("place_your_bets")).code == 1


async def test_a_stale_round_is_refused(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        ran = await at.runs("place_your_bets", "--round", "bac-07-s1-r99")
        assert ran.code == 1 and "bac-07-s1-r99" in ran.err


async def test_a_table_that_is_not_there_is_refused(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        for words in (("status",), ("settle",)):
            ran = await at.runs(*words, "--table", "bac-08")
            assert ran.code == 1
            assert ran.err == "shoectl: no table bac-08 is served here: there is bac-07\n"


async def test_the_socket_is_found_by_path_and_by_the_environment(tmp_path: Path) -> None:
    async with desk(tmp_path):
        path = str(tmp_path / "shoectl.sock")
        assert (await run_shoectl_async("table", "status", "--socket", path)).code == 0
        assert (await run_shoectl_async("table", "status", SHOECTL_SOCKET=path)).code == 0


async def test_what_is_given_reaches_the_table_as_it_was_meant(tmp_path: Path) -> None:
    given: list[dict[str, Any]] = []

    def answer(asked: dict[str, Any]) -> dict[str, Any]:
        given.append(asked)
        return {"accepted": True, "events": []}

    async with answering_socket(tmp_path / "s.sock", answer):
        ran = await run_shoectl_async(
            "table", "decide", "choice=set_aside", "index=2", "odds=1.5", 'cards=["7D"]', "card=7D",
            'quoted="2"', "empty=", "--table", "t", "--person", "Ann",
            "--position", "pit_manager",
            "--reason", "seen on the floor", "--consented-by", "Bo", "--round", "r1",
            "--socket", str(tmp_path / "s.sock"),
        )  # fmt: skip
    assert (ran.code, ran.out) == (0, "done: nothing public came of it\n")
    (asked,) = given
    assert len(asked.pop("command_id")) == 36
    assert asked == {
        "table": "t",
        "round_id": "r1",
        "command": "decide",
        "args": {
            "choice": "set_aside", "index": 2, "odds": "1.5", "cards": ["7D"], "card": "7D",
            "quoted": "2", "empty": "",
        },
        "person": "Ann",
        "position": "pit_manager",
        "reason": "seen on the floor",
        "consented_by": "Bo",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("words", "args"),
    [
        (("expose", "--hand", "banker", "--index", "2"), {"hand": "banker", "index": 2}),
        (("expose", "--hand=banker", "index=2"), {"hand": "banker", "index": 2}),
        (("place_wager", "--player", "17", "--seat", "4", "--wager", "tie", "--amount", "5000",
          "--on-behalf", "true"),
         {"player": 17, "seat": 4, "wager": "tie", "amount": 5000, "on_behalf": True}),
        (("show_on_shoe", "--text", "2"), {"text": "2"}),
        (("show_on_shoe", "--text", "true"), {"text": "true"}),
        (("restrict_wagers", "--number", "null"), {"number": None}),
        (("revise_round", "--player", "4D 5S", "--banker", "7C QH", "--of-round", "r1"),
         {"player": "4D 5S", "banker": "7C QH", "round": "r1"}),
        (("decide", "--choice", "exchange", "--one", "player 1", "--other", "drawn early"),
         {"choice": "exchange", "one": "player 1", "other": "drawn early"}),
        (("declare", "--key", "double_draw", "--cards", "2"), {"key": "double_draw", "cards": 2}),
    ],
)  # fmt: skip
async def test_an_argument_may_be_given_as_an_option(
    tmp_path: Path, words: tuple[str, ...], args: dict[str, Any]
) -> None:
    given: list[dict[str, Any]] = []

    def answer(asked: dict[str, Any]) -> dict[str, Any]:
        given.append(asked)
        return {"accepted": True, "events": []}

    async with answering_socket(tmp_path / "s", answer):
        place = ("--socket", str(tmp_path / "s"), "--table", "t1", "--position", "dealer")
        ran = await run_shoectl_async("table", *words, *place)
    assert (ran.code, ran.err) == (0, "")
    (asked,) = given
    assert (asked["args"], asked["round_id"]) == (args, None)


async def test_of_two_tables_one_must_be_named(tmp_path: Path) -> None:
    two = {"user": "u", "position": "dealer", "tables": [{"table": "a"}, {"table": "b"}]}
    async with answering_socket(tmp_path / "s.sock", lambda _: two):
        ran = await run_shoectl_async("table", "settle", "--socket", str(tmp_path / "s.sock"))
    assert ran == Result(2, "", "shoectl: no table is named: give --table, one of a, b\n")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (
            ("settle",),
            "no daemon is named: give --config FILE or --socket PATH, or set SHOECTL_SOCKET",
        ),
        (("expose", "player", "--socket", "s"), "expected NAME=VALUE, not 'player'"),
        (("expose", "=player", "--socket", "s"), "expected NAME=VALUE, not '=player'"),
        (("status", "a=b", "--socket", "s"), "status takes --table and no other argument"),
        (
            ("status", "--person", "Ann", "--socket", "s"),
            "status takes --table and no other argument",
        ),
        ((), "Usage: shoectl table [OPTIONS] COMMAND"),
        (("--json",), "Missing command"),
        (("settle", "--pin", "1234"), "No such option"),
        (("settle", "--persn", "Ann"), "Did you mean one of: '--json', '--person', '--reason'?"),
        (("expose",), "Missing option '--hand'. Choose from: player, banker"),
        (("decide",), "choice=... is missing: shoectl table status lists what may be chosen"),
        (
            ("expose", "--hand", "plyer"),
            "Invalid value for '--hand': 'plyer' is not one of its values. Did you mean 'player'?",
        ),
        (
            ("expose", "--hand", "player", "--index", "two"),
            "Invalid value for '--index': 'two' is not a whole number",
        ),
        (("expose", "--hand", "player", "hand=banker", "--socket", "s"), "hand is given twice"),
        (("decide", "--choice", "...", "--socket", "s"), "'...' is not one of"),
    ],
)
async def test_wrong_usage_exits_2(words: tuple[str, ...], says: str) -> None:
    ran = await run_shoectl_async("table", *words)
    assert ran.code == 2 and says in ran.err and ran.out == ""


async def test_without_a_daemon_it_exits_3_and_says_what_to_check(tmp_path: Path) -> None:
    path = write_socket_config(tmp_path)
    ran = await run_shoectl_async("table", "status", "--config", str(path))
    assert ran.code == 3 and ran.err.count("\n") == 1
    assert f"no daemon at {tmp_path / 'shoectl.sock'}" in ran.err
    assert "Start `shoectl run` with a [socket]" in ran.err


async def test_a_configuration_without_a_socket_says_so(tmp_path: Path) -> None:
    path = write_socket_config(tmp_path)
    path.write_text(path.read_text().partition("[socket]")[0])
    ran = await run_shoectl_async("table", "status", "--config", str(path))
    assert ran.code == 2 and "the daemon takes no commands: add a [socket]" in ran.err


@pytest.mark.parametrize("said", [b"", b"half a line", b"not JSON\n", b"[]\n"])
async def test_who_does_not_answer_as_a_daemon_does_is_an_environment_fault(
    tmp_path: Path, said: bytes
) -> None:
    async with answering_socket(tmp_path / "s.sock", lambda _: said):
        ran = await run_shoectl_async("table", "status", "--socket", str(tmp_path / "s.sock"))
    assert ran.code == 3 and "does not answer" in ran.err and ran.err.count("\n") == 1


async def test_who_is_not_let_in_is_told_why(tmp_path: Path) -> None:
    refused = {"accepted": False, "error": {"text": "user id 7 has no position"}, "needs": {}}
    async with answering_socket(tmp_path / "s.sock", lambda _: refused):
        ran = await run_shoectl_async("table", "settle", "--socket", str(tmp_path / "s.sock"))
    assert ran == Result(1, "", "shoectl: user id 7 has no position\n")


def test_the_last_word_of_one_who_hung_up_is_still_read(tmp_path: Path) -> None:
    path = tmp_path / "s.sock"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(path))
        listener.listen()
        with Wire(path) as wire:
            daemon, _ = listener.accept()
            daemon.sendall(b'{"accepted": false, "error": {"text": "no"}}\n')
            daemon.close()
            assert wire.ask({"request": "status"}) == {"accepted": False, "error": {"text": "no"}}


FAULT = "storage fault, nothing is stored, acknowledged or published: the disk is full"


@pytest.mark.parametrize("as_json", [False, True])
async def test_during_a_storage_fault_the_status_is_shown_and_exits_3(
    tmp_path: Path, as_json: bool
) -> None:
    playing = TableHarness(announcements="explicit").open_shoe()
    playing.open_round()
    stood = status(playing.now, playing.game, playing.settings)
    since_us = 1_764_000_000_000_000
    held = {
        "user": "u",
        "position": "dealer",
        "tables": [with_texts(in_storage_fault(stood, fault_of("the disk is full"), since_us))],
    }
    async with answering_socket(tmp_path / "s.sock", lambda _: held):
        words = ("status", "--socket", str(tmp_path / "s.sock"), *(["--json"] if as_json else []))
        ran = await run_shoectl_async("table", *words)
    assert (ran.code, ran.err) == (3, f"shoectl: {FAULT}\n")
    if as_json:
        assert json.loads(ran.out) == held
        return
    said = flat(ran.out)
    assert f"fault {FAULT} since 2025-11-24T16:00:00.000000Z: the table stood so" in said
    assert "next deal no more, leave every card, call the box's operator" in said
    assert "shoectl table" not in said
    assert said.endswith("takes no command now")


@pytest.mark.parametrize(
    ("word", "code", "says"),
    [
        ("index=" + "9" * 30, 1, "no"),
        ('cards={"a": ' + "9" * 30 + "}", 1, "no"),
        ("index=" + "9" * 6000, 1, "no"),
        ("index=" + "[" * 9000 + "]" * 9000, 1, "no"),
        ("index=NaN", 1, "no"),
        ("index=1e999", 1, "no"),
        ("index=\udcff", 2, "a text is not UTF-8"),
    ],
    ids=lambda value: str(value)[:20].encode(errors="replace").decode(),
)
async def test_an_argument_beyond_any_is_one_line(
    tmp_path: Path, word: str, code: int, says: str
) -> None:
    def refused(_: dict[str, Any]) -> dict[str, Any]:
        return {"accepted": False, "error": {"text": "no"}}

    async with answering_socket(tmp_path / "s", refused):
        place = ("--socket", str(tmp_path / "s"), "--table", "t1", "--position", "dealer")
        ran = await run_shoectl_async("table", "expose", word, *place)
    assert (ran.code, ran.out, ran.err.count("\n")) == (code, "", 1)
    assert says in ran.err
