"""Kernels of composite operators along rows: softmax, norms, losses, their gradients, and scans.

Each maker returns a shape-generic Kernel. Row operators see x as [A, R] (layout "rows") or [A, R, B] ("columns") and run along
R. The kernels define how an operator is computed, one rounding per instruction; fused code that promises the same bits computes
the same steps. float16 and bfloat16 load to float32 and round when they are stored.
"""

from collections.abc import Callable

from ...ir import dtype as dt
from ...ir.kernel.kernel import Kernel
from ...ir.kernel.kernel_builder import KernelBuilder, Name

ROWS, COLUMNS = "rows", "columns"


class RowKernel:
    """A kernel over rows of length R, being written.

    `buffers` declares inputs and outputs of the kernel's dtype: "g x:row w:along -> y". A buffer is "full" [A, R(, B)], "row"
    [A(, B)] or "along" [R]; full is the default.
    """

    def __init__(self, name: str, dtype, layout: str, buffers: str):
        self.k = KernelBuilder(name)
        self.dtype, self.work = dtype, dt.accumulator(dtype)
        columns = layout == COLUMNS
        self.k.parallel("a", "A")
        if columns:
            self.k.parallel("b", "B")
        self.k.reduce("r", "R")
        self.strides = {
            "full": ("RB", 1, "B") if columns else ("R", 1),
            "row": ("B", 1, 0) if columns else (1, 0),
            "along": (0, 0, 1) if columns else (0, 1),
        }
        self.sweep, self.point, self.fn, self.fold, self.build = (
            self.k.sweep, self.k.point, self.k.fn, self.k.fold, self.k.build)
        for declare, part in zip((self.input, self.output), buffers.split("->")):
            for text in part.split():
                declare(*text.split(":"))

    def input(self, name, shape="full", dtype=None):
        self.k.input(name, dtype or self.dtype, self.strides[shape])

    def output(self, name, shape="full", dtype=None):
        self.k.output(name, dtype or self.dtype, self.strides[shape])

    def load(self, buffer, **at) -> Name:
        """Load an element in the working dtype."""
        x = self.k.load(buffer, **at)
        return x.to(dt.accumulator(x.dtype))

    def store(self, value, buffer):
        self.k.store(value.to(next(b.dtype for b in self.k.buffers if b.name == buffer)), buffer)

    def count(self):
        """Return R as a number of the working dtype."""
        return self.k.size("r").to(self.work)


def _shifted_exp_sum(k: RowKernel, keep: str | None = None):
    """Return (max, sum of exp(x - max)) of each row; `keep` stores the exponentials if its dtype holds them."""
    with k.sweep():
        top = k.fold("max", k.load("x"))
    with k.sweep():
        e = k.fn.exp(k.load("x") - top)
        if keep and k.work is k.dtype:
            k.store(e, keep)
        total = k.fold("sum", e)
    return top, total


def softmax(name, dtype, layout) -> Kernel:
    """x -> y"""
    k = RowKernel(name, dtype, layout, "x -> y")
    top, total = _shifted_exp_sum(k, "y")
    with k.point():
        scale = 1.0 / total
    with k.sweep():
        e = k.load("y") if k.work is dtype else k.fn.exp(k.load("x") - top)
        k.store(e * scale, "y")
    return k.build()


def log_softmax(name, dtype, layout) -> Kernel:
    """x -> y"""
    k = RowKernel(name, dtype, layout, "x -> y")
    top, total = _shifted_exp_sum(k)
    with k.point():
        log_total = k.fn.log(total)
    with k.sweep():
        k.store((k.load("x") - top) - log_total, "y")
    return k.build()


def logsumexp(name, dtype, layout) -> Kernel:
    """x -> y per row"""
    k = RowKernel(name, dtype, layout, "x -> y:row")
    with k.sweep():
        top = k.fold("max", k.load("x"))
    with k.point():
        shift = k.fn.where(k.fn.isinf(top), 0.0, top)
    with k.sweep():
        total = k.fold("sum", k.fn.exp(k.load("x") - shift))
    with k.point():
        k.store(k.fn.log(total) + shift, "y")
    return k.build()


