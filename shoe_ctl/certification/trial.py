"""One receiver on trial: a broker, the daemon's side of it, the receiver's process, case by case.

In: cases, a broker or none, the receiver's command line. Out: a verdict for each case, with the
first difference. Must not know: how a report is shown.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Literal

import msgspec

from shoe_ctl.certification.cases import (
    Case,
    Event,
    Holdings,
    KillBroker,
    Send,
    SendGarbage,
    SendUntilHeard,
    difference,
    holdings,
    is_beyond,
)
from shoe_ctl.errors import EnvironmentFault
from shoe_ctl.records import EventId, event_id
from shoe_ctl.sinks.mqtt import CONTENT_TYPE, PLAIN_JSON, topic
from shoe_ctl.sinks.mqtt_connection import (
    Broker,
    Connection,
    ConnectionLost,
    Incoming,
    Outgoing,
    connect,
)

USER = "certify-receiver"
"""The receiver's name at the broker."""

SINK = "certify"
"""The name of the sink that a receiver asks to send again."""

HOST = "127.0.0.1"
STARTED_WITHIN_S = 10.0
POLL_S = 0.05
BEAT_S = 0.2
"""The pause between events that are published until the receiver gets one."""

MOST_REQUESTS = 200
"""Requests of one case: a receiver that asks more often than for every event floods the daemon."""

MOST_OUTPUT = 16 << 20
"""Bytes that the receiver may print, and its answer may have."""

Verdict = Literal["passed", "failed", "skipped", "not_run"]


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of one case. ``difference`` is the first thing that was not as expected."""

    case: str
    title: str
    verdict: Verdict
    seconds: float = 0.0
    events: int = 0
    requests: int = 0
    difference: str | None = None


class _Failed(Exception):
    """The receiver failed the case; the text is the first difference."""


class Mosquitto:
    """A broker of our own, which can be killed."""

    def __init__(self, folder: Path) -> None:
        path = f"{os.environ.get('PATH', '')}:/usr/sbin"
        program = shutil.which("mosquitto", path=path)
        if program is None:
            raise EnvironmentFault(
                "mosquitto is not installed: apt-get install mosquitto, or name a broker: --broker"
            )
        self._program = program
        self._log = folder / "mosquitto.log"
        self._config = folder / "mosquitto.conf"
        self._process: subprocess.Popen[bytes] | None = None
        with socket.socket() as probe:
            probe.bind((HOST, 0))
            self.port = int(probe.getsockname()[1])

    def start(self) -> None:
        """Start it; it may not listen yet."""
        lines = [
            f"listener {self.port} {HOST}",
            "allow_anonymous true",
            "set_tcp_nodelay true",
            "max_queued_messages 0",
            *(["user root"] if os.geteuid() == 0 else []),  # else it could not read its file
        ]
        self._config.write_text("\n".join(lines) + "\n")
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [self._program, "-c", str(self._config)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def kill(self) -> None:
        """End it as a power failure does: nothing is saved."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


class Receiver:
    """The receiver's process. ``{host}`` and so on in its command line are filled in."""

    def __init__(self, words: Sequence[str], fields: Mapping[str, str], folder: Path) -> None:
        self._words = [_filled(word, fields) for word in words]
        self._folder = folder
        self.answer_file = folder / "answer.json"
        self._output = folder / "receiver.log"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, in a folder of its own.

        Raises:
            EnvironmentFault: there is no such program.
        """
        try:
            with self._output.open("wb") as output:
                self._process = subprocess.Popen(
                    self._words,
                    cwd=self._folder,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
        except OSError as error:
            raise EnvironmentFault(f"{self._words[0]}: {error.strerror}") from None

    def stop(self) -> None:
        """End it, with all that it started."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def check(self) -> None:
        """Raise what is wrong with the process itself."""
        assert self._process is not None
        if (code := self._process.poll()) is not None:
            raise _Failed(f"the receiver ended with exit code {code}: {self._last_line()}")
        if self._output.stat().st_size > MOST_OUTPUT:
            raise _Failed(f"the receiver floods: it printed more than {MOST_OUTPUT:,} bytes")

    def _last_line(self) -> str:
        with self._output.open("rb") as output:
            output.seek(max(0, self._output.stat().st_size - 2000))
            lines = output.read().decode("utf-8", "replace").splitlines()
        return next((line for line in reversed(lines) if line.strip()), "it printed nothing")

    def holdings(self) -> Holdings | None:
        """Return what it says that it holds; None before it says anything.

        Raises:
            _Failed: its answer is not in the form that was asked for.
        """
        try:
            if self.answer_file.stat().st_size > MOST_OUTPUT:
                raise _Failed(f"its answer has more than {MOST_OUTPUT:,} bytes")
            body = self.answer_file.read_bytes()
        except OSError:
            return None
        try:
            return _answer.decode(body)
        except ValueError as error:
            raise _Failed(f"its answer is not in the documented form: {error}") from None


