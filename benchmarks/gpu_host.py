"""How long the host takes for calls on a GPU, eager and traced, without one: everything is done up to the driver, which does
nothing. Processor time of one thread, the least of several rounds; calls marked "new sizes" are of sizes not met before.
`python -m benchmarks.gpu_host [name ...]`
"""

import argparse
import ctypes
import time

import llvmlite.binding as llvm

import ingot
import ingot.nn.functional as F
from ingot import jit, nn
from ingot.runtime.cuda.driver import driver

from .device import inference
from .gpu_launches import Unwatched
from .gpu_ledger import prepared
from .gpu_steps import small
from .harness import Plan
from .sequences import gpt, mlp

WARM, ROUNDS = 12, 9                   # (a traced call is captured, and has its quick road, before that)
FIRST_SIZE, SIZES_EACH = 100, 24       # calls of sizes that are new each time: where these begin, and how many a round has
_NOTHING = "define i32 @nothing() { ret i32 0 }"
_ASKED = ("cuLaunchKernelEx", "cuCtxSetCurrent", "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoDAsync_v2", "cuMemsetD8Async",
          "cuMemsetD32Async", "cuStreamSynchronize", "cuEventRecord", "cuEventQuery", "cuGraphLaunch")


class NativeLedger(Unwatched):
    """The ledger's driver, whose functions that calls ask for are native ones, as a driver's are."""

    def __init__(self):
        super().__init__()
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        machine = llvm.Target.from_default_triple().create_target_machine()
        self.engine = llvm.create_mcjit_compiler(llvm.parse_assembly(_NOTHING), machine)
        self.engine.finalize_object()
        address = self.engine.get_function_address("nothing")
        for name in _ASKED:
            setattr(self, name, ctypes.CFUNCTYPE(ctypes.c_int, *driver.FUNCTIONS[name])(address))


def calls() -> dict:
    """Return the calls to time, by name."""
    x, y = (ingot.ones(64, 64, device="cuda") for _ in range(2))
    image, ids = ingot.ones(2, 8, 16, 16, device="cuda"), ingot.zeros(64, dtype=ingot.int64, device="cuda")
    heads, leaf = x.view(1, 4, 16, 64), ingot.ones(64, 64, device="cuda").requires_grad_()
    cache, row, place = (ingot.ones(*s, device="cuda") for s in ((2, 4, 4096, 16), (2, 4, 1, 16), (1,)))
    place = place.long()
    linear, conv, norm = nn.Linear(64, 64).to("cuda"), nn.Conv2d(8, 8, 3).to("cuda"), nn.BatchNorm2d(8).to("cuda")
    net = nn.Sequential(*[m for _ in range(10) for m in (nn.Linear(64, 64), nn.ReLU())]).to("cuda")
    adam = ingot.optim.Adam(net.parameters())

    def step():
        adam.zero_grad()
        net(x).sum().backward()
        adam.step()

    small = [ingot.ones(64, device="cuda").requires_grad_() for _ in range(161)]        # as many as ResNet-50 has
    for p in small:
        p.grad = ingot.ones(64, device="cuda")
    grads, teacher = [p.grad for p in small], [ingot.ones(64, device="cuda") for _ in small]
    scaler, sgd = ingot.amp.GradScaler("cuda"), ingot.optim.SGD(small)
    scaler.scale(x)

    def unscale():
        scaler.unscale_(sgd)
        scaler._progress.clear()

    return {
        "x + y": lambda: x + y, "x * 0.5": lambda: x * 0.5, "x += y": lambda: x.add_(y), "leaf * x, taped": lambda: leaf * x,
        "x @ y": lambda: x @ y, "x.sum()": x.sum, "softmax": lambda: x.softmax(-1), "x[1]": lambda: x[1],
        "x[ids]": lambda: x[ids], "cat": lambda: ingot.cat([x, y]), "zeros": lambda: ingot.zeros(64, 64, device="cuda"),
        "randn": lambda: ingot.randn(64, 64, device="cuda"), "dropout": lambda: F.dropout(x, 0.1),
        "linear, taped": lambda: linear(x), "convolution, taped": lambda: conv(image), "batch norm, taped": lambda: norm(image),
        "layer norm": lambda: F.layer_norm(x, (64,)), "embedding": lambda: F.embedding(ids, x),
        "attention": lambda: F.scaled_dot_product_attention(heads, heads, heads),
        "attention of a query over a cache": lambda: F.scaled_dot_product_attention(row, cache, cache),
        "a row of a cache by its number": lambda: cache.index_copy_(2, place, row),
        "a row of a cache, x[:, :, i] = y": lambda: cache.__setitem__((slice(None), slice(None), place), row),
        "cross entropy": lambda: F.cross_entropy(x, ids), "training step, 10 layers, Adam": step,
        "161 parameters, Adam": ingot.optim.Adam(small).step,
        "161 parameters, SGD with momentum": ingot.optim.SGD(small, lr=0.1, momentum=0.9).step,
        "161 gradients, clip_grad_norm_": lambda: nn.utils.clip_grad_norm_(small, 1.0),
        "161 gradients, clip_grad_value_": lambda: nn.utils.clip_grad_value_(small, 1.0),
        "161 gradients, GradScaler.unscale_": unscale,
        "161 gradients, zero_grad(set_to_none=False)": lambda: sgd.zero_grad(set_to_none=False),
        "161 tensors, _foreach_mul_": lambda: ingot._foreach_mul_(grads, 0.5),
        "161 tensors, _foreach_add": lambda: ingot._foreach_add(grads, teacher),
        "161 tensors, _foreach_lerp_": lambda: ingot._foreach_lerp_(teacher, grads, 0.1),
        "161 tensors, _foreach_norm": lambda: ingot._foreach_norm(grads)}


