"""Two daemons, each with its own configuration: commands find the one that has the table.

In: two configurations in a folder, simulated shoes. Out: what the commands answer, exit codes.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from shoe_testing.cli import Result, pasted_commands, run_shoectl_async
from shoe_testing.config import SOCKET_POSITION, make_config, table_section, this_user
from shoe_testing.daemon import ToldEvents, serving, shoe_on_a_pty
from shoe_testing.nats_server import nats_server, stored_messages

pytestmark = pytest.mark.usefixtures("commands")

DAEMONS = {"hall": "bac-07", "salon": "bac-41"}
"""The table of each daemon, by the name of its configuration."""


def write(folder: Path, *sinks: Mapping[str, Any], socket: bool = True) -> Path:
    """The folder of both configurations; without ``socket`` the salon takes no commands."""
    at = folder / "etc"
    at.mkdir()
    for name, table_id in DAEMONS.items():
        (at / name).mkdir()
        takes_commands = socket or name == "hall"
        sections: dict[str, Any] = {
            "journal": {"path": f"{name}/journal.db"},
            "sink": list(sinks),
        }
        if takes_commands:
            sections["socket"] = {
                "path": f"{name}/way-in",
                "user": [this_user(SOCKET_POSITION)],
            }
        table = table_section(
            table_id,
            port=str(at / name / "shoe"),
            decks=8,
            announcements="explicit" if takes_commands else "implied",
            method_b={"faces": "turned_by_dealer" if takes_commands else "face_up"},
        )
        (at / f"{name}.toml").write_text(make_config(table, **sections))
    return at


@asynccontextmanager
async def at_work(at: Path, *names: str) -> AsyncIterator[dict[str, ToldEvents]]:
    """These daemons serve, each with its shoe loaded."""
    told = {name: ToldEvents() for name in names}
    async with AsyncExitStack() as stack:
        for seed, name in enumerate(names):
            stack.enter_context(shoe_on_a_pty(at / name, seed=seed))
            await stack.enter_async_context(serving(at / f"{name}.toml", told[name]))
            await told[name].times(1, "shoe.loaded")
        yield told


async def table(at: Path, *words: str) -> Result:
    return await run_shoectl_async("table", *words, "--config", str(at))


async def test_a_command_reaches_the_daemon_that_has_the_table(tmp_path: Path) -> None:
    at = write(tmp_path)
    async with at_work(at, *DAEMONS) as told:
        both = await table(at, "status")
        assert (both.code, both.err) == (0, "")
        assert [line.split()[0] for line in both.out.splitlines() if line.startswith("bac-")] == [
            "bac-07", "bac-41",
        ]  # fmt: skip
        held = [json.loads(line) for line in (await table(at, "status", "--json")).out.splitlines()]
        assert [one["tables"][0]["table"] for one in held] == ["bac-07", "bac-41"]
        shown = await table(at, "status", "--table", "bac-41")
        assert "bac-07" not in shown.out
        assert ["--table", "bac-41", "--config", str(at / "salon.toml")] in [
            words[-4:] for words in pasted_commands(shown.out)
        ]
        done = await table(at, "place_your_bets", "--table", "bac-41")
        assert done.out.startswith("done: round bac-41-s1-r1 is open; "), done
        await told["salon"].times(1, "round.opened")
        assert told["hall"].data("round.opened") == []
        # each file named by itself is the same as the folder
        files = [word for name in DAEMONS for word in ("--config", str(at / f"{name}.toml"))]
        done = await run_shoectl_async("table", "no_more_bets", *files, "--table", "bac-41")
        assert done.out.startswith("done: bets are closed; "), done


async def test_a_shell_is_offered_the_choices_that_are_open_at_the_table(tmp_path: Path) -> None:
    at = write(tmp_path)

    async def offered(*words: str) -> list[str]:
        typed = ["shoectl", "table", "decide", "--config", str(at), "--table", "bac-41", *words]
        told = await run_shoectl_async(
            _SHOECTL_COMPLETE="bash_complete",
            COMP_WORDS=shlex.join(typed),
            COMP_CWORD=str(len(typed) - 1),
        )
        return [line.partition(",")[2] for line in told.out.splitlines() if line]

    every = await offered("choice=with")
    assert every == ["choice=withdraw_all"], "no daemon says which are open"
    async with at_work(at, *DAEMONS):
        assert await offered("choice=") == []
        for words in (
            ("place_your_bets",),
            ("no_more_bets",),
            ("declare", "key=other", "--reason", "a drink on the layout"),
        ):
            done = await table(at, *words, "--table", "bac-41")
            assert done.code == 0, done
        assert await offered("choice=") == ["choice=play_on", "choice=void"]
        assert await offered("choice=v") == ["choice=void"]
        assert await offered("--choice", "p") == ["play_on"]


async def test_what_is_for_no_daemon_or_for_several_is_refused_in_a_line(tmp_path: Path) -> None:
    at = write(tmp_path)
    async with at_work(at, *DAEMONS):
        for words, line in (
            (("place_your_bets",), "no table is named: give --table, one of bac-07, bac-41"),
            (("events",), "no table is named: give --table, one of bac-07, bac-41"),
            (("settle", "--table", "bac-9"), "there is no table bac-9 (there is: bac-07, bac-41)"),
            (
                ("resend", "sink=floor", "after=bac-9/p1"),
                "there is no table bac-9 (there is: bac-07, bac-41)",
            ),
            (("redeliver",), "redeliver is for one daemon: give its --config alone"),
        ):
            assert await table(at, *words) == Result(2, "", f"shoectl: {line}\n")
        asked = await table(at, "resend", "sink=floor", "after=bac-41/p1")
        assert (asked.code, asked.err) == (1, "shoectl: there is no sink floor (there is: told)\n")


async def test_the_status_shows_the_other_tables_if_a_daemon_is_away(tmp_path: Path) -> None:
    at = write(tmp_path)
    async with at_work(at, "salon"):
        shown = await table(at, "status")
        assert (shown.code, shown.out.splitlines()[0].split()[0]) == (3, "bac-41")
        assert shown.err.startswith(f"shoectl: no daemon at {at / 'hall' / 'way-in'} (")
        done = await table(at, "place_your_bets", "--table", "bac-41")
        assert done.code == 0
        away = await table(at, "place_your_bets", "--table", "bac-07")
        assert (away.code, away.err) == (3, shown.err)


async def test_a_daemon_that_takes_no_commands_is_named(tmp_path: Path) -> None:
    at = write(tmp_path, socket=False)
    async with at_work(at, "hall"):
        shown = await table(at, "status")
        line = f"shoectl: {at / 'salon.toml'}: the daemon takes no commands: add a [socket]\n"
        assert (shown.code, shown.err) == (2, line)
        assert shown.out.startswith("bac-07 ")


async def test_a_table_of_two_configurations_is_refused(tmp_path: Path) -> None:
    at = write(tmp_path)
    other = (at / "salon.toml").read_text().replace("bac-41", "bac-07")
    (at / "salon.toml").write_text(other)
    refused = await table(at, "settle", "--table", "bac-07")
    files = f"{at / 'hall.toml'} and {at / 'salon.toml'}"
    line = f"shoectl: table bac-07 is in {files}: give it to one of them\n"
    assert refused == Result(2, "", line)


@pytest.mark.slow
async def test_daemons_that_publish_to_one_stream_are_one_floor(tmp_path: Path) -> None:
    with nats_server(tmp_path) as server:
        at = write(tmp_path, {"kind": "nats", "address": server.address})
        async with at_work(at, *DAEMONS):
            rows: set[str] = set()
            while rows != set(DAEMONS.values()):
                shown = await run_shoectl_async("floor", "--config", str(at), "--once", "--json")
                assert shown.code in {0, 3}, shown
                rows = {json.loads(line)["table"] for line in shown.out.splitlines()}
        messages = await stored_messages(server.address, "SHOE")
    for name in DAEMONS.values():
        ids = [json.loads(m.body)["id"] for m in messages if m.subject == f"shoe.v1.{name}.public"]
        assert ids == [f"{name}/p{n}" for n in range(1, len(ids) + 1)] != []


async def test_a_floor_of_two_streams_is_refused_in_a_line(tmp_path: Path) -> None:
    at = write(tmp_path, {"kind": "nats", "address": "nats://127.0.0.1:4299"})
    salon = at / "salon.toml"
    salon.write_text(salon.read_text().replace(":4299", ":4298"))
    refused = await run_shoectl_async("floor", "--config", str(at))
    line = (
        f"{salon}: it publishes to nats://127.0.0.1:4298 SHOE, and {at / 'hall.toml'} to "
        "nats://127.0.0.1:4299 SHOE: follow one stream at a time"
    )
    assert refused == Result(2, "", f"shoectl: {line}\n")


async def test_a_table_goes_on_in_another_daemon_with_the_journal_that_has_its_records(
    tmp_path: Path,
) -> None:
    before, after = tmp_path / "floor", tmp_path / "floor2"
    sink = {"kind": "jsonl", "path": "public.jsonl"}
    for folder in (before, after, tmp_path / "port"):
        folder.mkdir()

    def configured(folder: Path, journal: str, **named: str) -> Path:
        section = table_section(
            "bac-41", port=str(tmp_path / "port" / "shoe"), decks=8, announcements="explicit"
        )
        path = folder / "table.toml"
        user = [this_user(SOCKET_POSITION)]
        sections: dict[str, Any] = {"journal": {"path": journal}, "sink": [{**sink, **named}]}
        path.write_text(make_config(section, socket={"path": "way-in", "user": user}, **sections))
        return path

    first, told = configured(before, "journal-2.db"), ToldEvents()
    with shoe_on_a_pty(tmp_path / "port", seed=1):
        async with serving(first, told):
            await told.times(1, "shoe.loaded")
            assert (await table(first, "place_your_bets")).code == 0
        for file in before.glob("journal-2.db*"):
            file.rename(after / file.name.replace("journal-2.db", "journal.db"))
        (before / "public.jsonl").rename(after / "public.jsonl")
        second = configured(after, "journal.db", name="jsonl:public.jsonl")
        async with serving(second, told):
            assert (await table(second, "no_more_bets")).code == 0
            await told.times(1, "round.bets_closed")
    events = [json.loads(line) for line in (after / "public.jsonl").read_text().splitlines()]
    assert [event["id"] for event in events] == [f"bac-41/p{n}" for n in range(1, len(events) + 1)]
    assert len({event["source"] for event in events}) == 1
    assert [e["subject"] for e in events if e["type"] == "round.bets_closed"] == ["bac-41-s1-r1"]
