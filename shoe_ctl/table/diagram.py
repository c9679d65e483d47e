"""Draw the round's states for the documents: ``python -m shoe_ctl.table.diagram``.

In: ``ROUND``, and what halts a table, of transitions.py. Out: a page of Markdown, on stdout.
Must not know: anything that the tables do not say.
"""

from __future__ import annotations

from .commands import COMMANDS
from .situations import SITUATIONS, STATES
from .transitions import ALWAYS, BY_CARDS, RESUME, ROUND, SHOE

_HEAD = """# The ten states of a table

Generated from `shoe_ctl/table/transitions.py`; make it anew with
`python -m shoe_ctl.table.diagram > docs/contributor/state-diagram.md`.

## The round

In capitals is what people say; the rest follows from the cards, or comes from the shoe. A line that
leaves the state as it is is not drawn. Cards that get their place late lead to the phase that they
stand for; when a halt ends, the table resumes in the state that it left, or in the one that the end
of the halt names.
"""

_HALTS = """
## What halts a table

These suspend the table in the situations marked. The last three are a table that is halted already:
another irregularity is opened on top. Staff halt a table too: they declare what they saw, or pause
it.
"""

_ELSEWHERE = """
These halt it wherever they come up:
"""

_PHASE, _RESUMES = "by_the_cards", "resumed"


def page() -> str:
    """The whole page."""
    return f"{_HEAD}\n```mermaid\n{diagram()}```\n{_HALTS}\n{halts()}{_ELSEWHERE}{halts_anywhere()}"


def diagram() -> str:
    """A mermaid stateDiagram-v2: one edge between two states, with every trigger that takes it."""
    edges: dict[tuple[str, str], dict[str, None]] = {}
    for source, trigger, to, *_ in ROUND:
        dest = {BY_CARDS: _PHASE, RESUME: _RESUMES}.get(to, to)
        if dest != source:
            edges.setdefault((source, dest), {})[_label(trigger)] = None
    lines = [
        "stateDiagram-v2",
        f'    state "the phase of the cards" as {_PHASE}',
        f'    state "the state that was left" as {_RESUMES}',
        f"    [*] --> {STATES[0]}",
    ]
    order = (*STATES, _PHASE, _RESUMES)
    for edge in sorted(edges, key=lambda edge: (order.index(edge[0]), order.index(edge[1]))):
        source, dest = edge
        lines.append(f"    {source} --> {dest} : {', '.join(edges[edge])}")
    return "\n".join(lines) + "\n"


def halts() -> str:
    """A Markdown table: what halts a table in some situations, and in which."""
    head = "| | " + " | ".join(name.replace("_", ", ") for name in SITUATIONS) + " |"
    rows = [head.replace("no, ", "no "), "|---|" + ":-:|" * len(SITUATIONS)]
    for message, *cells in SHOE:
        marks = ["x" if cell.to == "suspended" else "" for cell in cells]
        if any(marks):
            rows.append(f"| {_words(message)} | " + " | ".join(marks) + " |")
    return "\n".join(rows) + "\n"


def halts_anywhere() -> str:
    """A Markdown list: what halts a table wherever it comes up."""
    halting = (message for message, cell in ALWAYS.items() if cell.to == "suspended")
    return "".join(f"* {_words(message)}\n" for message in halting)


def _label(trigger: str) -> str:
    return _words(trigger).upper() if trigger in COMMANDS else _words(trigger)


def _words(trigger: str) -> str:
    return trigger.replace(".", " ").replace("_", " ")


if __name__ == "__main__":
    print(page(), end="")  # noqa: T201 - a page for people, on their terminal
