"""Scenarios played one after the other, each through a daemon of its own.

In: scenarios by name, file or folder. Out: a report of each.
Must not know: the controller. Each is played by the demo of shoe-ctl, another program.
"""
