"""Relocations in the code of x86-64 and AArch64, and the jumps through which code calls outside.

Relocation numbers and fields are those of the processors' ELF supplements. Places and targets are addresses, or both offsets
from one multiple of 4096: stored distances count from the place, or from its page.
"""

import struct
from collections.abc import Callable
from typing import NamedTuple

from ....ir.errors import FileError

X86_64, AARCH64 = 62, 183
RELATIVE = {X86_64: 8, AARCH64: 1027}
GLOB_DAT = {X86_64: 6, AARCH64: 1025}


class Fields(NamedTuple):
    """A processor's relocations: the one of a 64-bit address, those that go through a table, those of eight bytes (others have
    four), and `store(body, at, kind, target)` for all but the first."""

    word: int
    through_table: frozenset
    wide: frozenset
    store: Callable


class Stub(NamedTuple):
    """A jump to an address in a table: its size, and its bytes for its own address and that of the table's slot."""

    size: int
    code: Callable


def _store_x86(body, at, kind, target):
    distance = target - at
    if kind == 24:                                     # a 64-bit distance
        struct.pack_into("<q", body, at, distance)
    elif kind in (2, 4, 9, 41, 42) and -2**31 <= distance < 2**31:
        struct.pack_into("<i", body, at, distance)
    else:
        raise FileError(f"relocation {kind} of x86-64 cannot be stored (distance {distance})")


def _bits(body, at, keep, value):
    word, = struct.unpack_from("<I", body, at)
    struct.pack_into("<I", body, at, word & keep | value)


_SHIFTS = {277: 0, 278: 0, 284: 1, 285: 2, 286: 3, 299: 4, 312: 3}     # of the low twelve bits, by how wide the access is


def _store_arm(body, at, kind, target):
    if kind in (282, 283):                             # jumps and calls
        distance = target - at
        if distance % 4 or not -2**27 <= distance < 2**27:
            raise FileError(f"a call over {distance} bytes")
        _bits(body, at, 0xFC000000, distance >> 2 & 0x3FFFFFF)
    elif kind in (275, 276, 311):                           # pages
        pages = (target >> 12) - (at >> 12)
        if not -2**20 <= pages < 2**20:
            raise FileError(f"an address {pages} pages away")
        _bits(body, at, 0x9F00001F, (pages & 3) << 29 | (pages >> 2 & 0x7FFFF) << 5)
    elif kind in _SHIFTS:
        low = target & 0xFFF
        if low % (1 << _SHIFTS[kind]):
            raise FileError("an access that is not aligned")
        _bits(body, at, 0xFFC003FF, low >> _SHIFTS[kind] << 10)
    elif kind == 260:
        struct.pack_into("<q", body, at, target - at)
    elif kind in (261, 314):
        struct.pack_into("<i", body, at, target - at)
    else:
        raise FileError(f"relocation {kind} of AArch64 cannot be stored")


def _jump_x86(at, slot):
    return b"\xff\x25" + struct.pack("<i", slot - at - 6) + b"\x66\x90"      # jmp *slot(%rip)


def _jump_arm(at, slot):
    code = bytearray(struct.pack("<4I", 0x90000010, 0xF9400211, 0xD61F0220, 0xD503201F))   # adrp x16; ldr x17; br x17; nop
    pages, low = (slot >> 12) - (at >> 12), slot & 0xFFF
    _bits(code, 0, 0x9F00001F, (pages & 3) << 29 | (pages >> 2 & 0x7FFFF) << 5)
    _bits(code, 4, 0xFFC003FF, low >> 3 << 10)
    return bytes(code)


FIELDS = {X86_64: Fields(1, frozenset({9, 41, 42}), frozenset({1, 24}), _store_x86),
          AARCH64: Fields(257, frozenset({311, 312}), frozenset({257, 260}), _store_arm)}
STUBS = {X86_64: Stub(8, _jump_x86), AARCH64: Stub(16, _jump_arm)}
