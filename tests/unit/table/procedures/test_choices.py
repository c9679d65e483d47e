"""Who may take which choice, and where it leads: written from the documents and the readings.

A line is a step of a procedure: its choices, each with the lowest position and the step or end it
leads to. ``decides`` is whoever the game names for what no rule covers (6.1). ``*``: a reason must
be given; ``+``: a second person must consent.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from shoe_ctl.games import catalog
from shoe_ctl.table.irregularities.catalog import PROCEDURES
from shoe_ctl.table.procedures.procedure import Choice, Procedure, never, no_draw, no_facts

# The rulings that nearly every procedure ends with, where its own rule has no answer (6.1).
GO_ON = "play_on decides stands*"
ASIDE = "set_aside decides aside*"
VOID = "void decides void*"
RULINGS = f"{GO_ON}, {ASIDE}, {VOID}"

# A card named, placed or moved by people: by two of them, since the cards dealt stand (6.3).
ENTER = "enter pit_supervisor {}*+"
PLACE = "place pit_supervisor {}*+"
EXCHANGE = "exchange pit_supervisor {}*+"

# A withdrawal window: each Player withdraws or stands, and the Dealer closes it.
WINDOW = "withdraw_all dealer {0}, stand dealer {0}, close_window dealer {1}"

# A card is inspected before the round is void (5.1); what was misread is corrected by two (6.3).
INSPECTED = f"""
    ruling: correct pit_supervisor corrected_card*+, {GO_ON}, earlier_stand decides earlier*,
            {ASIDE}, {VOID}
    corrected_card: play_on pit_supervisor corrected, {ASIDE}, {VOID}
