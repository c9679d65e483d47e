"""Every example of every help, run as it stands in a folder where its files are."""

from __future__ import annotations

import gzip
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from shoe_ctl.cli.main import shoectl
from shoe_ctl.games import catalog
from shoe_testing.cli import all_commands, help_examples, plain_words
from shoe_testing.command_server import WarmProgram, run_command
from shoe_testing.config import FACE_UP, make_config, table_section, this_user
from shoe_testing.nats_server import nats_server
from shoe_testing.socket_client import answering_daemon
from simulators.control.changes import CHANGES

ROUNDS = 12
BIN = Path(sys.executable).parent
TABLE = ("shoectl", "table")
CHANGE = ("shoe-sim", "ctl")


def configuration(port: str, **sections: Any) -> str:
    table = table_section(port=port, announcements="implied", method_b=FACE_UP)
    return make_config(table, journal={"path": "journal.db"}, **sections)


UNTIL = {
    "shoectl run": "ready: ",
    "shoectl capture --profile": "recording from ",
    "shoectl floor --address": "round",
    "shoe-sim serve": "stop with Ctrl-C",
    "shoe-sim play": "stop with Ctrl-C",
}
"""What says that a command is at work that goes on until Ctrl-C."""


UNIT_FOLDER = "/etc/shoectl"
"""Where the examples have the units' configurations; here they lie beside the others."""


def in_folder(example: str, folder: Path) -> str:
    """The example, with a folder of configurations that is there."""
    beside = folder / "configurations"
    beside.mkdir(exist_ok=True)
    shutil.copy(folder / "table.toml", beside)
    (beside / "shoe").touch()
    return example.replace(UNIT_FOLDER, beside.name)


def environment(folder: Path) -> dict[str, str]:
    return os.environ | {"PATH": f"{BIN}:{os.environ['PATH']}", "TMPDIR": str(folder)}


def typed(line: str) -> list[str]:
    """The words of a line, the program as this checkout has it."""
    name, *words = shlex.split(line)
    return [str(BIN / name), *words]


def run(line: str, folder: Path) -> str:
    """What a command that must succeed leaves on stdout; a shell only runs what needs one."""
    if set(line).isdisjoint("|>"):
        done = run_command(*typed(line), cwd=folder, env=environment(folder))
    else:
        done = subprocess.run(
            ["bash", "--norc", "-c", line], cwd=folder, env=environment(folder),
            capture_output=True, text=True, check=False,
        )  # fmt: skip
    assert done.returncode == 0, (line, done.stdout, done.stderr)
    assert "Traceback" not in done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory, commands: object) -> Iterator[Path]:
    """A folder with a shoe that is served, a configuration, a journal, a capture, a game file."""
    folder = tmp_path_factory.mktemp("workshop")
    serve = "serve --profile reference --port pty:shoe --seed 1 --pace-ms 0"
    with WarmProgram(
        [BIN / "shoe-sim", *shlex.split(serve)], cwd=folder,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    ) as shoe:  # fmt: skip
        try:
            assert shoe.stdout is not None
            shoe.stdout.readline()
            (folder / "table.toml").write_text(configuration(str(folder / "shoe")))
            deal(folder)
            key = re.search(r"public key +(\w+)", run("shoectl verify journal.db", folder))
            assert key is not None
            (folder / "journal.pub").write_text(key[1] + "\n")
            shutil.copy(folder / "journal.db", folder / "copy.db")
            (folder / "archive").mkdir()
            run("shoectl export journal.db --output archive/bac-07-s1.journal.gz", folder)
            run("shoectl capture --journal journal.db -o shoe.capture", folder)
            run("shoectl prove journal.db --round bac-07-s1-r1 -o round.json", folder)
            (folder / "my-baccarat.toml").write_bytes(catalog.source("tiger"))
            yield folder
        finally:
            shoe.send_signal(signal.SIGINT)


def deal(folder: Path) -> None:
    """Run the daemon until it has settled enough rounds."""
    with WarmProgram(
        [BIN / "shoectl", "run", "--config", "table.toml", "--json"],
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    ) as daemon:  # fmt: skip
        assert daemon.stdout is not None
        settled, lines = 0, []
        for line in daemon.stdout:
            lines.append(line)
            settled += '"type":"round.settled"' in line
            if settled == ROUNDS:
                break
        daemon.send_signal(signal.SIGTERM)
        lines += daemon.stdout
    (folder / "events.jsonl").write_text("".join(lines))
    (folder / "evidence").mkdir()
    shutil.copy(folder / "journal.db", folder / "evidence")
    (folder / "cosigned.jsonl").touch()
    (folder / "witness.keys").write_text("# none yet\n")
    (folder / "events.jsonl.gz").write_bytes(gzip.compress("".join(lines).encode()))
    assert (settled, daemon.returncode) == (ROUNDS, 0)


PLACE = "nats://127.0.0.1:4222"
"""Where the examples have a broker; the tests' own listens at another port."""


def nats_sink(address: str) -> dict[str, str]:
    return {"kind": "nats", "address": address}


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory, commands: object) -> Iterator[str]:
    """A server that has the events of a shoe."""
    folder = tmp_path_factory.mktemp("broker")
    with nats_server(folder) as server:
        run(f"shoectl publish --to {server.address} --from irregular_shoe --pace-ms 0", folder)
        yield server.address


