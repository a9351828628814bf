"""Products of several tensors in the cheapest order: einsum, as permutations and matrix products, and chains of matrices."""

from functools import lru_cache
from typing import Any

from ....ir import dtype as dt
from ....ir.errors import ArgumentError, DTypeError, ShapeError, kind_of
from ....ir.graph.graph import Builder
from ....ir.opdef.aval import same_shape, shape_text
from ....ir.ops.core import elementwise as ew
from ....ir.ops.core.reduce import count_of, sum_
from ....ir.ops.core.shape import diagonal, expand, permute, reshape
from ....ir.ops.linalg import products as la
from ...core.tensor import Tensor
from ...state.mode import tls
from ..register.register import api, deliver
from ..register.type_promotion import result_type, to_dtype
from .matrix_products import matmul

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"     # in the order of labels of results


@api(method=False, memoised=True)
def einsum(equation, *operands):
    """Sum products of the operands over labels, for example ``einsum("bij,bjk->bik", x, y)``."""
    if not isinstance(equation, str):
        equation, operands = _from_sublists((equation, *operands))
    elif len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = tuple(operands[0])
    if not operands:
        raise ArgumentError(f"einsum {equation!r} has no operands")
    d = result_type(*operands)
    if not d.is_inexact and _sums_alone(equation, operands):
        d = dt.int64   # a sum of integers or bools counts in int64
    xs = [to_dtype(x, d) for x in operands]
    if tls.m.special:
        return _computed(equation, xs)
    values: list = list(xs)
    steps, found = _steps(equation, tuple([x.aval for x in xs]))
    for op, positions, params in steps:
        values.append(op.call(*[values[i] for i in positions], **params))
    return values[found]


def _sums_alone(equation, operands) -> bool:
    """Return whether a label of only one operand is summed over."""
    terms, out = _parse(equation, operands)
    return any(set(term) - set(out).union(*terms[:i], *terms[i + 1:]) for i, term in enumerate(terms))


@lru_cache(512)
def _steps(equation, avals) -> tuple:
    """Return the operators of an equation for these shapes, and the position of the result. Each operator has the positions of
    its operands (first those of the equation, then results in order) and its parameters."""
    b = Builder("einsum")
    inputs = [b.input(f"x{i}", aval) for i, aval in enumerate(avals)]
    out = _computed(equation, inputs)
    positions = {v: i for i, v in enumerate([*inputs, *[n.output for n in b.nodes]])}
    return [(n.op, tuple([positions[v] for v in n.inputs]), n.params) for n in b.nodes], positions[out]


def _computed(equation, operands):
    """Return the result for operands of one dtype."""
    terms, out = _parse(equation, operands)
    sizes = _sizes(terms, operands, equation)
    work = [_without_repeats(x, labels) for x, labels in zip(operands, terms)]
    while len(work) > 1:
        i, j = _cheapest_pair(work, out, sizes)
        right, left = work.pop(j), work.pop(i)
        needed = set(out).union(*(labels for _, labels in work))
        work.append(_contract(left, right, needed, sizes))
    return _arrange(*_sum_out(*work[0], set(out)), out, sizes)


def _from_sublists(args):
    """Return the operands and equation of the form einsum(x, [0, 1], y, [1, 2], [0, 2])."""
    def as_term(labels):
        wrong = [i for i in labels if i is not Ellipsis and not 0 <= i < len(_LETTERS)]
        if wrong:
            raise ArgumentError(f"einsum: labels are within 0..{len(_LETTERS) - 1}, got {wrong[0]}")
        return "".join("..." if i is Ellipsis else _LETTERS[i] for i in labels)

    operands, lists = args[0::2], args[1::2]
    out = None
    if len(args) % 2:
        operands, out = operands[:-1], args[-1]
    equation = ",".join(map(as_term, lists))
    return equation if out is None else f"{equation}->{as_term(out)}", operands


def _parse(equation, operands):
    """Return the labels of every dimension of the operands and the result; dimensions under "..." have integers."""
    left, arrow, right = equation.replace(" ", "").partition("->")
    parts = left.split(",")
    if len(parts) != len(operands):
        raise ArgumentError(f"einsum {equation!r} names {len(parts)} operands, got {len(operands)}")
    terms = [_labels(p, x, i, equation) for i, (p, x) in enumerate(zip(parts, operands))]
    widest = max((sum(isinstance(v, int) for v in t) for t in terms), default=0)
    if arrow:
        return terms, _output_labels(right, widest, terms, equation)
    letters = [v for t in terms for v in t if isinstance(v, str)]
    return terms, list(range(-widest, 0)) + sorted(v for v in set(letters) if letters.count(v) == 1)


