"""Causes of a halt that are known from the row of the table alone: each an action.

In: nothing. Out: actions that raise an irregularity. Must not know: states, what is done about it.
"""

from __future__ import annotations

from shoe_ctl.texts.message import message

from .halting import because
from .link_facts import why_restarted_in_a_round

LINK_LOST = because("link_lost", message("seen_link_lost"))
RESTARTED = because("link_lost", why_restarted_in_a_round)
HOST_POWER = because("power_failure", message("seen_host_power_lost"))
STARTED_ANEW = because("power_failure", message("seen_shoe_started_again"))
REBOOTED = because("power_failure", message("seen_shoe_power_lost"))
RELOADED = because("other", message("seen_set_loaded"))
UNLIKE = because("other", message("seen_another_set"))
NO_SHOE = because("other", message("seen_drawn_without_shoe"))
OUTSIDE = because("other", message("seen_drawn_outside"))
DISPUTED = because("other", message("seen_record_differs"))
ILLEGIBLE = because("gap", message("seen_illegible"))
DEALT_ANEW = because("other", message("seen_hand_dealt_again"))
MOVED = because("other", message("seen_card_moved"))
NO_RESULT = because("result_missing", message("seen_no_result"))
FORCED = because("result_disagrees", message("seen_round_quit"))
DISAGREES = because("result_disagrees", message("seen_result_differs"))
JUDGED_EARLY = because("result_disagrees", message("seen_result_too_early"))