IMPOSSIBLE = {
    "draw": "the dealer draws: let it rest first",
    "brown_out": "no card may be drawn now",
    "read_again": "cannot report a card that it reads again",
    "warning": "cannot report a warning",
    "overdraw": "cannot report a card drawn too many",
    "overdraw_kept": "cannot report a card's new place",
    "overdraw_discarded": "cannot report a card drawn too many",
}
"""What a reference shoe without a daemon cannot do, and the reason that it gives."""


@pytest.mark.slow
def test_the_examples_of_ctl_change_a_shoe_one_after_the_other(
    tmp_path: Path, commands: object
) -> None:
    serve = "serve --profile reference --port pty:shoe --seed 1 --control shoe.ctl"
    with WarmProgram(
        [BIN / "shoe-sim", *shlex.split(serve)], cwd=tmp_path,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    ) as shoe:  # fmt: skip
        try:
            assert shoe.stdout is not None
            shoe.stdout.readline()
            for name in CHANGES:
                if name == "wait":
                    run("shoe-sim ctl pull cards=4 --at shoe.ctl", tmp_path)  # what it waits for
                for example in help_examples((*CHANGE, name)):
                    if (why := IMPOSSIBLE.get(name)) is None:
                        run(example, tmp_path)
                        continue
                    done = run_command(*typed(example), cwd=tmp_path, env=environment(tmp_path))
                    assert (done.returncode, why in done.stderr) == (1, True), done.stderr
        finally:
            shoe.send_signal(signal.SIGINT)
            shoe.communicate()
    assert shoe.returncode == 130


OTHERS = {
    example: words
    for words in all_commands()
    if words[:2] not in (TABLE, CHANGE)
    for example in help_examples(words)
    if not example.startswith(("shoectl table ", "shoe-sim ctl ", "shoe-sim floor "))
    if not any(name in example for name in ("floor.toml", "logins.toml", "./receiver"))
}
"""Each example with the command whose help shows it, the longest where several do.

Those of ``shoectl broker`` need a broker with users: the tests of that command start one.
That of ``shoectl certify-consumer`` needs a receiver: its tests have several.
Those of ``shoe-sim floor`` need a daemon beside them: the test of the guide to load tests runs it.
"""


@pytest.mark.slow
@pytest.mark.parametrize(("example", "words"), OTHERS.items(), ids=lambda one: str(one)[:60])
def test_an_example_does_what_it_says(
    example: str,
    words: tuple[str, ...],
    workshop: Path,
    broker: str,
    tmp_path: Path,
) -> None:
    folder = tmp_path / "folder"
    shutil.copytree(workshop, folder, symlinks=True)
    if words[1:] == ("capture",):
        (folder / "shoe.capture").unlink()  # what is written must not be there
    if example.startswith("shoectl prove "):
        (folder / "round.json").unlink(missing_ok=True)
    if words[0] == "shoe-sim":
        (folder / "shoe").unlink()
    if words[1:] == ("floor",):
        example = example.replace(PLACE, broker)
        (folder / "table.toml").write_text(configuration("shoe", sink=[nats_sink(broker)]))
    example = in_folder(example, folder)
    until = next((text for start, text in UNTIL.items() if example.startswith(start)), None)
    if "--once" in example:
        until = None
    if until is None:
        run(example, folder)
        return
    with WarmProgram(
        plain_words(example) or ["bash", "--norc", "-c", example],
        cwd=folder, env=environment(folder), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, start_new_session=True,
    ) as child:  # fmt: skip
        assert child.stdout is not None
        shown = ""
        for line in child.stdout:
            shown += line
            if until in line:
                break
        os.killpg(child.pid, signal.SIGINT)
        shown += child.stdout.read()
    assert until in shown
    assert "Traceback" not in shown
    assert child.returncode == 130, shown


@pytest.fixture(scope="module")
def at_the_table(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("table")
    with answering_daemon(folder) as path:
        socket = {"path": str(path), "user": [this_user("dealer")]}
        (folder / "table.toml").write_text(configuration("shoe", socket=socket))
        yield folder


ANSWERS = (
    "done: t/p1",
    "nothing is parked",
    "jsonl:public.jsonl: ",
    '{"specversion":"1.0","id":"bac-07/p32"',
    "bac-07      tiger, Method B: idle\n",
)

OF_A_TABLE = [
    example
    for words in all_commands()
    for example in help_examples(words)
    if example.startswith("shoectl table ")
]


@pytest.mark.parametrize("example", dict.fromkeys(OF_A_TABLE))
def test_an_example_of_a_table_is_taken(
    example: str, at_the_table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOECTL_SOCKET", str(at_the_table / "s"))
    monkeypatch.chdir(at_the_table)
    _, *words = shlex.split(in_folder(example, at_the_table).replace("\\\n", ""))
    ran = CliRunner().invoke(shoectl, words, prog_name="shoectl")
    if words[1] == "events":  # they end with the daemon alone
        hung_up = f"the daemon at {at_the_table / 's'} hung up; to go on behind what you have: "
        assert str(ran.exception) == f"{hung_up}after=bac-07/p32"
    else:
        assert (ran.exit_code, ran.exception) == (0, None), ran.output
    assert ran.stdout.startswith(ANSWERS)
