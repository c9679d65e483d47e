"""The page of states in the documents: ``python -m shoe_ctl.table.diagram`` prints it.

In: the tables of transitions.py. Out: Markdown with a diagram of the round, a table of halts, and
the reason of each line.
Must not know: anything that the tables do not say.
"""

from __future__ import annotations

from shoe_ctl.table.commands import COMMANDS
from shoe_ctl.table.situations import SITUATIONS, STATES
from shoe_ctl.table.transitions import (
    ALWAYS,
    BY_CARDS,
    OTHERWISE,
    RESUME,
    ROUND,
    SHOE,
    Cell,
    cells_by_situation,
)

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

_REASONS = """
## Why, in the round

*I* is Immortal, *N* No Commission, *F* Fa Fa, *T* Tiger; a number without a letter is the same in
all of them.
*Reading*: the documents leave it open, and this is how they are read here.
`shoectl explain MESSAGE` shows the lines of one message, each with a scenario to watch.
"""

_BY_SITUATION = """
## Why, by situation

Messages of which it depends on the situation what they do.
"""

_ANYWHERE = """
## Why, in every situation

Messages that do the same in every situation in which they can occur.
"""

_PHASE, _RESUMES = "by_the_cards", "resumed"
_FOUND = {BY_CARDS: _PHASE, RESUME: _RESUMES}

_AROUND_STATES = {"no_shoe", "shoe_change", "suspended"}
"""States outside of the round, drawn by themselves."""


def page() -> str:
    """Return the whole page."""
    diagrams = f"```mermaid\n{round_diagram()}```\n{_AROUND}\n```mermaid\n{shoe_diagram()}```"
    reasons = (
        f"{_REASONS}\n{reasons_of_the_round()}{_BY_SITUATION}\n{reasons_by_situation()}"
        f"{_ANYWHERE}\n{reasons_anywhere()}"
    )
    return f"{_HEAD}\n{diagrams}\n{_HALTS}\n{halts()}{reasons}"


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
    for source, rows in ROUND.items():
        for trigger, cell in rows.items():
            dest = _destination(cell)
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
    for message in SHOE:
        cells = cells_by_situation(message).values()
        marks = ["x" if cell.to == "suspended" else "" for cell in cells]
        if any(marks):
            rows.append(f"| {_words(message)} | " + " | ".join(marks) + " |")
    return "\n".join(rows) + "\n"


def reasons_of_the_round() -> str:
    """Return a Markdown table of the lines of ``ROUND``, each with its reason."""
    rows = ["| state | what comes | next state | why | rule |", "|---|---|---|---|---|"]
    for state, row in ROUND.items():
        for trigger, cell in row.items():
            to = _words(_destination(cell))
            rows.append(f"| {_words(state)} | `{trigger}` | {to} | {_reason(cell)} |")
    return "\n".join(rows) + "\n"


def reasons_by_situation() -> str:
    """Return a Markdown table of the blocks of ``SHOE``: a line for each cell as it is written."""
    rows = ["| message | situation | the table | why | rule |", "|---|---|---|---|---|"]
    for message, row in SHOE.items():
        for names, cell in row.items():
            where = names if names == OTHERWISE else ", ".join(map(_words, names.split(", ")))
            rows.append(f"| `{message}` | {where} | {_effect(cell)} | {_reason(cell)} |")
    return "\n".join(rows) + "\n"


def reasons_anywhere() -> str:
    """Return a Markdown table of the entries of ``ALWAYS``, each with its reason."""
    rows = ["| message | the table | why | rule |", "|---|---|---|---|"]
    for message, cell in ALWAYS.items():
        rows.append(f"| `{message}` | {_effect(cell)} | {_reason(cell)} |")
    return "\n".join(rows) + "\n"


def _destination(cell: Cell) -> str:
    """Return the state that a line of the round leads to, or what finds it."""
    assert cell.to is not None
    return cell.to if isinstance(cell.to, str) else _FOUND[cell.to]


def _effect(cell: Cell) -> str:
    return "**halts**" if cell.to == "suspended" else "goes on" if cell.do else "does nothing"


def _reason(cell: Cell) -> str:
    return f"{cell.why} | {cell.rule or ''}"


def _label(trigger: str) -> str:
    return _words(trigger).upper() if trigger in COMMANDS else _words(trigger)


def _words(trigger: str) -> str:
    return trigger.replace(".", " ").replace("_", " ")


if __name__ == "__main__":
    print(page(), end="")  # noqa: T201 - a page for people, on their terminal
