"""The staff pages: every irregularity and every choice, in both languages, each on one sheet.

In: docs/staff/, the procedures, the catalogues. Out: what the pages lack, say otherwise, or say in
one language alone.
"""

from __future__ import annotations

import os
import re
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest

from shoe_ctl.cli.table_pages import ABOUT_THE_JOURNAL, REQUESTS
from shoe_ctl.cli.table_view import lines
from shoe_ctl.games.irregularity_ends import ENDS
from shoe_ctl.table.commands import COMMANDS
from shoe_ctl.table.irregularities.catalog import PROCEDURES
from shoe_ctl.table.positions import POSITIONS
from shoe_ctl.table.procedures.procedure import DECIDES, Choice, Procedure
from shoe_ctl.table.status import status
from shoe_ctl.table.wagers.declared import RECORDED, DeclaredWager
from shoe_ctl.texts import screen_chinese
from shoe_ctl.texts.catalogue import language
from shoe_ctl.texts.screen import Words as ScreenWords
from shoe_testing.for_each import for_each
from shoe_testing.paths import ROOT
from shoe_testing.tables import TableHarness
from tools import staff_pages as sheets

LANGUAGES = tuple(sheets.LANGUAGES)
SITUATIONS = [path.stem for path in sheets.situations("en")]
CARDS = [path.stem for path in sheets.cards("en")]
KEYS = {*ENDS, *PROCEDURES, *RECORDED}


class Words(NamedTuple):
    """What the pages of a language call their parts."""

    keys: str
    shown: str
    sections: tuple[str, ...]
    chart: str
    seen: str
    every: str
    reason: str
    consent: str
    between: str


WORDS: Mapping[str, Words] = {
    "en": Words(
        "Key", ", shown as", ("What you see", "What you do", "Who decides", "The rule"),
        "Which way", "*seen*", "every step", "reason", "second person", ", ",
    ),
    "zh": Words(
        "代号", "，显示为", ("看到什么", "怎么做", "由谁决定", "规则"),
        "流程", "*所见*", "每一步", "理由", "第二人", "、",
    ),
}  # fmt: skip


def source(name: str, page: str) -> str:
    return (sheets.STAFF / name / f"{page}.md").read_text("utf-8")


def keys_of(name: str, page: str) -> list[str]:
    """The irregularities that this page is the page of."""
    words = WORDS[name]
    line = re.search(rf"^{words.keys}s?[:：] ?(.+)$", source(name, page), re.MULTILINE)
    return [] if line is None else re.findall(r"`(\w+)`", line[1].split(words.shown)[0])


def sections(text: str) -> dict[str, str]:
    """Heading → what stands under it; the part before the first one is under the empty heading."""
    parts = re.split(r"^##+ (.+)$", text, flags=re.MULTILINE)
    return {"": parts[0]} | dict(zip(parts[1::2], parts[2::2], strict=True))


