"""Whole Programs in one native call: as a function of their own, or as data for the one function that runs any program.

`program_text` makes `void <name>(ptr table)`.

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
RUNNER = "ingot_program"
MOST_SLOTS = 500  # buffers and symbols of one kernel in a program that is data


def runner_text(target: Target) -> str:
    """The module of `void ingot_program(ptr block)`, which runs kernels that were compiled before, one after the other.

    The block holds the address of a plan, the arena's, then the arguments'. The plan is 64-bit words: the number of steps,
    and for each step {kernel, buffers, symbols, (word of the block, bytes from there) of each buffer, value of each symbol}.
    """
    module = Module(target)
    f = module.function(RUNNER, [(PTR, "block")])
    block, = f.params
    room, plan = f.local(8 * (MOST_SLOTS + _EXTRA_SLOTS)), f.load(PTR, block)
    with f.loop(0, f.load(I64, plan), 1, [f.at(plan, 8)]) as step:
        at = step.carried[0]
        buffers, symbols = f.load(I64, f.at(at, 8)), f.load(I64, f.at(at, 16))
        kernel, at = f.load(PTR, at), f.at(at, 24)
        with f.loop(0, buffers, 1, [at]) as each:
            place = each.carried[0]
            start = f.load(PTR, f.at(block, f.load(I64, place), I64))
            f.store(f.at(start, f.load(I64, f.at(place, 8))), f.at(room, each.index, I64))
            each.next(f.at(place, 16))
        with f.loop(0, symbols, 1, [each.results[0]]) as each:
            f.store(f.load(I64, each.carried[0]), f.at(room, f.add(buffers, each.index), I64))
            each.next(f.at(each.carried[0], 8))
        f.call_pointer(kernel, VOID, room)
        step.next(each.results[0])
    f.ret()
    return module.text()


def program_text(program: Program, target: Target) -> str:
    """The module of a program: its kernels, each written once, and the function that runs them."""
    module = Module(target)
    written: dict = {}
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
        start = self.f.load(PTR, self.f.at(self.table, 8 * (1 + slot.where)))
        return self.f.at(start, slot.offset) if slot.offset else start

    def number(self, value):
        if isinstance(value, int):
            return self.f.index(value)
        position = 1 + self.program.arguments + self.program.symbols.index(value)
        return self.f.load(I64, self.f.at(self.table, 8 * position))
