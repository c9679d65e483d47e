"""A journal that lost its newest part, under the real daemon: it waits for a person, then goes on.

In: files cut, deleted or put back after a kill. Out: nothing published under a used id.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import json
import shutil
import socket
import threading
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from shoe_ctl.cli.main import shoectl
from shoe_ctl.clock import SystemClock, Timer
from shoe_ctl.config.schema import load
from shoe_ctl.daemon import outage
from shoe_ctl.daemon.daemon import COMPARED_WITHIN_S, Daemon
from shoe_ctl.errors import ConfigError, JournalError
from shoe_ctl.journal.files import head_path
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.record_format import Ruling
from shoe_testing.config import SOCKET, TABLE
from shoe_testing.daemon import (
    PATIENCE_S,
    ShoeAtTable,
    ToldEvents,
    command,
    nothing_is_wrong_with,
    runner,
    serving,
)
from shoe_testing.lost_journal import (
    LOSSES,
    config_for,
    dealt_and_copied,
    held,
    in_doubt,
    keys,
    lose_log,
    put_older_back,
    ruling,
)
from shoe_testing.rounds import lines_of
from shoe_testing.socket_client import calling

pytestmark = pytest.mark.slow

RULED = Ruling(
    person="Ines", position="gaming_shift_manager", reason="the disk is lost", consented_by="Kim"
)


def outcomes(
    events: list[dict[str, Any]], *, but: dict[tuple[str, str], str]
) -> list[dict[str, Any]]:
    """Outcomes that were told beside those that are known."""
    return [
        event
        for event in events
        if event["type"] == "round.outcome" and (event["source"], event["id"]) not in but
    ]


def open_at(daemon: Daemon) -> list[str]:
    """What is open at the table."""
    halt = runner(daemon).controller.state.halt if daemon.runners else None
    return [] if halt is None else [opened.key for opened in halt.stack]


@pytest.mark.parametrize("lose", LOSSES, ids=lambda lose: lose.__name__)
async def test_nothing_is_published_under_a_used_id(tmp_path: Path, lose: Any) -> None:
    config, told = config_for(tmp_path), ToldEvents()
    with ShoeAtTable(tmp_path, "reference", seed=5, decks=8) as shoe:
        await dealt_and_copied(tmp_path, config, told, shoe)
        lose(tmp_path)
        before = {p.name: p.read_bytes() for p in tmp_path.glob("journal.db*")}
        known = keys(told.events)
        async with held(config, told) as (daemon, lines):
            async with calling(tmp_path / SOCKET) as caller:
                for asked in ({"request": "status"}, ruling(command="resume")):
                    assert (await caller.asks(**asked))["error"]["text"] == lines[0]
                for wrong, why in (
                    ({"reason": None}, "a reason is missing"),
                    ({"consented_by": None}, "another person"),
                    ({"consented_by": "Ines"}, "another person"),
                    ({"position": "pit_manager"}, "needs a gaming shift manager"),
                    ({"position": "surveillance"}, "acts up to"),
                    ({"args": {"x": 3}}, "accept_loss takes no x"),
                    ({"round_id": "zzz"}, "accept_loss takes no round"),
                ):
                    answer = await caller.asks(**ruling(**wrong))
                    assert not answer["accepted"]
                    assert why in answer["error"]["text"], answer
                now = {p.name: p.read_bytes() for p in tmp_path.glob("journal.db*")}
                assert {name: now[name] for name in before} == before
                assert keys(told.events) == known
                assert (await caller.asks(**ruling()))["accepted"]
            async with asyncio.timeout(PATIENCE_S):
                while not daemon.runners or not runner(daemon).transactions.is_held:  # noqa: ASYNC110 - nobody tells
                    await asyncio.sleep(0.01)
            assert daemon.doubt is None
            assert (await command(daemon, "on", "resume")).answer.accepted
            await told.until(lambda: "gap" in open_at(daemon))
            assert not outcomes(told.events, but=known)
            async with calling(tmp_path / SOCKET) as caller:
                again = await caller.asks(**ruling())
                assert again == {"command_id": "ruled-1", "accepted": True, "events": []}
                other = await caller.asks(**ruling(reason="another"))
                assert "was used before, for another command" in other["error"]["text"]
        async with serving(config, told), calling(tmp_path / SOCKET) as caller:
            assert await caller.asks(**ruling()) == again
    keys(told.events)
    for audience in ("public", "restricted"):
        keys(lines_of(tmp_path / f"{audience}.jsonl"))
    nothing_is_wrong_with(tmp_path / "journal.db")


async def test_a_ruling_on_a_full_disk_is_answered_as_a_storage_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config, told = config_for(tmp_path), ToldEvents()
    full = JournalError("journal cannot grow: the disk is full. Free some space.")

    def refuse(_: Path) -> None:
        raise full

    with ShoeAtTable(tmp_path, "reference", seed=5, decks=8) as shoe:
        await dealt_and_copied(tmp_path, config, told, shoe)
        lose_log(tmp_path)
        with contextlib.suppress(JournalError):  # with which the daemon ends
            async with held(config, told), calling(tmp_path / SOCKET) as caller:
                monkeypatch.setattr("shoe_ctl.journal.files.refuse_if_full", refuse)
                answer = await caller.asks(**ruling())
        assert answer["error"]["code"] == "daemon_storage_fault", answer
        assert "the disk is full" in answer["error"]["text"]


async def test_the_socket_is_there_without_a_gap_over_a_ruling(tmp_path: Path) -> None:
    config, told = config_for(tmp_path), ToldEvents()
    with ShoeAtTable(tmp_path, "reference", seed=5, decks=8) as shoe:
        await dealt_and_copied(tmp_path, config, told, shoe)
        lose_log(tmp_path)
        refused: list[int] = []
        over = threading.Event()

        def knock() -> None:
            while not over.is_set():
                with socket.socket(socket.AF_UNIX) as caller:
                    caller.setblocking(False)
                    code = caller.connect_ex(str(tmp_path / SOCKET))
                    if code not in {0, errno.EAGAIN}:  # so many may wait at once
                        refused.append(code)
                over.wait(0.001)

        async with held(config, told) as (daemon, _), calling(tmp_path / SOCKET) as caller:
            knocking = asyncio.create_task(asyncio.to_thread(knock))
            try:
                assert (await caller.asks(**ruling()))["accepted"]
                async with asyncio.timeout(PATIENCE_S):
                    while not daemon.runners or not runner(daemon).transactions.is_held:  # noqa: ASYNC110 - nobody tells
                        await asyncio.sleep(0.01)
            finally:
                over.set()
                await knocking
        assert refused == []


async def test_a_ruling_that_is_lost_with_the_newest_part_is_noticed(tmp_path: Path) -> None:
    """The copy is of before the ruling; the sinks' files were begun anew after it."""
    config, told = config_for(tmp_path), ToldEvents()
    with ShoeAtTable(tmp_path, "reference", seed=10, decks=8) as shoe:
        await dealt_and_copied(tmp_path, config, told, shoe)
        lose_log(tmp_path)
        async with held(config, told), calling(tmp_path / SOCKET) as caller:
            assert (await caller.asks(**ruling()))["accepted"]
            await told.until(lambda: told.events[-1]["source"] != told.events[0]["source"])
        for audience in ("public", "restricted"):
            (tmp_path / f"{audience}.jsonl").rename(tmp_path / f"{audience}-1.jsonl")
        async with serving(config, told) as daemon:
            assert (await command(daemon, "on", "resume")).answer.accepted
            await told.until(lambda: "gap" in open_at(daemon))
    put_older_back(tmp_path)
    known = keys(told.events)
    with ShoeAtTable(tmp_path, "reference", seed=11, decks=8) as shoe:
        shoe.rest_after(1)
        async with held(config, told) as (daemon, lines), calling(tmp_path / SOCKET) as caller:
            for of in ("sink jsonl:public.jsonl was", "a sink of the restricted stream was"):
                assert f"{of} given events of table {TABLE} under epoch" in lines[0]
            assert keys(told.events) == known
            assert (await caller.asks(**ruling(command_id="ruled-2")))["accepted"]
        async with serving(config, told) as daemon:
            assert daemon.doubt is None
            assert (await command(daemon, "on-2", "resume")).answer.accepted
    for audience in ("public", "restricted"):
        keys([line for p in tmp_path.glob(f"{audience}*.jsonl") for line in lines_of(p)])
    nothing_is_wrong_with(tmp_path / "journal.db")


