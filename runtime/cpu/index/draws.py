"""Long draws of random numbers (`passes/codegen/llvm/index/draws.py`)."""

import functools

from ....ir.target import host
from ....passes.codegen.llvm.index import draws as codegen
from ..calls import jobs
from ..compiler.compile import compile_module
from ..compiler.ir_cache import text_of

_KEPT = 1024
MASK, OF_BLOCK = codegen.MASK, codegen.OF_BLOCK
_CHUNK = 1 << 13            # elements of a chunk, at least
_WORK = 32                  # scalar operations that an element takes, about


@functools.lru_cache(_KEPT)
def plan(name: str, count: int, threads: int, span: int | None = None) -> jobs.JobsPlan:
    """The job on (seed, call; the elements) of a draw; unless a span is given, that of integers and the number of the first
    block stand behind the call."""
    kernel = codegen.DrawKernel(host(), name)
    task = compile_module(text_of(kernel), [kernel.symbol])[kernel.symbol]
    chunks = jobs.chunks_for(_WORK * count, max(1, count // _CHUNK), threads)
    size = max(1, -(-count // (chunks * kernel.numbers))) * kernel.numbers
    todo = jobs.Jobs(threads)
    todo.add(task, codegen.WORDS[len(codegen.ARRAYS) + 2:], chunks=-(-count // size), count=count, size=size,
             span=span or 0, spans=int(span is None))
    return todo.plan(0, _WORK * count)
