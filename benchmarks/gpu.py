"""On an NVIDIA GPU, beside torch eager and torch.compile; without one each row says so. A call ends when the device is done.

The share of the peak is left out: what this package measures are the peaks of the processor, not those of the device.
"""

from collections.abc import Callable

import ingot

from .cases import bound, indices, randoms
from .harness import Case
from .libraries import libraries
from .result import Result
from .sequences import gpt, lstm_lm, mlp
from .vision import resnet18

MEAN_BAR = None


def on_device(work: Callable) -> Callable:
    """The workload, or where there is no device one row that says what is missing."""
    def workload(plan):
        if ingot.cuda.is_available():
            yield from work(plan)
        else:
            yield Result(work.__name__, {}, note=f"not run: {ingot.cuda.why_not_available()}")
    workload.__doc__ = work.__doc__
    return workload


def waiting(lib, call: Callable) -> Callable:
    """A call that ends when the device is done; its results stay there until they are compared."""
    def run():
        out = call()
        lib.module.cuda.synchronize()
        return Fetched(out)

    return run


class Fetched(tuple):
    """Results on the device, which are copied when somebody looks at them."""

    def __new__(cls, out):
        return super().__new__(cls, out if isinstance(out, (tuple, list)) else (out,))

    def __iter__(self):
        return (x.detach().float().cpu() if x.dtype.is_floating_point else x.cpu() for x in super().__iter__())


def case(name, make: Callable, arrays, plan, *, dtype="float32", compiled=True, **facts) -> Case:
    """A case of the function `make(lib)` of tensors on the device; floats are cast to `dtype`."""
    calls = {}
    for lib in libraries(plan, compiled):
        kind = getattr(lib.module, dtype)
        for label, way in lib.ways.items():
            given = [lib.tensor(a).cuda() for a in arrays]
            given = [t.to(kind) if t.dtype.is_floating_point else t for t in given]
            calls[label] = waiting(lib, bound(way(make(lib.module)), given))
    return Case(name, calls, **({"tolerance": 2e-2 if dtype != "float32" else 2e-3} | facts))


def elementwise(plan):
    """gelu(x * w + b): the device's bandwidth."""
    rows, columns = plan.pick((16384, 4096), (16384, 1024), (8, 16))
    yield case(f"gelu(x * w + b) {rows}x{columns}", lambda lib: lambda x, w, b: lib.nn.functional.gelu(x * w + b),
               [randoms(rows, columns), randoms(columns), randoms(columns, seed=1)], plan)
    yield case(f"copy {rows}x{columns}", lambda lib: lambda x: x.clone(), [randoms(rows, columns)], plan, compiled=False)


def row_operators(plan):
    """Softmax and layer norm, forward."""
    rows, columns = plan.pick((16384, 4096), (16384, 1024), (8, 16))
    x = randoms(rows, columns)
    yield case(f"softmax {rows}x{columns}", lambda lib: lambda x: lib.softmax(x, 1), [x], plan)
    yield case(f"layer_norm {rows}x{columns}", lambda lib: lambda x: lib.nn.functional.layer_norm(x, (columns,)), [x], plan)


def products(plan):
    """Matrix products in bfloat16."""
    for n in plan.pick((4096, 8192), (4096,), (32,)):
        yield case(f"matmul bfloat16 {n}^3", lambda lib: lambda x, y: x @ y, [randoms(n, n), randoms(n, n, seed=1)], plan,
                   dtype="bfloat16", compiled=False)


def device_attention(plan):
    """Attention in bfloat16, 16 heads of 64, causal, forward."""
    batch, length = plan.pick((4, 2048), (4, 1024), (1, 32))
    arrays = [randoms(batch, 16, length, 64, seed=i) for i in range(3)]

    def attend(lib):
        return lambda q, k, v: lib.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)

    yield case(f"attention batch {batch} length {length}", attend, arrays, plan, dtype="bfloat16", compiled=False)


def training_on_device(plan):
    """Whole training steps, traced: an MLP, a GPT, an LSTM, a ResNet-18."""
    batch = plan.pick(256, 256, 4)
    yield training("MLP + Adam", lambda lib: mlp(lib, 784, 512, 512, 10), [randoms(batch, 784), indices(10, batch)], plan)
    sizes = plan.pick((512, 6, 384, 6, 256), (512, 4, 128, 4, 64), (11, 1, 8, 2, 5))
    tokens = [indices(sizes[0], 16, sizes[4]), indices(sizes[0], 16, sizes[4], seed=1)]
    yield training("GPT + Adam", lambda lib: gpt(lib, *sizes), tokens, plan)
    form = plan.pick((512, 256, 32, 64), (512, 128, 16, 32), (11, 4, 2, 3))
    yield training("LSTM + Adam", lambda lib: lstm_lm(lib, *form[:2]),
                   [indices(form[0], *form[2:]), indices(form[0], *form[2:], seed=1)], plan)
    images = plan.pick(64, 16, 2)
    options = plan.pick({"classes": 10}, {"classes": 10}, {"width": 4, "classes": 10})
    yield training("ResNet-18 32x32 + Adam", lambda lib: resnet18(lib, **options),
                   [randoms(images, 3, 32, 32), indices(10, images)], plan)


def training(name, build: Callable, arrays, plan) -> Case:
    """A case of whole training steps; every way has a network of its own, and the losses of three steps are compared. Both
    libraries compute in float32 (torch's convolutions would take TF32)."""
    calls, weights = {}, None
    for lib in libraries(plan):
        lib.module.backends.cudnn.allow_tf32 = False
        for label, way in lib.ways.items():
            network = build(lib.module)
            if weights is None:
                weights = {k: v.numpy().copy() for k, v in network.state_dict().items()}
            lib.load(network, weights).to("cuda")
            step = way(fitting(lib.module, network))
            calls[label] = waiting(lib, bound(step, [lib.tensor(a).cuda() for a in arrays]))
    return Case(name, calls, checks=3, tolerance=1e-2)


def fitting(lib, network) -> Callable:
    """A training step of a classifier."""
    optimizer = lib.optim.Adam(network.parameters(), lr=1e-3)

    def step(x, y):
        optimizer.zero_grad()
        logits = network(x)
        loss = lib.nn.functional.cross_entropy(logits.reshape(-1, logits.shape[-1]), y.reshape(-1))
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step


WORKLOADS = {f"gpu_{name}": on_device(work) for name, work in {
    "elementwise": elementwise, "rows": row_operators, "matmul": products, "attention": device_attention,
    "training": training_on_device}.items()}
