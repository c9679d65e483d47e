"""Single faults for `make mutants`: what each operator changes in a small source."""

from __future__ import annotations

import pytest

from tools.faults import Fault, find_faults

RULES = '''\
"""The rules of a small game."""

NAMES: Mapping[str, int] = {"player": 1}

def draws(total: int, seen: bool) -> bool:
    """Return True on 5 or less."""
    assert total >= 0
    if not seen:
        return False
    log.info("total %d", total)
    return total <= 5 and seen

def settle(table: Table) -> str | None:
    table.open = False
    for wager in table.wagers:
        wager.pay(table.stake + 1)
    return table.winner
'''

TABLE = """\
SHOE = {
    "tamper": {
        "closed, cards": halts(emit_fault, "tampered", rule=UNRULED, why="A card is due."),
        "otherwise": does(emit_fault, note, why="It is only told."),
    },
    "status": {
        "resolved": does(why="Nothing."),
        "otherwise": does(note, why="It is noted."),
    },
}
ROUND = {
    "idle": {
        "settle": goes("betting", end_round, why="It is over.", rule="3.1"),
        "first_wager": goes("closed", open_round, why="It begins.", rule="3.2"),
    },
}
VOID = Choice("void", "pit_manager", "void", (call_void, pay), check_cards, in_round=True)
ENDS = (End("void", "void", ("other", "void")), End("kept", "kept", ("overdraw", "kept")))
"""

GAME = """\
id = "small"
decks = { min = 4, max = 10 }

[wagers.tie]
title = "Tie 1:1"
rule = "1.1.12"
lines = [
    { when = { winner = "tie", total = 6 }, pays = "8:1", rule = "4.1" },
    { when = { winner = "player" }, result = "push", rule = "4.1" },
]

[[readings]]
about = "pairs"
rule = "1.1.14"
text = \"\"\"
Two of 4 decks.\"\"\"
"""

CODEC = """\
/* Adds 1 to the size. */
static int unpack(const uint8_t *line, size_t size)
{
    if (size > 4 && line[0] == 7) {
        memcpy(at, line, size - 1);
    }
    return 0;
}
"""


def changes(file: str, source: str) -> set[tuple[str, str, str]]:
    """The operator, the changed lines and what they become."""
    return {_change(fault, source.encode()) for fault in find_faults(file, source.encode())}


def _change(fault: Fault, source: bytes) -> tuple[str, str, str]:
    lines = fault.diff(source)
    lost = [line[1:].strip() for line in lines if line.startswith("-")]
    came = [line[1:].strip() for line in lines if line.startswith("+")]
    return fault.operator, " ".join(lost), " ".join(came)


def test_in_functions_conditions_bounds_statements_and_results_change() -> None:
    total = "return total <= 5 and seen"
    pay = "wager.pay(table.stake + 1)"
    assert changes("rules.py", RULES) == {
        ("bound by one", 'NAMES: Mapping[str, int] = {"player": 1}',
         'NAMES: Mapping[str, int] = {"player": 2}'),
        ("bound by one", 'NAMES: Mapping[str, int] = {"player": 1}',
         'NAMES: Mapping[str, int] = {"player": 0}'),
        ("condition negated", "if not seen:", "if  seen:"),
        ("question left out", "if not seen: return False", "pass"),
        ("boolean", "return False", "return True"),
        ("comparison", total, "return total < 5 and seen"),
        ("bound by one", total, "return total <= 6 and seen"),
        ("bound by one", total, "return total <= 4 and seen"),
        ("boolean", total, "return total <= 5 or seen"),
        ("condition negated", total, "return not (total <= 5 and seen)"),
        ("boolean", "table.open = False", "table.open = True"),
        ("statement dropped", "table.open = False", "pass"),
        ("statement dropped", pay, "pass"),
        ("arithmetic", pay, "wager.pay(table.stake - 1)"),
        ("bound by one", pay, "wager.pay(table.stake + 2)"),
        ("bound by one", pay, "wager.pay(table.stake + 0)"),
        ("result dropped", "return table.winner", "return None"),
    }  # fmt: skip


TAMPER = '"closed, cards": halts(emit_fault, "tampered", rule=UNRULED, why="A card is due."),'
REST = '"otherwise": does(emit_fault, note, why="It is only told."),'
SETTLE = '"settle": goes("betting", end_round, why="It is over.", rule="3.1"),'
CHOICE = (
    'VOID = Choice("void", "pit_manager", "void", (call_void, pay), check_cards, in_round=True)'
)
KEPT = 'ENDS = (End("void", "void", ("other", "void")), End("kept", "kept", ("overdraw", "kept")))'


