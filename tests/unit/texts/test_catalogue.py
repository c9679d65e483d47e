"""Both catalogues hold a text for every message that is built, with every argument it has."""

from __future__ import annotations

import re
from typing import get_args

import msgspec
import pytest

from shoe_ctl.games import catalog
from shoe_ctl.table import positions
from shoe_ctl.table.irregularities.catalog import PROCEDURES
from shoe_ctl.table.irregularities.draw_order import Place
from shoe_ctl.table.shoe import arming
from shoe_ctl.table.situations import STATES
from shoe_ctl.table.wagers.declared import RECORDED
from shoe_ctl.texts import catalogue
from shoe_ctl.texts.catalogue import LANGUAGES, fields, in_words, language, text, with_texts
from shoe_ctl.texts.message import Message, message
from shoe_testing.for_each import for_each
from shoe_testing.message_calls import built, by_code

GROUPS = (
    *("prompt", "seen", "refused", "next", "done", "shoe", "player", "daemon", "events", "link"),
    *("request", "sink", "preview", "choice", "rounds"),
)


@for_each(lambda: sorted(by_code()))
def test_every_message_that_is_built_has_a_text_in_every_language(code: str) -> None:
    assert re.fullmatch(r"[a-z0-9_]+", code) and code.partition("_")[0] in GROUPS
    for name in LANGUAGES:
        template = language(name).TEXTS[code]
        for place in by_code()[code]:
            assert fields(template) == place.args, (name, place)


@pytest.mark.parametrize("name", LANGUAGES)
def test_no_text_of_a_catalogue_is_unused(name: str) -> None:
    assert language(name).TEXTS.keys() == by_code().keys()


def test_the_catalogues_have_their_texts_in_one_order() -> None:
    english, chinese = (list(language(name).TEXTS) for name in ("en", "zh"))
    assert english == chinese


@pytest.mark.parametrize("name", LANGUAGES)
def test_every_kind_that_a_template_names_is_known(name: str) -> None:
    written, other = language(name), language("en")
    for template in written.TEXTS.values():
        for kind in re.findall(r"\{\w+:([^}]*)\}", template):
            words, _, rest = kind.partition(" ")
            words = words.removesuffix("+")
            if words == "count":
                assert len(rest.split(" ")) == 2
                continue
            known = {*written.WORDS, *written.LISTS, *other.WORDS, "state", "how", "position"}
            assert words in known and (not rest or rest in written.LISTS), template


@pytest.mark.parametrize("name", LANGUAGES)
def test_what_has_a_name_has_one_in_every_language(name: str) -> None:
    words = language(name).WORDS
    assert words["hand"].keys() == {"player", "banker"}
    assert words["a_position"].keys() == {*positions.POSITIONS}
    assert words["place"].keys() == {*get_args(Place)}
    assert words["arm_refusal"].keys() == {*arming.REASONS, arming.OTHER}


def test_chinese_has_a_name_for_every_state_and_every_irregularity() -> None:
    words = language("zh").WORDS
    assert words["state"].keys() == {*STATES, "unknown"}
    games = (catalog.load(game).irregularities for game in catalog.shipped())
    keys = {key for irregularities in games for key in irregularities} | {*PROCEDURES, *RECORDED}
    assert keys <= words["key"].keys()


def test_chinese_texts_are_in_chinese() -> None:
    bare = {
        "seen_by_person",
        "refused_argument",
        "refused_arguments",
        "daemon_failed",
        "refused_each",
    }
    bare |= {"choice_label", "next_with_trouble", "done_cards_revealed", "done_totals_announced"}
    bare |= {"done_hand_shows", "done_irregularity_raised", "done_irregularity_resolved"}
    for code, template in language("zh").TEXTS.items():
        assert code in bare or re.search(r"[\u4e00-\u9fff]", template), code


def test_an_english_text_is_one_line_that_begins_small_and_ends_without_a_stop() -> None:
    for code, template in language("en").TEXTS.items():
        assert template == template.strip() and "\n" not in template and "  " not in template, code
        assert not template.removesuffix("...").endswith("."), code


def test_an_english_text_is_short_enough_to_be_read_at_a_table() -> None:
    words = {code: len(template.split()) for code, template in language("en").TEXTS.items()}
    assert {code: many for code, many in words.items() if many > 23} == {}


# How a text is written.


def test_a_rule_is_cited_behind_any_text() -> None:
    said = message("refused_no_round").citing("3.1")
    assert text(said) == "no round is open (3.1)"
    assert text(said, "zh") == "没有进行中的局（3.1）"
    assert message("refused_no_round").citing(None) == message("refused_no_round")


def test_a_number_has_its_noun_in_one_or_in_many() -> None:
    said = [text(message("refused_too_many_players", game="g", most=n)) for n in (1, 2)]
    assert said == ["g takes 1 Player at once", "g takes 2 Players at once"]


def test_lists_and_messages_among_the_arguments_are_written_too() -> None:
    given = message("done_hand_shows", hand="player", cards=["7D", "TS"])
    said = message("done", happened=[given], next=message("next_settle"))
    assert text(said) == "Player shows 7D TS; next: pay and collect, then settle"
    assert text(said, "zh") == "闲家 7D TS；下一步：收注、赔付，然后结算"


def test_a_message_is_the_same_after_it_was_stored() -> None:
    said = message("done", happened=(message("done_bets_closed"),), next=message("next_settle"))
    assert msgspec.json.decode(msgspec.json.encode(said), type=Message) == said
    assert text(said) == text(said.as_data())


def test_a_code_of_a_newer_version_is_written_with_its_own_text_or_as_it_is() -> None:
    assert text({"code": "seen_aurora", "args": {"seat": 3}}) == "seen_aurora seat=3"
    assert text({"code": "seen_aurora", "args": {}, "text": "an aurora"}) == "an aurora"


def test_messages_anywhere_in_plain_values_get_their_text() -> None:
    seen = message("seen_drawn_early").as_data()
    data = {"seen": seen, "code": "E3", "choices": [{"not_now": seen}, 1, None]}
    told = {**seen, "text": "a card was drawn early"}
    assert with_texts(data) == {
        "seen": told, "code": "E3", "choices": [{"not_now": told}, 1, None],
    }  # fmt: skip
    assert in_words(data)["choices"][0] == {"not_now": "a card was drawn early"}


def test_an_argument_that_is_missing_shows_in_the_text() -> None:
    assert text({"code": "player_by_seat", "args": {}}) == "seat (seat?)"


def test_messages_are_built_with_their_codes_in_sight() -> None:
    assert len(built()) > 400 and catalogue.LANGUAGES.keys() == {"en", "zh"}
