"""JSON lines: whole lines, to a file that is synced or to a pipe that may be slow or closed."""

from __future__ import annotations

import asyncio
import json
import os
import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from shoe_ctl.errors import EnvironmentFault
from shoe_ctl.records import Audience
from shoe_ctl.sinks.jsonl import JsonlFile, JsonlStream, open_jsonl
from shoe_ctl.sinks.pump import SinkEnded
from shoe_testing.sinks import sink_events


@pytest.fixture
def writer() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as executor:
        yield executor


async def test_a_file_gets_one_object_a_line_and_goes_on_when_opened_again(
    tmp_path: Path, writer: ThreadPoolExecutor
) -> None:
    path = tmp_path / "public.jsonl"
    for start in (1, 3):
        sink = open_jsonl(str(path), Audience.PUBLIC, writer)
        await sink.deliver(sink_events(1, start))
        await sink.deliver(sink_events(1, start + 1))
        await sink.close()
    lines = path.read_bytes().splitlines(keepends=True)
    assert lines == [event + b"\n" for event in sink_events(4)]
    assert [json.loads(line)["id"] for line in lines] == ["t/p1", "t/p2", "t/p3", "t/p4"]


async def test_a_restricted_file_is_for_its_owner_only(
    tmp_path: Path, writer: ThreadPoolExecutor
) -> None:
    modes = {}
    before = os.umask(0)
    try:
        for audience in Audience:
            path = tmp_path / audience.name
            await JsonlFile(path, audience, writer).close()
            modes[audience] = stat.S_IMODE(path.stat().st_mode)
    finally:
        os.umask(before)
    assert modes == {Audience.PUBLIC: 0o644, Audience.RESTRICTED: 0o600}


async def test_lines_are_synced_before_they_count_as_delivered(
    tmp_path: Path, writer: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, synced = tmp_path / "public.jsonl", []
    sink = JsonlFile(path, Audience.PUBLIC, writer)
    monkeypatch.setattr(os, "fsync", lambda _fd: synced.append(path.read_bytes()))
    await sink.deliver(sink_events(2))
    assert synced == [b"".join(event + b"\n" for event in sink_events(2))]
    await sink.close()


@pytest.mark.parametrize("cut", range(1, len(sink_events(1)[0]) + 1))
async def test_a_line_that_a_crash_cut_off_is_taken_out(
    tmp_path: Path, writer: ThreadPoolExecutor, cut: int
) -> None:
    path = tmp_path / "public.jsonl"
    first, second = sink_events(2)
    path.write_bytes(first + b"\n" + second[:cut])
    sink = JsonlFile(path, Audience.PUBLIC, writer)
    await sink.deliver([second])
    await sink.close()
    assert path.read_bytes().splitlines() == [first, second]


async def test_a_long_cut_off_line_is_taken_out_whole(
    tmp_path: Path, writer: ThreadPoolExecutor
) -> None:
    path = tmp_path / "public.jsonl"
    path.write_bytes(sink_events(1)[0] + b"\n" + sink_events(1, 2, size=200_000)[0])
    await JsonlFile(path, Audience.PUBLIC, writer).close()
    assert path.read_bytes() == sink_events(1)[0] + b"\n"


@pytest.mark.parametrize("content", [b"notes of someone else", b"{}\nx", b'{"a":1'])
def test_a_file_that_is_not_ours_is_refused_and_kept(
    tmp_path: Path, writer: ThreadPoolExecutor, content: bytes
) -> None:
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    with pytest.raises(EnvironmentFault, match="does not end in an event's line"):
        JsonlFile(path, Audience.PUBLIC, writer)
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    ("name", "told"),
    [("", "Is a directory"), ("none/x.jsonl", "No such file"), ("pipe", "regular")],
)
def test_a_place_that_cannot_be_a_file_of_lines_is_told(
    tmp_path: Path, writer: ThreadPoolExecutor, name: str, told: str
) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(EnvironmentFault, match=told):
        JsonlFile(tmp_path / name, Audience.PUBLIC, writer)


@pytest.mark.parametrize("failing", ["write", "fsync"])
async def test_what_a_failed_try_left_in_the_file_is_written_anew(
    tmp_path: Path, writer: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    path = tmp_path / "public.jsonl"
    sink = JsonlFile(path, Audience.PUBLIC, writer)
    await sink.deliver(sink_events(1))

    def half(fd: int, data: memoryview) -> int:
        if len(data) < 20:
            raise OSError(28, "No space left on device")
        return written(fd, data[:10])

    def broken(_fd: int) -> None:
        raise OSError(5, "Input/output error")

    written = os.write
    with monkeypatch.context() as patched:
        patched.setattr(os, failing, half if failing == "write" else broken)
        with pytest.raises(OSError, match=r"No space|Input/output"):
            await sink.deliver(sink_events(2, 2))
    assert len(path.read_bytes()) > len(sink_events(1)[0]) + 1
    await sink.deliver(sink_events(2, 2))
    await sink.close()
    assert path.read_bytes().splitlines() == sink_events(3)


def everything(fd: int) -> bytes:
    """What a pipe brings until its other end is closed; closes this end."""
    with os.fdopen(fd, "rb") as reader:
        return reader.read()


async def test_a_slow_reader_gets_every_line_whole(writer: ThreadPoolExecutor) -> None:
    reading, writing = os.pipe()
    sink = JsonlStream(writing, writer)
    sent = sink_events(300, size=2000)
    delivery = asyncio.create_task(sink.deliver(sent))
    with ThreadPoolExecutor(1) as other:
        read = asyncio.get_running_loop().run_in_executor(other, everything, reading)
        await delivery
        await sink.close()
        assert (await read).splitlines() == sent


async def test_a_closed_pipe_ends_the_sink(writer: ThreadPoolExecutor) -> None:
    reading, writing = os.pipe()
    sink = JsonlStream(writing, writer)
    os.close(reading)
    with pytest.raises(SinkEnded, match="its reader has gone"):
        await sink.deliver(sink_events(1))
    await sink.close()


async def test_closing_frees_a_write_that_nobody_reads(writer: ThreadPoolExecutor) -> None:
    reading, writing = os.pipe()
    sink = JsonlStream(writing, writer)
    delivery = asyncio.create_task(sink.deliver(sink_events(100, size=10_000)))
    await asyncio.sleep(0)
    await sink.close()
    with pytest.raises(SinkEnded, match="closed before all was written"):
        await delivery
    os.close(reading)


async def test_a_line_that_an_error_tore_is_finished_by_the_next_try(
    writer: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    reading, writing = os.pipe()
    sink = JsonlStream(writing, writer)
    written = os.write
    first, second, third = sink_events(3)
    cut = len(first) + 1 + 5

    def half(fd: int, data: memoryview) -> int:
        if len(data) == 3 * (len(first) + 1):
            return written(fd, data[:cut])
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", half)
        with pytest.raises(OSError, match="Input/output"):
            await sink.deliver([first, second, third])
    await sink.deliver([first, second, third])
    await sink.close()
    assert everything(reading).splitlines() == [first, second, first, second, third]
