"""Parser of PTX, Triton's assembly, into a list of instructions."""

import re
from dataclasses import dataclass

__all__ = ["Entry", "Instruction", "parse"]

_WIDTHS = {"pred": 1, "b8": 8} | {f"{letter}{bits}": bits for letter in "bfus" for bits in (16, 32, 64)}
_NO_STATEMENT = (".loc", ".file", ".pragma", ".version", ".target", ".address_size")


@dataclass(frozen=True)
class Instruction:
    """`@guard name.kind.kind operands`: operands are strings, vectors of operands tuples of them."""

    parts: tuple
    operands: tuple
    guard: str = ""
    negated: bool = False

    @property
    def name(self):
        return ".".join(self.parts)


@dataclass(frozen=True)
class Entry:
    """A kernel: its instructions, positions of labels, widths of registers, and places of parameters.

        parameters    name of a parameter -> (offset, bytes) in the block of parameters
        symbols       name of a variable in shared memory -> its address
    """

    name: str
    instructions: tuple
    labels: dict
    families: dict
    parameters: dict
    symbols: dict
    shared: int

    @property
    def has_parts(self) -> bool:
        """Whether its warps do different work."""
        return any(i.parts[0] == "setmaxnreg" for i in self.instructions)

    def width(self, register: str) -> int:
        """Return the bits of a register, by its name or its prefix."""
        found = self.families.get(register)
        return found if found is not None else self.families[register.rstrip("0123456789")]


def parse(text: str) -> Entry:
    """Return the one kernel of a PTX file."""
    text = re.sub(r"//[^\n]*", "", text)
    head = re.search(r"\.visible \.entry (\S+?)\((.*?)\)[^{;]*\{", text, re.S)
    assert head is not None, "a kernel"
    instructions, labels, families = [], {}, {}
    for kind, statement in _statements(text[head.end():]):
        if kind == "label":
            labels[statement] = len(instructions)
        elif statement.startswith(".reg"):
            _declare(statement, families)
        elif statement:
            instructions.append(_instruction(statement))
    symbols, shared = _variables(text)
    return Entry(head[1], tuple(instructions), labels, families, _parameters(head[2]), symbols, shared)


def _statements(text):
    """Yield ("label", name) and ("statement", text) up to the end of the kernel. Braces at statement positions are scopes,
    whose register names are unique."""
    text = "\n".join(line for line in text.splitlines() if not line.strip().startswith(_NO_STATEMENT))
    depth, at = 1, 0
    while depth:
        found = re.compile(r"\s*([{}]|[$\w]+:|[^;{}]*(?:\{[^}]*\}[^;{}]*)*;)").match(text, at)
        assert found is not None, f"no statement: {text[at:at + 80]!r}"
        at, token = found.end(), found[1]
        if token in "{}":
            depth += 1 if token == "{" else -1
        elif token.endswith(":"):
            yield "label", token[:-1]
        else:
            yield "statement", token[:-1].strip()


def _declare(statement, families):
    _, kind, names = statement.replace(".reg", ".reg ", 1).split(None, 2)
    kind = kind.strip(".")
    for name in names.split(","):
        families[re.sub(r"<\d+>", "", name.strip())] = _WIDTHS[kind]


def _instruction(statement) -> Instruction:
    guard, negated = "", False
    if statement[0] == "@":
        word, statement = statement[1:].split(None, 1)
        negated, guard = word[0] == "!", word.lstrip("!")
    name, _, rest = statement.partition(" ") if " " in statement.split("\t")[0] else statement.partition("\t")
    return Instruction(tuple(name.strip().split(".")), tuple(_operands(rest)), guard, negated)


def _operands(text):
    """Return operands as strings without blanks, vectors as tuples."""
    for found in re.finditer(r"\{([^}]*)\}|([^,{}]+)", text):
        if found[1] is not None:
            yield tuple("".join(x.split()) for x in found[1].split(","))
        elif found[2].strip():
            yield "".join(found[2].split())


def _parameters(text):
    """Return each parameter's place: 8 bytes for an address; `.ptr` says only how its target is aligned."""
    found, at = {}, 0
    for word in text.split(","):
        align = re.match(r"\s*\.param\s+\.align\s+(\d+)", word)
        (bits,) = re.findall(r"\.[busf](\d+)\b", word)
        ((name, count),) = re.findall(r"(\w+)(?:\[(\d+)\])?\s*$", word)
        size = int(bits) // 8
        at += -at % (int(align[1]) if align else size)
        found[name] = at, size
        at += size * int(count or 1)
    return found


def _variables(text):
    """Return (addresses, bytes) of shared memory; extern variables follow the others in one array."""
    symbols, at = {}, 0
    for align, kind, name, count in re.findall(r"^\s*\.shared\s+\.align\s+(\d+)\s+\.(\w+)\s+(\w+)(?:\[(\d+)\])?;", text, re.M):
        at += -at % int(align)
        symbols[name] = at
        at += int(kind[1:]) // 8 * int(count or 1)
    for align, name in re.findall(r"\.extern\s+\.shared\s+\.align\s+(\d+)\s+\.b8\s+(\w+)\[\];", text):
        at += -at % int(align)
        symbols[name] = at
    return symbols, at
