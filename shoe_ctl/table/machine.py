"""The round as one literal table: everything that decides which state follows which is here.

In: a trigger (an input's name, or one the table gives itself) in a state. Out: the next state and
the actions it takes. Must not know: how an action is done, clocks, I/O.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from transitions import EventData, Machine

from .dealing import (
    close_and_deal,
    close_bets,
    completes_initial_deal,
    deal,
    fits_the_decks,
    in_sequence,
    open_and_deal,
    open_round,
    repeats_a_slot,
    unaligned,
)
from .halting import (
    align,
    because,
    halt_for_card,
    halt_for_fault,
    halt_for_gap,
    halt_for_shoe_fault,
    keep,
    play_on,
    plays_on,
    power_was_lost,
    resume,
    returns_here,
    rule_void,
    same_shoe_is_back,
    set_aside,
    sets_aside,
    tell_fault_cleared,
    tell_shoe_fault,
    void_for_want_of_cards,
    voids,
)
from .link_facts import (
    cannot_name_its_set,
    connect,
    disconnect,
    lose_alignment,
    restart,
    tell_discarded,
    tell_quarantined,
)
from .revealing import (
    advance,
    announce_outcome,
    announce_totals,
    can_expose,
    end_round,
    expose,
    is_complete,
    note_result,
    result_came,
    result_disagrees,
    result_is_forced,
    result_is_in,
    result_is_overdue,
    reveal_due,
    totals_may_be_announced,
    want_third_card,
)
from .shoe_cards import (
    admit_shoe,
    admit_unnamed_shoe,
    announce_change,
    another_set,
    burn,
    burned,
    count_outside_game,
    count_unplaced,
    holds_cards,
    is_empty,
    keep_loaded,
    new_shoe_shown,
    not_a_card_of_play,
    note_cutting_card,
    note_device,
    refuse_shoe,
    unsuitable,
)
from .turn import Turn

STATES = (
    "no_shoe",
    "idle",
    "betting",
    "closed",
    "dealing",
    "revealing",
    "drawing",
    "resolved",
    "suspended",
    "shoe_change",
)
"""The ten states of a table."""

CARDS_OUT = ("dealing", "revealing", "drawing")
OPEN = ("betting", "closed", *CARDS_OUT, "resolved")
BETWEEN = ("idle", "shoe_change")
RESUMABLE = tuple(s for s in STATES if s != "suspended")


def is_implied(turn: Turn) -> bool:
    """Announcements follow the cards."""
    return turn.settings.implied


def refuse(turn: Turn) -> None:
    """The command has no place here: say which states take it, change nothing."""
    command = turn.command.command
    takes = dict.fromkeys(r.state for r in ROWS if r.trigger == command and r.do != (refuse,))
    error = f"{command} cannot be taken now (the table is {turn.source})"
    turn.refuse(error, state=", ".join(takes))


class Row(NamedTuple):
    """In ``state``, on ``trigger``, if every ``when`` holds: go to ``dest``, then ``do``."""

    trigger: str
    state: str
    dest: str
    when: tuple[Callable[[Turn], bool], ...]
    do: tuple[Callable[[Turn], None], ...]


def _rows(*lines: tuple[Any, ...]) -> tuple[Row, ...]:
    """Spell the table out: a row for each source state, ``=`` for the state itself."""
    return tuple(
        Row(trigger, state, state if dest == "=" else dest, when, do)
        for trigger, source, dest, when, do in lines
        for state in ((source,) if isinstance(source, str) else source)
    )


# Causes of a halt that are known from the row alone.
_LINK_LOST = because("link_lost", "the link to the shoe was lost in a round")
_RESTARTED = because("link_lost", "the controller was restarted in a round")
_HOST_POWER = because("power_failure", "the host lost power in a round")
_STARTED_ANEW = because("power_failure", "the shoe started anew in a round")
_RELOADED = because("other", "a set of cards was loaded in a round")
_NO_RESULT = because("result_missing", "the shoe's own result did not come")
_FORCED = because("result_disagrees", "the shoe was told to quit the round")
_DISAGREES = because("result_disagrees", "the shoe judged the round otherwise than its cards do")
_NO_SHOE = because("other", "a card was drawn and no shoe is known")
_OUTSIDE = because("other", "a card was drawn outside the game in a round")
_MOVED = because("overdraw", "the shoe gave a card drawn early another place")
_UNLIKE = because("other", "the shoe holds another set of cards than the round began with")
_REBOOTED = because("power_failure", "the shoe lost power in a round")
_JUDGED_EARLY = because("result_disagrees", "the shoe judged the round while a card is due")

# The first row whose conditions hold is taken. Every (state, trigger) pair ends in a row without
# conditions. fmt: off
ROWS: tuple[Row, ...] = _rows(
    # trigger             from          to           when                              do
    # — the link and the power —
    ("link_up",           "no_shoe",    "idle",      (cannot_name_its_set,),           (connect, admit_unnamed_shoe)),
    ("link_up",           STATES,       "=",         (),                               (connect,)),
    ("link_lost",         CARDS_OUT,    "suspended", (),                               (disconnect, _LINK_LOST)),
    ("link_lost",         STATES,       "=",         (),                               (disconnect,)),
    ("restarted",         CARDS_OUT,    "suspended", (power_was_lost,),                (restart, _HOST_POWER)),
    ("restarted",         CARDS_OUT,    "suspended", (),                               (restart, _RESTARTED)),
    ("restarted",         STATES,       "=",         (),                               (restart,)),
    ("fault",             STATES,       "suspended", (),                               (halt_for_fault,)),
    ("tick",              "dealing",    "=",         (),                               (reveal_due,)),
    ("tick",              "revealing",  "suspended", (result_is_overdue,),             (_NO_RESULT,)),
    ("tick",              "revealing",  "=",         (),                               (reveal_due, advance)),
    ("tick",              STATES,       "=",         (),                               ()),
    # — the shoe and its set of cards —
    ("hello",             ("no_shoe", *BETWEEN), "no_shoe", (holds_cards, another_set, unsuitable), (note_device, refuse_shoe)),
    ("hello",             ("no_shoe", *BETWEEN), "idle", (holds_cards, another_set),   (note_device, admit_shoe)),
    ("hello",             OPEN,         "suspended", (another_set,),                   (note_device, _UNLIKE)),
    ("hello",             CARDS_OUT,    "suspended", (power_was_lost,),                (note_device, _REBOOTED)),
    *(("hello",           "suspended",  state,       (same_shoe_is_back, returns_here), (note_device, resume)) for state in CARDS_OUT),
    ("hello",             "suspended",  "=",         (power_was_lost,),                (note_device, _REBOOTED)),
    ("hello",             STATES,       "=",         (),                               (note_device,)),
    ("shoe_loaded",       ("no_shoe", *BETWEEN), "no_shoe", (unsuitable,),             (refuse_shoe,)),
    ("shoe_loaded",       ("no_shoe", *BETWEEN), "idle", (),                           (admit_shoe,)),
    ("shoe_loaded",       OPEN,         "suspended", (),                               (keep_loaded, _RELOADED)),
    ("shoe_loaded",       "suspended",  "=",         (),                               (keep_loaded,)),
    ("started",           BETWEEN,      "idle",      (new_shoe_shown,),                (admit_unnamed_shoe,)),
    ("started",           CARDS_OUT,    "suspended", (),                               (lose_alignment, _STARTED_ANEW)),
    ("started",           "suspended",  "=",         (),                               (lose_alignment,)),
    ("started",           STATES,       "=",         (),                               ()),
    ("gap",               "no_shoe",    "=",         (),                               ()),
    ("gap",               STATES,       "suspended", (),                               (halt_for_gap,)),
    ("cutting_card",      "no_shoe",    "=",         (),                               ()),
    ("cutting_card",      STATES,       "=",         (),                               (note_cutting_card,)),
    ("error",             ("closed", *CARDS_OUT), "suspended", (),                     (halt_for_shoe_fault,)),
    ("error",             STATES,       "=",         (),                               (tell_shoe_fault,)),
    ("error_cleared",     STATES,       "=",         (),                               (tell_fault_cleared,)),
    ("discarded",         STATES,       "=",         (),                               (tell_discarded,)),
    ("standby",           STATES,       "=",         (),                               ()),
    ("lock",              STATES,       "=",         (),                               ()),
    ("preset_changed",    STATES,       "=",         (),                               ()),
    ("reply",             STATES,       "=",         (),                               ()),
    ("status",            STATES,       "=",         (),                               ()),
    ("repeated",          STATES,       "=",         (),                               ()),
    # — cards —
    ("card_drawn",        STATES,       "=",         (not_a_card_of_play,),            ()),
    ("card_drawn",        STATES,       "=",         (repeats_a_slot,),                ()),
    ("card_drawn",        "no_shoe",    "suspended", (),                               (_NO_SHOE,)),
    ("card_drawn",        BETWEEN,      "=",         (burned, fits_the_decks),         (burn,)),
    ("card_drawn",        "idle",       "dealing",   (is_implied, in_sequence),        (open_and_deal, reveal_due)),
    ("card_drawn",        BETWEEN,      "=",         (unaligned, fits_the_decks),      (count_unplaced,)),
    ("card_drawn",        "betting",    "dealing",   (is_implied, in_sequence),        (close_and_deal, reveal_due)),
    ("card_drawn",        "closed",     "dealing",   (in_sequence,),                   (deal, reveal_due)),
    ("card_drawn",        "dealing",    "revealing", (completes_initial_deal,),        (deal, reveal_due, advance)),
    ("card_drawn",        "dealing",    "=",         (in_sequence,),                   (deal, reveal_due)),
    ("card_drawn",        "drawing",    "revealing", (in_sequence,),                   (deal, reveal_due, advance)),
    ("card_drawn",        "suspended",  "=",         (),                               (keep,)),
    ("card_drawn",        STATES,       "suspended", (),                               (halt_for_card,)),
    ("card_outside_game", "no_shoe",    "=",         (),                               ()),
    ("card_outside_game", (*BETWEEN, "suspended"), "=", (),                            (count_outside_game,)),
    ("card_outside_game", STATES,       "suspended", (),                               (count_outside_game, _OUTSIDE)),
    ("redesignated",      OPEN,         "suspended", (),                               (_MOVED,)),
    ("redesignated",      STATES,       "=",         (),                               ()),
    ("cards_ran_out",     "dealing",    "idle",      (),                               (void_for_want_of_cards,)),
    ("third_card_due",    "revealing",  "suspended", (result_came,),                   (_JUDGED_EARLY,)),
    ("third_card_due",    "revealing",  "idle",      (is_empty,),                      (void_for_want_of_cards,)),
    ("third_card_due",    "revealing",  "drawing",   (),                               (want_third_card,)),
    # — the outcome —
    ("result",            CARDS_OUT,    "suspended", (result_is_forced,),              (_FORCED,)),
    ("result",            ("dealing", "drawing"), "suspended", (),                     (note_result, _JUDGED_EARLY)),
    ("result",            "revealing",  "=",         (),                               (note_result, advance)),
    ("result",            STATES,       "=",         (),                               (tell_quarantined,)),
    ("outcome_due",       "revealing",  "suspended", (result_disagrees,),              (_DISAGREES,)),
    ("outcome_due",       "revealing",  "resolved",  (),                               (announce_outcome,)),
    ("round_over",        "resolved",   "idle",      (),                               (end_round,)),
    ("change_due",        "idle",       "shoe_change", (),                             (announce_change,)),
    # — what people say —
    ("place_your_bets",   "idle",       "betting",   (),                               (open_round,)),
    ("place_your_bets",   STATES,       "=",         (),                               (refuse,)),
    ("no_more_bets",      "betting",    "closed",    (),                               (close_bets,)),
    ("no_more_bets",      STATES,       "=",         (),                               (refuse,)),
    ("expose",            "revealing",  "=",         (can_expose,),                    (expose, advance)),
    ("expose",            STATES,       "=",         (),                               (refuse,)),
    ("announce_totals",   "revealing",  "=",         (totals_may_be_announced,),       (announce_totals, advance)),
    ("announce_totals",   STATES,       "=",         (),                               (refuse,)),
    ("announce_outcome",  "revealing",  "suspended", (is_complete, result_disagrees),  (_DISAGREES,)),
    ("announce_outcome",  "revealing",  "resolved",  (is_complete, result_is_in),      (announce_outcome,)),
    ("announce_outcome",  STATES,       "=",         (),                               (refuse,)),
    ("settle",            "resolved",   "idle",      (),                               (end_round,)),
    ("settle",            STATES,       "=",         (),                               (refuse,)),
    ("change_shoe",       "idle",       "shoe_change", (),                             (announce_change,)),
    ("change_shoe",       STATES,       "=",         (),                               (refuse,)),
    ("align",             ("idle", "suspended"), "=", (unaligned,),                    (align,)),
    ("align",             STATES,       "=",         (),                               (refuse,)),
    *(("rule",            "suspended",  state,       (plays_on, returns_here),         (play_on,)) for state in RESUMABLE),
    *(("rule",            "suspended",  state,       (sets_aside, returns_here),       (set_aside,)) for state in RESUMABLE),
    ("rule",              "suspended",  "idle",      (voids,),                         (rule_void,)),
    ("rule",              STATES,       "=",         (),                               (refuse,)),
)
# fmt: on

OWN_TRIGGERS = frozenset(
    {"cards_ran_out", "third_card_due", "outcome_due", "round_over", "change_due"}
)
"""Triggers that the table gives itself, only in the state that they are meant for."""

TRIGGERS = tuple(dict.fromkeys(r.trigger for r in ROWS))


def _asks(condition: Callable[[Turn], bool]) -> Callable[[EventData], bool]:
    def ask(event: EventData) -> bool:
        return condition(_place(event))

    return ask


def _does(actions: tuple[Callable[[Turn], None], ...]) -> Callable[[EventData], None]:
    def act(event: EventData) -> None:
        turn = _place(event)
        for action in actions:
            action(turn)

    return act


def _place(event: EventData) -> Turn:
    turn, transition = event.model, event.transition
    assert isinstance(turn, Turn) and transition is not None and transition.dest is not None
    turn.source, turn.dest = transition.source, transition.dest
    return turn


def build(turn: Turn) -> Machine:
    """The state machine that moves this turn by the table above."""
    return Machine(
        model=turn,
        states=list(STATES),
        initial="no_shoe",
        queued=True,
        auto_transitions=False,
        send_event=True,
        transitions=[
            {
                "trigger": row.trigger,
                "source": row.state,
                "dest": row.dest,
                "conditions": [_asks(c) for c in row.when],
                "after": [_does(row.do)] if row.do else [],
            }
            for row in ROWS
        ],
    )
