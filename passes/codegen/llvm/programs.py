"""A whole Program as one native function: `void <name>(ptr table)`.

The table holds, 8 bytes each, the arena's address, the arguments' addresses in order, then the program's symbols. The function
runs every kernel in order, each spreading over the pool where its work is worth it, and returns when all is done.
"""

from ....ir.errors import GraphError
from ....ir.kernel import Kernel, Program, Step
from ....ir.target import Target
from . import kernels
from .emit import Module
from .types import I64, PTR, VOID

_EXTRA_SLOTS = 2  # what a launch works out: chunks and scratch


def program_text(program: Program, target: Target) -> str:
    """The module of a program: its kernels, each written once, and the function that runs them."""
    module = Module(target)
    written = {}
    for step in program.steps:
        name = step.kernel.name
        if written.setdefault(name, step.kernel) != step.kernel:
            raise GraphError(f"program {program.name}: two different kernels are called {name}")
        if not module.has(name):
            kernels.write(module, step.kernel) if isinstance(step.kernel, Kernel) else step.kernel.write(module)
    f = module.function(program.name, [(PTR, "table")])
    _Runner(f, program).write()
    return module.text()


class _Runner:
    """Writes the calls, with the slots of each kernel in turn laid out in one place on the stack."""

    def __init__(self, f, program: Program):
        self.f, self.program = f, program
        self.table, = f.params

    def write(self):
        f = self.f
        most = max((len(s.slots) + len(s.kernel.symbols) for s in self.program.steps), default=0)
        self.room = f.local(8 * (most + _EXTRA_SLOTS))
        for step in self.program.steps:
            self.call(step)
        f.ret()

    def call(self, step: Step):
        f = self.f
        for position, name in enumerate(step.slots):
            f.store(self.address(name), f.at(self.room, 8 * position))
        for position, symbol in enumerate(step.kernel.symbols, len(step.slots)):
            f.store(self.number(step.symbols[symbol]), f.at(self.room, 8 * position))
        f.call(step.kernel.name, VOID, self.room)

    def address(self, name):
        slot = self.program.slots[name]
        if slot.kind == "arena":
            return self.f.at(self.f.load(PTR, self.table), slot.where)
        return self.f.load(PTR, self.f.at(self.table, 8 * (1 + slot.where)))

    def number(self, value):
        if isinstance(value, int):
            return self.f.index(value)
        position = 1 + self.program.arguments + self.program.symbols.index(value)
        return self.f.load(I64, self.f.at(self.table, 8 * position))
