"""Names that are one person's, and who is high enough to consent."""

from __future__ import annotations

import pytest

from shoe_ctl.table import positions
from shoe_ctl.table.consent import is_another_person, lowest_consenting, normalize_name
from shoe_ctl.table.inputs import SecondPerson, TableCommand
from shoe_ctl.texts.message import message

ONE = [
    ("Ann", "ann"), ("Ann", " ANN "), ("Ann Lee", "ann\u00a0 \tlee"), ("Ann", "\uff21nn"),
    ("Stra\u00dfe", "STRASSE"), ("Ren\u00e9", "Rene\u0301"), ("Ann", "A\u200bnn\ufeff"),
    ("\u0130nes", "i\u0307nes"), ("\ufb01n", "FIN"), ("\u9673\u5927\u6587", " \u9673\u5927\u6587"),
]  # fmt: skip
TWO = [("Ann", "Anna"), ("Ann Lee", "AnnLee"), ("Ren\u00e9", "Rene"), ("Ann", "Lee")]


@pytest.mark.parametrize(("one", "other"), ONE)
def test_one_name_in_other_letters_is_no_second_person(one: str, other: str) -> None:
    assert normalize_name(one) == normalize_name(other)
    assert not is_another_person(one, other) and not is_another_person(other, one)


@pytest.mark.parametrize(("one", "other"), TWO)
def test_another_name_is(one: str, other: str) -> None:
    assert is_another_person(one, other) and is_another_person(other, one)


@pytest.mark.parametrize("nobody", [None, "", " ", "\u200b"])
def test_nobody_is_no_second_person(nobody: str | None) -> None:
    assert not is_another_person("Ann", nobody)


def test_a_dealer_consents_to_what_is_the_dealers_and_a_pit_supervisor_to_all_else() -> None:
    lowest = {position: lowest_consenting(position) for position in positions.POSITIONS}
    assert lowest.pop("dealer") == "dealer"
    assert set(lowest.values()) == {"pit_supervisor"}


def test_what_was_found_of_the_second_person_is_stored_and_read_again() -> None:
    from shoe_ctl.table.inputs import from_bytes, to_bytes

    for found in (
        None,
        SecondPerson(positions=("dealer",)),
        SecondPerson(why_not=message("refused_second_person_asks", name="Zoe")),
    ):
        command = TableCommand(t_us=1, command_id="c", command="x", second_person=found)
        assert from_bytes(to_bytes(command)) == command
