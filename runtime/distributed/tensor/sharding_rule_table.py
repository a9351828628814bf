"""Sharding rules of operators that do not follow from their records, by family."""

from functools import partial
from math import prod

import numpy as np

from ....ir.ops.core import elementwise as ew
from ....ir.ops.core import shape as sh
from ....ir.ops.index import indexing as ix
from ....ir.ops.linalg import products as la
from ....ir.ops.nn import attention as at
from ....ir.ops.nn import conv as cv
from ....ir.ops.nn import embedding as em
from ....ir.ops.nn import loss as lo
from ....ir.ops.nn import norm as no
from .mesh_array import apply
from .sharding_rules import ALL_TERMS, Call, Names, rule_of

# Views. Terms of any reduction stay terms in a view.


def _viewed(ins, outs) -> Names:
    return Names((tuple(ins),), (tuple(outs),), linear=((True,),), terms=ALL_TERMS)


def _dims(call: Call) -> range:
    return range(len(call.shapes[0]))


@rule_of(sh.permute)
def _permute(call):
    return _viewed(_dims(call), call.params["dims"])


@rule_of(sh.expand)
def _expand(call):
    """Reduce terms before they are repeated: afterwards there is more to send."""
    x, out = call.shapes[0], call.outs[0]
    names = [len(out) - len(x) + d if n == out[len(out) - len(x) + d] else None for d, n in enumerate(x)]
    outs = tuple([d if d in names else None for d in range(len(out))])
    return Names((tuple(names),), (outs,), linear=((True,),) if prod(x) == prod(out) else (), terms=ALL_TERMS)


@rule_of(sh.select)
def _select(call):
    gone = call.params["dim"] % len(call.shapes[0])
    return _viewed([None if d == gone else d for d in _dims(call)], [d for d in _dims(call) if d != gone])


@rule_of(sh.slice_)
def _slice(call):
    dim, n = call.params["dim"] % len(call.shapes[0]), call.shapes[0]
    cut = call.outs[0][dim] != n[dim] or call.params["step"] != 1
    names = [None if d == dim and cut else d for d in _dims(call)]
    return _viewed(names, names)


@rule_of(sh.diagonal)
def _diagonal(call):
    ndim = len(call.shapes[0])
    pair = call.params["dim1"] % ndim, call.params["dim2"] % ndim
    names = [None if d in pair else d for d in range(ndim)]
    return _viewed(names, [*[d for d in names if d is not None], None])


@rule_of(sh.unfold)
def _unfold(call):
    dim = call.params["dim"] % len(call.shapes[0])
    names = [None if d == dim else d for d in _dims(call)]
    return _viewed(names, [*names, None])


@rule_of(sh.bitcast)
def _bitcast(call):
    same = call.shapes[0] == call.outs[0]
    names = [d if same or d < len(call.shapes[0]) - 1 else None for d in _dims(call)]
    return Names((tuple(names),), (tuple(names),))


@rule_of(sh.as_strided)
def _as_strided(call):
    return _viewed([None] * len(call.shapes[0]), [None] * len(call.outs[0]))


@rule_of(sh.reshape)
def _reshape(call):
    """Return groups of dims with equal elements. The first dim of a group may be split, into whole rows of both shapes."""
    x, out = call.shapes[0], call.outs[0]
    ins: list = [None] * len(x)
    outs: list = [None] * len(out)
    for name, (from_, to) in enumerate(_groups(x, out)):
        if not from_ or not to:
            continue
        a, b = from_[0], to[0]
        parts = call.parts_of(0, a)
        if (len(from_) == len(to) == 1) or (x[a] % parts == 0 and out[b] % parts == 0):
            ins[a] = outs[b] = name
    return _viewed(ins, outs)


def _groups(x, out):
    """Return (dims of one shape, dims of the other) with the same elements, without dims of size 1."""
    if 0 in x:
        return
    i = j = 0
    while i < len(x) or j < len(out):
        from_, to = [], []
        have = want = 1
        while True:
            if have <= want and i < len(x):
                have *= x[i]
                from_ += [i] * (x[i] != 1)
                i += 1
            elif j < len(out):
                want *= out[j]
                to += [j] * (out[j] != 1)
                j += 1
            if have == want and (from_ or to or (i == len(x) and j == len(out))):
                break
        yield from_, to


# Products.


def _batch_names(*shapes) -> list:
    """Return names of the dims before the last two of matrices that broadcast."""
    count = max(len(s) for s in shapes) - 2
    return [[("b", count - len(s) + 2 + d) if n != 1 else None for d, n in enumerate(s[:-2])] for s in shapes]


@rule_of(la.matmul)
def _matmul(call):
    x, y = call.shapes
    lead_x, lead_y, lead = _batch_names(x, y, call.outs[0])
    return Names(((*lead_x, "m", "k"), (*lead_y, "k", "n")), ((*lead, "m", "n"),), linear=((True, False), (False, True)))


