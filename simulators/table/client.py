"""A client of the table under test: one JSON object out, one JSON object back.

In: a command in the envelope, or a question. Out: the answer, as it came.
Must not know: commands, what an answer means, who asks.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from simulators.errors import PortFault

ANSWER_WITHIN_S = 30.0
"""Longer than a daemon takes to store and answer, even on a disk that stalls."""

Answer = dict[str, Any]


class Client(Protocol):
    """Asks, and gets an answer."""

    async def ask(self, asked: Mapping[str, Any]) -> Answer:
        """Return the answer to this.

        Raises:
            PortFault: nobody is there, or who is there does not answer.
        """

    async def close(self) -> None:
        """Hang up; asking again connects again."""


class SocketClient:
    """Speaks to a daemon's local socket, one line each way; connects when it is asked to."""

    def __init__(self, path: str | Path) -> None:
        self._path = str(path)
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, asked: Mapping[str, Any]) -> Answer:
        """As ``Client.ask``. A connection that a daemon left behind is opened anew."""
        for left_behind in (self._streams is not None, False):
            try:
                async with asyncio.timeout(ANSWER_WITHIN_S):
                    return await self._exchange(json.dumps(asked).encode() + b"\n")
            except TimeoutError:
                await self.close()
                raise PortFault(f"{self._path}: no answer in {ANSWER_WITHIN_S:g} s") from None
            except (OSError, EOFError) as error:
                await self.close()
                if not left_behind:
                    why = getattr(error, "strerror", None) or "it hung up"
                    raise PortFault(f"{self._path}: no daemon answers there: {why}") from None
            except ValueError:
                await self.close()
                raise PortFault(f"{self._path}: what came is no answer") from None
        raise AssertionError("the last try returns or raises")

    async def close(self) -> None:
        """Hang up."""
        streams, self._streams = self._streams, None
        if streams is not None:
            streams[1].close()
            with suppress(OSError):
                await streams[1].wait_closed()

    async def _exchange(self, line: bytes) -> Answer:
        if self._streams is None:
            self._streams = await asyncio.open_unix_connection(self._path)
        reader, writer = self._streams
        writer.write(line)
        await writer.drain()
        answer = await reader.readuntil(b"\n")
        read = json.loads(answer)
        if not isinstance(read, dict):
            raise ValueError(f"not an object: {answer!r}")
        return read
