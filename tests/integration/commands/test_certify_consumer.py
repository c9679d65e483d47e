"""``shoectl certify-consumer`` with real receivers: the kits' pass, a bad one fails by its case."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from shoe_testing.brokers import Mosquitto, broker, mosquitto
from shoe_testing.paths import ROOT
from shoe_testing.typescript import built_package, program

pytestmark = pytest.mark.slow

EXAMPLE = ROOT / "clients/python/examples/certified.py"
FIELDS = ("{host}", "{port}", "{user}", "{sink}", "{answer}")
CASES = [
    "start", "in_order", "revision", "void", "doubles", "gap", "late", "unknown", "new_journal",
    "lost_part", "broker_death",
]  # fmt: skip


def certify(*words: str | Path) -> subprocess.CompletedProcess[str]:
    """Run the command as an integrator does."""
    mosquitto()
    return subprocess.run(
        [Path(sys.executable).with_name("shoectl"), "certify-consumer", *map(str, words)],
        env=os.environ | {"PYTHONPATH": f"{ROOT}:{ROOT / 'clients/python'}"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


PATIENT = ("--within", "60")
"""For receivers that are right: on a busy machine they may take long."""


def report(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert done.stderr == ""
    found: dict[str, Any] = json.loads(done.stdout)
    assert [case["case"] for case in found["cases"]] == CASES
    return found


def verdicts(found: dict[str, Any]) -> dict[str, str]:
    return {case["case"]: case["verdict"] for case in found["cases"]}


def test_the_receiver_of_the_kit_in_python_passes_every_case(tmp_path: Path) -> None:
    junit = tmp_path / "report.xml"
    done = certify("--junit", junit, *PATIENT, "--", sys.executable, EXAMPLE, *FIELDS)
    assert done.returncode == 0, done.stdout
    lines = done.stdout.splitlines()
    assert [line.split()[:2] for line in lines[:-1]] == [["passed", name] for name in CASES]
    assert lines[-1].split() == ["verdict", "passed:", "11", "of", "11", "cases"]
    suite = ET.parse(junit).getroot()[0]
    assert (suite.get("tests"), suite.get("failures")) == ("11", "0")
    assert [case.get("name") for case in suite] == CASES


def test_the_receiver_of_the_kit_in_typescript_passes_every_case() -> None:
    receiver = built_package() / "examples/certified.js"
    words = ("--json", *PATIENT, "--", program("node"), receiver, "{url}", *FIELDS[2:])
    done = certify(*words)
    found = report(done)
    assert [case for case in found["cases"] if case["verdict"] != "passed"] == []
    assert (found["passed"], done.returncode) == (True, 0)


def test_a_broker_of_ones_own_is_not_killed(tmp_path: Path) -> None:
    with broker(tmp_path, "allow_anonymous true", "max_queued_messages 0") as served:
        assert isinstance(served, Mosquitto)
        address = f"mqtt://127.0.0.1:{served.port}"
        words = ("--json", *PATIENT, "--broker", address, "--", sys.executable, EXAMPLE, *FIELDS)
        done = certify(*words)
        found = report(done)
    assert found["passed"], found
    assert verdicts(found)["broker_death"] == "skipped"


BUGS = {
    "revision": (
        "an outcome that was revised stays",
        'if due.event.type == "round.revised": self._rounds.apply = lambda due: None',
        "expected tie, holds player",
    ),
    "doubles": (
        "a double is counted again",
        'twice = due.event.table == "certify-doubles" and due.event.type == "round.outcome"\n'
        "        if twice: self._events[due.event.source] += 1",
        "applied 5",
    ),
    "gap": (
        "it hangs",
        'if due.event.table == "certify-gap": import time; time.sleep(600)',
        "after 8 s",
    ),
    "new_journal": (
        "events are known by their id alone",
        "seen = vars(self).setdefault('seen', set())\n"
        "        if due.event.id in seen: return\n"
        "        seen.add(due.event.id)",
        "expected player, holds None",
    ),
    "void": (
        "it ends with a traceback",
        'assert due.event.type != "round.void"',
        "ended with exit code 1: AssertionError",
    ),
    "in_order": (
        "it floods its output",
        'while due.event.table == "certify-in-order": print("again " * 10_000)',
        "floods: it printed more than",
    ),
}
"""By the case that finds it: what the receiver does wrong, the lines, what the report says."""


@pytest.mark.parametrize("case", BUGS, ids=lambda case: f"{case}: {BUGS[case][0]}")
def test_a_bad_receiver_fails_in_the_case_that_finds_it(case: str, tmp_path: Path) -> None:
    _, bug, says = BUGS[case]
    found = failed(with_bug(tmp_path, bug), case)
    assert says in found["difference"]


def with_bug(folder: Path, bug: str) -> Path:
    """The kit's receiver with these lines at the beginning of what it does with an event."""
    first = "        source = due.event.source\n"
    text = EXAMPLE.read_text("utf-8")
    assert text.count(first) == 1
    receiver = folder / "receiver.py"
    receiver.write_text(text.replace(first, f"        {bug}\n{first}"), "utf-8")
    return receiver


