"""Sharding rules: which dims of operands and results belong together.

A rule names dims. Dims with one name are split alike in all operands and results. If a result lacks a name, it is summed over
it (or reduced by `reduced`), so each process has a term. A dim without a name stays whole. The names determine the ways to run
an operator on parts, for each mesh dim by itself (`ways`).

Rules follow from records: elementwise functions, reductions, views, functions along dims. `sharding_rule_table.py` has the
rest.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ....ir.dtype import FLOAT8, promote_types
from ....ir.opdef.batch_rules import Images, Leading, way_of
from ....ir.opdef.op import Op, Reduce
from ....ir.ops.core import complex_numbers as co
from ....ir.ops.core import elementwise as ew
from ....ir.ops.core import reduce as rd
from ....ir.ops.core.shape import contiguous

RULES: dict[Op, Callable] = {}          # rules of single operators: (call) -> Names, or None if unknown
TERMS = ("sum", "avg")                  # reductions whose terms linear operators keep
ALL_TERMS = (*TERMS, "product", "min", "max")


@dataclass(frozen=True)
class Names:
    """Names of dims, as a rule gives them. A name is any hashable value; None is no name.

    ins       names of each operand's dims (None for operands that are no arrays)
    outs      names of each result's dims
    reduced   by name the reduction of terms of a result without it, if it is no sum; None forbids
    added     operands that are added once, so their values become terms with the results
    linear    ways to keep terms: which operands have them, the others being whole
    terms     reductions whose terms are kept so
    located   by name the function for a part with an offset: (run, arrays, params, first, size)
    """

    ins: tuple
    outs: tuple
    reduced: dict = field(default_factory=dict)
    added: tuple = ()
    linear: tuple = ()
    terms: tuple = TERMS
    located: dict = field(default_factory=dict)


@dataclass(frozen=True)
class Call:
    """Call of an operator: shapes (None for operands that are no arrays), dtypes and placements of operands, shapes of
    results."""

    op: Op
    shapes: tuple
    dtypes: tuple
    placements: tuple
    outs: tuple
    params: dict
    mesh: Any

    def parts_of(self, operand: int, dim: int) -> int:
        count = 1
        for i, p in enumerate(self.placements[operand] or ()):
            count *= self.mesh.shape[i] if p.is_shard(dim) else 1
        return count


def rule_of(*records):
    """Return a decorator that enters the rule of operators."""
    def mark(fn):
        RULES.update(dict.fromkeys(records, fn))
        return fn

    return mark


def names_of(call: Call) -> Names | None:
    """Return the names of an operator's call, or None."""
    op, way = call.op, way_of(call.op)
    rule = RULES.get(op)
    if rule is not None:
        return rule(call)
    if op.is_pointwise:
        return pointwise(call)
    if type(op.lower) is Reduce:
        return reduction(call)
    if way == Leading(("dim",)) or way == Leading(("dims",)):
        return along(call)
    if isinstance(way, Images):
        return images(call, way)
    return matrices(call) if way == Leading() else None


# Rules that follow from records.


def pointwise(call: Call) -> Names:
    """Return the names of an elementwise function, whose operands broadcast."""
    shape, = call.outs[:1]
    ones = {d for d, n in enumerate(shape) if n == 1}
    ins = tuple([None if s is None else _from_right(s, len(shape), ones) for s in call.shapes])
    outs = tuple([tuple([None if d in ones else d for d in range(len(s))]) for s in call.outs])
    keeps = _KEEPS_TERMS.get(call.op)
    return Names(ins, outs, linear=keeps(call) if keeps is not None else ())


def _from_right(shape, count, ones) -> tuple:
    """Return names of an operand that broadcasts to `count` dims, counted from the right; none where it repeats."""
    names = range(count - len(shape), count)
    return tuple([None if n == 1 or d in ones else d for d, n in zip(names, shape)])


def _of_one(call):
    return ((True,),)


def _of_all(call):
    """Return that terms of sums of arrays stay terms; a number would be added by each process."""
    return (tuple([True] * len(call.shapes)),) if None not in call.shapes else ()


def _of_factors(call):
    return tuple([(True, False), (False, True)][:1 if call.op in (ew.div,) else 2])


def _of_cast(call):
    """Return that terms keep their digits in wider numbers."""
    before, after = call.dtypes[0], call.params["dtype"]
    if before in FLOAT8 or after in FLOAT8:
        return ()
    return ((True,),) if promote_types(before, after) is after else ()


_KEEPS_TERMS: dict[Op, Callable] = {
    **dict.fromkeys((ew.neg, ew.copy, contiguous, co.conj, co.real, co.imag), _of_one),
    **dict.fromkeys((ew.add, ew.sub), _of_all), **dict.fromkeys((ew.mul, ew.div), _of_factors), ew.cast: _of_cast,
    ew.where: lambda call: ((False, True, True),) if None not in call.shapes else (),
}


