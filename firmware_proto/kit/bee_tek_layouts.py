"""Compiles the layouts of the Bee-Tek profile to patterns, and derives the table in its SPEC.md.

In: the construct declarations. Out: the module of compiled layouts, the table of SPEC.md.
Must not know: events, sessions.
"""

from __future__ import annotations

from collections.abc import Iterator

from construct import Construct

from firmware_proto.bee_tek.layouts import (
    ALARM_CODE,
    ALARM_START,
    ALARM_WITH_TEXT,
    BARE_LINE,
    CARDS,
    TAGGED_LINE,
    WARNING,
    pattern,
    template,
)
from firmware_proto.kit.spec_tables import replace_generated

_HEAD = '''\
"""Compiled layouts of the Bee-Tek profile: the pattern that reads and the text that is sent.

Generated from ``layouts.py`` by ``make layouts``: do not edit. A test holds the two equal. Sessions
read and write by this module, so that they need not import construct.
"""

from __future__ import annotations

import re
from typing import Final

_FLAGS = re.IGNORECASE | re.ASCII

'''

_LAYOUTS: dict[str, Construct] = {
    "TAGGED_LINE": TAGGED_LINE,
    "BARE_LINE": BARE_LINE,
    "ALARM_START": ALARM_START,
    "ALARM_WITH_TEXT": ALARM_WITH_TEXT,
    "ALARM_CODE": ALARM_CODE,
    "WARNING": WARNING,
}


def compiled() -> str:
    """The text of ``compiled_layouts.py``."""
    return _HEAD + "\n".join(_parts())


def _parts() -> Iterator[str]:
    for name, layout in _LAYOUTS.items():
        yield f'{name}: Final = re.compile(\n    r"{pattern(layout)}",\n    _FLAGS,\n)\n'
        if layout is not ALARM_START:
            yield f'{name}_TEXT: Final = "{template(layout)}"\n'
    rows = "".join(
        f'    "{form}": re.compile(\n        r"{pattern(layout)}",\n        _FLAGS,\n    ),\n'
        for form, layout in CARDS.items()
    )
    yield f'CARDS: Final = {{\n{rows}}}\n"""A token that names a card, in each form."""\n'
    rows = "".join(f'    "{form}": "{template(layout)}",\n' for form, layout in CARDS.items())
    yield f"CARD_TEXTS: Final = {{\n{rows}}}\n"


def spec(text: str) -> str:
    """SPEC.md with the table of what is read and what is sent."""
    names = _LAYOUTS | {f"card, {form.replace('_', ' ')}": card for form, card in CARDS.items()}
    rows = ["| part | read: a regular expression, in either case | sent |", "|---|---|---|"]
    for name, layout in names.items():
        shown = name.lower().replace("_", " ")
        read = pattern(layout).replace("|", r"\|")
        rows.append(f"| {shown} | `{read}` | `{template(layout)}` |")
    return replace_generated(text, rows)