class _Answer(msgspec.Struct):
    events: dict[str, int]
    rounds: dict[str, dict[str, str]]


class _AnswerDecoder:
    def __init__(self) -> None:
        self._decoder = msgspec.json.Decoder(_Answer)

    def decode(self, body: bytes) -> Holdings:
        """Return the answer; raise ValueError if it is none."""
        read = self._decoder.decode(body)
        return Holdings(read.events, read.rounds)


_answer = _AnswerDecoder()


def _filled(word: str, fields: Mapping[str, str]) -> str:
    for name, value in fields.items():
        word = word.replace("{" + name + "}", value)
    return word


class Trial:
    """All cases with one receiver. ``within_s`` is how long it may take to hold what it must.

    ``broker`` is None for one of our own; another one cannot be killed.
    """

    def __init__(
        self, words: Sequence[str], folder: Path, *, broker: Broker | None, within_s: float
    ) -> None:
        self._own = Mosquitto(folder) if broker is None else None
        at = Broker(HOST, self._own.port) if self._own is not None else broker
        assert at is not None
        self._broker = at
        self._within_s = within_s
        work = folder / "receiver"
        work.mkdir()
        fields = {
            "host": at.host,
            "port": str(at.port),
            "url": at.address,
            "user": USER,
            "sink": SINK,
            "answer": str(work / "answer.json"),
        }
        self._receiver = Receiver(words, fields, work)
        self._connection: Connection | None = None
        self._case: Case | None = None
        self._requests = 0
        self._journals: dict[str, Sequence[Event]] = {}
        self._served: asyncio.Task[None] | None = None

    async def run(self, cases: Sequence[Case], note: Callable[[Result], None]) -> list[Result]:
        """Run the cases in order until one fails; ``note`` gets each result.

        Raises:
            EnvironmentFault: there is no broker, or no such receiver.
        """
        results: list[Result] = []
        has_failed = False
        async with self._at_work():
            for case in cases:
                if has_failed:
                    result = _result(case, "not_run")
                elif case.kills_broker and self._own is None:
                    result = _result(case, "skipped", difference="the broker is not ours to kill")
                else:
                    result = await self._run(case)
                has_failed = has_failed or result.verdict == "failed"
                results.append(result)
                note(result)
        return results

    @asynccontextmanager
    async def _at_work(self) -> AsyncIterator[None]:
        if self._own is not None:
            self._own.start()
        try:
            await self._connect()
            self._receiver.start()
            yield
        finally:
            self._receiver.stop()
            await self._disconnect()
            if self._own is not None:
                self._own.kill()

    async def _run(self, case: Case) -> Result:
        began = time.monotonic()
        self._case, self._requests = case, 0
        self._journals[case.table] = case.journal
        expected = holdings(case.events)
        failure: str | None = None
        try:
            async with asyncio.timeout(self._within_s + len(case.events) * BEAT_S):
                for step in case.steps:
                    await self._take(step)
            await self._until_held(expected)
        except _Failed as why:
            failure = str(why)
        except TimeoutError:
            failure = f"{self._first_difference(expected)}, and events could not be published"
        except ConnectionLost as lost:
            raise EnvironmentFault(f"the broker is away: {lost}") from None
        # After a broker's death a receiver asks for all its tables, and the daemon serves them all.
        self._journals[case.table] = case.journal or case.events
        return _result(
            case,
            "passed" if failure is None else "failed",
            seconds=round(time.monotonic() - began, 3),
            events=len(case.events),
            requests=self._requests,
            difference=failure,
        )

    async def _take(self, step: Send | SendUntilHeard | SendGarbage | KillBroker) -> None:
        assert self._case is not None
        if isinstance(step, Send):
            await self._publish(step.events)
        elif isinstance(step, SendGarbage):
            await self._send([Outgoing(topic(self._case.table, "public"), step.body)])
        elif isinstance(step, KillBroker):
            assert self._own is not None
            self._own.kill()
            await self._disconnect()
            self._own.start()
            await self._connect()
        else:
            await self._publish_until_heard(step.events)

    async def _publish_until_heard(self, events: Sequence[Event]) -> None:
        before = self._applied()
        for place, event in enumerate(events):
            self._check_receiver()
            await self._publish([event])
            await asyncio.sleep(BEAT_S)
            if self._applied() > before:
                await self._publish(events[place + 1 :])
                return

    def _applied(self) -> int:
        """Return how many events of the case the receiver says that it has applied."""
        held, case = self._receiver.holdings(), self._case
        assert case is not None
        if held is None:
            return 0
        sources = {event.source for event in case.events}
        return sum(many for source, many in held.events.items() if source in sources)

    async def _until_held(self, expected: Holdings) -> None:
        """Wait until the receiver holds what it must.

        Raises:
            _Failed: it did not in time, it holds too much, or its process failed.
        """
        deadline = time.monotonic() + self._within_s
        while True:
            self._check_receiver()
            held = self._receiver.holdings()
            if held is not None:
                found = difference(held, expected)
                if found is None:
                    return
                if is_beyond(held, expected):
                    raise _Failed(found)
            if time.monotonic() >= deadline:
                raise _Failed(f"{self._first_difference(expected)} after {self._within_s:g} s")
            await asyncio.sleep(POLL_S)

    def _first_difference(self, expected: Holdings) -> str:
        held = self._receiver.holdings()
        if held is None:
            return f"no answer in {self._receiver.answer_file.name}"
        return difference(held, expected) or "it holds all"

    def _check_receiver(self) -> None:
        self._receiver.check()
        if self._requests > MOST_REQUESTS:
            raise _Failed(f"the receiver floods: more than {MOST_REQUESTS} requests in one case")
        if self._served is not None and self._served.done():
            self._served.result()

    # The daemon's side.

    async def _connect(self) -> None:
        """Connect as the daemon does, and listen to the receiver's requests.

        Raises:
            EnvironmentFault: there is no broker.
        """
        deadline = time.monotonic() + STARTED_WITHIN_S
        while True:
            try:
                self._connection = await connect(self._broker, "shoectl-certify", None)
                refused = await self._connection.subscribe(topic("+", "commands", USER))
            except ConnectionLost as lost:
                if time.monotonic() >= deadline:
                    raise EnvironmentFault(f"no broker: {lost}") from None
                await asyncio.sleep(POLL_S)
                continue
            if refused is not None:
                raise EnvironmentFault(f"{self._broker.address}: {refused}")
            self._served = asyncio.create_task(self._serve(self._connection))
            return

    async def _disconnect(self) -> None:
        if self._served is not None:
            self._served.cancel()
            await asyncio.wait({self._served})
            self._served = None
        if self._connection is not None:
            with suppress(ConnectionLost):
                await self._connection.close()
            self._connection = None

    async def _publish(self, events: Sequence[Event]) -> None:
        """Publish events, and the state of the table, which names the last one."""
        if not events:
            return
        assert self._case is not None
        table = self._case.table
        state = json.dumps({"table": table, "last_event": events[-1].id}).encode()
        bodies = [Outgoing(topic(table, "public"), e.body, CONTENT_TYPE) for e in events]
        await self._send([*bodies, Outgoing(topic(table, "state"), state, PLAIN_JSON, retain=True)])

    async def _send(self, messages: Sequence[Outgoing]) -> None:
        assert self._connection is not None
        for answer in await self._connection.publish(messages):
            if answer.refused is not None:
                raise EnvironmentFault(f"{self._broker.address}: {answer.refused}")

    async def _serve(self, connection: Connection) -> None:
        """Answer the receiver's requests for what it lacks, until the connection ends."""
        while True:
            try:
                asked = await connection.receive()
            except ConnectionLost:
                return
            connection.acknowledge(asked)
            self._requests += 1
            if self._requests <= MOST_REQUESTS:
                with suppress(ConnectionLost):
                    await self._answer(connection, asked)

    async def _answer(self, connection: Connection, asked: Incoming) -> None:
        table = asked.topic.split("/")[2]
        journal = self._journals.get(table)
        if not journal:
            return  # a daemon that is away answers nothing
        answer, events = _resend(asked.payload, journal)
        to = asked.response_topic or topic(table, "answers", USER)
        await connection.publish(
            [
                *(Outgoing(to, e.body, CONTENT_TYPE) for e in events),
                Outgoing(
                    to,
                    json.dumps(answer).encode(),
                    PLAIN_JSON,
                    correlation=asked.correlation,
                ),
            ]
        )