def dims_in(call: Call, ndim: int) -> set:
    """Return the dims that a call names, counted from the front."""
    named = call.params["dims"] if "dims" in call.params else call.params["dim"]
    return {d % ndim for d in (named if isinstance(named, (tuple, list)) else (named,))}


_COMBINED = {rd.sum_: "sum", rd.prod: "product", rd.amax: "max", rd.amin: "min", rd.any_: "max", rd.all_: "min"}


def reduction(call: Call) -> Names:
    """Return the names of a reduction over dims: the others stay; reductions over parts give terms."""
    x, = call.shapes[:1]
    gone, keep = dims_in(call, len(x)), call.params["keepdim"]
    kind = _COMBINED.get(call.op)
    ins = tuple([d if d not in gone or (kind and (kind == "sum" or _none_is_empty(call, d))) else None for d in range(len(x))])
    outs = tuple([None if d in gone else d for d in range(len(x)) if keep or d not in gone])
    return Names((ins,), (outs,), dict.fromkeys(gone, kind), linear=((True,),) if kind == "sum" else ())


def _none_is_empty(call, d) -> bool:
    """Return whether every part of a dim would have elements."""
    n, parts = call.shapes[0][d], call.mesh.size()
    return parts <= n and (parts - 1) * -(-n // parts) < n


def along(call: Call) -> Names | None:
    """Return the names of a function along dims that treats the other dims independently."""
    ndim = len(call.shapes[0])
    if not ndim or "from_nothing" in call.op.traits:
        return None
    gone = dims_in(call, ndim)
    arrays = [s for s in call.shapes if s is not None]
    if any(len(s) != ndim for s in arrays):
        return None
    named = [None if d in gone or any(s[d] != arrays[0][d] for s in arrays) else d for d in range(ndim)]
    outs = []
    for shape in call.outs:
        left = named if len(shape) == ndim else [d for i, d in enumerate(named) if i not in gone]
        if len(left) != len(shape) or any(d is not None and shape[i] != arrays[0][d] for i, d in enumerate(left)):
            return None
        outs.append(tuple(left))
    return Names(tuple([None if s is None else tuple(named) for s in call.shapes]), tuple(outs))


def images(call: Call, way: Images) -> Names:
    """Return the names of a function whose operands' first dim counts independent images."""
    which = range(len(call.shapes)) if way.which is None else way.which
    ins = tuple([None if s is None else _first(s) if i in which else (None,) * len(s) for i, s in enumerate(call.shapes)])
    return Names(ins, tuple([_first(s) for s in call.outs]))


def _first(shape) -> tuple:
    return ("n", *(None,) * (len(shape) - 1)) if shape else ()


def matrices(call: Call) -> Names | None:
    """Return the names of a matrix function, with a batch in the leading dims."""
    arrays = [s for s in call.shapes if s is not None]
    ndim = len(arrays[0])
    if not arrays or any(len(s) != ndim or s[:-2] != arrays[0][:-2] for s in arrays):
        return None
    lead = arrays[0][:-2]
    if any(s[:len(lead)] != lead for s in call.outs):
        return None
    return Names(tuple([None if s is None else _lead(s, len(lead)) for s in call.shapes]),
                 tuple([_lead(s, len(lead)) for s in call.outs]))


def _lead(shape, count) -> tuple:
    return (*range(count), *(None,) * (len(shape) - count))


# Ways.


@dataclass(frozen=True)
class Way:
    """Way of running an operator along one mesh dim. For each operand and result it has the split dim, None for whole, or the
    reduction of terms."""

    ins: tuple
    outs: tuple
    name: Any = None            # name of the split dims


def ways(names: Names | None, call: Call) -> list:
    """Return the ways to run an operator along one mesh dim, beginning with all whole."""
    whole = Way((None,) * len(call.shapes), (None,) * len(call.outs))
    if names is None:
        return [whole]
    found = [whole]
    for name in dict.fromkeys([n for dims in names.ins if dims is not None for n in dims if n is not None]):
        outs = [out.index(name) if name in out else names.reduced.get(name, "sum") for out in names.outs]
        if None in outs:
            continue
        terms = next((o for o in outs if isinstance(o, str)), None)
        ins = [None if dims is None else dims.index(name) if name in dims else
               terms if terms and i in names.added else None for i, dims in enumerate(names.ins)]
        found.append(Way(tuple(ins), tuple(outs), name))
    for pattern in names.linear:
        for kind in names.terms:
            found.append(Way(tuple([kind if p else None for p in pattern]), (kind,) * len(call.outs)))
    return found
