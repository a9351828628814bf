"""A loader of relocatable ELF objects of x86-64 and AArch64: machine code from the cache runs without any compiler library.

`load` maps one object into fresh memory, code and constants read-and-execute, data read-and-write (never both write and
execute), applies its relocations and returns the addresses of its global symbols. Calls out of the object go through stubs,
because a C library may be farther away than a 32-bit displacement reaches. Every offset and size found in the object is checked
against its bounds before use. A loaded object stays for the life of the process.
"""

import contextlib
import ctypes
import functools
import mmap
import os
import platform
import struct
import sys
from typing import NamedTuple

from ....ir.errors import FileError, out_of_memory
from .relocations import AARCH64, FIELDS, STUBS, X86_64

_SHT_PROGBITS, _SHT_SYMTAB, _SHT_RELA, _SHT_NOBITS = 1, 2, 4, 8
_SHF_WRITE, _SHF_ALLOC, _SHF_TLS = 1, 2, 0x400
_SHN_ABS, _SHN_COMMON, _SHN_RESERVED = 0xFFF1, 0xFFF2, 0xFF00
MACHINES = {"x86_64": X86_64, "aarch64": AARCH64}
_HERE = MACHINES.get({"arm64": "aarch64"}.get(platform.machine().lower(), platform.machine().lower()), X86_64)
_ET_REL = 1
_PROT_READ, _PROT_WRITE, _PROT_EXEC = 1, 2, 4
_PAGE = max(4096, mmap.PAGESIZE)
_MAX_IMAGE = 1 << 30


class _Section(NamedTuple):
    name: str
    kind: int
    flags: int
    offset: int
    size: int
    link: int
    info: int
    align: int


class _Symbol(NamedTuple):
    name: str
    binding: int
    section: int
    value: int


class _Relocation(NamedTuple):
    section: int
    offset: int
    symbol: int
    kind: int
    addend: int


