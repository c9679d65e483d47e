"""A sink's file that is renamed, removed, cut or replaced: every event is in one of the files."""

from __future__ import annotations

import asyncio
import gzip
import logging
import os
import shutil
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from shoe_ctl.errors import EnvironmentFault
from shoe_ctl.records import Audience
from shoe_ctl.sinks import jsonl, pump
from shoe_ctl.sinks.jsonl import JsonlFile
from shoe_testing.sinks import Ledger, sink_events

as_root = pytest.mark.skipif(os.getuid() != 0, reason="takes root to be someone else")


@pytest.fixture
def writer() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as executor:
        yield executor


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "events.jsonl"


def lines(path: Path) -> list[bytes]:
    content = path.read_bytes()
    assert content == b"" or content.endswith(b"\n")
    return content.splitlines()


@pytest.mark.parametrize("audience", Audience)
@pytest.mark.parametrize("way", ["create", "nocreate", "removed"])
async def test_a_file_that_was_taken_away_is_opened_anew_at_the_next_event(
    path: Path, writer: ThreadPoolExecutor, way: str, audience: Audience
) -> None:
    before, old = os.umask(0), path.with_name("events.jsonl.1")
    try:
        sink = JsonlFile(path, audience, writer)
        await sink.deliver(sink_events(2))
        if way == "removed":
            path.unlink()
        else:
            path.rename(old)
        if way == "create":
            path.touch(0o640)
        await sink.deliver(sink_events(1, 3))
        await sink.deliver(sink_events(1, 4))
        await sink.close()
    finally:
        os.umask(before)
    if way != "removed":
        assert lines(old) == sink_events(2)
    assert lines(path) == sink_events(2, 3)
    made = {Audience.PUBLIC: 0o644, Audience.RESTRICTED: 0o600}[audience]
    assert stat.S_IMODE(path.stat().st_mode) == (0o640 if way == "create" else made)


@pytest.mark.parametrize("copied", [0, 1, 2, 3])
@pytest.mark.parametrize("packed", [False, True])
async def test_a_file_that_was_copied_and_cut_gets_what_the_copy_lacks(
    path: Path, writer: ThreadPoolExecutor, copied: int, packed: bool
) -> None:
    sink = JsonlFile(path, Audience.PUBLIC, writer)
    await sink.deliver(sink_events(1))
    content = b""
    for n in range(1, 4):
        if n == copied:
            content = path.read_bytes()
        await sink.deliver(sink_events(1, n + 1))
    if copied:
        copy = path.with_name("events.jsonl.1")
        copy.write_bytes(content)
        if packed:
            copy.with_suffix(".1.gz").write_bytes(gzip.compress(content))
            copy.unlink()
    os.truncate(path, 0)
    await sink.deliver(sink_events(1, 5))
    await sink.close()
    assert content.splitlines() + lines(path) == sink_events(5)


async def test_a_copy_that_ends_in_the_middle_of_a_line_leaves_none_torn_here(
    path: Path, writer: ThreadPoolExecutor
) -> None:
    sink = JsonlFile(path, Audience.PUBLIC, writer)
    await sink.deliver(sink_events(3))
    content = path.read_bytes()[:-5]
    path.with_name("events.jsonl.1").write_bytes(content)
    os.truncate(path, 0)
    await sink.deliver(sink_events(1, 4))
    await sink.close()
    assert content.splitlines()[:2] + lines(path) == sink_events(4)


async def test_what_was_written_long_before_the_cut_is_not_written_again(
    path: Path, writer: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jsonl, "_DOUBTED_NS", -3_600_000_000_000)
    sink = JsonlFile(path, Audience.PUBLIC, writer)
    await sink.deliver(sink_events(3))
    os.truncate(path, 0)
    await sink.deliver(sink_events(1, 4))
    await sink.close()
    assert lines(path) == sink_events(1, 4)


