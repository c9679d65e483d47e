"""Send the table's commands to its shoe: the time and the keys are filled in here.

In: the table's ShoeCommands, a ring of keys, the time. Out: session commands, or why there is none.
Must not know: the round, bytes. A key goes between its file and the session, and nowhere else.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from typing import TypeVar

import msgspec

from firmware_proto.commands import (
    AnyCommand,
    ClearError,
    Query,
    Reset,
    RotateKey,
    SetTime,
    Show,
    TestSelf,
)
from firmware_proto.events import Authenticated, ShoeEvent
from shoe_ctl.errors import ConfigError, InputRefused
from shoe_ctl.link.keyring import KeyRing
from shoe_ctl.table.effects import ShoeCommand
from shoe_ctl.table.inputs import TableCommand

log = logging.getLogger(__name__)

T = TypeVar("T")

ROTATE = "rotate_key"


class NoKey(ValueError):
    """The key that a command needs cannot be had."""


class ShoeCommandSender:
    """Turns the table's commands to its shoe into session commands.

    ``keys`` are those of the table's shoes, None where their links are unauthenticated.

    ``executor`` reads and writes their file, which blocks.
    """

    def __init__(self, keys: KeyRing | None = None, executor: Executor | None = None) -> None:
        self._keys = keys
        self.notes_proofs = keys is not None
        """True if ``note_proofs`` may have something to do."""
        self._executor = executor
        self._proved: dict[str, int] = {}

    async def _run(self, work: Callable[..., T], *args: object) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._executor, work, *args)

    async def with_key_number(self, asked: TableCommand, device_id: str | None) -> TableCommand:
        """Return the command with the number of the key to install.

        For ``rotate_key`` without one, choose the next number in the key file. The file is read
        anew: keys that were added to it are valid from now on, for later connections too.

        Raises:
            InputRefused: the command holds what no record may hold, names a key that the file does
                not have, or a new key could not be stored.
        """
        if asked.command != ROTATE:
            return asked
        named = asked.args.get("key_id")
        if set(asked.args) - {"key_id"} or not isinstance(named, int | None):
            raise InputRefused(
                "rotate_key: it takes key_id, a number, and nothing else: keys stay in the key file"
            )
        if self._keys is None or device_id is None:
            return asked  # the table says what is wrong with that
        try:
            await self._run(self._keys.reload)
            key_id = self._chosen(self._keys, device_id, named)
        except ConfigError as error:
            raise InputRefused(f"rotate_key: {error}") from None
        return msgspec.structs.replace(asked, args={"key_id": key_id})

    def _chosen(self, keys: KeyRing, device_id: str, named: int | None) -> int:
        """Return the number of the key to install: the one named, or the next after all others."""
        proved, newest = self._proved.get(device_id, 0), keys.newest(device_id)
        if named is not None:
            if keys.key(device_id, named) is None:
                raise ConfigError(f"the key file has no key {named} of {device_id}")
            if named <= proved:
                raise ConfigError(f"the shoe has key {proved} already: a new one comes after it")
            return named
        if newest > proved > 0:
            return newest  # was made or put there, and the shoe has not proved it yet
        keys.check_writable()
        return newest + 1

    async def to_session_command(
        self, command: ShoeCommand, device_id: str | None, wall_us: int
    ) -> AnyCommand:
        """Return the command as a session takes it. A new key is made and stored first.

        Raises:
            ValueError: there is no such session command; ``NoKey``: the key cannot be had.
        """
        number, of = command.number, command.of
        match command.command:
            case "reset":
                return Reset(number)
            case "self_test":
                return TestSelf(number)
            case "query":
                return Query(number, str(of))
            case "clear_error":
                return ClearError(number, None if of is None else str(of))
            case "show":
                return Show(number, str(of))
            case "set_time":
                return SetTime(number, wall_us)
            case "rotate_key" if isinstance(of, int):
                return RotateKey(number, of, await self._key(device_id, of))
        raise ValueError(f"no shoe is told {command.command}")

    async def _key(self, device_id: str | None, key_id: int) -> bytes:
        if self._keys is None or device_id is None:
            raise NoKey("there is no key file")
        try:
            return await self._run(self._keys.add, device_id, key_id)
        except ConfigError as error:
            raise NoKey(str(error)) from None

    async def note_proofs(self, events: Iterable[ShoeEvent]) -> None:
        """These events are stored: where a shoe proved a key, retire its older ones."""
        for event in events:
            if isinstance(event, Authenticated) and self._keys is not None:
                await self._retire(self._keys, event)

    async def _retire(self, keys: KeyRing, proof: Authenticated) -> None:
        self._proved[proof.device_id] = proof.key_id
        try:
            if await self._run(keys.retire_before, proof.device_id, proof.key_id):
                log.info(
                    "keys: older keys retired: shoe=%s proved_key_id=%d",
                    proof.device_id, proof.key_id,
                )  # fmt: skip
        except ConfigError as error:
            log.warning(
                'keys: key_file not changed: shoe=%s proved_key_id=%d reason="%s". Older keys are '
                "retired until the next start only.",
                proof.device_id, proof.key_id, error,
            )  # fmt: skip
