"""Wagers: what stands on the layout, what may change, what a round pays, and the commands for it.

    betting       wager commands in the round; the events of wagers
    declared      what people declare of wagers after *no more bets*
    differential  the table differential: how far apart the wagers on both hands may be
    ledger        placing, changing, withdrawing; each act is kept with who and when
    settlement    what each wager is paid or loses
    limits        what may be placed where, for how much
    money         exact payouts and rounding
    types         the values that all of them use

Amounts are in minor units (cents).
"""
