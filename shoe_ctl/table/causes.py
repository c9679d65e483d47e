"""Causes of a halt that are known from the row of the table alone: each an action.

In: nothing. Out: actions that raise an irregularity. Must not know: states, what is done about it.
"""

from __future__ import annotations

from .halting import because
from .link_facts import why_restarted_in_a_round

LINK_LOST = because("link_lost", "the link to the shoe was lost in a round")
RESTARTED = because("link_lost", why_restarted_in_a_round)
HOST_POWER = because("power_failure", "the host lost power in a round")
STARTED_ANEW = because("power_failure", "the shoe started anew in a round")
REBOOTED = because("power_failure", "the shoe lost power in a round, or another took its place")
RELOADED = because("other", "a set of cards was loaded in a round")
UNLIKE = because("other", "the shoe does not hold the set of cards that the round began with")
NO_SHOE = because("other", "a card was drawn and no shoe is known")
OUTSIDE = because("other", "a card was drawn outside the game in a round")
DISPUTED = because("other", "the shoe's record of a card does not bear out what was entered")
ILLEGIBLE = because("gap", "what the shoe said could not be read: a card may be missing")
DEALT_ANEW = because("other", "the shoe deals a hand anew after a card drawn early")
MOVED = because("other", "the shoe gave a card another place")
NO_RESULT = because("result_missing", "the shoe's own result did not come")
FORCED = because("result_disagrees", "the shoe was told to quit the round")
DISAGREES = because("result_disagrees", "the shoe judged the round otherwise than its cards do")
JUDGED_EARLY = because("result_disagrees", "the shoe judged the round while a card is due")