@pytest.mark.parametrize("size", [1, 20, 45, 60])
async def test_a_file_that_was_cut_anywhere_has_whole_lines_and_all_that_was_written_shortly_before(
    path: Path, writer: ThreadPoolExecutor, size: int, caplog: pytest.LogCaptureFixture
) -> None:
    sink = JsonlFile(path, Audience.PUBLIC, writer)
    await sink.deliver(sink_events(4))
    os.truncate(path, size)
    await sink.deliver(sink_events(1, 5))
    await sink.close()
    assert lines(path) == sink_events(5)
    assert "may stand in two files" in caplog.text


async def test_what_a_cut_took_is_written_when_the_sink_is_closed_without_another_event(
    path: Path, writer: ThreadPoolExecutor
) -> None:
    sink = JsonlFile(path, Audience.PUBLIC, writer)
    await sink.deliver(sink_events(2))
    os.truncate(path, 0)
    await sink.close()
    assert lines(path) == sink_events(2)


def at_the_write(
    monkeypatch: pytest.MonkeyPatch, do: Callable[[], object], *, behind: bool
) -> None:
    """Does it once, right before or right behind the next write."""
    write, left = os.write, [do]

    def writing(fd: int, data: memoryview) -> int:
        if left and not behind:
            left.pop()()
        written = write(fd, data)
        if left:
            left.pop()()
        return written

    monkeypatch.setattr(os, "write", writing)


@pytest.mark.parametrize("behind", [False, True])
@pytest.mark.parametrize("way", ["create", "nocreate", "removed"])
async def test_what_is_written_while_the_file_is_taken_away_is_in_the_new_one_alone(
    path: Path, writer: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch, way: str, behind: bool
) -> None:
    old = path.with_name("events.jsonl.1")

    def rotate() -> None:
        path.rename(old)
        if way == "create":
            path.touch()
        if way == "removed":
            old.unlink()

    sink = JsonlFile(path, Audience.PUBLIC, writer)
    await sink.deliver(sink_events(2))
    with monkeypatch.context() as patched:
        at_the_write(patched, rotate, behind=behind)
        await sink.deliver(sink_events(2, 3))
    await sink.close()
    if way != "removed":
        assert lines(old) == sink_events(2)
    assert lines(path) == sink_events(2, 3)


@pytest.mark.parametrize("behind", [False, True])
@pytest.mark.parametrize("packing", [("", 0), ("", 0.1), ("old", 0), ("old", 0.1)])
async def test_what_is_written_while_the_file_is_renamed_and_packed_stands_once(
    path: Path,
    writer: ThreadPoolExecutor,
    monkeypatch: pytest.MonkeyPatch,
    behind: bool,
    packing: tuple[str, float],
) -> None:
    folder, takes_s = packing
    old = path.parent / folder / "events.jsonl.1"
    old.parent.mkdir(exist_ok=True)
    packed = old.with_suffix(".1.gz")
    packers: list[threading.Thread] = []

    def rotate() -> None:
        path.rename(old)
        packed.touch()
        content = gzip.compress(old.read_bytes())

        def pack() -> None:
            packed.write_bytes(content)
            old.unlink()

        packers.append(threading.Timer(takes_s, pack))
        packers[0].start()
        if not takes_s:
            packers[0].join()

    sink = JsonlFile(path, Audience.PUBLIC, writer)
    await sink.deliver(sink_events(2))
    with monkeypatch.context() as patched:
        at_the_write(patched, rotate, behind=behind)
        await sink.deliver(sink_events(2, 3))
    assert path.exists()
    await sink.deliver(sink_events(1, 5))
    await sink.close()
    packers[0].join()
    content = gzip.decompress(packed.read_bytes()).splitlines()
    assert content == sink_events(4 if behind else 2)
    assert content + lines(path) == sink_events(5)


