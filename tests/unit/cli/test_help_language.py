"""Help pages and wrong usage in the reader's language, of the commands that staff use."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import shoe_ctl
from shoe_ctl.cli.main import shoectl
from shoe_ctl.cli.table_pages import PAGES
from shoe_ctl.terminal_text import cell_width
from shoe_ctl.texts.help_chinese import HELP
from shoe_testing.cli import invoke

STAFF = [
    *((), ("floor",), ("rounds",), ("demo",), ("table",)),
    *(("table", command) for command in PAGES),
]
ENGLISH = re.compile(r"[a-z]+ [a-z]+ [a-z]+")
TYPED = re.compile(r'shoectl( [a-z_]+)*|\S*[|=]\S*|"[^"]*"')
SLOTS = re.compile(r"\{(\w+)")


@pytest.fixture(autouse=True)
def in_english(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Each test begins and ends without a language in the environment."""
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
    yield
    invoke(shoectl, "--help")


def page(*words: str) -> list[str]:
    shown = invoke(shoectl, *words, "--help")
    assert shown.exit_code == 0
    return shown.output.splitlines()


@pytest.mark.parametrize("words", STAFF, ids=" ".join)
def test_a_page_has_no_english_but_what_is_typed(
    words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LANG", "zh_CN.UTF-8")
    lines = page(*words)
    english = [one for one in lines if ENGLISH.search(TYPED.sub("", one))]
    assert english == []
    assert [one for one in lines if cell_width(one) > 80] == []
    assert lines[0].startswith("用法：")


@pytest.mark.parametrize("words", STAFF[1:6], ids=" ".join)
def test_the_chinese_page_has_the_options_of_the_english_one(words: tuple[str, ...]) -> None:
    def options(lines: list[str], title: str) -> list[str]:
        listed = lines[lines.index(title) :]
        return re.findall(r"^  (?:-\w, )?(--[\w-]+)", "\n".join(listed), re.MULTILINE)

    english = options(page(*words), "Options:")
    assert "--language" in english
    assert options(page(*words, "--language", "zh"), "选项：") == english


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["table", "expse"], "没有命令 'expse'。是不是 'expose'？"),
        (["table", "play_on"], "没有命令 'play_on'。这是一个选择"),
        (["table", "decide"], "缺少 choice=..."),
        (["table", "expose", "--hand", "plaer"], "是不是 'player'？"),
        (["table", "expose", "hand"], "应写成 NAME=VALUE，而不是 'hand'"),
        (["table", "status", "--lang"], "没有选项 '--lang'"),
        (["demo", "--rounds", "x"], "'x' 不是有效的数字"),
        (["demo", "--rounds", "0"], "0 不在范围 1<=x<=1000000 内"),
        (["floor"], "请加 --config FILE 或 --address ADDRESS"),
        (["rounds"], "缺少参数 'JOURNAL'"),
        (["tabel"], "没有命令 'tabel'"),
    ],
)
def test_wrong_usage_is_told_in_the_reader_s_language(
    words: list[str], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    assert said in told(*words)
    monkeypatch.setenv("LC_ALL", "C")
    english = told(*words)
    assert english.isascii()


def told(*words: str) -> str:
    """What is said of these words."""
    shown = invoke(shoectl, *words)
    return f"{shown.output}{shown.exception}"


def english_texts() -> Iterator[str]:
    """Every text in the command line's modules and in click's, by paragraphs."""
    assert click.__file__ is not None
    modules = [*(Path(shoe_ctl.__file__).parent / "cli").glob("*.py")]
    modules += Path(click.__file__).parent.glob("*.py")
    for module in modules:
        for node in ast.walk(ast.parse(module.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value
                for paragraph in node.value.split("\n\n"):
                    yield " ".join(paragraph.split())
                yield from (line.strip() for line in node.value.splitlines())


def test_no_text_is_translated_that_is_never_said() -> None:
    texts = {*english_texts(), "The shoe's protocol: reference, angel_eye, bee_tek."}
    assert {english for english in HELP if english not in texts} == set()


def test_a_translation_has_no_arguments_that_its_text_has_not() -> None:
    for english, chinese in HELP.items():
        assert {*SLOTS.findall(chinese)} <= {*SLOTS.findall(english)}, english
