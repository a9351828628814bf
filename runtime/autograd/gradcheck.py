"""Checks of gradients by differences: `gradcheck` for the first derivative, `gradgradcheck` for the second."""

import inspect
import sys
import types

import numpy as np

from ...ir.errors import ArgumentError, AutogradError
from ..core.composite_tensors import PARTS, values_in
from ..core.device_array import DeviceArray
from ..core.tensor import Tensor, wrap
from ..core.writes import overlaps
from .backward import grad
from .forward_ad import dual_level, make_dual, unpack_dual


class GradcheckError(AutogradError):
    """A gradient disagrees with differences, or cannot be checked as requested."""


def gradcheck(func, inputs, *, eps=1e-6, atol=1e-5, rtol=1e-3, raise_exception=True, nondet_tol=0.0,
              check_undefined_grad=True, check_grad_dtypes=False, check_batched_grad=False, check_batched_forward_grad=False,
              check_forward_ad=False, check_backward_ad=True, fast_mode=False, masked=None):
    """Return whether the gradients of `func(*inputs)` agree with central differences within `atol + rtol * |expected|`.

    Inputs that require grad should be float64. `fast_mode` compares one random direction instead of the whole Jacobian.
    `check_forward_ad` also compares forward mode (`forward_ad`). Composite tensors (sparse, nested, masked) are checked by
    their values, so `masked=False` is refused for them.
    """
    if masked is not None and not masked and any(type(x) in PARTS for x in _as_tuple(inputs)):
        raise ArgumentError("gradcheck compares the gradients of the values that a sparse, nested or masked tensor holds; pass "
                            "masked=True, or a function of a dense tensor that makes the other")
    if check_batched_forward_grad:
        raise GradcheckError("check_batched_forward_grad is not there: compare func.vmap of func.jvp with calls of func.jvp")
    try:
        func, inputs = _of_values(func, _as_tuple(inputs))
        check = _Check(func, inputs, eps, atol, rtol)
        if check_forward_ad:
            check.along_one_tangent() if fast_mode else check.tangents()
        if check_backward_ad:
            check.backward(fast_mode, nondet_tol, check_grad_dtypes, check_undefined_grad, check_batched_grad)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(func, inputs, grad_outputs=None, *, eps=1e-6, atol=1e-5, rtol=1e-3, gen_non_contig_grad_outputs=False,
                  raise_exception=True, nondet_tol=0.0, check_undefined_grad=True, check_grad_dtypes=False,
                  check_batched_grad=False, check_fwd_over_rev=False, check_rev_over_rev=True, fast_mode=False, masked=False):
    """Return whether the second derivatives of `func` agree with central differences of the first. `masked` is ignored:
    composite tensors are checked by their values."""
    func, inputs = _of_values(func, _as_tuple(inputs))
    outs = _differentiable(_as_tuple(func(*inputs)))
    if grad_outputs is None:
        grad_outputs = tuple(_random_like(o, gen_non_contig_grad_outputs, seed=i) for i, o in enumerate(outs))
    grad_outputs = tuple(g if g.requires_grad else g.detach().requires_grad_() for g in _as_tuple(grad_outputs))
    count = len(inputs)

    def first(*args):
        xs, seeds = args[:count], args[count:]
        ys = _differentiable(_as_tuple(func(*xs)))
        wanted = [x for x in xs if isinstance(x, Tensor) and x.requires_grad]
        found = grad(ys, wanted, seeds, create_graph=True, allow_unused=True)
        return tuple(g for g in found if g is not None)

    return gradcheck(first, inputs + grad_outputs, eps=eps, atol=atol, rtol=rtol, raise_exception=raise_exception,
                     nondet_tol=nondet_tol, check_undefined_grad=check_undefined_grad, check_grad_dtypes=check_grad_dtypes,
                     check_batched_grad=check_batched_grad, check_forward_ad=check_fwd_over_rev,
                     check_backward_ad=check_rev_over_rev, fast_mode=fast_mode)


def _as_tuple(x) -> tuple:
    return tuple(x) if isinstance(x, (tuple, list)) else (x,)


def _of_values(func, inputs) -> tuple:
    """Return the function and its inputs with composite tensors replaced by their values."""
    makes = {i: PARTS[type(x)](x) for i, x in enumerate(inputs) if type(x) in PARTS}

    def plain(*values):
        made = [makes[i][1](*makes[i][0][:-1], x) if i in makes else x for i, x in enumerate(values)]
        return tuple([values_in(out) for out in _as_tuple(func(*made))])

    leaves = [values_in(x).detach().clone().requires_grad_(x.requires_grad) if i in makes else x for i, x in enumerate(inputs)]
    return plain, tuple(leaves)


