"""Single kernels: matrix products, elementwise chains, rows, reductions, losses, gathers, sorting, an optimizer's sweep."""

import numpy as np

from .cases import bound, distinct, function_case, indices, randoms, with_gradients
from .harness import Case
from .libraries import libraries

MEAN_BAR = None
CUBES = [(n, n, n) for n in (128, 256, 512, 1024, 2048)]
ROWS = [(m, 1024, 1024) for m in (1, 8, 32, 128)]
ODD = [(127, 255, 513), (33, 129, 1025), (1000, 1000, 1000), (64, 50257, 256)]


def gemm(plan):
    """Matrix products; from 256 on they must come near the peak of multiply-adds."""
    sizes = plan.pick(CUBES + ROWS + ODD, [CUBES[1], CUBES[3], ROWS[1], ODD[0]], [(5, 7, 9)])
    for m, n, k in sizes:
        bars = {"best": 1.0} | ({"peak": 0.9} if m == n == k >= 256 else {})
        yield function_case(f"matmul {m}x{k} @ {k}x{n}", lambda lib: lambda a, b: a @ b, [randoms(m, k), randoms(k, n)], plan,
                            also={"numpy": np.matmul}, compiled=False, flops=2 * m * n * k, bytes=4 * (m * k + k * n + m * n),
                            bars=bars)


def gelu(plan):
    """A chain of elementwise operators with a broadcast, in one pass."""
    rows = plan.pick(10_000, 10_000, 4)
    arrays = [randoms(rows, 1000), randoms(1000), randoms(1000)]

    def with_jax(x, w, b):
        import jax

        return jax.nn.gelu(x * w + b, approximate=False)

    def make(lib):
        return lambda x, w, b: lib.nn.functional.gelu(x * w + b)

    yield function_case(f"gelu(x * w + b), {rows:,}x1000", make, arrays, plan, also={"jax": with_jax}, bytes=8 * arrays[0].size,
                        bars={"torch.compile": 4.0, "jax": 1.5, "eager": 1.0})


def addition(plan):
    """Nothing but memory."""
    arrays = [randoms(plan.pick(10_000_000, 10_000_000, 100), seed=s) for s in (1, 2)]
    yield function_case("x + y, 1e7", lambda lib: lambda x, y: x + y, arrays, plan,
                        also={"numpy": np.add, "jax": lambda x, y: x + y}, compiled=False, flops=arrays[0].size,
                        bytes=12 * arrays[0].size, bars={"best": 1.0, "peak": 0.85, "eager": 1.0})


def rows(plan):
    """Softmax and norms along the last dimension."""
    n, d = plan.pick((4096, 1024), (4096, 1024), (3, 20))
    x, w, b = randoms(n, d), randoms(d), randoms(d)
    moved = 8 * x.size

    def jax_softmax(x):
        import jax

        return jax.nn.softmax(x, -1)

    def jax_norm(x, w, b):
        import jax

        return (x - x.mean(-1, keepdims=True)) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5) * w + b

    yield function_case(f"softmax {n}x{d}", lambda lib: lambda x: lib.softmax(x, -1), [x], plan, also={"jax": jax_softmax},
                        bytes=moved, bars={"torch": 1.8, "peak": 0.85})
    yield function_case(f"layer_norm {n}x{d}", lambda lib: lambda x, w, b: lib.nn.functional.layer_norm(x, (d,), w, b),
                        [x, w, b], plan, also={"jax": jax_norm}, bytes=moved, bars={"torch": 1.8, "peak": 0.85})
    yield function_case(f"layer_norm {n}x{d}, forward + backward", norm_with_gradients, [x, w, b], plan, grads=(0, 1, 2),
                        bytes=2 * moved + 4 * x.size, tolerance=1e-3, bars={"best": 1.0})


def norm_with_gradients(lib):
    """Layer norm with the gradients of all that goes in."""
    def run(x, w, b):
        y = lib.nn.functional.layer_norm(x, w.shape, w, b)
        return with_gradients((y * y).sum(), x, w, b)
    return run


def reductions(plan):
    """Sums over each axis, and over all; means, largest, where."""
    x = randoms(*plan.pick((64, 256, 512), (64, 256, 512), (3, 4, 5)))
    for dim in (0, 1, 2, None):
        word = "all" if dim is None else f"dim {dim}"
        yield function_case(f"sum over {word}, {'x'.join(map(str, x.shape))}", summing(dim), [x], plan,
                            also={"numpy": lambda x, dim=dim: x.sum(dim), "jax": lambda x, dim=dim: x.sum(dim)}, compiled=False,
                            flops=x.size, bytes=x.nbytes, tolerance=1e-3,
                            bars={"best": 1.0, "peak": 0.85, "eager": 1.0})
    others = {"amax": lambda lib: lambda x: lib.amax(x, -1), "argmax": lambda lib: lambda x: lib.argmax(x, -1),
              "var": lambda lib: lambda x: lib.var(x, -1), "logsumexp": lambda lib: lambda x: lib.logsumexp(x, -1)}
    for name in plan.pick(list(others), [], list(others)):
        yield function_case(f"{name} over dim 2", others[name], [x], plan, compiled=False, bytes=x.nbytes, bars={"best": 1.0})


