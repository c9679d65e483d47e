"""The table: a pure state machine that deals a round by its game's rules and halts where in doubt.

One input goes in, effects come out (``TableController.handle``); nothing here reads a clock, does
I/O or draws a random number, so the same inputs always give the same events. Imports run downwards:

    controller       one input, its effects                        diagram: the page of states
    status, offers   how the table stands in public; what could be done now
    transitions      the tables: what may follow in each state
    cases            which case a message is, before the tables are asked
    commands         every command: who, with what, when, what it does
    answers          what a command is answered; answers that are given again
    decisions        declare, decide, pause, resume; what an open step accepts
    entered_rounds   rounds that people enter, finished by hand or corrected later
    irregularities/  each irregularity whole: how it is seen, its steps, its ends
    procedures/      the form of a procedure, the stack of what is open, withdrawal windows
    round/           cards into slots, revealing, the outcome, hands, the methods A, B and C
    wagers/          the ledger of wagers, limits, the table differential, settlement
    shoe/            the link, arming, the set of cards, the ledger of cards, commands to the shoe
    undelivered      events that a sink refused
    disk             a warning before the disk of the journal is full
    consent, arguments   the second person; how a command's arguments are read
    turn, situations one input being handled; groups of states
    state            everything the table remembers
    inputs, effects, settings, positions   the boundary
"""
