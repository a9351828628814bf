"""Functions of lists of tensors, for optimizers of other libraries: `_foreach_mul_(params, 0.9)` is `p.mul_(0.9)` for each.

Under `jit.trace` the calls fuse. Eagerly one follows the other, or, on a device and in place, one launch or one loop over
native calls does for many (`runtime/foreach/lists.py`).
"""

from collections.abc import Callable, Iterable
from typing import Any

from ...ir.errors import ArgumentError, DTypeError
from ...ir.opdef.op import OPS
from ...ir.ops.core import elementwise  # noqa: F401  (enters the records)
from ..api.register.register import FUNCTIONS
from ..core.tensor import Tensor
from . import lists

UNARY = tuple([name for name, op in OPS.items() if "foreach" in op.traits])
BINARY = {"add": "add", "sub": "sub", "mul": "mul", "div": "div", "pow": "pow", "lerp": "lerp", "clamp_max": "clamp_max",
          "clamp_min": "clamp_min", "minimum": "clamp_max", "maximum": "clamp_min"}     # and what does it, also for numbers


_SCALAR: dict = {name: lists.function(name) for name in ("add", "sub", "mul", "div")} | {"lerp": lists.lerp_by}
_SIGNS = {"add": 1, "sub": -1}


def _listed(tensors, name) -> list:
    """Return a list of tensors; raise if it is none."""
    if isinstance(tensors, Tensor) or not isinstance(tensors, Iterable):
        raise DTypeError(f"{name} takes a list of tensors, got {type(tensors).__name__}")
    found = list(tensors)
    if not found:
        raise ArgumentError(f"{name}: the list of tensors must have at least one tensor")
    for t in found:
        if not isinstance(t, Tensor):
            raise DTypeError(f"{name} takes a list of tensors, got {type(t).__name__} in it")
    return found


def _spread(value, tensors, name) -> list:
    """Return one operand for each tensor: those of a list, or the same number or tensor for all."""
    if not isinstance(value, (list, tuple)):
        return [value] * len(tensors)
    if len(value) != len(tensors):
        raise ArgumentError(f"{name}: lists must have the same length, got {len(tensors)} and {len(value)}")
    return list(value)


def _publish(name: str, each: Callable | None, writing: Callable | None = None, build: Any = None):
    """Enter `_foreach_name(tensors, *operands)`, a tuple of the results of `each`, and, by `writing`, the form in place.
    `build` computes an element in a kernel, if one can."""
    if each is not None:
        def function(self, *operands, **options) -> Any:
            tensors = _listed(self, public)
            columns = [_spread(v, tensors, public) for v in operands]
            found = lists.computed(*_as_kernel(build, tensors, operands, options))
            return tuple([each(*row, **options) for row in zip(tensors, *columns)] if found is None else found)

        public = function.__name__ = function.__qualname__ = "_foreach_" + name
        function.__doc__ = f"{name}() of each tensor of a list; operands are lists as long, or the same for all."
        FUNCTIONS[public] = function
    if writing is not None:
        def method(self, *operands, **options) -> Any:
            tensors = _listed(self, there)
            columns = [_spread(v, tensors, there) for v in operands]
            kernel, rows, numbers = _as_kernel(build, tensors, operands, options)
            if not lists.replace(kernel, rows, numbers, there):
                for row in zip(tensors, *columns):
                    writing(*row, **options)
            return self

        there = method.__name__ = method.__qualname__ = f"_foreach_{name}_"
        method.__doc__ = f"{name}_() of each tensor of a list; operands are lists as long, or the same for all."
        FUNCTIONS[there] = method


def _as_kernel(build, tensors, operands, options) -> tuple:
    """Return (the function of a kernel, rows of the tensors with those of lists, the operands that are the same for all); no
    rows if there is no kernel."""
    if build is None:
        return None, [], []
    columns = [v for v in operands if isinstance(v, (list, tuple))]
    others = [v for v in operands if not isinstance(v, (list, tuple))]
    if build is lists.lerp_by:
        build, others = lists.lerp_by([None] if options else others)
    elif options:
        sign = _SIGNS.get(build.__name__) if options.keys() == {"alpha"} and columns and not others else None
        others, build = [(sign or 0) * options.get("alpha", 0)], lists.function("add_scaled")
        tensors = tensors if sign else []
    return build, list(zip(tensors, *columns)), others


