"""``shoectl explain``: the line of a message, its reason, its rule, a scenario that shows it."""

from __future__ import annotations

import json
from functools import partial

import pytest

from shoe_ctl.cli.common import COLUMNS
from shoe_ctl.cli.explain import explain
from shoe_ctl.errors import UsageError
from shoe_testing.cli import invoke
from simulators.table.scenario import find

explained = partial(invoke, explain)


def test_the_line_of_a_state_is_shown_with_its_reason_its_rule_and_a_scenario() -> None:
    done = explained("restarted.power", "--state", "closed")
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "restarted.power",
        "  in        closed: bets are closed, no card is out",
        "  line      halts: start.announce_start, link.note_restart, halt host_power_lost",
        "  why       The host lost its power between no more bets and the outcome. The",
        "            rule holds whatever else is open.",
        "  rule      I 5.15, N/T/F 5.17",
        "  scenario  host_reboot_before_the_first_card: The host loses power after no",
        "            more bets, with no card out: each Player may withdraw all",
    ]


@pytest.mark.parametrize(
    ("message", "state", "halts"),
    [
        ("error", "dealing", True),
        ("error", "cards", True),
        ("error", "closed", True),
        ("error", "halted_cards", False),
        ("gap", "suspended", True),
        ("gap", "no_shoe", False),
        ("card_outside_game", "resolved", True),
        ("card_outside_game", "idle", False),
        ("pull", "drawing", True),
    ],
)
def test_a_state_and_a_situation_choose_the_same_lines(
    message: str, state: str, halts: bool
) -> None:
    found = json.loads(explained(message, "--state", state, "--json").stdout)
    assert [line["halts"] for line in found["lines"] if line["message"] == message] == [halts]


def test_a_message_that_is_one_thing_or_another_is_explained_case_by_case() -> None:
    found = json.loads(explained("set_shown", "--state", "idle", "--json").stdout)
    assert [(line["message"], line["to"]) for line in found["lines"]] == [
        ("set.taken_out", "no_shoe"),
        ("set.refused", "no_shoe"),
        ("set.admitted", "idle"),
        ("set.unlike", "suspended"),
    ]


def test_json_has_all_that_the_text_has() -> None:
    found = json.loads(explained("cutting_card.first", "--json").stdout)
    assert found["message"] == "cutting_card.first"
    (line,) = found["lines"]
    assert line["scenario"]["title"] == find(line["scenario"]["name"]).title
    assert line == line | {
        "message": "cutting_card.first",
        "places": ["anywhere"],
        "halts": True,
        "to": "suspended",
        "do": ["cutting_card.offer_withdrawal", "cutting_card.note_declared"],
        "rule": "I 3.16.1, N/F 3.17.1, T 3.22.1",
    }


def test_a_line_of_the_round_that_the_cards_decide_says_so() -> None:
    shown = explained("cards_placed", "--state", "closed").stdout
    assert "goes to the state that the cards stand for: nothing else" in shown


def test_everything_that_can_be_explained_fits_a_narrow_terminal() -> None:
    for message in ("card_drawn", "hello", "error", "halt_ended", "link_lost", "card_unread"):
        assert max(map(len, explained(message).stdout.splitlines())) <= COLUMNS


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["link_lots"], "no message 'link_lots'; did you mean link_lost?"),
        (["x" * 1000], f"no message '{'x' * 64}'; such as: link_lost, card_drawn, error"),
        (["expose"], "expose moves no round, see: shoectl table expose --help"),
        (
            ["gap", "--state", "delaing"],
            "no state or situation 'delaing'; did you mean dealing?",
        ),
        (
            ["card.fourth", "--state", "idle"],
            "card.fourth does not come up in idle, only in: dealing",
        ),
    ],
)
def test_a_wrong_name_is_one_line_that_says_what_was_likely_meant(
    words: list[str], said: str
) -> None:
    done = explained(*words)
    assert isinstance(done.exception, UsageError)
    assert str(done.exception) == said
