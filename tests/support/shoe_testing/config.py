"""Configuration files: ``make_config`` spells one, and two are ready made.

In: what a test needs, in the file's own keys. Out: text, or a file in a folder.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

TABLE = "bac-07"

SOCKET = "way-in"
"""Beside the journal, where a configuration has a way in."""


FACE_UP = {"faces": "face_up", "face_up_after_ms": 0}
PUBLIC_SINK = {"kind": "jsonl", "path": "public.jsonl"}
RESTRICTED_SINK = {"kind": "jsonl", "path": "restricted.jsonl", "audience": "restricted"}


def make_config(*tables: Mapping[str, Any], **sections: Any) -> str:
    """The text of a configuration: these tables, and other sections by their names."""
    return "".join(_toml({"table": list(tables), **sections}))


def table_section(
    name: str = TABLE,
    *,
    port: str,
    profile: str = "reference",
    game: str = "tiger",
    shoe: Mapping[str, Any] | None = None,
    **more: Any,
) -> dict[str, Any]:
    """A table: what every table needs, more keys of it, and more keys of its ``shoe``."""
    shoe_section = {"profile": profile, "port": port, **(shoe or {})}
    return {"id": name, "game": game, **more, "shoe": shoe_section}


def this_user(position: str, **more: Any) -> dict[str, Any]:
    """Who runs the tests, as a user of the socket."""
    return {"user": os.getuid(), "position": position, **more}


def _toml(plain: Mapping[str, Any], above: str = "") -> Iterator[str]:
    """Keys first, then sections; strings, numbers and flat lists are spelt as in JSON."""
    sections: list[tuple[str, Mapping[str, Any]]] = []
    for key, value in plain.items():
        name = f"{above}{key}"
        if isinstance(value, Mapping):
            sections.append((f"[{name}]", value))
        elif isinstance(value, list) and value and isinstance(value[0], Mapping):
            sections += [(f"[[{name}]]", each) for each in value]
        else:
            yield f"{key} = {json.dumps(value)}\n"
    for head, section in sections:
        yield f"{head}\n"
        yield from _toml(section, f"{head.strip('[]')}.")


def write_config(  # noqa: PLR0913 - what a test may choose, each by name
    folder: Path,
    port: str,
    *,
    profile: str = "reference",
    game: str = "tiger",
    decks: int = 8,
    way_in: bool = False,
) -> Path:
    """A table's configuration file, with a sink for each audience beside it."""
    table = table_section(
        port=port,
        profile=profile,
        game=game,
        decks=decks,
        announcements="implied",
        method_b=FACE_UP,
    )
    sections: dict[str, Any] = {"sink": [PUBLIC_SINK, RESTRICTED_SINK]}
    if way_in or profile == "bee_tek":
        sections["socket"] = {"path": SOCKET, "user": [this_user("pit_supervisor")]}
    path = folder / "table.toml"
    path.write_text(make_config(table, **sections))
    return path


def add_shoe_settings(config: Path, *lines: str) -> Path:
    """The configuration, with these lines more for the shoe."""
    text = config.read_text().replace("[table.shoe]\n", "[table.shoe]\n" + "\n".join(lines) + "\n")
    config.write_text(text)
    return config


SOCKET_POSITION = "gaming_shift_manager"


def write_socket_config(
    folder: Path,
    *,
    position: str = SOCKET_POSITION,
    audience: str = "public",
    decks: int = 8,
    also: Sequence[str] = (),
) -> Path:
    """A table whose dealer announces and turns the cards, and this very user at the socket."""
    table = table_section(port=str(folder / "shoe"), decks=decks, announcements="explicit")
    user = this_user(position, audience=audience, also=list(also))
    path = folder / "table.toml"
    path.write_text(make_config(table, socket={"user": [user]}))
    return path
