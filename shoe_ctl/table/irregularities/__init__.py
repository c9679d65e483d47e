"""Irregularities: what may go wrong at a table. One module is one irregularity, or one family.

What a newcomer finds where:

* ``overdraw``: a card drawn before its turn
* ``double_draw``: cards drawn together
* ``draw_order``: order altered, cards in the wrong places, a draw missed
* ``wrong_cards``: foreign, one too many, unshuffled, missing, or face up in the shoe
* ``unread_cards``: a card that the shoe could not read
* ``card_taken``: a Player left with cards
* ``players``: a hand with the wrong Player, an absent Player, a shoe moved by a Player
* ``gaps``: the link was lost, or draws were not reported
* ``power_failure``, ``device_reset``, ``cutting_card``, ``differential``: one each
* ``rulings``: the shoe's own result, what no rule covers, the cards after a void round
* ``pending_card``: no irregularity, but the card that was under way when a halt began
* ``halts``: every cause that raises one of them, as data; what the shoe reports of itself
* ``catalog``: all procedures by key, found in the other modules

A module reads from top to bottom: the rule (in its docstring), *Detection* (how it is found and
raised, or who may declare it), *Conditions* (what its choices depend on), *Actions* (what its
choices do), *Procedure* (steps, choices, ends). A family repeats these parts for each of its
members. ``shoe_ctl.table.procedures`` explains the form of a procedure.

How to add an irregularity:

1. Write its module with a ``Procedure`` at the top level; ``catalog`` finds it. If people declare
   it, give it a ``Declared``: that is all that its detection needs.
2. Add the texts of its messages to both catalogues of ``shoe_ctl.texts``. If its ends cite the
   general ruling (6.1) alone, that is all.
3. If the rules speak of it, or if the shoe raises it, one more thing:

   * rules: its ends in ``shoe_ctl.games.irregularity_ends``, and in each game's data a section
     ``[irregularities.<key>]`` with the rule number of each end that the procedure cites;
   * the shoe: an action in *Detection*, instead of ``Declared``, and one row of
     ``shoe_ctl.table.transitions`` that names the action. A cause that needs only a text is an
     entry of ``halts.HALTS``, and the row names that.

The tests then ask for a scenario for each end, and for the key on the staff's page of commands.
"""
