"""What a refusal of the daemon means to the kit: its code says it, whatever its text."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from shoe_ctl.api.answers import refusal
from shoe_ctl.texts.message import message
from shoe_events.consumer import Resend
from shoe_events.follow import ConnectionLost, NotAnswered, NotFound, NotKept
from shoe_events.mqtt import Client, mqtt
from shoe_testing.brokers import broker, passwords, subscribed
from shoe_testing.ports import HOST
from shoe_testing.tasks import ended
from shoe_testing.typescript import built_package, program

pytestmark = pytest.mark.slow

USER = "results"
PATIENCE_S = 60.0

KEPT = {"after": "t/p1", "first": "t/p5", "last": "t/p9"}

REFUSALS: Mapping[str, Mapping[str, Any]] = {
    table: refusal(why)
    for table, why in {
        "not-kept": message("events_not_kept", **KEPT),
        "unknown": message("events_unknown", **KEPT),
        "none": message("events_none", after="t/p1"),
        "starting": message("daemon_starting"),
        "no-sink": message("sink_unknown", sink="floor", sinks=["hall"]),
    }.items()
}
"""What the daemon answers for each table."""

MEANING = {
    "not-kept": "NotKept",
    "unknown": "NotFound 9",
    "none": "NotFound none",
    "starting": "NotAnswered",
    "no-sink": "ConnectionLost",
}

IN_TYPESCRIPT = """
import { mqtt } from "%(package)s/src/mqtt.js";
const tables = %(tables)s;
const connection = await mqtt("mqtt://%(host)s:%(port)d", {
  clientId: "kit", username: "results", sink: "floor", tables,
})();
for (const table of tables) {
  const asked = { table, audience: "public", after: `${table}/p1`, source: null };
  const error = await connection.resend(asked).then(() => null, (error) => error);
  const last = error.name === "NotFound" ? ` ${error.last ?? "none"}` : "";
  console.log(`${error.name}${last}`);
}
await connection.close();
"""


@asynccontextmanager
async def refusing_daemon(port: int) -> AsyncIterator[None]:
    """Something at the broker that refuses each request, in a text that says nothing."""
    async with subscribed(port, f"shoe/v1/+/commands/{USER}") as daemon:

        async def answer() -> None:
            while True:
                await daemon.until(lambda: bool(daemon.got))
                asked = daemon.got.pop(0)
                refused = dict(REFUSALS[asked.topic.split("/")[2]])
                refused["error"] = {**refused["error"], "text": "不行"}
                await daemon.publish(
                    str(asked.properties["ResponseTopic"]),
                    json.dumps(refused).encode(),
                    CorrelationData=bytes.fromhex(str(asked.properties["CorrelationData"])),
                )

        answering = asyncio.create_task(answer())
        try:
            yield
        finally:
            await ended(answering)


async def meanings_in_python(port: int) -> list[str]:
    found: list[str] = []
    connect = mqtt(HOST, port=port, client_id="kit", user=USER, sink="floor", tables=[*REFUSALS])
    async with connect() as connection:

        async def read() -> None:
            async for _ in connection.events():
                pass

        reading = asyncio.create_task(read())
        for table in REFUSALS:
            asked = Resend(table, "public", f"{table}/p1", source=None, upto=None, missing_in="")
            with pytest.raises((NotKept, NotFound, NotAnswered, ConnectionLost)) as refused:
                await connection.resend(asked)
            error = refused.value
            last = f" {error.last or 'none'}" if isinstance(error, NotFound) else ""
            found.append(f"{type(error).__name__}{last}")
        await ended(reading)
    return found


async def meanings_in_typescript(port: int) -> list[str]:
    names = {"package": str(built_package()), "tables": json.dumps([*REFUSALS])}
    return await lines_of_script(IN_TYPESCRIPT % {**names, "host": HOST, "port": port})


async def lines_of_script(script: str) -> list[str]:
    """What a script in TypeScript's package prints."""
    child = await asyncio.create_subprocess_exec(
        program("node"), "--input-type=module", "--eval", script, stdout=asyncio.subprocess.PIPE
    )
    try:
        async with asyncio.timeout(PATIENCE_S):
            printed, _ = await child.communicate()
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()
    return printed.decode().splitlines()