"""

# 5.8.2.2: the Pit Manager determines the order; Players may withdraw what remains.
ORDERED = (
    "upper_first pit_manager remaining*, upper_first pit_manager {0}*,"
    " lower_first pit_manager remaining*, lower_first pit_manager {0}*"
)

# Missed cards are entered by two against the raw record, and stand as dealt (6.3).
MISSED = (
    "enter pit_supervisor ruling*+, place pit_supervisor ruling*+, take_back pit_supervisor"
    f" ruling*+, recount pit_supervisor ruling*+, play_on pit_supervisor entered*, {RULINGS}"
)

JUDGED = f"ruling: {GO_ON}, enter pit_supervisor entered*+, {VOID}"

CHOICES = {
    "foreign_card": INSPECTED,
    "extra_card": INSPECTED,
    "unshuffled": f"ruling: {GO_ON}, earlier_stand decides earlier*, {ASIDE}, {VOID}",
    "missing_card_in_shoe": f"ruling: {GO_ON}, earlier_stand decides earlier*, {ASIDE}, {VOID}",
    # 5.6 is the Dealer's to follow; before the first card of a round no rule speaks of it.
    "face_up_in_shoe": f"""
        ruling: play_face_down dealer face_down, {RULINGS}
        first_card: {GO_ON}, {VOID}""",
    # 5.7: reconstruction is the Dealer's.
    "wrong_order": f"""
        ruling: reconstruct dealer reconstructed, {PLACE.format("ruling")},
                {EXCHANGE.format("ruling")}, {RULINGS}""",
    # 5.8: the order is known from the shoe or from surveillance, and from nobody else.
    "double_draw": f"""
        order: order_from_shoe pit_supervisor window*, order_from_shoe pit_supervisor reconstruct*,
               order_seen surveillance window*, order_seen surveillance reconstruct*,
               order_unknown pit_manager unordered*, order_unknown pit_manager ordering*,
               {ENTER.format("order")}, {RULINGS}
        window: {WINDOW.format("window", "reconstruct")}, {VOID}
        reconstruct: reconstruct dealer reconstructed, {EXCHANGE.format("reconstruct")},
               {ENTER.format("reconstruct")}, {PLACE.format("reconstruct")}, {RULINGS}
        ordering: {ORDERED.format("lay")}, {VOID}
        remaining: {WINDOW.format("remaining", "lay")}, {VOID}
        name: enter dealer named+, {VOID}
        lay: reconstruct dealer ordered, {ENTER.format("lay")}, {PLACE.format("lay")}, {VOID}""",
    # Whether a card drawn early was due is no document's question: 6.1. Anybody at the table may
    # have seen it.
    "overdraw": f"""
        waiting:
        ruling: due decides kept*, first_card decides next_round*, {ASIDE}, {VOID},
                exposed dealer seen*
        seen: due decides kept*, {ASIDE}, {VOID}""",
    "missed_draw": f"""
        ruling: reconstruct dealer reconstructed, {RULINGS}
        correction: {RULINGS}""",
    "order_altered": f"""
        ruling: reconstructed pit_supervisor reconstructed*,
                reconstructed pit_supervisor reconstructed*, {RULINGS}""",
    # 5.7 and 5.7.1 are the Dealer's; whom nobody entitles the Pit Supervisor names (3.10.4.1).
    "wrong_player": f"""
        look: retrieve dealer pass_on, exposed dealer no_wrong_delivery,
              not_passed dealer no_wrong_delivery, {RULINGS}
        pass_on: pass_on dealer retrieved, pass_on pit_supervisor retrieved, {RULINGS}""",
    # 5.10: the Dealer exposes. A draw without the Player is in no rule of Method C.
    "holder_absent": f"""
        ruling: expose dealer exposed, expose_later dealer exposed, dealer_draws decides drawn*,
                {RULINGS}""",
    # 5.11: the value from the shoe or surveillance, else in the Gaming Shift Manager's presence.
    "card_taken": f"""
        value: seen surveillance value, value_known pit_supervisor known+,
               not_known decides first_aside*, {GO_ON}, {VOID}
        not_due: {ASIDE}, {GO_ON}, {VOID}
        first_aside: shoe_is_empty decides sort, {GO_ON}, {VOID}
        second_aside: shoe_is_empty decides sort, {GO_ON}, {VOID}
        ordering: {ORDERED.format("sort")}, {VOID}
        remaining: {WINDOW.format("remaining", "sort")}, {VOID}
        sort: sorted decides determine, {VOID}
        determine: determined decides replace+, {VOID}
        replace: replaced decides finished+, determined decides replace+, {VOID}""",
    # 5.12.1, 5.12.2.
    "exposed_while_moving": f"ruling: play_face_down dealer face_down, {RULINGS}",
    "order_altered_while_moving": f"""
        ruling: rectified decides rectified*, replace_cards pit_supervisor replaced*, {ASIDE},
                {VOID}""",
    # 5.17: the Dealer offers and closes; a doubt goes to the Gaming Shift Manager.
    "power_failure": f"""
        power: offer_withdrawal dealer window, refer dealer ruling*
        take_back: take_hands_back dealer power, refer dealer ruling*
        window: {WINDOW.format("window", "conclude")}, refer dealer ruling*
        conclude: play_on dealer concluded, refer dealer ruling*
        continue: play_on dealer continued, refer dealer ruling*
        ruling: {GO_ON}, {VOID}""",
    # 3.17.1, 3.22.1: at the Dealer's discretion; of right in Immortal.
    "cutting_card": f"""
        allow: offer_withdrawal dealer window, play_on dealer removed
        window: {WINDOW.format("window", "removed")}""",
    "misread": f"""
        where: in_its_place dealer holds, read_again dealer again, {ASIDE}, {VOID}
        enter: enter dealer entered+, {VOID}""",
    "link_lost": f"ruling: {MISSED}",
    "gap": f"""
        ruling: {MISSED}
        counts: {MISSED}""",
    "result_disagrees": JUDGED,
    "result_missing": JUDGED,
    # 5.18.1, 5.18.2 the Dealer; 5.18.3 the Pit Manager.
    "table_differential": f"""
        changing: decrease dealer changing, increase dealer changing, decreased dealer decreased*,
                  increased dealer increased*, insufficient dealer removing,
                  set_aside decides changing*
        removing: remove pit_manager removing*, removed pit_manager removed*,
                  set_aside decides removing*
        ruling: {GO_ON}, {VOID}""",
    "other": f"""
        ruling: {RULINGS}
        entry_differs: {RULINGS}""",
    # 5.13: the cards may be replaced. Immortal has no such rule: 6.1.
    "after_void": """
        cards: replace_cards pit_supervisor replaced, replace_cards decides replaced*,
               keep_cards dealer kept""",
    # 5.9.
    "device_reset": f"""
        window: {WINDOW.format("window", "reset")}, {VOID}
        reset: device_is_reset dealer again, device_is_reset dealer cards, {VOID}
        cards: open_round decides opens*, {ASIDE}, {VOID}
        ruling: {GO_ON}, {VOID}""",
    "review": "review:",
    "storage_fault": "outage:",
}

OTHER = "other.ruled"
BACK = "back"

# End, what it cites, where play resumes. A ruling cites 6.1 where the rule itself has no such end.
GOES_ON = f"stands {OTHER} back"
LAID_ASIDE = f"aside {OTHER} back"
ENDS = {
    "foreign_card": f"""corrected foreign_card.corrected back, {GOES_ON},
        earlier foreign_card.earlier_stand back, {LAID_ASIDE}, void foreign_card.void void""",
    "extra_card": f"""corrected extra_card.corrected back, {GOES_ON},
        earlier extra_card.earlier_stand back, {LAID_ASIDE}, void extra_card.void void""",
    # Unshuffled cards are not played on with (5.1).
    "unshuffled": f"""stands unshuffled.cleared back, {LAID_ASIDE},
        earlier unshuffled.earlier_stand shoe_change, void unshuffled.void void""",
    "missing_card_in_shoe": f"""{GOES_ON}, earlier missing_card_in_shoe.earlier_stand back,
        {LAID_ASIDE}, void missing_card_in_shoe.void void""",
    "face_up_in_shoe": """face_down face_up_in_shoe.played_as_face_down back,
        stands face_up_in_shoe.ruled back, aside face_up_in_shoe.ruled back,
        void face_up_in_shoe.ruled void""",
    "wrong_order": f"""reconstructed wrong_order.reconstructed back, {GOES_ON}, {LAID_ASIDE},
        void wrong_order.void void""",
    "double_draw": f"""reconstructed double_draw.reconstructed back,
        ordered double_draw.ordered back, named double_draw.named back,
        unordered double_draw.void void, {GOES_ON}, {LAID_ASIDE}, void {OTHER} void""",
    "overdraw": f"""kept overdraw.kept back, next_round overdraw.next_round back,
        aside overdraw.set_aside back, void {OTHER} void""",
    "missed_draw": """reconstructed missed_draw.reconstructed back, stands missed_draw.ruled back,
        aside missed_draw.ruled back, void missed_draw.ruled void""",
    "order_altered": f"""reconstructed order_altered.reconstructed back, {GOES_ON}, {LAID_ASIDE},
        void order_altered.void void""",
    "wrong_player": f"""retrieved wrong_player.retrieved back,
        no_wrong_delivery wrong_player.stands back, {GOES_ON}, {LAID_ASIDE}, void {OTHER} void""",
    "holder_absent": """exposed holder_absent.exposed back, drawn holder_absent.ruled back,
        stands holder_absent.ruled back, aside holder_absent.ruled back,
        void holder_absent.ruled void""",
    "card_taken": f"""known card_taken.value_known back, finished card_taken.finished back,
        {GOES_ON}, {LAID_ASIDE}, void {OTHER} void""",
    "exposed_while_moving": f"""face_down exposed_while_moving.played_as_face_down back,
        {GOES_ON}, {LAID_ASIDE}, void {OTHER} void""",
    "order_altered_while_moving": f"""rectified order_altered_while_moving.rectified back,
        replaced order_altered_while_moving.shoe_replaced shoe_change, {LAID_ASIDE},
        void order_altered_while_moving.void void""",
    "power_failure": """concluded power_failure.withdrawal back,
        continued power_failure.continued back, stands power_failure.ruled back,
        void power_failure.ruled void""",
    "cutting_card": "removed cutting_card.completed back",
    "misread": f"""holds misread.entered back, again misread.entered back,
        entered misread.entered back, read misread.entered back, read_in_turn misread.entered back,
        {LAID_ASIDE}, void {OTHER} void""",
    "link_lost": """resumed link_lost.resumed back, entered link_lost.entered back,
        stands link_lost.ruled back, aside link_lost.ruled back, void link_lost.ruled void""",
    "gap": """entered gap.entered back, stands gap.ruled back, aside gap.ruled back,
        void gap.ruled void""",
    "result_disagrees": f"""stands result_disagrees.cards_stand back,
        entered result_disagrees.entered back, void {OTHER} void""",
    "result_missing": f"""stands result_missing.cards_stand back,
        entered result_missing.entered back, void {OTHER} void""",
    "table_differential": """decreased table_differential.decreased back,
        increased table_differential.increased back, removed table_differential.removed back,
        stands table_differential.ruled back, void table_differential.ruled void""",
    "other": f"{GOES_ON}, {LAID_ASIDE}, void other.void void",
    "after_void": """replaced after_void.shoe_replaced shoe_change,
        kept after_void.shoe_replaced back""",
    # 5.9: after the reset Players may wager again.
    "device_reset": """again device_reset.reset betting, opens device_reset.next_round betting,
        aside device_reset.set_aside betting, stands device_reset.ruled back,
        void device_reset.ruled void""",
    "review": "",
    "storage_fault": "",
}

# What people may declare, from which position and in which states; the rest is found by the table.
CARDS_OUT = "dealing revealing drawing"
OPEN = f"betting closed {CARDS_OUT} resolved"
AFTER_BETS = f"closed {CARDS_OUT}"
DECLARED = {
    "unshuffled": f"idle shoe_change {OPEN}",
    "missing_card_in_shoe": f"idle shoe_change {OPEN}",
    "face_up_in_shoe": f"idle betting {AFTER_BETS}",
    "wrong_order": CARDS_OUT,
    "double_draw": CARDS_OUT,
    "missed_draw": f"idle {OPEN}",
    "order_altered": f"betting {AFTER_BETS}",
    "wrong_player": f"{CARDS_OUT} resolved",
    "holder_absent": AFTER_BETS,
    "card_taken": "dealing revealing",
    "exposed_while_moving": f"idle betting {AFTER_BETS}",
    "order_altered_while_moving": f"idle betting {AFTER_BETS}",
    "power_failure": AFTER_BETS,
    "table_differential": f"{AFTER_BETS} resolved",
    "other": f"idle shoe_change {OPEN}",
    "device_reset": AFTER_BETS,
}
"""Key → the states; the Dealer may declare each of them, in a halt too."""


def steps(text: str) -> dict[str, list[str]]:
    """Step → its choices, in order."""
    found: dict[str, list[str]] = {}
    for line in text.replace(",\n", ", ").strip().splitlines():
        step, _, rest = line.strip().partition(":")
        found[step] = [" ".join(each.split()) for each in rest.split(",") if each.strip()]
    return found


def written(choice: Choice) -> str:
    marks = "*" * choice.reason + "+" * choice.needs_consent
    return f"{choice.name} {choice.by} {choice.leads_to}{marks}"


def ends(procedure: Procedure) -> Iterator[str]:
    for end in procedure.ends:
        yield f"{end.name} {'.'.join(end.cites)} {end.resumes_in}"


def test_every_procedure_is_written_here() -> None:
    assert CHOICES.keys() == ENDS.keys() == PROCEDURES.keys()


@pytest.mark.parametrize("key", CHOICES)
def test_a_choice_is_for_whom_the_rules_name_and_leads_where_they_say(key: str) -> None:
    found = {step.name: [*map(written, step.choices)] for step in PROCEDURES[key].steps}
    assert found == steps(CHOICES[key])


@pytest.mark.parametrize("key", ENDS)
def test_an_end_cites_its_rule_and_play_resumes_where_it_says(key: str) -> None:
    stated = {" ".join(each.split()) for each in ENDS[key].split(",") if each.strip()}
    assert {*ends(PROCEDURES[key])} == stated
    assert len(PROCEDURES[key].ends) == len(stated)


def test_the_dealer_declares_an_irregularity_in_the_states_in_which_it_can_happen() -> None:
    found = {
        key: (procedure.declared.by, {*procedure.declared.states})
        for key, procedure in PROCEDURES.items()
        if procedure.declared is not None
    }
    assert found == {
        key: ("dealer", {*states.split(), "suspended"}) for key, states in DECLARED.items()
    }


ONLY_IN_A_ROUND = ("void", "order_unknown", "play_face_down", "exchange", "due")
ONLY_BETWEEN_ROUNDS = ("earlier_stand", "replace_cards", "keep_cards")


def test_a_round_is_made_void_only_while_one_is_open_and_cards_are_changed_only_between() -> None:
    found, expected = {}, {}
    for key, procedure in PROCEDURES.items():
        for step in procedure.steps:
            for choice in step.choices:
                place = (key, step.name, choice.name)
                found[place] = choice.in_round
                inside = choice.name in ONLY_IN_A_ROUND
                if choice.name == "enter":  # a card of the round that the shoe judged
                    inside = key.startswith("result_")
                elif key == "exposed_while_moving":  # the shoe moves between rounds, too
                    inside = choice.name == "void"
                outside = choice.name in ONLY_BETWEEN_ROUNDS
                expected[place] = True if inside else False if outside else None
    assert found == expected


WINDOWS = {
    ("double_draw", "window"): "double_draw",
    ("double_draw", "remaining"): "double_draw_ordered",
    ("card_taken", "remaining"): "double_draw_ordered",
    ("power_failure", "window"): "power_failure",
    ("cutting_card", "window"): "cutting_card",
    ("device_reset", "window"): "device_reset",
}
"""Procedure and step → the window of the game that opens with it."""

SHOWN = {
    ("double_draw", "ordering"): "double_draw.ordered",
    ("wrong_player", "pass_on"): "wrong_player.retrieved",
    ("card_taken", "value"): "card_taken.value_known",
    ("card_taken", "first_aside"): "card_taken.two_set_aside",
    ("card_taken", "second_aside"): "card_taken.two_set_aside",
    ("card_taken", "ordering"): "double_draw.ordered",
    ("card_taken", "sort"): "card_taken.sorted",
    ("card_taken", "determine"): "card_taken.determined",
    ("card_taken", "replace"): "card_taken.replaced",
    ("power_failure", "conclude"): "power_failure.withdrawal",
    ("power_failure", "ruling"): "power_failure.ruled",
    ("device_reset", "reset"): "device_reset.reset",
}
"""Procedure and step → the clause whose number is shown with it."""

AWAITED = {
    # 5.11.1: two cards, one after the other or as one.
    ("card_taken", "first_aside"):
        "card_drawn second_aside, cards_drawn sort, cards_drawn ordering",
    ("card_taken", "second_aside"): "card_drawn sort, cards_drawn sort, cards_drawn ordering",
    ("misread", "where"): "card_drawn read_in_turn, card_drawn holds",
    ("misread", "enter"): "card_drawn read",
    ("link_lost", "ruling"): "hello resumed",
    ("device_reset", "reset"):
        "hello reset, started reset, reset_done again, reset_done cards, reset_done reset",
}  # fmt: skip
"""Procedure and step → what the shoe may answer, and where that leads."""

BY_ITSELF = {
    ("overdraw", "waiting"): "ruling seen kept",
    ("missed_draw", "correction"): "ruling",
    ("power_failure", "power"): "continue",
    ("power_failure", "take_back"): "continue",
    ("power_failure", "continue"): "power take_back ruling",
    ("card_taken", "value"): "not_due",
    ("card_taken", "first_aside"): "not_due",
    ("card_taken", "second_aside"): "not_due",
    ("card_taken", "ordering"): "not_due",
    ("card_taken", "remaining"): "not_due",
    ("card_taken", "sort"): "not_due",
    ("card_taken", "determine"): "not_due",
    ("card_taken", "replace"): "not_due",
}
"""Procedure and step → where the table itself may take it, by what is revealed."""

BEGINS = {
    "face_up_in_shoe": "first_card",
    "double_draw": "name",
    "overdraw": "waiting ruling",
    "missed_draw": "correction",
    "power_failure": "continue take_back ruling",
    "cutting_card": "allow window",
    "misread": "enter",
    "gap": "counts",
    "table_differential": "ruling",
    "other": "entry_differs",
    "device_reset": "ruling",
}
"""Procedure → the steps at which it may begin, besides the first."""

OF_CARDS = """
    wrong_order double_draw overdraw missed_draw wrong_player card_taken misread
    result_disagrees result_missing"""
"""Procedures that are about cards of the round, and end with them."""


def test_a_step_opens_its_window_shows_its_rule_and_awaits_the_shoe() -> None:
    found = {(key, step.name): step for key, each in PROCEDURES.items() for step in each.steps}
    assert {place: step.window for place, step in found.items() if step.window} == WINDOWS
    assert {place: ".".join(s.cites) for place, s in found.items() if s.cites} == SHOWN
    awaited = {
        place: ", ".join(f"{each.trigger} {each.leads_to}" for each in step.accepts)
        for place, step in found.items()
        if step.accepts
    }
    assert awaited == AWAITED
    assert {place: " ".join(s.automatic) for place, s in found.items() if s.automatic} == BY_ITSELF


SAYS_MORE = """
    wrong_order.ruling double_draw.window double_draw.reconstruct double_draw.remaining
    double_draw.lay wrong_player.look wrong_player.pass_on holder_absent.ruling card_taken.value
    card_taken.first_aside card_taken.second_aside card_taken.ordering card_taken.remaining
    card_taken.sort card_taken.determine card_taken.replace power_failure.power
    power_failure.take_back power_failure.window power_failure.continue power_failure.ruling
    cutting_card.window link_lost.ruling gap.ruling gap.counts table_differential.changing
    table_differential.removing table_differential.ruling device_reset.window device_reset.reset"""
"""Steps whose prompt comes with what the room can see: who has answered, which places are empty,
how many cards are missing, what was established."""


def test_a_prompt_comes_with_what_the_room_can_see_of_it() -> None:
    found = [
        f"{key}.{step.name}"
        for key, each in PROCEDURES.items()
        for step in each.steps
        if step.facts is not no_facts
    ]
    assert found == SAYS_MORE.split()


def test_two_cards_are_armed_for_while_a_players_cards_are_gone_and_none_elsewhere() -> None:
    armed = {
        (key, step.name)
        for key, each in PROCEDURES.items()
        for step in each.steps
        if step.arms_slot is not no_draw
    }
    assert armed == {("card_taken", "first_aside"), ("card_taken", "second_aside")}


CONTRADICTED = {("double_draw", "name"), ("card_taken", "value"), ("misread", "enter")}
"""Where people name a card that the shoe read: if they differ, somebody decides who is right."""


def test_what_people_say_against_the_shoe_is_noticed_wherever_both_may_know_the_card() -> None:
    found = {
        (key, step.name)
        for key, each in PROCEDURES.items()
        for step in each.steps
        for choice in step.choices
        if choice.contradicts is not never
    }
    assert found == CONTRADICTED


def test_a_procedure_begins_at_its_first_step_or_at_those_that_are_named() -> None:
    found = {key: " ".join(each.begins) for key, each in PROCEDURES.items() if each.begins}
    assert found == BEGINS


def test_what_is_about_the_cards_ends_with_them_and_a_secret_stays_one() -> None:
    found = PROCEDURES.items()
    assert {key for key, each in found if each.of_cards} == {*OF_CARDS.split()}
    clears = {(key, end.name) for key, each in found for end in each.ends if end.clears_cards}
    assert clears == {("device_reset", "aside")}
    # What only the value of a card tells is inspected without a word of it to the room.
    assert {key for key, each in found if each.inspection} == {"foreign_card", "extra_card"}
    assert {k: e.public_key for k, e in found if e.public_key} == {
        "overdraw": "drawn_early", "foreign_card": "inspection", "extra_card": "inspection",
    }  # fmt: skip
    covers = {key: each.covers for key, each in found if each.covers}
    assert covers == {"power_failure": ("link_lost",), "gap": ("link_lost",)}
    assert {key for key, each in found if each.pause} == {"review", "storage_fault"}


def test_what_no_rule_covers_is_the_gaming_shift_managers_to_decide() -> None:
    for name in catalog.shipped():
        royal = name == "dragon_bonus_royal"
        assert catalog.load(name).decides == (None if royal else "gaming_shift_manager")
