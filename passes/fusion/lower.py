"""Lowers a group of operations to a Kernel: stages, buffers, loops.

Kernels are generic in their sizes: extents and strides are symbols, so that other shapes of the same program find the same
code. Only facts that decide memory access are constants: strides of 0, and of 1 along the lanes.
"""

import hashlib
from dataclasses import dataclass
from math import prod
from typing import Any

from ...ir import dtype as dt
from ...ir.dtype import DType
from ...ir.kernel.kernel import CONST, FOLD, LOAD, POINT, STORE, SWEEP, Buffer, Dim, Instr, Kernel, Stage, to_text, verify
from ...ir.ops.core import elementwise as ew
from ...ir.symbols.symbolic import hint, is_symbol, judged
from ...ir.weak_table import WeakTable
from ..codegen.llvm.loops.strategies import suited
from ..rewrite.kernel_body import CALL, INDEX, PICK, Body, Unfit

DEAR = 20           # cost from which a value of an earlier sweep is stored and read again instead of computed again
HELD = 1 << 13      # longest row that no sweep but the first fetches, whatever the backend
_SHORT = 4          # extent from which a dim is worth being that of the lanes


@dataclass(frozen=True, eq=False)
class Lowered:
    """A kernel with its operands.

    operands  (value, offset in elements, whether it is written) of each buffer
    symbols   the value of each size and stride that the kernel names
    strategy  the code generator's module, where another than the usual one suits
    """

    kernel: Kernel
    operands: tuple
    symbols: dict
    strategy: Any = None
    flops: int = 0


def lower(body: Body, result_patterns: dict | None = None, launches: bool = False) -> Lowered:
    """Return the kernel of a body.

    `result_patterns` has the patterns, over its shape, of results that are not written in row-major order; `launches` says
    that it is for GPUs: each sweep over long rows reads memory, and lanes may go along any dim.
    """
    loops = Loops(body, result_patterns, launches)
    far = launches and bool(body.reduced) and judged(prod([body.shape[d] for d in body.reduced])) > HELD
    stages = Writer(body, loops, far).stages()
    kernel = _shared(body, Kernel("kernel", loops.dims, loops.buffers, tuple(stages)))
    return Lowered(kernel, tuple(loops.operands), loops.symbols, loops.strategy(kernel),
                   prod(body.shape) * sum(t.cost for t in body.terms if not t.row))


_KERNELS = WeakTable()      # by the digest of what they compute


def _shared(body, draft):
    """Return the kernel with its name, the same object for all groups that compute the same."""
    digest = hashlib.sha256(to_text(draft).encode()).hexdigest()
    known = _KERNELS.get(digest)
    if known is None:
        known = _KERNELS[digest] = verify(Kernel(_name(body, digest), draft.dims, draft.buffers, draft.stages))
    return known


def _name(body, digest):
    """Return a name for the kernel: its operations in short, and a hash of its text."""
    words = [t.attr for t in body.terms if t.kind in (CALL, FOLD)] or ["move"]
    short = list(dict.fromkeys(words))
    text = "_".join(short[:5]) + ("_etc" if len(short) > 5 else "")
    return f"{text}_{digest[:8]}"