@pytest.mark.parametrize("language", ["python", "typescript"])
async def test_a_refusal_means_what_its_code_says_whatever_its_text(
    tmp_path: Path, language: str
) -> None:
    ask = meanings_in_python if language == "python" else meanings_in_typescript
    with broker(tmp_path) as at:
        async with refusing_daemon(at.port):
            assert await ask(at.port) == [*MEANING.values()]


async def test_a_request_that_the_broker_had_nobody_for_reaches_a_daemon_that_comes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[bool] = []
    said = asyncio.Event()
    say = Client.say

    async def noted(client: Client, *words: Any) -> bool:
        heard.append(await say(client, *words))
        said.set()
        return heard[-1]

    monkeypatch.setattr(Client, "say", noted)
    with broker(tmp_path) as at:
        asking = asyncio.create_task(meanings_in_python(at.port))
        async with asyncio.timeout(PATIENCE_S):
            await said.wait()
            async with refusing_daemon(at.port):
                assert await asking == [*MEANING.values()]
    assert heard[0] is False and heard[-1] is True


SUBSCRIPTIONS_REFUSED = {
    "defaultACLAccess": {
        "publishClientSend": True,
        "publishClientReceive": True,
        "subscribe": False,
        "unsubscribe": True,
    },
    "roles": [], "groups": [], "clients": [],
}  # fmt: skip
"""What mosquitto's plugin for rights is told. An access list refuses no subscription."""

FORBIDDEN_IN_TYPESCRIPT = """
import { mqtt } from "%(package)s/src/mqtt.js";
const given = %(given)s;
const said = (error) => console.log(`${error.constructor.name} ${error.message}`);
try {
  const connection = await mqtt("mqtt://%(host)s:%(port)d", { clientId: "kit", ...given })();
  await connection.resend({ table: "t1", audience: "public", after: "t1/p1", source: null })
    .catch(said);
  await connection.close();
} catch (error) { said(error); }
"""


async def forbidden_in_python(port: int, **given: Any) -> str:
    try:
        async with mqtt(HOST, port=port, client_id="kit", **given)() as connection:
            asked = Resend("t1", "public", "t1/p1", source=None, upto=None, missing_in="")
            await connection.resend(asked)
    except ConnectionLost as error:
        return f"{type(error).__name__} {error}"
    return "nothing was refused"


async def forbidden_in_typescript(port: int, **given: Any) -> str:
    if "user" in given:
        given["username"] = given.pop("user")
        given["options"] = {"password": given.pop("password")}
    names = {"package": str(built_package()), "given": json.dumps(given)}
    (said,) = await lines_of_script(FORBIDDEN_IN_TYPESCRIPT % {**names, "host": HOST, "port": port})
    return said


FORBIDDEN = {"python": forbidden_in_python, "typescript": forbidden_in_typescript}


@pytest.mark.parametrize("language", FORBIDDEN)
async def test_a_user_who_may_not_ask_for_events_is_told_the_topic(
    tmp_path: Path, language: str
) -> None:
    access = tmp_path / "access"
    access.write_text(f"user {USER}\ntopic read shoe/v1/#\n")
    lines = ("allow_anonymous false", passwords(tmp_path, **{USER: "secret"}))
    login = {"user": USER, "password": "secret"}
    with broker(tmp_path, *lines, f"acl_file {access}") as at:
        said = await FORBIDDEN[language](at.port, sink="floor", tables=["t1"], **login)
    assert said.startswith("NotAllowed the broker refuses a message to shoe/v1/t1/commands/results")
    assert said.endswith("Not authorized")


@pytest.mark.parametrize("language", FORBIDDEN)
async def test_a_user_who_may_not_read_events_is_told_the_topic(
    tmp_path: Path, language: str
) -> None:
    rights = tmp_path / "rights.json"
    rights.write_text(json.dumps(SUBSCRIPTIONS_REFUSED))
    (plugin,) = Path("/usr/lib").glob("*/mosquitto_dynamic_security.so")
    lines = ("allow_anonymous true", f"plugin {plugin}", f"plugin_opt_config_file {rights}")
    with broker(tmp_path, *lines) as at:
        said = await FORBIDDEN[language](at.port, tables=["t1"])
    refused = "NotAllowed the broker refuses the subscription to shoe/v1/t1/public"
    assert said.startswith(refused)
    assert said.endswith("Not authorized")