def _labels(part, x, position, equation):
    """Return one operand's labels: letters, and negative integers (counted from the right) under an ellipsis."""
    before, dots, after = part.partition("...")
    if not all(c in _LETTERS for c in before + after):
        raise ArgumentError(f"einsum {equation!r}: labels are letters, got {part!r}")
    free = x.ndim - len(before) - len(after)
    if free < 0 or (free and not dots):
        raise ShapeError(f"einsum {equation!r}: {part!r} names {len(before) + len(after)} dimensions, but "
                         f"operands[{position}] {x.aval} has {x.ndim}")
    return [*before, *range(-free, 0), *after]


def _output_labels(part, widest, terms, equation):
    before, dots, after = part.partition("...")
    labels = [*before, *(range(-widest, 0) if dots else ()), *after]
    known = {v for t in terms for v in t}
    if len(set(labels)) != len(labels) or not set(labels) <= known:
        twice = next((v for v in labels if labels.count(v) > 1), None)
        absent = next((v for v in labels if v not in known), None)
        raise ArgumentError(f"einsum {equation!r}: the result names label {twice!r} twice" if twice is not None else
                            f"einsum {equation!r}: the result has label {absent!r}, which no operand has")
    return labels


def _sizes(terms, operands, equation):
    """Return the size of every label; a size of 1 broadcasts."""
    sizes: dict = {}
    for i, (labels, x) in enumerate(zip(terms, operands)):
        for v, n in zip(labels, x.shape):
            if sizes.setdefault(v, n) != n:
                if n != 1 and sizes[v] != 1:
                    label = f"label {v!r}" if isinstance(v, str) else f"dim {v} of the ellipsis"
                    before = next(j for j, t in enumerate(terms) if v in t)
                    raise ShapeError(f"einsum {equation!r}: {label} has size {sizes[v]} in operands[{before}] "
                                     f"{shape_text(operands[before].shape)} and {n} in operands[{i}] {shape_text(x.shape)}")
                sizes[v] = max(n, sizes[v]) if 0 not in (n, sizes[v]) else 0
    return sizes


def _without_repeats(x, labels) -> tuple[Any, list]:
    """Take diagonals where an operand names a label twice."""
    labels = list(labels)
    for v in list(labels):
        while labels.count(v) > 1:
            i = labels.index(v)
            j = labels.index(v, i + 1)
            if x.shape[i] != x.shape[j]:
                raise ShapeError(f"einsum takes a diagonal over label {v!r} of sizes {x.shape[i]} and {x.shape[j]}")
            x = diagonal(x, offset=0, dim1=i, dim2=j)
            del labels[j], labels[i]
            labels.append(v)
    return x, labels


def _cheapest_pair(work, out, sizes):
    """Return the pair with the smallest product; among equals the first."""
    def result_size(i, j):
        rest = set(out).union(*(labels for k, (_, labels) in enumerate(work) if k not in (i, j)))
        n = 1
        for v in set(work[i][1]) | set(work[j][1]):
            n *= sizes[v] if v in rest else 1
        return n

    pairs = [(i, j) for j in range(len(work)) for i in range(j)]
    return min(pairs, key=lambda p: (result_size(*p), p[1], p[0]))


def _sum_out(x, labels, needed) -> tuple[Any, list]:
    """Sum over the labels that nothing else needs."""
    dims = tuple(i for i, v in enumerate(labels) if v not in needed)
    return (x, labels) if not dims else (sum_(x, dim=dims, keepdim=False), [v for v in labels if v in needed])


def _contract(left: tuple[Any, list], right: tuple[Any, list], needed, sizes) -> tuple[Any, list]:
    """Return the product of two operands, summed over common labels that nothing else needs."""
    x, a = _sum_out(*left, needed | set(right[1]))
    y, b = _sum_out(*right, needed | set(left[1]))
    shared = [v for v in a if v in b]
    batch = [v for v in shared if v in needed]
    inner = [v for v in shared if v not in needed]
    rows, cols = [v for v in a if v not in b], [v for v in b if v not in a]
    if not inner:
        return _scaled(_arrange(x, a, batch + rows, sizes), _arrange(y, b, batch + cols, sizes), batch, rows, cols)

    def flat(t, labels, groups):
        t = _arrange(t, labels, [v for g in groups for v in g], sizes)
        return _shaped(t, tuple([_product(g, sizes) for g in groups]))

    product = la.matmul(flat(x, a, (batch, rows, inner)), flat(y, b, (batch, inner, cols)))
    labels = batch + rows + cols
    return _shaped(product, tuple([sizes[v] for v in labels])), labels


