"""Events recovered of a journal's lost part: a ruling writes them down, no one reads cards there.

In: journals cut, deleted or put back after a kill, with sinks' files as they are and rotated.
Out: a journal that holds the gap, and is whole; commands that count cards and name none.
"""

from __future__ import annotations

import asyncio
import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from shoe_ctl.cli.main import shoectl
from shoe_ctl.daemon.daemon import Daemon
from shoe_ctl.journal.files import head_path
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.record_format import RecoveredEvents
from shoe_ctl.journal.recovery import recovered_events, rulings
from shoe_ctl.sinks.nats import NatsSink
from shoe_testing.config import SOCKET, TABLE
from shoe_testing.daemon import PATIENCE_S, ShoeAtTable, nothing_is_wrong_with, runner, serving
from shoe_testing.daemon import ToldEvents as Told
from shoe_testing.lost_journal import (
    LOSSES,
    config_for,
    dealt_and_copied,
    held,
    in_doubt,
    keys,
    put_older_back,
    ruling,
)
from shoe_testing.nats_server import nats_server, target_of
from shoe_testing.ports import free_port
from shoe_testing.rounds import lines_of
from shoe_testing.socket_client import calling

pytestmark = pytest.mark.slow

AUDIENCES = ("public", "restricted")


async def restored(daemon: Daemon) -> None:
    """The ruling is stored, and the table waits for a person."""
    async with asyncio.timeout(PATIENCE_S):
        while not daemon.runners or not runner(daemon).transactions.is_held:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.01)


def recovered_in(journal: Path) -> list[RecoveredEvents]:
    """What stands before the newest ruling, oldest first."""
    with Reader.open(journal) as reader:
        record, _ = next(rulings(reader))
        return list(recovered_events(reader, record.n))[::-1]


def lost_lines(folder: Path) -> dict[str, list[bytes]]:
    """What the sinks' files hold behind the ends of the journal that is left, by stream."""
    with Reader.open(folder / "journal.db") as reader:
        counters = reader.heads()[1][TABLE].counters
    return {
        audience: (folder / f"{audience}.jsonl").read_bytes().splitlines()[ended:]
        for audience, ended in (("public", counters.public), ("restricted", counters.restricted))
    }


def shown(folder: Path, *options: str) -> Result:
    """What ``shoectl loss`` shows of the folder's journal."""
    return CliRunner().invoke(shoectl, ["loss", str(folder / "journal.db"), *options])


@pytest.mark.parametrize("rotated", [False, True], ids=["in_place", "rotated"])
@pytest.mark.parametrize("lose", LOSSES, ids=lambda lose: lose.__name__)
async def test_a_ruling_writes_down_the_recovered_events_and_the_journal_is_whole(
    tmp_path: Path, lose: Any, rotated: bool
) -> None:
    config, told = config_for(tmp_path), Told()
    with ShoeAtTable(tmp_path, "reference", seed=5, decks=8) as shoe:
        await dealt_and_copied(tmp_path, config, told, shoe)
        lose(tmp_path)
        lost = lost_lines(tmp_path)
        assert lost["public"] and lost["restricted"]
        if rotated:
            for audience in AUDIENCES:
                file = tmp_path / f"{audience}.jsonl"
                (tmp_path / f"{audience}.jsonl.1.gz").write_bytes(gzip.compress(file.read_bytes()))
                file.write_bytes(b"")
        async with held(config, told) as (daemon, _), calling(tmp_path / SOCKET) as caller:
            assert (await caller.asks(**ruling()))["accepted"]
            await restored(daemon)
    kept: dict[str, list[bytes]] = {audience: [] for audience in AUDIENCES}
    for record in recovered_in(tmp_path / "journal.db"):
        assert (record.table, record.trouble, record.not_kept) == (TABLE, "", 0)
        assert record.holder == f"{record.stream}.jsonl" + (".1.gz" if rotated else "")
        kept[record.stream] += map(bytes, record.lines)
    assert kept == lost
    nothing_is_wrong_with(tmp_path / "journal.db")
    for command in ("verify", "replay"):
        done = CliRunner().invoke(shoectl, [command, str(tmp_path / "journal.db")])
        assert done.exit_code == 0, done.output
    after = json.loads(shown(tmp_path, "--config", str(config), "--json").stdout)
    assert (after["evidence"], after["tables"], after["unread"]) == ([], [], [])
    events = [json.loads(each) for each in shown(tmp_path, "--recovered").stdout.splitlines()]
    whole = [each["event"] for each in events if not each["is_withheld"]]
    assert [each for each in whole if "/p" in each["id"]] == list(map(json.loads, lost["public"]))
    assert len(events) == len(lost["public"]) + len(lost["restricted"])
    (once,) = after["ruled"]
    (table,) = once["tables"]
    assert (once["person"], once["reason"]) == ("Ines", "the disk is lost")
    assert [(each["round_id"], each["outcome"]) for each in table["rounds"]] == [
        (f"{TABLE}-s1-r2", True), (f"{TABLE}-s1-r3", True),
    ]  # fmt: skip
    assert [holder["gapless"] for holder in table["held_by"]] == [True, True]