class Loops:
    """The dims of a kernel and the strides of its buffers."""

    def __init__(self, body: Body, result_patterns: dict | None = None, launches: bool = False):
        self.body = body
        self.stored = list(body.results)
        patterns = [p for _, p in body.loads]
        usual = {v: body.row_pattern if v in body.rows else body.pattern for v in body.results} | (result_patterns or {})
        patterns += [usual[v] for v in body.results]
        strides = [p.strides for p in (*patterns, *body.counted)]
        parallel, reduce = self._runs(strides)
        parallel = _for_lanes(parallel)
        self.symbols: dict = {}
        self.dims = (*[self._dim(f"p{i}", n, False) for i, (n, _) in enumerate(parallel)],
                     *[self._dim(f"r{i}", n, True) for i, (n, _) in enumerate(reduce)])
        self.sizes = [n for n, _ in (*parallel, *reduce)]
        self.steps = [[s[b] for _, s in (*parallel, *reduce)] for b in range(len(strides))]
        self.counted = {p: self._dims_counted(i) for p, i in zip(body.counted, range(len(patterns), len(strides)))}
        self.lanes = {len(parallel) - 1, len(self.sizes) - 1}
        if launches and not reduce:
            self.lanes.update(range(len(parallel)))
        loads, count = list(body.loads), len(body.loads)
        self.buffers = (*[self._buffer(i, v.dtype, "in") for i, (v, _) in enumerate(loads)],
                        *[self._buffer(count + i, v.dtype, "out") for i, v in enumerate(self.stored)])
        self.operands = [(v, p.offset, False) for v, p in loads] + [(v, 0, True) for v in self.stored]
        self._dtypes = {b.name: b.dtype for b in self.buffers}
        self.loaded = {key: f"b{i}" for i, key in enumerate(loads)}
        self.written = {v: f"b{count + i}" for i, v in enumerate(self.stored)}

    def _runs(self, strides):
        """Return (parallel, reduce dims) as [(extent, strides)]; neighbours join if all buffers allow, reduced ones must."""
        parallel, reduce, before = [], [], False
        for d, n in enumerate(self.body.shape):
            folded = d in self.body.reduced
            found = reduce if folded else parallel
            here = (n, [s[d] for s in strides])
            joined = _joined(found[-1], here) if found and (before or not folded) else None
            if folded and before and joined is None:
                raise Unfit("a buffer does not step evenly through the reduced dims")
            if joined is not None:
                found[-1] = joined
            elif folded or n != 1:
                found.append(here)
            before = folded
        return parallel or [(1, [1] * len(strides))], reduce

    def _dim(self, name, extent, folded):
        symbol = f"n_{name}"
        self.symbols[symbol] = extent
        return Dim(name, symbol, folded)

    def _dims_counted(self, number):
        return [d.name for d, step in zip(self.dims, self.steps[number]) if step]

    def _buffer(self, number, dtype, role):
        named = []
        for d, step in enumerate(self.steps[number]):
            if step == 0 or (step == 1 and d in self.lanes):
                named.append(step)
            else:
                symbol = f"s{number}_{self.dims[d].name}"
                self.symbols[symbol] = step
                named.append(symbol)
        return Buffer(f"b{number}", dtype, tuple(named), role)

    def dtype_of(self, buffer) -> DType:
        return self._dtypes[buffer]

    def strategy(self, kernel):
        """Return the code generator's strategy where the extents need another than the usual one."""
        return suited(kernel, [hint(n) for n in self.sizes], same_length=not is_symbol(self.sizes[-1]))


def _joined(outer, inner):
    (n, far), (m, near) = outer, inner
    if m == 1 or n == 1:
        return (n * m, far if m == 1 else near)
    return (n * m, near) if all(a == b * m for a, b in zip(far, near)) else None


def _for_lanes(dims):
    """Return parallel dims with the best one for lanes last: not too short, with unit steps (or none)."""
    def worth(d):
        n, steps = dims[d]
        return min(_SHORT, judged(n)) * (1 + 2 * sum(s in (0, 1) for s in steps)), -sum([abs(judged(s)) for s in steps]), d

    best = max(range(len(dims)), key=worth)
    return [*dims[:best], *dims[best + 1:], dims[best]]


