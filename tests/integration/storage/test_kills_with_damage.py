"""Real daemons killed with -9, whose journal then loses its newest part in some way.

In: kills, damage, rotated files and a flooded line beside the shoe, seeded. Out: each damage is
noticed before anything is written or published, or nothing was lost; with the files put back every
evening ends whole, each event delivered, and none with two contents.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import random
import shutil
import signal
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from shoe_ctl.daemon.table_runner import TableRunner
from shoe_ctl.errors import JournalError
from shoe_ctl.journal import head_file
from shoe_ctl.journal.reader import Reader
from shoe_ctl.records import event_id, table_in
from shoe_testing.config import FACE_UP, TABLE, make_config, table_section, write_config
from shoe_testing.daemon import (
    PATIENCE_S,
    ShoeAtTable,
    ToldEvents,
    nothing_is_wrong_with,
    runner,
    serving,
)
from shoe_testing.daemon_processes import KILLED, Starter, starter
from shoe_testing.rounds import all_agree, of_type, once_each
from simulators.shoe.reference import ReferenceDevice

pytestmark = pytest.mark.slow

KILLS_AN_EVENING = 12
EVENINGS = 2
SOAK_EVENINGS = 26

MAIN, LOG, HEAD = "journal.db", "journal.db-wal", "journal.db-head"
FRAME_BYTES = 24 + 4096

Image = dict[str, bytes]
Way = Callable[[list[Image], random.Random], Image]


def _flipped(content: bytes, first: int, last: int, chance: random.Random) -> bytes:
    at = chance.randrange(first, min(last, len(content)))
    return content[:at] + bytes([content[at] ^ 1 << chance.randrange(8)]) + content[at + 1 :]


def first_frame(images: list[Image], chance: random.Random) -> Image:
    now = images[-1]
    return now | {LOG: _flipped(now[LOG], 32, 32 + FRAME_BYTES, chance)}


def any_frame(images: list[Image], chance: random.Random) -> Image:
    now = images[-1]
    return now | {LOG: _flipped(now[LOG], 32, len(now[LOG]), chance)}


def log_header(images: list[Image], chance: random.Random) -> Image:
    now = images[-1]
    return now | {LOG: _flipped(now[LOG], 0, 32, chance)}


def log_deleted(images: list[Image], _: random.Random) -> Image:
    return {name: content for name, content in images[-1].items() if name != LOG}


def log_cut(images: list[Image], chance: random.Random) -> Image:
    now = images[-1]
    return now | {LOG: now[LOG][: chance.randrange(len(now[LOG]))]}


def older(images: list[Image], chance: random.Random) -> Image:
    """All of it: only what sinks were given shows it."""
    return images[chance.randrange(len(images) - 1)]


def older_without_log(images: list[Image], chance: random.Random) -> Image:
    return {name: was for name, was in older(images, chance).items() if name != LOG}


def older_without_head(images: list[Image], chance: random.Random) -> Image:
    return {name: was for name, was in older(images, chance).items() if name != HEAD}


def older_beside_head(images: list[Image], chance: random.Random) -> Image:
    return older(images, chance) | {HEAD: images[-1][HEAD]}


def older_beside_log(images: list[Image], chance: random.Random) -> Image:
    return images[-1] | {MAIN: older(images, chance)[MAIN]}


def head_altered(images: list[Image], chance: random.Random) -> Image:
    now = log_cut(images, chance)
    return now | {HEAD: _flipped(now[HEAD], 0, len(now[HEAD]), chance)}


WAYS: list[Way] = [
    first_frame,
    any_frame,
    log_header,
    log_deleted,
    log_cut,
    older,
    older_without_log,
    older_without_head,
    older_beside_head,
    older_beside_log,
    head_altered,
]


def image_of(folder: Path) -> Image:
    return {n: (folder / n).read_bytes() for n in (MAIN, LOG, HEAD) if (folder / n).exists()}


def lay(folder: Path, image: Image, *, in_place: bool) -> None:
    """These files and no others; in place, or new ones moved there as a restored copy is."""
    for name in (MAIN, LOG, HEAD, f"{MAIN}-shm"):
        path = folder / name
        if name not in image or not in_place:
            path.unlink(missing_ok=True)
        if name in image:
            path.write_bytes(image[name])


def last_of(folder: Path) -> tuple[int, bytes]:
    """The last record that anybody can have been told of, and its hash.

    It was noted in the head file before the commit returned. What was stored behind it in the
    moment of the kill was neither acknowledged nor published: losing it loses nothing.
    """
    found = head_file.read_head_file(folder / MAIN)
    assert found is not None
    with Reader.open(folder / MAIN) as reader:
        last_n = reader.heads()[0]
    ends = max(((chain.n, chain.hash) for chain in found.chains.values()), default=(0, b""))
    assert ends[0] <= last_n
    return ends


def holds(folder: Path, n: int, digest: bytes) -> bool:
    if n == 0:
        return True
    with Reader.open(folder / MAIN) as reader:
        return [row[3] for row in reader.rows(after=n - 1, upto=n)] == [digest]


def anyone_knows_more(folder: Path, image: Image, shoe: ShoeAtTable) -> bool:
    """Whether the shoe's host acknowledged, or a sink's file has, what these files do not have.

    Where nobody does, a whole folder put back has lost nothing: the shoe sends it again.
    """
    copy = folder / "copy"
    copy.mkdir(exist_ok=True)
    lay(copy, image, in_place=False)
    with Reader.open(copy / MAIN) as reader:
        counters, devices = reader.heads()[1][TABLE].counters, reader.devices(TABLE)
    given = max((event_id(event["id"]).number for event in told(folder)), default=0)
    device = shoe.rig.device
    assert isinstance(device, ReferenceDevice)
    acknowledged = device.event_log.acknowledged
    return given > counters.public or acknowledged > max(devices.values(), default=0)


async def shows_a_loss(at_work: TableRunner) -> bool:
    """Whether the table's shoe shows a loss, once it was compared."""
    compare = at_work.link.compare
    assert compare is not None
    async with asyncio.timeout(PATIENCE_S):
        while at_work.doubt is None and not compare.is_compared:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.005)
    return at_work.doubt is not None


