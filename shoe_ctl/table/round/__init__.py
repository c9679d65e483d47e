"""The round: its cards, from the draw to the outcome, and the Players who handle them.

Where to look, in the order of a round:

* ``methods``: who chooses Method A, B or C, and the change to another.
* ``card_check``: whether a drawn card fits, and which irregularity it is if it does not.
* ``deal``: a round opened, bets closed, cards put into slots.
* ``entitlement``, ``hands``: which Player is to have a hand; hands passed, refused, exposed.
* ``shoe_holder``: a Player who holds the shoe in Method C.
* ``reveal``: cards revealed, totals announced, third cards due.
* ``outcome``: the outcome announced, the round ended.
* ``early_cards``, ``cards_ahead``: cards drawn before their turn by mistake, or on purpose.
* ``unordered_cards``: cards drawn together in an unknown order.
* ``card_entry``, ``reconstruct``: cards that people name; cards placed outside the normal sequence.

Pure: no I/O, no clock, no randomness. Imports ``shoe`` and ``wagers``; knows no procedures.
"""