@asynccontextmanager
async def shown_by_the_shoe(
    folder: Path, *, seed: int = 6
) -> AsyncIterator[tuple[ShoeAtTable, ToldEvents, Path]]:
    """Everything of an older moment was put back, and no sink can tell: the shoe alone does."""
    config, told = config_for(folder), ToldEvents()
    with ShoeAtTable(folder, "reference", seed=seed, decks=8) as shoe:
        await dealt_and_copied(folder, config, told, shoe)
        put_older_back(folder)
        for audience in ("public", "restricted"):
            (folder / f"{audience}.jsonl").rename(folder / f"{audience}-taken.jsonl")
        yield shoe, told, config


async def test_a_shoe_of_which_more_was_acknowledged_holds_its_table(tmp_path: Path) -> None:
    async with shown_by_the_shoe(tmp_path) as (_, told, config):
        lines: list[str] = []
        known = keys(told.events)
        async with serving(config, told, tell=lines.append) as daemon:
            doubt = await in_doubt(daemon)
            assert lines[-1] == doubt
            assert "acknowledged, and the journal does not hold them" in doubt
            async with calling(tmp_path / SOCKET) as caller:
                status = await caller.asks(request="status")
                assert status["tables"][0]["doubt"] == doubt
                for refused in ("pause", "place_your_bets"):
                    answer = await caller.asks(**ruling(command=refused, command_id=refused))
                    assert answer["error"]["text"] == doubt
                answer = await caller.asks(**ruling(position="pit_manager", command_id="low"))
                assert answer["needs"] == {"position": "gaming_shift_manager"}
                assert keys(told.events) == known  # what was published before may come again
                assert keys(lines_of(tmp_path / "public.jsonl")).keys() <= known.keys()
                last_n = runner(daemon).transactions.journal.last_n
                done = await caller.asks(**ruling())
                assert done["accepted"]
                assert await caller.asks(**ruling()) == done
                other = await caller.asks(**ruling(reason="another"))
                assert "was used before, for another command" in other["error"]["text"]
                new = await caller.asks(**ruling(command_id="ruled-2"))
                assert (
                    "this journal shows no loss; there is nothing to rule on"
                    in new["error"]["text"]
                )
            assert runner(daemon).transactions.journal.last_n > last_n
            await told.until(lambda: told.events[-1]["source"] != told.events[0]["source"])
            fresh = [event for event in told.events if (event["source"], event["id"]) not in known]
            assert {event["source"] for event in fresh} == {told.events[-1]["source"]}
            # What the shoe was acknowledged is not dealt again: people are asked.
            await told.until(lambda: "gap" in open_at(daemon))
            assert not outcomes(told.events, but=known)
        files = [lines_of(path) for path in sorted(tmp_path.glob("public*.jsonl"))]
        keys([*told.events, *files[0], *files[1]])
        again = ToldEvents()
        again.events += told.events
        async with serving(config, again) as daemon:
            assert runner(daemon).doubt is None
        keys(again.events)
        for audience in ("public", "restricted"):
            keys([line for p in tmp_path.glob(f"{audience}*.jsonl") for line in lines_of(p)])
    nothing_is_wrong_with(tmp_path / "journal.db")


