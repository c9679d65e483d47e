"""The control of a served shoe over Python: it returns what happened, or raises why not."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from shoe_testing.served_shoe import served_shoe
from simulators import ShoeControl
from simulators.control import client
from simulators.control.client import CannotReport
from simulators.errors import PortFault, SimulatorError, WrongUsage


async def test_the_example_of_the_module_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = [line for line in (client.__doc__ or "").splitlines() if line.startswith("    ")]
    code = dedent("\n".join(lines))
    assert 'shoe.change("wait", until="host")' in code
    async with served_shoe(tmp_path) as bench:
        running = asyncio.create_task(asyncio.to_thread(exec, code, {"ShoeControl": ShoeControl}))
        await bench.until(lambda: bench.lines[0].faults.drop == 0.1 and bench.rig.plugged, 30)
        fd = os.open(tmp_path / "shoe", os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
        try:
            async with asyncio.timeout(30):
                await running
        finally:
            os.close(fd)


async def test_a_change_returns_what_happened_or_raises_why_not(tmp_path: Path) -> None:
    def speak() -> None:
        with ShoeControl(tmp_path / "shoe.ctl") as shoe:
            changed = shoe.change("lid_open")
            assert (changed.did, changed.reported) == ("lid_open", [{"type": "lid", "open": True}])
            assert changed.time.endswith("Z") and changed.shoe["powered"]
            for name, arguments, kind, why in (
                ("warning", {}, CannotReport, "warning: a shoe of profile reference cannot"),
                ("button", {"number": 0}, WrongUsage, "button.number: expected a whole number"),
                ("kick", {}, WrongUsage, "do: expected one of unplug"),
                ("button", {"number": object()}, WrongUsage, "button: Object of type object"),
                ("wait", {"until": "host", "within_s": 1e999}, WrongUsage, "wait.within_s: "),
            ):
                given: dict[str, Any] = arguments
                with pytest.raises(kind) as raised:
                    shoe.change(name, **given)
                assert type(raised.value) is kind
                assert str(raised.value).startswith(why)
            assert shoe.change("status").did == "status"

    async with served_shoe(tmp_path):
        await asyncio.to_thread(speak)


def test_where_no_shoe_answers_that_is_said_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "shoe.ctl"
    with pytest.raises(PortFault, match="no shoe answers there: No such file or directory"):
        ShoeControl(path).change("status")
    with socket.socket(socket.AF_UNIX) as left_behind:
        left_behind.bind(str(path))
    with pytest.raises(PortFault, match="no shoe answers there: Connection refused"):
        ShoeControl(path).change("status")
    file = tmp_path / "table.toml"
    file.touch()
    for other in (file, tmp_path):
        with pytest.raises(PortFault, match=r": not a socket: name the one that shoe-sim serve"):
            ShoeControl(other).change("status")


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (b"", "it hung up"),
        (b"hello\n", "what came is no answer"),
        (b"[]\n", "is no answer"),
        (b"{}\n", "what answers there is no shoe"),
        (b'{"accepted": false, "error": {"code": "x"}}\n', "what answers there is no shoe"),
        (b'{"did": "unplug"}\n', "what answers there is no shoe"),
    ],
)
def test_an_answer_that_is_none_is_told(tmp_path: Path, answer: bytes, why: str) -> None:
    path = tmp_path / "shoe.ctl"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()

        def serve() -> None:
            peer, _ = listener.accept()
            with peer:
                peer.recv(1000)
                peer.sendall(answer)

        other = threading.Thread(target=serve)
        other.start()
        try:
            with pytest.raises(SimulatorError, match=why):
                ShoeControl(path).change("status")
        finally:
            other.join()


def test_a_draw_is_waited_for_as_long_as_all_its_cards_may_take(tmp_path: Path) -> None:
    waited: list[float] = []

    class Patient(ShoeControl):
        def _exchange(self, line: bytes, within_s: float) -> bytes:  # noqa: ARG002
            waited.append(within_s)
            raise TimeoutError

    for cards in (1, 4):
        with pytest.raises(PortFault, match="no answer"):
            Patient(tmp_path / "shoe.ctl").change("draw", cards=cards, within_s=100.0)
    assert waited == [client.ANSWER_WITHIN_S + 100.0, client.ANSWER_WITHIN_S + 400.0]
