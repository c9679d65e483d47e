"""The rights of logins at a broker: tried, not read from the broker's configuration.

A broker's access list is long, and a hole in it makes no noise. ``logins`` says who logs in, and
what for; ``mqtt_rights`` and ``nats_rights`` try what must work and what must not; ``findings``
says what came of it. Halls are live: what is tried touches only what this package made itself, for
a table that nobody serves.
"""
