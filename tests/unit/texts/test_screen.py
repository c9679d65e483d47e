"""What screens say besides messages: phrases and names of codes, in every language."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import shoe_ctl
from shoe_ctl.cli import table_pages
from shoe_ctl.games import catalog
from shoe_ctl.games.irregularity_ends import ENDS
from shoe_ctl.table import positions
from shoe_ctl.table.arguments import list_arguments
from shoe_ctl.table.commands import COMMANDS
from shoe_ctl.table.irregularities.catalog import PROCEDURES
from shoe_ctl.table.situations import STATES
from shoe_ctl.table.wagers.declared import RECORDED, DeclaredWager
from shoe_ctl.texts import screen_chinese, screen_english
from shoe_ctl.texts.catalogue import LANGUAGES, fields, language, name_of, text, with_texts
from shoe_ctl.texts.message import message
from shoe_ctl.texts.screen import Words, language_of

PACKAGE = Path(shoe_ctl.__file__).parent
OTHER_ENDS = {"late", "refused", "settled_as_placed", "taken_back", "void"}
"""Ends of what halts nothing, of a card that is taken back, and of what a void round closes."""

PHRASES = {"en": screen_english.PHRASES, "zh": screen_chinese.PHRASES}


def phrases_said() -> Iterator[tuple[str, set[str], str]]:
    """Every ``words("phrase", argument=...)`` of the package, and where it stands."""
    for path in sorted([*PACKAGE.glob("cli/*.py"), *PACKAGE.glob("round_report/*.py")]):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            called = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if called not in ("words", "_words") or not node.args:
                continue
            (phrase,) = node.args
            where = f"{path.relative_to(PACKAGE.parent)}:{node.lineno}"
            assert isinstance(phrase, ast.Constant), where
            names = {str(keyword.arg) for keyword in node.keywords}
            yield str(phrase.value), names - {"None"}, where


def test_every_phrase_that_is_said_is_in_every_language_with_its_arguments() -> None:
    said = [*phrases_said()]
    assert len(said) > 60
    for name, phrases in PHRASES.items():
        assert {phrase for phrase, _, _ in said} == phrases.keys(), name
        for phrase, args, where in said:
            assert fields(phrases[phrase]) <= args | {"type", "last"}, (name, where)


def test_the_languages_have_their_phrases_in_one_order() -> None:
    assert [*screen_english.PHRASES] == [*screen_chinese.PHRASES]


def test_every_argument_of_a_phrase_is_said_in_both_languages() -> None:
    glosses = {"choice_with": {"choice", "meanings"}, "choice": {"choice"}}
    for phrase, english in screen_english.PHRASES.items():
        chinese = fields(screen_chinese.PHRASES[phrase])
        assert fields(english) == chinese - glosses.get(phrase, set()), phrase


def codes() -> dict[str, set[str]]:
    """Every code that a status or an event can show, by its kind."""
    games = [catalog.load(game) for game in catalog.shipped()]
    choices = [c for p in PROCEDURES.values() for step in p.steps for c in step.choices]
    kinds: list[type] = [c.arguments for c in choices]
    kinds += [command.args for command in COMMANDS.values()]
    kinds += [p.declared.takes for p in PROCEDURES.values() if p.declared is not None]
    kinds += [DeclaredWager]
    requests = {*table_pages.REQUESTS, *table_pages.ABOUT_THE_JOURNAL}
    return {
        "state": {*STATES},
        "position": {*positions.POSITIONS},
        "command": {*COMMANDS} | requests,
        "choice": {choice.name for choice in choices},
        "argument": {one.name for kind in kinds for one in list_arguments(kind)},
        "game": {game.id for game in games},
        "wager": {wager for game in games for wager in game.wagers},
        "key": {*ENDS, *PROCEDURES, *RECORDED, *(x for game in games for x in game.irregularities)},
        "end": {end for ends in ENDS.values() for end in ends},
        "how": {end.how for p in PROCEDURES.values() for end in p.ends} | OTHER_ENDS,
        "link": {"lost", "unidentified", "refused", "suspended"},
        "scope": {"any", "all", "remaining"},
        "result": {"win", "lose", "push", "returned"},
        "hand": {"player", "banker"},
    }  # fmt: skip


@pytest.mark.parametrize("kind", codes())
def test_every_code_that_a_screen_can_show_has_a_name_in_every_language(kind: str) -> None:
    found = codes()[kind]
    assert found
    nameless = {code for code in found if not re.search("[一-鿿]", name_of(kind, code, "zh"))}
    assert nameless == set()
    for code in found:
        assert re.fullmatch(r"[A-Za-z0-9 :,']+", name_of(kind, code, "en")), code


def test_every_label_of_the_screen_has_a_chinese_name_that_fits() -> None:
    source = (PACKAGE / "cli" / "table_view.py").read_text("utf-8")
    labels = {*re.findall(r'yield "(\w+)",', source), *re.findall(r'yield \(\s+"(\w+)",', source)}
    names = language("zh").WORDS["label"]
    assert len(labels) > 15 and labels | {"decrease", "increase", "player", "banker"} <= {*names}
    assert all(len(name) <= 5 for name in names.values())


def test_codes_of_a_screen_are_not_named_by_what_is_hashed() -> None:
    for game in catalog.shipped():
        assert not re.search("[一-鿿]", catalog.source(game).decode())


# Which language.


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, "en"),
        ({"LANG": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "zh-Hans"}, "zh"),
        ({"LANG": "zh"}, "zh"),
        ({"LANG": "pt_PT.UTF-8"}, "en"),
        ({"LANG": "C.UTF-8"}, "en"),
        ({"LANG": "en_US.UTF-8", "LC_MESSAGES": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "zh_CN.UTF-8", "LC_MESSAGES": "zh_CN.UTF-8", "LC_ALL": "C"}, "en"),
        ({"LANG": "zh_CN.UTF-8", "LC_MESSAGES": "", "LC_ALL": ""}, "zh"),
    ],
)
def test_the_environment_names_the_language_as_for_other_programs(
    environment: dict[str, str], expected: str
) -> None:
    assert language_of(environment) == expected


# Texts that are there already.


def test_a_message_that_carries_a_text_is_translated() -> None:
    said = with_texts({"next": message("next_settle").as_data()})
    assert said["next"]["text"] == "pay and collect, then settle"
    assert with_texts(said, "zh")["next"]["text"] == "收注、赔付，然后结算"
    assert with_texts(with_texts(said, "zh")) == said


def test_a_text_of_a_code_that_is_not_known_stays() -> None:
    said = {"code": "seen_aurora", "args": {}, "text": "an aurora"}
    assert with_texts(said, "zh") == said


def test_a_word_that_is_typed_stays_and_its_name_stands_beside_it() -> None:
    said = message("refused_no_such_key", keys=["missed_draw", "other"])
    assert text(said) == "the key is one of missed_draw, other"
    assert text(said, "zh") == "可申报的是 missed_draw（漏抽牌）、other（其他）"


def test_a_wager_of_a_game_that_we_do_not_know_is_shown_as_it_is() -> None:
    words = Words("zh")
    assert words("stake", wager="lucky_nine", amount=500) == "lucky_nine 500"
    assert words("stake", wager="tie", amount=500) == "和 500"


def test_every_language_has_phrases() -> None:
    assert PHRASES.keys() == LANGUAGES.keys()


# The report of a round.


def sentences_said() -> Iterator[str]:
    """Every sentence of a report: what is handed to ``sentence``, and what stands in a table."""
    for name in ("wording", "summary", "render"):
        module = ast.parse((PACKAGE / "round_report" / f"{name}.py").read_text("utf-8"))
        for node in ast.walk(module):
            if isinstance(node, ast.Call) and node.args:
                called = getattr(node.func, "attr", getattr(node.func, "id", ""))
                if called in ("sentence", "_sentence", "_setting", "_paused"):
                    yield from strings(node.args[0])


def strings(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Constant):
        yield str(node.value)
    elif isinstance(node, ast.IfExp):
        yield from strings(node.body)
        yield from strings(node.orelse)


def test_every_sentence_of_a_report_is_in_chinese_with_its_arguments() -> None:
    said = {*sentences_said()}
    chinese = screen_chinese.SENTENCES
    assert len(said) > 150 and {one for one in said if one not in chinese} == set()
    slots = re.compile(r"\{(\w+)")
    for english, translated in chinese.items():
        assert {*slots.findall(english)} == {*slots.findall(translated)}, english
