"""Memory that runs out at a chosen step: of the heap of arrays, of machine code, and of the compiler."""

from contextlib import contextmanager

from ingot.ir.errors import out_of_memory
from ingot.runtime.cpu.compiler import compile as compiler
from ingot.runtime.cpu.compiler import elf
from ingot.runtime.cpu.memory import alloc, heap


class Steps:
    """Steps of a block that take memory. `count` have come; all from number `last` on fail."""

    def __init__(self, last):
        self.last, self.count = last, 0

    @property
    def failed(self) -> bool:
        return self.count > self.last

    def fails(self) -> bool:
        self.count += 1
        return self.failed


@contextmanager
def memory_for(monkeypatch, steps: int):
    """Let the first `steps` requests for memory in the block succeed, and all later ones fail."""
    counted = Steps(steps)
    alloc.empty_cache()

    def refusing(function, error):
        def request(*args):
            if counted.fails():
                raise error("no memory for the test")
            return function(*args)
        return request

    with monkeypatch.context() as patch:
        patch.setattr(heap.Heap, "take", refusing(heap.Heap.take, heap.NoRegionError))
        patch.setattr(compiler, "_object", refusing(compiler._object, out_of_memory))
        patch.setattr(elf._Pages, "__init__", refusing(elf._Pages.__init__, out_of_memory))
        yield counted
