"""What follows from each message in each situation: the expected table, written by another hand.

Whoever wrote it knew the rule documents, the readings and the reasons, not the tables. A row says
which state the table is in when the input is handled, and every event of it in order.
Each is played for real, from a start, by inputs alone (``shoe_testing.table_lines``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import pytest

from shoe_ctl.records import Audience
from shoe_ctl.table.effects import TableEvent
from shoe_testing import table_lines
from shoe_testing.table_lines import Play
from simulators.table.expectation import Told, flat, pattern

SECRET = "secret "
"""Before an event of the restricted stream. All others are public; their data are compared as the
restricted stream has them."""


class Row(NamedTuple):
    """The state afterwards, None for the one before; and the events, as scenarios name them."""

    state: str | None
    events: tuple[str, ...]


def stays(*events: str) -> Row:
    """The state is the one before."""
    return Row(None, events)


def goes(state: str, *events: str) -> Row:
    """The table is in this state."""
    return Row(state, events)


def adds(key: str, seen: str, *before: str, step: str = "ruling") -> Row:
    """It is halted already, and this irregularity lies on top: it is decided first."""
    return Row(None, (*before, raised(key, seen, step)))


def halts(
    key: str, seen: str, *before: str, step: str = "ruling", then: tuple[str, ...] = ()
) -> Row:
    """It is halted for this irregularity, for what was seen, at this step."""
    events = (*before, raised(key, seen, step), f"table.halted reason={key}", *then)
    return Row("suspended", events)


def raised(key: str, seen: str, step: str = "ruling") -> str:
    """This irregularity is raised for what was seen, and begins at this step."""
    return f"irregularity.raised key={key} step={step} seen.code=seen_{seen}"


NINE = (
    "no_shoe", "between", "betting", "closed", "cards", "resolved",
    "halted", "halted_closed", "halted_cards",
)  # fmt: skip
"""The situations."""

NEVER = {("left_over", "no_shoe"), ("left_over", "closed")}
"""What does not come up: cards that are left over lie in a later situation by then."""


MESSAGES: dict[str, dict[str, Row]] = {
    "link_lost": {
        "no_shoe": stays(),
        "between betting closed resolved halted halted_closed halted_cards": stays("shoe.lost"),
        "cards": halts("link_lost", "link_lost", "shoe.lost"),
    },
    "link_lost.unheard": {
        "no_shoe": stays(),
        "between betting closed resolved halted halted_closed": stays("shoe.lost"),
        "cards": halts("link_lost", "link_lost", "shoe.lost"),
        "halted_cards": adds("link_lost", "link_lost", "shoe.lost"),
    },
    "restarted": {
        "no_shoe": stays("table.started"),
        "between betting closed resolved halted halted_closed halted_cards": stays(
            "table.started", "shoe.lost"
        ),
        "cards": halts("link_lost", "restarted_in_round", "table.started", "shoe.lost"),
    },
    "restarted.unheard": {
        "no_shoe": stays("table.started"),
        "between betting closed resolved halted halted_closed": stays("table.started", "shoe.lost"),
        "cards": halts("link_lost", "restarted_in_round", "table.started", "shoe.lost"),
        "halted_cards": adds("link_lost", "restarted_in_round", "table.started", "shoe.lost"),
    },
    "restarted.power": {
        "no_shoe": stays("table.started"),
        "between betting resolved halted": stays("table.started", "shoe.lost"),
        "closed cards": halts(
            "power_failure", "host_power_lost", "table.started", "shoe.lost", step="power"
        ),
        "halted_closed halted_cards": adds(
            "power_failure", "host_power_lost", "table.started", "shoe.lost", step="power"
        ),
    },
    "tick": {
        "no_shoe between betting closed resolved halted halted_closed halted_cards": stays(),
        "cards": stays(
            "round.card_revealed hand=player index=1",
            "round.card_revealed hand=banker index=1",
            "round.card_revealed hand=player index=2",
            "round.card_revealed hand=banker index=2",
        ),
    },
    "hello": {
        "no_shoe": stays("shoe.connected identified=true"),
        "between betting closed cards resolved halted halted_closed halted_cards": stays(),
    },
    "hello.another_set": {
        "no_shoe": goes("idle", "shoe.connected identified=true", "shoe.loaded set_id=set-1"),
        "between": goes("idle", "shoe.loaded set_id=set-2"),
        "betting closed cards": halts("other", "another_set"),
        "resolved halted halted_closed": stays(),
        "halted_cards": adds("other", "another_set"),
    },
    "shoe_loaded": {
        "no_shoe": goes("idle", "shoe.loaded set_id=set-2"),
        "between": goes("idle", "shoe.loaded set_id=set-2"),
        "betting closed cards": halts("other", "set_loaded"),
        "resolved halted halted_closed": stays(),
        "halted_cards": adds("other", "set_loaded"),
    },
    "started": {
        "no_shoe between betting resolved halted": stays(),
        "closed cards": halts(
            "power_failure",
            "shoe_started_again",
            "shoe.not_aligned until=first_card_or_align",
            step="power",
        ),
        "halted_closed halted_cards": adds(
            "power_failure",
            "shoe_started_again",
            "shoe.not_aligned until=first_card_or_align",
            step="power",
        ),
    },
    "gap": {
        "no_shoe": stays(),
        "between betting closed cards resolved": halts("gap", "events_lost"),
        "halted halted_closed halted_cards": adds("gap", "events_lost"),
    },
    "card_pushed_back": {
        "no_shoe between betting resolved halted": stays(),
        "closed cards": halts("order_altered", "pushed_back"),
        "halted_closed halted_cards": adds("order_altered", "pushed_back"),
    },
    "card_outside_game": {
        "no_shoe": stays(),
        "between halted halted_closed halted_cards": stays(
            "secret round.card_drawn hand=set_aside card=9S placed=false"
        ),
        "betting closed cards resolved": halts(
            "other",
            "drawn_outside",
            then=("secret round.card_drawn hand=set_aside card=9S placed=false",),
        ),
    },
    "redesignated": {
        "no_shoe between halted halted_closed halted_cards": stays(),
        "betting closed cards resolved": halts("other", "card_moved"),
    },
    # Once the outcome stands it was compared, or people have overruled the shoe.
    "result": {
        "no_shoe between betting closed resolved halted halted_closed halted_cards": stays(
            "secret frame.discarded reason=result_not_awaited"
        ),
        "cards": stays(),
    },
    "error": {
        "no_shoe between betting resolved halted halted_closed halted_cards": stays(
            "shoe.fault code=button_mishandled"
        ),
        "closed cards": halts("other", "shoe_fault", "shoe.fault code=button_mishandled"),
    },
    # Without cards out the shoe's place is uncertain and people are told, as after a lost link,
    # which halts nothing then. A gap at a shoe that numbers its events does halt.
    "error.at_a_card": {
        "no_shoe": stays("shoe.fault code=E9"),
        "between resolved halted halted_closed": stays(
            "shoe.fault code=E9", "shoe.not_aligned until=align"
        ),
        "betting": halts("gap", "illegible", "shoe.fault code=E9"),
        "closed cards": halts("other", "shoe_fault", "shoe.fault code=E9"),
        "halted_cards": adds("gap", "illegible", "shoe.fault code=E9"),
    },
    # As for an error at a card.
    "discarded.a_card": {
        "no_shoe between resolved halted halted_closed": stays(
            "secret frame.discarded reason=line", "shoe.not_aligned until=align"
        ),
        "betting closed cards": halts("gap", "illegible", "secret frame.discarded reason=line"),
        "halted_cards": adds("gap", "illegible", "secret frame.discarded reason=line"),
    },
    # From *no more bets* on, wagers are fixed (5.4, 5.5) and cards are not.
    "lid.opened": {
        "no_shoe between betting resolved halted halted_closed halted_cards": stays(
            "secret shoe.noted what=lid open=true"
        ),
        "closed cards": halts("other", "shoe_opened", "secret shoe.noted what=lid open=true"),
    },
    # Before *no more bets* no wager depends on the cards yet, and after the outcome none any more.
    "tamper": {
        "no_shoe between betting resolved halted halted_closed halted_cards": stays(
            "shoe.fault code=tamper"
        ),
        "closed cards": halts("other", "shoe_tampered", "shoe.fault code=tamper"),
    },
    "self_test.failed": {
        "no_shoe between betting resolved halted halted_closed halted_cards": stays(
            "shoe.fault code=self_test"
        ),
        "closed cards": halts("other", "shoe_test_failed", "shoe.fault code=self_test"),
    },
    # After *no more bets* a reset of the shoe's own is ruled on (6.1), cards out or not.
    "reset_done": {
        "no_shoe between betting resolved halted halted_closed halted_cards": stays(),
        "closed cards": halts("other", "shoe_reset"),
    },
    "not_genuine": {
        "no_shoe between betting closed resolved halted halted_closed halted_cards": stays(
            "shoe.refused reason=wrong_key"
        ),
        "cards": halts("other", "shoe_not_proved", "shoe.refused reason=wrong_key"),
    },
    "firmware.refused": {
        "no_shoe between betting closed resolved halted halted_closed halted_cards": stays(
            "shoe.fault code=unknown_firmware"
        ),
        "cards": halts("other", "firmware_not_allowed", "shoe.fault code=unknown_firmware"),
    },
    # A halt names the message that came: nothing was discarded.
    "unforeseen": {
        "no_shoe halted halted_closed halted_cards": stays(
            "secret frame.discarded reason=not_foreseen"
        ),
        "between betting closed cards resolved": halts("other", "unforeseen_event"),
    },
    "left_over": {
        "between betting resolved": stays(
            "irregularity.resolved key=double_draw how=reconstructed rule=5.8",
            "table.resumed",
            raised("overdraw", "drawn_early"),
            "table.halted reason=overdraw",
            raised("overdraw", "drawn_early"),
        ),
        "cards": goes(
            "revealing",
            "round.card_dealt hand=banker index=2",
            "secret round.card_drawn hand=banker index=2 card=TH",
            "irregularity.resolved key=double_draw how=reconstructed rule=5.8",
            "table.resumed",
            raised("overdraw", "drawn_early", "waiting"),
        ),
        "halted": stays(
            "irregularity.resolved key=double_draw how=reconstructed rule=5.8",
            "irregularity.step key=unshuffled step=ruling",
            raised("overdraw", "drawn_early"),
            raised("overdraw", "drawn_early"),
        ),
        "halted_closed": adds(
            "overdraw",
            "drawn_early",
            "irregularity.resolved key=double_draw how=reconstructed rule=5.8",
            "irregularity.step key=overdraw step=ruling",
            step="waiting",
        ),
        "halted_cards": adds(
            "overdraw",
            "drawn_early",
            "round.card_dealt hand=banker index=2",
            "secret round.card_drawn hand=banker index=2 card=TH",
            "irregularity.resolved key=double_draw how=reconstructed rule=5.8",
            "irregularity.step key=unshuffled step=ruling",
            step="waiting",
        ),
    },
}
"""Message → situations → what follows."""

ALONE: dict[str, Row] = {
    "link_up": stays(),
    "link_up.first_set": goes(
        "idle",
        "shoe.connected identified=false",
        "shoe.not_aligned until=first_card_or_align",
        "shoe.loaded",
    ),
    "link_lost.shoe_sorted": stays("shoe.lost"),
    "line_suspended": stays("shoe.line_suspended reason=garbage"),
    "line_resumed": stays("shoe.line_resumed"),
    "hearing_lost": stays("shoe.hearing_lost"),
    "hearing_restored": stays("shoe.hearing_restored"),
    "tick.result_overdue": halts("result_missing", "no_result"),
    "tick.cards_seen": stays(
        "round.card_revealed hand=player index=1", "round.card_revealed hand=banker index=1"
    ),
    "fault": halts("other", "fault"),
    "storage_restored": goes("suspended", "outage.opened", "table.halted reason=storage_fault"),
    "delivery_parked": stays("delivery.parked"),
    "delivery_taken": stays("delivery.taken"),
    "delivery_lost": stays("delivery.lost"),
    "delivery_refilled": stays("delivery.refilled"),
    "commands_refused": stays("secret command.unrecorded"),
    "disk_checked": stays("secret disk.filling"),
    "outcome_applied": stays("outcome.applied"),
    "shoe_stated": stays("shoe.reconciled agrees=false what=not_stated"),
    "door_noted": stays("secret login.refused"),
    "notes_refused": stays("secret login.unrecorded"),
    "not_told": stays(),
    "hello.answers_step": goes(
        "dealing",
        "shoe.connected identified=true",
        "irregularity.resolved key=link_lost how=link_is_back",
        "table.resumed",
    ),
    "hello.shoe_sorted": stays(),
    "hello.rebooted": halts("power_failure", "shoe_power_lost", step="power"),
    "hello.cards_missed": halts("gap", "cards_missed"),
    "hello.fewer_cards": adds(
        "gap", "counts_differ", "shoe.connected identified=true", step="counts"
    ),
    "shoe_loaded.known": stays(),
    "shoe_loaded.shoe_sorted": stays(),
    "started.new_shoe": goes("idle", "shoe.loaded"),
    "started.answers_step": stays(
        "shoe.not_aligned until=first_card_or_align",
        "irregularity.step key=device_reset step=reset",
    ),
    "set.unlike": stays(
        "irregularity.resolved key=table_differential how=decreased rule=5.18.1",
        "table.resumed",
        raised("other", "another_set"),
        "table.halted reason=other",
    ),
    "cutting_card": stays(
        "irregularity.raised key=cutting_card seen.code=seen_cutting_card_in_round",
        "irregularity.resolved key=cutting_card how=removed rule=3.22",
    ),
    "cutting_card.no_shoe": stays(),
    "cutting_card.first": halts("cutting_card", "cutting_card_first", step="allow"),
    "card.no_card": stays(),
    "card.repeated": stays(),
    "card.disputed": halts(
        "other", "record_differs", "secret round.entry_compared entered=TS card=9C"
    ),
    "card.entered": stays("secret round.entry_compared entered=TS card=TS"),
    "card.answers_step": stays(
        "round.card_dealt hand=set_aside index=1",
        "secret round.card_drawn hand=set_aside index=1 card=4C",
        "irregularity.step key=card_taken step=second_aside",
    ),
    "card.read_late": stays(
        "secret round.card_drawn hand=banker index=1 card=3C",
        "irregularity.resolved key=misread how=read_by_shoe rule=6.3",
    ),
    "card.armed_before": stays(
        "round.card_dealt hand=player index=2",
        "secret round.card_drawn hand=player index=2 card=TS",
    ),
    "card.armed_until_now": stays("secret round.card_drawn card=TS placed=false"),
    "card.first_in_pause": stays(
        raised("overdraw", "drawn_unarmed", "waiting"),
        "irregularity.resolved key=overdraw how=kept rule=5.7",
        "secret round.card_drawn card=4C placed=false",
    ),
    "card.undecided_in_pause": stays(
        raised("overdraw", "drawn_early", "waiting"), "secret round.card_drawn card=4C placed=false"
    ),
    "card.in_pause": stays(
        raised("overdraw", "drawn_early"), "secret round.card_drawn card=4C placed=false"
    ),
    "card.in_halt": stays("secret round.card_drawn card=4C placed=false"),
    "card.without_shoe": halts(
        "other", "drawn_without_shoe", then=("secret round.card_drawn card=4C placed=false",)
    ),
    "card.unarmed": stays(
        raised("overdraw", "drawn_unarmed", "waiting"),
        "irregularity.resolved key=overdraw how=kept rule=5.7",
        "round.card_dealt hand=player index=2",
        "secret round.card_drawn hand=player index=2 card=TS",
    ),
    "card.burned": stays("secret round.card_drawn hand=burn card=9S placed=false"),
    "card.of_missed_round": stays(
        "secret round.card_drawn hand=banker index=2 card=9S placed=false"
    ),
    "card.set_aside": stays(
        "round.card_dealt hand=set_aside index=2",
        "secret round.card_drawn hand=set_aside index=2 card=5D",
    ),
    "card.early_undecided": stays(
        raised("overdraw", "drawn_early", "waiting"), "secret round.card_drawn card=4C placed=false"
    ),
    "card.early": halts(
        "overdraw", "drawn_early", then=("secret round.card_drawn card=4C placed=false",)
    ),
    "card.misfit": goes(
        "suspended",
        "secret irregularity.raised key=foreign_card step=ruling seen.code=seen_foreign_card",
        "table.halted reason=foreign_card",
        "secret round.card_drawn card=4f placed=false",
    ),
    "pull": halts(
        "double_draw",
        "drawn_together",
        step="order",
        then=(
            "secret round.card_drawn card=TS placed=false",
            "secret round.card_drawn card=TH placed=false",
        ),
    ),
    "pull.answers_step": stays(
        "round.card_dealt hand=set_aside index=1",
        "secret round.card_drawn hand=set_aside index=1 card=4C",
        "round.card_dealt hand=set_aside index=2",
        "secret round.card_drawn hand=set_aside index=2 card=5D",
        "irregularity.step key=card_taken step=sort",
    ),
    "card_outside_game.objected": stays(
        "secret round.card_drawn hand=set_aside card=4C placed=false"
    ),
    "card_outside_game.undecided": stays(
        raised("overdraw", "drawn_early", "waiting"),
        "secret round.card_drawn hand=set_aside card=4C placed=false",
    ),
    "redesignated.anew": halts(
        "other", "hand_dealt_again", "shoe.not_aligned until=first_card_or_align"
    ),
    "redesignated.early_card": stays("secret irregularity.step key=overdraw step=placed_by_shoe"),
    "redesignated.agrees": stays(),
    # The shoe did say something, and it is not what the cards say.
    "result.forced": halts("result_disagrees", "round_quit"),
    "result.too_soon": halts("result_disagrees", "result_too_early"),
    "error.known": stays("shoe.fault code=cannot_read"),
    "error.overdraw_undecided": stays(
        "secret shoe.fault code=overdraw", raised("overdraw", "drawn_early", "waiting")
    ),
    "error.overdraw": halts("overdraw", "drawn_early", "secret shoe.fault code=overdraw"),
    "error.unread_card": halts(
        "misread", "shoe_cannot_read", "shoe.fault code=cannot_read", step="where"
    ),
    "error.reverse_run": halts("order_altered", "ran_back", "shoe.fault code=reverse_run"),
    "status": stays(),
    "status.counts_differ": halts("gap", "counts_differ", step="counts"),
    "status.arm_taken": stays("shoe.arm_taken"),
    "reply.refused": stays("shoe.arm_refused reason=locked_by_key"),
    "reset.answers_step": goes(
        "betting",
        "shoe.answered command=reset",
        "irregularity.resolved key=device_reset how=betting_again rule=5.9",
        "table.resumed",
    ),
    "paused": goes("suspended", "review.opened", "table.halted reason=review"),
    "irregularity_declared": halts("wrong_player", "by_person", step="look"),
    # It was raised as the card was dealt, and halts now.
    "unread_exposed": goes(
        "suspended",
        "round.card_revealed hand=banker index=2",
        "irregularity.step key=misread step=enter",
        "table.halted reason=misread",
    ),
    "drawn_together": halts(
        "double_draw",
        "drawn_together",
        "round.opened inferred=true",
        "round.bets_closed inferred=true",
        step="order",
        then=(
            "secret round.card_drawn card=2D placed=false",
            "secret round.card_drawn card=3C placed=false",
        ),
    ),
    "face_up_first": halts(
        "face_up_in_shoe",
        "face_up_in_shoe",
        "round.card_dealt hand=player index=1",
        "secret round.card_drawn hand=player index=1 card=2D",
        step="first_card",
    ),
    "card_unread": stays(
        "round.card_dealt hand=banker index=1",
        "secret round.card_drawn hand=banker index=1",
        raised("misread", "card_not_read", "enter"),
    ),
    "card_unread.shown": halts(
        "misread",
        "card_not_read",
        "round.card_dealt hand=player index=2",
        "secret round.card_drawn hand=player index=2",
        step="enter",
    ),
    "one_too_many": stays(
        "irregularity.resolved key=misread how=entered rule=6.3",
        "secret round.card_entered",
        "round.card_revealed hand=player index=1",
        "table.resumed",
        "secret irregularity.raised key=extra_card step=ruling seen.code=seen_too_many_counted",
        "table.halted reason=extra_card",
    ),
    # It was raised as the card was drawn, and halts now.
    "third_card.contested": goes(
        "suspended",
        "round.total_announced hand=player",
        "round.total_announced hand=banker",
        "irregularity.step key=overdraw step=ruling",
        "table.halted reason=overdraw",
    ),
    "third_card.judged": halts(
        "result_disagrees",
        "result_too_early",
        "round.total_announced hand=player",
        "round.total_announced hand=banker",
    ),
    # It was raised as the card was drawn, and halts now.
    "overdrawn": goes(
        "suspended",
        "round.total_announced hand=player",
        "round.total_announced hand=banker",
        "irregularity.step key=overdraw step=ruling",
        "table.halted reason=overdraw",
    ),
    # Exposed, they never open a round.
    "overdrawn.after_outcome": goes(
        "suspended",
        "round.card_corrected",
        "secret round.card_entered",
        "round.total_announced hand=player",
        "round.total_announced hand=banker",
        "round.card_moved",
        "round.card_moved",
        raised("overdraw", "drawn_not_due", "waiting"),
        raised("overdraw", "drawn_not_due", "waiting"),
        "round.revised",
        "irregularity.step key=overdraw step=seen",
        "table.halted reason=overdraw",
        "irregularity.step key=overdraw step=seen",
    ),
    "outcome.disputed": halts("result_disagrees", "result_differs"),
    "differential_due": halts(
        "table_differential", "differential_exceeded", "round.bets_closed", step="changing"
    ),
    "count_disagrees": halts(
        "missing_card_in_shoe", "too_few_cards_left", "shoe.counted left=3 agrees=false"
    ),
    "left_over.none": goes(
        "revealing",
        "irregularity.resolved key=double_draw how=ordered rule=5.8.2.2",
        "table.resumed",
        raised("double_draw", "card_of_a_pull", "name"),
    ),
    "opening.none": goes("closed", "round.bets_closed"),
    "deal.goes_on": goes(
        "revealing",
        "review.closed",
        "table.resumed",
        "round.card_dealt hand=banker index=2",
        "secret round.card_drawn hand=banker index=2 card=TH",
    ),
}
"""Message, case or finding that does not depend on the situation → what follows."""

ANSWERS: dict[str, Row] = {
    "error_cleared": stays("shoe.cleared code=button_mishandled"),
    "discarded": stays("secret frame.discarded reason=bcc"),
    "reply": stays(),
    "lid": stays("secret shoe.noted what=lid open=false"),
    "button": stays("secret shoe.noted what=button"),
    "shoe_empty": stays("secret shoe.noted what=shoe_empty"),
    "self_test": stays(),
    "power_low": stays("shoe.fault code=power_low"),
    "power_restored": stays("shoe.cleared code=power_low"),
    "unknown_firmware": stays("shoe.fault code=unknown_firmware"),
    "warning": stays("secret shoe.fault code=W0x01"),
    "query_answered": stays(),
    "key_rotated": stays(),
    "command_unanswered": stays(),
    "challenged": stays(),
    "authenticated": stays(),
    "standby": stays(),
    "lock": stays(),
    "preset_changed": stays(),
    "repeated": stays(),
}
"""What the shoe says of itself, or answers → what follows at any time."""

ROUND: dict[tuple[str, str], Row] = {
    ("no_shoe", "set.admitted"): goes("idle", "shoe.loaded set_id=set-1"),
    ("no_shoe", "set.refused"): stays(
        "irregularity.raised key=other seen.code=seen_set_refused",
        "irregularity.resolved key=other how=set_refused",
    ),
    ("no_shoe", "set.taken_out"): stays(),
    ("idle", "place_your_bets"): goes(
        "betting", "irregularity.step key=after_void step=cards how=cards_kept", "round.opened"
    ),
    ("idle", "first_wager"): goes(
        "betting",
        "irregularity.step key=after_void step=cards how=cards_kept",
        "round.opened inferred=true",
        "wager.accepted act=placed wager=player",
    ),
    ("idle", "card.in_turn"): goes(
        "dealing",
        "round.opened inferred=true",
        "round.bets_closed inferred=true",
        "round.card_dealt hand=player index=1",
        "secret round.card_drawn hand=player index=1 card=4C",
        "round.card_dealt hand=banker index=1",
        "secret round.card_drawn hand=banker index=1 card=9D",
    ),
    ("idle", "pull.opens_round"): halts(
        "double_draw",
        "drawn_together",
        "irregularity.step key=after_void step=cards how=cards_kept",
        "round.opened inferred=true",
        "round.bets_closed inferred=true",
        step="order",
        then=(
            "secret round.card_drawn card=TH placed=false",
            "secret round.card_drawn card=9D placed=false",
        ),
    ),
    ("idle", "cards_placed"): goes(
        "dealing",
        "review.closed",
        "table.resumed",
        "round.opened inferred=true",
        "round.bets_closed inferred=true",
        "round.card_dealt hand=player index=1",
        "secret round.card_drawn hand=player index=1 card=4C",
    ),
    ("idle", "change_shoe"): goes(
        "shoe_change",
        "shoe.change_due",
        "irregularity.step key=overdraw step=set_aside_no_further_round",
    ),
    ("idle", "change_due"): goes(
        "shoe_change",
        "secret round.card_drawn hand=burn card=9S placed=false",
        "shoe.change_due",
        "irregularity.step key=overdraw step=set_aside_no_further_round",
    ),
    ("idle", "change_decided"): goes(
        "shoe_change",
        "irregularity.resolved key=after_void how=cards_replaced rule=5.13",
        "shoe.change_due",
    ),
    ("idle", "set.admitted"): stays(
        "irregularity.step key=after_void step=cards how=cards_replaced", "shoe.loaded set_id=set-2"
    ),
    ("idle", "set.refused"): goes(
        "no_shoe",
        "irregularity.step key=after_void step=cards how=cards_replaced",
        "irregularity.raised key=other seen.code=seen_set_refused",
        "irregularity.resolved key=other how=set_refused",
    ),
    ("idle", "set.taken_out"): goes(
        "no_shoe", "irregularity.step key=after_void step=cards how=cards_replaced"
    ),
    ("betting", "no_more_bets"): halts(
        "table_differential", "differential_exceeded", "round.bets_closed", step="changing"
    ),
    ("betting", "card.in_turn"): halts(
        "table_differential",
        "differential_exceeded",
        "round.bets_closed inferred=true",
        "round.card_dealt hand=player index=1",
        "secret round.card_drawn hand=player index=1 card=2D",
        "round.card_revealed hand=player index=1",
    ),
    ("betting", "pull.opens_round"): halts(
        "double_draw",
        "drawn_together",
        "round.bets_closed inferred=true",
        step="order",
        then=(
            "secret round.card_drawn card=2D placed=false",
            "secret round.card_drawn card=3C placed=false",
            raised("table_differential", "differential_exceeded"),
        ),
    ),
    ("betting", "cards_placed"): goes(
        "dealing",
        "review.closed",
        "table.resumed",
        "round.bets_closed inferred=true",
        "round.card_dealt hand=player index=1",
        "secret round.card_drawn hand=player index=1 card=2D",
    ),
    ("betting", "deal.ran_out"): goes(
        "shoe_change",
        "irregularity.resolved key=other how=play_on rule=6.1",
        "table.resumed",
        "irregularity.raised key=insufficient_cards seen.code=seen_shoe_empty",
        "round.void rule=5.3",
        "irregularity.resolved key=insufficient_cards how=void rule=5.3",
        "shoe.change_due",
    ),
    ("closed", "card.in_turn"): goes(
        "dealing",
        "round.card_dealt hand=player index=1",
        "secret round.card_drawn hand=player index=1 card=2D",
    ),
    ("closed", "opening_due"): goes(
        "dealing",
        "round.bets_closed",
        "round.card_dealt hand=player index=1",
        "secret round.card_drawn hand=player index=1 card=4C",
    ),
    ("closed", "cards_placed"): goes(
        "dealing",
        "review.closed",
        "table.resumed",
        "round.card_dealt hand=player index=1",
        "secret round.card_drawn hand=player index=1 card=2D",
    ),
    ("closed", "deal.ran_out"): goes(
        "shoe_change",
        "irregularity.resolved key=other how=play_on rule=6.1",
        "table.resumed",
        "irregularity.raised key=insufficient_cards seen.code=seen_shoe_empty",
        "round.void rule=5.3",
        "irregularity.resolved key=insufficient_cards how=void rule=5.3",
        "shoe.change_due",
    ),
    ("dealing", "card.in_turn"): stays(
        "round.card_dealt hand=player index=2",
        "secret round.card_drawn hand=player index=2 card=TS",
    ),
    ("dealing", "card.fourth"): goes(
        "revealing",
        "round.card_dealt hand=banker index=2",
        "secret round.card_drawn hand=banker index=2 card=TH",
    ),
    ("dealing", "deal.ran_out"): goes(
        "shoe_change",
        "round.card_dealt hand=banker index=1",
        "secret round.card_drawn hand=banker index=1 card=7C",
        "irregularity.raised key=insufficient_cards seen.code=seen_shoe_empty",
        "round.void rule=5.3",
        "irregularity.resolved key=insufficient_cards how=void rule=5.3",
        "shoe.change_due",
    ),
    ("dealing", "cards_placed"): goes(
        "dealing",
        "review.closed",
        "table.resumed",
        "round.card_dealt hand=player index=2",
        "secret round.card_drawn hand=player index=2 card=TS",
    ),
    ("dealing", "correct_card"): stays("round.card_corrected", "secret round.card_entered"),
    ("dealing", "card_corrected"): stays("round.card_corrected", "secret round.card_entered"),
    ("revealing", "third_card_due"): goes(
        "drawing", "round.total_announced hand=player", "round.total_announced hand=banker"
    ),
    ("revealing", "third_card.early"): stays(
        "round.total_announced hand=player",
        "round.total_announced hand=banker",
        "irregularity.resolved key=overdraw how=kept rule=5.7",
        "round.card_dealt hand=player index=3",
        "secret round.card_drawn hand=player index=3 card=4C",
    ),
    ("revealing", "third_card.aside"): stays(
        "round.total_announced hand=player",
        "round.total_announced hand=banker",
        "round.card_dealt hand=player index=3",
        "secret round.card_drawn hand=player index=3 card=4C",
    ),
    ("revealing", "third_card.ran_out"): goes(
        "shoe_change",
        "round.total_announced hand=player",
        "round.total_announced hand=banker",
        "irregularity.raised key=insufficient_cards seen.code=seen_shoe_empty",
        "round.void rule=5.3",
        "irregularity.resolved key=insufficient_cards how=void rule=5.3",
        "shoe.change_due",
    ),
    ("revealing", "outcome_due"): goes("resolved", "round.outcome winner=tie"),
    ("revealing", "correct_card"): stays("round.card_corrected", "secret round.card_entered"),
    ("revealing", "card_corrected"): goes(
        "idle",
        "round.card_corrected",
        "secret round.card_entered",
        "round.total_announced hand=player",
        "round.total_announced hand=banker",
        "round.outcome winner=player",
        "round.settled inferred=true",
    ),
    ("drawing", "card.in_turn"): goes(
        "revealing",
        "round.card_dealt hand=player index=3",
        "secret round.card_drawn hand=player index=3 card=4C",
    ),
    ("drawing", "cards_placed"): goes(
        "revealing",
        "review.closed",
        "table.resumed",
        "round.card_dealt hand=player index=3",
        "secret round.card_drawn hand=player index=3 card=4C",
    ),
    ("drawing", "correct_card"): stays(
        "round.card_corrected",
        "secret round.card_entered",
        "round.total_announced hand=player",
        "round.total_announced hand=banker",
    ),
    ("resolved", "settle"): goes("idle", "round.settled"),
    ("resolved", "round_over"): goes(
        "idle",
        "round.card_revealed hand=player index=1",
        "round.card_revealed hand=banker index=1",
        "round.card_revealed hand=player index=2",
        "round.card_revealed hand=banker index=2",
        "round.total_announced hand=player",
        "round.total_announced hand=banker",
        "round.outcome winner=tie",
        "round.settled inferred=true",
    ),
    ("resolved", "correct_card"): stays(
        "round.card_corrected",
        "secret round.card_entered",
        "round.total_announced hand=player",
        "round.total_announced hand=banker",
        "round.revised",
    ),
    ("resolved", "card_corrected"): stays(
        "round.card_corrected",
        "secret round.card_entered",
        "round.total_announced hand=player",
        "round.total_announced hand=banker",
        "round.revised",
    ),
    ("resolved", "card_corrected.card_due"): goes(
        "drawing",
        "round.card_corrected",
        "secret round.card_entered",
        "round.total_announced hand=player",
        "round.total_announced hand=banker",
        "round.reopened",
    ),
    ("suspended", "halt_ended"): goes(
        "dealing", "irregularity.resolved key=unshuffled how=play_on", "table.resumed"
    ),
    ("suspended", "round_voided"): goes(
        "idle",
        "round.void rule=5.1",
        "irregularity.resolved key=unshuffled how=void rule=5.1",
        "table.resumed",
        "irregularity.step key=after_void step=cards",
    ),
    # The entry shows a card too many in the course of the round, which may be void (5.1.1): nothing
    # is paid before that is decided.
    ("suspended", "round_over"): stays(
        "irregularity.resolved key=other how=entered_by_hand rule=6.1",
        "table.resumed",
        "secret round.entered",
        "round.card_dealt hand=banker index=1",
        "secret round.card_drawn hand=banker index=1 card=3C",
        "round.card_dealt hand=player index=2",
        "secret round.card_drawn hand=player index=2 card=TS",
        "round.card_dealt hand=banker index=2",
        "secret round.card_drawn hand=banker index=2 card=TH",
        "round.card_dealt hand=player index=3",
        "secret round.card_drawn hand=player index=3 card=4C",
        "round.card_dealt hand=banker index=3",
        "secret round.card_drawn hand=banker index=3 card=5D",
        "round.card_revealed hand=player index=1",
        "round.card_revealed hand=banker index=1",
        "round.card_revealed hand=player index=2",
        "round.card_revealed hand=banker index=2",
        "round.card_revealed hand=player index=3",
        "round.card_revealed hand=banker index=3",
        "round.total_announced hand=player",
        "round.total_announced hand=banker",
        "shoe.not_aligned until=first_card_or_align",
        "round.outcome winner=banker",
        "secret irregularity.raised key=extra_card step=ruling seen.code=seen_too_many_counted",
        "table.halted reason=extra_card",
    ),
    ("suspended", "round_entered"): goes(
        "resolved",
        "irregularity.resolved key=unshuffled how=entered_by_hand rule=6.1",
        "table.resumed",
        "secret round.entered",
        "round.card_dealt hand=player index=2",
        "secret round.card_drawn hand=player index=2 card=TS",
        "round.card_dealt hand=banker index=2",
        "secret round.card_drawn hand=banker index=2 card=TH",
        "round.card_dealt hand=player index=3",
        "secret round.card_drawn hand=player index=3 card=4C",
        "round.card_dealt hand=banker index=3",
        "secret round.card_drawn hand=banker index=3 card=5D",
        "round.card_revealed hand=player index=1",
        "round.card_revealed hand=banker index=1",
        "round.card_revealed hand=player index=2",
        "round.card_revealed hand=banker index=2",
        "round.card_revealed hand=player index=3",
        "round.card_revealed hand=banker index=3",
        "round.total_announced hand=player",
        "round.total_announced hand=banker",
        "round.outcome winner=banker",
    ),
    ("suspended", "correct_card"): stays(
        "round.card_corrected",
        "secret round.card_entered",
        "round.total_announced hand=player",
        "round.total_announced hand=banker",
        "irregularity.step key=unshuffled step=ruling",
    ),
    ("suspended", "card_corrected"): stays(
        "round.card_corrected",
        "secret round.card_entered",
        "round.total_announced hand=player",
        "round.total_announced hand=banker",
        "irregularity.step key=unshuffled step=ruling",
    ),
    ("shoe_change", "declare_new_shoe"): goes("idle", "shoe.loaded"),
    ("shoe_change", "set.admitted"): goes("idle", "shoe.loaded set_id=set-2"),
    ("shoe_change", "set.refused"): goes(
        "no_shoe",
        "irregularity.raised key=other seen.code=seen_set_refused",
        "irregularity.resolved key=other how=set_refused",
    ),
    ("shoe_change", "set.taken_out"): goes("no_shoe"),
}
"""State and what comes → what follows, to the end of the input."""

VARIANTS: dict[str, Row] = {
    "the bets are closed, and the wagers are even": goes("closed", "round.bets_closed"),
    "the bets are closed, with cards out from before a reset": goes("dealing", "round.bets_closed"),
    "the bets are closed, with an open card ruled to begin the round": goes(
        "dealing",
        "round.bets_closed",
        "round.card_dealt hand=player index=1",
        "secret round.card_drawn hand=player index=1 card=4C",
        "round.card_revealed hand=player index=1",
    ),
    "the first card closes the bets, behind one that was ruled to begin the round": goes(
        "dealing",
        "round.bets_closed inferred=true",
        "round.card_dealt hand=player index=1",
        "secret round.card_drawn hand=player index=1 card=4C",
        "round.card_dealt hand=banker index=1",
        "secret round.card_drawn hand=banker index=1 card=9D",
    ),
    "the first card begins the round and is seen at once": goes(
        "dealing",
        "round.opened inferred=true",
        "round.bets_closed inferred=true",
        "round.card_dealt hand=player index=1",
        "secret round.card_drawn hand=player index=1 card=9D",
        "round.card_revealed hand=player index=1",
    ),
    "the first cards came as one, and the wagers are even": halts(
        "double_draw",
        "drawn_together",
        "round.bets_closed inferred=true",
        step="order",
        then=(
            "secret round.card_drawn card=2D placed=false",
            "secret round.card_drawn card=3C placed=false",
        ),
    ),
    "a card drawn early is due and seen, and the other hand draws too": stays(
        "round.card_revealed hand=player index=1",
        "round.card_revealed hand=banker index=1",
        "round.card_revealed hand=player index=2",
        "round.card_revealed hand=banker index=2",
        "round.total_announced hand=player",
        "round.total_announced hand=banker",
        "irregularity.resolved key=overdraw how=kept rule=5.7",
        "round.card_dealt hand=player index=3",
        "secret round.card_drawn hand=player index=3 card=4C",
    ),
    "the fourth card came in a pause, and all are seen": goes(
        "idle",
        "review.closed",
        "table.resumed",
        "round.card_dealt hand=banker index=2",
        "secret round.card_drawn hand=banker index=2 card=TH",
        "round.card_revealed hand=banker index=2",
        "round.total_announced hand=player",
        "round.total_announced hand=banker",
        "round.outcome winner=tie",
        "round.settled inferred=true",
    ),
    "the third card came in a pause, and all are seen": goes(
        "drawing",
        "review.closed",
        "table.resumed",
        "round.card_dealt hand=player index=3",
        "secret round.card_drawn hand=player index=3 card=4C",
        "round.card_revealed hand=player index=3",
    ),
    "the last card is drawn outside of the game between rounds": goes(
        "shoe_change",
        "secret round.card_drawn hand=set_aside card=9S placed=false",
        "shoe.change_due",
    ),
    "a card is burned as the last one": goes(
        "shoe_change", "secret round.card_drawn hand=burn card=9S placed=false", "shoe.change_due"
    ),
    "a card of a missed round is the last one": goes(
        "shoe_change", "secret round.card_drawn hand=banker index=2 placed=false", "shoe.change_due"
    ),
    "the last card is drawn outside of the game while bets are open": halts(
        "other",
        "drawn_outside",
        then=("secret round.card_drawn hand=set_aside card=9S placed=false",),
    ),
    "a card comes on the arm of before a halt for the wagers": stays(
        "secret round.card_drawn card=TS placed=false",
        "irregularity.step key=table_differential step=ruling",
    ),
    "a halt ends with another set in the shoe, and no round is open": goes(
        "idle",
        "irregularity.resolved key=unshuffled how=play_on",
        "table.resumed",
        "shoe.loaded set_id=set-2",
    ),
    "the shoe is exchanged in a halt after the bets": adds(
        "power_failure", "shoe_power_lost", step="power"
    ),
    "the cutting card comes first in Immortal": halts(
        "cutting_card", "cutting_card_first", step="window", then=("withdrawal.opened rule=3.16.1",)
    ),
    "cards that lie open decide a wager while the power is away": stays(
        "round.card_revealed hand=player index=1",
        "round.card_revealed hand=banker index=1",
        "round.card_revealed hand=player index=2",
        "round.card_revealed hand=banker index=2",
        "irregularity.step key=power_failure step=continue",
    ),
    "the round is over, and the cutting card is out": goes(
        "shoe_change", "round.settled", "shoe.change_due"
    ),
    "the last card of the shoe came in a pause between rounds": goes(
        "shoe_change",
        "review.closed",
        "table.resumed",
        "round.opened inferred=true",
        "round.bets_closed inferred=true",
        "round.card_dealt hand=player index=1",
        "secret round.card_drawn hand=player index=1 card=4C",
        "irregularity.raised key=insufficient_cards seen.code=seen_shoe_empty",
        "round.void rule=5.3",
        "irregularity.resolved key=insufficient_cards how=void rule=5.3",
        "shoe.change_due",
    ),
    "the first card of the round is seen at once": goes(
        "dealing",
        "round.card_dealt hand=player index=1",
        "secret round.card_drawn hand=player index=1 card=9D",
        "round.card_revealed hand=player index=1",
    ),
    "other cards are called for after a void round": goes(
        "shoe_change",
        "irregularity.step key=after_void step=cards how=cards_replaced",
        "shoe.change_due",
    ),
    "the host loses its power with a wager decided": halts(
        "power_failure", "host_power_lost", "table.started", "shoe.lost", step="continue"
    ),
    "the shoe has its own cards again in a halt": stays(),
    "the third card is seen at once": stays(
        "round.card_dealt hand=player index=3",
        "secret round.card_drawn hand=player index=3 card=4C",
        "round.card_revealed hand=player index=3",
    ),
    "the first card begins a round after a void one": goes(
        "dealing",
        "irregularity.step key=after_void step=cards how=cards_kept",
        "round.opened inferred=true",
        "round.bets_closed inferred=true",
        "round.card_dealt hand=player index=1",
        "secret round.card_drawn hand=player index=1 card=9D",
    ),
    "the result of the shoe was all that was missing": goes(
        "idle", "round.outcome winner=tie", "round.settled inferred=true"
    ),
    "a card is reported twice after the deal": stays(),
    "a sink takes an event between rounds": stays("delivery.taken"),
    "the place of a card drawn early is reported in a halt": stays(
        "secret irregularity.step key=overdraw step=placed_by_shoe"
    ),
    "a round with wagers is settled": goes(
        "idle", "wager.settled player=ann result=push", "round.settled"
    ),
    "a shoe that sends nothing again is lost with its cards sorted": stays("shoe.lost"),
    "the shoe reads an unread card in a halt": stays(
        "secret round.card_drawn hand=banker index=1 card=3C",
        "irregularity.resolved key=misread how=read_by_shoe rule=6.3",
    ),
    "a round with wagers is void": goes(
        "idle",
        "round.void rule=5.1",
        "wager.settled player=ann result=returned",
        "irregularity.resolved key=unshuffled how=void rule=5.1",
        "table.resumed",
        "irregularity.step key=after_void step=cards",
    ),
    "a round with wagers is void for an empty shoe": goes(
        "shoe_change",
        "round.card_dealt hand=banker index=1",
        "secret round.card_drawn hand=banker index=1 card=7C",
        "irregularity.raised key=insufficient_cards seen.code=seen_shoe_empty",
        "round.void rule=5.3",
        "wager.settled player=ann result=returned",
        "irregularity.resolved key=insufficient_cards how=void rule=5.3",
        "shoe.change_due",
    ),
    "a round ends while another set waits": goes(
        "idle", "round.settled", "shoe.loaded set_id=set-2"
    ),
}
"""A table that stands otherwise → what follows there."""

ANOTHER_SET: dict[str, object] = {"link.boot_id": 8, "pending_set.set_id": "set-2"}
WAITS: dict[str, object] = {"pending_set.set_id": "set-2"}

KNOWN: dict[tuple[str, ...], dict[str, object]] = {
    # The link, the power and the clock.
    **{("link_lost", situation): {"link.up": False} for situation in NINE},
    **{("restarted", situation): {"link.up": False} for situation in NINE},
    **{("restarted.power", situation): {"link.up": False, "host_boot": "b2"} for situation in NINE},
    ("link_lost.unheard", "cards"): {"link.up": False, "link.aligned": False},
    ("restarted.unheard", "cards"): {"link.up": False, "link.aligned": False},
    ("link_up",): {"link.up": True, "link.profile": "reference"},
    ("line_suspended",): {"link.suspended.until_us": 5_011_000},
    # Its set of cards: who the shoe is, what it counts, and which set waits.
    ("hello", "no_shoe"): {"link.device_id": "SH-0042", "link.identified": True},
    ("hello", "between"): {"shoe.reported_drawn": 2},
    ("hello", "betting"): {"shoe.reported_drawn": 2},
    ("hello", "closed"): {"shoe.reported_drawn": 2},
    ("hello", "cards"): {"shoe.reported_drawn": 6},
    ("hello", "resolved"): {"shoe.reported_drawn": 6},
    ("hello", "halted"): {"shoe.reported_drawn": 2},
    ("hello", "halted_closed"): {"shoe.reported_drawn": 2},
    ("hello", "halted_cards"): {"shoe.reported_drawn": 6},
    ("hello.another_set", "no_shoe"): {"link.device_id": "SH-0042"},
    ("hello.another_set", "between"): {"link.boot_id": 8},
    ("hello.another_set", "betting"): ANOTHER_SET,
    ("hello.another_set", "closed"): ANOTHER_SET,
    ("hello.another_set", "cards"): ANOTHER_SET,
    ("hello.another_set", "resolved"): ANOTHER_SET,
    ("hello.another_set", "halted"): ANOTHER_SET,
    ("hello.another_set", "halted_closed"): WAITS,
    ("hello.another_set", "halted_cards"): ANOTHER_SET,
    ("shoe_loaded", "betting"): WAITS,
    ("shoe_loaded", "closed"): WAITS,
    ("shoe_loaded", "cards"): WAITS,
    ("shoe_loaded", "resolved"): WAITS,
    ("shoe_loaded", "halted"): WAITS,
    ("shoe_loaded", "halted_closed"): WAITS,
    ("shoe_loaded", "halted_cards"): WAITS,
    ("hello.answers_step",): {"shoe.reported_drawn": 3},
    ("hello.shoe_sorted",): ANOTHER_SET,
    ("hello.rebooted",): {"link.boot_id": 8},
    ("hello.cards_missed",): {"shoe.reported_drawn": 6},
    ("hello.fewer_cards",): {"shoe.reported_drawn": 2},
    ("a card comes on the arm of before a halt for the wagers",): {"halt.current.step": "ruling"},
    ("the shoe has its own cards again in a halt",): {"pending_set": None},
    ("the shoe is exchanged in a halt after the bets",): ANOTHER_SET,
    ("shoe_loaded.known",): {"shoe.drawn": 0, "shoe.unknown": 0},
    ("shoe_loaded.shoe_sorted",): WAITS,
    ("cutting_card",): {"shoe.cutting_card_out": True},
    ("cutting_card.first",): {"shoe.cutting_card_out": True},
    # Its cards: a card without a slot is in the shoe again, of one in a slot people decide.
    ("card_pushed_back", "between"): {"unplaced": 0, "shoe.returned": 1},
    ("card_pushed_back", "betting"): {"unplaced": 0, "shoe.returned": 1},
    ("card_pushed_back", "cards"): {"shoe.pushed_back": 1},
    ("card_pushed_back", "resolved"): {"shoe.pushed_back": 1},
    ("card_pushed_back", "halted"): {"unplaced": 0, "shoe.returned": 1},
    ("card_pushed_back", "halted_closed"): {"unplaced": 0, "shoe.returned": 1},
    ("card_pushed_back", "halted_cards"): {"shoe.pushed_back": 1},
    ("card_outside_game", "halted_cards"): {"unplaced": 1},
    ("result", "cards"): {"round.result.winner": "tie"},
    ("result.too_soon",): {"round.result.winner": "tie"},
    # What it answers.
    ("status",): {"shoe.reported_drawn": 4, "link.reports_arming": True},
    ("status.counts_differ",): {"shoe.reported_drawn": 1},
    ("status.arm_taken",): {"shoe.reported_drawn": 2, "link.reports_arming": True},
    # The round: the state that it goes on in.
    ("pull.opens_round", "idle"): {"halt.resume_state": "closed"},
    ("pull.opens_round", "betting"): {"halt.resume_state": "closed"},
    ("card_corrected", "suspended"): {"halt.resume_state": "revealing"},
    ("settle", "resolved"): {"round": None},
    ("set.taken_out", "idle"): {"shoe": None},
}
"""What the table knows afterwards and no event tells: message and situation, or what comes and the
state, or what stands alone."""


# Played.


def assert_follows(play: Play, row: Row) -> None:
    """What the row says happens, and nothing else."""
    table, state, told = play.table, play.table.now.state, len(play.table.events)
    play.act(table)
    shown = [
        _shown(event, row.events[n] if n < len(row.events) else "")
        for n, event in enumerate(table.events[told:])
    ]
    assert (table.now.state, shown) == (row.state or state, list(row.events))


def _shown(event: TableEvent, expected: str) -> str:
    """The line that was expected, if this is the event; else the event in full."""
    secret = SECRET if event.audience is Audience.RESTRICTED else ""
    told = Told(event.type, event.restricted_data or event.data)
    wanted = expected.removeprefix(SECRET)
    if expected.startswith(SECRET) is bool(secret) and wanted and pattern(wanted).matches(told):
        return expected
    return f"{secret}{event.type} {flat(told.data)}"


def rows(of_message: Mapping[str, Row]) -> dict[str, Row]:
    """Situation → its row."""
    return {name: row for names, row in of_message.items() for name in names.split()}


CELLS = [(message, name) for message, of_it in MESSAGES.items() for name in rows(of_it)]


def test_every_situation_has_its_row() -> None:
    assert {(m, s) for m in MESSAGES for s in NINE} == {*CELLS} | NEVER
    assert len(CELLS) == len(set(CELLS)) == 9 * len(MESSAGES) - len(NEVER)


@pytest.mark.parametrize(("message", "situation"), CELLS)
def test_a_message_does_what_the_situation_calls_for(message: str, situation: str) -> None:
    play = table_lines.play_message(message, situation)
    assert_follows(play, rows(MESSAGES[message])[situation])


ELSEWHERE = {"shoe_change": "between", "dealing": "cards", "drawing": "cards"}
"""Another state → the situation that it belongs to."""

ANOTHER_CASE = {
    ("started", "shoe_change"),  # a new set
    ("tick", "dealing"),  # fewer cards
    ("result", "dealing"), ("result", "drawing"),  # too soon
    ("error.at_a_card", "dealing"), ("error.at_a_card", "drawing"),  # at the card that is due
    ("tick", "drawing"),  # all cards are seen
    ("started", "drawing"), ("restarted.power", "drawing"),  # a wager is decided
}  # fmt: skip


@pytest.mark.parametrize("state", ELSEWHERE)
@pytest.mark.parametrize("message", table_lines.MESSAGES)
def test_it_does_the_same_in_each_state_of_the_situation(message: str, state: str) -> None:
    if (message, state) not in ANOTHER_CASE:
        row = rows(MESSAGES[message])[ELSEWHERE[state]]
        assert_follows(table_lines.play_message_in(message, state), row)


@pytest.mark.parametrize("message", ALONE)
def test_what_does_not_depend_on_the_situation_does_what_it_always_does(message: str) -> None:
    assert_follows(table_lines.ALONE[message](), ALONE[message])


@pytest.mark.parametrize("situation", NINE)
@pytest.mark.parametrize("message", ANSWERS)
def test_what_the_shoe_says_of_itself_does_the_same_at_any_time(
    message: str, situation: str
) -> None:
    assert_follows(table_lines.play_answer(message, situation), ANSWERS[message])


@pytest.mark.parametrize(("state", "comes"), ROUND)
def test_the_round_goes_on_as_the_rules_say(state: str, comes: str) -> None:
    assert_follows(table_lines.ROUND[state, comes](), ROUND[state, comes])


@pytest.mark.parametrize("story", VARIANTS)
def test_it_does_so_however_the_table_stands(story: str) -> None:
    assert_follows(table_lines.VARIANTS[story](), VARIANTS[story])


@pytest.mark.parametrize("of", KNOWN, ids=" ".join)
def test_what_no_event_tells_is_known_to_the_table_afterwards(of: tuple[str, ...]) -> None:
    message, *where = of
    if message in MESSAGES:
        play = table_lines.play_message(message, where[0])
    elif where:
        play = table_lines.ROUND[where[0], message]()
    else:
        play = {**table_lines.ALONE, **table_lines.VARIANTS}[message]()
    play.act(play.table)
    found = {name: _find(play.table.now, name) for name in KNOWN[of]}
    assert found == KNOWN[of]


def _find(now: Any, name: str) -> object:
    """A value of the table's state by its dotted name; of a tuple, how many it has."""
    for part in name.split("."):
        now = getattr(now, part)
    return len(now) if isinstance(now, tuple) else now