def failed(receiver: Path, case: str, within_s: int = 8) -> dict[str, Any]:
    """The case that a receiver fails, and no other; those behind it are not run."""
    done = certify("--json", "--within", str(within_s), "--", sys.executable, receiver, *FIELDS)
    assert done.returncode == 1, done.stdout
    found = report(done)
    place = CASES.index(case)
    expected = ["passed"] * place + ["failed"] + ["not_run"] * (len(CASES) - place - 1)
    assert list(verdicts(found).values()) == expected, found
    return dict(found["cases"][place])


def test_a_receiver_that_asks_without_end_floods(tmp_path: Path) -> None:
    text = EXAMPLE.read_text("utf-8")
    flood = (
        "    async def again() -> None:\n"
        "        import aiomqtt\n"
        "        five = aiomqtt.ProtocolVersion.V5\n"
        "        async with aiomqtt.Client(host, int(port), username=user, protocol=five) as it:\n"
        "            while True:\n"
        "                await it.publish(f'shoe/v1/certify-start/commands/{user}', b'{}')\n"
        "    flooding = asyncio.create_task(again())\n"
    )
    last = "    await follow("
    receiver = tmp_path / "receiver.py"
    receiver.write_text(text.replace(last, flood + last), "utf-8")
    # It is found by the count, and not by the time that a busy machine takes for so many.
    assert "more than 200 requests" in failed(receiver, "start", within_s=60)["difference"]


@pytest.mark.parametrize("answer", ["nonsense", '{"events": []}'])
def test_an_answer_in_another_form_fails_the_first_case(answer: str, tmp_path: Path) -> None:
    receiver = tmp_path / "receiver.py"
    receiver.write_text(
        "import sys, time, pathlib\n"
        f"pathlib.Path(sys.argv[5]).write_text({answer!r})\n"
        "time.sleep(600)\n"
    )
    assert "not in the documented form" in failed(receiver, "start")["difference"]


def test_what_cannot_be_tried_is_refused_in_one_line(tmp_path: Path) -> None:
    for words, code, says in (
        (["--", str(tmp_path / "nothing")], 3, "No such file or directory"),
        (["--user", "me", "--", "true"], 2, "--user and --password-file need --broker"),
        (["--broker", "nats://there", "--", "true"], 2, "--broker: expected mqtt://HOST:PORT"),
        (["--broker", "mqtt://127.0.0.1:1", "--", "true"], 3, "no broker"),
        ([], 2, "RECEIVER"),
    ):
        done = certify(*words)
        assert (done.returncode, done.stdout) == (code, ""), done
        assert says in done.stderr
        assert "Traceback" not in done.stderr