def rows(text: str) -> list[list[str]]:
    """The rows of all tables, without their heads."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    found = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    heads = {at for at, row in enumerate(found[1:]) if set("".join(row)) <= {"-"}}
    return [row for at, row in enumerate(found) if at not in heads and at - 1 not in heads]


def codes(text: str) -> list[str]:
    """What stands in the text as it is typed."""
    return re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL))


def charts(text: str) -> list[sheets.Node]:
    found = re.findall(r"```mermaid\n(.*?)```", text, re.DOTALL)
    return [sheets.read_chart(each) for each in found]


def shape(node: sheets.Node) -> tuple[object, ...]:
    return (node.is_question, tuple(shape(to) for _, to in node.ways))


def as_shown(template: str) -> str:
    """A text of the catalogue as the pages show it: with dots for what differs each time."""
    return re.sub(r"\{[^}]*\}", "…", template)


# Both languages.


def test_both_languages_have_the_same_pages() -> None:
    pages = {name: {path.stem for path in sheets.pages(name)} for name in LANGUAGES}
    assert pages["zh"] - pages["en"] == {"glossary"} and pages["en"] <= pages["zh"]
    assert len(SITUATIONS) > 30


@for_each([*SITUATIONS, *CARDS, "index", "round", "commands"])
def test_a_page_has_the_same_form_in_both_languages(page: str) -> None:
    english, chinese = (source(name, page) for name in LANGUAGES)
    assert re.findall(r"^#+", english, re.MULTILINE) == re.findall(r"^#+", chinese, re.MULTILINE)
    of_both = zip(sections(english).values(), sections(chinese).values(), strict=True)
    for one, other in of_both:
        for form in (r"^\d+\. ", r"^- ", r"^> "):
            assert len(re.findall(form, one, re.MULTILINE)) == len(
                re.findall(form, other, re.MULTILINE)
            )
        assert [len(row) for row in rows(one)] == [len(row) for row in rows(other)]
        only_there = {"glossary.md", "../zh/index.md", "../en/index.md"}
        links = [{*re.findall(r"\]\(([^)]+)\)", each)} - only_there for each in (one, other)]
        assert links[0] == links[1]
        assert Counter(codes(one)) == Counter(codes(other))
    assert [shape(node) for node in charts(english)] == [shape(node) for node in charts(chinese)]


@for_each(SITUATIONS, LANGUAGES)
def test_a_situation_says_what_one_sees_and_does_who_decides_and_the_rule(
    page: str, name: str
) -> None:
    parts, words = sections(source(name, page)), WORDS[name]
    assert tuple(part for part in parts if part and part != words.chart) == words.sections
    assert all(parts[section].strip() for section in words.sections)
    steps = re.findall(r"^(\d+)\. ", parts[words.sections[1]], re.MULTILINE)
    assert steps and [int(step) for step in steps] == [*range(1, len(steps) + 1)]


@pytest.mark.parametrize("name", LANGUAGES)
def test_the_index_leads_to_every_situation_once_by_title_and_key(name: str) -> None:
    linked = re.findall(r"^- \[(.+)\]\((.+)\.md\)(.*)$", source(name, "index"), re.MULTILINE)
    titles = {page: source(name, page).splitlines()[0] for page in SITUATIONS}
    assert sorted(page for _, page, _ in linked) == SITUATIONS
    for title, page, keys in linked:
        shown = {one.public_key for one in procedures(name, page)} - {None}
        assert titles[page] == f"# {title}"
        assert {*codes(keys)} == {*keys_of(name, page)} | shown


# The irregularities.


@pytest.mark.parametrize("name", LANGUAGES)
def test_every_irregularity_has_one_page(name: str) -> None:
    assert Counter(key for page in SITUATIONS for key in keys_of(name, page)) == Counter(KEYS)


def procedures(name: str, page: str) -> list[Procedure]:
    return [PROCEDURES[key] for key in keys_of(name, page) if key in PROCEDURES]


def steps_in(cell: str, every: set[str], name: str) -> set[str]:
    return every if cell == WORDS[name].every else {*codes(cell)}


@for_each(SITUATIONS, LANGUAGES)
def test_a_page_quotes_what_the_screen_asks_at_each_step(page: str, name: str) -> None:
    texts = language(name).TEXTS
    asked = {
        (step.name, as_shown(texts[step.prompt.code]))
        for procedure in procedures(name, page)
        for step in procedure.steps
    }
    shown = rows(sections(source(name, page))[WORDS[name].sections[0]])
    quoted = {(step, text) for first, text in shown for step in codes(first)}
    assert quoted == asked
    known = {as_shown(text) for code, text in texts.items() if code.startswith("seen_")}
    for first, text in shown:
        if first == WORDS[name].seen:
            assert {*text.split(" / ")} <= known
    quotes = re.findall(r"^> (.+)$", source(name, page), re.MULTILINE)
    assert {*quotes} <= {as_shown(text) for text in texts.values()}


@pytest.mark.parametrize("name", LANGUAGES)
def test_what_a_page_quotes_is_what_the_screen_of_its_language_shows(name: str) -> None:
    table = TableHarness().open_shoe()
    table.open_round()
    table.does("pause", reason="look")
    held = status(table.now, table.game, table.settings)
    for page in SITUATIONS:
        shown = rows(sections(source(name, page))[WORDS[name].sections[0]])
        for procedure in procedures(name, page):
            for step in procedure.steps:
                asks = {**held["next"], "message": step.prompt.as_data()}
                screen = lines({**held, "next": asks}, words=ScreenWords(name))
                said = "".join(" ".join(screen).split())
                quoted = [text for first, text in shown if step.name in codes(first)]
                plain = [text for text in quoted if "…" not in text]
                assert quoted and (not plain or any("".join(q.split()) in said for q in plain))


@pytest.mark.parametrize("name", LANGUAGES)
def test_whatever_the_screen_says_was_seen_is_on_a_page(name: str) -> None:
    told = {
        as_shown(text)
        for code, text in language(name).TEXTS.items()
        if code.startswith("seen_") and code != "seen_by_person"
    }
    quoted = {
        text
        for page in SITUATIONS
        for first, *rest in rows(sections(source(name, page))[WORDS[name].sections[0]])
        if first == WORDS[name].seen
        for text in rest[0].split(" / ")
    }
    assert told - quoted == set()


def position_word(name: str, position: str) -> str:
    """The position as the pages of this language write it."""
    by = "gaming_shift_manager" if position == DECIDES else position
    return re.sub(r"^an? ", "", language(name).WORDS["a_position"][by])


def needs(choice: Choice, name: str) -> str:
    words = WORDS[name]
    wanted = [words.reason] * choice.reason + [words.consent] * choice.needs_consent
    return words.between.join(wanted) or "–"


@for_each([page for page in SITUATIONS if keys_of("en", page)], LANGUAGES)
def test_a_page_has_every_choice_with_who_takes_it_and_what_it_needs(page: str, name: str) -> None:
    found = procedures(name, page)
    every = {step.name for procedure in found for step in procedure.steps if step.choices}
    offered = {
        (step.name, choice.name, position_word(name, choice.by), needs(choice, name))
        for procedure in found
        for step in procedure.steps
        for choice in step.choices
    }
    shown = rows(sections(source(name, page))[WORDS[name].sections[2]]) if offered else []
    stated = {
        (step, code.split()[0], who, wanted)
        for first, choices, who, wanted, *_ in shown
        for step in steps_in(first, every, name)
        for code in codes(choices)
    }
    assert stated == offered


@pytest.mark.parametrize("name", LANGUAGES)
def test_every_rule_number_on_a_page_is_one_of_a_game(name: str) -> None:
    files = (ROOT / "shoe_ctl" / "games" / "data").glob("*.toml")
    known = {
        number
        for file in files
        for number in re.findall(r'"(\d+\.\d+(?:\.\d+)*)"', file.read_text("utf-8"))
    }
    parts = {number[:end] for number in known for end in range(len(number)) if number[end] == "."}
    for page in SITUATIONS:
        cited = re.findall(r"(?<![\w.])\d\.\d+(?:\.\d+)*(?!\w)", source(name, page))
        assert {*cited} <= known | parts, page


# What is typed.


def commands(name: str, page: str) -> Iterator[list[str]]:
    """Every command of a page, in words."""
    known = {*COMMANDS, *REQUESTS, *ABOUT_THE_JOURNAL}
    for code in codes(source(name, page)):
        words = shlex.split(code.removeprefix("shoectl table "))
        if words and words[0] in known and len(words) > 1 and "--help" not in words:
            yield words


def kinds(given: Mapping[str, str], command: str) -> list[type[msgspec.Struct]]:
    """The types that the arguments of this command may have."""
    if command == "decide":
        return [
            choice.arguments
            for procedure in PROCEDURES.values()
            for step in procedure.steps
            for choice in step.choices
            if choice.name == given["choice"]
        ]
    if command == "declare":
        procedure = PROCEDURES.get(given["key"])
        declared = None if procedure is None else procedure.declared
        assert declared is not None or given["key"] in RECORDED, given
        return [DeclaredWager if declared is None else declared.takes]
    return [COMMANDS[command].args] if command in COMMANDS else []


def is_taken(given: Mapping[str, str], kind: type[msgspec.Struct]) -> bool:
    """The arguments have names and values of this type."""
    try:
        msgspec.convert(given, kind, strict=False)
    except msgspec.ValidationError:
        return False
    return given.keys() <= {*kind.__struct_fields__}


@for_each([*SITUATIONS, *CARDS, "round", "commands"])
def test_every_command_of_a_page_is_one_that_the_table_takes(page: str) -> None:
    for words in commands("en", page):
        given = dict(word.split("=", 1) for word in words[1:] if re.match(r"[a-z_]+=", word))
        if not any("..." in value for value in given.values()):
            found = kinds(given, words[0])
            assert not found or any(is_taken(given, kind) for kind in found), words


@for_each([*SITUATIONS, *CARDS])
def test_a_command_that_needs_a_reason_or_a_second_person_has_it(page: str) -> None:
    choices = [
        choice
        for procedure in procedures("en", page)
        for step in procedure.steps
        for choice in step.choices
    ]
    for words in commands("en", page):
        if words[0] == "declare":
            assert "--reason" in words, words
        meant = [choice for choice in choices if f"choice={choice.name}" in words]
        if words[0] != "decide" or not meant:
            continue
        assert "--reason" in words or not all(choice.reason for choice in meant), words
        assert "--consented-by" in words or not all(c.needs_consent for c in meant), words


@pytest.mark.parametrize("name", LANGUAGES)
def test_every_command_is_listed_with_its_position(name: str) -> None:
    listed = {codes(row[0])[0]: row[1] for row in rows(source(name, "commands")) if len(row) == 4}
    assert listed.keys() == {*COMMANDS, *REQUESTS, *ABOUT_THE_JOURNAL}
    for command in COMMANDS.values():
        assert listed[command.name] == position_word(name, command.position)
        assert re.search(rf"`shoectl table {command.name}\b", source(name, "commands"))
    assert position_word("en", POSITIONS[0]) == "dealer"
    declarable = {key for key, one in PROCEDURES.items() if one.declared} | {*RECORDED}
    assert all(f"[`{key}`](" in source(name, "commands") for key in declarable)


# One word for one thing, in Chinese.

REJECTED = {
    "声明": "申报",
    "对齐": "同步",
    "切牌(?!卡)": "切牌卡",
    "撤回时段": "撤注时段",
    "别副": "外来牌",
    "一次拉出": "同时抽出",
    "下限|上限": "最低限红、最高限红",
    "飞牌": "烧牌",
    "庄荷": "荷官",
    "牌盒": "牌靴",
    "(?<!牌)面朝[上下]": "牌面朝上、牌面朝下",
    "(?<!博彩)当值经理": "博彩当值经理",
    "(?<!监场)主任": "监场主任",
}
"""Another word for the same thing, or a word that means something else → the one that is used."""


def chinese_texts() -> str:
    catalogue = language("zh")
    names = (name for words in catalogue.WORDS.values() for name in words.values())
    pages = (path for path in sheets.pages("zh") if path.stem != "glossary")
    phrases = screen_chinese.PHRASES.values()
    written = [path.read_text("utf-8") for path in pages]
    texts = "\n".join([*catalogue.TEXTS.values(), *names, *phrases, *written])
    return re.sub(r"\n +", "", texts)  # a screen's lines are broken within words


def test_chinese_texts_have_one_word_for_one_thing() -> None:
    texts = chinese_texts()
    assert {word: re.findall(word, texts) for word in REJECTED if re.search(word, texts)} == {}


def test_every_word_of_the_glossary_is_used() -> None:
    texts = chinese_texts()
    terms = [term for row in rows(source("zh", "glossary")) for term in re.split("、| / ", row[1])]
    assert len(terms) > 40 and [term for term in terms if term not in texts] == []


# For one reader.


@pytest.mark.parametrize("name", LANGUAGES)
def test_there_is_a_card_for_each_method_and_a_page_for_each_reader(name: str) -> None:
    assert {*CARDS} == {
        *("card-a", "card-b", "card-c", "first-evening"),
        *("pit-supervisor", "surveillance", "typed-wrong"),
    }
    linked = re.findall(r"\]\(([\w-]+)\.md\)", source(name, "index"))
    assert {*CARDS} <= {*linked}


@pytest.mark.parametrize("name", LANGUAGES)
def test_the_card_of_a_method_leads_through_its_round(name: str) -> None:
    every = ["place_your_bets", "no_more_bets", "announce_totals", "announce_outcome", "settle"]
    handed = ["pass_cards", "expose"]
    of_method = {"a": handed, "b": ["expose"], "c": ["offer_shoe", *handed, "relinquish_shoe"]}
    for method, more in of_method.items():
        typed = [code.split()[0] for code in codes(source(name, f"card-{method}"))]
        assert {*every, *more} <= {*typed}, method
        assert [one for one in dict.fromkeys(typed) if one in every] == every
    assert "pass_cards" not in source(name, "card-b")


@pytest.mark.parametrize("name", LANGUAGES)
def test_every_drawing_is_shown_and_says_what_it_shows(name: str) -> None:
    drawings = {path.name: path.read_text("utf-8") for path in (sheets.STAFF / name).glob("*.svg")}
    assert drawings.keys() == {"early-card.svg", "card-set-aside.svg", "exchanged-cards.svg"}
    shown = [
        each
        for path in sheets.pages(name)
        for each in re.findall(r"!\[([^]]+)\]\(([^)]+)\)", path.read_text("utf-8"))
    ]
    assert {file for _, file in shown} == drawings.keys()
    assert all(f"<title>{text}</title>" in drawings[file] for text, file in shown)


# On paper.


@pytest.mark.parametrize("name", LANGUAGES)
def test_no_situation_is_longer_than_a_sheet_can_be(name: str) -> None:
    pages = [*sheets.situations(name), *sheets.cards(name)]
    heavy = {path.stem: sheets.weight(path.read_text("utf-8")) for path in pages}
    assert {page: most for page, most in heavy.items() if most > sheets.MOST} == {}


@pytest.mark.parametrize("name", LANGUAGES)
def test_the_printed_file_holds_every_page_and_needs_no_other(name: str, tmp_path: Path) -> None:
    assert sheets.main([str(tmp_path)]) == 0
    made = (tmp_path / f"{name}.html").read_text("utf-8")
    assert re.findall(r'<section id="([\w-]+)"', made) == [p.stem for p in sheets.pages(name)]
    assert not re.search(r"<script|<link|<img|\bsrc=|url\(|https?:", made)
    assert "```" not in made and made.count('class="chart"') > len(SITUATIONS) / 2
    linked = {*re.findall(r'href="#([\w-]+)"', made)}
    assert linked <= {path.stem for path in sheets.pages(name)}


def test_a_flow_chart_is_drawn_as_boxes_in_boxes() -> None:
    chart = 'flowchart LR\n  a{"Due?"}\n  b["deal <it>"]\n  a -->|"yes"| b\n'
    drawn = sheets.draw_chart(sheets.read_chart(chart))
    assert 'class="box question">Due?<' in drawn
    assert "<i>yes</i>" in drawn and "deal &lt;it&gt;" in drawn


@pytest.mark.parametrize(
    "chart",
    [
        "flowchart TD\n  a[\"x\"]\n",
        'flowchart LR\n  a["x"]\n  b["y"]\n',
        'flowchart LR\n  a["x"]\n  a --> b\n',
        'flowchart LR\n  a["x"]\n  b["y"]\n  c["z"]\n  a --> b\n  a --> c\n  b --> c\n',
        'flowchart LR\n  a("x")\n',
    ],
)  # fmt: skip
def test_a_flow_chart_that_cannot_be_drawn_is_refused(chart: str) -> None:
    with pytest.raises(sheets.ChartError):
        sheets.read_chart(chart)


@pytest.mark.slow
@pytest.mark.parametrize("name", LANGUAGES)
def test_each_situation_prints_on_one_sheet(name: str, tmp_path: Path) -> None:
    browser = sheets.find_browser()
    if browser is None:
        why = "the pages cannot be printed here: apt-get install chromium"
        if os.environ.get("CI"):
            pytest.fail(why)
        pytest.skip(why)
    situations = [*sheets.situations(name), *sheets.cards(name)]
    page, pdf = tmp_path / "page.html", tmp_path / "page.pdf"
    page.write_text(sheets.document(name, situations), "utf-8")
    sheets.print_pdf(browser, page, pdf)
    assert len(re.findall(rb"/Type\s*/Page\b", pdf.read_bytes())) == len(situations)