@rule_of(la.linear)
def _linear(call):
    x, b = call.shapes[0], call.shapes[2]
    rows = tuple([("row", d) for d in range(len(x) - 1)])
    has = b is not None
    return Names(((*rows, "k"), ("n", "k"), ("n",) if has else None), ((*rows, "n"),), added=(2,) if has else (),
                 linear=((True, False, has), (False, True, has)))


def _with_groups(call, whole, lone):
    """Return names of a convolution: channels are split only without groups."""
    return whole if call.params.get("groups", 1) == 1 else lone


def _image(shape, *names):
    return None if shape is None else (*names, *(None,) * (len(shape) - len(names)))[:len(shape)]


@rule_of(cv.conv)
def _conv(call):
    x, w, b = call.shapes
    c, o = _with_groups(call, ("c", "o"), (None, None))
    return Names((_image(x, "n", c), _image(w, o, c), None if b is None else (o,)), (_image(call.outs[0], "n", o),), added=(2,))


@rule_of(cv.conv_input_grad)
def _conv_input_grad(call):
    c, o = _with_groups(call, ("c", "o"), (None, None))
    return Names((_image(call.shapes[0], "n", o), _image(call.shapes[1], o, c)), (_image(call.outs[0], "n", c),))


@rule_of(cv.conv_weight_grad)
def _conv_weight_grad(call):
    c, o = _with_groups(call, ("c", "o"), (None, None))
    return Names((_image(call.shapes[0], "n", c), _image(call.shapes[1], "n", o)), (_image(call.outs[0], o, c),))


# Attention: batch, heads, and (if queries are independent) queries.


def _attention_names(call, q, k, mask):
    lead = tuple(range(len(q) - 3))
    alike = q[-3] == k[-3] or (k[-3] and k[-3] % call.mesh.size() == 0)
    h, rows = "h" if alike else None, None if call.params["causal"] else "l"
    names = (*lead, h, rows)
    if mask is None:
        return lead, h, rows, None
    full = (*names, None)
    own = full[len(full) - len(mask):]
    return lead, h, rows, tuple([None if n == 1 else name for n, name in zip(mask, own)])


@rule_of(at.attention)
def _attention(call):
    q, k, _, mask = call.shapes
    lead, h, rows, mask_names = _attention_names(call, q, k, mask)
    query, key = (*lead, h, rows, None), (*lead, h, None, None)
    return Names((query, key, key, mask_names), (query, query[:-1]), {"l": None})


@rule_of(at.attention_grad)
def _attention_grad(call):
    _, q, k, _, mask, *_ = call.shapes
    lead, h, rows, mask_names = _attention_names(call, q, k, mask)
    query, key = (*lead, h, rows, None), (*lead, h, None, None)
    of_mask = mask_names if call.params["mask_grad"] else (None,) * len(call.outs[3])
    return Names((query, query, key, key, mask_names, query[:-1], query[:-1]), (query, key, key, of_mask))


# Rows: all dims but the last ones.


def _rows(call):
    """Return the names of a row's dims, and of its weight's."""
    dims = call.params["dims"]
    return (*range(len(call.shapes[0]) - dims), *(None,) * dims), (None,) * dims


@rule_of(no.layer_norm, no.rms_norm)
def _row_norm(call):
    row, weight = _rows(call)
    return Names((row, *[None if s is None else weight for s in call.shapes[1:]]), (row,))


@rule_of(no.layer_norm_grad, no.rms_norm_grad)
def _row_norm_grad(call):
    row, weight = _rows(call)
    outs = (row, *[weight] * (len(call.outs) - 1))
    if any(s is None for s in call.shapes[:2]):
        return None
    return Names((row, row, None if call.shapes[2] is None else weight), outs)


# Tables.


def _between(index, first, end):
    """Return where an index lies in a range."""
    return apply(ew.logical_and, (apply(ew.ge, (index, first), {}), apply(ew.lt, (index, end), {})), {})


def _masked_rows(rows, run, arrays, params, first, size):
    """Return rows of a part of a table: zeros for rows in other parts. An index beyond the whole table is one beyond the part,
    too, for which the operator raises."""
    weight, index = arrays
    if isinstance(index, np.ndarray):
        em.check_range("embedding", index, rows)
    if not size:
        return run((weight, index), params, empty=True)
    inside = _between(index, first, first + size)
    near = apply(ew.maximum, (apply(ew.minimum, (apply(ew.sub, (index, first), {}), size - 1), {}), 0), {})
    near = apply(ew.where, (_between(index, 0, rows), near, -1), {})
    mask = apply(sh.reshape, (inside,), {"shape": (*inside.shape, 1)})
    return apply(ew.where, (mask, run((weight, near), params), 0.0), {})


