"""The Merkle tree over what a journal stored, with the hashes of RFC 6962, section 2.1.

In: leaf hashes, in order. Out: roots; proofs that a leaf is in a tree, and that one tree continues
another. Must not know: records, files, keys.

Leaves are counted from 0. A tree of ``size`` leaves has a root; its parts are named by their first
leaf and the one behind their last, as in ``range``. A *full* part has 2ⁿ leaves and begins at a
multiple of 2ⁿ. It never changes again, however long the tree grows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import sha256

EMPTY_ROOT = sha256().digest()
"""The root of a tree without leaves."""

HASH_BYTES = 32

LEAF = b"\0"
NODE = b"\1"

LONGEST_PROOF = 128
"""Hashes in a proof at most, for a tree of up to 2⁶⁴ leaves."""

HashOf = Callable[[int, int], bytes]
"""Returns the hash of the part of a tree from one leaf up to, not including, another one."""


def leaf_hash(data: bytes) -> bytes:
    """Return the hash of a leaf with this data."""
    return sha256(LEAF + data).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """Return the hash of a node above two others."""
    return sha256(NODE + left + right).digest()


def split(start: int, stop: int) -> int:
    """Return where the part's right half begins: the left one is full, and as long as can be."""
    return start + (1 << (stop - start - 1).bit_length() - 1)


def full_parts(start: int, stop: int) -> Iterator[tuple[int, int]]:
    """Yield the fewest full parts that together are the leaves from ``start`` to ``stop``."""
    while start < stop:
        longest = 1 << (stop - start).bit_length() - 1
        end = start + (min(start & -start, longest) if start else longest)
        yield start, end
        start = end


def full_root(leaves: Sequence[bytes]) -> bytes:
    """Return the hash of a full part with these leaves."""
    level = leaves
    while len(level) > 1:
        each = iter(level)
        level = [sha256(NODE + left + right).digest() for left, right in zip(each, each)]  # noqa: B905 - one iterator
    return level[0]


class Frontier:
    """The right edge of a growing tree: the hashes of the full parts that it consists of.

    They are about as many as the size has binary digits, and all that is needed to go on.
    ``start`` is where it begins: a part of another tree may be collected alone, and added to that
    tree later, with ``extend``.
    """

    __slots__ = ("hashes", "size", "start")

    def __init__(self, size: int = 0, hashes: Iterable[bytes] = (), *, start: int = 0) -> None:
        self.start = start
        self.size = size
        self.hashes = list(hashes)

    @classmethod
    def read(cls, size: int, hashes: Iterable[bytes]) -> Frontier:
        """Return the edge of a tree of this size with these hashes, as they were kept.

        Raises:
            ValueError: a tree of this size has another edge.
        """
        found = cls(size, hashes)
        if len(found.hashes) != size.bit_count() or any(
            len(each) != HASH_BYTES for each in found.hashes
        ):
            raise ValueError(f"not the edge of a tree of {size} leaves")
        return found

    def copy(self) -> Frontier:
        """Return another frontier that goes on from here."""
        return Frontier(self.size, self.hashes, start=self.start)

    def append(self, leaf: bytes) -> None:
        """Add a leaf, given its hash. This runs for every group."""
        hashes, size = self.hashes, self.size + 1
        stop = size - self.start
        width = 2
        while not size & width - 1 and width <= stop:
            leaf = sha256(NODE + hashes.pop() + leaf).digest()
            width <<= 1
        hashes.append(leaf)
        self.size = size

    def append_all(self, leaves: Sequence[bytes]) -> None:
        """Add leaves as ``append`` does, many at a time and faster: to verify takes millions."""
        first, stop = self.size, self.size + len(leaves)
        parts = full_parts(first, stop)
        self.extend(stop, [full_root(leaves[start - first : end - first]) for start, end in parts])

    def extend(self, stop: int, hashes: Iterable[bytes]) -> None:
        """Add the full parts from here to ``stop``, as ``full_parts`` names them.

        Raises:
            ValueError: there are more or fewer hashes than parts.
        """
        for (begin, end), digest in zip(full_parts(self.size, stop), hashes, strict=True):
            start, node, width = begin, digest, end - begin
            while start & width and start - width >= self.start:
                node = node_hash(self.hashes.pop(), node)
                start -= width
                width <<= 1
            self.hashes.append(node)
        self.size = max(self.size, stop)

    def root(self) -> bytes:
        """Return the root of the tree; ``start`` must be 0."""
        if not self.hashes:
            return EMPTY_ROOT
        *rest, root = self.hashes
        for left in reversed(rest):
            root = node_hash(left, root)
        return root

    def parts(self) -> Iterator[tuple[int, int, bytes]]:
        """Yield the full parts from ``start`` on, each with its hash."""
        for (start, end), digest in zip(
            full_parts(self.start, self.size), self.hashes, strict=True
        ):
            yield start, end, digest


