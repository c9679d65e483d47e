"""What calls in the guest need, loaded and made once: each would pay seconds for it.

In: nothing. Out: modules; the game and the table's machine, in the caches that the product keeps.
"""

from __future__ import annotations

from importlib import import_module
from typing import Final

MODULES: Final = (
    "shoe_ctl.cli.main", "shoe_ctl.cli.run", "shoe_ctl.daemon.daemon", "shoe_ctl.cli.doctor",
    "shoe_ctl.cli.doctor_view", "shoe_ctl.link.doctor",
    "shoe_ctl.link.usb", "shoe_ctl.texts.english",
    "firmware_proto.reference.profile", "shoe_testing.guest.actions",
    "cryptography.hazmat.primitives.asymmetric.ed25519", "importlib.metadata",
    "importlib.resources.readers", "importlib_resources.readers", "libusb_package", "serial",
    "usb.backend.libusb1", "usb.core",
)  # fmt: skip

GAME: Final = "tiger"
"""The game of every table in the guest."""


def load_and_make() -> None:
    """Load the modules; make what a daemon makes before its first round."""
    for name in MODULES:
        import_module(name)
    from shoe_ctl.games import catalog
    from shoe_ctl.table.controller import machine

    game = catalog.load(GAME)
    faces = tuple(sorted(game.deck.cards, key=lambda card: -card.points))
    game.settle_hands(faces[:1] * 2, faces[:2])
    machine()