def _differentiable(outs):
    return tuple(o for o in outs if isinstance(o, Tensor) and o.requires_grad)


def _random_like(t, non_contiguous=False, seed=0):
    rng = np.random.default_rng(seed)
    shape = (*t._a.shape, 2) if non_contiguous else t._a.shape
    a = np.asarray(rng.standard_normal(shape))
    if t.dtype.is_complex:
        a = a + 1j * rng.standard_normal(shape)
    return wrap(np.asarray(a[..., 0] if non_contiguous else a, t._a.dtype))


class _Check:
    """A function under test, with its inputs."""

    def __init__(self, func, inputs, eps, atol, rtol):
        self.func, self.inputs, self.eps, self.atol, self.rtol = func, inputs, eps, atol, rtol
        self.checked = [i for i, x in enumerate(inputs) if isinstance(x, Tensor) and x.requires_grad]
        if not self.checked:
            raise GradcheckError("gradcheck expects at least one input tensor that requires grad")
        for i in self.checked:
            self._suits(i)
        if not _differentiable(self.outputs()):
            self._nothing_depends()

    def _suits(self, i):
        x = self.inputs[i]
        if x._a.__class__ is DeviceArray:
            raise GradcheckError(f"input {i} is on {x.device}; differences are taken on the CPU, so move it with .cpu()")
        if x._a.dtype.itemsize < 8:
            raise GradcheckError(f"input {i} is {x.dtype.name}; differences are only exact enough in float64 or complex128")
        if overlaps(x._a):
            raise GradcheckError(f"input {i} has elements that share memory (it was expanded), so differences cannot be taken; "
                                 "clone() it first")

    def _nothing_depends(self):
        before = [o._a.copy() for o in self.outputs() if isinstance(o, Tensor)]
        if any(n.any() for i in self.checked for n in self._numerical(i, before)):
            raise GradcheckError("the outputs do not require grad, but differences with respect to an input are not zero")

    def outputs(self):
        return _as_tuple(self.func(*self.inputs))

    def _arrays(self):
        """Return the differentiable outputs as arrays."""
        return [np.array(o._a) for o in self.outputs() if isinstance(o, Tensor) and o.dtype.is_inexact]

    def _shifted(self, i, index, delta):
        a = self.inputs[i]._a
        old = a[index].copy()
        try:
            a[index] = old + delta
            return self._arrays()
        finally:
            a[index] = old

    def _directions(self, i):
        return (1.0, 1.0j) if self.inputs[i].dtype.is_complex else (1.0,)

    def _numerical(self, i, like):
        """Return d out / d input i for each output, as (input elements, output elements). A complex input has further rows for
        the derivatives to its imaginary part."""
        x = self.inputs[i]._a
        rows = [[] for _ in like]
        for direction in self._directions(i):
            for index in np.ndindex(x.shape):
                high = self._shifted(i, index, self.eps * direction)
                low = self._shifted(i, index, -self.eps * direction)
                for k, (h, l) in enumerate(zip(high, low)):
                    rows[k].append(((h - l) / (2 * self.eps)).ravel())
        return [np.array(r).reshape(len(self._directions(i)) * x.size, o.size) for r, o in zip(rows, like)]

    def _analytical(self, out, count):
        """Return the Jacobian for each checked input, in the layout of _numerical, by one backward per output element."""
        jacobians = [[] for _ in self.checked]
        wanted = [self.inputs[i] for i in self.checked]
        for index in np.ndindex(out._a.shape):
            for direction in (1.0, 1.0j) if out.dtype.is_complex else (1.0,):
                seed = np.zeros(out._a.shape, out._a.dtype)
                seed[index] = direction
                found = grad(out, wanted, wrap(seed), retain_graph=True, allow_unused=True)
                for k, (g, x) in enumerate(zip(found, wanted)):
                    jacobians[k].append(_parts(np.zeros_like(x._a) if g is None else self._like(g, x, self.checked[k])))
        return [np.array(j).T.reshape(_rows(x), count) for j, x in zip(jacobians, wanted)]

    def _like(self, g, x, i):
        if g._a.shape != x._a.shape:
            raise GradcheckError(f"the gradient of input {i} has shape {list(g._a.shape)}, the input {list(x._a.shape)}")
        return g._a

    def backward(self, fast_mode, nondet_tol, check_grad_dtypes, check_undefined_grad, check_batched_grad):
        """Run all requested checks of gradients."""
        self.along_one_direction() if fast_mode else self.jacobians()
        self.reentrant(nondet_tol)
        if check_grad_dtypes:
            self.dtypes()
        if check_undefined_grad:
            self.undefined()
        if check_batched_grad:
            self.batched()

    def tangents(self):
        """Compare every element of every Jacobian with forward mode."""
        arrays = self._arrays()
        for i in self.checked:
            x, numerical = self.inputs[i]._a, self._numerical(i, arrays)
            rows: list = [[] for _ in arrays]
            for direction in self._directions(i):
                for index in np.ndindex(x.shape):
                    u = np.zeros(x.shape, x.dtype)
                    u[index] = direction
                    for row, tangent in zip(rows, self._tangents_of({i: u})):
                        row.append(tangent.ravel())
            for j, row in enumerate(rows):
                found = np.array(row, arrays[j].dtype).reshape(numerical[j].shape)
                self._compare(i, j, _columns(numerical[j]), _columns(found), "Jacobian of forward mode")

    def _tangents_of(self, directions) -> list:
        """Return the tangents of the differentiable outputs as arrays, for directions of inputs (by position)."""
        with dual_level():
            outs = _as_tuple(self.func(*[make_dual(x.detach(), wrap(directions[i])) if i in directions else x
                                         for i, x in enumerate(self.inputs)]))
            found = [unpack_dual(o) for o in outs if isinstance(o, Tensor) and o.dtype.is_inexact]
        return [np.zeros_like(f.primal._a) if f.tangent is None else f.tangent._a for f in found]

    def jacobians(self):
        """Compare every element of every Jacobian."""
        outs = [o for o in self.outputs() if isinstance(o, Tensor) and o.dtype.is_inexact]
        arrays = [o._a for o in outs]
        numerical = [self._numerical(i, arrays) for i in self.checked]
        for j, out in enumerate(outs):
            columns = out._a.size * (2 if out.dtype.is_complex else 1)
            if out.requires_grad:
                analytical = self._analytical(out, columns)
            else:
                analytical = [np.zeros((_rows(self.inputs[i]), columns)) for i in self.checked]
            for k, i in enumerate(self.checked):
                self._compare(i, j, _columns(numerical[k][j]), analytical[k])

    def _compare(self, i, j, numerical, analytical, what="Jacobian"):
        if np.allclose(analytical, numerical, rtol=self.rtol, atol=self.atol, equal_nan=True):
            return
        worst = np.unravel_index(np.nanargmax(np.abs(analytical - numerical)), numerical.shape) if numerical.size else ()
        raise GradcheckError(
            f"{what} mismatch for output {j} with respect to input {i}: at {tuple(map(int, worst))} differences give "
            f"{numerical[worst]:.8g} and the gradient {analytical[worst]:.8g} (atol={self.atol}, rtol={self.rtol})\n"
            f"numerical:\n{numerical}\nanalytical:\n{analytical}")

    def along_one_direction(self):
        """Compare one random projection: v * (J u) by differences with (v J) * u by one backward."""
        outs = [o for o in self.outputs() if isinstance(o, Tensor) and o.dtype.is_inexact]
        rng = np.random.default_rng(0)
        us = [_unit(rng, self.inputs[i]._a) for i in self.checked]
        slopes = [self._along(i, u) for i, u in zip(self.checked, us)]
        for j, out in enumerate(outs):
            if not out.requires_grad:
                continue
            v = _unit(rng, out._a)
            found = grad(out, [self.inputs[i] for i in self.checked], wrap(v), retain_graph=True, allow_unused=True)
            for g, u, i, slope in zip(found, us, self.checked, slopes):
                analytical = 0.0 if g is None else np.vdot(g._a, u).real
                numerical = np.vdot(v, slope[j]).real
                self._compare(i, j, np.array([[numerical]]), np.array([[analytical]]), "directional derivative")

    def along_one_tangent(self):
        """Compare one random projection of forward mode along a random direction of each input."""
        rng = np.random.default_rng(0)
        vs = [_unit(rng, a) for a in self._arrays()]
        for i in self.checked:
            u = _unit(rng, self.inputs[i]._a)
            for j, (v, slope, tangent) in enumerate(zip(vs, self._along(i, u), self._tangents_of({i: u}))):
                numerical, analytical = (np.array([[np.vdot(v, a).real]]) for a in (slope, tangent))
                self._compare(i, j, numerical, analytical, "directional derivative of forward mode")

    def _along(self, i, u) -> list:
        """Return the differences of the differentiable outputs along a direction of an input."""
        x = self.inputs[i]._a
        old = x.copy()
        try:
            x[...] = old + self.eps * u
            high = self._arrays()
            x[...] = old - self.eps * u
            low = self._arrays()
        finally:
            x[...] = old
        return [(h - l) / (2 * self.eps) for h, l in zip(high, low)]

    def reentrant(self, tolerance):
        """Raise unless two backwards through the same function agree."""
        wanted = [self.inputs[i] for i in self.checked]
        for j, out in enumerate(_differentiable(self.outputs())):
            seed = _random_like(out, seed=j)
            first, second = (grad(out, wanted, seed, retain_graph=True, allow_unused=True) for _ in range(2))
            for i, a, b in zip(self.checked, first, second):
                if a is not None and not np.allclose(a._a, b._a, rtol=0, atol=tolerance, equal_nan=True):
                    raise GradcheckError(f"backward is not deterministic: two runs for output {j} differ at input {i} by up to "
                                         f"{np.abs(a._a - b._a).max():.3g} (nondet_tol={tolerance})")

    def dtypes(self):
        """Raise unless gradients have the dtypes of their inputs."""
        wanted = [self.inputs[i] for i in self.checked]
        for out in _differentiable(self.outputs()):
            for i, g, x in zip(self.checked, grad(out, wanted, _random_like(out), allow_unused=True), wanted):
                if g is not None and g.dtype is not x.dtype:
                    raise GradcheckError(f"the gradient of input {i} is {g.dtype.name}, the input {x.dtype.name}")

    def undefined(self):
        """Raise unless backward of zeros for all outputs returns zeros."""
        wanted = [self.inputs[i] for i in self.checked]
        outs = _differentiable(self.outputs())
        if not outs:
            return
        found = grad(outs, wanted, [wrap(np.zeros_like(o._a)) for o in outs], allow_unused=True)
        for i, g in zip(self.checked, found):
            if g is not None and np.any(g._a[np.isfinite(g._a)] != 0):
                raise GradcheckError(f"backward of zero gradients gave a gradient for input {i} that is not zero")

    def batched(self):
        """Raise unless batched gradients equal the stacked single ones."""
        wanted = [self.inputs[i] for i in self.checked]
        for out in _differentiable(self.outputs()):
            seeds = [_random_like(out, seed=s) for s in range(2)]
            batched = grad(out, wanted, wrap(np.stack([s._a for s in seeds])), True, is_grads_batched=True, allow_unused=True)
            for s, seed in enumerate(seeds):
                for b, g in zip(batched, grad(out, wanted, seed, True, allow_unused=True)):
                    if g is not None and not np.allclose(b._a[s], g._a, rtol=self.rtol, atol=self.atol):
                        raise GradcheckError("batched gradients differ from those computed one by one")


def _rows(x):
    return x._a.size * (2 if x.dtype.is_complex else 1)


def _parts(a):
    """Return real and imaginary parts one after the other, for a complex gradient."""
    flat = np.ravel(a)
    return np.concatenate([flat.real, flat.imag]) if np.iscomplexobj(flat) else flat


def _columns(numerical):
    """Return a complex output as two real ones, interleaved."""
    if not np.iscomplexobj(numerical):
        return numerical
    return np.stack([numerical.real, numerical.imag], -1).reshape(numerical.shape[0], -1)


def _unit(rng, like):
    u = rng.standard_normal(like.shape)
    if like.dtype.kind == "c":
        u = u + 1j * rng.standard_normal(like.shape)
    norm = np.sqrt((np.abs(u) ** 2).sum())
    return np.asarray(u / norm if norm else u, like.dtype)


class _CallableModule(types.ModuleType):
    """Callable module: `autograd.gradcheck` names a function and its module, and stays callable after an import of the
    module."""

    def __call__(self, *args, **kwargs):
        return gradcheck(*args, **kwargs)


sys.modules[__name__].__class__ = _CallableModule
__signature__ = inspect.signature(gradcheck)       # signature of the module as a function