class UnknownPart(LookupError):
    """The hash of a part from one leaf to another is not known, nor those below it."""

    def __init__(self, start: int, stop: int) -> None:
        super().__init__(f"leaves {start} to {stop - 1} are not known")


class KnownParts:
    """Hashes of full parts of a tree, from which those above them are computed."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], bytes] = {}

    def add(self, start: int, stop: int, digest: bytes) -> None:
        """Note a full part's hash, or a leaf's."""
        self._known[start, stop] = digest

    def add_frontier(self, frontier: Frontier) -> None:
        """Note all parts of a frontier."""
        for start, stop, digest in frontier.parts():
            self._known[start, stop] = digest

    def hash_of(self, start: int, stop: int) -> bytes:
        """Return the hash of any part that ends with the tree, or of a full one.

        Raises:
            UnknownPart: too little is known.
        """
        found = self._known.get((start, stop))
        if found is not None:
            return found
        if stop - start < 2:
            raise UnknownPart(start, stop)
        middle = split(start, stop)
        found = node_hash(self.hash_of(start, middle), self.hash_of(middle, stop))
        if stop - start == 2 * (middle - start):
            self._known[start, stop] = found
        return found


def inclusion_proof(leaf: int, size: int, hash_of: HashOf) -> list[bytes]:
    """Return the proof that a leaf is in the tree of this size (RFC 6962, section 2.1.1).

    Raises:
        ValueError: there is no such leaf.
    """
    if not 0 <= leaf < size:
        raise ValueError(f"no leaf {leaf} in a tree of {size}")
    proof: list[bytes] = []
    start, stop = 0, size
    while stop - start > 1:
        middle = split(start, stop)
        if leaf < middle:
            proof.append(hash_of(middle, stop))
            stop = middle
        else:
            proof.append(hash_of(start, middle))
            start = middle
    return proof[::-1]


def root_of_inclusion(leaf: int, size: int, digest: bytes, proof: Sequence[bytes]) -> bytes | None:
    """Return the root of the tree of this size that has this leaf, by this proof.

    None if no proof for this leaf has so many hashes.
    """
    if not 0 <= leaf < size or len(proof) > LONGEST_PROOF:
        return None
    last, rest = size - 1, list(proof)
    while last:
        if leaf & 1 or leaf != last:
            if not rest:
                return None
            other = rest.pop(0)
            digest = node_hash(other, digest) if leaf & 1 else node_hash(digest, other)
        leaf >>= 1
        last >>= 1
    return None if rest else digest


def verify_inclusion(
    leaf: int, size: int, digest: bytes, proof: Sequence[bytes], root: bytes
) -> bool:
    """Return True if the proof shows a leaf with this hash in the tree of this size and root."""
    return root_of_inclusion(leaf, size, digest, proof) == root


def consistency_proof(old: int, new: int, hash_of: HashOf) -> list[bytes]:
    """Return the proof that a tree of size ``new`` begins with that of size ``old``.

    RFC 6962, section 2.1.2. It is empty where both are one, or the old tree is empty.

    Raises:
        ValueError: the old tree is longer than the new one.
    """
    if not 0 <= old <= new:
        raise ValueError(f"a tree of {new} leaves cannot continue one of {old}")
    if old in (0, new):
        return []
    proof: list[bytes] = []
    start, stop = 0, new
    while stop != old:
        middle = split(start, stop)
        if old <= middle:
            proof.append(hash_of(middle, stop))
            stop = middle
        else:
            proof.append(hash_of(start, middle))
            start = middle
    if start:
        proof.append(hash_of(start, stop))
    return proof[::-1]


def verify_consistency(
    old: int, new: int, old_root: bytes, new_root: bytes, proof: Sequence[bytes]
) -> bool:
    """Return True if the proof shows that the new tree begins with the old one.

    ``old`` and ``new`` are their sizes.
    """
    if not 0 <= old <= new or len(proof) > LONGEST_PROOF:
        return False
    if old == 0:
        return old_root == EMPTY_ROOT and not proof
    if old == new:
        return old_root == new_root and not proof
    place, last = old - 1, new - 1
    while place & 1:
        place >>= 1
        last >>= 1
    rest = list(proof) if place else [old_root, *proof]
    if not rest:
        return False
    of_old = of_new = rest.pop(0)
    while last:
        if place & 1 or place != last:
            if not rest:
                return False
            other = rest.pop(0)
            if place & 1:
                of_old = node_hash(other, of_old)
                of_new = node_hash(other, of_new)
            else:
                of_new = node_hash(of_new, other)
        place >>= 1
        last >>= 1
    return not rest and (of_old, of_new) == (old_root, new_root)
