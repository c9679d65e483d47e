"""The firmware kit: C99 sources for a shoe, and what is derived from the layouts.

* ``shoe_codec.c``, ``shoe_seal.c``, ``shoe_blake2s.c``: the reference profile in C;
  ``host_harness.c`` puts it behind stdin and stdout, for tests.
* ``c_header``: ``python -m firmware_proto.kit.c_header`` makes the header that they need.
* ``vectors``: ``python -m firmware_proto.kit.vectors`` makes frames to test firmware with.
* ``compile_layouts``: ``make layouts``: compiled layouts and the tables of each SPEC.md, by
  ``reference_layouts``, ``angel_eye_layouts``, ``bee_tek_layouts`` and ``spec_tables``.

No session imports this package: all of it needs construct.
"""
