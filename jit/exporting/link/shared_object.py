"""Writes a link as a shared library (`.so`): memory laid out, relocations applied, what only the loader knows left to it."""

import struct

from ....ir.errors import GraphError
from ....runtime.cpu.compiler.relocations import FIELDS, GLOB_DAT, RELATIVE, STUBS
from . import elf_format as fmt
from .linker import BSS, DATA, RODATA, TEXT, Link

_LOAD, _DYNAMIC, _STACK = 1, 2, 0x6474E551
_READ, _WRITE, _EXECUTE = 4, 2, 1
_PAGE = 1 << 16
_TAGS = {"NEEDED": 1, "HASH": 4, "STRTAB": 5, "SYMTAB": 6, "RELA": 7, "RELASZ": 8, "RELAENT": 9, "STRSZ": 10, "SYMENT": 11,
         "SONAME": 14, "FLAGS": 30, "RELACOUNT": 0x6FFFFFF9, "NULL": 0}
_PROGRAMS = 5


def shared_library(link: Link, soname: str) -> bytes:
    """The bytes of the library."""
    return _Library(link, soname).write()


class _Library:
    """Sections in memory: tables and constants, code, then what is written. Offsets in the file are addresses."""

    def __init__(self, link: Link, soname: str):
        self.link, self.fixes, self.names = link, link.fixes(), fmt.Strings()
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
        """Addresses of everything."""
        at, sizes, address = fmt.HEADER_BYTES + _PROGRAMS * fmt.PROGRAM_BYTES, self._sizes(), {}
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
        return {".dynsym": (fmt.SYMBOL_BYTES * (1 + len(self.symbols)), 8), ".dynstr": (len(self.names.data), 1),
                ".hash": (4 * (2 + 1 + 1 + len(self.symbols)), 8),
                ".rela.dyn": (fmt.RELA_BYTES * (relative + len(self.slots)), 8), ".rodata": rodata, ".text": text,
                ".plt": (self.stub.size * len(self.stubs), 16), ".dynamic": (16 * 12, 8), ".got": (8 * len(self.slots), 8),
                ".data": data, ".bss": bss}

    def _at(self, place, default=None):
        """The address of a place in the library."""
        return self.start[place.section] + place.offset if not place.outside else default

    def write(self) -> bytes:
        """The whole file."""
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
        body[:fmt.HEADER_BYTES] = headers
        body[fmt.HEADER_BYTES:fmt.HEADER_BYTES + _PROGRAMS * fmt.PROGRAM_BYTES] = self._programs()
        return bytes(body)

    def _put(self, body, name, data, at=0):
        start = self.address[name] + at
        if at + len(data) > self.sizes[name]:
            raise GraphError(f"section {name} of a library is larger than was planned")
        body[start:start + len(data)] = data

    # Relocations.

    def _apply(self, body) -> list:
        """Fills in what is known now; gives the loader's relocations, those that only add the base first."""
        base, later = [], []
        for f in self.fixes:
            at = self.start[f.section] + f.offset
            if f.kind == self.fields.word:
                if f.target.outside:
                    raise GraphError(f"a table refers to {f.target.outside}, which is not part of the library")
                base.append(fmt.rela(at, 0, RELATIVE[self.link.machine], self._at(f.target) + f.addend))
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
                later.append(fmt.rela(at, 1 + self.outside.index(target.outside), GLOB_DAT[self.link.machine], 0))
            else:
                base.append(fmt.rela(at, 0, RELATIVE[self.link.machine], self._at(target)))
        self.relative = len(base)
        return [*base, *later]

    # Tables.

    def _dynamic_symbols(self):
        entries = [fmt.symbol(0, 0, 0, 0)]
        entries += [fmt.symbol(self.names.add(n), fmt.GLOBAL | fmt.FUNCTION, 0, 0) for n in self.outside]
        numbers = {TEXT: 6, RODATA: 5, DATA: 10, BSS: 11}      # of the sections, in the order in which they are laid out
        for name, place in self.link.exports.items():
            kind = fmt.FUNCTION if place.section == TEXT else fmt.OBJECT
            entries.append(fmt.symbol(self.names.add(name), fmt.GLOBAL | kind, numbers[place.section], self._at(place)))
        return b"".join(entries)

    def _hash(self):
        """A hash table of one bucket: a chain through all symbols."""
        count = 1 + len(self.symbols)
        chain = [0, *range(2, count), 0] if count > 1 else [0]
        return struct.pack(f"<{3 + count}I", 1, count, 1 if count > 1 else 0, *chain)

    def _dynamic(self, relocations):
        at = self.address
        rows = [("SONAME", self.soname), ("HASH", at[".hash"]), ("STRTAB", at[".dynstr"]), ("SYMTAB", at[".dynsym"]),
                ("STRSZ", self.sizes[".dynstr"]), ("SYMENT", fmt.SYMBOL_BYTES), ("RELA", at[".rela.dyn"]),
                ("RELASZ", fmt.RELA_BYTES * len(relocations)), ("RELAENT", fmt.RELA_BYTES), ("RELACOUNT", self.relative),
                ("FLAGS", 8), ("NULL", 0)]
        return b"".join([struct.pack("<QQ", _TAGS[tag], value) for tag, value in rows])

    def _programs(self):
        text, data, bss = self.address[".text"], self.address[".dynamic"], self.address[".bss"]
        tail = self.address[".plt"] + self.sizes[".plt"]
        constants = self.address[".rodata"] + self.sizes[".rodata"]
        parts = (fmt.program(_LOAD, _READ, 0, constants, constants, _PAGE),
                 fmt.program(_LOAD, _READ | _EXECUTE, text, tail - text, tail - text, _PAGE),
                 fmt.program(_LOAD, _READ | _WRITE, data, bss - data, self.end - data, _PAGE),
                 fmt.program(_DYNAMIC, _READ | _WRITE, data, self.sizes[".dynamic"], self.sizes[".dynamic"], 8),
                 fmt.program(_STACK, _READ | _WRITE, 0, 0, 0, 16))
        return b"".join(parts)

    def _section_headers(self, body):
        """Appends the section table, for linkers and people, to the file; gives the file header."""
        strings, rows = fmt.Strings(), [bytes(fmt.SECTION_BYTES)]
        alloc = fmt.ALLOC
        kinds = {".dynsym": (fmt.DYNSYM, alloc, 2, 1, fmt.SYMBOL_BYTES), ".dynstr": (fmt.STRTAB, alloc, 0, 0, 0),
                 ".hash": (fmt.HASH, alloc, 1, 0, 4), ".rela.dyn": (fmt.RELA, alloc, 1, 0, fmt.RELA_BYTES),
                 ".rodata": (fmt.PROGBITS, alloc, 0, 0, 0), ".text": (fmt.PROGBITS, alloc | fmt.EXECUTE, 0, 0, 0),
                 ".plt": (fmt.PROGBITS, alloc | fmt.EXECUTE, 0, 0, 0), ".dynamic": (fmt.DYNAMIC, alloc | fmt.WRITE, 2, 0, 16),
                 ".got": (fmt.PROGBITS, alloc | fmt.WRITE, 0, 0, 8), ".data": (fmt.PROGBITS, alloc | fmt.WRITE, 0, 0, 0),
                 ".bss": (fmt.NOBITS, alloc | fmt.WRITE, 0, 0, 0)}
        for name, (kind, flags, link, info, entry) in kinds.items():
            at = self.address[name]
            rows.append(fmt.section(strings.add(name), kind, flags, at, at, self.sizes[name], link, info, 8, entry))
        own = strings.add(".shstrtab")
        rows.append(fmt.section(own, fmt.STRTAB, 0, 0, len(body), len(strings.data)))
        body += strings.data
        body += bytes(-len(body) % 8)
        table = len(body)
        body += b"".join(rows)
        return fmt.header(fmt.DYN, self.link.machine, len(rows), len(rows) - 1, table, _PROGRAMS)
