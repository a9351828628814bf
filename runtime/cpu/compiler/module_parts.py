"""Large modules of LLVM IR, cut so that several threads compile them at once.

    texts = split(text, 4)                  # four modules at most; the text alone if cutting it does not pay
    data = join(objects)                    # their objects as the one of the whole module

Functions that only the module itself sees are hidden between its parts, and local again in the joined object; constants are in
every part that reads them.
"""

import heapq
import re
import struct
from typing import Any, NamedTuple

from ....ir.errors import FileError

_LEAST_LINES = 400       # lines of a part: fewer are compiled before another thread has started
_FUNCTION = re.compile(r"^define .*?^}\n", re.M | re.S)
_NAME = re.compile(r"@([\w.$-]+)")
_CONSTANT = re.compile(r"@[\w.$-]+ = (?:internal|private) (?:unnamed_addr )?constant ")


# Texts.


def split(text: str, most: int) -> list[str]:
    """Cut a text into at most so many modules that together are its module."""
    functions = {_NAME.search(f)[1]: f for f in _FUNCTION.findall(text)}     # type: ignore[index]
    most = min(most, text.count("\n") // _LEAST_LINES, len(functions))
    lines = _FUNCTION.sub("", text).splitlines()
    constants = {_NAME.match(line)[1]: line for line in lines if line.startswith("@")}      # type: ignore[index]
    if most < 2 or not all(map(_CONSTANT.match, constants.values())) or any(line[:1].isspace() for line in lines):
        return [text]
    shared = "\n".join([line for line in lines if not line.startswith("@")])
    known = functions | constants
    reads = {name: set(_NAME.findall(lines_out)).intersection(known) - {name} for name, lines_out in known.items()}
    parts = [_closed(part, reads, constants) for part in _even(functions, most)]
    crossing = {name for part in parts for name in _read(part, reads) - part}
    return [_module(part, reads, functions, constants, crossing, shared) for part in parts]


def _even(functions, count):
    """Return the names of functions in so many sets of about as many lines."""
    bins: list = [(0, i, set()) for i in range(count)]
    for name in sorted(functions, key=lambda name: -functions[name].count("\n")):
        lines, i, names = heapq.heappop(bins)
        names.add(name)
        heapq.heappush(bins, (lines + functions[name].count("\n"), i, names))
    return [names for _, _, names in sorted(bins, key=lambda b: b[1])]


def _read(names, reads):
    return {read for name in names for read in reads[name]}


def _closed(names, reads, constants):
    """Return functions, with the constants that they read."""
    found, more = set(names), set(names)
    while more:
        more = _read(more, reads).intersection(constants) - found
        found |= more
    return found


def _module(part, reads, functions, constants, crossing, shared):
    lines_out = [constants[name] for name in constants if name in part]
    lines_out += [_shown(functions[name]) if name in crossing else functions[name] for name in functions if name in part]
    for name in sorted(_read(part, reads) - part):
        head = _shown(functions[name]).partition("\n")[0]
        lines_out.append(head.removesuffix(" {").replace("define ", "declare ", 1))
    return "\n".join([*lines_out, shared, ""])


def _shown(function):
    """Return a function that is visible to the other parts only."""
    return function.replace("define internal ", "define hidden ", 1)


# Objects.

_SECTION, _SYMBOL, _RELOCATION = struct.Struct("<IIQQQQIIQQ"), struct.Struct("<IBBHQQ"), struct.Struct("<QQq")
_SYMTAB, _STRTAB, _RELA, _NOBITS, _GROUP, _ADDRESSES = 2, 3, 4, 8, 17, 0x6FFF4C03
_LINK_ORDER, _HIDDEN, _RESERVED = 0x80, 2, 0xFF00


class _Section(NamedTuple):
    name: bytes
    row: list        # kind, flags, address, offset, size, link, info, alignment, size of an entry
    data: bytes


class _Part:
    """Sections and symbols of one ELF object."""

    def __init__(self, data):
        at, = struct.unpack_from("<Q", data, 40)
        _, count, names = struct.unpack_from("<HHH", data, 58)
        rows = [list(_SECTION.unpack_from(data, at + _SECTION.size * i)) for i in range(count)]
        strings = self._text(data, rows[names])
        self.sections = [_Section(_word(strings, row[0]), row[1:], b"" if row[1] == _NOBITS else self._text(data, row))
                         for row in rows]
        table = next(s for s in self.sections if s.row[0] == _SYMTAB)
        strings = self.sections[table.row[5]].data
        self.symbols = [(_word(strings, name), *rest) for name, *rest in _SYMBOL.iter_unpack(table.data)]
        self.copied = [i for i, s in enumerate(self.sections) if i and s.row[0] not in (_SYMTAB, _STRTAB, _ADDRESSES)]
        if any(s.row[0] == _GROUP for s in self.sections):
            raise FileError("objects with groups of sections are not joined")

    @staticmethod
    def _text(data, row):
        return data[row[4]:row[4] + row[5]]


def _word(strings, at):
    return strings[at:strings.index(b"\0", at)]


def join(objects) -> bytes:
    """Join the objects of one machine to one relocatable ELF object; their hidden symbols become local."""
    parts = [_Part(data) for data in objects]
    number, new_numbers = 1, []
    for part in parts:
        new_numbers.append({old: number + i for i, old in enumerate(part.copied)})
        number += len(part.copied)
    symbols, numbers = _symbols(parts, new_numbers)
    made = [_Section(b"", [0] * 9, b"")]
    for part, place, own in zip(parts, new_numbers, numbers):
        made += [_renumbered(part.sections[i], place, own, number) for i in part.copied]
    strings, entries = bytearray(b"\0"), bytearray()
    for name, *rest in symbols:
        entries += _SYMBOL.pack(_put(strings, name), *rest)
    local = sum(1 for _, info, *_ in symbols if not info >> 4)
    made.append(_Section(b".symtab", [_SYMTAB, 0, 0, 0, len(entries), number + 1, local, 8, _SYMBOL.size], bytes(entries)))
    made.append(_Section(b".strtab", [_STRTAB, 0, 0, 0, 0, 0, 0, 1, 0], b""))
    return _written(objects[0][:64], made, strings)


def _symbols(parts, new_numbers):
    """Return (the entries of all symbols, local ones first; for each part {number of a symbol: its new number})."""
    entries: list[Any] = [(b"", 0, 0, 0, 0, 0)]
    outer: dict = {}            # name -> entry of a global symbol, defined if any part defines it
    inner: dict = {}            # name -> number of a symbol that was hidden
    numbers: list[dict] = [{} for _ in parts]
    for part, place, own in zip(parts, new_numbers, numbers):
        for i, (name, info, other, section, value, size) in enumerate(part.symbols):
            section = place[section] if 0 < section < _RESERVED else section
            is_local = not info >> 4
            if is_local or (other == _HIDDEN and section):
                own[i] = len(entries) if i else 0
                if not is_local:
                    inner[name] = own[i]
                if i:
                    entries.append((name, info & 15, 0, section, value, size))
            elif section or name not in outer:
                outer[name] = name, info, other, section, value, size
    outer = {name: entry for name, entry in outer.items() if name not in inner}
    at = {name: len(entries) + i for i, name in enumerate(outer)} | inner
    for part, own in zip(parts, numbers):
        own.update({i: at[symbol[0]] for i, symbol in enumerate(part.symbols) if i not in own})
    return [*entries, *outer.values()], numbers


def _renumbered(section, place, own, table):
    """Return a section for the joined object: relocations name symbols and sections by their new numbers."""
    name, row, data = section.name, list(section.row), section.data
    if row[0] == _RELA:
        row[5], row[6] = table, place[row[6]]
        data = b"".join([_RELOCATION.pack(offset, own[info >> 32] << 32 | info & 0xFFFFFFFF, addend)
                         for offset, info, addend in _RELOCATION.iter_unpack(data)])
    elif row[1] & _LINK_ORDER:
        row[5] = place[row[5]]
    return _Section(name, row, data)


def _put(strings, name):
    if not name:
        return 0
    strings += name + b"\0"
    return len(strings) - len(name) - 1


def _written(header, sections, strings):
    """Return the bytes of an object whose last section holds all names."""
    names = [_put(strings, s.name) for s in sections]
    sections[-1] = sections[-1]._replace(data=bytes(strings))
    body, rows = bytearray(header), []
    for name, (_, row, data) in zip(names, sections):
        body += bytes(-len(body) % max(1, row[7]))
        rows.append(_SECTION.pack(name, *row[:3], len(body), row[4] if row[0] == _NOBITS else len(data), *row[5:]))
        body += data
    body += bytes(-len(body) % 8)
    struct.pack_into("<Q", body, 40, len(body))
    struct.pack_into("<HH", body, 60, len(sections), len(sections) - 1)
    return bytes(body + b"".join(rows))
