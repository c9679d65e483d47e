"""Names of people are replaced, each by the same one throughout."""

from __future__ import annotations

from simulators.recorder.names import STRANGER, Names


def test_each_person_has_one_other_name() -> None:
    names = Names()
    seconds = [names.second_person(name) for name in ("Ines", "Kim", "Ines", "Bo")]
    assert seconds == ["Ann", "lee", "Ann", "person 3"]
    assert names.second_person("Zoe", is_known=False) == STRANGER
    args = {"player": "Mr Li", "seat": 3, "wager": "tie"}
    assert names.in_arguments(args) == {"player": "player 1", "seat": 3, "wager": "tie"}
    assert names.in_arguments({"player": "Ms Wu"})["player"] == "player 2"
    assert names.in_arguments({"player": "Mr Li"})["player"] == "player 1"


def test_names_are_kept_where_that_is_asked_for() -> None:
    names = Names(keep=True)
    assert names.second_person("Ines") == "Ines"
    assert names.in_arguments({"player": "Mr Li"}) == {"player": "Mr Li"}
