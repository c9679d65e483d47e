"""Change a simulated shoe while it is served: the changes, the socket they come in by, a client.

* ``changes``: what can be changed, by name, with its arguments.
* ``server``: the socket at which a served shoe takes changes.
* ``client``: the same over Python.
* ``command``: the same on the command line, ``shoe-sim ctl``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulators.lazy_names import lazy_names

__all__ = ["CHANGES", "ChangeRefused", "Changed", "ShoeControl", "controlled"]

if TYPE_CHECKING:
    from simulators.control.changes import CHANGES
    from simulators.control.client import Changed, ChangeRefused, ShoeControl
    from simulators.control.server import controlled
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "CHANGES": "changes",
            "Changed": "client",
            "ChangeRefused": "client",
            "ShoeControl": "client",
            "controlled": "server",
        },
    )
