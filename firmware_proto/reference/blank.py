"""Frozen dataclasses made at the price of plain ones, for the one path that every card takes.

In: a frozen slotted dataclass. Out: a class of the same shape whose objects can be filled.
Must not know: which dataclass, what its fields mean.
"""

from __future__ import annotations

from typing import Any


def blank(frozen: type) -> Any:
    """A class whose objects are filled slot by slot and then made ``frozen`` for good.

    The ``__init__`` of a frozen dataclass looks each field up by name to get past its own lock,
    which costs more than all the rest of decoding a card. Objects of this class have the same
    slots and no lock; when every slot is filled, ``filled.__class__ = frozen`` closes it. Python
    allows that only between classes of one layout, so that a field added to the dataclass, but
    not filled, shows in the first test that compares or prints it.
    """
    body = {
        "__slots__": vars(frozen)["__slots__"],
        "__setattr__": object.__setattr__,
        "__delattr__": object.__delattr__,
    }
    return type("Blank" + frozen.__name__, frozen.__bases__, body)