class Writer:
    """A layout of terms in stages."""

    def __init__(self, body: Body, loops: Loops, far: bool = False):
        self.body, self.loops, self.far = body, loops, far
        self.sweep_count = max((t.depth for t in body.terms), default=0)
        self.stored: dict = {}                 # term -> (buffer, number of the sweep that stores it)
        self.lines: list = []
        self.local: dict = {}
        self.tag, self.number = "", 0
        if body.reduced:
            self._choose_stored()

    def stages(self) -> list:
        """Return the stages, empty ones left out."""
        if not self.body.reduced:
            return [Stage(POINT, tuple(self._elementwise()))]
        made = []
        for k in range(self.sweep_count + 2):
            if k:
                made.append(Stage(SWEEP, tuple(self._sweep(k))))
            made.append(Stage(POINT, tuple(self._point(k))))
        return [s for s in made if s.body]

    def _begin(self, tag):
        self.lines, self.local, self.tag = [], {}, tag

    def _elementwise(self):
        """Load everything before any store, so that a result may take its operand's memory."""
        self._begin("")
        values = [(self.use(t), self.loops.written[v]) for v, t in self.body.results.items()]
        self._store_all(values)
        return self.lines

    def _store_all(self, values):
        for name, buffer in dict.fromkeys(values):
            self.lines.append(Instr(f"w{len(self.lines)}", STORE, self.loops.dtype_of(buffer), (name,), buffer))

    def _point(self, depth):
        """Write row values: those that reductions up to `depth` allow, and the rows' results."""
        self._begin(f"_{depth}p")
        for t in self.body.terms:
            if t.row and t.depth == depth and not t.is_leaf and t.kind != FOLD:
                self._write(t)
        self._store_all([(self.use(t), self.loops.written[v]) for v, t in self.body.results.items()
                         if v in self.body.rows and t.depth == depth])
        return self.lines

    def _roots(self, k):
        """Return the roots of sweep k: reductions, and results of full size."""
        folds = [t for t in self.body.terms if t.kind == FOLD and t.depth == k]
        return folds, [(v, t) for v, t in self.body.results.items() if v not in self.body.rows and t.depth == k - 1]

    def _sweep(self, k):
        self._begin(f"_{k}")
        self.number = k
        folds, results = self._roots(k)
        operands = [self.use(t.args[0]) for t in folds]
        values = [(self.use(t), self.loops.written[v]) for v, t in results]
        values += [(self.use(t), buffer) for t, (buffer, at) in self.stored.items() if at == k]
        self._store_all(values)
        self.lines += [Instr(f"v{t.number}", FOLD, t.dtype, (name,), t.attr) for t, name in zip(folds, operands)]
        return self.lines

    def use(self, t) -> str:
        """Return the name of a term in the stage being written."""
        if t.row and not t.is_leaf:
            return f"v{t.number}"
        if t not in self.local:
            self._write(t)
        return self.local[t]

    def _write(self, t):
        location: Any = self.stored.get(t)
        again = location is not None and location[1] < self.number
        args = () if again else tuple([self.use(a) for a in t.args])
        name = self.local[t] = f"v{t.number}" if t.row and not t.is_leaf else f"v{t.number}{self.tag}"
        if again or t.kind == LOAD:
            self.lines.append(Instr(name, LOAD, t.dtype, (), location[0] if again else self.loops.loaded[t.attr]))
        elif t.kind == PICK:
            self._write_pick(name, t, args[0])
        elif t.kind == INDEX:
            self._write_index(name, self.loops.counted[t.attr])
        elif t.kind == CALL:
            self.lines.append(Instr(name, t.attr, t.dtype, args))
        else:
            self.lines.append(Instr(name, t.kind, t.dtype, args, t.attr))

    def _write_pick(self, name, t, index):
        """Load the element at an index along the reduced dim; 0 where there is none."""
        dim, flag = self.loops.dims[-1].name, dt.bool_
        self.lines += [
            Instr(f"{name}_n", "size", dt.int64, (), dim), Instr(f"{name}_0", CONST, dt.int64, (), 0),
            Instr(f"{name}_a", ew.ge.name, flag, (index, f"{name}_0")),
            Instr(f"{name}_b", ew.lt.name, flag, (index, f"{name}_n")),
            Instr(f"{name}_in", ew.logical_and.name, flag, (f"{name}_a", f"{name}_b")),
            Instr(f"{name}_at", ew.where.name, dt.int64, (f"{name}_in", index, f"{name}_0")),
            Instr(f"{name}_v", LOAD, t.dtype, (f"{name}_at",), (self.loops.loaded[t.attr], dim)),
            Instr(f"{name}_z", CONST, t.dtype, (), 0),
            Instr(name, ew.where.name, t.dtype, (f"{name}_in", f"{name}_v", f"{name}_z"))]

    def _write_index(self, name, dims):
        if not dims:
            self.lines.append(Instr(name, CONST, dt.int64, (), 0))
            return
        names = [*[f"{name}_{i}" for i in range(2 * len(dims) - 2)], name] if len(dims) > 1 else [name]
        self.lines += [Instr(n, INDEX, dt.int64, (), d) for n, d in zip(names, dims)]
        total = names[0]
        for at, n in zip(names[len(dims):], names[1:]):
            self.lines.append(Instr(at, ew.add.name, dt.int64, (total, n)))
            total = at

    # Values that several sweeps need.

    def _choose_stored(self):
        """Choose expensive values, and results of several in far memory, to keep in later results' buffers for later sweeps."""
        free = {}
        for v, t in self.body.results.items():
            if v not in self.body.rows:
                free[self.loops.written[v]] = (t, v.dtype)
        while free:
            needs = self._needs()
            found = [(t, b) for t in needs for b, (result, dtype) in free.items() if self._pays(t, needs[t], result, dtype)]
            if not found:
                return
            term, buffer = max(found, key=lambda pair: self._weight(pair[0]))
            self.stored[term] = buffer, needs[term][0]
            del free[buffer]

    def _pays(self, t, needing, result, dtype):
        if t in self.stored or len(needing) < 2 or t.dtype is not dtype:
            return False
        if self._weight(t) < DEAR and not (self.far and t is result and sum(x.kind == LOAD for x in _along_rows(t)) > 1):
            return False
        return t is result or needing[-1] <= result.depth + 1

    def _needs(self):
        """Return, for each term that varies along a row, the sweeps that need it."""
        needs: dict = {}
        for k in range(1, self.sweep_count + 2):
            folds, results = self._roots(k)
            stack, seen = [*[t.args[0] for t in folds], *[t for _, t in results]], set()
            while stack:
                t = stack.pop()
                if t in seen or t.row or t.is_leaf:
                    continue
                seen.add(t)
                needs.setdefault(t, []).append(k)
                if not (t in self.stored and self.stored[t][1] < k):
                    stack.extend(t.args)
        return needs

    def _weight(self, t):
        """Return the cost of computing a term from memory."""
        return sum(x.cost for x in _along_rows(t))

def _along_rows(t) -> set:
    """Return a term and its operands, as far as they vary along a row."""
    seen, stack = set(), [t]
    while stack:
        x = stack.pop()
        if x not in seen and not x.row:
            seen.add(x)
            stack.extend(x.args)
    return seen
