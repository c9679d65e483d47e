"""The round: its cards, from the draw to the outcome. Pure: no I/O, no clock, no randomness."""