def _shaped(x, shape):
    return x if same_shape(tuple(x.shape), shape) else reshape(x, shape=shape)


def _scaled(x, y, batch, rows, cols):
    """Return a product without a sum: elementwise, rows of one against columns of the other."""
    n = len(batch)
    x = reshape(x, shape=(*x.shape, *(1,) * len(cols)))
    y = reshape(y, shape=(*y.shape[:n], *(1,) * len(rows), *y.shape[n:]))
    return ew.mul(x, y), batch + rows + cols


def _product(labels, sizes):
    return count_of([sizes[v] for v in labels], range(len(labels)))


def _arrange(x, labels, wanted, sizes):
    """Return the dims in the wanted order, sizes of 1 expanded to the label's size."""
    if list(labels) != list(wanted):
        x = permute(x, dims=tuple(labels.index(v) for v in wanted))
    full = tuple(sizes[v] for v in wanted)
    return x if tuple(x.shape) == full else expand(x, shape=full)


# Chains of matrices.


@api(method=False, memoised=True)
def chain_matmul(*matrices, out=None):
    """Multiply several matrices in the cheapest order."""
    if len(matrices) == 1 and not isinstance(matrices[0], Tensor):
        matrices = tuple(matrices[0])
    _check_chain("chain_matmul", matrices, 1, (2,))
    return deliver(_chain_product(matrices), out, "chain_matmul")


@api(method=False, memoised=True)
def multi_dot(tensors, *, out=None):
    """Multiply two or more matrices in the cheapest order; the first and last may be vectors."""
    tensors = tuple(tensors)
    _check_chain("multi_dot", tensors, 2, (1, 2))
    return deliver(_chain_product(tensors), out, "multi_dot")


def _check_chain(name, tensors, least, at_ends):
    """Raise for chains that are too short and for tensors of other dims or dtypes; the ends have a number of dims in
    `at_ends`."""
    if len(tensors) < least:
        raise ArgumentError(f"{name} needs at least {least} tensors, got {len(tensors)}")
    for i, x in enumerate(tensors):
        if not isinstance(x, Tensor):
            raise DTypeError(f"{name} takes tensors, got {kind_of(x)}")
        if x.ndim not in (at_ends if i in (0, len(tensors) - 1) else (2,)):
            ends = ", or vectors at the ends" if 1 in at_ends else ""
            raise ShapeError(f"{name} takes matrices{ends}: tensor {i} is {x.aval}")
        if x.dtype is not tensors[0].dtype:
            raise DTypeError(f"{name} takes tensors of one dtype, got {tensors[0].aval} and {x.aval}; cast one with .to()")


def _chain_product(tensors):
    ends = [_as_matrix(x, row=i == 0) for i, x in enumerate(tensors)]
    sizes = [ends[0].shape[0], *(x.shape[1] for x in ends)]
    result = _chain(ends, _best_splits(sizes), 0, len(ends) - 1)
    shape = (() if tensors[0].ndim == 1 else result.shape[:1]) + (() if tensors[-1].ndim == 1 else result.shape[1:])
    return reshape(result, shape=tuple(shape))


def _as_matrix(x, row):
    """Return a vector as a row or a column."""
    if x.ndim == 1:
        return reshape(x, shape=(1, x.shape[0]) if row else (x.shape[0], 1))
    return x


def _best_splits(sizes):
    """Return where to split each segment (first, last) of a chain of matrices, by dynamic programming."""
    n = len(sizes) - 1
    cost, split = {(i, i): 0 for i in range(n)}, {}
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            options = [(cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k) for k in range(i, j)]
            cost[i, j], split[i, j] = min(options)
    return split


def _chain(matrices, split, i, j):
    if i == j:
        return matrices[i]
    k = split[i, j]
    return matmul(_chain(matrices, split, i, k), _chain(matrices, split, k + 1, j))
