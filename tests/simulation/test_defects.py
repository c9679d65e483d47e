"""Defects that seeds have found, each as the smallest plan that showed it."""

from __future__ import annotations

import pytest

from shoe_testing.examples import sampled
from tests.simulation.plan import Fault, Plan
from tests.simulation.plans import struck
from tests.simulation.run import run

STOPPED_AS_IT_FAILED = Plan(
    seed=7071,
    lasts_s=30.112,
    game="fa_fa_fabulous_4",
    announces=False,
    face_up_after_ms=300,
    faults=(
        Fault(2, 1.65, "killed"),
        Fault(3, 1.681, "power_lost"),
        Fault(13, 15.003, "killed"),
        Fault(14, 15.109, "stopped"),
        Fault(15, 15.146, "wager_late"),
        Fault(16, 16.154, "killed"),
        Fault(17, 18.484, "killed"),
        Fault(18, 23.67, "line_drop"),
        Fault(19, 23.907, "disk_full"),
        Fault(20, 23.939, "killed"),
    ),
)
"""Its last process is ended just as the store fails it, by a cancellation as any stop is one."""

ORDERED_BEFORE_THEIR_TURN = Plan(
    seed=7041,
    lasts_s=9.814,
    game="fa_fa_fabulous_4",
    announces=True,
    face_up_after_ms=1000,
    faults=(
        Fault(0, 0.228, "wager_late"),
        Fault(2, 0.703, "wager_late"),
        Fault(4, 2.723, "shoe_reboots"),
        Fault(6, 5.605, "line_flip"),
        Fault(8, 9.813, "two_pulled_together"),
    ),
    memory=24,
)
"""Two third cards come as one and are ordered by the pit before the first four are all seen."""

READ_AFTER_ALL = Plan(
    seed=7265,
    lasts_s=16.828,
    game="dragon_tiger_no_commission",
    announces=False,
    face_up_after_ms=1000,
    faults=(Fault(4, 8.76, "shoe_reboots"), Fault(5, 16.827, "card_not_read")),
    profile="angel_eye",
)
"""A card dealt face up is passed over the sensor once more, and read less than a second after."""

SEVERAL_UNREAD = Plan(
    seed=7267,
    lasts_s=23.501,
    game="dragon_tiger_no_commission",
    announces=True,
    face_up_after_ms=None,
    faults=(
        Fault(0, 0.152, "line_delay"),
        Fault(3, 7.298, "line_delay"),
        Fault(7, 14.05, "card_not_read"),
        Fault(10, 21.786, "card_not_read"),
        Fault(12, 23.5, "card_not_read"),
    ),
)
"""Two cards of a round are not read: people enter for each place the card that lies there."""

RULED_ONE_BY_ONE = Plan(
    seed=7127,
    lasts_s=7.869,
    game="tiger",
    announces=True,
    face_up_after_ms=1000,
    faults=(
        Fault(0, 0.321, "disk_slow"),
        Fault(2, 1.758, "disk_slow"),
        Fault(3, 4.193, "disk_slow"),
        Fault(4, 4.716, "drawn_by_force"),
        Fault(5, 4.909, "drawn_by_force"),
        Fault(6, 7.868, "drawn_by_force"),
    ),
    memory=24,
)
"""Of three cards drawn past a round's end the middle one is ruled to open the next."""

ORDERED_BETWEEN_ROUNDS = Plan(
    seed=7355,
    lasts_s=23.406,
    game="immortal_dragon_tiger",
    announces=True,
    face_up_after_ms=None,
    faults=(
        Fault(2, 2.224, "shoe_reboots"),
        Fault(4, 7.446, "shoe_changed"),
        Fault(5, 7.96, "killed"),
        Fault(8, 10.213, "shoe_reboots"),
        Fault(9, 10.275, "killed"),
        Fault(10, 11.318, "shoe_changed"),
        Fault(15, 17.808, "shoe_reboots"),
        Fault(16, 18.663, "two_pulled_together"),
        Fault(17, 19.114, "killed"),
    ),
)
"""Of two cards pulled as one between rounds the first opens the next, the other is set aside."""

