"""ELF writers for links: a relocatable object (`.o`) or a shared library (`.so`).

A library has its memory laid out and relocations applied; only what the loader alone knows is left to it.
"""

import struct

from ....ir.errors import GraphError
from ....runtime.cpu.compiler.relocations import FIELDS, GLOB_DAT, RELATIVE, STUBS
from .linker import BSS, DATA, RODATA, TEXT, Link

REL, DYN = 1, 3
PROGBITS, SYMTAB, STRTAB, RELA, HASH, DYNAMIC, NOBITS, DYNSYM = 1, 2, 3, 4, 5, 6, 8, 11
WRITE, ALLOC, EXECUTE, LINK_INFO = 1, 2, 4, 0x40
LOCAL, GLOBAL = 0, 1 << 4
FUNCTION, OBJECT, SECTION, NOTYPE = 2, 1, 3, 0
HEADER_BYTES, PROGRAM_BYTES, SECTION_BYTES, SYMBOL_BYTES, RELA_BYTES = 64, 56, 64, 24, 24


class Strings:
    """A string table."""

    def __init__(self):
        self.data, self._offsets = bytearray(1), {"": 0}

    def add(self, text: str) -> int:
        if text not in self._offsets:
            self._offsets[text] = len(self.data)
            self.data += text.encode() + b"\0"
        return self._offsets[text]


def header(kind: int, machine: int, sections: int, names: int, section_offset: int, programs: int = 0) -> bytes:
    """Return the file header."""
    ident = b"\x7fELF\x02\x01\x01" + bytes(9)
    return ident + struct.pack("<HHIQQQIHHHHHH", kind, machine, 1, 0, HEADER_BYTES if programs else 0, section_offset, 0,
                               HEADER_BYTES, PROGRAM_BYTES if programs else 0, programs, SECTION_BYTES, sections, names)


def section(name: int, kind: int, flags: int, address: int, offset: int, size: int, link: int = 0, info: int = 0,
            align: int = 1, entry: int = 0) -> bytes:
    """Return a section header."""
    return struct.pack("<IIQQQQIIQQ", name, kind, flags, address, offset, size, link, info, align, entry)


def program(kind: int, flags: int, offset: int, file_size: int, memory_size: int, align: int) -> bytes:
    """Return a program header; addresses are offsets."""
    return struct.pack("<IIQQQQQQ", kind, flags, offset, offset, offset, file_size, memory_size, align)


def symbol(name: int, info: int, section_number: int, value: int, size: int = 0) -> bytes:
    """Return a symbol."""
    return struct.pack("<IBBHQQ", name, info, 0, section_number, value, size)


def rela(offset: int, symbol_number: int, kind: int, addend: int) -> bytes:
    """Return a relocation."""
    return struct.pack("<QQq", offset, symbol_number << 32 | kind, addend)


_NAMES = {TEXT: ".text", RODATA: ".rodata", DATA: ".data", BSS: ".bss"}
_FLAGS = {TEXT: ALLOC | EXECUTE, RODATA: ALLOC, DATA: ALLOC | WRITE, BSS: ALLOC | WRITE}
_KINDS = (TEXT, RODATA, DATA, BSS)


