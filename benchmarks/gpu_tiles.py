"""Every candidate of the kernels that have several, timed on the device: what defaults can be chosen from."""

import os
from contextlib import contextmanager

import ingot
from ingot.ir import config
from ingot.runtime.cuda.compiler import tuning

from .cases import randoms
from .device import LOW, set_precision
from .libraries import libraries
from .result import Result, in_words

SHOWN = 4          # candidates that a row names


def tuned_tiles(plan):
    """Tiles of products, attention and convolutions: the quickest and the default; a ratio above 1 is what trying gains."""
    for name, work in shapes(plan):
        before = list(tuning.measured)
        with trying():
            work()
        for key in [k for k in tuning.measured if k not in before]:
            yield row(f"{name}: {key[0][0]}", key[1], tuning.measured[key])


@contextmanager
def trying():
    """Lets candidates be tried, in the settings of the process: kernels run in contexts of their own."""
    was = os.environ.get("INGOT_CUDA_TUNE")
    os.environ["INGOT_CUDA_TUNE"] = "1"
    config.process_settings.cache_clear()
    try:
        yield
    finally:
        if was is None:
            del os.environ["INGOT_CUDA_TUNE"]
        else:
            os.environ["INGOT_CUDA_TUNE"] = was
        config.process_settings.cache_clear()


def row(name, default, times) -> Result:
    """Return the fastest tiles of one kernel as a result."""
    if not times:
        return Result(name, {}, note="no candidate is fit")
    line = ", ".join([f"{in_words(seconds)} {candidate}" for seconds, candidate in times[:SHOWN]])
    usual = [("the default", seconds) for seconds, candidate in times if candidate == default]
    return Result(name, {"ingot": times[0][0], **dict(usual)}, note=f"{len(times)} fit: {line}")


def shapes(plan) -> list:
    """Return (name, work) of each kernel to try."""
    mine = libraries(plan, compiled=False)[0]

    def tensors(*sizes, dtype=LOW, grads=False):
        return [mine.tensor(randoms(*s, seed=i) / s[-1] ** 0.5).cuda().to(getattr(ingot, dtype)).requires_grad_(grads)
                for i, s in enumerate(sizes)]

    def product(m, k, n, dtype=LOW, precision="highest"):
        def work():
            set_precision(mine, precision)
            x, y = tensors((m, k), (k, n), dtype=dtype)
            x @ y
        return f"{m}x{k} @ {k}x{n} {dtype if precision == 'highest' else 'tf32'}", work

    def attention(batch, length, size, causal):
        def work():
            q, k, v = tensors(*[(batch, 16, length, size)] * 3, grads=True)
            ingot.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal).sum().backward()
        return f"attention {batch}x16x{length}x{size}{' causal' if causal else ''}", work

    def layer(batch, channels, side, dtype=LOW):
        def work():
            set_precision(mine, "highest")
            x, w = tensors((batch, channels, side, side), (channels, channels, 3, 3), dtype=dtype, grads=True)
            ingot.nn.functional.conv2d(x, w, padding=1).sum().backward()
        return f"conv 3x3 {channels} @{side} batch {batch} {dtype}", work

    if plan.tiny:
        return [product(32, 32, 32), attention(1, 20, 16, True), layer(2, 16, 6)]
    wide = [(4096, 4096, 4096), (8192, 8192, 8192), (8192, 768, 2304), (8192, 768, 3072), (8192, 3072, 768), (8192, 768, 50257)]
    found = [product(*s) for s in (wide if not plan.quick else wide[:1])]
    found += [attention(4, 2048, 64, True), attention(4, 2048, 128, True), attention(4, 2048, 64, False)]
    found += [product(*s, dtype="float32", precision=p) for s in ((4096, 4096, 4096), (4096, 384, 1536))
              for p in ("highest", "high")]
    found += [layer(64, c, side) for c, side in ((64, 56), (128, 28), (256, 14), (512, 7))]
    return found + [layer(64, 128, 28, dtype="float32")]
