"""Scenarios made out of what happened at a table: from a journal, or while it happens.

In: what a table recorded. Out: a scenario's file, and what of it cannot be played again.
Must not know: the controller. A journal is read through the command line of shoe-ctl.
"""