async def test_a_renamed_file_that_is_packed_for_ever_holds_nothing_up_and_is_warned_of(
    path: Path,
    writer: ThreadPoolExecutor,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    old = path.with_name("events.jsonl.1")

    def rotate() -> None:
        path.rename(old)
        old.with_suffix(".1.gz").touch()

    monkeypatch.setattr(jsonl, "_LEFT_ALONE_S", 0.02)
    monkeypatch.setattr(jsonl, "_PACKED_WITHIN_S", 0.02)
    sink = JsonlFile(path, Audience.PUBLIC, writer)
    await sink.deliver(sink_events(2))
    with monkeypatch.context() as patched:
        at_the_write(patched, rotate, behind=True)
        await sink.deliver(sink_events(2, 3))
    await sink.close()
    assert (lines(old), lines(path)) == (sink_events(2), sink_events(2, 3))
    assert "events=2. These last events are written again and may stand in two files" in caplog.text


async def test_what_was_packed_is_not_written_again_when_the_new_file_cannot_be_opened_at_once(
    path: Path, writer: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = path.with_name("events.jsonl.1.gz")

    def rotate() -> None:
        packed.write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
        path.mkdir()

    sink = JsonlFile(path, Audience.PUBLIC, writer)
    await sink.deliver(sink_events(2))
    with monkeypatch.context() as patched:
        at_the_write(patched, rotate, behind=True)
        with pytest.raises(OSError, match="sink file"):
            await sink.deliver(sink_events(2, 3))
    path.rmdir()
    await sink.deliver(sink_events(1, 3))
    await sink.deliver(sink_events(2, 4))
    await sink.close()
    assert gzip.decompress(packed.read_bytes()).splitlines() + lines(path) == sink_events(5)


@pytest.mark.parametrize("behind", [False, True])
@pytest.mark.parametrize("copy_behind", [False, True])
async def test_what_is_written_while_the_file_is_copied_and_cut_stands_once(
    path: Path,
    writer: ThreadPoolExecutor,
    monkeypatch: pytest.MonkeyPatch,
    behind: bool,
    copy_behind: bool,
) -> None:
    old = path.with_name("events.jsonl.1")
    sink = JsonlFile(path, Audience.PUBLIC, writer)
    await sink.deliver(sink_events(2))
    if not copy_behind:
        shutil.copy(path, old)

    def rotate() -> None:
        if copy_behind:
            shutil.copy(path, old)
        os.truncate(path, 0)

    with monkeypatch.context() as patched:
        at_the_write(patched, rotate, behind=behind)
        await sink.deliver(sink_events(2, 3))
    await sink.deliver(sink_events(1, 5))
    await sink.close()
    assert lines(old) + lines(path) == sink_events(5)


async def test_a_failed_try_leaves_no_torn_line_in_a_file_that_is_then_renamed(
    path: Path, writer: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = os.write

    def full(fd: int, data: memoryview) -> int:
        if len(data) < 20:
            raise OSError(28, "No space left on device")
        return write(fd, data[:10])

    sink = JsonlFile(path, Audience.PUBLIC, writer)
    await sink.deliver(sink_events(1))
    with monkeypatch.context() as patched:
        patched.setattr(os, "write", full)
        with pytest.raises(OSError, match="No space"):
            await sink.deliver(sink_events(2, 2))
    old = path.rename(path.with_name("events.jsonl.1"))
    await sink.deliver(sink_events(2, 2))
    await sink.close()
    assert lines(old) + lines(path) == sink_events(3)


def gone(path: Path) -> Callable[[], None]:
    folder, aside = path.parent, path.parent.with_name("aside")
    folder.rename(aside)
    return lambda: None if folder.exists() else folder.mkdir()


def a_device(path: Path) -> Callable[[], None]:
    path.rename(path.with_name("events.jsonl.1"))
    path.symlink_to("/dev/full")
    return path.unlink


def a_folder(path: Path) -> Callable[[], None]:
    path.rename(path.with_name("events.jsonl.1"))
    path.mkdir()
    return path.rmdir


def a_pipe(path: Path) -> Callable[[], None]:
    path.rename(path.with_name("events.jsonl.1"))
    os.mkfifo(path)
    return path.unlink


def notes(path: Path) -> Callable[[], None]:
    path.rename(path.with_name("events.jsonl.1"))
    path.write_text("somebody's notes")
    return path.unlink


TROUBLES: dict[Callable[[Path], Callable[[], None]], str] = {
    gone: "No such file or directory (make the folder ",
    a_device: "not a regular file",
    a_folder: "Is a directory",
    a_pipe: "not a regular file",
    notes: "does not end in an event's line",
}


@pytest.mark.parametrize("trouble", TROUBLES, ids=lambda trouble: trouble.__name__)
async def test_a_name_that_leads_to_no_file_is_waited_for_with_one_warning_and_nothing_is_lost(
    tmp_path: Path,
    writer: ThreadPoolExecutor,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    trouble: Callable[[Path], Callable[[], None]],
) -> None:
    tries: asyncio.Queue[None] = asyncio.Queue()
    monkeypatch.setattr(pump, "FIRST_RETRY_S", 0.0)
    monkeypatch.setattr(pump, "LONGEST_RETRY_S", 0.0)
    path = tmp_path / "here" / "events.jsonl"
    path.parent.mkdir()
    sink, feed = JsonlFile(path, Audience.PUBLIC, writer), Ledger()
    deliver = sink.deliver

    async def counted(given: list[bytes]) -> None:
        tries.put_nowait(None)
        await deliver(given)

    monkeypatch.setattr(sink, "deliver", counted)
    feed.events = sink_events(2)
    at_work = pump.Pump("test", feed, sink)
    running = asyncio.create_task(at_work.run())
    async with asyncio.timeout(60):
        while feed.cursor < 2:
            await feed.moves.get()
        mend = trouble(path)
        while not tries.empty():
            tries.get_nowait()
        feed.events += sink_events(2, 3)
        at_work.wake()
        for _ in range(3):
            await tries.get()
        assert feed.cursor == 2
        mend()
        while feed.cursor < 4:
            await feed.moves.get()
    at_work.stop()
    await running
    await sink.close()
    assert lines(path) == sink_events(2, 3)
    assert feed.passed_over == []
    (told,) = (r.message for r in caplog.records if r.levelno >= logging.WARNING)
    assert TROUBLES[trouble] in told and str(path) in told


async def test_a_disk_that_has_no_room_for_the_new_file_loses_nothing(
    path: Path, writer: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(name: object, *rest: int) -> int:
        raise OSError(28, "No space left on device")

    sink = JsonlFile(path, Audience.PUBLIC, writer)
    await sink.deliver(sink_events(2))
    old = path.rename(path.with_name("events.jsonl.1"))
    with monkeypatch.context() as patched:
        patched.setattr(os, "open", full)
        for _ in range(2):
            with pytest.raises(OSError, match=f"^sink file {path}: No space left on device$"):
                await sink.deliver(sink_events(1, 3))
    await sink.deliver(sink_events(1, 3))
    await sink.close()
    assert lines(old) + lines(path) == sink_events(3)


@pytest.mark.parametrize("link", ["same", "symbolic", "hard", "dotted"])
def test_two_sinks_do_not_write_to_one_file_whatever_they_call_it(
    path: Path, writer: ThreadPoolExecutor, link: str
) -> None:
    first = JsonlFile(path, Audience.PUBLIC, writer)
    other = path.with_name("other.jsonl")
    if link == "symbolic":
        other.symlink_to(path)
    elif link == "hard":
        other.hardlink_to(path)
    else:
        other = path if link == "same" else path.parent / "." / path.name
    with pytest.raises(EnvironmentFault, match="another sink of this configuration writes to it"):
        JsonlFile(other, Audience.PUBLIC, writer)
    asyncio.run(first.close())
    asyncio.run(JsonlFile(other, Audience.PUBLIC, writer).close())


def test_a_file_that_another_process_writes_to_is_refused_with_its_number(
    path: Path, writer: ThreadPoolExecutor
) -> None:
    hold = (
        "import fcntl, sys; f = open(sys.argv[1], 'a'); fcntl.flock(f, fcntl.LOCK_EX);"
        "print(flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        (sys.executable, "-c", hold, str(path)), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        other.stdout.readline()
        said = f"sink file {path}: process {other.pid} writes to it; give each daemon a file"
        with pytest.raises(EnvironmentFault, match=said):
            JsonlFile(path, Audience.PUBLIC, writer)
    asyncio.run(JsonlFile(path, Audience.PUBLIC, writer).close())


@pytest.mark.parametrize(
    ("user", "lock"),
    [
        (0, "LOCK_SH"),
        pytest.param(65534, "LOCK_SH", marks=as_root),
        pytest.param(65534, "LOCK_EX", marks=as_root),
    ],
)
def test_a_lock_of_who_only_reads_the_file_does_not_stop_a_start(
    path: Path, writer: ThreadPoolExecutor, user: int, lock: str, caplog: pytest.LogCaptureFixture
) -> None:
    path.touch()
    path.chmod(0o644)
    hold = (
        "import fcntl, os, sys; f = open(sys.argv[1]);"
        "user = int(sys.argv[2]); user and os.setuid(user);"
        "fcntl.flock(f, getattr(fcntl, sys.argv[3])); print(flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        (sys.executable, "-c", hold, str(path), str(user), lock),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    ) as other:  # fmt: skip
        assert other.stdout is not None
        other.stdout.readline()
        sink = JsonlFile(path, Audience.PUBLIC, writer)
        asyncio.run(sink.deliver(sink_events(1)))
        asyncio.run(sink.close())
    assert lines(path) == sink_events(1)
    assert f"lock of a reader passed over: file={path} process={other.pid}" in caplog.text


async def test_reopening_makes_the_file_at_once_and_leaves_one_that_is_there(
    path: Path, writer: ThreadPoolExecutor
) -> None:
    sink = JsonlFile(path, Audience.PUBLIC, writer)
    await sink.deliver(sink_events(1))
    await sink.reopen()
    assert lines(path) == sink_events(1)
    path.rename(path.with_name("events.jsonl.1"))
    await sink.reopen()
    assert lines(path) == []
    path.unlink()
    path.mkdir()
    await sink.reopen()  # told in the log; the next event tries again
    path.rmdir()
    await sink.deliver(sink_events(1, 2))
    await sink.close()
    assert lines(path) == sink_events(1, 2)


@pytest.mark.parametrize("way", ["create", "nocreate", "copytruncate"])
async def test_a_file_that_is_rotated_again_and_again_while_it_is_written_loses_and_doubles_nothing(
    path: Path, writer: ThreadPoolExecutor, way: str
) -> None:
    """Every event is in one of the files; only a copy may end in a line that stands whole later."""
    count, rotated = 600, 0
    turns, enough = threading.Semaphore(0), threading.Event()

    def rotate() -> None:
        nonlocal rotated
        while turns.acquire() and not enough.is_set():
            old = path.with_name(f"events.jsonl.{rotated:03}")
            if not path.exists() or path.stat().st_size == 0:
                continue
            if way == "copytruncate":
                shutil.copyfile(path, old)
                os.truncate(path, 0)
            else:
                path.rename(old)
                if way == "create":
                    path.touch(exist_ok=True)
            rotated += 1

    sink = JsonlFile(path, Audience.PUBLIC, writer)
    with ThreadPoolExecutor(1) as other:
        turning = other.submit(rotate)
        try:
            for n in range(1, count, 3):
                if n % 4 == 1:
                    turns.release()
                await sink.deliver(sink_events(3, n))
        finally:
            enough.set()
            turns.release()
        turning.result()
    await sink.close()
    assert rotated > 10
    found: list[bytes] = []
    for file in [*sorted(path.parent.glob("events.jsonl.*")), path]:
        content = file.read_bytes()
        found += content[: content.rfind(b"\n") + 1].splitlines()
    assert sorted(set(found)) == sorted(sink_events(count))
    assert len(found) == len(set(found))
