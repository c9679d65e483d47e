"""Who acts: a user who vouches for logins, the persons who log in there, and everybody else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from shoe_ctl.api.requests import Caller, Command, Login
from shoe_ctl.daemon.principals import People, may_not_act
from shoe_ctl.daemon.refusal_budget import RECORDED
from shoe_ctl.records import Audience
from shoe_ctl.table import inputs
from shoe_ctl.table.positions import LADDER, POSITIONS
from shoe_testing.refusals import AtATable, at_a_table, stored

WEB = Caller(
    user="shoe-web", position="pit_manager", sees=Audience.PUBLIC, names=("shoe-web",), vouches=True
)
KIM = Caller(user="kim", position="gaming_shift_manager", sees=Audience.PUBLIC, names=("Kim",))
LEE = Caller(user="lee", position="pit_supervisor", sees=Audience.PUBLIC, names=("Lee",))


def asked(**more: Any) -> Command:
    given = {"command_id": "1", "table": "bac-07", "command": "settle", "person": "Ann", **more}
    return Command(**{"position": "dealer", **given})


def login(person: str = "Ann", **more: Any) -> Login:
    return Login(person=person, by="pin", **more)


def why_not(caller: Caller, command: Command) -> str | None:
    why = may_not_act(caller, command, None)
    return None if why is None else why.code


def test_a_user_who_vouches_says_who_logged_in_and_the_input_keeps_it() -> None:
    command = asked(login=login(session="s-1"), consented_by="Bo", consent_login=login("Bo"))
    assert why_not(WEB, command) is None
    taken = People([WEB, KIM]).as_input(WEB, command)
    assert taken.login == inputs.Login(person="Ann", by="pin", session="s-1")
    assert taken.consent_login == inputs.Login(person="Bo", by="pin", session=None)
    assert inputs.from_bytes(inputs.to_bytes(taken)) == taken


def test_without_logins_a_command_is_stored_as_it_always_was() -> None:
    taken = People([KIM]).as_input(KIM, asked(person="Kim"))
    assert b"login" not in inputs.to_bytes(taken)


@pytest.mark.parametrize(
    ("caller", "command", "why"),
    [
        (WEB, asked(), "daemon_login_missing"),
        (WEB, asked(login=login("Bo")), "daemon_login_of_another_person"),
        (KIM, asked(login=login()), "daemon_does_not_vouch"),
        (KIM, asked(consent_login=login("Bo")), "daemon_does_not_vouch"),
    ],
)
def test_a_login_that_cannot_be_is_refused(caller: Caller, command: Command, why: str) -> None:
    assert why_not(caller, command) == why


def test_one_who_vouches_has_a_highest_position_and_so_has_who_logged_in() -> None:
    for needed in LADDER:
        for own in LADDER:
            command = asked(position=needed, login=login(positions=[own]))
            may = LADDER.index(needed) <= min(LADDER.index(own), LADDER.index("pit_manager"))
            assert (why_not(WEB, command) is None) is may, (needed, own)
        command = asked(position=needed, login=login())
        assert (why_not(WEB, command) is None) is (needed != "gaming_shift_manager")


def test_the_second_person_needs_a_login_and_no_configured_user() -> None:
    people = People([WEB, LEE])

    def second(**more: Any) -> inputs.SecondPerson:
        found = people.as_input(WEB, asked(login=login(), consented_by="Bo", **more)).second_person
        assert found is not None
        return found

    assert second(consent_login=login("bo ", positions=["pit_supervisor"])).positions == (
        "pit_supervisor",
    )
    assert second(consent_login=login("Bo", positions=[*POSITIONS])).positions == LADDER[:3]
    for more in ({}, {"consent_login": login("Cy")}):
        refused = second(**more).why_not
        assert refused is not None and refused.code == "refused_second_person_not_logged_in"
    # Lee is a configured user, and did not log in there
    named = people.as_input(WEB, asked(login=login(), consented_by="Lee")).second_person
    assert named is not None and named.why_not is not None


def test_one_who_vouches_is_nobodys_second_person() -> None:
    people = People([WEB, KIM, LEE])
    assert people.others(KIM) == ["Lee"]
    found = people.as_input(KIM, asked(person="Kim", consented_by="shoe-web")).second_person
    assert found is not None and found.why_not is not None


async def test_one_clumsy_person_spends_the_budget_of_nobody_else(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    async with at_a_table(path) as table:
        for n in range(RECORDED + 5):
            assert not (await gives(table, "Ann", f"a-{n}"))["accepted"]
        assert len(stored(path, "command.refused")) == RECORDED
        assert not (await gives(table, "Bo", "b"))["accepted"]
        assert len(stored(path, "command.refused")) == RECORDED + 1
    (counted,) = stored(path, "command.unrecorded")
    assert (counted["user"], counted["of_person"], counted["count"]) == ("shoe-web", "Ann", 5)


async def test_an_id_of_one_person_is_refused_to_another_at_the_same_user(tmp_path: Path) -> None:
    async with at_a_table(tmp_path / "journal.db") as table:
        first = await gives(table, "Ann", "a")
        assert await gives(table, "Ann", "a") == first
        other = await gives(table, "Bo", "a")
        assert other["error"]["code"] == "refused_id_of_another_user"


async def gives(table: AtATable, person: str, command_id: str) -> dict[str, Any]:
    command = asked(person=person, command_id=command_id, login=login(person))
    answer = await table.requests.answer(WEB, command)
    return dict(msgspec.to_builtins(answer))
