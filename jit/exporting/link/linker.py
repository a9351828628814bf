"""A small linker: merge relocatable objects and blocks of data into one relocatable object or shared library (`elf.py`).

It knows the relocations of the code generator's objects, for x86-64 and AArch64, and needs no tool of the system.

    link = Link("x86_64")
    link.add("kernels", object_bytes)
    link.data("weights", array, writable=False)
    link.export("model_run", "wrapper", "model_run")
    elf.shared_library(link, "libmodel.so");  elf.relocatable(link)

Symbols of the inputs stay local unless they are exported. An undefined symbol is looked up among the provided names
(`provide`), then left to the system's libraries.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

from ....ir.errors import GraphError
from ....runtime.cpu.compiler import elf
from ....runtime.cpu.compiler.relocations import FIELDS

TEXT, RODATA, DATA, BSS = range(4)           # kinds of merged sections, in the order of a library's memory
_WRITE, _EXECUTE, _NOBITS = 1, 4, 8          # section flags and a section type of ELF


class Place(NamedTuple):
    """Location of a symbol: a merged section and a byte in it, or a name that the system defines."""

    section: int
    offset: int
    outside: str = ""


class Fix(NamedTuple):
    """A relocation of merged sections: the field of `kind` at a byte of a section refers to a place plus an addend."""

    section: int
    offset: int
    kind: int
    target: Place
    addend: int


@dataclass
class Merged:
    """Sections of one kind, one after the other; BSS has a size only."""

    parts: list = field(default_factory=list)
    size: int = 0
    align: int = 1

    def add(self, data, size: int, align: int) -> int:
        """Append bytes (None for zeros that take no room in the file); return their start."""
        start = -(-self.size // align) * align
        if data is not None:
            self.parts += [bytes(start - self.size), data]
        self.size, self.align = start + size, max(self.align, align)
        return start

    def bytes(self) -> bytearray:
        return bytearray(b"".join(self.parts))


class Link:
    """The inputs of a link, merged by kind as they are added."""

    def __init__(self, arch: str):
        self.machine = elf.MACHINES[arch]
        self.merged = [Merged() for _ in range(4)]
        self.exports: dict[str, Place] = {}
        self._objects: dict = {}         # name -> (Object, {section number: (kind, start)})
        self._blocks: dict = {}          # name -> Place
        self._provided: dict = {}        # undefined name -> (object, symbol) or the name of a block
        self._words: list = []           # (block, offset, target): 64-bit addresses in blocks

    # Inputs.

    def add(self, name: str, data: bytes):
        """Add an object file, unless one of that name is there."""
        if name in self._objects:
            return
        source, starts = elf.Object(data, self.machine), {}
        for number, section in enumerate(source.sections):
            if elf.is_loaded(section):
                kind = _kind(section)
                body = None if kind == BSS else data[section.offset:section.offset + section.size]
                starts[number] = kind, self.merged[kind].add(body, section.size, section.align)
        self._objects[name] = source, starts

    def data(self, name: str, content, writable: bool = False, align: int = 64):
        """Add a block of bytes; an int reserves so many zeros."""
        kind = BSS if isinstance(content, int) else DATA if writable else RODATA
        size = content if kind == BSS else len(content)
        self._blocks[name] = Place(kind, self.merged[kind].add(None if kind == BSS else bytes(content), size, align))

    def address(self, block: str, offset: int, target):
        """Relocate the 64-bit word at a byte of a block to the address of `target`: (object, symbol), or (block, offset)."""
        self._words.append((block, offset, target))

    def provide(self, name: str, target):
        """Define an undefined symbol of objects: as (object, symbol), or as the name of a block."""
        self._provided[name] = target

    def export(self, name: str, source: str, symbol: str):
        """Make a symbol of an object visible under a name."""
        self.exports[name] = self.symbol(source, symbol)

    # Places.

    def symbol(self, source: str, name: str) -> Place:
        for number, s in enumerate(self._objects[source][0].symbols):
            if s.name == name and s.section:
                return self._place(source, number)
        raise GraphError(f"object {source} defines no {name}")

    def _place(self, source, number) -> Place:
        found, starts = self._objects[source]
        s = found.symbols[number]
        if s.section in starts:
            kind, start = starts[s.section]
            return Place(kind, start + s.value)
        if s.section:
            raise GraphError(f"symbol {s.name!r} of object {source} is in a section that is not linked")
        target = self._provided.get(s.name)
        if target is None:
            return Place(-1, 0, s.name)
        return self._blocks[target] if isinstance(target, str) else self.symbol(*target)

    def fixes(self) -> list:
        """Return all relocations of merged sections."""
        found = []
        for name, (source, starts) in self._objects.items():
            for r in source.relocations:
                kind, start = starts[r.section]
                found.append(Fix(kind, start + r.offset, r.kind, self._place(name, r.symbol), r.addend))
        word = FIELDS[self.machine].word
        for block, offset, (where, what) in self._words:
            at = self._blocks[block]
            target = self.symbol(where, what) if isinstance(what, str) else self._blocks[where]
            found.append(Fix(at.section, at.offset + offset, word, target, 0 if isinstance(what, str) else what))
        return found

    def outside(self) -> list:
        """Return the names that the system's libraries must define."""
        return sorted({f.target.outside for f in self.fixes() if f.target.outside})


def _kind(section) -> int:
    if section.kind == _NOBITS:
        return BSS
    if section.flags & _EXECUTE:
        return TEXT
    return DATA if section.flags & _WRITE else RODATA
