"""Follow all tables of an MQTT broker, and keep in a file what ``certify-consumer`` asks for."""

import asyncio
import json
import sys
from pathlib import Path

from shoe_events import Consumer, Due, Rounds
from shoe_events.follow import follow
from shoe_events.mqtt import mqtt


class Held:
    """What this receiver holds: applied events by source, and how each round stands."""

    def __init__(self, answer: Path) -> None:
        self._answer = answer
        self._rounds = Rounds()
        self._events: dict[str, int] = {}
        self._results: dict[str, dict[str, str]] = {}

    def apply(self, due: Due) -> None:
        """Take an event in, and say anew what is held: the file is replaced in one step."""
        source = due.event.source
        self._events[source] = self._events.get(source, 0) + 1
        if (change := self._rounds.apply(due)) is not None:
            result = "void" if change.now.result == "void" else due.event.data["winner"]
            key = change.now.round
            self._results.setdefault(key.source, {})[key.round_id] = result
        new = self._answer.with_suffix(".new")
        new.write_text(json.dumps({"events": self._events, "rounds": self._results}))
        new.replace(self._answer)


async def main(host: str, port: str, user: str, sink: str, answer: str) -> None:
    """Read until the program is stopped."""
    consumer = Consumer(begin="first")
    connect = mqtt(host, port=int(port), client_id=user, user=user, sink=sink)
    await follow(connect, consumer, Held(Path(answer)).apply)


asyncio.run(main(*sys.argv[1:]))
