"""Whatever a scenario tells people can be written in every language."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
import pytest

from shoe_ctl.texts.catalogue import LANGUAGES, language, text
from shoe_ctl.texts.message import is_message, message
from shoe_testing.bench import played_once
from simulators.table.scenario import shipped


def messages(value: Any) -> Iterator[Mapping[str, Any]]:
    """All messages in plain values, those among the arguments of others too."""
    if is_message(value):
        yield value
    if isinstance(value, Mapping):
        value = value.values()
    elif not isinstance(value, list | tuple):
        return
    for one in value:
        yield from messages(one)


def test_messages_are_found_among_the_arguments_of_others_too() -> None:
    given = message("done_bets_closed")
    said = message("done", happened=[given], next=message("next_settle"))
    codes = [one["code"] for one in messages([{"data": {"seen": said.as_data()}}])]
    assert codes == ["done", "done_bets_closed", "next_settle"]


@pytest.mark.parametrize("name", shipped())
async def test_every_message_of_a_scenario_is_written_in_every_language(name: str) -> None:
    bench = (await played_once(name)).bench
    told = msgspec.to_builtins([*bench.effects])
    found = list(messages(told))
    for to in LANGUAGES:
        for said in found:
            assert said["code"] in language(to).TEXTS
            written = text(said, to)
            for odd in ("{", "}", "?)", "None", "\n"):
                assert odd not in written, (said, written)
