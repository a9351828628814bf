"""On an NVIDIA GPU, beside torch eager and torch.compile, what is worth most first; without one each row says so.

Calls follow each other without waiting, as in a training loop, so what is timed is the longer of host and device. The share of
the peak is that of the card's own ceilings (`device.ceilings`): its copies, its bfloat16 products. The floor of a training step
is the least time of its launches on an H100, found without one (`gpu_ledger.py`): where a figure is far above, look there.
"""

from . import gpu_steps
from .cases import indices, randoms
from .device import case, ceilings, inference, on_device, with_attention_of_cudnn
from .gpu_tiles import tuned_tiles
from .result import Result
from .sequences import gpt, mlp

MEAN_BAR = None
STREAMED = {"peak": 0.85}               # of what a copy reaches
NEAR, FLASH = {"torch": 0.85}, {"torch": 0.8}


def reached(plan):
    """The ceilings of this card: copies, products in bfloat16, by the library that is best at them."""
    found = ceilings(plan)
    yield Result("ceilings", {}, peaks=found,
                 note=f"{found['bytes'] / 1e12:.2f} TB/s copying, {found['flops'] / 1e12:.0f} TFLOP/s in bfloat16 products")


def products(plan):
    """Matrix products: in bfloat16, and float32 with TF32 and without."""
    for n in plan.pick((4096, 8192), (4096,), (32,)):
        for dtype, precision, bars in (("bfloat16", "highest", NEAR), ("float32", "highest", {}), ("float32", "high", {})):
            kind = dtype if precision == "highest" else "tf32"
            if kind == "bfloat16" or n == plan.pick(4096, 4096, 32):
                yield case(f"matmul {kind} {n}^3", lambda lib: lambda x, y: x @ y, [randoms(n, n), randoms(n, n, seed=1)], plan,
                           dtype=dtype, precision=precision, compiled=False, flops=2 * n ** 3, bars=bars)


def elementwise(plan):
    """gelu(x * w + b) and a copy: the device's bandwidth."""
    rows, columns = plan.pick((16384, 4096), (16384, 1024), (8, 16))
    x, w, b = randoms(rows, columns), randoms(columns), randoms(columns, seed=1)
    for dtype, size in (("float32", 4), ("bfloat16", 2)):
        yield case(f"gelu(x * w + b) {dtype} {rows}x{columns}", lambda lib: lambda x, w, b: lib.nn.functional.gelu(x * w + b),
                   [x, w, b], plan, dtype=dtype, bytes=2 * size * x.size, bars=STREAMED)
    yield case(f"copy {rows}x{columns}", lambda lib: lambda x: x.clone(), [x], plan, compiled=False, bytes=8 * x.size,
               bars=STREAMED)


def row_operators(plan):
    """Softmax, layer norm and sums, forward; cross entropy with its gradient."""
    rows, columns = plan.pick((16384, 4096), (16384, 1024), (8, 16))
    x = randoms(rows, columns)
    for dtype, size in (("float32", 4), ("bfloat16", 2)):
        traffic = {"dtype": dtype, "bytes": 2 * size * x.size, "bars": STREAMED}
        yield case(f"softmax {dtype} {rows}x{columns}", lambda lib: lambda x: lib.softmax(x, 1), [x], plan, **traffic)
        yield case(f"layer_norm {dtype} {rows}x{columns}", lambda lib: lambda x: lib.nn.functional.layer_norm(x, (columns,)),
                   [x], plan, **traffic)
    for dim in (0, 1):
        yield case(f"sum over dim {dim} {rows}x{columns}", lambda lib, dim=dim: lambda x: x.sum(dim), [x], plan,
                   bytes=4 * x.size, bars=STREAMED)
    yield case(f"cross_entropy + backward {rows}x{columns}", with_gradient, [x, indices(columns, rows)], plan, grads=True,
               bytes=12 * x.size)


def with_gradient(lib):
    """Cross entropy, and the gradient of its logits."""
    def run(x, y):
        loss = lib.nn.functional.cross_entropy(x, y)
        loss.backward()
        grad, x.grad = x.grad, None
        return loss.detach(), grad

    return run


