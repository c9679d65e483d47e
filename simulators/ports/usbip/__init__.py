"""A shoe as a USB device that any Linux host attaches over TCP, in the USB/IP protocol.

* ``descriptors``: what the device says of itself; ``device``: what it does with each transfer.
* ``messages``: the layouts of USB/IP; ``server``: who lists and exports devices.
* ``port``: the port of a simulated shoe.
"""

from __future__ import annotations
