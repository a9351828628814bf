"""`opcheck`: test an operator against its schema, its function for shapes and its gradient rule."""

import itertools
from contextlib import contextmanager

from ...ir.errors import ArgumentError, AutogradError
from ...runtime.api.views.tensor_factories import zeros
from ...runtime.autograd.backward import grad
from ...runtime.autograd.grad_mode import no_grad
from ...runtime.core.node import is_inexact
from ...runtime.core.tensor import Tensor
from ...runtime.pytree.pytree import tree_leaves
from ...runtime.toolbox.testing import assert_close
from ..tracing.trace import trace
from .custom_op import filled, leaves
from .register import operator_of

UNKNOWN = 7919      # stands for a size that depends on values, and those after it


class FakeContext:
    """Context of a function for shapes, for sizes that depend on values."""

    def __init__(self):
        self._sizes = itertools.count(UNKNOWN)

    def new_dynamic_size(self, *, min=0, max=None) -> int:
        """Return a size that is unknown before the operator ran."""
        return next(self._sizes)

    create_unbacked_symint = new_dynamic_size


_open: list[FakeContext] = []


def get_ctx() -> FakeContext:
    """Return the context of the function for shapes that runs now."""
    if not _open:
        raise ArgumentError("get_ctx() is for functions given to register_fake, while they run")
    return _open[-1]


@contextmanager
def _faking():
    _open.append(FakeContext())
    try:
        yield
    finally:
        _open.pop()


def opcheck(op, args, kwargs=None, *, test_utils=None, raise_exception=True, atol=None, rtol=None) -> dict:
    """Test an operator on sample arguments; return "SUCCESS" or the error for each test.

    test_schema                  it writes what its schema says, and nothing else
    test_autograd_registration   it has a rule if a gradient is needed
    test_faketensor              the function for shapes agrees with the operator
    test_aot_dispatch_dynamic    a replay agrees with eager mode, gradients included
    """
    names = list(TESTS) if test_utils is None else [test_utils] if isinstance(test_utils, str) else list(test_utils)
    if not set(names) <= set(TESTS):
        raise ArgumentError(f"opcheck: test_utils are among {', '.join(TESTS)}, got {test_utils!r}")
    results: dict[str, object] = {}
    for name in names:
        try:
            TESTS[name](operator_of(op), tuple(args), dict(kwargs or {}), {"atol": atol, "rtol": rtol})
            results[name] = "SUCCESS"
        except Exception as error:
            if raise_exception:
                raise
            results[name] = error
    return results


def _copied(args, kwargs):
    """Return arguments that may be written, and get gradients of their own."""
    def copy(values):
        return filled(values, iter([t.detach().clone().requires_grad_(t.requires_grad) for t in leaves(values)]))

    return copy(args), dict(zip(kwargs, copy(list(kwargs.values()))))


def _by_name(op, args, kwargs):
    positional, keywords = op._schema.bind(args, kwargs)
    return {**dict(zip([a.name for a in op._schema.arguments], positional)), **keywords}


def _check_schema(op, args, kwargs, close):
    args, kwargs = _copied(args, kwargs)
    before = _by_name(op, *_copied(args, kwargs))
    with no_grad():
        op(*args, **kwargs)
    for name, given in _by_name(op, args, kwargs).items():
        if name in op._schema.written:
            continue
        for old, new in zip(leaves([before[name]]), leaves([given])):
            if old.tolist() != new.tolist() and not old.isnan().any():
                raise ArgumentError(f"{op.name()} wrote its argument {name}; name it in mutates_args (it is {op._schema.text})")


def _check_rule(op, args, kwargs, close):
    wanted = any(t.requires_grad for t in leaves([*args, *kwargs.values()]))
    if wanted and not op._schema.written and not (op._backward or op._whole or op._taped):
        raise AutogradError(f"{op.name()} has no rule for gradients, and an argument requires one; see register_autograd")


def _check_fake(op, args, kwargs, close):
    new = [kind for kind, name in zip(op._schema.returns, op._schema.passed) if name is None and kind != "()"]
    if op._whole is not None or not new:
        return
    if op._fake is None:
        raise ArgumentError(f"{op.name()} has no function for shapes; see register_fake")
    args, kwargs = _copied(args, kwargs)

    def blank(values):
        return filled(values, iter([zeros(t.shape, dtype=t.dtype, device=t.device) for t in leaves(values)]))

    with no_grad(), _faking():
        fake = op._fake(*blank(args), **dict(zip(kwargs, blank(list(kwargs.values())))))
        real = op(*args, **kwargs)
    fakes, results = tree_leaves(fake), tree_leaves(real)
    if len(fakes) != len(results):
        raise ArgumentError(f"{op.name()} gave {len(results)} results, its function for shapes {len(fakes)}")
    for i, (f, r) in enumerate(zip(fakes, results)):
        if isinstance(f, Tensor) != isinstance(r, Tensor) or (isinstance(f, Tensor) and not _agree(f, r)):
            raise ArgumentError(f"{op.name()} gave as result {i} {_described(r)}, its function for shapes {_described(f)}")


def _agree(fake, real):
    sizes = fake.dim() == real.dim() and all(f == r or f >= UNKNOWN for f, r in zip(fake.shape, real.shape))
    return sizes and fake.dtype is real.dtype and fake.device.type == real.device.type


def _described(result):
    return f"{result.dtype.name} of shape {list(result.shape)}" if isinstance(result, Tensor) else type(result).__name__


def _check_traced(op, args, kwargs, close):
    traced = trace(lambda args, kwargs: op(*args, **kwargs))
    expected = _observed(op, args, kwargs)
    for _ in range(2):
        assert_close(_observed(lambda *a, **k: traced(a, k), args, kwargs), expected, equal_nan=True, **close)


def _observed(call, args, kwargs):
    """Return the results of a call, its arguments after it, and their gradients."""
    args, kwargs = _copied(args, kwargs)
    given = leaves([*args, *kwargs.values()])
    outs = [r for r in tree_leaves(call(*args, **kwargs)) if isinstance(r, Tensor)]
    seen = [t.detach() for t in (*outs, *given)]
    goals = [o for o in outs if o.requires_grad and is_inexact(o._a)]
    wanted = [t for t in given if t.requires_grad]
    if goals and wanted:
        found = grad([o.sum() for o in goals], wanted, allow_unused=True)
        seen += [zeros(t.shape, dtype=t.dtype, device=t.device) if g is None else g for t, g in zip(wanted, found)]
    return seen


TESTS = {"test_schema": _check_schema, "test_autograd_registration": _check_rule, "test_faketensor": _check_fake,
         "test_aot_dispatch_dynamic": _check_traced}
