"""Frozen dataclasses made as fast as open ones, where one is made for each frame.

In: a frozen dataclass with slots. Out: a class to fill and then close.
Must not know: which values are made so.
"""

from __future__ import annotations

from typing import Any


def slot_filled(frozen: type) -> Any:
    """Return a class whose objects are filled slot by slot and then become ``frozen``.

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
    return type("SlotFilled" + frozen.__name__, frozen.__bases__, body)