class Object:
    """The parts of a relocatable object file for one machine (62: x86-64, 183: AArch64) that loading needs, each checked."""

    def __init__(self, data: bytes, machine: int = _HERE):
        self.data, self.machine = data, machine
        self.sections = self._read_sections()
        self.symbols = self._read_symbols()
        self.relocations = list(self._read_relocations())

    def _read_sections(self):
        head = self.data[:64]
        if len(head) < 64 or head[:6] != b"\x7fELF\2\1":
            raise FileError("not a 64-bit little-endian ELF object")
        kind, machine = struct.unpack_from("<HH", head, 16)
        if kind != _ET_REL or machine != self.machine:
            raise FileError(f"not a relocatable object for machine {self.machine}")
        table, = struct.unpack_from("<Q", head, 40)
        size, count, names = struct.unpack_from("<HHH", head, 58)
        if size != 64 or table + size * count > len(self.data) or names >= count:
            raise FileError("section table out of bounds")
        raw = [struct.unpack_from("<IIQQQQIIQQ", self.data, table + size * i) for i in range(count)]
        for row in raw:
            if row[1] != _SHT_NOBITS and row[4] + row[5] > len(self.data):
                raise FileError("section out of bounds")
        strings = raw[names]
        return [_Section(self._string(strings[4], strings[5], row[0]), row[1], row[2], row[4], row[5], row[6], row[7],
                         max(1, row[8])) for row in raw]

    def _string(self, base, size, offset):
        if offset >= size:
            raise FileError("string out of bounds")
        end = self.data.find(b"\0", base + offset, base + size)
        if end < 0:
            raise FileError("string without end")
        return self.data[base + offset:end].decode("ascii", "replace")

    def _read_symbols(self):
        tables = [section for section in self.sections if section.kind == _SHT_SYMTAB]
        if len(tables) != 1 or tables[0].link >= len(self.sections):
            raise FileError("no symbol table")
        table, strings = tables[0], self.sections[tables[0].link]
        symbols = []
        for i in range(table.size // 24):
            name, info, _, section, value, _ = struct.unpack_from("<IBBHQQ", self.data, table.offset + 24 * i)
            if section == _SHN_COMMON or (section < _SHN_RESERVED and section >= len(self.sections)):
                raise FileError("symbol in an unknown section")
            if 0 < section < _SHN_RESERVED and value > self.sections[section].size:
                raise FileError("symbol out of bounds")
            symbols.append(_Symbol(self._string(strings.offset, strings.size, name), info >> 4, section, value))
        return symbols

    def _read_relocations(self):
        for section in self.sections:
            if section.kind != _SHT_RELA:
                continue
            if section.info >= len(self.sections):
                raise FileError("relocations of an unknown section")
            target = self.sections[section.info]
            if not is_loaded(target):
                continue
            for i in range(section.size // 24):
                offset, info, addend = struct.unpack_from("<QQq", self.data, section.offset + 24 * i)
                symbol, kind = info >> 32, info & 0xFFFFFFFF
                width = 8 if kind in FIELDS[self.machine].wide else 4
                if offset + width > target.size or symbol >= len(self.symbols):
                    raise FileError("relocation out of bounds")
                yield _Relocation(section.info, offset, symbol, kind, addend)


def is_loaded(section):
    """Whether a section must be in memory; unwind tables need not (nothing here throws)."""
    return bool(section.flags & _SHF_ALLOC) and section.size > 0 and section.name != ".eh_frame"


class Image:
    """Placement of an object's sections, slots and stubs inside one mapping: executable pages first, then data pages."""

    def __init__(self, source: Object):
        self.source, self.fields, self.stub = source, FIELDS[source.machine], STUBS[source.machine]
        self.offsets: dict = {}
        for section in source.sections:
            if is_loaded(section) and (section.flags & _SHF_TLS or section.kind not in (_SHT_PROGBITS, _SHT_NOBITS)):
                raise FileError(f"section {section.name} needs a loader of the system")
        end = self._place(0, writable=False)
        # One address slot per symbol that is reached through a table, one jump stub per function called from outside.
        through_table = {r.symbol for r in source.relocations if r.kind in self.fields.through_table}
        outside = {r.symbol for r in source.relocations if source.symbols[r.symbol].section == 0}
        self.slots, self.stubs = {}, {}
        end = _align(end, 16)
        for symbol in sorted(through_table | outside):
            self.slots[symbol], end = end, end + 8
        for symbol in sorted(outside):
            self.stubs[symbol], end = end, end + self.stub.size
        self.code_bytes = _align(max(end, 1), _PAGE)
        self.bytes = _align(self._place(self.code_bytes, writable=True), _PAGE)
        if self.bytes > _MAX_IMAGE:
            raise FileError("object too large")

    def _place(self, position, writable):
        for number, section in enumerate(self.source.sections):
            if is_loaded(section) and bool(section.flags & _SHF_WRITE) == writable:
                if section.align > _PAGE or section.align & (section.align - 1) or section.size > _MAX_IMAGE:
                    raise FileError("section alignment or size out of bounds")
                position = _align(position, section.align)
                self.offsets[number] = position
                position += section.size
        return position

    def build(self, base: int, resolve) -> bytearray:
        """Return the bytes of the mapping for a given base address; `resolve` gives the address of an outside name."""
        image = bytearray(self.bytes)
        data, sections = self.source.data, self.source.sections
        for number, at in self.offsets.items():
            section = sections[number]
            if section.kind == _SHT_PROGBITS:
                image[at:at + section.size] = data[section.offset:section.offset + section.size]
        for symbol, at in self.slots.items():
            struct.pack_into("<Q", image, at, self.address(symbol, base, resolve))
        for symbol, at in self.stubs.items():
            image[at:at + self.stub.size] = self.stub.code(at, self.slots[symbol])
        for relocation in self.source.relocations:
            self._apply(image, relocation, base, resolve)
        return image

    def address(self, number, base, resolve):
        """Return the address of a symbol in a mapping at `base`."""
        symbol = self.source.symbols[number]
        if symbol.section == 0:
            return resolve(symbol.name)
        if symbol.section == _SHN_ABS:
            return symbol.value
        if symbol.section not in self.offsets:
            raise FileError(f"symbol {symbol.name!r} lies in a section that is not loaded")
        return base + self.offsets[symbol.section] + symbol.value

    def _apply(self, image, relocation, base, resolve):
        at = self.offsets[relocation.section] + relocation.offset
        number, kind, addend = relocation.symbol, relocation.kind, relocation.addend
        if kind == self.fields.word:
            value = (self.address(number, base, resolve) + addend) & (2**64 - 1)
            struct.pack_into("<Q", image, at, value)
            return
        if kind in self.fields.through_table:
            target = self.slots[number]
        elif number in self.stubs:
            target = self.stubs[number]
        else:
            target = self.address(number, base, resolve) - base
        self.fields.store(image, at, kind, target + addend)


def load(data: bytes, resolve) -> dict[str, int]:
    """Map an object and return {global symbol: address}. `resolve(name)` gives the address of an outside name. Raise
    `FileError` for an object that is damaged or needs more than this loader does."""
    try:
        source = Object(data)
        image = Image(source)
        memory = _filled(image, resolve)
    except (struct.error, IndexError, KeyError) as error:
        raise FileError(f"damaged object: {error}") from error
    return {symbol.name: image.address(number, memory.address, resolve) for number, symbol in enumerate(source.symbols)
            if symbol.binding == 1 and 0 < symbol.section < _SHN_RESERVED and symbol.section in image.offsets}


def _filled(image, resolve):
    """Return the image's memory, in place and protected; it is unmapped if something is wrong with the image."""
    memory = _Pages(image.bytes)
    try:
        memory.fill(image.build(memory.address, resolve), image.code_bytes)
    except BaseException:
        memory.release()
        raise
    return memory


class _Pages:
    """Private memory straight from the system, so that nothing unmaps it while a thread may still run in it."""

    def __init__(self, size):
        self.size = size
        flags = 2 | (0x1000 if sys.platform == "darwin" else 0x20)    # MAP_PRIVATE | MAP_ANONYMOUS
        self.address = _libc().mmap(None, size, _PROT_READ | _PROT_WRITE, flags, -1, 0)
        if self.address in (None, 2**64 - 1):
            raise out_of_memory(f"no memory for machine code: {os.strerror(ctypes.get_errno())}")

    def fill(self, data, code_bytes):
        """Write everything, then make the first `code_bytes` executable and no longer writable."""
        ctypes.memmove(self.address, (ctypes.c_char * len(data)).from_buffer(data), len(data))
        if _libc().mprotect(self.address, code_bytes, _PROT_READ | _PROT_EXEC):
            raise OSError(ctypes.get_errno(), "this system does not let a program make memory executable")
        if _HERE == AARCH64:
            _forget_instructions(self.address, self.address + code_bytes)

    def release(self):
        """Unmap; nothing may refer to the memory."""
        _libc().munmap(self.address, self.size)


def _forget_instructions(start, end):
    """Make processors read new code from memory. Linux does it itself for pages that become executable; the compiler's library,
    where there is one, does it for every system."""
    with contextlib.suppress(OSError, AttributeError):
        clear = ctypes.CDLL("libgcc_s.so.1").__clear_cache
        clear.argtypes, clear.restype = [ctypes.c_void_p, ctypes.c_void_p], None
        clear(start, end)


@functools.lru_cache(None)
def _libc():
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
    libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    return libc


def _align(position, alignment):
    return (position + alignment - 1) // alignment * alignment
