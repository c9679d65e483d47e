"""A guest with a real kernel: Debian's, in QEMU, under plain emulation.

* ``kernel``: Debian's kernel, downloaded, unpacked and kept, and the archive that it boots.
* ``files``: the host's files in that archive.
* ``machine``: QEMU, and the calls of a test.
* ``init.sh``, ``start.sh``: the guest's start; ``agent``: the program in it that takes the calls,
  ``warm_start``: what it loads first. The guest is kept then. ``attach.sh``: it sees the host.
* ``actions``: what a test can call there.
* ``daemon``: a daemon in the guest, told to the test beside its shoe.
"""
