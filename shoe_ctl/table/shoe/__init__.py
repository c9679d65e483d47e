"""The shoe: its link, its set of cards, and what it is ordered to do.

Where to look:

* ``link``: connected or lost, which device it is, whether it is aligned with the round.
* ``arming``: which draw the shoe is armed for, what it reports of that, what it refuses.
* ``card_set``: sets loaded, recorded, counted and changed; the cutting card.
* ``ledger``: every card that left the shoe, known or unseen, beside the shoe's own count.
* ``unplaced``: cards that lie on the table without a slot.
* ``outbox``: commands to the shoe, sent until they are answered.

Pure: no I/O, no clock, no randomness. Imports the state and the values; knows no rounds' rules.
"""
