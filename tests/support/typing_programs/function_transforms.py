"""vmap, grad and their relatives."""

from typing import assert_type

import ingot
from ingot import Tensor, func, nn
from ingot.func import functional_call, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, stack_module_state, vjp, vmap


def loss(w: Tensor, x: Tensor, scale: float = 1.0) -> Tensor:
    return (w * x).sum().square() * scale


w, x = ingot.ones(3), ingot.ones(5, 3)
assert_type(grad(loss)(w, x[0]), Tensor)
assert_type(grad(loss)(w, x[0], scale=2.0), Tensor)
both = grad(loss, argnums=(0, 1))(w, x[0])
g, value = grad_and_value(loss)(w, x[0])
assert_type(value, Tensor)
each = vmap(grad(loss), in_dims=(None, 0))(w, x)
assert_type(each, Tensor)
assert_type(vmap(loss, in_dims=(None, 0))(w, x), Tensor)
outer = vmap(vmap(lambda a, b: a * b, (0, None)), (None, 0))(w, w)
rows = jacrev(lambda v: v ** 2)(w)
columns = jacfwd(lambda v: v ** 2)(w)
curvature = hessian(loss)(w, x[0])
out, tangent = jvp(lambda v: v.sin(), (w,), (w,))
result, pull = vjp(lambda v: v.cos(), w)
pulled, = pull(ingot.ones(3))
model = nn.Linear(3, 1)
params = {k: v.detach() for k, v in model.named_parameters()}


def of_params(params: dict[str, Tensor], sample: Tensor) -> Tensor:
    return functional_call(model, params, (sample,)).square().mean()


gradients = grad(of_params)(params, x[0])
assert_type(gradients, dict[str, Tensor])
per_sample = vmap(grad(of_params), in_dims=(None, 0))(params, x)
print(per_sample["weight"].shape, both, g, outer, rows, columns, curvature, out, tangent, result, pulled)
stacked, buffers = stack_module_state([nn.Linear(2, 2) for _ in range(3)])
print(stacked, buffers, func.linearize(lambda v: v * 2, w))

# Lambdas, also in transforms of transforms.
assert_type(jacrev(loss)(w, x[0]), Tensor)
assert_type(jacfwd(loss)(w, x[0], scale=2.0), Tensor)
assert_type(jacrev(of_params)(params, x[0]), dict[str, Tensor])
assert_type(jvp(loss, (w, x[0]), (w, x[0]))[1], Tensor)
assert_type(vjp(loss, w, x[0])[0], Tensor)
assert_type(func.linearize(loss, w, x[0])[1](w, x[0]), Tensor)
assert_type(functional_call(model, params, (x,)), Tensor)
assert_type(vmap(model)(x), Tensor)
assert_type(ingot.vmap(loss, (None, 0))(w, x), Tensor)
assert_type(stacked, dict[str, Tensor])
lambdas = [
    grad(lambda w: w.sum())(w), grad(lambda p, x: (p["weight"] @ x).sum())(params, x[0]),
    vmap(grad(lambda w, x: (w * x).sum()), in_dims=(None, 0))(w, x), vmap(grad(lambda w: w.sum()))(x),
    vmap(grad(lambda p, x: (p["weight"] @ x).sum()), in_dims=(None, 0))(params, x),
    vmap(grad_and_value(lambda w, x: (w * x).sum()), in_dims=(None, 0))(w, x),
    grad(grad(lambda v: v.pow(3).sum()))(w[0]), vmap(jacrev(lambda v: v ** 2))(x), jacfwd(jacrev(lambda v: v.sum()))(w),
    vmap(hessian(lambda v: v.square().sum()))(x), vmap(lambda v: grad(lambda u: u.square().sum())(v))(x),
    grad(lambda w, x: (w * x).sum(), argnums=(0, 1))(w, w), grad(lambda w: (w.sum(), w), has_aux=True)(w),
    vmap(lambda p, x: functional_call(model, p, (x,)), in_dims=(None, 0))(params, x),
    vjp(lambda v: (v.sin(), v), w, has_aux=True), jvp(lambda v: (v.sin(), v), (w,), (w,), has_aux=True),
]
print(len(lambdas))
