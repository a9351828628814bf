"""Random draws: element i of a result is element i of the stream of a key (`ir/reference/philox.py`).

The bits are those of the reference; normals differ from NumPy's in the last one. A key may come as the two numbers that it
holds, too. Long draws share blocks of the stream out between threads (`passes/codegen/llvm/index/draws.py`).
"""

import functools
import struct
import threading
from typing import Any

import numpy as np

from ....ir import dtype as dt
from ....ir.kernel.kernel_builder import KernelBuilder
from ....ir.opdef.op import Op
from ....ir.ops.core import random
from ....ir.ops.math import gamma
from ....ir.target import host
from ....passes.codegen import rejection_kernels
from ....passes.codegen.llvm.index import draws as codegen
from ..calls import pool
from ..calls.kernel_entry import entries
from ..calls.kernel_steps import fill, step
from ..calls.operator_kernel import OperatorKernel
from ..calls.plan import Jobs, JobsPlan, chunks_for
from ..calls.step_list import At, NativeCall
from ..compiler.compile import task_of
from ..loops import kernels
from ..memory.alloc import empty

_KEPT = 1024
_CHUNK = 1 << 13            # elements of a chunk, at least
_WORK = 32                  # scalar operations that an element takes, about
_PIECE = 1 << 14            # elements that are scaled at a time
_LONG_DRAW = 256            # elements from which all words of a block are used
_local = threading.local()  # the four words of a draw, where its kernel reads them; one draw runs in a thread at a time
_pack_words = struct.Struct("=4Q").pack_into
_WORD, _few = 2**64 - 1, np.empty
DTYPES = {"random_bits": dt.uint32, "random_uniform": dt.float32, "random_uniform_double": dt.float64,
          "random_normal": dt.float32, "random_normal_double": dt.float64, "random_below": dt.int64,
          codegen.MASK: dt.bool_}


