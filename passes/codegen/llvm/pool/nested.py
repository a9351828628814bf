"""Nested tasks: a pool task whose items are lists of tasks.

One thread runs an item from beginning to end, so the output of one inner task is in the caches of the core that reads it next.
An item is a part of an image; each part has a list, shared by all images.

Further words of the job are numbers and addresses that lists refer to by word number: a *frame*. Each thread has a copy of the
frame with its own `own`, the address of the inner job, and `scratch`. The table of lists is 64-bit words, with positions in
bytes from its start:

    table     {position of a list} for each part
    list      {tasks}, then for each {frame word of the function, position of the template, patches}, and its patches
    template  {words, a multiple of 8}, then the constant words of an inner job
    patch     {byte of the inner job, frame word of an address, offset in bytes, bytes for each image}

An inner task is called as task(inner job, 0, worker) with one chunk. `keep_text` makes a task for such lists: it moves the rows
of planes that the next part reads again to their beginning.
"""

from .....ir.target import Target
from ..ir.emit import Module
from ..ir.types import I64, PTR, VOID, vector
from .tasks import WORD, Words, chunk_share, split_index

WORDS = ("own", "items", "chunks", "parts", "lists", "scratch", "scratch_bytes", "words")
STEP = ("function", "template", "patches")
PATCH = ("at", "word", "offset", "image")
KEEP_WORDS = ("first", "planes", "plane", "start", "bytes")
NESTED, KEEP = "nested", "keep_rows"
MOST_FRAME, MOST_JOB = 256, 128          # words
WIDTH = 8                                # words copied at once


def nested_text(target: Target) -> str:
    """Return the module of the nested task."""
    module = Module(target)
    f = module.task(NESTED)
    arg, chunk, worker = f.params
    frame, job = Words(f, f.local(WORD * MOST_FRAME), WORDS), f.local(WORD * MOST_JOB)
    _copy(f, arg, frame.pointer, Words(f, arg, WORDS).words)
    frame.put(own=job, scratch=f.at(frame.address("scratch"), f.mul(worker, frame.scratch_bytes)))
    lists = frame.address("lists")
    with f.loop(*chunk_share(f, frame.items, frame.chunks, chunk)) as items:
        image, part = split_index(f, items.index, (1, frame.parts))
        steps = f.at(lists, f.load(I64, f.at(lists, part, I64)))
        with f.loop(0, f.load(I64, steps), 1, [f.at(steps, WORD)]) as loop:
            loop.next(_run(f, loop.carried[0], frame.pointer, lists, job, image, worker))
    f.ret()
    return module.text()


def _run(f, at, frame, lists, job, image, worker):
    """Build an inner job and run its task; return the position of the next list entry."""
    step = Words(f, at, STEP)
    template = f.at(lists, step.template)
    _copy(f, f.at(template, WORD), job, f.load(I64, template))
    with f.loop(0, step.patches, 1, [f.at(at, WORD * len(STEP))]) as each:
        patch = Words(f, each.carried[0], PATCH)
        base = f.load(PTR, f.at(frame, patch.word, I64))
        f.store(f.at(base, f.add(patch.offset, f.mul(image, patch.image))), f.at(job, patch.at))
        each.next(f.at(each.carried[0], WORD * len(PATCH)))
    f.call_pointer(f.load(PTR, f.at(frame, step.function, I64)), VOID, job, f.index(0), worker)
    return each.results[0]


def _copy(f, source, target, words):
    with f.loop(0, words, WIDTH) as loop:
        f.store(f.load(vector(WIDTH, I64), f.at(source, loop.index, I64)), f.at(target, loop.index, I64))


def keep_text(target: Target) -> str:
    """Return the module of the task that moves rows of whole vectors to the beginning of their planes; they may overlap."""
    module = Module(target)
    f = module.task(KEEP)
    job, type_ = Words(f, f.params[0], KEEP_WORDS), vector(target.vector_bytes, "i8")
    first, plane, start, size = job.address("first"), job.plane, job.start, job.bytes
    with f.loop(0, job.planes) as planes:
        to = f.at(first, f.mul(planes.index, plane))
        source = f.at(to, start)
        with f.loop(0, size, target.vector_bytes) as loop:
            f.store(f.load(type_, f.at(source, loop.index)), f.at(to, loop.index))
    f.ret()
    return module.text()
