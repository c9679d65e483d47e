"""Who may consent, through the running daemon: a configured user other than the one who asks."""

from __future__ import annotations

import os
import pwd
from pathlib import Path
from typing import Any

import msgspec
import pytest

from shoe_ctl.config.schema import Config, SocketConfig, SocketUser
from shoe_ctl.texts.catalogue import text
from shoe_testing import daemon
from shoe_testing.daemon import play_through_daemon
from simulators.table.scenario import Scenario, parse

ME = pwd.getpwuid(os.getuid()).pw_name
LEE, DORA, SUE, PAT = (os.getuid() + 40000 + at for at in range(4))
USERS = [
    SocketUser(user=os.getuid(), name="Ines", position="gaming_shift_manager"),
    SocketUser(user=LEE, name="Lee Ann", position="pit_supervisor"),
    SocketUser(user=DORA, name="Dora", position="dealer"),
    SocketUser(user=SUE, name="Sue", position="surveillance"),
    SocketUser(user=PAT, name="Pat", position="surveillance", also=["pit_manager"]),
]
TO_A_ROUND = """
version = 1
title = "An outcome is revised by two"
table = {game = "tiger"}
shoe = {cards = "4D 7C 5S QH"}
steps = [
  {say = "place_your_bets"},
  {play = "round.settled"},
"""


def revision(second: str, *, person: str = "Kim", refused: bool) -> str:
    wanted = ', refused = "consent"' if refused else ""
    return (
        '{say = "revise_round", args = {player = "4D 5S", banker = "7C 2H"}, '
        f'position = "gaming_shift_manager", person = "{person}", reason = "a two", '
        f'consented_by = "{second}"{wanted}}},\n'
    )


def scenario(*steps: str) -> Scenario:
    text = f'{TO_A_ROUND}{"".join(steps)}]\nexpect = ["round.settled"]\n'
    return parse(text.encode(), "a test", name="second_person")


def with_users(patch: pytest.MonkeyPatch, users: list[SocketUser]) -> None:
    honest = daemon.scenario_config

    def configuration(*args: Any) -> Config:
        config = honest(*args)
        assert config.socket is not None
        asked: SocketConfig = msgspec.structs.replace(config.socket, user=users)
        return msgspec.structs.replace(config, socket=asked)

    patch.setattr(daemon, "scenario_config", configuration)


async def errors(folder: Path, *steps: str) -> list[str]:
    _, restricted, stuck = await play_through_daemon(scenario(*steps), folder)
    assert stuck is None
    return [text(told.data["error"]) for told in restricted if told.type == "command.refused"]


OTHERS = "name Lee Ann or Dora or Sue or Pat"
REFUSED = {
    ("Zoe", "Kim"): f"Zoe is no configured user; {OTHERS}",
    ("kim", "Kim"): "kim is who asks",
    (" K\u00adim ", "Kim"): "is who asks",
    ("ines", "Kim"): f"ines is who asks; {OTHERS}",  # the user who is at the socket
    (ME, "Kim"): f"{ME} is who asks; {OTHERS}",
    (str(os.getuid()), "Kim"): f"{os.getuid()} is who asks; {OTHERS}",
    (str(LEE), "lee  ann"): f"{LEE} is who asks; {OTHERS}",  # by another of the person's names
    ("dora", "Kim"): "needs the consent of a pit supervisor or above: dora acts up to dealer",
    ("Sue", "Kim"): "needs the consent of a pit supervisor or above: Sue acts up to surveillance",
}


async def test_who_asks_who_is_unknown_and_who_is_too_low_do_not_consent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_users(monkeypatch, USERS)
    tried = [revision(second, person=person, refused=True) for second, person in REFUSED]
    told = await errors(tmp_path, *tried)
    assert len(told) == len(REFUSED)
    for said, wanted in zip(told, REFUSED.values(), strict=True):
        assert said.endswith(wanted), (said, wanted)


@pytest.mark.parametrize("second", ["LEE ANN", str(LEE), "pat", "\uff30at"])
async def test_another_user_consents_by_any_of_its_names_and_in_any_of_its_positions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, second: str
) -> None:
    with_users(monkeypatch, USERS)
    _, restricted, stuck = await play_through_daemon(
        scenario(revision(second, refused=False)), tmp_path
    )
    assert stuck is None
    (revised,) = [told.data for told in restricted if told.type == "round.revised"]
    assert (revised["person"], revised["consented_by"]) == ("Kim", second)


async def test_where_there_is_one_user_the_refusal_says_what_to_configure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_users(monkeypatch, USERS[:1])
    (said,) = await errors(tmp_path, revision("lee", refused=True))
    add = f"add a [[socket.user]] for the second person: {os.getuid()} is the only one"
    assert said.endswith(f"lee is no configured user; {add}")
