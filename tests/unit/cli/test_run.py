"""A ruling on the command line: who may give it where the configuration lists users."""

from __future__ import annotations

from pathlib import Path

import pytest

from shoe_ctl.journal.store import Store
from shoe_testing.command_server import run_command
from shoe_testing.config import write_config

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("commands")]

USERS = """
[[socket.user]]
user = 4001
name = "Ines"
position = "gaming_shift_manager"
[[socket.user]]
user = 4002
name = "Kim"
position = "pit_supervisor"
[[socket.user]]
user = 4003
name = "Deal"
position = "dealer"
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = write_config(tmp_path, str(tmp_path / "no-shoe"), way_in=False)
    text = path.read_text() + f'\n[socket]\npath = "{tmp_path}/s.sock"\n{USERS}'
    path.write_text(text)
    Store.open(tmp_path / "journal.db").close()
    return path


def ruled(config: Path, person: str, consented_by: str) -> tuple[int, str]:
    done = run_command(
        "shoectl", "run", "--config", str(config), "--accept-loss", "--reason", "the disk is lost",
        "--person", person, "--consented-by", consented_by,
    )  # fmt: skip
    return done.returncode, done.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    ("person", "consented_by", "says"),
    [
        ("Nobody", "Kim", "--person: Nobody is no user of [socket]; name one of Ines, Kim, Deal"),
        ("Kim", "Ines", "needs a gaming shift manager"),
        ("Ines", "Nobody", "Nobody is no configured user; name Kim or Deal"),
        ("Ines", " INES ", "another person"),
        ("Ines", "4001", "4001 is who asks; name Kim or Deal"),
        ("Ines", "Deal", "pit supervisor"),
    ],
)
def test_a_ruling_on_the_command_line_is_held_to_the_configured_users(
    config: Path, person: str, consented_by: str, says: str
) -> None:
    before = sorted((path.name, path.stat().st_mtime_ns) for path in config.parent.iterdir())
    code, line = ruled(config, person, consented_by)
    assert code == 2 and says in line, line
    after = sorted((path.name, path.stat().st_mtime_ns) for path in config.parent.iterdir())
    assert after == before


def test_two_configured_users_in_their_positions_may_rule(config: Path) -> None:
    """Nothing is lost here, and that is the next thing that is said."""
    code, line = ruled(config, "ines", "kim")
    assert code == 2 and "lost nothing: start without --accept-loss" in line, line
