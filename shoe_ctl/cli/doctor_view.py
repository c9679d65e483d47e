"""The view of what ``shoectl doctor`` found: tables, text of 80 columns, or JSON for programs.

In: a Report. Out: text; what a terminal shows. Must not know: how anything was found.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from shoe_ctl.link.discovery import Access, Identity, SerialFound, UsbFound
from shoe_ctl.link.doctor import Diagnosis
from shoe_ctl.link.port_users import find_port_users
from shoe_ctl.terminal_text import cell_width, cut, pad

COLUMNS = 80

_NONE = "-"
_HEADS = ("VENDOR", "SERIAL NUMBER", "DRIVER", "OPEN")
_NO_SERIAL = "no serial ports found"
_NO_USB = "no USB devices found that could be a shoe"
_MARKS = {True: "ok", False: "FAILED", None: "in use"}
_WIDTHS = (22, 10, 18, 12)
"""Of node, ids, serial number and driver; who may open it takes the rest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TriedPort:
    """A port that was tried; ``table`` where a configuration named it."""

    table: str | None
    port: str
    profile: str
    diagnosis: Diagnosis


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """All that was found. ``usb_note`` says why USB could not be looked at.

    ``notes`` are what the configuration lacks besides, in one line each. ``daemon`` is why the
    daemon of this configuration serves no table, or not all of them, in one line each.
    """

    ports: Sequence[SerialFound]
    usb: Sequence[UsbFound]
    usb_note: str | None
    tried: Sequence[TriedPort]
    proc: Path
    notes: Sequence[str] = ()
    daemon: Sequence[str] = ()


def as_json(report: Report) -> str:
    """The whole report as one object; what is not known is null."""
    return json.dumps(
        {
            "ports": [_port_object(port, report.proc) for port in report.ports],
            "usb": [_usb_object(found) for found in report.usb],
            "usb_note": report.usb_note,
            "tried": [_tried_object(tried) for tried in report.tried],
            "daemon": list(report.daemon),
            "notes": list(report.notes),
        }
    )


def _port_object(port: SerialFound, proc: Path) -> dict[str, Any]:
    plain = {"path": port.path, "by_id": port.by_id, "card_shoe": port.card_shoe}
    held = [asdict(holder) for holder in find_port_users(port.path, proc)]
    return plain | _known(port.identity, port.driver, port.access) | {"held_by": held}


def _usb_object(found: UsbFound) -> dict[str, Any]:
    serial = found.identity.serial
    plain = {"node": found.node, "port": None if serial is None else f"usb:{serial}"}
    return plain | _known(found.identity, found.driver, found.access)


def _known(identity: Identity, driver: str | None, access: Access) -> dict[str, Any]:
    may = {"driver": driver, "may_open": access.may, "group": access.group}
    return asdict(identity) | may


def _tried_object(tried: TriedPort) -> dict[str, Any]:
    plain = {"table": tried.table, "port": tried.port, "profile": tried.profile}
    return plain | asdict(tried.diagnosis)


def as_text(report: Report) -> str:
    """A table of what is there, then a line for each port that was tried."""
    lines = [*_serial(report), "", *_usb(report)]
    if report.tried:
        lines.append("")
    for tried in report.tried:
        lines += _told(tried)
    for line in report.daemon:
        lines += ["", *textwrap.wrap(f"FAILED: daemon: {line}", COLUMNS, subsequent_indent="  ")]
    for note in report.notes:
        lines += ["", *textwrap.wrap(f"note: {note}", COLUMNS, subsequent_indent="  ")]
    return "\n".join(lines)


