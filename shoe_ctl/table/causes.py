"""The halts whose cause is known from the row of the table alone: data, and one action for each.

In: the name of a halt. Out: an action that raises its irregularity.
Must not know: states, what is done about it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping

from shoe_ctl.texts.message import message

from . import face_up
from .cause import Cause
from .irregularities import stakes
from .irregularities.stack import raise_irregularity
from .turn import Turn

HALTS: Mapping[str, Cause] = {
    # The link and the power.
    "link_lost": Cause("link_lost", message("seen_link_lost")),
    "restarted": Cause("link_lost", message("seen_restarted_in_round")),
    "storage_failed": Cause("link_lost", message("seen_storage_failed_in_round")),
    "host_power_lost": Cause("power_failure", message("seen_host_power_lost")),
    "started_anew": Cause("power_failure", message("seen_shoe_started_again")),
    "rebooted": Cause("power_failure", message("seen_shoe_power_lost")),
    # The shoe itself.
    "lid_opened": Cause("other", message("seen_shoe_opened")),
    "tampered": Cause("other", message("seen_shoe_tampered")),
    "self_test_failed": Cause("other", message("seen_shoe_test_failed")),
    "not_authenticated": Cause("other", message("seen_shoe_not_proved")),
    "firmware_not_allowed": Cause("other", message("seen_firmware_not_allowed")),
    "shoe_reset": Cause("other", message("seen_shoe_reset")),
    "shoe_fault": Cause("other", message("seen_shoe_fault")),
    # Its set of cards.
    "set_loaded": Cause("other", message("seen_set_loaded")),
    "another_set": Cause("other", message("seen_another_set")),
    # A card.
    "no_shoe_known": Cause("other", message("seen_drawn_without_shoe")),
    "outside_game": Cause("other", message("seen_drawn_outside")),
    "entry_disputed": Cause("other", message("seen_record_differs")),
    "unreadable_message": Cause("gap", message("seen_illegible")),
    "card_unreadable": Cause("misread", message("seen_shoe_cannot_read")),
    "reverse_run": Cause("order_altered", message("seen_ran_back")),
    "hand_dealt_anew": Cause("other", message("seen_hand_dealt_again")),
    "card_moved": Cause("other", message("seen_card_moved")),
    # The round's first card lay face up: no rule says that it plays (6.1).
    "first_card_face_up": Cause(face_up.KEY, face_up.SEEN, step=face_up.FIRST),
    "too_many_of_a_face": Cause("extra_card", message("seen_too_many_counted")),
    "card_of_another_deck": Cause("foreign_card", message("seen_foreign_counted")),
    # The shoe's own result.
    "no_result": Cause("result_missing", message("seen_no_result")),
    "result_forced": Cause("result_disagrees", message("seen_round_quit")),
    "result_disagrees": Cause("result_disagrees", message("seen_result_differs")),
    "result_too_early": Cause("result_disagrees", message("seen_result_too_early")),
    # The wagers.
    "differential_exceeded": Cause(stakes.KEY, message("seen_differential_exceeded")),
}
"""Name of a halt → the irregularity that it raises, and what was seen."""


@functools.cache
def halt(name: str) -> Callable[[Turn], None]:
    """Return the action that halts for the cause of this name.

    Raises:
        KeyError: HALTS has no such name.
    """
    cause = HALTS[name]

    def raise_cause(turn: Turn) -> None:
        raise_irregularity(turn, cause)

    return raise_cause
