"""Functions of older programs: elementwise Python functions, checks, methods under top-level names."""

from ...ir import dtype as dt
from ...ir.errors import AutogradError, OutOfMemoryError
from ..api.register.register import FUNCTIONS, api, deliver
from ..api.views.conversions import fill_, is_same_size, zero_
from ..api.views.storage_views import resize_as_
from ..api.views.tensor_factories import tensor
from ..core.tensor import Size, Tensor, shape_of
from ..core.writes import write
from ..func.vmap import vmap
from ..linalg import linalg
from ..linalg.matrix_factors import solve_by_factor
from ..linalg.special import gammainc, gammaincc

FUNCTIONS.update(fill_=fill_, zero_=zero_, is_same_size=is_same_size, detach=Tensor.detach, detach_=Tensor.detach_, vmap=vmap,
                 resize_as_=resize_as_, OutOfMemoryError=OutOfMemoryError)
api(inplace=True, name="igamma", checked=True)(gammainc)
api(inplace=True, name="igammac", checked=True)(gammaincc)


@api()
def is_inference(input) -> bool:
    """Return False: tensors of inference mode are ordinary ones, which autograd may use later."""
    return False


@api(method=False)
def _assert(condition, message):
    """Raise AssertionError unless a condition holds; vision libraries use it."""
    if not condition:
        raise AssertionError(message)


def _message(message) -> str:
    return str(message() if callable(message) else message or "a check did not hold")


def _checking(kind):
    def check(cond, message=None):
        if not cond:
            raise kind(_message(message))

    return check


for _name, _kind in (("", RuntimeError), ("_index", IndexError), ("_value", ValueError), ("_type", TypeError),
                     ("_not_implemented", NotImplementedError)):
    FUNCTIONS["_check" + _name] = _checking(_kind)


@api(method=False)
def _check_is_size(i, message=None, *, max=None):
    """Raise RuntimeError unless a number can be a size, up to `max`."""
    FUNCTIONS["_check"](i >= 0 and (max is None or i <= max), message or f"{i} cannot be a size")


@api(method=False)
def _check_tensor_all(cond, message=None):
    """Raise RuntimeError unless all elements of a boolean tensor are true."""
    FUNCTIONS["_check"](bool(cond.all()), message)


@api(method=False)
def _check_with(error_type, cond, message=None):
    """Raise an error of the given class unless a condition holds."""
    _checking(error_type)(cond, message)


@api(method=False)
def _check_tensor_all_with(error_type, cond, message=None):
    """Raise an error of the given class unless all elements of a boolean tensor are true."""
    _checking(error_type)(bool(cond.all()), message)


@api(method=False)
def _assert_async(input, assert_msg=None):
    """Raise RuntimeError unless a tensor of one element is true. The check is synchronous."""
    FUNCTIONS["_check"](bool(input), assert_msg or "Expected a tensor that is true, got one that is false")


def _casting(name, dtype):
    def cast(input, non_blocking=False):
        return input.to(dtype)

    cast.__name__ = cast.__qualname__ = f"_cast_{name}"
    cast.__doc__ = f"Return a tensor as {dtype}."
    return cast


FUNCTIONS.update({f"_cast_{name}": _casting(name, dtype) for name, dtype in (
    ("Byte", dt.uint8), ("Char", dt.int8), ("Short", dt.int16), ("Int", dt.int32), ("Long", dt.int64), ("Half", dt.float16),
    ("Float", dt.float32), ("Double", dt.float64))})


@api(method=False)
def _shape_as_tensor(input):
    """Return the sizes of a tensor, as a tensor."""
    return tensor(list(shape_of(input)), dtype=dt.int64)


def _write_elementwise(self, name, function, others):
    """Write the results of a Python function of each element (and those of other tensors) into a tensor."""
    if self.requires_grad:
        raise AutogradError(f"{name}() runs Python code that has no gradient; call it on .detach()")
    columns = [x.expand(self.shape).reshape(-1).tolist() for x in (self, *others)]
    return write(self, tensor([function(*row) for row in zip(*columns)], dtype=self.dtype).reshape(self.shape), name)


@api(function=False)
def apply_(self, callable):
    """Replace each element by callable(element), with one Python call each."""
    return _write_elementwise(self, "apply_", callable, ())


@api(function=False)
def map_(self, tensor, callable):
    """Replace each element a by callable(a, b), with b from a tensor that broadcasts and one Python call each."""
    return _write_elementwise(self, "map_", callable, (tensor,))


@api(function=False)
def map2_(self, x, y, callable):
    """Replace each element a by callable(a, b, c), with b and c from tensors that broadcast and one Python call each."""
    return _write_elementwise(self, "map2_", callable, (x, y))


@api(function=False)
def new(self, *data, device=None, size=None):
    """Return a tensor of this dtype: uninitialised of given sizes, or with given values."""
    data = data if size is None else (Size(size),)
    sizes = data[0] if len(data) == 1 and isinstance(data[0], Size) else data
    if all(isinstance(n, int) for n in sizes):
        return self.new_empty(tuple(sizes) if data else (0,), device=device)
    return self.new_tensor(data[0], device=device)


@api(method=False)
def frobenius_norm(input, dim, keepdim=False, *, out=None):
    """Return the root of the sum of squares over dims, or over all."""
    return linalg.vector_norm(input, 2, dim if isinstance(dim, int) else tuple(dim) or None, keepdim, out=out)


@api(method=False)
def nuclear_norm(input, dim=(-2, -1), keepdim=False, *, out=None):
    """Return the sum of singular values of the matrices that two dims span."""
    return linalg.matrix_norm(input, "nuc", tuple(dim), keepdim, out=out)


@api(keywords={"input2": "L"})
def cholesky_solve(input, L, upper=False, *, out=None):
    """Return the solution X of A @ X = input, from one triangle of a Cholesky factor of A.

    The factor's gradient is a whole matrix, as in PyTorch: A counts as L @ L.mH, or L.mH @ L with `upper`.
    """
    return deliver(solve_by_factor(L.mH if upper else L, input), out, "cholesky_solve")


@api(keywords={"input": "L"})
def cholesky_inverse(L, upper=False, *, out=None):
    """Return the inverse of A, from its Cholesky factor."""
    identity = FUNCTIONS["eye"](L.shape[-1], dtype=L.dtype, device=L.device).expand(L.shape)
    return deliver(solve_by_factor(L.mH if upper else L, identity), out, "cholesky_inverse")
