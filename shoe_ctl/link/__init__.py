"""One shoe's port: open it over serial, TCP or USB, keep it connected, diagnose it, record it.

The ``Supervisor`` owns a table's link. It opens the port, runs one ``Connection`` after the other,
and hands each ``Reception`` to its owner, who stores it before more is read:

    from shoe_ctl.link import Supervisor, opener, parse_address

    port = parse_address("/dev/card-shoe/SH-0042")
    link = Supervisor(name="bac-07", opener=opener(port, profile.SERIAL, executor, libusb), ...)
    await link.run()

* ``address``, ``transport_factory``: addresses of ports; what opens them. ``serial``, ``tcp``,
  ``usb``: each kind as a ``Transport``.
* ``connection``, ``reconnect``: one connection; connecting again. ``line_budget``: what garbage may
  cost. ``hotplug``: notice that a port is back.
* ``discovery``, ``usb_discovery``, ``port_users``: what is plugged in, and who uses it.
* ``doctor``, ``recorder``, ``keyring``: diagnose a port, record it, the keys of shoes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoe_ctl.lazy_names import lazy_names

__all__ = [
    "Address",
    "Connection",
    "Diagnosis",
    "Doctor",
    "KeyRing",
    "LinkState",
    "Opener",
    "ProbeTarget",
    "Reception",
    "SerialAddress",
    "Supervisor",
    "Suspension",
    "System",
    "TcpAddress",
    "Transport",
    "TransportLost",
    "UsbAddress",
    "find_serial_ports",
    "find_usb_candidates",
    "libusb",
    "opener",
    "parse_address",
    "record",
    "watch_arrivals",
]

if TYPE_CHECKING:
    from shoe_ctl.link.address import Address, SerialAddress, TcpAddress, UsbAddress, parse_address
    from shoe_ctl.link.connection import Connection, Reception
    from shoe_ctl.link.discovery import System, find_serial_ports, find_usb_candidates
    from shoe_ctl.link.doctor import Diagnosis, Doctor, ProbeTarget
    from shoe_ctl.link.hotplug import watch_arrivals
    from shoe_ctl.link.keyring import KeyRing
    from shoe_ctl.link.reconnect import LinkState, Supervisor, Suspension
    from shoe_ctl.link.recorder import record
    from shoe_ctl.link.transport import Opener, Transport, TransportLost
    from shoe_ctl.link.transport_factory import opener
    from shoe_ctl.link.usb_discovery import libusb
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "Address": "address",
            "SerialAddress": "address",
            "TcpAddress": "address",
            "UsbAddress": "address",
            "parse_address": "address",
            "Connection": "connection",
            "Reception": "connection",
            "System": "discovery",
            "find_serial_ports": "discovery",
            "find_usb_candidates": "discovery",
            "Diagnosis": "doctor",
            "Doctor": "doctor",
            "ProbeTarget": "doctor",
            "watch_arrivals": "hotplug",
            "KeyRing": "keyring",
            "opener": "transport_factory",
            "LinkState": "reconnect",
            "Supervisor": "reconnect",
            "Suspension": "reconnect",
            "record": "recorder",
            "Opener": "transport",
            "Transport": "transport",
            "TransportLost": "transport",
            "libusb": "usb_discovery",
        },
    )