def _result(case: Case, verdict: Verdict, **more: Any) -> Result:
    return Result(case=case.name, title=case.title, verdict=verdict, **more)


def _resend(request: bytes, journal: Sequence[Event]) -> tuple[dict[str, Any], list[Event]]:
    """Return the answer to a request for events, and the events, as a daemon gives them."""
    try:
        asked: dict[str, Any] = json.loads(request)
        after = event_id(asked["after"])
        upto = event_id(asked["upto"]).number if "upto" in asked else None
        if asked["request"] != "resend" or asked["sink"] != SINK:
            raise ValueError(f"expected a resend of sink {SINK}")
    except (ValueError, KeyError, TypeError) as error:
        return _refusal("request_invalid", detail=str(error)), []
    last = journal[-1].number
    if after.number > last:
        first = str(EventId(after.table, after.audience, journal[0].number))
        known = {"after": asked["after"], "first": first, "last": journal[-1].id}
        return _refusal("events_unknown", **known), []
    found = [e for e in journal if e.number > after.number and (upto is None or e.number <= upto)]
    return {"resent": {"sink": SINK, "after": asked["after"], "events": len(found)}}, found


def _refusal(code: str, **args: Any) -> dict[str, Any]:
    return {"accepted": False, "error": {"code": code, "args": args, "text": code}, "needs": {}}
