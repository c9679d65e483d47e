"""Audits of a journal beyond its chains: comparison with the ledgers of table systems."""