def _of_tensors(name: str, writes=False) -> Callable:
    """Return a function that calls a method of tensors by name."""
    method = name + ("_" if writes else "")
    return lambda x, *rest, **options: getattr(x, method)(*rest, **options)


def _publish_scaled(name: str, kernel: str):
    """Enter addcmul or addcdiv, whose factor stands after the operands, one for each tensor or one for all."""
    build = lists.function(kernel)

    def rows_of(public, self, tensor1, tensor2, scalars, value):
        tensors, factors = _listed(self, public), value if scalars is None else scalars
        factors = factors.tolist() if isinstance(factors, Tensor) else factors
        columns = [_spread(v, tensors, public) for v in (tensor1, tensor2, factors)]
        return list(zip(tensors, *columns)), list(zip(tensors, *columns[:2])), factors

    def function(self, tensor1, tensor2, scalars=None, *, value=1) -> tuple:
        rows, read, factors = rows_of(public, self, tensor1, tensor2, scalars, value)
        found = lists.computed(build, read, (factors,))
        return tuple([getattr(x, name)(y, z, value=n) for x, y, z, n in rows] if found is None else found)

    def writing(self, tensor1, tensor2, scalars=None, *, value=1) -> Any:
        rows, read, factors = rows_of(there, self, tensor1, tensor2, scalars, value)
        if not lists.replace(build, read, (factors,), there):
            for x, y, z, n in rows:
                getattr(x, name + "_")(y, z, value=n)
        return self

    public, there = f"_foreach_{name}", f"_foreach_{name}_"
    for f, called in ((function, public), (writing, there)):
        f.__name__ = f.__qualname__ = called
        f.__doc__ = f"{called[len('_foreach_'):]}() of each tensor of a list, with one factor for all or one for each."
        FUNCTIONS[called] = f


def _zeros(self) -> Any:
    """Write zeros into each tensor of a list."""
    lists.zero(_listed(self, "_foreach_zero_"), "_foreach_zero_")
    return self


def _norms(self, ord=2, dtype=None) -> tuple:
    """Return the vector norm of each tensor of a list."""
    tensors = _listed(self, "_foreach_norm")
    found = lists.norms(tensors, ord) if dtype is None and isinstance(ord, (int, float)) else None
    return tuple([FUNCTIONS["norm"](t, ord, dtype=dtype) for t in tensors]) if found is None else found.unbind()


def _power_sums(self, ord=2, dtype=None) -> tuple:
    """Return the sum of |x| ** ord over each tensor of a list."""
    return tuple([t.abs().pow(ord).sum(dtype=dtype) for t in _listed(self, "_foreach_powsum")])


def _powers(self, exponent) -> Any:
    """Return each tensor of a list to a power; of a number, its powers with each tensor."""
    if isinstance(self, (int, float)):
        return tuple([FUNCTIONS["pow"](self, t) for t in _listed(exponent, "_foreach_pow")])
    tensors = _listed(self, "_foreach_pow")
    return tuple([t.pow(e) for t, e in zip(tensors, _spread(exponent, tensors, "_foreach_pow"))])


for _name in UNARY:
    _publish(_name, _of_tensors(_name), _of_tensors(_name, writes=True), lists.function(_name))
for _name, _method in BINARY.items():
    _publish(_name, _of_tensors(_method), _of_tensors(_method, writes=True), _SCALAR.get(_name))
_publish_scaled("addcmul", "add_product")
_publish_scaled("addcdiv", "add_quotient")
_publish("copy", None, _of_tensors("copy", writes=True), lists.copy)
_publish("clone", _of_tensors("clone"))
_publish("max", _of_tensors("max"))
_publish("mm", _of_tensors("mm"))
FUNCTIONS.update(_foreach_zero_=_zeros, _foreach_norm=_norms, _foreach_powsum=_power_sums, _foreach_pow=_powers)
