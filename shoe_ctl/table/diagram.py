"""The state diagram, drawn from the literal table: ``python -m shoe_ctl.table.diagram``.

In: the rows of machine.py. Out: a page of Markdown with a mermaid diagram, on stdout.
Must not know: anything that the table does not say.
"""

from __future__ import annotations

from .commands import COMMANDS
from .machine import OWN_TRIGGERS, ROWS, STATES, TRIGGERS

_HEAD = """# The ten states of a table

Generated from the rows of `shoe_ctl/table/machine.py`; make it anew with
`python -m shoe_ctl.table.diagram > docs/contributor/state-diagram.md`.

In capitals is what people say, in parentheses what the table gives itself; the rest is what the
shoe, the link or the clock brings. An edge may have conditions: they stand in the row. A trigger
that leaves the state as it is is not drawn.
"""


def page() -> str:
    """The whole page."""
    return f"{_HEAD}\n```mermaid\n{diagram()}```\n"


def diagram() -> str:
    """A mermaid stateDiagram-v2: one edge between two states, with every trigger that takes it."""
    edges: dict[tuple[str, str], dict[str, None]] = {}
    for row in sorted(ROWS, key=lambda r: TRIGGERS.index(r.trigger)):
        if row.dest != row.state:
            edges.setdefault((row.state, row.dest), {})[_label(row.trigger)] = None
    lines = ["stateDiagram-v2", f"    [*] --> {STATES[0]}"]
    for source in STATES:
        for dest in STATES:
            if (source, dest) in edges:
                label = ", ".join(edges[source, dest])
                lines.append(f"    {source} --> {dest} : {label}")
    return "\n".join(lines) + "\n"


def _label(trigger: str) -> str:
    words = trigger.replace("_", " ")
    if trigger in COMMANDS:
        return words.upper()
    return f"({words})" if trigger in OWN_TRIGGERS else words


if __name__ == "__main__":
    print(page(), end="")  # noqa: T201 - a page for people, on their terminal
