"""Pool tasks: the words of a job by name, and the items of each chunk."""

from ..ir.types import I64, PTR, VOID, Value

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


def write_task(module, symbol, item, words, worker=True):
    """Write a pool task that calls the function `item` for each item of a chunk, with the worker's number if it takes it."""
    f = module.task(symbol)
    arg, chunk, number = f.params
    job = Words(f, arg, words)
    first, end = chunk_share(f, job.items, job.chunks, chunk)
    with f.loop(first, end) as loop:
        f.call(item, VOID, arg, loop.index, *[number] * worker)
    f.ret()