@functools.lru_cache(_KEPT)
def plan(name: str, count: int, threads: int, span: int | None = None) -> JobsPlan:
    """Return the job on (seed, call; the elements) of a draw. Without a span, that of integers and the number of the first
    block follow the call in memory."""
    kernel = codegen.DrawKernel(host(), name)
    task = task_of(kernel)
    chunks = chunks_for(_WORK * count, max(1, count // _CHUNK), threads)
    size = max(1, -(-count // (chunks * kernel.numbers))) * kernel.numbers
    todo = Jobs(threads)
    todo.add(task, codegen.WORDS[len(codegen.ARRAYS) + 2:], chunks=-(-count // size), count=count, size=size,
             span=span or 0, spans=int(span is None))
    return todo.plan(0, _WORK * count)


class Draw:
    """Random numbers by element index: random_bits, random_uniform(_double), random_normal(_double), random_below, a mask."""

    def __init__(self, name: str):
        self.name, self.dtype = name, DTYPES[name]
        self._kind = self.dtype.np
        self._entry: Any = None
        self._scaled: Any = None

    def _make(self, scaled=False):
        k = KernelBuilder(f"{self.name}_scaled" if scaled else self.name)
        k.parallel("i", "n")
        buffers = [k.input(b, dt.int64, (0,)) for b in ("start", "seed", "call", "span")]
        numbers = [k.input(b, self.dtype, (0,)) for b in ("factor", "summand") if scaled]
        k.output("y", self.dtype, (1,))
        with k.point():
            start, *key, span = (k.load(b) for b in buffers)
            at = (k.index("i") + start, *key)
            if self.name == codegen.MASK:
                values = k.fn.lt(k.append("random_bits", dt.uint32, at).to(dt.int64), span)
            else:
                values = k.append(self.name, self.dtype, (*at, span) if self.name == "random_below" else at)
            k.store(values * k.load(numbers[0]) + k.load(numbers[1]) if scaled else values, "y")
        ranks = (*[0] * (len(buffers) + len(numbers)), 1)
        return entries(k.build(), {"door": ranks}, {"door": {"n": ("size", len(ranks) - 1, 0)}})["door"]

    def __call__(self, seed: int, call: int, n: int, start: int = 0, span: int = 0, out=None):
        """Return elements start .. start + n - 1 of a call, as a 1-D array."""
        words, parts = _local.__dict__.get("words") or _make_words()
        if n < _LONG_DRAW and not start and self._entry is not None:        # the fast path
            if out is None:
                out = _few(n, self._kind)
            _pack_words(words, 0, 0, seed, call, span & _WORD)
            self._entry(*parts, out)
            return out
        if out is None:
            out = empty((n,), self._kind)
        if n >= _LONG_DRAW and not start % (each := codegen.OF_BLOCK[self.name]) and out.flags.c_contiguous:
            _pack_words(words, 0, seed, call, span & _WORD, start // each)
            plan(self.name, n, pool.get_num_threads())(words, out)
            return out
        _pack_words(words, 0, start, seed, call, span & _WORD)
        if self._entry is None:
            self._entry = self._make()
        self._entry(*parts, out)
        return out

    def scaled(self, seed: int, call: int, factor: float, summand: float, out) -> bool:
        """Fill a contiguous vector with the first elements of a call, times a factor, plus a summand; return False for a long
        one."""
        if out.size >= _LONG_DRAW:
            return False
        words, parts = _local.__dict__.get("words") or _make_words()
        _pack_words(words, 0, 0, seed, call, 0)
        numbers, pair = _local.numbers[self._kind]
        numbers[0], numbers[1] = factor, summand
        if self._scaled is None:
            self._scaled = self._make(scaled=True)
        self._scaled(*parts, *pair, out)
        return True


def _make_words():
    """Set up this thread's words, each also as an array of its own, and a factor and a summand of each dtype likewise."""
    words = np.zeros(4, np.int64)
    _local.words = words, tuple([words[i, ...] for i in range(4)])
    pairs = [np.zeros(2, d.np) for d in (dt.float32, dt.float64)]
    _local.numbers = {pair.dtype: (pair, (pair[0, ...], pair[1, ...])) for pair in pairs}
    return _local.words


@functools.lru_cache(None)
def draw(name: str) -> Draw:
    """Return the kernel of a random draw."""
    return Draw(name)


def drawn(name):
    """Return a function that gives the first elements of a key's stream. It draws into `out` if given: a contiguous array of
    the shape and dtype. `scaled`, a factor and a summand, needs `out`."""
    run_draw: Any = None
    fill_scaled: Any = None

    def run(key, shape, out=None, span=0, scaled=None):
        nonlocal run_draw, fill_scaled
        if run_draw is None:
            kernel = draw(name)
            run_draw, fill_scaled = kernel.__call__, kernel.scaled     # methods: quicker to call than an object
        (seed, call), count = key if key.__class__ is tuple else key.tolist(), 1
        if scaled is not None:
            flat = out.reshape(-1)
            if not fill_scaled(seed, call, *scaled, flat):
                run_draw(seed, call, flat.size, 0, span, flat)
                _scale(flat, *scaled)
            return out
        for n in shape:
            count *= n
        numbers = run_draw(seed, call, count, 0, span, None if out is None else out.reshape(-1))
        return numbers if len(shape) == 1 else numbers.reshape(shape)

    return run


def _scale(flat, factor, summand):
    """Multiply numbers by a factor and add a summand, in pieces that stay in a cache."""
    for start in range(0, flat.size, _PIECE):
        piece = flat[start:start + _PIECE]
        piece *= factor
        piece += summand


_uniform = {dt.float32: drawn("random_uniform"), dt.float64: drawn("random_uniform_double")}
_normal, _normal_double = drawn("random_normal"), drawn("random_normal_double")
_mask, _below = drawn(codegen.MASK), drawn("random_below")


def uniform(key, *, shape, dtype, out=None, scaled=None):
    """Draw uniform floats."""
    run = _uniform.get(dtype)
    return run(key, shape, out, 0, scaled) if run else random.uniform.ref(np.array(key, np.uint64), shape=shape, dtype=dtype)


def normal(key, *, shape, dtype, out=None, scaled=None):
    """Draw normal floats; 16-bit ones are the float32 numbers, rounded."""
    numbers = (_normal_double if dtype is dt.float64 else _normal)(key, shape, out, 0, scaled)
    return numbers if numbers.dtype is dtype.np else numbers.astype(dtype.np)


def bernoulli_mask(key, *, shape, p):
    """Draw word < round(p * 2**32)."""
    return _mask(key, shape, None, round(p * 2**32))


def mask_below(words, *, shape):
    """Draw word < bound; the bound follows the key in `words`."""
    seed, call, bound, _ = words.tolist()
    return _mask((seed, call), shape, None, bound)


def randint(key, *, shape, low, high, dtype):
    """Draw integers below the span, and add `low` to them."""
    numbers = _below(key, shape, None, high - low)
    if low:
        numbers += np.int64(low)
    return numbers if numbers.dtype is dtype.np else numbers.astype(dtype.np)


_REJECTION: dict[Op, tuple[Any, Any]] = {
    random.poisson: (rejection_kernels.poisson, random.check_rates),
    gamma.standard_gamma: (rejection_kernels.standard_gamma, gamma.check_concentrations),
    random.binomial: (rejection_kernels.binomial, random.check_trials)}


def by_rejection(op: Op):
    """Return the eager draw of numbers without a closed form: a kernel of element numbers, key and parameters."""
    write, check = _REJECTION[op]

    def run(key, *parameters):
        check(*parameters)
        kind, first = dt.BY_NP[parameters[0].dtype], parameters[0]
        kernel = kernels.elementwise(op.name, (dt.int64,) * 3 + (kind,) * len(parameters), (kind,), write)
        words = [np.array(word) for word in key.view(np.int64)]
        return kernel(np.arange(first.size).reshape(first.shape), *words, *parameters)

    return run


@functools.lru_cache(64)
def _rounded_kernel(function: str, kind, gives):
    """Return the kernel of a function of (element, seed, call) whose values are rounded to another dtype."""
    k = KernelBuilder(f"{function}_{gives.name}")
    k.parallel("i", "n")
    k.input("seed", dt.int64, (0,))
    k.input("call", dt.int64, (0,))
    k.output("y", gives, (1,))
    with k.point():
        numbers = k.append(function, kind, (k.index("i"), k.load("seed"), k.load("call")))
        k.store(numbers.to(gives), "y")
    return k.build()


def _stream(out, function, span):
    return plan(function, out.size, pool.get_num_threads(), span).native((0, 1))


def _uniform_step(node, operands, results):
    (out,) = results
    function = {dt.float32.np: "random_uniform", dt.float64.np: "random_uniform_double"}.get(out.dtype)
    return None if function is None else _stream(out, function, 0)


def _normal_step(node, operands, results):
    """Plan normal floats; 16-bit ones are the float32 numbers, rounded."""
    (out,) = results
    if out.dtype in (dt.float32.np, dt.float64.np):
        return _stream(out, "random_normal" if out.dtype == dt.float32.np else "random_normal_double", 0)
    kernel = _rounded_kernel("random_normal", dt.float32, dt.BY_NP[out.dtype])
    return NativeCall((step(kernel, (At(0), At(0, 8), At(1)), n=out.size),))


def _mask_below_step(node, operands, results):
    return _stream(results[0], codegen.MASK, None)


def _bernoulli_mask_step(node, operands, results):
    (out,), threshold = results, round(node.params["p"] * 2**32)
    if threshold >= 2**32:
        return NativeCall((fill(At(1), out.size, True, dt.bool_),))
    return _stream(out, codegen.MASK, threshold)


OPERATORS = {
    random.uniform: OperatorKernel(uniform, _uniform_step),
    random.normal: OperatorKernel(normal, _normal_step),
    random.bernoulli_mask: OperatorKernel(bernoulli_mask, _bernoulli_mask_step),
    random.mask_below: OperatorKernel(mask_below, _mask_below_step),
    random.randint: OperatorKernel(randint),
    **{op: OperatorKernel(make=by_rejection) for op in _REJECTION},
}
