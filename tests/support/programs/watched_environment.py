"""More programs like those of `watched_programs`: the world around a function, caches, transforms, numbers that change."""

import datetime
import functools
import threading
import uuid
import weakref
from concurrent.futures import ThreadPoolExecutor

import ingot
from ingot import func, nn
from ingot.autograd import forward_ad, functional
from watched_programs import program, refused, vec

# Actions that later calls would not do.

@refused("leaves grad mode changed at .*with.* block")
def grad_mode_stays_off(wrap):
    def f(x):
        ingot.set_grad_enabled(False)
        return x * 2
    try:
        yield wrap(f)(vec(0))
    finally:
        ingot.set_grad_enabled(True)


@refused("leaves the default dtype changed at ")
def the_default_dtype_is_set(wrap):
    def f(x):
        ingot.set_default_dtype(ingot.float64)
        return x + ingot.zeros(3)
    try:
        yield wrap(f)(vec(0))
    finally:
        ingot.set_default_dtype(ingot.float32)


@refused("gives work to another thread or process at .*jit.host")
def a_thread_that_computes(wrap):
    def f(x):
        found = []
        thread = threading.Thread(target=lambda: found.append(x * 2))
        thread.start()
        thread.join()
        return found[0] + 1
    yield wrap(f)(vec(0))


@refused("gives work to another thread or process at .*jit.host")
def a_thread_that_was_there(wrap):
    with ThreadPoolExecutor(1) as pool:
        pool.submit(int).result()
        yield wrap(lambda x: pool.submit(lambda: x * 2).result() + 1)(vec(0))


@program
def another_default_device(wrap):
    f = wrap(lambda: ingot.ones(3) * 2)
    for device in ("cpu", "meta", "cpu", "meta"):
        ingot.set_default_device(device)
        try:
            yield str(f().device)
        finally:
            ingot.set_default_device("cpu")


# Transforms of functions, outside of a trace and inside.

@program
def transforms_of_a_traced_function(wrap):
    held = nn.Module()
    held.factor = 1.0
    f = wrap(lambda x: (x.sin() * x * held.factor).sum())
    rows = vec(0, 6).reshape(2, 3)
    for i in range(6):
        if i == 3:
            held.factor = 2.0
        yield func.grad(f)(vec(i)), func.vmap(f)(rows + i), func.vmap(func.grad(f))(rows + i), f(vec(i))


@program
def transforms_inside(wrap):
    def f(x):
        def g(v):
            return v.sin() * v
        return func.jvp(g, (x,), (x,)), func.jacfwd(g)(x), func.jacrev(g)(x), func.hessian(lambda v: g(v).sum())(x)
    f = wrap(f)
    for i in range(6):
        yield f(vec(i))


@program
def tangents_inside(wrap):
    def f(x, t):
        with forward_ad.dual_level():
            return forward_ad.unpack_dual(forward_ad.make_dual(x, t).sin() * 2)
    f = wrap(f)
    for i in range(6):
        value, tangent = f(vec(i), vec(i + 1))
        yield value, tangent, value.requires_grad


@program
def products_inside(wrap):
    def f(x):
        def g(v):
            return (v ** 3).sum()
        return (functional.jvp(g, x, x), functional.vjp(g, x), functional.hvp(g, x, x), functional.jacobian(g, x))
    f = wrap(f)
    for i in range(6):
        yield f(vec(i))


@program
def a_leaf_that_is_made_inside(wrap):
    def f(x):
        w = ingot.ones(3, requires_grad=True)
        return w * x
    f = wrap(f)
    for i in range(4):
        y = f(vec(i))
        y.sum().backward()
        yield y, y.requires_grad


class Doubled(ingot.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2, x * 3

    @staticmethod
    def backward(ctx, a, b):
        return a * 2 + b * 3


@program
def a_result_without_gradient(wrap):
    def f(x):
        x = x.detach().requires_grad_()
        Doubled.apply(x)[0].sum().backward()
        return x.grad
    f = wrap(f)
    for n in (3, 3, 4, 5, 6, 7):
        yield f(vec(1, n))


# Caches, weak containers, clocks.

@program
def a_cache_with_tensors_as_keys(wrap):
    @functools.cache
    def kept(t, n):
        return t * n
    w = ingot.ones(3)
    f = wrap(lambda x: x + kept(w, 2))
    for i in range(6):
        if i == 3:
            w.add_(1)
        yield f(vec(i))


@program
def a_cache_of_the_arguments(wrap):
    @functools.cache
    def kept(t):
        return t * 2
    f = wrap(lambda x: kept(x) + 1)
    xs = [vec(0), vec(1)]
    for i in range(6):
        xs[i % 2].add_(1)
        yield f(xs[i % 2]), kept.cache_info().currsize


@program
def a_cache_that_drops_results(wrap):
    @functools.lru_cache(maxsize=2)
    def kept(n):
        return ingot.ones(3) * n
    f = wrap(lambda x, n: x + kept(n))
    for i in range(8):
        yield f(vec(i), 1 + i % 3)


class WithCache(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = ingot.ones(3)

    @functools.cache  # noqa: B019
    def scaled(self, k):
        return self.w * k

    def forward(self, x):
        return x * self.scaled(2)


@program
def a_method_with_a_cache(wrap):
    net = WithCache()
    f = wrap(net)
    for i in range(6):
        if i == 3:
            net.w.add_(1)
        if i == 5:
            WithCache.scaled.cache_clear()
        yield f(vec(i))


class Box:
    factor = 2.0


@program
def weak_containers(wrap):
    a, b = Box(), Box()
    by_key, by_name, members = weakref.WeakKeyDictionary(), weakref.WeakValueDictionary(), weakref.WeakSet()
    by_key[a], by_name["a"] = 1.0, a
    f = wrap(lambda x: x * sum(by_key.values()) + sum([o.factor for o in by_name.values()]) + len(members)
             + a.factor * b.factor)
    for i in range(8):
        if i == 2:
            by_key[a] = 4.0
        if i == 4:
            by_name["b"] = b
        if i == 6:
            members.add(b)
        yield f(vec(i))


@program
def spans_of_time(wrap):
    span, start = datetime.timedelta(seconds=3), datetime.datetime(2020, 1, 2)
    f = wrap(lambda x: x * span.total_seconds() + (start + span).second)
    for i in range(3):
        yield f(vec(i))


@refused("calls datetime.date.today at ")
def the_date(wrap):
    yield wrap(lambda x: x * datetime.date.today().day)(vec(0))


@refused("draws random numbers from the operating system")
def names_for_things(wrap):
    yield wrap(lambda x: (x, str(uuid.uuid4())))(vec(0))


# Numbers that change from call to call.

@program
def momentum_that_decays(wrap):
    net = nn.BatchNorm1d(3)
    f = wrap(net)
    for _ in range(8):
        net.momentum *= 0.9
        yield f(ingot.randn(4, 3)), net.running_mean.clone(), net.running_var.clone()


@program
def a_limit_that_decays(wrap):
    w = nn.Parameter(ingot.ones(3))
    held = {"limit": 1.0}

    def f(x):
        w.grad = None
        (w * x).sum().backward()
        norm = nn.utils.clip_grad_norm_([w], held["limit"])
        nn.utils.clip_grad_value_([w], held["limit"] * 0.5)
        return norm
    f = wrap(f)
    for i in range(8):
        held["limit"] *= 0.8
        yield f(vec(i)), w.grad
