"""Plans of several pool jobs run by one native call (`passes/codegen/llvm/pool/conv_steps.py`).

    steps = Steps()
    at = steps.room(4096)                                  # bytes of the call's workspace
    steps.add(task, chunks, WORDS, {"rows": 3, ...}, {"source": (X, 0), "target": (WORKSPACE, at)})
    plan = steps.plan();  plan(x, w, y)

A plan is made once for a shape and called with arrays; the words that are addresses are filled in natively. `plan.native`
is the same as steps of a whole graph (`step_list.py`).
"""

import functools
from array import array

import numpy as np

from ....ir.target import host
from ....passes.codegen.llvm.pool import conv_steps as codegen
from ....passes.codegen.llvm.pool.fork_join import at_most
from ..compiler.compile import compile_module
from ..loops import copies
from ..memory import alloc
from . import call, pool
from .step_list import NativeCall, NativeStep, Own, Scratch, Table

X, W, Y, OPERANDS, EXTRA, FACTORS, WORKSPACE = range(codegen.SLOTS)
_ALIGNMENT, _BYTE = 64, np.dtype(np.uint8)
_WORD = 8
_SERIAL_BYTES = 1 << 16             # arrays below which the interpreter lock is kept
# Workspace regions start at odd multiples of a few cache lines, so that streams do not meet in one cache set.
_STAGGER = 320


def plain(array):
    """The array, or a copy, in C order and aligned."""
    flags = array.flags
    return array if flags.c_contiguous and flags.aligned else copies.in_rows(array)


class Steps:
    """Jobs in order and the workspace that they share, cut for so many threads (those that there are, unless said)."""

    def __init__(self, threads: int | None = None):
        self.threads, self._size = threads or pool.get_num_threads(), 0
        self._given: list = []

    def room(self, size: int) -> int:
        """Reserve bytes of the workspace; gives their offset."""
        at = self._size
        self._size += -(-size // _ALIGNMENT) * _ALIGNMENT + _STAGGER
        return at

    def table(self, numbers) -> Table:
        """A table of 64-bit integers that lives as long as a job that has it among its words; gives its address."""
        return Table(numbers)

    def add(self, task: int, chunks: int, names: tuple, words: dict, slots: dict):
        """One job: words by name, and {name: (slot, byte offset)} for those that are addresses of the call."""
        given = [words.get(name, 0) for name in names]
        patches = [(names.index(name), slot, offset) for name, (slot, offset) in slots.items()]
        self._given.append((task, max(1, chunks), tuple([x if type(x) is Table else int(x) for x in given]), patches))

    @property
    def given(self) -> tuple:
        """(task, chunks, words, patches) of each job; a patch is (number of a word, slot, byte offset)."""
        return tuple(self._given)

    def plan(self) -> "StepsPlan":
        """The jobs, ready to be called."""
        return StepsPlan(self._size + _ALIGNMENT if self._size else 0, self.given, self.threads)


class StepsPlan:
    """A plan that can be called on arrays of one dtype and size."""

    __slots__ = ("_given", "_ready", "_threads", "size")

    def __init__(self, size, given, threads):
        self.size, self._given, self._threads, self._ready = size, given, threads, None

    def __call__(self, x, w, y, operands: int = 0, extra: int = 0, factors: int = 0):
        """Run the jobs on C-contiguous arrays (dtypes and sizes are not looked at beyond the first call's)."""
        memory = alloc.empty(self.size, _BYTE) if self.size else None
        start = 0 if memory is None else -(-call.address_of(memory) // _ALIGNMENT) * _ALIGNMENT
        ready = self._ready
        if ready is None:
            words = _words_of(self._given, self._threads)
            launch = _launcher(x.dtype, w.dtype, y.dtype, x.nbytes + y.nbytes > _SERIAL_BYTES)
            ready = self._ready = launch, words.buffer_info()[0], words
        launch, address, _ = ready
        launch(x, w, y, operands, extra, factors, start, address)

    def result(self, shape, x, w, after, beside=(), taps=()):
        """A new array of a shape, made of x, a packed weight and the arrays that what comes `after` reads (a `Following`;
        OPERANDS points to its words), and, where the weight is transformed, of what it was made of (EXTRA, FACTORS)."""
        out = alloc.empty(shape, x.dtype)
        beside, taps = [plain(array) for array in beside], [plain(array) for array in taps]
        words = np.array(after.block([call.address_of(array) for array in beside]), np.int64)
        self(plain(x), w, out, call.address_of(words), *[call.address_of(array) for array in taps])
        return out

    def native(self, places: dict, block=()) -> NativeCall:
        """The jobs as steps of a graph. `places` says for each slot what is there (a word as in `step_list.py`); `block` are
        the words that the slot OPERANDS points to, where `places` does not name it."""
        return NativeCall(tuple([_native_step(given, places, tuple(block)) for given in self._given]), self.size)


def _words_of(given, threads) -> array:
    """What the launcher reads: how many jobs there are, where what it is told of each stands, and that."""
    heads, rest, after = [len(given)], [], _WORD * (1 + codegen.STEP_WORDS * len(given))
    for task, chunks, words, patches in given:
        heads += [task, at_most(chunks, threads), len(words), after + _WORD * len(rest), len(patches),
                  after + _WORD * (len(rest) + len(words))]
        rest += words
        for patch in patches:
            rest += patch
    made = array("q", heads + rest)
    start, _ = made.buffer_info()
    for at in range(1, len(heads), codegen.STEP_WORDS):
        made[at + 3] += start
        made[at + 5] += start
    return made


def _native_step(given, places, block):
    task, chunks, words, patches = given
    words = list(words)
    for at, slot, offset in patches:
        if slot == WORKSPACE:
            words[at] = Scratch(offset)
        elif slot in places:
            words[at] = places[slot]._replace(offset=places[slot].offset + offset) if offset else places[slot]
        elif slot == OPERANDS and block:
            words[at] = Own(len(words))
    return NativeStep(task, (*words, *block), chunks)


@functools.lru_cache(None)
def _launcher(x, w, y, long):
    address = compile_module(codegen.launch_text(host()), [codegen.LAUNCH])[codegen.LAUNCH]
    arrays = (call.array(x, -1), call.array(w, -1), call.array(y, -1, writable=True))
    return call.entry("conv", address, (*arrays, *[call.INTEGER] * 5), 0 if long else -1)


def share(work: int, items: int, threads: int, least: int = 1 << 15) -> int:
    """How many chunks a job is cut into: some per thread where there is enough to do."""
    if threads == 1 or work < 4 * least:
        return 1
    return max(1, min(items, 8 * threads, work // least))