def device_attention(plan):
    """Attention in bfloat16 with 16 heads, forward, and with its gradients."""
    def attend(causal, backward):
        def make(lib):
            def run(q, k, v):
                out = lib.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
                if not backward:
                    return out
                out.backward(out.detach())
                grads = [t.grad for t in (q, k, v)]
                for t in (q, k, v):
                    t.grad = None
                return out.detach(), *grads

            return run
        return make

    batch, length = plan.pick((4, 2048), (4, 1024), (1, 32))
    for size, causal in ((64, True), (128, True), (64, False)):
        arrays = [randoms(batch, 16, length, size, seed=i) for i in range(3)]
        flops = 4 * batch * 16 * length ** 2 * size // (2 if causal else 1)
        for backward in (False, True):
            name = f"attention {'causal ' if causal else ''}{batch}x16x{length}x{size}{' + backward' if backward else ''}"
            yield case(name, attend(causal, backward), arrays, plan, dtype="bfloat16", compiled=False, grads=backward,
                       more=with_attention_of_cudnn, flops=flops * (3.5 if backward else 1), bars=FLASH)


def launches(plan):
    """Work that is over before it is launched: small networks, forward and whole steps, and one operator."""
    sizes = plan.pick((784, 128, 128, 10), (784, 128, 128, 10), (6, 5, 4))
    better = {"best": 1.0}
    yield case("MLP batch 1, forward", lambda lib: inference(lib, mlp(equally(lib), *sizes)), [randoms(1, sizes[0])], plan,
               small=True, tolerance=None, bars=better)
    form = plan.pick((64, 4, 128, 4, 32), (64, 4, 128, 4, 32), (11, 1, 8, 2, 5))
    yield case("GPT 4 layers of 128, batch 1, length 32, forward", lambda lib: inference(lib, gpt(equally(lib), *form)),
               [indices(form[0], 1, form[4])], plan, small=True, tolerance=None, bars=better)
    yield from (step.case(plan) for step in gpu_steps.small(plan))
    yield case("a + b, 8 floats", lambda lib: lambda x, y: x + y, [randoms(8), randoms(8, seed=1)], plan, compiled=False,
               bars={"eager": 1.0})


def equally(lib):
    """The library, its random numbers begun anew."""
    lib.manual_seed(0)
    return lib


def steps(make, *kinds):
    """The workload of some training steps."""
    def workload(plan):
        yield from (step.case(plan) for step in make(plan, *kinds))

    workload.__doc__ = f"Training steps: {make.__doc__[:-1]}{', ' if kinds else ''}{' '.join(kinds)}."
    return workload


def convolutions(plan):
    """The 3x3 and 1x1 layers of ResNet-50 with their gradients, in bfloat16."""
    layers = plan.pick(((64, 56), (128, 28), (256, 14), (512, 7)), ((128, 28),), ((4, 6),))
    batch = plan.pick(64, 16, 2)
    for channels, side in layers:
        for kernel, out in ((3, channels), (1, 4 * channels)):
            def make(lib, pad=kernel // 2):
                def run(x, w):
                    y = lib.nn.functional.conv2d(x, w, padding=pad)
                    y.backward(y.detach())
                    grads, x.grad, w.grad = (x.grad, w.grad), None, None
                    return y.detach(), *grads

                return run

            given = [randoms(batch, channels, side, side), randoms(out, channels, kernel, kernel) / (kernel * channels ** 0.5)]
            yield case(f"conv + backward {kernel}x{kernel} {channels}-{out} @{side} batch {batch}", make, given, plan,
                       dtype="bfloat16", compiled=False, grads=True, images=True,
                       flops=6 * batch * side ** 2 * channels * out * kernel ** 2)


# The most important first: a run that is cut off has it, and goes on from there with --resume.
WORKLOADS = {f"gpu_{name}": on_device(work) for name, work in {
    "ceilings": reached, "gpt2": steps(gpu_steps.gpt2, "bfloat16"), "resnet50": steps(gpu_steps.images, "bfloat16"),
    "attention": device_attention, "matmul": products, "launches": launches, "elementwise": elementwise, "rows": row_operators,
    "training": steps(gpu_steps.middling), "conv": convolutions, "gpt2_tf32": steps(gpu_steps.gpt2, "tf32"),
    "resnet50_tf32": steps(gpu_steps.images, "tf32"), "tiles": tuned_tiles}.items()}
