"""A guest with a real kernel: Debian's, in QEMU, under plain emulation.

* ``kernel``: Debian's kernel, downloaded, unpacked and kept, and the archive that it boots.
* ``machine``: QEMU, and the calls of a test.
* ``init.sh``, ``start.sh``: the guest's start; ``agent``: the program in it that takes the calls.
* ``actions``: what a test can call there.
* ``daemon``: a daemon in the guest, told to the test beside its shoe.
"""
