"""The halts whose cause is known from the row of the table alone: data, and one action for each.

In: the name of a halt. Out: an action that raises its irregularity.
Must not know: states, what is done about it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping

from . import face_up
from .cause import Cause
from .irregularities import stakes
from .irregularities.stack import raise_irregularity
from .turn import Turn

HALTS: Mapping[str, Cause] = {
    # The link and the power.
    "link_lost": Cause("link_lost", "the link to the shoe was lost in a round"),
    "restarted": Cause("link_lost", "the controller was restarted in a round"),
    "storage_failed": Cause(
        "link_lost", "the storage failed, and the controller closed the link in a round"
    ),
    "host_power_lost": Cause("power_failure", "the host lost power in a round"),
    "started_anew": Cause("power_failure", "the shoe started anew in a round"),
    "rebooted": Cause("power_failure", "the shoe lost power in a round, or another took its place"),
    # The shoe itself.
    "lid_opened": Cause("other", "the shoe was opened in a round"),
    "tampered": Cause("other", "the shoe says that someone meddled with it in a round"),
    "self_test_failed": Cause("other", "a part of the shoe failed its test in a round"),
    "not_authenticated": Cause("other", "what speaks could not prove to be this table's shoe"),
    "firmware_not_allowed": Cause("other", "the shoe runs a firmware that is not allowed"),
    "shoe_reset": Cause("other", "the shoe was reset in a round"),
    "shoe_fault": Cause("other", "the shoe reports a fault"),
    # Its set of cards.
    "set_loaded": Cause("other", "a set of cards was loaded in a round"),
    "another_set": Cause(
        "other", "the shoe does not hold the set of cards that the round began with"
    ),
    # A card.
    "no_shoe_known": Cause("other", "a card was drawn and no shoe is known"),
    "outside_game": Cause("other", "a card was drawn outside the game in a round"),
    "entry_disputed": Cause(
        "other", "the shoe's record of a card does not bear out what was entered"
    ),
    "unreadable_message": Cause(
        "gap", "what the shoe said could not be read: a card may be missing"
    ),
    "card_unreadable": Cause("misread", "the shoe could not read a card"),
    "reverse_run": Cause("order_altered", "a card ran back into the shoe"),
    "hand_dealt_anew": Cause("other", "the shoe deals a hand anew after a card drawn early"),
    "card_moved": Cause("other", "the shoe gave a card another place"),
    # The round's first card lay face up: no rule says that it plays (6.1).
    "first_card_face_up": Cause(face_up.KEY, face_up.SEEN, step=face_up.FIRST),
    "too_many_of_a_face": Cause(
        "extra_card", "more cards of one face were counted than the decks hold"
    ),
    "card_of_another_deck": Cause("foreign_card", "a card of another deck was counted"),
    # The shoe's own result.
    "no_result": Cause("result_missing", "the shoe's own result did not come"),
    "result_forced": Cause("result_disagrees", "the shoe was told to quit the round"),
    "result_disagrees": Cause(
        "result_disagrees", "the shoe judged the round otherwise than its cards do"
    ),
    "result_too_early": Cause("result_disagrees", "the shoe judged the round while a card is due"),
    # The wagers.
    "differential_exceeded": Cause(stakes.KEY, "the table differential is exceeded"),
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
