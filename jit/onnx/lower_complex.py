"""Pass that splits complex numbers into real and imaginary parts, because ONNX has no complex operators but Fourier transforms.

Afterwards complex values are only results of transforms, from which parts are taken, and their operands, made of parts.
"""

from ...ir.graph.graph import Builder, Graph, Node, Value
from ...ir.opdef.op import Op
from ...ir.ops.core import elementwise as ew
from ...ir.ops.core.complex_numbers import PARTS, complex_, conj, imag, modulus, pairs, real
from ...ir.ops.core.elementwise import cast, copy
from ...ir.ops.core.shape import cat, contiguous, flip, full, pad, roll, stack
from ...ir.ops.index.indexing import index
from ...ir.ops.math.fourier import fft, irfft, rfft
from ...passes.rewrite.rewrite import rebuild
from ...passes.simplify.dce import dce
from ..errors.errors import ExportError, at

_MOVED = frozenset((cat, contiguous, copy, flip, index, roll, stack))     # operators, beside views, that only move elements
_PLAIN = frozenset((complex_, fft, irfft, rfft))                      # operators that stay complex, for the writer


def in_parts(graph: Graph, weights: dict) -> tuple:
    """Return (the graph, its weights by name, which are its last inputs); a complex weight becomes two."""
    if not any(v.dtype.is_complex for v in graph.values()):
        return graph, weights
    count = len(graph.inputs) - len(weights)
    for v in (*graph.outputs, *graph.inputs[:count]):
        if v.dtype.is_complex:
            node = v.node or next((n for n in graph.nodes if v in n.inputs), None)
            subject = "it" if node is None else f"operator {node.op.name}{at(node.line)}"
            raise ExportError(f"{subject} {'gives' if v in graph.outputs else 'takes'} complex numbers, which results and "
                              "arguments of ONNX models are not: use view_as_real and view_as_complex inside of the function")
    graph, weights = _with_real_weights(graph, weights, count)
    return dce(rebuild(graph, _visit)), weights


def _with_real_weights(graph: Graph, weights: dict, count: int) -> tuple:
    b, found = Builder(graph.name), {}
    env = {v: b.input(v.name, v.aval) for v in graph.inputs[:count]}
    for v, (name, t) in zip(graph.inputs[count:], weights.items()):
        parts = {name: t} if not v.dtype.is_complex else {f"{name}.real": t.detach().real, f"{name}.imag": t.detach().imag}
        made = [b.input(part, v.aval if part == name else v.aval.with_dtype(PARTS[v.dtype])) for part in parts]
        env[v] = made[0] if len(made) == 1 else complex_(*made)
        found |= parts
    return b.finish_like(graph, b.inline(graph, env)), found


def _visit(b: Builder, node: Node, operands):
    if node.op in _PLAIN or not any(v.dtype.is_complex for v in (*node.outputs, *operands) if type(v) is Value):
        return None
    rule = _RULES.get(node.op)
    if rule is not None:
        return rule(*[_parts(x) if _is_complex(x) else x for x in operands], **node.params)
    if node.op.is_view or node.op in _MOVED:
        return _applied_to_parts(b, node.op, operands, node.params)
    raise ExportError(f"operator {node.op.name}{at(node.line)} has no counterpart in ONNX for complex numbers")


def _is_complex(x) -> bool:
    return x.dtype.is_complex if type(x) is Value else isinstance(x, complex)


def _parts(x) -> tuple:
    if type(x) is not Value:
        return complex(x).real, complex(x).imag
    if x.node is not None and x.node.op is complex_:
        return x.node.inputs
    return real(x), imag(x)


def _applied_to_parts(b: Builder, op: Op, operands, params):
    whole = [_parts(x) if _is_complex(x) else (x, x) for x in operands]
    return complex_(*[b.append(op, [pair[i] for pair in whole], params) for i in range(2)])


# Rules on parts: (real, imaginary) for a complex operand, a value or a number for another.


def _by_parts(fn):
    """Return the rule of a linear function."""
    def rule(*operands):
        whole = [x if type(x) is tuple else (x, 0.0) for x in operands]
        return complex_(*[fn(*[x[i] for x in whole]) for i in range(2)])

    return rule


def _mul(x, y):
    if type(x) is not tuple or type(y) is not tuple:
        z, factor = (x, y) if type(x) is tuple else (y, x)
        return complex_(ew.mul(z[0], factor), ew.mul(z[1], factor))
    (a, b), (c, d) = x, y
    if type(a) is not Value:
        (a, b), (c, d) = y, x
    return complex_(ew.sub(ew.mul(a, c), ew.mul(b, d)), ew.add(ew.mul(a, d), ew.mul(b, c)))


def _div(x, y):
    if type(y) is not tuple:
        return complex_(ew.div(x[0], y), ew.div(x[1], y))
    c, d = y
    if type(c) is not Value:
        size = c * c + d * d
        return _mul(x, (c / size, -d / size))
    size = ew.add(ew.mul(c, c), ew.mul(d, d))
    a, b = x if type(x) is tuple else (x, 0.0)
    return complex_(ew.div(ew.add(ew.mul(c, a), ew.mul(d, b)), size), ew.div(ew.sub(ew.mul(c, b), ew.mul(d, a)), size))


def _modulus(z):
    """Return the modulus, scaled by the larger part so that squares neither overflow nor vanish."""
    re, im = map(ew.abs_, z)
    most = ew.maximum(re, im)
    by = ew.where(ew.eq(most, 0), 1.0, most)
    a, b = ew.div(re, by), ew.div(im, by)
    return ew.mul(most, ew.sqrt(ew.add(ew.mul(a, a), ew.mul(b, b))))


def _cast(x, *, dtype):
    if type(x) is tuple:
        return complex_(*[cast(part, dtype=PARTS[dtype]) for part in x]) if dtype.is_complex else cast(x[0], dtype=dtype)
    wide = x if x.dtype is PARTS[dtype] else cast(x, dtype=PARTS[dtype])
    return complex_(wide, full(wide, shape=wide.shape, value=0, dtype=wide.dtype))


def _where(condition, x, y):
    x, y = [z if type(z) is tuple else (z, 0.0) for z in (x, y)]
    return complex_(*[ew.where(condition, a, b) for a, b in zip(x, y)])


def _pad(z, *, value=0, **params):
    value = complex(value)
    return complex_(pad(z[0], value=value.real, **params), pad(z[1], value=value.imag, **params))


_RULES = {real: lambda z: z[0], imag: lambda z: z[1], conj: lambda z: complex_(z[0], ew.neg(z[1])), modulus: _modulus,
          pairs: lambda z: stack(*z, dim=len(z[0].shape)), ew.add: _by_parts(ew.add), ew.sub: _by_parts(ew.sub),
          ew.neg: _by_parts(ew.neg), ew.mul: _mul, ew.div: _div, cast: _cast, ew.where: _where, pad: _pad}