KEPT_SET_FORGOTTEN = Plan(
    seed=7084,
    lasts_s=55.995,
    game="fa_fa_fabulous_4",
    announces=False,
    face_up_after_ms=300,
    faults=(
        Fault(3, 26.701, "killed_at_disk_call"),
        Fault(4, 27.441, "killed_at_disk_call"),
        Fault(5, 39.248, "killed_at_disk_call"),
        Fault(6, 40.229, "shoe_without_power"),
        Fault(7, 54.159, "killed_at_disk_call"),
    ),
)
"""New cards without power, an old card heard late; a restart before its halt is decided."""

LATE_CARD_SET_ASIDE = Plan(
    seed=7510,
    lasts_s=17.902,
    game="dragon_tiger_no_commission",
    announces=True,
    face_up_after_ms=None,
    faults=(
        Fault(0, 0.532, "power_lost"),
        Fault(2, 0.854, "shoe_changed"),
        Fault(3, 4.505, "power_lost"),
        Fault(7, 12.902, "power_lost"),
    ),
)
"""New cards while the host had no power, and the round's first card heard late: it is set aside."""

UNDER_WAY_AS_IT_WAS_VOID = Plan(
    seed=9264,
    lasts_s=10.973,
    game="immortal_dragon_tiger",
    announces=True,
    face_up_after_ms=None,
    faults=(
        Fault(0, 2.168, "declared"),
        Fault(1, 2.510, "line_flip"),
        Fault(2, 4.730, "line_flip"),
        Fault(3, 4.934, "line_delay"),
        Fault(4, 5.377, "line_delay"),
        Fault(6, 7.298, "line_delay"),
        Fault(7, 10.750, "line_delay"),
        Fault(8, 10.972, "declared"),
    ),
)
"""The lock of a halt is seconds on its way, a card is drawn meanwhile, and the round is void."""

MANY_CARDS_IN_ONE_ROUND = Plan(
    seed=235404098,
    lasts_s=46.041,
    game="tiger",
    announces=False,
    face_up_after_ms=1000,
    faults=(
        Fault(0, 0.437, "paused"),
        Fault(1, 11.392, "power_lost_at_disk_call"),
        Fault(2, 17.656, "paused"),
        Fault(3, 38.792, "power_lost_at_disk_call"),
    ),
    profile="angel_eye",
    memory=1024,
)
"""The shoe deals on for more than thirty cards while the table stands halted in its first round."""


ONE_IN = 4
"""Of so many plans one is run in every run."""

PLANS = [
    pytest.param(
        MANY_CARDS_IN_ONE_ROUND, id="the check forgot a card that lay open in the open round"
    ),
    pytest.param(READ_AFTER_ALL, id="a card read after all was told before it was seen"),
    pytest.param(SEVERAL_UNREAD, id="people named one unread card for another"),
    pytest.param(
        ORDERED_BEFORE_THEIR_TURN, id="the table stood halted for cards that had no slot yet"
    ),
    pytest.param(RULED_ONE_BY_ONE, id="a card laid aside was missed behind the one that opens"),
    pytest.param(ORDERED_BETWEEN_ROUNDS, id="the same of two that were pulled as one"),
    pytest.param(KEPT_SET_FORGOTTEN, id="the table counted new cards on from the old ones"),
    pytest.param(LATE_CARD_SET_ASIDE, id="a round went on with another set of cards"),
    pytest.param(UNDER_WAY_AS_IT_WAS_VOID, id="a void round's card was dealt to the next one"),
    pytest.param(STOPPED_AS_IT_FAILED, id="being stopped was forgotten as the store failed"),
    pytest.param(
        struck(*(("clock_set", 4.0 + i) for i in range(6))), id="the table's time stood still"
    ),
    pytest.param(
        struck(*(("clock_set", 4.0 + i) for i in range(4)), ("killed", 9.0)),
        id="the table's time stood still after a restart",
    ),
    pytest.param(
        struck(("disk_full", 5.0), ("stopped", 5.0005), ("disk_full", 9.0), ("stopped", 9.0)),
        id="being stopped was forgotten as the disk failed",
    ),
    *(
        pytest.param(
            struck(("disk_full", 3.0), (ends, 3.3), lasts_s=10.0),
            id=f"a daemon {ends} in an outage was followed by one that asked nobody",
        )
        for ends in ("killed", "stopped", "power_lost")
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize("plan", sampled(PLANS, one_in=ONE_IN, cpu_s=0.6))
def test_what_a_seed_found_stays_mended(plan: Plan) -> None:
    result = run(plan)
    assert result.failed is None, result.failed
