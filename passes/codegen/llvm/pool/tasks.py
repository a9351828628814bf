"""Pool tasks: the words of a job by name, and the items of each chunk."""

from contextlib import contextmanager

from ..ir.types import F64, I64, PTR, VOID, Value

WORD = 8


class Words:
    """Named 64-bit words of a job, record or frame, read as attributes."""

    def __init__(self, f, pointer: Value, names: tuple):
        self.f, self.pointer, self.names = f, pointer, names

    def __getattr__(self, name) -> Value:
        return self.f.load(I64, self.spot(name))

    def address(self, name) -> Value:
        """Load a word that is a pointer."""
        return self.f.load(PTR, self.spot(name))

    def number(self, name, element) -> Value:
        """Load a word that is a double, rounded to a type of floats."""
        return self.f.cast("fptrunc", self.f.load(F64, self.spot(name)), element)

    def spot(self, name) -> Value:
        return self.f.at(self.pointer, WORD * self.names.index(name))

    def put(self, **values):
        for name, value in values.items():
            self.f.store(self.f.index(value) if isinstance(value, int) else value, self.spot(name))


def chunk_share(f, items, chunks, chunk):
    """Return the items [first, end) of a chunk."""
    return f.div(f.mul(items, chunk), chunks), f.div(f.mul(items, f.add(chunk, 1)), chunks)


def split_index(f, index, sizes):
    """Return the indices, outermost first, of a flat index over `sizes` (the first size is not read)."""
    found = []
    for size in reversed(sizes[1:]):
        found.append(f.mod(index, size))
        index = f.div(index, size)
    return [index, *reversed(found)]


def open_task(module, symbol, words, items="items", frame=()):
    """Start a pool task; return its function, its job, and the range of its chunk. `items` is the word with their number.
    With names of a `frame`, these words on the stack follow."""
    f = module.task(symbol)
    arg, chunk, _ = f.params
    job, frames = Words(f, arg, words), [Words(f, f.local(WORD * len(frame)), frame)] if frame else []
    return f, job, chunk_share(f, getattr(job, items), job.chunks, chunk), *frames


@contextmanager
def task_items(module, symbol, words, frame=()):
    """Write a pool task with a body for each item: yields the function, the job, the item, and the frame if it has names."""
    f, job, share, *frames = open_task(module, symbol, words, frame=frame)
    with f.loop(*share) as loop:
        yield f, job, loop.index, *frames
    f.ret()


def write_task(module, symbol, item, words, worker=True):
    """Write a pool task that calls the function `item` for each item of a chunk, with the worker's number if it takes it."""
    with task_items(module, symbol, words) as (f, job, number):
        f.call(item, VOID, job.pointer, number, *[f.params[2]] * worker)