def summing(dim):
    """Makes a sum over a dimension, or over all of them."""
    return lambda lib: (lambda x: x.sum()) if dim is None else (lambda x: x.sum(dim))


def cross_entropy(plan):
    """The loss of a classifier over many classes, with its gradient."""
    def make(lib):
        def run(x, y):
            return with_gradients(lib.nn.functional.cross_entropy(x, y), x)
        return run

    for n, classes in plan.pick([(128, 10), (4096, 1000), (512, 32_000)], [(256, 32_000)], [(5, 7)]):
        arrays = [randoms(n, classes), indices(classes, n)]
        yield function_case(f"cross entropy {n}x{classes}, forward + backward", make, arrays, plan, grads=(0,),
                            bytes=8 * n * classes, bars={"torch": 3.0} if n * classes > 1e6 else {"best": 1.0})


def embedding(plan):
    """Rows of a table, and the gradient of the table."""
    words, width, many = plan.pick((50_000, 512, 8192), (20_000, 512, 8192), (10, 4, 6))
    arrays = [randoms(words, width), indices(words, many)]

    def forward(lib):
        return lambda w, i: lib.nn.functional.embedding(i, w)

    def backward(lib):
        return lambda w, i: with_gradients(lib.nn.functional.embedding(i, w).square().sum(), w)

    yield function_case(f"embedding {many} of {words}x{width}", forward, arrays, plan, also={"numpy": lambda w, i: w[i]},
                        compiled=False, bytes=8 * many * width, bars={"best": 1.0})
    yield function_case(f"embedding {many} of {words}x{width}, forward + backward", backward, arrays, plan, grads=(0,),
                        compiled=False, bars={"best": 1.0})


def ordering(plan):
    """Sorting, the largest few, running sums."""
    flat, table = distinct(plan.pick(1_000_000, 300_000, 50)), distinct(*plan.pick((64, 32_000), (16, 32_000), (3, 40)))
    k = plan.pick(50, 50, 5)
    work = [(f"sort {flat.size:,}", lambda lib: lambda x: lib.sort(x), flat, {"numpy": np.sort}),
            (f"sort rows of {table.shape[0]}x{table.shape[1]}", lambda lib: lambda x: lib.sort(x, dim=-1), table, {}),
            (f"topk {k} of {table.shape[0]}x{table.shape[1]}", lambda lib: lambda x: lib.topk(x, k), table, {}),
            (f"cumsum rows of {table.shape[0]}x{table.shape[1]}", lambda lib: lambda x: lib.cumsum(x, -1), table,
             {"numpy": lambda x: np.cumsum(x, -1)})]
    for name, make, x, also in work:
        if "numpy" in also and name.startswith("sort"):
            also = {"numpy": lambda x: (np.sort(x), np.argsort(x))}
        yield function_case(name, make, [x], plan, also=also, compiled=False, tolerance=1e-3, bars={"best": 1.0})


def optimizers(plan):
    """One step on 25 million parameters; what is compared is the first of them after each of three steps."""
    large = [(2048, 2048)] * 5
    shapes = plan.pick(large + [(1024, 2048)] * 2 + [(2048,)] * 20, large[:2] + [(2048,)] * 5, [(3, 4), (5,)])
    count = sum(int(np.prod(s)) for s in shapes)
    kinds = {"SGD + momentum": ("SGD", {"lr": 0.1, "momentum": 0.9}, 5), "AdamW": ("AdamW", {"lr": 1e-3}, 7)}
    for name, (kind, options, touched) in kinds.items():
        calls = {}
        for lib in libraries(plan):
            made = {label: (way, options) for label, way in lib.ways.items()}
            if lib.name == "torch":
                made["torch fused"] = (lib.ways["torch"], options | {"fused": True})
            for label, (way, opts) in made.items():
                calls[label] = bound(*sweep(lib, way, kind, opts, shapes))
        yield Case(f"{name} step, {count / 1e6:.1f} M parameters", calls, checks=3, bytes=4 * touched * count,
                   bars={"best": 1.0, "peak": 0.85, "eager": 1.0})


def sweep(lib, way, kind, options, shapes):
    """(a step that gives the first parameter's first row, no arguments but that row's tensor)."""
    params = [lib.tensor(randoms(*s), requires_grad=True) for s in shapes]
    for p, s in zip(params, shapes):
        p.grad = lib.tensor(randoms(*s, seed=1))
    optimizer = getattr(lib.module.optim, kind)(params, **options)

    def step(unused):
        optimizer.step()
        return params[0].detach()[0] + unused

    return way(step), [lib.tensor(np.zeros(1, np.float32))]


WORKLOADS = {"gemm": gemm, "gelu": gelu, "addition": addition, "rows": rows, "reductions": reductions,
             "cross_entropy": cross_entropy, "embedding": embedding, "ordering": ordering, "optimizers": optimizers}