async def is_noticed(folder: Path, config: Path) -> bool:
    """Whether a daemon that is started now holds, or does not start; it changes nothing then.

    Where only the shoe shows the loss, the other table goes on; nothing of this one is published.
    """
    before, sinks = image_of(folder), streams_of(folder)
    its = told(folder)
    shown = False
    try:
        async with serving(config, ToldEvents()) as daemon:
            if daemon.doubt is None and daemon.runners:
                shown = await shows_a_loss(runner(daemon))
                if not shown:
                    return False
    except JournalError:
        pass
    if shown:
        assert told(folder) == its
        for name, content in sinks.items():
            (folder / name).write_bytes(content)
    else:
        assert image_of(folder) == before
        assert streams_of(folder) == sinks
    return True


def streams_of(folder: Path) -> dict[str, bytes]:
    """What the sinks' files hold that are written now."""
    return {path.name: path.read_bytes() for path in folder.glob("*.jsonl")}


async def draws(shoe: ShoeAtTable, cards: int) -> None:
    """Waits until so many more cards were drawn."""
    drawn, there = len(shoe.truth.cards), asyncio.Event()
    shoe.on_card = lambda number: there.set() if number >= drawn + cards else None
    async with asyncio.timeout(PATIENCE_S):
        await there.wait()


