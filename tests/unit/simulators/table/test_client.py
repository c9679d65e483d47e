"""The bots' client: a line each way, over a socket that may go and come back."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from shoe_testing.memory_port import CallClient
from simulators.errors import PortFault
from simulators.table.client import SocketClient


async def served(path: Path, answers: list[bytes]) -> asyncio.Server:
    """Answers each line with the next of these; an empty one hangs up."""

    async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.readline():
            answer = answers.pop(0)
            if not answer:
                break
            writer.write(answer)
        writer.close()

    return await asyncio.start_unix_server(converse, path)


async def test_what_is_asked_is_answered_over_one_connection(tmp_path: Path) -> None:
    client = SocketClient(tmp_path / "s")
    async with await served(tmp_path / "s", [b'{"n": 1}\n', b'{"n": 2}\n']):
        assert await client.ask({"a": 1}) == {"n": 1}
        assert await client.ask({"a": 2}) == {"n": 2}
        await client.close()


async def test_a_connection_that_was_left_behind_is_opened_anew(tmp_path: Path) -> None:
    client = SocketClient(tmp_path / "s")
    async with await served(tmp_path / "s", [b'{"n": 1}\n', b"", b'{"n": 2}\n']):
        assert await client.ask({"a": 1}) == {"n": 1}
        assert await client.ask({"a": 2}) == {"n": 2}
        await client.close()


@pytest.mark.parametrize(
    ("answers", "error"),
    [
        ([b""], "no daemon answers there: it hung up"),
        ([b"[]\n"], "what came is no answer"),
        ([b"no\n"], "what came is no answer"),
    ],
)
async def test_an_answer_that_is_none_is_told_in_one_line(
    tmp_path: Path, answers: list[bytes], error: str
) -> None:
    async with await served(tmp_path / "s", answers):
        with pytest.raises(PortFault, match=error):
            await SocketClient(tmp_path / "s").ask({})


async def test_nobody_there_is_told_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(PortFault, match="no daemon answers there: No such file"):
        await SocketClient(tmp_path / "s").ask({})


async def test_a_table_in_this_process_is_asked_in_the_same_way() -> None:
    client = CallClient(lambda line: b'{"asked": ' + line + b"}")
    assert await client.ask({"a": 1}) == {"asked": {"a": 1}}
    await client.close()