def relocatable(link: Link) -> bytes:
    """Return the bytes of a relocatable object."""
    fixes = link.fixes()
    names = Strings()
    symbols, numbers = _symbols(link, fixes, names)
    body, headers, strings = bytearray(HEADER_BYTES), [bytes(SECTION_BYTES)], Strings()

    def put(name, kind, flags, data, align, size=None, **more):
        body.extend(bytes(-len(body) % align))
        headers.append(section(strings.add(name), kind, flags, 0, len(body), len(data) if size is None else size,
                                   align=align, **more))
        body.extend(data)

    for kind in _KINDS:
        merged = link.merged[kind]
        put(_NAMES[kind], NOBITS if kind == BSS else PROGBITS, _FLAGS[kind], b"" if kind == BSS else merged.bytes(),
            merged.align, merged.size)
    table = 1 + 2 * len(_KINDS) - 1            # number of the symbol table: after the sections and their relocations
    for kind in _KINDS[:-1]:
        entries = b"".join([rela(f.offset, numbers[f.target], f.kind, f.addend) for f in fixes if f.section == kind])
        put(".rela" + _NAMES[kind], RELA, LINK_INFO, entries, 8, link=table, info=1 + kind, entry=RELA_BYTES)
    local = sum(1 for s in symbols if s[4] >> 4 == 0)
    put(".symtab", SYMTAB, 0, b"".join(symbols), 8, link=table + 1, info=local, entry=SYMBOL_BYTES)
    put(".strtab", STRTAB, 0, names.data, 1)
    put(".note.GNU-stack", PROGBITS, 0, b"", 1)
    strings.add(".shstrtab")
    put(".shstrtab", STRTAB, 0, strings.data, 1)
    body.extend(bytes(-len(body) % 8))
    body[:HEADER_BYTES] = header(REL, link.machine, len(headers), len(headers) - 1, len(body))
    return bytes(body + b"".join(headers))


def _symbols(link, fixes, names):
    """Return (the symbol table's entries, {place: number}); local symbols come first, as the format requires."""
    entries, numbers = [symbol(0, 0, 0, 0)], {}
    for f in fixes:
        if f.target not in numbers and not f.target.outside:
            numbers[f.target] = len(entries)
            entries.append(symbol(names.add(f".L{len(entries)}"), LOCAL | NOTYPE, 1 + f.target.section,
                                      f.target.offset))
    for name in link.outside():
        numbers[next(f.target for f in fixes if f.target.outside == name)] = len(entries)
        entries.append(symbol(names.add(name), GLOBAL | NOTYPE, 0, 0))
    for name, place in link.exports.items():
        info = GLOBAL | (FUNCTION if place.section == TEXT else OBJECT)
        entries.append(symbol(names.add(name), info, 1 + place.section, place.offset))
    return entries, numbers


_LOAD, _DYNAMIC, _STACK = 1, 2, 0x6474E551
_READ, _WRITE, _EXECUTE = 4, 2, 1
_PAGE = 1 << 16
_TAGS = {"NEEDED": 1, "HASH": 4, "STRTAB": 5, "SYMTAB": 6, "RELA": 7, "RELASZ": 8, "RELAENT": 9, "STRSZ": 10, "SYMENT": 11,
         "SONAME": 14, "FLAGS": 30, "RELACOUNT": 0x6FFFFFF9, "NULL": 0}
_PROGRAMS = 5


def shared_library(link: Link, soname: str) -> bytes:
    """Return the bytes of a shared library."""
    return _Library(link, soname).write()


