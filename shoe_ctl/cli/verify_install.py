"""``shoectl --verify-install FILE``: compare an installation with a wheel or a Debian package.

In: the file. Out: a table of what differs; exit 1 where something does. Must not know: how files
are compared.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from shoe_ctl.terminal_text import printable

if TYPE_CHECKING:
    from shoe_ctl.audit.package_files import Comparison

NAMED = 14
_WORDS = {
    "altered": "altered",
    "missing": "missing",
    "added": "added",
    "mode": "other modes",
    "changed": "changed",
}


def verify_install(package: Path) -> bool:
    """Compare this installation with the package, and show the result; True if it is the same.

    Raises:
        InputRefused: it is neither a wheel nor a Debian package of shoe-ctl, or damaged.
        EnvironmentFault: a file cannot be read.
    """
    from shoe_ctl.audit.package_files import compare

    found = compare(package)
    for name, value in _rows(found):
        click.echo(printable(f"{name:<{NAMED}}{value}"))
    return found.ok


def _rows(found: Comparison) -> list[tuple[str, str]]:
    rows = [
        ("package", found.package),
        ("sha256", found.sha256),
        ("installed", f"{found.folder}, {found.files:,} files of the package"),
    ]
    for one in found.differences:
        detail = one.detail or ("a setting of this host" if not one.is_fault else "")
        rows.append((_WORDS[one.what], f"{one.path}{f': {detail}' if detail else ''}"))
    rows += [("not compared", line) for line in found.not_compared]
    rows.append(("result", "the same" if found.ok else "NOT the same"))
    return rows
