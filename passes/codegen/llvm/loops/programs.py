"""Whole graphs as one native call: a step list for a generic runner, or a function of their own.

`runner_text` makes `void ingot_program(ptr block)`. The block is 64-bit words: the address of a *step list*, the arena's, then
the arguments' (the program's inputs, then its outputs). The block must be writable; the arena starts on a cache
line, and its first line belongs to the runner: a status, 0 unless a step found invalid data, then the number of that step.

A step list is 64-bit words: the number of steps, then for each step, without gaps,

    function    address of native code (a relocation)
    chunks      0: called as function(job). Otherwise a pool task, run for so many chunks (`fork_join.at_most`)
    turns       how often the step runs (at least once)
    turn        byte of the job for the turn's number, or -1
    count       words of the job, a multiple of 8
    patches     how many of them are addresses of the call
    job         its words
    patch       for each: {byte of the job, byte of the block that holds the base, bytes from there}

and after the last step the tables that jobs read. Before a step runs, its job is copied to the runner's stack and patched
there, so that threads may run one list at the same time; a base of 0 is the job itself. A job that finds invalid data stores
a status other than 0, and the runner returns at once. Addresses of code and of tables are filled in when the list is loaded;
`runtime/cpu/calls/step_list.py` keeps their places, so that a list can be stored and loaded elsewhere.

`program_text` makes `void <name>(ptr table)`. The table holds, 8 bytes each, the arena's address, the arguments' addresses in
order, then the program's symbols. The function runs the kernels in order, on the pool if their work is large, and returns when
all are done.
"""

import functools

from .....ir.errors import GraphError
from .....ir.kernel.kernel import Kernel, Program, Step
from .....ir.target import Target
from ..ir.emit import Module
from ..ir.types import I64, PTR, VOID, constant, vector
from . import strategies

_EXTRA_SLOTS = 2  # slots that a launch computes: chunks and scratch
RUNNER = "ingot_program"
TIMED_RUNNER = "ingot_program_timed"
CLOCK = 16  # byte of the arena with the address for the times of a timed run
MOST_WORDS = 1024  # most words of a job
WIDTH = 8  # words copied at once
HEAD = ("function", "chunks", "turns", "turn", "count", "patches")
PATCH_WORDS = 3
_WORD = 8


@functools.lru_cache(None)
def runner_text(target: Target, timed: bool = False) -> str:
    """Return the module of `void ingot_program(ptr block)`.

    The timed one, `ingot_program_timed`, also writes the time, in processor ticks, at which each step begins and the last one
    ends, to the array that the arena's third word points to.
    """
    module = Module(target)
    f = module.function(TIMED_RUNNER if timed else RUNNER, [(PTR, "block")])
    block, = f.params
    job, steps, arena = f.local(_WORD * MOST_WORDS), f.load(PTR, block), f.load(PTR, f.at(block, _WORD))
    f.store(constant(I64, 0), arena)
    f.store(job, block)
    clock = f.load(PTR, f.at(arena, CLOCK)) if timed else arena
    with f.loop(0, f.load(I64, steps), 1, [f.at(steps, _WORD)]) as loop:
        if timed:
            f.store(f.call("llvm.readcyclecounter", I64), f.at(clock, loop.index, I64))
        loop.next(_run_step(f, loop.carried[0], job, block))
        good, bad = f.new_block("good"), f.new_block("bad")
        f.jump_if(f.compare("eq", f.load(I64, arena), 0), good, bad)
        f.place(bad)
        f.store(loop.index, f.at(arena, _WORD))
        f.ret()
        f.place(good)
    if timed:
        f.store(f.call("llvm.readcyclecounter", I64), f.at(clock, f.load(I64, steps), I64))
    f.ret()
    return module.text()


def _run_step(f, step, job, block):
    """Build the job of a step and run it; return the position of the next step."""
    function = f.load(PTR, step)
    chunks, turns, turn, count, patches = (f.load(I64, f.at(step, _WORD * n)) for n in range(1, len(HEAD)))
    words = f.at(step, _WORD * len(HEAD))
    with f.loop(0, count, WIDTH) as copy:
        f.store(f.load(vector(WIDTH, I64), f.at(words, copy.index, I64)), f.at(job, copy.index, I64))
    with f.loop(0, patches, 1, [f.at(words, count, I64)]) as each:
        patch = each.carried[0]
        at, base, start = (f.load(I64, f.at(patch, _WORD * n)) for n in range(PATCH_WORDS))
        f.store(f.at(f.load(PTR, f.at(block, base)), start), f.at(job, at))
        each.next(f.at(patch, _WORD * PATCH_WORDS))
    alone = f.compare("eq", chunks, 0)

    def spread():
        with f.loop(0, turns) as again:
            with f.when(f.compare("sge", turn, 0)):
                f.store(again.index, f.at(job, turn))
            f.call("ingot_pool_run", VOID, function, job, chunks)

    f.choose(alone, lambda: f.call_pointer(function, VOID, job), spread)
    return each.results[0]


def program_text(program: Program, target: Target) -> str:
    """Return the module of a program: its kernels, each written once, and the function that runs them."""
    module = Module(target)
    written: dict = {}
    for step in program.steps:
        name = step.kernel.name
        if written.setdefault(name, step.kernel) != step.kernel:
            raise GraphError(f"program {program.name}: two different kernels are called {name}")
        if not module.has(name):
            strategies.write(module, step.kernel) if isinstance(step.kernel, Kernel) else step.kernel.write(module)
    f = module.function(program.name, [(PTR, "table")])
    _Runner(f, program).write()
    return module.text()


class _Runner:
    """Writer of a program's calls. The slots of each kernel in turn share memory on the stack."""

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