def softmax_backward(name, dtype, layout) -> Kernel:
    """g, y -> dx"""
    k = RowKernel(name, dtype, layout, "g y -> dx")
    with k.sweep():
        dot = k.fold("sum", k.load("g") * k.load("y"))
    with k.sweep():
        k.store(k.load("y") * (k.load("g") - dot), "dx")
    return k.build()


def log_softmax_backward(name, dtype, layout) -> Kernel:
    """g, y -> dx"""
    k = RowKernel(name, dtype, layout, "g y -> dx")
    with k.sweep():
        total = k.fold("sum", k.load("g"))
    with k.sweep():
        k.store(k.load("g") - k.fn.exp(k.load("y")) * total, "dx")
    return k.build()


def _affine(k, value, weight, bias):
    if weight:
        value = value * k.load("w")
    return value + k.load("b") if bias else value


def _row_statistics(k, eps):
    k.output("mean", "row", k.work)
    k.output("rstd", "row", k.work)
    with k.sweep():
        total = k.fold("sum", k.load("x"))
    with k.point():
        mean = total / k.count()
        k.store(mean, "mean")
    with k.sweep():
        d = k.load("x") - mean
        squares = k.fold("sum", d * d)
    with k.point():
        rstd = k.fn.rsqrt(squares / k.count() + eps)
        k.store(rstd, "rstd")
    return mean, rstd


def layer_norm(name, dtype, layout, *, eps=1e-5, weight=True, bias=True) -> Kernel:
    """x(, w)(, b) -> y, mean and rstd per row"""
    k = RowKernel(name, dtype, layout, "x" + " w:along" * weight + " b:along" * bias + " -> y")
    mean, rstd = _row_statistics(k, eps)
    with k.sweep():
        k.store(_affine(k, (k.load("x") - mean) * rstd, weight, bias), "y")
    return k.build()


def layer_norm_backward(name, dtype, layout, *, eps=1e-5, weight=True) -> Kernel:
    """g, x(, w) -> dx, mean and rstd per row"""
    k = RowKernel(name, dtype, layout, "g x" + " w:along" * weight + " -> dx")
    mean, rstd = _row_statistics(k, eps)
    with k.sweep():
        g = _affine(k, k.load("g"), weight, False)
        total = k.fold("sum", g)
        dot = k.fold("sum", g * ((k.load("x") - mean) * rstd))
    with k.point():
        a, c = total / k.count(), dot / k.count()
    with k.sweep():
        g = _affine(k, k.load("g"), weight, False)
        h = (k.load("x") - mean) * rstd
        k.store(((g - a) - h * c) * rstd, "dx")
    return k.build()


def _row_scale(k, eps):
    """Store the inverse root mean square of each row of x."""
    k.output("rstd", "row", k.work)
    with k.sweep():
        x = k.load("x")
        squares = k.fold("sum", x * x)
    with k.point():
        rstd = k.fn.rsqrt(squares / k.count() + eps)
        k.store(rstd, "rstd")
    return rstd


def rms_norm(name, dtype, layout, *, eps=1e-6, weight=True) -> Kernel:
    """x(, w) -> y, rstd per row"""
    k = RowKernel(name, dtype, layout, "x" + " w:along" * weight + " -> y")
    rstd = _row_scale(k, eps)
    with k.sweep():
        k.store(_affine(k, k.load("x") * rstd, weight, False), "y")
    return k.build()


def rms_norm_backward(name, dtype, layout, *, eps=1e-6, weight=True) -> Kernel:
    """g, x(, w) -> dx, rstd per row"""
    k = RowKernel(name, dtype, layout, "g x" + " w:along" * weight + " -> dx")
    rstd = _row_scale(k, eps)
    with k.sweep():
        dot = k.fold("sum", _affine(k, k.load("g"), weight, False) * (k.load("x") * rstd))
    with k.point():
        c = dot / k.count()
    with k.sweep():
        k.store((_affine(k, k.load("g"), weight, False) - (k.load("x") * rstd) * c) * rstd, "dx")
    return k.build()


