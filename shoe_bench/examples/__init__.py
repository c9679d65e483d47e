"""Tests to begin with: ``pytest --pyargs shoe_bench.examples``, also with ``--shoe-port``."""