async def test_a_ruling_on_what_a_shoe_shows_writes_down_what_rotated_files_hold(
    tmp_path: Path,
) -> None:
    """A folder of an older moment, with the files that logrotate made since then."""
    config, told = config_for(tmp_path), Told()
    with ShoeAtTable(tmp_path, "reference", seed=13, decks=8) as shoe:
        await dealt_and_copied(tmp_path, config, told, shoe)
        put_older_back(tmp_path)
        lost = lost_lines(tmp_path)
        for audience in AUDIENCES:
            file = tmp_path / f"{audience}.jsonl"
            whole = file.read_bytes()
            (tmp_path / f"{audience}.jsonl-20261123.gz").write_bytes(gzip.compress(whole))
            ended = len(whole.splitlines()) - len(lost[audience])
            file.write_bytes(b"".join(whole.splitlines(keepends=True)[:ended]))
        async with serving(config, told) as daemon:
            doubt = await in_doubt(daemon)
            seen = await asyncio.to_thread(shown, tmp_path, "--config", str(config), "--json")
            evidence = json.loads(seen.stdout)["evidence"]
            assert [each["what"] for each in evidence if each["code"] == "shoe"] == [
                doubt.partition(";")[0]
            ]
            async with calling(tmp_path / SOCKET) as caller:
                assert (await caller.asks(**ruling()))["accepted"]
            await told.until(lambda: told.events[-1]["source"] != told.events[0]["source"])
    kept: dict[str, list[bytes]] = {audience: [] for audience in AUDIENCES}
    for record in recovered_in(tmp_path / "journal.db"):
        kept[record.stream] += map(bytes, record.lines)
    assert kept == lost
    keys([*told.events, *lines_of(tmp_path / "public.jsonl")])
    nothing_is_wrong_with(tmp_path / "journal.db")


async def test_a_stream_shows_the_loss_and_its_events_are_written_down(tmp_path: Path) -> None:
    """No file is left: a stream of NATS has what was told."""
    config, told = config_for(tmp_path), Told()
    with nats_server(tmp_path / "nats") as server:
        files = config.read_text()
        with ShoeAtTable(tmp_path, "reference", seed=5, decks=8) as shoe:
            await dealt_and_copied(tmp_path, config, told, shoe)
            put_older_back(tmp_path)
            lost = lost_lines(tmp_path)["public"]
            sink = NatsSink("floor", target_of(server.address))
            lines = (tmp_path / "public.jsonl").read_bytes().splitlines()
            await sink.deliver(lines)
            await sink.close()
            for audience in AUDIENCES:
                (tmp_path / f"{audience}.jsonl").unlink()
            section = f'[[sink]]\nkind = "nats"\naddress = "{server.address}"\n'
            config.write_text(f"{files}{section}")
            before = await asyncio.to_thread(shown, tmp_path, "--config", str(config), "--json")
            said = json.loads(before.stdout)
            (evidence,) = said["evidence"]
            assert f"was given event {json.loads(lines[-1])['id']}, and " in evidence["what"]
            (held_by,) = said["tables"][0]["held_by"]
            assert (held_by["events"], held_by["gapless"]) == (len(lost), True)
            head_path(tmp_path / "journal.db").unlink()  # that is what the daemon asks about
            async with held(config, told) as (daemon, _):
                async with calling(tmp_path / SOCKET) as caller:
                    assert (await caller.asks(**ruling()))["accepted"]
                await restored(daemon)
    kept = [
        bytes(each)
        for record in recovered_in(tmp_path / "journal.db")
        for each in record.lines
        if record.sink.startswith("nats")
    ]
    assert kept == lost
    nothing_is_wrong_with(tmp_path / "journal.db")