def norm_weight_backward(name, dtype, layout, *, centred=True, bias=True) -> Kernel:
    """g, x, (mean, )rstd -> dw(, db): gradients of a norm's weight and bias, summed over rows.

    R counts the rows here, A is 1 and B is the length of a row; so the layout is always "columns".
    """
    k = RowKernel(name, dtype, COLUMNS, "g x")
    for statistic in ("mean", "rstd")[not centred:]:
        k.input(statistic, "along", k.work)
    k.output("dw", "row")
    if bias:
        k.output("db", "row")
    with k.sweep():
        g, x = k.load("g"), k.load("x")
        if centred:
            x = x - k.load("mean")
        dw = k.fold("sum", g * (x * k.load("rstd")))
        db = k.fold("sum", g) if bias else None
    with k.point():
        k.store(dw, "dw")
        if bias:
            k.store(db, "db")
    return k.build()


def cross_entropy(name, dtype, layout, *, ignore_index=-100) -> Kernel:
    """x, target (i64 per row) -> loss and logsumexp per row. A target outside of [0, R) reads nothing and gives nan;
    ignore_index gives 0."""
    k = RowKernel(name, dtype, layout, "x")
    k.input("target", "row", dt.int64)
    k.output("loss", "row")
    k.output("lse", "row", k.work)
    top, total = _shifted_exp_sum(k)
    with k.point():
        lse = k.fn.log(total) + top
        k.store(lse, "lse")
        target, size = k.k.load("target"), k.k.size("r")
        inside = k.fn.logical_and(k.fn.ge(target, 0), k.fn.lt(target, size))
        picked = k.load("x", r=k.fn.where(inside, target, 0))
        loss = k.fn.where(inside, lse - picked, float("nan"))
        k.store(k.fn.where(k.fn.eq(target, ignore_index), 0.0, loss), "loss")
    return k.build()


def cross_entropy_backward(name, dtype, layout, *, ignore_index=-100) -> Kernel:
    """g per row, x, lse per row, target -> dx"""
    k = RowKernel(name, dtype, layout, "g:row x")
    k.input("lse", "row", k.work)
    k.input("target", "row", dt.int64)
    k.output("dx")
    with k.point():
        lse, target = k.load("lse"), k.k.load("target")
        g = k.fn.where(k.fn.eq(target, ignore_index), 0.0, k.load("g"))
    with k.sweep():
        p = k.fn.exp(k.load("x") - lse)
        hit = k.fn.eq(k.k.index("r"), target)
        k.store(k.fn.where(hit, p - 1.0, p) * g, "dx")
    return k.build()


def softmax_minus_onehot(name, dtype, layout) -> Kernel:
    """x, lse, a, b per row, target -> a * exp(x - lse), less b at the target. Exponentials are of x - max, as in losses."""
    k = RowKernel(name, dtype, layout, "x lse:row a:row b:row")
    k.input("target", "row", dt.int64)
    k.output("dx")
    with k.point():
        lse, a, b, target = k.load("lse"), k.load("a"), k.load("b"), k.k.load("target")
    with k.sweep():
        top = k.fold("max", k.load("x"))
    with k.point():
        scale = a * k.fn.exp(top - lse)
    with k.sweep():
        p = k.fn.exp(k.load("x") - top) * scale
        k.store(k.fn.where(k.fn.eq(k.k.index("r"), target), p - b, p), "dx")
    return k.build()


def scan(name, dtype, layout, *, kind="sum") -> Kernel:
    """x -> y, the running sum or product along R"""
    k = RowKernel(name, dtype, layout, "x -> y")
    with k.sweep():
        k.store(k.k.scan(kind, k.load("x")), "y")
    return k.build()


ROW_KERNELS: dict[str, Callable] = {f.__name__: f for f in (
    softmax, log_softmax, logsumexp, softmax_backward, log_softmax_backward, layer_norm, layer_norm_backward, rms_norm,
    rms_norm_backward, norm_weight_backward, cross_entropy, cross_entropy_backward, softmax_minus_onehot, scan)}
