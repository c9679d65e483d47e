"""A daemon with a broker: what subscribers get, what users of the broker may ask, who sees what."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from shoe_testing.brokers import Mosquitto, Subscriber, broker, subscribed
from shoe_testing.config import TABLE, make_config, table_section, this_user
from shoe_testing.daemon import SocketTable, ToldEvents, serving, shoe_on_a_pty
from shoe_testing.socket_client import calling

pytestmark = pytest.mark.slow

PUBLIC, RESTRICTED, STATE = (
    f"shoe/v1/{TABLE}/{name}" for name in ("public", "restricted", "state")
)


@pytest.fixture(scope="module")
def at(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mosquitto]:
    """One broker for all tests of this module, where whoever comes may do anything."""
    with broker(tmp_path_factory.mktemp("broker")) as served:
        yield served


def sink(at: Mosquitto, **more: Any) -> dict[str, Any]:
    return {"kind": "mqtt", "address": at.address, **more}


def write(folder: Path, *sinks: Mapping[str, Any], **table: Any) -> Path:
    path = folder / "table.toml"
    section = table_section(port=str(folder / "shoe"), announcements="explicit", **table)
    user = this_user("gaming_shift_manager")
    path.write_text(make_config(section, sink=list(sinks), socket={"user": [user]}))
    return path


def events(subscriber: Subscriber, topic: str = PUBLIC) -> list[dict[str, Any]]:
    return [json.loads(body) for body in subscriber.payloads(topic)]


async def test_a_subscriber_gets_both_streams_and_the_state_and_the_end_clears_it(
    tmp_path: Path, at: Mosquitto
) -> None:
    sinks = [sink(at), sink(at, audience="restricted")]
    told = ToldEvents()
    with shoe_on_a_pty(tmp_path, seed=7) as rig:
        async with subscribed(at.port, "shoe/#") as subscriber:
            async with (
                serving(write(tmp_path, *sinks), told) as daemon,
                calling(tmp_path / "shoectl.sock") as caller,
            ):
                table = SocketTable(daemon, rig, told, caller)
                await table.rounds(1)
                await subscriber.until(lambda: events(subscriber)[-1:] == told.events[-1:])
                await subscriber.until(lambda: bool(subscriber.payloads(STATE)))
                stands = await table.status()
            assert events(subscriber) == told.events
            restricted = events(subscriber, RESTRICTED)
            assert [e["id"] for e in restricted] == [
                f"{TABLE}/r{n}" for n in range(1, len(restricted) + 1)
            ]
            properties = next(got for got in subscriber.got if got.topic == PUBLIC).properties
            assert properties["ContentType"] == "application/cloudevents+json"
            await subscriber.until(lambda: subscriber.payloads(STATE)[-1] == b"")
    states = [json.loads(body) for body in subscriber.payloads(STATE) if body]
    last = [state for state in states if state.get("last_event") == told.events[-1]["id"]]
    assert last[-1].keys() - {"last_event"} <= stands.keys() - {"parked"}
    assert last[-1]["round"] == stands["round"]