@asynccontextmanager
async def flooding(config: Path, seed: int) -> AsyncIterator[None]:
    """A second table of this configuration, whose line brings garbage as fast as it is read."""
    noise, floods = random.Random(seed).randbytes(4096), set[asyncio.Task[None]]()

    async def flood(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        floods.add(asyncio.current_task())  # type: ignore[arg-type]
        with suppress(ConnectionError):
            while not writer.is_closing():
                writer.write(noise)
                await writer.drain()
                await asyncio.sleep(0)

    async with await asyncio.start_server(flood, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        flooded = table_section("flooded", port=f"tcp://127.0.0.1:{port}", announcements="implied")
        flooded["method_b"] = FACE_UP
        config.write_text(make_config(flooded) + config.read_text())
        try:
            yield
        finally:
            for task in floods:
                task.cancel()
            await asyncio.gather(*floods, return_exceptions=True)


def rotate(folder: Path, chance: random.Random, number: int) -> int:
    """Rotate a sink's file as logrotate does, while no daemon runs; how many were."""
    file = folder / chance.choice(["public.jsonl", "restricted.jsonl"])
    if chance.random() < 0.5 or not file.exists():
        return 0
    rotated = file.rename(f"{file}.{number:02d}")
    if chance.random() < 0.5:
        packed = rotated.with_name(f"{rotated.name}.gz")
        packed.write_bytes(gzip.compress(rotated.read_bytes()))
        shutil.copystat(rotated, packed)
        rotated.unlink()
    return 1


async def evening(folder: Path, daemons: Starter, seed: int, noticed: Counter[str]) -> int:
    """One shoe, daemons killed over and over; how many damages there were."""
    folder.mkdir()
    config = write_config(folder, str(folder / "shoe"), way_in=True)
    async with flooding(config, seed):
        return await _killed(folder, config, daemons, seed, noticed)


async def _killed(
    folder: Path, config: Path, daemons: Starter, seed: int, noticed: Counter[str]
) -> int:
    chance, images, damages = random.Random(seed), list[Image](), 0
    with ShoeAtTable(folder, "reference", seed=seed, decks=8) as shoe:
        for number in range(KILLS_AN_EVENING):
            noticed["rotated"] += rotate(folder, chance, number)
            await daemons.start(config)
            await draws(shoe, chance.randrange(1, 7))
            await asyncio.sleep(chance.uniform(0.0, 0.03))  # the moment of the kill
            daemons.send(signal.SIGKILL)
            assert await daemons.ended() == KILLED
            image = image_of(folder)
            if set(image) != {MAIN, LOG, HEAD} or len(image[LOG]) <= 32 + FRAME_BYTES:
                continue
            images.append(image)
            if len(images) < 2:
                continue
            way = chance.choice(WAYS)
            stood = last_of(folder)
            damaged = way(images, chance)
            lay(folder, damaged, in_place=chance.random() < 0.5)
            damages += 1
            lost = way is not older or anyone_knows_more(folder, damaged, shoe)
            if await is_noticed(folder, config):
                noticed[way.__name__] += 1
                lay(folder, image, in_place=chance.random() < 0.5)
            else:
                noticed["nothing lost"] += 1
                assert not lost or holds(folder, *stood), f"{way.__name__} went unnoticed"
        shoe.rest_after(len(shoe.truth.rounds) + 1)
        await daemons.start(config)
        await shoe.rests()
        async with asyncio.timeout(PATIENCE_S):
            while len(outcomes(folder)) < len(shoe.rounds):  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        daemons.send(signal.SIGTERM)
        assert await daemons.ended() == 0
        all_agree(outcomes(folder), shoe.rounds)
        assert nothing_is_wrong_with(folder / MAIN) == len(shoe.rounds)
    return damages


def told(folder: Path) -> list[dict[str, Any]]:
    """What every file of the public stream holds of the shoe's table, rotated ones first."""
    events = []
    for file in [*sorted(folder.glob("public.jsonl.*")), folder / "public.jsonl"]:
        text = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
        events += [json.loads(line) for line in text[: text.rfind(b"\n") + 1].splitlines()]
    return once_each(e for e in events if table_in(e["source"]) == TABLE)


def outcomes(folder: Path) -> list[dict[str, Any]]:
    """The outcomes that the public stream was told of."""
    return list(of_type(told(folder), "round.outcome"))


async def evenings(tmp_path: Path, seed: int, many: int) -> tuple[int, Counter[str]]:
    """Play so many evenings; how many damages there were, and what was noticed of them."""
    noticed: Counter[str] = Counter()
    damages = 0
    async with starter() as daemons:
        for number in range(many):
            damages += await evening(tmp_path / f"{number}", daemons, seed + number, noticed)
    kills, rotated = many * KILLS_AN_EVENING, noticed.pop("rotated")
    print(  # noqa: T201 - with -s
        f"seed {seed}: {kills} kills beside a flooded line, {rotated} files rotated, {damages} "
        f"with damage: {dict(noticed)}; 0 events lost, 0 told otherwise, 0 damages unnoticed"
    )
    return damages, noticed


@pytest.mark.parametrize("many", [1, pytest.param(EVENINGS, marks=pytest.mark.exhaustive(cpu_s=5))])
async def test_damage_after_a_kill_is_noticed_before_anything_is_written(
    tmp_path: Path, seed: int, many: int
) -> None:
    damages, noticed = await evenings(tmp_path, seed, many)
    assert damages >= many * KILLS_AN_EVENING / 2
    assert sum(noticed.values()) == damages


@pytest.mark.soak
async def test_three_hundred_kills_with_damage_leave_none_unnoticed(
    tmp_path: Path, seed: int
) -> None:
    damages, noticed = await evenings(tmp_path, seed, SOAK_EVENINGS)
    assert damages >= 250
    assert sum(noticed.values()) == damages
