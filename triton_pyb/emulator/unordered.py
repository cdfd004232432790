"""The order in which the server walks a request's inputs.

The server keeps them in a ``std::unordered_map`` keyed by name, and the order shows in its messages:
which of two faulty inputs is named, and how the list of inputs got is written.

Source: libstdc++'s ``_Hash_bytes`` (64 bit) and ``_Hashtable``; the first prime sizes of its rehash policy.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from functools import lru_cache
from typing import TypeVar

Key = TypeVar("Key", bound=Hashable)

_BUCKETS = (13, 29, 59, 127, 257, 541, 1109, 2357, 5087, 10273, 20753)
_MASK = 0xFFFFFFFFFFFFFFFF
_MUL = (0xC6A4A793 << 32) + 0x5BD1E995


def text_hash(name: str) -> int:
    """``std::hash`` of a string."""
    data = name.encode()
    value = 0xC70F6907 ^ (len(data) * _MUL & _MASK)
    tail = len(data) & ~7
    for start in range(0, tail, 8):
        block = int.from_bytes(data[start : start + 8], "little") * _MUL & _MASK
        block = (block ^ (block >> 47)) * _MUL & _MASK
        value = (value ^ block) * _MUL & _MASK
    if len(data) & 7:
        value = (value ^ int.from_bytes(data[tail:], "little")) * _MUL & _MASK
    value = (value ^ (value >> 47)) * _MUL & _MASK
    return value ^ (value >> 47)


def unordered(keys: Iterable[Key], hash_of: Callable[[Key], int] = text_hash) -> list[Key]:  # type: ignore[assignment]
    """`keys`, all different, in the iteration order of an unordered_map they were put into one by one."""
    known = tuple(keys)
    return list(_order(known, hash_of)) if len(known) > 1 else list(known)


@lru_cache(4096)  # a model's requests bring the same names again and again
def _order(keys: tuple[Key, ...], hash_of: Callable[[Key], int]) -> tuple[Key, ...]:
    hashes: list[tuple[int, Key]] = []
    size = 1
    for count, key in enumerate(keys):
        if count + 1 > size:
            size = next(bucket for bucket in _BUCKETS if bucket > count)
            hashes = _relinked(hashes, size)
        hashes = _inserted(hashes, (hash_of(key), key), size)
    return tuple(key for _, key in hashes)


def _inserted(nodes: list[tuple[int, Key]], node: tuple[int, Key], size: int) -> list[tuple[int, Key]]:
    # A node goes to the front of its bucket's run, or to the front of everything when the bucket is empty.
    bucket = node[0] % size
    for index, (other, _) in enumerate(nodes):
        if other % size == bucket:
            return [*nodes[:index], node, *nodes[index:]]
    return [node, *nodes]


def _relinked(nodes: list[tuple[int, Key]], size: int) -> list[tuple[int, Key]]:
    # A rehash walks the list and links each node at the front of its new bucket's run likewise, except
    # that it goes behind the run's first predecessor: the same rule, node by node.
    linked: list[tuple[int, Key]] = []
    for node in nodes:
        linked = _inserted(linked, node, size)
    return linked