class _Library:
    """Memory layout of a library: tables and constants, code, then writable data. Offsets in the file are addresses."""

    def __init__(self, link: Link, soname: str):
        self.link, self.fixes, self.names = link, link.fixes(), Strings()
        self.soname = self.names.add(soname)
        self.outside = link.outside()
        self.fields = FIELDS[link.machine]
        self.stub = STUBS[link.machine]
        slots = [f.target for f in self.fixes if f.kind in self.fields.through_table or f.target.outside]
        self.slots = {target: 8 * i for i, target in enumerate(dict.fromkeys(slots))}
        self.stubs = {name: i * self.stub.size for i, name in enumerate(self.outside)}
        self.symbols = [*self.outside, *link.exports]
        self._lay_out()

    def _lay_out(self):
        at, sizes, address = HEADER_BYTES + _PROGRAMS * PROGRAM_BYTES, self._sizes(), {}
        for name, (size, align) in sizes.items():
            if name in (".text", ".dynamic"):
                at = -(-at // _PAGE) * _PAGE
            at = -(-at // align) * align
            address[name] = at
            at += size
        self.address, self.sizes, self.end = address, {name: size for name, (size, _) in sizes.items()}, at
        self.start = {TEXT: address[".text"], RODATA: address[".rodata"], DATA: address[".data"], BSS: address[".bss"]}

    def _sizes(self):
        merged = self.link.merged
        for name in self.link.exports:
            self.names.add(name)
        for name in self.outside:
            self.names.add(name)
        relative = sum(1 for f in self.fixes if f.kind == self.fields.word)
        rodata, text, data, bss = ((merged[kind].size, max(16, merged[kind].align)) for kind in (RODATA, TEXT, DATA, BSS))
        return {".dynsym": (SYMBOL_BYTES * (1 + len(self.symbols)), 8), ".dynstr": (len(self.names.data), 1),
                ".hash": (4 * (2 + 1 + 1 + len(self.symbols)), 8),
                ".rela.dyn": (RELA_BYTES * (relative + len(self.slots)), 8), ".rodata": rodata, ".text": text,
                ".plt": (self.stub.size * len(self.stubs), 16), ".dynamic": (16 * 12, 8), ".got": (8 * len(self.slots), 8),
                ".data": data, ".bss": bss}

    def _at(self, place, default=None):
        return self.start[place.section] + place.offset if not place.outside else default

    def write(self) -> bytes:
        body = bytearray(self.address[".bss"])
        for kind, name in ((RODATA, ".rodata"), (TEXT, ".text"), (DATA, ".data")):
            data = self.link.merged[kind].bytes()
            body[self.address[name]:self.address[name] + len(data)] = data
        relocations = self._apply(body)
        for name, at in self.stubs.items():
            slot = next(self.slots[t] for t in self.slots if t.outside == name)
            self._put(body, ".plt", self.stub.code(self.address[".plt"] + at, self.address[".got"] + slot), at)
        self._put(body, ".dynsym", self._dynamic_symbols())
        self._put(body, ".dynstr", self.names.data)
        self._put(body, ".hash", self._hash())
        self._put(body, ".rela.dyn", b"".join(relocations))
        self._put(body, ".dynamic", self._dynamic(relocations))
        headers = self._section_headers(body)
        body[:HEADER_BYTES] = headers
        body[HEADER_BYTES:HEADER_BYTES + _PROGRAMS * PROGRAM_BYTES] = self._programs()
        return bytes(body)

    def _put(self, body, name, data, at=0):
        start = self.address[name] + at
        if at + len(data) > self.sizes[name]:
            raise GraphError(f"section {name} of a library is larger than was planned")
        body[start:start + len(data)] = data

    # Relocations.

    def _apply(self, body) -> list:
        """Apply relocations known now; return the loader's, those relative to the base first."""
        base, later = [], []
        for f in self.fixes:
            at = self.start[f.section] + f.offset
            if f.kind == self.fields.word:
                if f.target.outside:
                    raise GraphError(f"a table refers to {f.target.outside}, which is not part of the library")
                base.append(rela(at, 0, RELATIVE[self.link.machine], self._at(f.target) + f.addend))
                continue
            if f.kind in self.fields.through_table:
                target = self.address[".got"] + self.slots[f.target]
            elif f.target.outside:
                target = self.address[".plt"] + self.stubs[f.target.outside]
            else:
                target = self._at(f.target)
            self.fields.store(body, at, f.kind, target + f.addend)
        for target, offset in self.slots.items():
            at = self.address[".got"] + offset
            if target.outside:
                later.append(rela(at, 1 + self.outside.index(target.outside), GLOB_DAT[self.link.machine], 0))
            else:
                base.append(rela(at, 0, RELATIVE[self.link.machine], self._at(target)))
        self.relative = len(base)
        return [*base, *later]

    # Tables.

    def _dynamic_symbols(self):
        entries = [symbol(0, 0, 0, 0)]
        entries += [symbol(self.names.add(n), GLOBAL | FUNCTION, 0, 0) for n in self.outside]
        numbers = {TEXT: 6, RODATA: 5, DATA: 10, BSS: 11}      # of the sections, in the order in which they are laid out
        for name, place in self.link.exports.items():
            kind = FUNCTION if place.section == TEXT else OBJECT
            entries.append(symbol(self.names.add(name), GLOBAL | kind, numbers[place.section], self._at(place)))
        return b"".join(entries)

    def _hash(self):
        """Return a hash table of one bucket: a chain through all symbols."""
        count = 1 + len(self.symbols)
        chain = [0, *range(2, count), 0] if count > 1 else [0]
        return struct.pack(f"<{3 + count}I", 1, count, 1 if count > 1 else 0, *chain)

    def _dynamic(self, relocations):
        at = self.address
        rows = [("SONAME", self.soname), ("HASH", at[".hash"]), ("STRTAB", at[".dynstr"]), ("SYMTAB", at[".dynsym"]),
                ("STRSZ", self.sizes[".dynstr"]), ("SYMENT", SYMBOL_BYTES), ("RELA", at[".rela.dyn"]),
                ("RELASZ", RELA_BYTES * len(relocations)), ("RELAENT", RELA_BYTES), ("RELACOUNT", self.relative),
                ("FLAGS", 8), ("NULL", 0)]
        return b"".join([struct.pack("<QQ", _TAGS[tag], value) for tag, value in rows])

    def _programs(self):
        text, data, bss = self.address[".text"], self.address[".dynamic"], self.address[".bss"]
        tail = self.address[".plt"] + self.sizes[".plt"]
        constants = self.address[".rodata"] + self.sizes[".rodata"]
        parts = (program(_LOAD, _READ, 0, constants, constants, _PAGE),
                 program(_LOAD, _READ | _EXECUTE, text, tail - text, tail - text, _PAGE),
                 program(_LOAD, _READ | _WRITE, data, bss - data, self.end - data, _PAGE),
                 program(_DYNAMIC, _READ | _WRITE, data, self.sizes[".dynamic"], self.sizes[".dynamic"], 8),
                 program(_STACK, _READ | _WRITE, 0, 0, 0, 16))
        return b"".join(parts)

    def _section_headers(self, body):
        """Append the section table, for linkers and people, to the file; return the file header."""
        strings, rows = Strings(), [bytes(SECTION_BYTES)]
        alloc = ALLOC
        kinds = {".dynsym": (DYNSYM, alloc, 2, 1, SYMBOL_BYTES), ".dynstr": (STRTAB, alloc, 0, 0, 0),
                 ".hash": (HASH, alloc, 1, 0, 4), ".rela.dyn": (RELA, alloc, 1, 0, RELA_BYTES),
                 ".rodata": (PROGBITS, alloc, 0, 0, 0), ".text": (PROGBITS, alloc | EXECUTE, 0, 0, 0),
                 ".plt": (PROGBITS, alloc | EXECUTE, 0, 0, 0), ".dynamic": (DYNAMIC, alloc | WRITE, 2, 0, 16),
                 ".got": (PROGBITS, alloc | WRITE, 0, 0, 8), ".data": (PROGBITS, alloc | WRITE, 0, 0, 0),
                 ".bss": (NOBITS, alloc | WRITE, 0, 0, 0)}
        for name, (kind, flags, link, info, entry) in kinds.items():
            at = self.address[name]
            rows.append(section(strings.add(name), kind, flags, at, at, self.sizes[name], link, info, 8, entry))
        own = strings.add(".shstrtab")
        rows.append(section(own, STRTAB, 0, 0, len(body), len(strings.data)))
        body += strings.data
        body += bytes(-len(body) % 8)
        table = len(body)
        body += b"".join(rows)
        return header(DYN, self.link.machine, len(rows), len(rows) - 1, table, _PROGRAMS)