async def test_sinks_files_that_were_put_back_with_the_rest_prove_nothing(tmp_path: Path) -> None:
    """A whole folder of an older moment: what its files show agrees, and only the shoe differs."""
    config, told = config_for(tmp_path), ToldEvents()
    with ShoeAtTable(tmp_path, "reference", seed=13, decks=8) as shoe:
        await dealt_and_copied(tmp_path, config, told, shoe)
        put_older_back(tmp_path)
        known = keys(told.events)
        with Reader.open(tmp_path / "journal.db") as reader:
            ends = reader.heads()[1][TABLE].counters
        for audience, end in (("public", ends.public), ("restricted", ends.restricted)):
            path = tmp_path / f"{audience}.jsonl"
            path.write_text("".join(path.read_text().splitlines(keepends=True)[:end]))
        async with serving(config, told) as daemon:
            await in_doubt(daemon)
            async with calling(tmp_path / SOCKET) as caller:
                for _ in range(20):  # every answer crosses the threads that would publish
                    await caller.asks(request="status")
                assert (await caller.asks(**ruling()))["accepted"]
            await told.until(lambda: told.events[-1]["source"] != told.events[0]["source"])
        assert keys(told.events).keys() >= known.keys()
        for audience, end in (("p", ends.public), ("r", ends.restricted)):
            now = lines_of(tmp_path / ("public.jsonl" if audience == "p" else "restricted.jsonl"))
            used = keys([e for e in now if e["source"] == told.events[0]["source"]])
            assert {of for _, of in used} == {f"{TABLE}/{audience}{n + 1}" for n in range(end)}


