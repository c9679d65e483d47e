"""Many simulated shoes in one process, each at a TCP port, for load tests of daemons.

* ``command``: ``shoe-sim floor``.
* ``configuration``: the daemon's configuration for these tables.
* ``load``: deal at all tables for some time.
* ``paced_table``: one table's shoe, its port and the hand that draws.
* ``poll``: the event loop that all tables share.
* ``times``, ``report``: what was measured, for programs and in words.
"""

from __future__ import annotations
