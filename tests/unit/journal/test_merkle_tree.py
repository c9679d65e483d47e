"""Trees by RFC 6962: roots, proofs, and what no proof shows.

The literal hashes are those that implementations of Certificate Transparency test themselves with.
Everything else is compared with the definitions of RFC 6962, section 2.1, written down once more.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from hashlib import sha256

import pytest

from shoe_ctl.journal import merkle_tree
from shoe_ctl.journal.merkle_tree import Frontier, KnownParts, UnknownPart
from shoe_testing.for_each import for_each

LEAVES = [
    bytes.fromhex(data)
    for data in (
        "",
        "00",
        "10",
        "2021",
        "3031",
        "40414243",
        "5051525354555657",
        "606162636465666768696a6b6c6d6e6f",
    )
]
ROOTS = [
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]
MOST = 21


def naive_root(data: Sequence[bytes]) -> bytes:
    """Return MTH(D) as the standard defines it."""
    if not data:
        return sha256(b"").digest()
    if len(data) == 1:
        return sha256(b"\x00" + data[0]).digest()
    k = max(2**e for e in range(len(data)) if 2**e < len(data))
    return sha256(b"\x01" + naive_root(data[:k]) + naive_root(data[k:])).digest()


def naive_path(m: int, data: Sequence[bytes]) -> list[bytes]:
    """Return PATH(m, D) as the standard defines it."""
    if len(data) == 1:
        return []
    k = max(2**e for e in range(len(data)) if 2**e < len(data))
    if m < k:
        return [*naive_path(m, data[:k]), naive_root(data[k:])]
    return [*naive_path(m - k, data[k:]), naive_root(data[:k])]


def naive_consistency(m: int, data: Sequence[bytes], *, whole: bool = True) -> list[bytes]:
    """Return SUBPROOF(m, D, b) as the standard defines it."""
    if m == len(data):
        return [] if whole else [naive_root(data)]
    k = max(2**e for e in range(len(data)) if 2**e < len(data))
    if m <= k:
        return [*naive_consistency(m, data[:k], whole=whole), naive_root(data[k:])]
    return [*naive_consistency(m - k, data[k:], whole=False), naive_root(data[:k])]


def some_data(count: int) -> list[bytes]:
    return [b"group %d" % each for each in range(count)]


def grown(data: Sequence[bytes]) -> Frontier:
    frontier = Frontier()
    for each in data:
        frontier.append(merkle_tree.leaf_hash(each))
    return frontier


def parts(data: Sequence[bytes]) -> KnownParts:
    known = KnownParts()
    for at, each in enumerate(data):
        known.add(at, at + 1, merkle_tree.leaf_hash(each))
    return known


@for_each(range(9))
def test_the_root_is_that_of_other_implementations(size: int) -> None:
    assert grown(LEAVES[:size]).root().hex() == ROOTS[size]


def test_the_proofs_are_those_of_other_implementations() -> None:
    hash_of = parts(LEAVES).hash_of
    assert [each.hex() for each in merkle_tree.inclusion_proof(0, 8, hash_of)] == [
        "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
        "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
        "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4",
    ]
    assert [each.hex() for each in merkle_tree.consistency_proof(6, 8, hash_of)] == [
        "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a",
        "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    ]


@for_each(range(MOST))
def test_a_leaf_is_proved_in_each_tree_that_has_it_and_in_no_other(size: int) -> None:
    data = some_data(MOST)
    hash_of = parts(data).hash_of
    for leaf in range(size):
        proof = merkle_tree.inclusion_proof(leaf, size, hash_of)
        assert proof == naive_path(leaf, data[:size])
        digest, root = merkle_tree.leaf_hash(data[leaf]), naive_root(data[:size])
        for index, given in itertools.product(
            range(-1, size + 2), (proof, proof[:-1], proof[1:], [*proof, root], proof[::-1])
        ):
            shown = merkle_tree.verify_inclusion(index, size, digest, given, root)
            assert shown == (index == leaf and given == proof)
        assert not merkle_tree.verify_inclusion(leaf, size, bytes(32), proof, root)


@for_each(range(MOST), range(MOST))
def test_a_tree_is_proved_to_continue_an_earlier_one(old: int, new: int) -> None:
    data = some_data(MOST)
    if old > new:
        with pytest.raises(ValueError, match="cannot continue"):
            merkle_tree.consistency_proof(old, new, parts(data).hash_of)
        return
    proof = merkle_tree.consistency_proof(old, new, parts(data).hash_of)
    assert proof == (naive_consistency(old, data[:new]) if old else [])
    roots = (naive_root(data[:old]), naive_root(data[:new]))
    assert merkle_tree.verify_consistency(old, new, *roots, proof)
    fork = [*data[: old - 1], b"another", *data[old:]]
    if old:
        assert not merkle_tree.verify_consistency(old, new, naive_root(fork[:old]), roots[1], proof)
        assert not merkle_tree.verify_consistency(old, new, roots[0], naive_root(fork[:new]), proof)
    for wrong in (proof[:-1], proof[1:], [*proof, roots[0]], proof[::-1]):
        assert wrong == proof or not merkle_tree.verify_consistency(old, new, *roots, wrong)
    for at in range(len(proof)):
        wrong = [*proof[:at], bytes(32), *proof[at + 1 :]]
        assert not merkle_tree.verify_consistency(old, new, *roots, wrong)


@for_each(range(MOST), range(MOST))
def test_a_frontier_goes_on_from_what_was_kept_of_it(kept: int, more: int) -> None:
    data = some_data(kept + more)
    before = grown(data[:kept])
    assert len(before.hashes) == kept.bit_count()
    after = Frontier.read(kept, before.hashes)
    at_once = after.copy()
    at_once.append_all([merkle_tree.leaf_hash(each) for each in data[kept:]])
    since = Frontier(kept, start=kept)
    for each in data[kept:]:
        after.append(merkle_tree.leaf_hash(each))
        since.append(merkle_tree.leaf_hash(each))
    assert after.root() == naive_root(data)
    assert (at_once.size, at_once.hashes) == (after.size, after.hashes)
    whole = before.copy()
    whole.extend(since.size, since.hashes)
    assert (whole.size, whole.hashes) == (after.size, after.hashes)
    known = KnownParts()
    known.add_frontier(before)
    known.add_frontier(since)
    proof = merkle_tree.consistency_proof(kept, kept + more, known.hash_of)
    assert proof == (naive_consistency(kept, data) if kept else [])


@for_each(range(MOST), range(MOST))
def test_full_parts_are_the_fewest_that_never_change(start: int, stop: int) -> None:
    found = list(merkle_tree.full_parts(start, stop))
    assert [each for part in found for each in range(*part)] == list(range(start, stop))
    assert all(begin % (end - begin) == 0 for begin, end in found)
    assert all((end - begin).bit_count() == 1 for begin, end in found)
    for (a, _), (_, d) in itertools.pairwise(found):
        assert (d - a).bit_count() != 1 or a % (d - a)


@for_each([(0, [bytes(32)]), (3, [bytes(32)]), (2, [bytes(31)]), (1, [])])
def test_a_frontier_of_another_size_is_refused(kept: tuple[int, list[bytes]]) -> None:
    with pytest.raises(ValueError, match="not the edge of a tree"):
        Frontier.read(*kept)


def test_what_is_not_known_of_a_tree_is_named() -> None:
    known = parts(some_data(4))
    with pytest.raises(UnknownPart, match="leaves 4 to 4 are not known"):
        known.hash_of(0, 5)


def test_a_proof_is_never_longer_than_a_tree_can_be_high() -> None:
    data = some_data(4)
    root = naive_root(data)
    long = [bytes(32)] * 129
    assert not merkle_tree.verify_inclusion(0, 2**200, bytes(32), long, root)
    assert not merkle_tree.verify_consistency(4, 2**200, root, root, long)