@pytest.mark.parametrize(
    "change",
    [
        ("cell moved", TAMPER, TAMPER.replace("closed, cards", "cards")),
        ("cell moved", TAMPER, TAMPER.replace("closed, cards", "closed, cards, resolved")),
        ("cell moved", TAMPER, TAMPER.replace("closed, cards", "cards, resolved")),
        ("cell replaced", REST, '"otherwise": ' + TAMPER.partition(": ")[2]),
        ("action dropped", REST, REST.replace("emit_fault, note", "note")),
        ("action dropped", TAMPER, TAMPER.replace(', "tampered"', "")),
        ("order", REST, REST.replace("emit_fault, note", "note, emit_fault")),
        ("cell dropped", SETTLE, ""),
        ("target", SETTLE, SETTLE.replace('"betting"', '"closed"')),
        ("rule", SETTLE, SETTLE.replace('"3.1"', '"3.2"')),
        ("position", CHOICE, CHOICE.replace("pit_manager", "pit_supervisor")),
        ("position", CHOICE, CHOICE.replace("pit_manager", "assistant_casino_manager")),
        ("target", CHOICE, CHOICE.replace('"void", (', '"kept", (')),
        ("order", CHOICE, CHOICE.replace("call_void, pay", "pay, call_void")),
        ("element dropped", CHOICE, CHOICE.replace("(call_void, pay)", "(pay,)")),
        ("condition or option dropped", CHOICE, CHOICE.replace(", in_round=True", "")),
        ("boolean", CHOICE, CHOICE.replace("True", "False")),
        ("rule", KEPT, KEPT.replace('("overdraw", "kept")', '("other", "void")')),
    ],
)
def test_a_table_changes_cell_by_cell(change: tuple[str, str, str]) -> None:
    assert change in changes("table.py", TABLE)


def test_no_fault_is_planted_in_words_for_people() -> None:
    words = ("A card is due", "It is only told", "Tie 1:1", "Two of", "Adds 1")
    for file, source in (("table.py", TABLE), ("small.toml", GAME), ("codec.c", CODEC)):
        for fault in find_faults(file, source.encode()):
            kept = fault.planted(source.encode()).decode()
            cell_went = fault.operator in ("cell dropped", "cell replaced")
            assert cell_went or all(word in kept for word in words if word in source)


def test_a_game_changes_in_odds_order_conditions_rules_and_bounds() -> None:
    first = '{ when = { winner = "tie", total = 6 }, pays = "8:1", rule = "4.1" },'
    second = '{ when = { winner = "player" }, result = "push", rule = "4.1" },'
    found = changes("small.toml", GAME)
    assert {
        ("odds", first, first.replace("8:1", "9:1")),
        ("odds", first, first.replace("8:1", "7:1")),
        ("order", second, second),
        ("pay line dropped", second, ""),
        ("condition or option dropped", first, first.replace(', total = 6', "")),
        ("condition or option dropped", first, first.replace('winner = "tie", ', "")),
        ("value", first, first.replace('"tie"', '"player"')),
        ("bound by one", first, first.replace("6", "7")),
        ("rule", second, second.replace("4.1", "1.1.12")),
        ("bound by one", "decks = { min = 4, max = 10 }", "decks = { min = 4, max = 11 }"),
    } <= found  # fmt: skip
    assert not [each for each in found if "readings" in each[1] or "1.1.14" in each[1]]


def test_c_changes_in_conditions_bounds_and_statements() -> None:
    test, copy = "if (size > 4 && line[0] == 7) {", "memcpy(at, line, size - 1);"
    assert changes("codec.c", CODEC) == {
        ("comparison", test, test.replace(">", ">=")),
        ("comparison", test, test.replace("==", "!=")),
        ("boolean", test, test.replace("&&", "||")),
        ("bound by one", test, test.replace("4", "5")),
        ("bound by one", test, test.replace("4", "3")),
        ("bound by one", test, test.replace("7", "8")),
        ("bound by one", test, test.replace("7", "6")),
        ("bound by one", test, test.replace("[0]", "[1]")),
        ("statement dropped", copy, ";"),
        ("arithmetic", copy, copy.replace("-", "+")),
        ("bound by one", copy, copy.replace("1", "2")),
        ("bound by one", copy, copy.replace("1", "0")),
        ("bound by one", "return 0;", "return 1;"),
    }


def test_a_fault_keeps_its_name_when_lines_come_before_it() -> None:
    moved = RULES.replace("NAMES", "MORE = 2\n\n\nNAMES")
    keys = {fault.key(RULES.encode()) for fault in find_faults("rules.py", RULES.encode())}
    assert keys < {fault.key(moved.encode()) for fault in find_faults("rules.py", moved.encode())}


def test_what_is_no_source_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"rules\.json: faults are known for"):
        find_faults("rules.json", b"{}")