async def test_a_broker_that_is_away_is_named_and_holds_up_no_ruling(tmp_path: Path) -> None:
    config, told = config_for(tmp_path), Told()
    with ShoeAtTable(tmp_path, "reference", seed=5, decks=8) as shoe:
        await dealt_and_copied(tmp_path, config, told, shoe)
        put_older_back(tmp_path)
        port = free_port()
        sections = (
            f'[[sink]]\nkind = "nats"\naddress = "nats://127.0.0.1:{port}"\n'
            f'[[sink]]\nkind = "mqtt"\naddress = "mqtt://127.0.0.1:{port}"\n'
        )
        config.write_text(config.read_text() + sections)
        shows = await asyncio.to_thread(shown, tmp_path, "--config", str(config), "--json")
        unread = {each["sink"]: each["why"] for each in json.loads(shows.stdout)["unread"]}
        assert len(unread) == 2, unread
        assert "nothing listens there" in next(
            why for sink, why in unread.items() if "nats" in sink
        )
        assert "keeps no events" in next(why for sink, why in unread.items() if "mqtt" in sink)
        async with held(config, told) as (daemon, _):
            async with calling(tmp_path / SOCKET) as caller:
                assert (await caller.asks(**ruling()))["accepted"]
            await restored(daemon)
    assert {each.sink for each in recovered_in(tmp_path / "journal.db") if each.trouble} == set(
        unread
    )


async def test_a_ruling_on_files_that_no_one_can_read_says_why_and_is_stored(
    tmp_path: Path,
) -> None:
    config, told = config_for(tmp_path), Told()
    with ShoeAtTable(tmp_path, "reference", seed=5, decks=8) as shoe:
        await dealt_and_copied(tmp_path, config, told, shoe)
        put_older_back(tmp_path)
        (tmp_path / "restricted.jsonl.1.xz").write_bytes(b"\xfd7zXZ")
        why = ".xz cannot be unpacked here: unpack it beside the others"
        before = shown(tmp_path, "--config", str(config))
        assert f"not read: jsonl:restricted.jsonl (restricted.jsonl.1.xz): {why}" in before.output
        async with held(config, told) as (daemon, _), calling(tmp_path / SOCKET) as caller:
            assert (await caller.asks(**ruling()))["accepted"]
            await restored(daemon)
    troubles = {each.holder: each.trouble for each in recovered_in(tmp_path / "journal.db")}
    assert {name: said for name, said in troubles.items() if said} == {"restricted.jsonl.1.xz": why}
    nothing_is_wrong_with(tmp_path / "journal.db")


async def test_rulings_on_rounds_that_differ_in_face_down_cards_look_alike(tmp_path: Path) -> None:
    """Before the ruling and after it, at the socket and in every command that reads the journal."""
    config, told = config_for(tmp_path), Told()
    with ShoeAtTable(tmp_path, "reference", seed=5, decks=8) as shoe:
        await dealt_and_copied(tmp_path, config, told, shoe)
    kept = lines_of(tmp_path / "restricted.jsonl")
    ends = [at for at, event in enumerate(kept) if event["type"] == "round.outcome"]
    open_ = kept[: ends[-1]]  # the last round is without an outcome
    seen, drawn = [], set()
    for card in ("AS", "9H"):
        put_older_back(tmp_path)
        for event in open_[ends[-2] + 1 :]:
            if event["type"] == "round.card_drawn":
                event["data"]["card"] = card
                drawn.add(event["id"])
        text = "".join(json.dumps(event, separators=(",", ":")) + "\n" for event in open_)
        (tmp_path / "restricted.jsonl").write_text(text)
        (tmp_path / "public.jsonl").unlink(missing_ok=True)
        said: list[object] = [shown(tmp_path, "--config", str(config)).output]
        async with held(config, told) as (daemon, lines):
            async with calling(tmp_path / SOCKET) as caller:
                said += [lines[:], await caller.asks(request="status")]
                said.append(await caller.asks(**ruling()))
            await restored(daemon)
            async with calling(tmp_path / SOCKET) as caller:
                status = await caller.asks(request="status")
            said.append([each["state"] for each in status["tables"]])
        said.append([event["type"] for event in lines_of(tmp_path / "public.jsonl")])
        after = json.loads(shown(tmp_path, "--json").stdout)
        said.append([ruled | {"t_us": 0, "epoch": ""} for ruled in after["ruled"]])
        printed = shown(tmp_path, "--recovered").output
        assert printed.count('"is_withheld":true') == printed.count('"event":')
        said.append(printed)
        assert after["ruled"][0]["tables"][0]["rounds"][-1]["outcome"] is False
        seen.append(said)
    assert drawn
    assert seen[0] == seen[1]
