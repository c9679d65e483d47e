"""Staff who know nothing but what the status tells them, and do what it says is next.

In: a table. Out: one step on; a round played to its end. Whatever is physical (a cable, a set of
cards, the time that runs off) is at hand.
"""

from __future__ import annotations

from typing import Any

from shoe_ctl.table.irregularities.catalog import PROCEDURES
from shoe_ctl.table.procedures import stack
from shoe_ctl.table.status import status
from shoe_ctl.texts.catalogue import text as english
from shoe_testing.generators import OfferingTable, decisions, spares
from shoe_testing.table_corpus import shows_another_set
from shoe_testing.tables import TableHarness


def at(table: TableHarness) -> OfferingTable:
    return OfferingTable(table.now, table.game, table.settings)


def follow(table: TableHarness) -> None:
    """One step, as the status says. Raises AssertionError where it leads nowhere."""
    said = status(table.now, table.game, table.settings)["next"]
    command, args = said["command"], said["args"]
    if not table.now.link.up:
        comes_back(table)
    elif command == "decide":
        assert decides(table), f"no way out of {table.now.halt}"
    elif "declare other" in english(said["message"]):
        table.does("declare", key="other", reason="something is missing")
    elif command == "declare_new_shoe" or table.now.state == "shoe_change":
        shows_another_set(table)
    elif command is not None:
        table.does(command, reason="next", consented_by="lee", **args)
    elif "draw" in said:
        table.draw(spares(at(table))[0])
    else:
        waits(table)


def waits(table: TableHarness) -> None:
    """What nobody says comes by itself."""
    now = table.now
    if now.state == "no_shoe":
        table.load(f"set-{now.inputs}", table.settings.decks)
    elif table.profile == "reference" and not now.link.identified:
        says_hello(table)
    elif now.link.judges and now.round is not None and now.round.all_revealed:
        table.judges()
    elif now.wake_us is not None and now.state in ("dealing", "revealing"):
        table.tick()
    else:
        raise AssertionError(f"nothing is next at {now}")


def comes_back(table: TableHarness) -> None:
    """The cable is plugged in again; a shoe that says what it is says so."""
    table.connect()
    says_hello(table)


def says_hello(table: TableHarness) -> None:
    """The shoe is the one that was there before."""
    if table.profile == "reference" and table.now.link.boot_id is not None:
        table.hello(boot=table.now.link.boot_id)


def decides(table: TableHarness) -> bool:
    """Of what is offered the first that is taken: ends first, then whatever leads on."""
    opened = stack.due_decision(at(table))
    assert opened is not None
    procedure, step = PROCEDURES[opened.key], stack.step_of(at(table), opened)

    def rank(offer: dict[str, Any]) -> tuple[int, bool]:
        """Whoever cannot see the card that is to be named says that the shoe was wrong."""
        choice = next(c for c in stack.offered_choices(at(table)) if c.name == offer["choice"])
        ends = procedure.end(choice.leads_to) is not None
        leads = 0 if ends else 1 if choice.leads_to != step.name else 2
        return leads, not offer.get("against_reading", False)

    return any(
        table.asks("decide", reason="next", consented_by="lee", **offer).accepted
        for offer in sorted(decisions(at(table)), key=rank)
    )


def plays_out(table: TableHarness, *, within: int = 40) -> None:
    """Follows what is next until the round is over."""
    rounds = table.now.rounds
    for _ in range(within):
        if table.now.round is None and table.now.halt is None:
            return
        follow(table)
    raise AssertionError(f"no way out of round {rounds}: {table.now}")
