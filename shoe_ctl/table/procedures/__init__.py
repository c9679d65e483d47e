"""Guided procedures: what halts a table, step by step, whatever the reason.

* ``procedure``: the form. A procedure has steps, a step has choices, and it ends in one of its
  ends. Each field is explained where it stands.
* ``stack``: what is open at the table. Raise an irregularity, take it to a step, end it; what is
  pending beside the round; pauses.
* ``withdrawal``: a step at which Players may withdraw their wagers.
* ``shared``: conditions, choices and ends that most irregularities use (play on, set aside, void).
* ``card_choices``: choices about one card that several irregularities use (enter, place, name).

Nothing here knows a particular irregularity: those are in ``shoe_ctl.table.irregularities``.
``shoe_ctl.table.decisions`` takes the choice that people make.
"""