class HandClock(SystemClock):
    """The real clock, whose wait for shoes that are away is over when a test says so."""

    def __init__(self) -> None:
        super().__init__()
        self._waits: list[Callable[[], None]] = []

    def call_later(self, delay_s: float, callback: Callable[[], None]) -> Timer:
        if delay_s != COMPARED_WITHIN_S:
            return super().call_later(delay_s, callback)
        self._waits.append(callback)
        return super().call_later(PATIENCE_S * COMPARED_WITHIN_S, callback)

    def let_it_pass(self) -> None:
        """All waits are over."""
        assert self._waits
        for callback in self._waits:
            callback()


async def test_a_doubt_is_not_over_when_the_wait_for_shoes_is(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Only the shoe shows the loss: nothing that is stored since the start goes out for it."""
    clock = HandClock()
    async with shown_by_the_shoe(tmp_path) as (_, told, config):
        known = keys(told.events)
        async with serving(config, told, clock=clock) as daemon:
            doubt = await in_doubt(daemon)
            clock.let_it_pass()
            async with calling(tmp_path / SOCKET) as caller:
                for _ in range(20):  # every answer crosses the threads that would publish
                    status = await caller.asks(request="status")
                    assert status["tables"][0]["doubt"] == doubt
                assert "shoe not compared" not in caplog.text
                assert keys(told.events) == known
                assert keys(lines_of(tmp_path / "public.jsonl")).keys() <= known.keys()
                assert (await caller.asks(**ruling()))["accepted"]
            await told.until(lambda: told.events[-1]["source"] != told.events[0]["source"])
        for audience in ("public", "restricted"):
            keys([line for p in tmp_path.glob(f"{audience}*.jsonl") for line in lines_of(p)])


OTHER = "b2"
"""A table beside the one whose shoe shows a loss."""


def under_another_source(events: list[dict[str, Any]], *, but: dict[tuple[str, str], str]) -> str:
    """The one source of what the other table told beside what is known: one that was not used."""
    (source,) = {e["source"] for e in events if (e["source"], e["id"]) not in but}
    assert source.endswith(f"/table/{OTHER}")
    assert source not in {of for of, _ in but}
    return str(source)


@asynccontextmanager
async def beside_another_table(
    folder: Path, told: ToldEvents, config: Path
) -> AsyncIterator[tuple[ShoeAtTable, ToldEvents]]:
    """Another table of the same configuration, with a shoe that shows no loss."""
    beside = folder / OTHER
    beside.mkdir()
    one = config.read_text().partition("[[sink]]")[0]
    other = one.replace(TABLE, OTHER).replace(str(folder / "shoe"), str(beside / "shoe"))
    config.write_text(other + config.read_text())
    with ShoeAtTable(beside, "reference", seed=12, decks=8) as shoe:
        shoe.rest_after(1)
        yield shoe, told


async def test_a_ruling_on_what_one_shoe_shows_is_for_every_table(tmp_path: Path) -> None:
    """The other table may have lost records too: it goes on, and never under the old source."""
    async with (
        shown_by_the_shoe(tmp_path) as (_, told, config),
        beside_another_table(tmp_path, told, config) as (shoe, _),
    ):
        known = keys(told.events)
        async with (
            serving(config, told) as daemon,
            calling(tmp_path / SOCKET) as caller,
        ):
            await in_doubt(daemon)
            await shoe.rests()
            await told.until(lambda: bool(outcomes(told.events, but=known)))
            source = under_another_source(told.events, but=known)
            # It is given at the table whose shoe shows nothing: the ruling is for all of them.
            assert (await caller.asks(**ruling(table=OTHER)))["accepted"]
            assert await caller.asks(**ruling(table=OTHER)) == {
                "command_id": "ruled-1", "accepted": True, "events": [],
            }  # fmt: skip
            for table in (TABLE, OTHER):
                assert daemon.runners[table].transactions.is_held
                asked = ruling(command="resume", command_id=f"on-{table}", table=table)
                assert (await caller.asks(**asked))["accepted"]
            await told.until(lambda: "gap" in open_at(daemon))
        epoch = source.split("/")[2]
        late = ToldEvents()
        late.events += told.events
        async with serving(config, late):
            await late.times(len(late.data("shoe.connected")) + 2, "shoe.connected")
        new = {e["source"] for e in late.events if (e["source"], e["id"]) not in known}
        assert new == {f"/journal/{epoch}/table/{table}" for table in (TABLE, OTHER)}
        keys(late.events)
        for audience in ("public", "restricted"):
            keys([line for p in tmp_path.glob(f"{audience}*.jsonl") for line in lines_of(p)])
    nothing_is_wrong_with(tmp_path / "journal.db")


async def test_a_doubt_outlasts_an_outage_of_the_storage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other table's command meets the outage; nothing is forgotten when it is over."""
    monkeypatch.setattr(outage, "FIRST_RETRY_S", 0.01)
    monkeypatch.setattr(outage, "LONGEST_RETRY_S", 0.05)
    journal, away, clock = tmp_path / "journal.db", tmp_path / "away", HandClock()
    async with shown_by_the_shoe(tmp_path) as (_, told, config):
        known = keys(told.events)
        lines: list[str] = []
        async with beside_another_table(tmp_path, told, config) as (shoe, _):
            async with (
                serving(config, told, tell=lines.append, clock=clock) as daemon,
                calling(tmp_path / SOCKET) as caller,
            ):
                doubt = await in_doubt(daemon)
                await shoe.rests()
                journal.rename(away)
                with contextlib.suppress(json.JSONDecodeError):  # hung up on
                    await caller.asks(**ruling(command="pause", command_id="q", table=OTHER))
                async with asyncio.timeout(PATIENCE_S):
                    while daemon.outage is None:  # noqa: ASYNC110 - nobody tells
                        await asyncio.sleep(0.01)
                away.rename(journal)
                async with asyncio.timeout(PATIENCE_S):
                    while not (lines[-1] == doubt and "waiting for resume" in lines[-2]):  # noqa: ASYNC110
                        await asyncio.sleep(0.01)
                clock.let_it_pass()
                async with calling(tmp_path / SOCKET) as again:
                    for _ in range(20):  # every answer crosses the threads that would publish
                        status = await again.asks(request="status", table=TABLE)
                        assert status["tables"][0]["doubt"] == doubt
                    answer = await again.asks(**ruling(command="resume", command_id="r1"))
                    assert answer["error"]["text"] == doubt
                    under_another_source(told.events, but=known)
                    assert (await again.asks(**ruling()))["accepted"]
                    for number, table in enumerate((TABLE, OTHER)):
                        asked = ruling(command="resume", command_id=f"on-{number}", table=table)
                        assert (await again.asks(**asked))["accepted"]
                await told.until(lambda: "gap" in open_at(daemon))
            keys(told.events)
            late = ToldEvents()
            late.events += told.events
            async with serving(config, late):
                await late.times(len(late.data("shoe.connected")) + 1, "shoe.connected")
            keys(late.events)
        for audience in ("public", "restricted"):
            keys([line for p in tmp_path.glob(f"{audience}*.jsonl") for line in lines_of(p)])
    nothing_is_wrong_with(journal)


async def test_what_one_start_kept_back_the_next_does_not_publish(tmp_path: Path) -> None:
    """It was stored before this start, and nobody compared it with what the shoe has."""
    async with shown_by_the_shoe(tmp_path) as (_, told, config):
        known = keys(told.events)
        for _ in range(2):
            async with serving(config, told) as daemon:
                await in_doubt(daemon)
        async with serving(config, told) as daemon:
            doubt = await in_doubt(daemon)
            async with calling(tmp_path / SOCKET) as caller:
                for _ in range(20):  # every answer crosses the threads that would publish
                    status = await caller.asks(request="status")
                    assert status["tables"][0]["doubt"] == doubt
                assert keys(told.events) == known
                assert keys(lines_of(tmp_path / "public.jsonl")).keys() <= known.keys()
                assert (await caller.asks(**ruling()))["accepted"]
            await told.until(lambda: told.events[-1]["source"] != told.events[0]["source"])
        keys(told.events)
        for audience in ("public", "restricted"):
            keys([line for p in tmp_path.glob(f"{audience}*.jsonl") for line in lines_of(p)])


async def test_what_is_never_published_stays_so_over_a_restart(tmp_path: Path) -> None:
    """Sinks that took nothing before the restart do not get what was withheld after it."""
    async with shown_by_the_shoe(tmp_path) as (_, told, config):
        async with serving(config, told) as daemon:
            await in_doubt(daemon)
            asked = await command(daemon, "ruled", "accept_loss")
            assert not asked.answer.accepted  # nobody consented
            async with calling(tmp_path / SOCKET) as caller:
                assert (await caller.asks(**ruling()))["accepted"]
        late = ToldEvents()
        late.events += told.events
        shutil.rmtree(tmp_path / "old")
        async with serving(config, late, host_boot="boot-2") as daemon:
            await late.until(lambda: any(e["type"] == "outage.opened" for e in late.events))
        keys(late.events)


async def test_without_a_socket_it_ends_and_says_how_to_rule(tmp_path: Path) -> None:
    config, told = config_for(tmp_path, socket=False), ToldEvents()
    with ShoeAtTable(tmp_path, "reference", seed=7, decks=8) as shoe:
        await dealt_and_copied(tmp_path, config, told, shoe)
        with pytest.raises(ConfigError, match="lost nothing: start without --accept-loss"):
            await started(config, RULED)
        lose_log(tmp_path)
        known = keys(told.events)
        with pytest.raises(JournalError, match=r"no .socket. to rule at: .* --accept-loss"):
            await started(config, None)
        with ThreadPoolExecutor(1, "port") as executor:
            daemon = daemon_for(config, RULED, executor)
            ready = asyncio.Event()
            task = asyncio.create_task(daemon.run(ready.set))
            async with asyncio.timeout(PATIENCE_S):
                await ready.wait()
            assert runner(daemon).transactions.is_held
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
        async with serving(config, told) as daemon:
            # Over restarts, until a person looked at the table.
            assert runner(daemon).transactions.is_held
            assert (await command(daemon, "on", "resume")).answer.accepted
            await told.until(lambda: "gap" in open_at(daemon))
        assert not outcomes(told.events, but=known)
        keys(told.events)
    nothing_is_wrong_with(tmp_path / "journal.db")


def daemon_for(config: Path, accepted: Ruling | None, executor: ThreadPoolExecutor) -> Daemon:
    return Daemon(
        load(config), clock=SystemClock(), executor=executor, host_boot="boot-1", accepted=accepted
    )


async def started(config: Path, accepted: Ruling | None) -> None:
    """A start that must fail."""
    with ThreadPoolExecutor(1, "port") as executor:
        async with asyncio.timeout(PATIENCE_S):
            await daemon_for(config, accepted, executor).run()


async def test_a_missing_head_file_is_asked_about_and_putting_it_back_is_enough(
    tmp_path: Path,
) -> None:
    config, told = config_for(tmp_path), ToldEvents()
    with ShoeAtTable(tmp_path, "reference", seed=8, decks=8) as shoe:
        await dealt_and_copied(tmp_path, config, told, shoe)
        head = head_path(tmp_path / "journal.db")
        away = head.rename(tmp_path / "away")
        async with held(config, told) as (daemon, _):
            assert daemon.doubt is not None
            assert "head file journal.db-head is missing" in daemon.doubt
        away.rename(head)
        shoe.rest_after(4)
        shoe.go_on()
        async with serving(config, told) as daemon:
            assert not runner(daemon).transactions.is_held
            await told.times(4, "round.outcome")
    assert len({event["source"] for event in told.events}) == 1
    nothing_is_wrong_with(tmp_path / "journal.db")


async def test_the_command_line_says_the_doubt_and_takes_the_ruling(tmp_path: Path) -> None:
    config, told = config_for(tmp_path), ToldEvents()
    words = ["--config", str(config)]

    async def called(*more: str) -> Result:
        return await asyncio.to_thread(CliRunner().invoke, shoectl, ["table", *more, *words])

    with ShoeAtTable(tmp_path, "reference", seed=9, decks=8) as shoe:
        await dealt_and_copied(tmp_path, config, told, shoe)
        lose_log(tmp_path)
        async with held(config, told) as (daemon, lines):
            said = await called("status")
            assert str(said.exception) == lines[0]
            low = await called("accept_loss", "--reason", "gone")
            assert "needs the consent of another person" in low.output
            done = await called("accept_loss", "--reason", "gone", "--consented-by", "Kim")
            assert done.exit_code == 0, done.output
            async with asyncio.timeout(PATIENCE_S):
                while not daemon.runners or not runner(daemon).transactions.is_held:  # noqa: ASYNC110 - nobody tells
                    await asyncio.sleep(0.01)
    nothing_is_wrong_with(tmp_path / "journal.db")


def shown_loss(folder: Path, config: Path) -> dict[str, Any]:
    """What ``shoectl loss`` shows of the folder's journal."""
    arguments = ["loss", str(folder / "journal.db"), "--config", str(config), "--json"]
    done = CliRunner().invoke(shoectl, arguments)
    assert done.exit_code == 1, done.output
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("lose", LOSSES, ids=lambda lose: lose.__name__)
async def test_rounds_that_are_lost_are_listed_with_who_still_has_them(
    tmp_path: Path, lose: Any
) -> None:
    config, told = config_for(tmp_path), ToldEvents()
    with ShoeAtTable(tmp_path, "reference", seed=5, decks=8) as shoe:
        await dealt_and_copied(tmp_path, config, told, shoe)
        dealt = [len(outcome["player"]["cards"] + outcome["banker"]["cards"])
                 for outcome in told.data("round.outcome")]  # fmt: skip
    lose(tmp_path)
    before = {p.name: p.read_bytes() for p in tmp_path.glob("journal.db*") if "-shm" not in p.name}
    (table,) = shown_loss(tmp_path, config)["tables"]
    now = {p.name: p.read_bytes() for p in tmp_path.glob("journal.db*") if "-shm" not in p.name}
    assert {name: now[name] for name in before} == before
    assert table["table"] == TABLE
    assert [(r["round_id"], r["cards"], r["outcome"]) for r in table["rounds"]] == [
        (f"{TABLE}-s1-r2", dealt[1], True), (f"{TABLE}-s1-r3", dealt[2], True),
    ]  # fmt: skip
    public, restricted = table["held_by"]
    assert public["file"] == "public.jsonl"
    assert public["last"] == lines_of(tmp_path / "public.jsonl")[-1]["id"]
    assert public["gapless"] and restricted["gapless"]
    assert restricted["file"] == "restricted.jsonl"
    assert restricted["events"] is None and restricted["last"] is None


async def test_lost_rounds_that_differ_in_face_down_cards_look_alike(tmp_path: Path) -> None:
    config, told = config_for(tmp_path), ToldEvents()
    with ShoeAtTable(tmp_path, "reference", seed=5, decks=8) as shoe:
        await dealt_and_copied(tmp_path, config, told, shoe)
    put_older_back(tmp_path)
    kept = lines_of(tmp_path / "restricted.jsonl")
    ends = [at for at, event in enumerate(kept) if event["type"] == "round.outcome"]
    open_ = kept[: ends[-1]]  # the last round is without an outcome
    shown, drawn = [], set()
    for card in ("AS", "9H"):
        for event in open_[ends[-2] + 1 :]:
            if event["type"] == "round.card_drawn":
                event["data"]["card"] = card
                drawn.add(event["id"])
        text = "".join(json.dumps(event, separators=(",", ":")) + "\n" for event in open_)
        (tmp_path / "restricted.jsonl").write_text(text)
        (tmp_path / "public.jsonl").unlink(missing_ok=True)
        shown.append(shown_loss(tmp_path, config))
    assert drawn
    assert shown[0] == shown[1]
    assert shown[0]["tables"][0]["rounds"][-1]["outcome"] is False
