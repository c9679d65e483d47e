"""What a program makes before its first round, made once for all that are split off afterwards.

In: nothing. Out: games, the table's machine and the texts, in the caches that the product keeps.
Import this last: what is there by then is left out of the children's garbage collection, which
would otherwise copy every page of it.
"""

from __future__ import annotations

import gc

from shoe_ctl.games import catalog
from shoe_ctl.table.controller import machine

for _name in catalog.shipped():
    _game = catalog.load(_name)
    _faces = tuple(sorted(_game.deck.cards, key=lambda card: -card.points))
    _game.settle_hands(_faces[:1] * 2, _faces[:2])
machine()
gc.collect()
gc.freeze()
