"""Trials of a table system's receiver: what is published to it, and what it must hold then."""
