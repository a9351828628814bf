"""Peaks of this machine, measured by generated kernels: float32 multiply-adds, and bytes to and from memory."""

import ctypes
import time
from functools import cache

import numpy as np

from ....ir.target import host
from ....passes.codegen.llvm.ir.emit import Module
from ....passes.codegen.llvm.ir.types import I64, PTR, vector, zero
from ..compiler.compile import compile_module
from . import pool

FLOAT = "float"
WORDS = 6                       # of an argument block: two numbers, four pointers
PAGE = 4096


def word(f, arg, i, type_=I64):
    """Load a word of the argument block."""
    return f.load(type_, f.at(arg, 8 * i))


def fma_task(module):
    """Write a task of `words[0]` rounds of independent multiply-adds that fill the registers; return the flops of a round."""
    f = module.task("fma")
    arg, chunk, _ = f.params
    lanes, unrolled = f.lanes(FLOAT), module.target.vector_registers * 3 // 4
    row, width = vector(lanes, FLOAT), 4 * f.lanes(FLOAT)
    room = f.at(word(f, arg, 2, PTR), f.mul(chunk, PAGE))
    x, y = f.load(row, room), f.load(row, f.at(room, width))
    start = [f.load(row, f.at(room, (i % 8) * width)) for i in range(unrolled)]
    with f.loop(0, word(f, arg, 0), carry=start) as loop:
        step = f.fma if module.target.fma else lambda a, b, c: f.fadd(f.fmul(a, b), c)
        loop.next(*(step(x, y, a) for a in loop.carried))
    total = loop.results[0]
    for value in loop.results[1:]:
        total = f.fadd(total, value)
    f.store(total, room)
    f.ret()
    return 2 * unrolled * lanes


def stream_task(module, name, reads, writes):
    """Write a task that goes once over its `words[1]` floats of one or two arrays; writes bypass the caches."""
    f = module.task(name)
    arg, chunk, _ = f.params
    lanes, unrolled = f.lanes(FLOAT), 8
    row, count = vector(lanes, FLOAT), word(f, arg, 1)
    first = f.mul(chunk, count)
    arrays = [f.at(word(f, arg, 3 + i, PTR), first, FLOAT) for i in range(reads + writes)]
    with f.loop(0, count, unrolled * lanes, carry=[] if writes else [zero(row)] * unrolled) as loop:
        sums = []
        for i in range(unrolled):
            at = f.add(loop.index, i * lanes)
            values = [f.load(row, f.at(a, at, FLOAT), align=64) for a in arrays[:reads]]
            value = values[0] if reads == 1 else f.fadd(values[0], values[1])
            if writes:
                f.store(value, f.at(arrays[-1], at, FLOAT), align=64, nontemporal=True)
            else:
                sums.append(f.fadd(loop.carried[i], value))
        if not writes:
            loop.next(*sums)
    if not writes:
        f.store(loop.results[0], f.at(word(f, arg, 2, PTR), f.mul(chunk, PAGE)))
        for i, value in enumerate(loop.results[1:], 1):
            f.store(value, f.at(word(f, arg, 2, PTR), f.add(f.mul(chunk, PAGE), i * 4 * lanes)))
    f.ret()


@cache
def tasks():
    """Return the addresses of the three kernels, and the flops of one round of the first."""
    module = Module(host())
    flops = fma_task(module)
    stream_task(module, "read", reads=1, writes=0)
    stream_task(module, "triad", reads=2, writes=1)
    return compile_module(module.text(), ["fma", "read", "triad"]), flops


def best_seconds(address, block, chunks, rounds):
    """Return the shortest time of several runs."""
    times = []
    for _ in range(rounds + 1):
        time.sleep(0.02)
        start = time.perf_counter()
        pool.run(address, ctypes.addressof(block), chunks)
        times.append(time.perf_counter() - start)
    return min(times[1:])


def aligned_floats(count):
    """Return `count` floats that begin at a cache line."""
    raw = np.full(count + 16, 0.5, np.float32)
    skip = -raw.ctypes.data % 64 // 4
    return raw[skip:skip + count]


def measured(threads: int, rounds: int = 7, floats: int = 1 << 24, fma_rounds: int = 2_000_000) -> dict[str, float]:
    """Return {"flops": per second, "bytes": per second} with so many threads; memory is the better of reading and of x + y."""
    addresses, flops = tasks()
    chunks = threads
    count = floats // chunks // 1024 * 1024
    room = aligned_floats(chunks * PAGE // 4)
    arrays = [aligned_floats(chunks * count) for _ in range(3)]
    block = (ctypes.c_int64 * WORDS)(fma_rounds, count, room.ctypes.data, *(a.ctypes.data for a in arrays))
    with pool.with_threads(threads):
        seconds = {name: best_seconds(address, block, chunks, rounds) for name, address in addresses.items()}
    moved_bytes = 4 * chunks * count
    return {"flops": chunks * fma_rounds * flops / seconds["fma"],
            "bytes": max(moved_bytes / seconds["read"], 3 * moved_bytes / seconds["triad"]),
            "bytes read": moved_bytes / seconds["read"], "bytes x + y": 3 * moved_bytes / seconds["triad"]}
