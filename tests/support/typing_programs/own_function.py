"""Functions with gradients of their own, and gradients by hand."""

from typing import Any, assert_type

import ingot
from ingot import Tensor, autograd
from ingot.autograd import Function
from ingot.autograd.function import once_differentiable


class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        x, = ctx.saved_tensors
        return 2 * x * grad_output


class Clip(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, low: float) -> Tensor:
        ctx.low = low
        ctx.mark_non_differentiable(x)
        return x.clamp(min=low)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, None]:
        return (grad if ctx.needs_input_grad[0] else None), None


class Cube(autograd.Function):
    @staticmethod
    def forward(x: Tensor) -> Tensor:
        return x ** 3

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad):
        x, = ctx.saved_tensors
        return 3 * x ** 2 * grad


x = ingot.ones(3, requires_grad=True)
y: Tensor = Square.apply(x) + Clip.apply(x, 0.5) + Cube.apply(x)
first, = autograd.grad(x.pow(3).sum(), x, create_graph=True)
assert_type(first, Tensor)
second = autograd.grad(first.sum(), [x], retain_graph=True, allow_unused=True)[0]
y.sum().backward(retain_graph=True)
y.backward(ingot.ones_like(y))
autograd.backward([y.sum()], retain_graph=True)
with autograd.set_detect_anomaly(True), autograd.graph.save_on_cpu():
    (x * 2).sum().backward()
handle = x.register_hook(lambda grad: grad * 2)
handle.remove()
jacobian = autograd.functional.jacobian(lambda v: v * 2, x)
hessian = autograd.functional.hessian(lambda v: (v ** 2).sum(), x)
assert autograd.gradcheck(Square.apply, (ingot.ones(2, dtype=ingot.float64, requires_grad=True),))
print(second, jacobian, hessian, x.grad, y.grad_fn, x.is_leaf)
