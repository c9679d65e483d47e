"""The page of states in the documents: ``python -m shoe_ctl.table.diagram`` prints it.

In: the tables of transitions.py. Out: Markdown with a diagram of the round and a table of halts.
Must not know: anything that the tables do not say.
"""

from __future__ import annotations

from shoe_ctl.table.commands import COMMANDS
from shoe_ctl.table.situations import SITUATIONS, STATES
from shoe_ctl.table.transitions import ALWAYS, BY_CARDS, RESUME, ROUND, SHOE

_HEAD = """# The ten states of a table

This page is generated from `shoe_ctl/table/transitions.py`.
To update it, run `make docs`.
[The ordinary round](overview.md#the-ordinary-round) is a smaller picture.

## The round

Words in capitals are commands, which people give.
The others come from the shoe or follow from the cards.
Lines that do not change the state are left out.
*Cards placed* means that cards got their slots by a ruling or an entry: the state then follows
from the cards.
"""

_AROUND = """
## Changes of the shoe, and the end of a halt

When a halt ends, the table resumes in the state that it left, or in another one that the end of
the halt names.
"""

_HALTS = """
## What halts a table

Each of these suspends the table in the situations marked.
The last three columns are a table that is halted already.
There it raises another irregularity, which is decided first.
Staff can halt a table too: they declare what they saw, or pause it.
"""

_ELSEWHERE = """
These halt the table whenever they occur:

"""

_PHASE, _RESUMES = "by_the_cards", "resumed"

_AROUND_STATES = {"no_shoe", "shoe_change", "suspended"}
"""States outside of the round, drawn by themselves."""


def page() -> str:
    """Return the whole page."""
    diagrams = f"```mermaid\n{round_diagram()}```\n{_AROUND}\n```mermaid\n{shoe_diagram()}```"
    return f"{_HEAD}\n{diagrams}\n{_HALTS}\n{halts()}{_ELSEWHERE}{halts_anywhere()}"


def round_diagram() -> str:
    """Return a mermaid stateDiagram-v2 of the round: one edge for two states, all its triggers."""
    head = [f'    state "the state that the cards stand for" as {_PHASE}']
    return _diagram(head, around=False)


def shoe_diagram() -> str:
    """Return the same for changes of the shoe and for the end of a halt."""
    head = [
        "    direction LR",
        f'    state "the state before the halt" as {_RESUMES}',
        f"    [*] --> {STATES[0]}",
    ]
    return _diagram(head, around=True)


def _diagram(head: list[str], *, around: bool) -> str:
    edges: dict[tuple[str, str], dict[str, None]] = {}
    for source, trigger, to, *_ in ROUND:
        dest = {BY_CARDS: _PHASE, RESUME: _RESUMES}.get(to, to)
        if dest != source and around is not _AROUND_STATES.isdisjoint((source, dest)):
            edges.setdefault((source, dest), {})[_label(trigger)] = None
    order = (*STATES, _PHASE, _RESUMES)
    lines = ["stateDiagram-v2", *head]
    for edge in sorted(edges, key=lambda edge: (order.index(edge[0]), order.index(edge[1]))):
        source, dest = edge
        lines.append(f"    {source} --> {dest} : {'<br>'.join(edges[edge])}")
    return "\n".join(lines) + "\n"


def halts() -> str:
    """Return a Markdown table of what halts the table in some situations, and in which."""
    head = "| | " + " | ".join(name.replace("_", ", ") for name in SITUATIONS) + " |"
    rows = [head.replace("no, ", "no "), "|---|" + ":-:|" * len(SITUATIONS)]
    for message, *cells in SHOE:
        marks = ["x" if cell.to == "suspended" else "" for cell in cells]
        if any(marks):
            rows.append(f"| {_words(message)} | " + " | ".join(marks) + " |")
    return "\n".join(rows) + "\n"


def halts_anywhere() -> str:
    """Return a Markdown list of what halts the table in every situation in which it can occur."""
    halting = (message for message, cell in ALWAYS.items() if cell.to == "suspended")
    return "".join(f"* {_words(message)}\n" for message in halting)


def _label(trigger: str) -> str:
    return _words(trigger).upper() if trigger in COMMANDS else _words(trigger)


def _words(trigger: str) -> str:
    return trigger.replace(".", " ").replace("_", " ")


if __name__ == "__main__":
    print(page(), end="")  # noqa: T201 - a page for people, on their terminal
