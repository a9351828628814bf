"""The ELF structures that `relocatable.py` and `shared_object.py` write: headers, sections, symbols, relocation entries."""

import struct

REL, DYN = 1, 3
PROGBITS, SYMTAB, STRTAB, RELA, HASH, DYNAMIC, NOBITS, DYNSYM = 1, 2, 3, 4, 5, 6, 8, 11
WRITE, ALLOC, EXECUTE, LINK_INFO = 1, 2, 4, 0x40
LOCAL, GLOBAL = 0, 1 << 4
FUNCTION, OBJECT, SECTION, NOTYPE = 2, 1, 3, 0
HEADER_BYTES, PROGRAM_BYTES, SECTION_BYTES, SYMBOL_BYTES, RELA_BYTES = 64, 56, 64, 24, 24


class Strings:
    """A string table."""

    def __init__(self):
        self.data, self._places = bytearray(1), {"": 0}

    def add(self, text: str) -> int:
        """The offset of a string."""
        if text not in self._places:
            self._places[text] = len(self.data)
            self.data += text.encode() + b"\0"
        return self._places[text]


def header(kind: int, machine: int, sections: int, names: int, section_offset: int, programs: int = 0) -> bytes:
    """The file header."""
    ident = b"\x7fELF\x02\x01\x01" + bytes(9)
    return ident + struct.pack("<HHIQQQIHHHHHH", kind, machine, 1, 0, HEADER_BYTES if programs else 0, section_offset, 0,
                               HEADER_BYTES, PROGRAM_BYTES if programs else 0, programs, SECTION_BYTES, sections, names)


def section(name: int, kind: int, flags: int, address: int, offset: int, size: int, link: int = 0, info: int = 0,
            align: int = 1, entry: int = 0) -> bytes:
    """A section header."""
    return struct.pack("<IIQQQQIIQQ", name, kind, flags, address, offset, size, link, info, align, entry)


def program(kind: int, flags: int, offset: int, file_size: int, memory_size: int, align: int) -> bytes:
    """A program header; addresses are offsets."""
    return struct.pack("<IIQQQQQQ", kind, flags, offset, offset, offset, file_size, memory_size, align)


def symbol(name: int, info: int, section_number: int, value: int, size: int = 0) -> bytes:
    """A symbol."""
    return struct.pack("<IBBHQQ", name, info, 0, section_number, value, size)


def rela(offset: int, symbol_number: int, kind: int, addend: int) -> bytes:
    """A relocation."""
    return struct.pack("<QQq", offset, symbol_number << 32 | kind, addend)