def show_on_terminal(report: Report) -> None:
    """Print what is there, then the finding at each port that was tried."""
    from shoe_ctl.cli.common import Column, make_cell, make_console, make_table

    console = make_console()
    serial = [
        ((port.path, *_middle(port.identity, port.driver), _may(port.access)),
         [*_more(port.identity), *_links(port, report.proc)])
        for port in report.ports
    ]  # fmt: skip
    usb = [
        ((found.node, *_middle(found.identity, found.driver), _may(found.access)),
         [*_more(found.identity), *_usb_name(found)])
        for found in report.usb
    ]  # fmt: skip
    no_usb = _NO_USB if report.usb_note is None else report.usb_note
    for head, rows, none in (("SERIAL PORT", serial, _NO_SERIAL), ("USB DEVICE", usb, no_usb)):
        if not rows:
            console.print(none, style="yellow", end="\n\n")
            continue
        columns = [Column(head, style="cyan", fits=False), *map(Column, _HEADS)]
        table = make_table(columns)
        for cells, _ in rows:
            *known, may = cells
            table.add_row(
                *map(make_cell, known), make_cell(may, "green" if may == "yes" else "red")
            )
        console.print(table)
        for cells, more in rows:
            for line in more:  # whole, so that it can be copied into a configuration
                console.print(f"{cells[0]}:{line[1:]}", style="dim", soft_wrap=True)
        console.print()
    findings = [(_MARKS[one.diagnosis.well], _finding(one)) for one in report.tried]
    findings += [("FAILED", f"daemon: {line}") for line in report.daemon]
    findings += [("note", line) for line in report.notes]
    if findings:
        table = make_table([Column("RESULT"), Column("FINDING", fits=False)])
        for mark, finding in findings:
            table.add_row(make_cell(mark, _STYLES.get(mark, "yellow")), make_cell(finding))
        console.print(table)


_STYLES = {"ok": "green", "FAILED": "bold red"}


def _links(port: SerialFound, proc: Path) -> Iterator[str]:
    """The other paths of a port, and who uses it."""
    yield from (f"  {link}" for link in (port.card_shoe, port.by_id) if link is not None)
    yield from (f"  in use by {holder}" for holder in find_port_users(port.path, proc))


def _usb_name(found: UsbFound) -> Iterator[str]:
    """The port of a device, as a configuration names it."""
    if found.identity.serial is not None:
        yield f"  usb:{found.identity.serial}"


def _serial(report: Report) -> Iterator[str]:
    if not report.ports:
        yield _NO_SERIAL
        return
    yield _row("SERIAL PORT", *_HEADS)
    for port in report.ports:
        yield _row(port.path, *_middle(port.identity, port.driver), _may(port.access))
        yield from _more(port.identity)
        yield from _links(port, report.proc)


def _usb(report: Report) -> Iterator[str]:
    if report.usb_note is not None:
        yield from textwrap.wrap(report.usb_note, COLUMNS)
    elif not report.usb:
        yield _NO_USB
    else:
        yield _row("USB DEVICE", *_HEADS)
        for found in report.usb:
            yield _row(found.node, *_middle(found.identity, found.driver), _may(found.access))
            yield from _more(found.identity)
            yield from _usb_name(found)


def _middle(identity: Identity, driver: str | None) -> tuple[str, str, str]:
    ids = _NONE
    if identity.vendor_id and identity.product_id:
        ids = f"{identity.vendor_id}:{identity.product_id}"
    return ids, identity.serial or _NONE, driver or _NONE


def _more(identity: Identity) -> Iterator[str]:
    """Vendor and product in words."""
    words = " ".join(word for word in (identity.vendor, identity.product) if word)
    if words:
        yield f"  {_short(words, COLUMNS - 2)}"


def _may(access: Access) -> str:
    if access.may:
        return "yes"
    return "no" if access.group is None else f"no: {access.group}"


def _row(*cells: str) -> str:
    """Cells in columns; one that is a path is never cut, and then pushes the others on."""
    *columns, last = cells
    padded = [
        pad(cell if cell.startswith("/") else _short(cell, width), width)
        for cell, width in zip(columns, _WIDTHS, strict=True)
    ]
    return " ".join([*padded, last]).rstrip()


def _short(text: str, width: int) -> str:
    return text if cell_width(text) <= width else f"{cut(text, width - 1)}…"


def _finding(tried: TriedPort) -> str:
    table = "" if tried.table is None else f"{tried.table} "
    return f"{table}{tried.port} ({tried.profile}): {tried.diagnosis.says}"


def _told(tried: TriedPort) -> list[str]:
    """One line, folded where it is longer than the screen is wide."""
    line = f"{_MARKS[tried.diagnosis.well]}: {_finding(tried)}"
    return textwrap.wrap(
        line, COLUMNS, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )
