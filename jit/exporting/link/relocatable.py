"""Writes a link as one relocatable object (`.o`), for a system's linker to put into programs."""

from . import elf_format as fmt
from .linker import BSS, DATA, RODATA, TEXT, Link

_NAMES = {TEXT: ".text", RODATA: ".rodata", DATA: ".data", BSS: ".bss"}
_FLAGS = {TEXT: fmt.ALLOC | fmt.EXECUTE, RODATA: fmt.ALLOC, DATA: fmt.ALLOC | fmt.WRITE, BSS: fmt.ALLOC | fmt.WRITE}
_KINDS = (TEXT, RODATA, DATA, BSS)


def relocatable(link: Link) -> bytes:
    """The bytes of the object."""
    fixes = link.fixes()
    names = fmt.Strings()
    symbols, numbers = _symbols(link, fixes, names)
    body, headers, strings = bytearray(fmt.HEADER_BYTES), [bytes(fmt.SECTION_BYTES)], fmt.Strings()

    def put(name, kind, flags, data, align, size=None, **more):
        body.extend(bytes(-len(body) % align))
        headers.append(fmt.section(strings.add(name), kind, flags, 0, len(body), len(data) if size is None else size,
                                   align=align, **more))
        body.extend(data)

    for kind in _KINDS:
        merged = link.merged[kind]
        put(_NAMES[kind], fmt.NOBITS if kind == BSS else fmt.PROGBITS, _FLAGS[kind], b"" if kind == BSS else merged.bytes(),
            merged.align, merged.size)
    table = 1 + 2 * len(_KINDS) - 1            # number of the symbol table: after the sections and their relocations
    for kind in _KINDS[:-1]:
        entries = b"".join([fmt.rela(f.offset, numbers[f.target], f.kind, f.addend) for f in fixes if f.section == kind])
        put(".rela" + _NAMES[kind], fmt.RELA, fmt.LINK_INFO, entries, 8, link=table, info=1 + kind, entry=fmt.RELA_BYTES)
    local = sum(1 for s in symbols if s[4] >> 4 == 0)
    put(".symtab", fmt.SYMTAB, 0, b"".join(symbols), 8, link=table + 1, info=local, entry=fmt.SYMBOL_BYTES)
    put(".strtab", fmt.STRTAB, 0, names.data, 1)
    put(".note.GNU-stack", fmt.PROGBITS, 0, b"", 1)
    strings.add(".shstrtab")
    put(".shstrtab", fmt.STRTAB, 0, strings.data, 1)
    body.extend(bytes(-len(body) % 8))
    body[:fmt.HEADER_BYTES] = fmt.header(fmt.REL, link.machine, len(headers), len(headers) - 1, len(body))
    return bytes(body + b"".join(headers))


def _symbols(link, fixes, names):
    """(the symbol table's entries, {place: number}): local ones first, as the format asks."""
    entries, numbers = [fmt.symbol(0, 0, 0, 0)], {}
    for f in fixes:
        if f.target not in numbers and not f.target.outside:
            numbers[f.target] = len(entries)
            entries.append(fmt.symbol(names.add(f".L{len(entries)}"), fmt.LOCAL | fmt.NOTYPE, 1 + f.target.section,
                                      f.target.offset))
    for name in link.outside():
        numbers[next(f.target for f in fixes if f.target.outside == name)] = len(entries)
        entries.append(fmt.symbol(names.add(name), fmt.GLOBAL | fmt.NOTYPE, 0, 0))
    for name, place in link.exports.items():
        info = fmt.GLOBAL | (fmt.FUNCTION if place.section == TEXT else fmt.OBJECT)
        entries.append(fmt.symbol(names.add(name), info, 1 + place.section, place.offset))
    return entries, numbers
