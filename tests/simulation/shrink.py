"""The smallest part of a plan that still fails: faults are left out, and its end is cut off.

In: a plan, what runs one. Out: a plan of which nothing can be left out any more.
Must not know: what faults are, what is promised.
"""

from __future__ import annotations

from collections.abc import Callable

from tests.simulation.plan import Fault, Plan

Fails = Callable[[Plan], bool]


def shrunk(plan: Plan, fails: Fails) -> Plan:
    """``fails`` says whether a plan fails as the first one did; every answer costs a run."""
    size = max(1, len(plan.faults) // 2)
    while True:
        smaller = _without_some(plan, size, fails)
        if smaller is not None:
            plan, size = smaller, max(1, min(size, len(smaller.faults) // 2))
        elif size > 1:
            size //= 2
        else:
            return _shorter(plan, fails)


def _without_some(plan: Plan, size: int, fails: Fails) -> Plan | None:
    """The plan without so many neighbouring faults, where it fails all the same."""
    for at in range(0, len(plan.faults), size):
        left: tuple[Fault, ...] = (*plan.faults[:at], *plan.faults[at + size :])
        smaller = plan.only(left)
        if fails(smaller):
            return smaller
    return None


def _shorter(plan: Plan, fails: Fails) -> Plan:
    """All becomes well as early as may be: right behind the last fault, or a while later."""
    last_s = max((fault.at_s for fault in plan.faults), default=0.0)
    for more_s in (0.001, 1.0, 5.0, 20.0):
        cut = plan.cut(round(last_s + more_s, 3))
        if cut.lasts_s < plan.lasts_s and fails(cut):
            return cut
    return plan