def traced() -> dict:
    """Traced functions of the benchmark's small work, by name: whole steps, and inference."""
    def call_of(run, arguments):
        return lambda: run(*arguments)

    def forward(network, x):
        return call_of(jit.trace(inference(ingot, network)), [x.to("cuda")])

    x, ids = ingot.ones(64, 64, device="cuda"), ingot.zeros(1, 32, dtype=ingot.int64)
    steps = {f"{step.name}, traced": call_of(*prepared(step)) for step in small(Plan())}
    return {"x + y, traced": call_of(jit.trace(lambda x, y: x + y), [x, x.clone()]),
            "MLP, traced": forward(mlp(ingot, 784, 128, 128, 10), ingot.ones(1, 784)),
            "GPT 4 layers of 128, traced": forward(gpt(ingot, 64, 4, 128, 4, 32), ids), **steps}


def calls_of_sizes() -> dict:
    """Return constructors of a call for a size, by name; they make its operands before it is timed."""
    table, key, cache = (ingot.ones(*s, device="cuda") for s in ((64, 64), (1, 4, 1, 16), (2, 4, 4096, 16)))
    linear, norm = nn.Linear(64, 64).to("cuda"), nn.LayerNorm(64).to("cuda")
    net = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.LayerNorm(64), nn.Linear(64, 64)).to("cuda")

    def of(f, *shapes):
        """A function of arrays of these shapes, in which None is the size."""
        def make(n):
            given = [ingot.ones(*[n if s is None else s for s in shape], device="cuda") for shape in shapes or [(None, 64)]]
            return lambda: f(*given)
        return make

    def of_ids(f):
        def make(n):
            ids, x = ingot.zeros(n, dtype=ingot.int64, device="cuda"), ingot.ones(n, 64, device="cuda")
            return lambda: f(ids, x)
        return make

    def attention(x):
        return F.scaled_dot_product_attention(x, x, x)

    rows, heads = (64, None), (1, 4, None, 16)
    return {
        "x + y": of(lambda x, y: x + y, (None, 64), (None, 64)), "x * 0.5": of(lambda x: x * 0.5),
        "x += y": of(lambda x, y: x.add_(y), (None, 64), (None, 64)), "x.sum()": of(lambda x: x.sum()),
        "x.sum(0)": of(lambda x: x.sum(0)), "softmax": of(lambda x: x.softmax(-1), rows), "layer norm": of(norm),
        "x.T, copied": of(lambda x: x.T.contiguous()), "cat": of(lambda x, y: ingot.cat([x, y]), (None, 64), (3, 64)),
        "x[ids]": of_ids(lambda ids, x: table[ids]), "embedding": of_ids(lambda ids, x: F.embedding(ids, table)),
        "x @ w": of(lambda x: x @ table), "linear, taped": of(linear),
        "convolution": of(lambda x, w: F.conv1d(x, w), (2, 8, None), (8, 8, 3)),
        "attention": of(attention, heads), "cross entropy": of_ids(lambda ids, x: F.cross_entropy(x, ids)),
        "a decoder's cache": of(lambda k, q: F.scaled_dot_product_attention(q, k, k), heads, (1, 4, 1, 16)),
        "a cache joined": of(lambda k: ingot.cat([k, key], 2), heads),
        "a cache written": lambda n: lambda: cache[:, :, n % 4096].copy_(cache[:, :, 0]),
        "dropout": of(lambda x: F.dropout(x, 0.1)), "randn": lambda n: lambda: ingot.randn(n, 64, device="cuda"),
        "zeros": lambda n: lambda: ingot.zeros(n, 64, device="cuda"),
        "forward and backward, 4 layers": of(lambda x: net(x).sum().backward())}


def microseconds_of_sizes(make) -> float:
    """Processor time of a call of a size that is new."""
    found, n = [], FIRST_SIZE
    for _ in range(ROUNDS):
        made = [make(n + i) for i in range(SIZES_EACH)]
        n += SIZES_EACH
        start = time.thread_time()
        for call in made:
            call()
        found.append((time.thread_time() - start) / SIZES_EACH)
    return 1e6 * min(found)


def microseconds(call) -> float:
    """Processor time of one call."""
    for _ in range(WARM):
        call()
    start = time.thread_time()
    call()
    count = max(1, int(2e-3 / max(1e-7, time.thread_time() - start)))
    found = []
    for _ in range(ROUNDS):
        start = time.thread_time()
        for _ in range(count):
            call()
        found.append((time.thread_time() - start) / count)
    return 1e6 * min(found)


def main(argv=None) -> int:
    """Prints a line for each call whose name begins as one of those given, or for all."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu_host", description=__doc__)
    parser.add_argument("names", nargs="*", help="how names of calls begin (default: all)")
    args = parser.parse_args(argv)
    with NativeLedger():
        for suffix, table, measure in (("", calls() | traced(), microseconds),
                                       (", new sizes", calls_of_sizes(), microseconds_of_sizes)):
            for name, call in table.items():
                if not args.names or any((name + suffix).startswith(n) for n in args.names):
                    print(f"{name + suffix:<44} {measure(call):8.1f} us", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
