"""A daemon with keys and a shoe with one, in processes of their own, and those that must not play.

In: key files. Out: what the table tells, what the journal keeps. Must not know: frames.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from shoe_ctl.errors import ConfigError
from shoe_ctl.records import Audience
from shoe_testing.config import add_shoe_settings, write_config
from shoe_testing.daemon import OTHER_KEY, SHOE_KEY, ToldEvents, serving
from shoe_testing.journals import all_bytes_of

SHOECTL = str(Path(sys.executable).parent / "shoectl")


def key_file(path: Path, key: str, device: str = "SH-7", key_id: int = 1) -> Path:
    path.write_text(f"{device} {key_id} {key}\n")
    path.chmod(0o600)
    return path


@asynccontextmanager
async def shoe(folder: Path, *options: str) -> AsyncIterator[str]:
    """A simulated shoe in a process of its own, and its port."""
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "simulators", "--profile", "reference"),
        *("--port", f"pty:{folder}/shoe", "--pace-ms", "0", "--seed", "1", *options),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert child.stdin is not None and child.stdout is not None
    try:
        yield json.loads(await child.stdout.readline())["port"]
    finally:
        child.stdin.close()
        assert await child.wait() == 0


@pytest.mark.slow
async def test_rounds_are_dealt_by_a_shoe_that_proves_its_key_and_the_key_is_nowhere(
    tmp_path: Path,
) -> None:
    keys = key_file(tmp_path / "shoes.keys", SHOE_KEY)
    told = ToldEvents()
    async with shoe(tmp_path, "--key-file", str(keys)) as port:
        config = add_shoe_settings(write_config(tmp_path, port), f'key_file = "{keys}"')
        async with serving(config, told):
            await told.times(3, "round.outcome")
    [connected] = told.data("shoe.connected")
    assert connected["authenticated"] is True
    kept = all_bytes_of(tmp_path)
    assert b'"type":"authenticated","device_id":"SH-7"' in kept
    assert SHOE_KEY.encode() not in kept
    assert bytes.fromhex(SHOE_KEY) not in kept
    for options, said in (
        ((), b"not checked  1 connection had to authenticate"),
        (("--key-file", str(keys)), b"checked      every proof and MAC, on 1 connection"),
    ):
        replayed = await asyncio.create_subprocess_exec(
            *(SHOECTL, "replay", str(tmp_path / "journal.db"), *options),
            stdout=asyncio.subprocess.PIPE,
        )
        stdout, _ = await replayed.communicate()
        assert (replayed.returncode, stdout.count(said)) == (0, 1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("theirs", "reason", "code"),
    [
        (("SH-7", OTHER_KEY, 1), "wrong_key. Events are ignored until key_file has", "wrong_key"),
        (
            ("SH-7", SHOE_KEY, 2),
            "wrong_key (the shoe has no key 1). Events are ignored",
            "wrong_key",
        ),
        (("SH-8", SHOE_KEY, 1), "no_key. Events are ignored until a key for SH-8 is", "no_key"),
        (None, "unauthenticated. Events are ignored until SIM-", "unauthenticated"),
    ],
)
async def test_a_shoe_that_does_not_prove_itself_is_told_and_deals_nothing(
    tmp_path: Path,
    theirs: tuple[str, str, int] | None,
    reason: str,
    code: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    options: tuple[str, ...] = ()
    if theirs is not None:
        device, key, key_id = theirs
        options = ("--key-file", str(key_file(tmp_path / "shoe.keys", key, device, key_id)))
    told = ToldEvents()
    async with shoe(tmp_path, *options) as port:
        keys = key_file(tmp_path / "shoes.keys", SHOE_KEY)
        config = add_shoe_settings(write_config(tmp_path, port), f'key_file = "{keys}"')
        async with serving(config, told, sees=Audience.RESTRICTED):
            await told.times(1, "shoe.refused")
    assert told.data("shoe.refused")[0]["reason"] == code
    assert told.data("shoe.loaded") == []
    assert told.data("shoe.connected") == []
    logged = [r.getMessage() for r in caplog.records if "authentication failed" in r.getMessage()]
    assert len(logged) == 1 and f" reason={reason}" in logged[0]


@pytest.mark.slow
async def test_without_keys_the_link_is_shown_as_unauthenticated(tmp_path: Path) -> None:
    told = ToldEvents()
    async with shoe(tmp_path) as port, serving(write_config(tmp_path, port), told):
        await told.times(1, "shoe.loaded")
    assert told.data("shoe.connected") == [
        {"authenticated": False, "identified": True, "profile": "reference"}
    ]


@pytest.mark.slow
async def test_a_firmware_that_is_not_listed_is_not_armed_where_the_settings_say_so(
    tmp_path: Path,
) -> None:
    told = ToldEvents()
    async with shoe(tmp_path) as port:
        lines = (f'firmware = ["{"00" * 32}"]', 'unknown_firmware = "refuse_to_arm"')
        config = add_shoe_settings(write_config(tmp_path, port), *lines)
        async with serving(config, told, sees=Audience.RESTRICTED):
            await told.times(1, "shoe.fault")
            await told.times(1, "shoe.loaded")
    assert told.data("shoe.fault")[0]["code"] == "unknown_firmware"
    assert told.data("round.opened") == []


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('key_file = "none"', "No such file"),
        ('firmware = ["abc"]', "SHA-256"),
        ('unknown_firmware = "shrug"', "unknown_firmware"),
    ],
)
async def test_wrong_settings_are_told_by_key(tmp_path: Path, line: str, said: str) -> None:
    config = add_shoe_settings(write_config(tmp_path, str(tmp_path / "port")), line)
    with pytest.raises(ConfigError, match=said):
        async with serving(config, ToldEvents()):
            pass


async def test_a_profile_without_keys_is_told_so(tmp_path: Path) -> None:
    keys = key_file(tmp_path / "shoes.keys", SHOE_KEY)
    config = add_shoe_settings(
        write_config(tmp_path, str(tmp_path / "port"), profile="angel_eye"),
        f'key_file = "{keys}"',
    )
    with pytest.raises(ConfigError, match="no keys"):
        async with serving(config, ToldEvents()):
            pass