@rule_of(em.embedding)
def _embedding(call):
    index = tuple([("i", d) for d in range(len(call.shapes[1]))])
    return Names((("v", "e"), index), ((*index, "e"),), located={"v": partial(_masked_rows, call.shapes[0][0])})


@rule_of(em.row_sums)
def _row_sums(call):
    index = tuple([("i", d) for d in range(len(call.shapes[1]))])
    return Names(((*index, "e"), index), ((None, "e"),))


# Classes: the second dim of rows.


def _shifted(run, arrays, params, first, size):
    """Count classes from the start of a part: others are out of range, which gives zeros."""
    *others, target = arrays
    near = apply(ew.where, (_between(target, first, first + size), apply(ew.sub, (target, first), {}), -1), {})
    return run((*others, near), params)


def _target(shape):
    return ("n", *[("t", d) for d in range(len(shape) - 1)])


@rule_of(lo.take_class)
def _take_class(call):
    n, *rest = _target(call.shapes[1])
    return Names(((n, "c", *rest), (n, *rest)), ((n, *rest),), located={"c": _shifted})


@rule_of(lo.put_class)
def _put_class(call):
    n, *rest = _target(call.shapes[1])
    return Names(((n, *rest), (n, *rest)), ((n, None, *rest),))


@rule_of(lo.softmax_minus_onehot)
def _softmax_minus_onehot(call):
    n, *rest = _target(call.shapes[4])
    row = (n, *rest)
    return Names(((n, "c", *rest), row, row, row, row), ((n, "c", *rest),), located={"c": _shifted})


@rule_of(lo.class_weight, lo.class_index)
def _class_weight(call):
    target = tuple(range(len(call.shapes[0])))
    return Names((target, *[None if s is None else (None,) * len(s) for s in call.shapes[1:]]),
                 (target, *[()] * (len(call.outs) - 1)))


# Indices.


def _index_names(x, indices):
    """Return the names of the indexed tensor, of each index, and of the result."""
    ndim = max([len(i) for i in indices if i is not None], default=0)
    own = [None if i is None else tuple([("i", ndim - len(i) + d) if n != 1 else None for d, n in enumerate(i)])
           for i in indices]
    whole = [None if d < len(indices) and indices[d] is not None else ("x", d) for d in range(len(x))]
    given = [d for d, i in enumerate(indices) if i is not None]
    is_consecutive = given == list(range(given[0], given[-1] + 1)) if given else True
    sizes = {n: True for names in own if names is not None for n in names}
    block = [("i", d) if ("i", d) in sizes else None for d in range(ndim)]
    rest = [n for n in whole if n is not None]
    before = sum(n is not None for n in whole[:given[0]]) if given and is_consecutive else 0
    return tuple(whole), own, (*rest[:before], *block, *rest[before:])


@rule_of(ix.index)
def _index(call):
    x, *indices = call.shapes
    whole, own, out = _index_names(x, indices)
    return Names((whole, *own), (out,), linear=((True, *[False] * len(indices)),))


@rule_of(ix.index_put)
def _index_put(call):
    x, _, *indices = call.shapes
    whole, own, out = _index_names(x, indices)
    summed = call.params["accumulate"]
    reduced = {} if summed else {n: None for names in own if names is not None for n in names}
    rest = [False] * len(indices)
    return Names((whole, out, *own), (whole,), reduced, added=(0,) if summed else (), linear=((True, True, *rest),))


@rule_of(ix.gather)
def _gather(call):
    x, index = call.shapes
    dim = call.params["dim"] % len(x)
    alike = [d if d != dim and x[d] == index[d] else None for d in range(len(x))]
    own = ["g" if d == dim else n for d, n in enumerate(alike)]
    return Names((tuple(alike), tuple(own)), (tuple(own),), linear=((True, False),))


# Joins.


@rule_of(sh.cat)
def _cat(call):
    ndim = len(call.shapes[0])
    dim = call.params["dim"] % ndim
    names = tuple([None if d == dim else d for d in range(ndim)])
    if any(len(s) != ndim for s in call.shapes):
        return None
    count = len(call.shapes)
    return Names((names,) * count, (names,), linear=((True,) * count,), terms=ALL_TERMS)


@rule_of(sh.stack)
def _stack(call):
    dim = call.params["dim"] % len(call.outs[0])
    names = tuple(range(len(call.shapes[0])))
    count = len(call.shapes)
    return Names((names,) * count, ((*names[:dim], None, *names[dim:]),), linear=((True,) * count,), terms=ALL_TERMS)


@rule_of(sh.pad)
def _pad(call):
    p = call.params
    names = tuple([d if (lo, hi, inner) == (0, 0, 0) else None for d, (lo, hi, inner) in enumerate(
        zip(p["low"], p["high"], p["interior"]))])
    return Names((names,), (names,), linear=((True,),) if not p.get("value", 0) else ())
