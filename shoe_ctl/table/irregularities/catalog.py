"""The catalogue of procedures: every irregularity and pause that may halt a table, by key.

In: the modules of this package. Out: PROCEDURES, which is given to the controller.
Must not know: any particular irregularity, what is open at a table.

The modules are found by looking into the package, once, when this module is imported: a new module
is in the catalogue without being named anywhere. While a table is played at, nothing is looked up.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Iterable, Mapping
from importlib import import_module
from types import ModuleType

from shoe_ctl.games.irregularity_ends import ENDS
from shoe_ctl.table.procedures.procedure import OUTAGE, REVIEW, Procedure


def collect(modules: Iterable[ModuleType]) -> dict[str, Procedure]:
    """Return every ``Procedure`` that these modules define or import at their top level, by key.

    They stand in the order in which the games' rules list them; those without rules of their own
    follow, by key.

    Raises:
        ValueError: two procedures have one key.
    """
    found: dict[str, Procedure] = {}
    for module in modules:
        for name, value in vars(module).items():
            if not isinstance(value, Procedure):
                continue
            if found.setdefault(value.key, value) is not value:
                raise ValueError(
                    f"{module.__name__}.{name}: the key {value.key!r} is another procedure's"
                )
    return {key: found[key] for key in (*(k for k in ENDS if k in found), *sorted(found))}


def _modules() -> list[ModuleType]:
    package = __name__.rpartition(".")[0]
    folder = import_module(package).__path__
    names = sorted(f"{package}.{each.name}" for each in pkgutil.iter_modules(folder))
    return [import_module(name) for name in names if name != __name__]


PROCEDURES: Mapping[str, Procedure] = {
    **collect(_modules()),
    REVIEW.key: REVIEW,
    OUTAGE.key: OUTAGE,
}
"""Key → procedure. A key that is not here never halts a table: it closes by itself."""
