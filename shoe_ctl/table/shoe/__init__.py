"""The shoe: its messages, its cards and what it is told. Pure: no I/O, no clock, no randomness."""
