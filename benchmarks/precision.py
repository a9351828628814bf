"""Networks under autocast to bfloat16, with weights of int8 and in whole numbers (`quantized.py`), beside their own float32 and
what torch makes of them.
"""

import warnings

import ingot
from ingot import jit

from . import quantized
from .cases import direct_flops, quiet, randoms
from .harness import Case
from .libraries import libraries, weights_of
from .result import FLOAT32
from .sequences import mlp, transformer_stack

MEAN_BAR = None
BARS = {FLOAT32: 1.6, "best": 1.0, "eager": 1.0}
INT8_BARS = {FLOAT32: 2.0, "best": 1.0, "eager": 1.0}


def in_bfloat16(module, network):
    """A function that runs a network under autocast; its results are float32 again, so that they can be compared."""
    def run(*inputs):
        with module.autocast("cpu", dtype=module.bfloat16):
            return network(*inputs).float()

    return run


def in_int8(module, network):
    """A network whose linear modules have weights of int8."""
    with warnings.catch_warnings():         # torch says that this function of its own will move
        warnings.simplefilter("ignore")
        return module.ao.quantization.quantize_dynamic(network)


def low_case(name, build, arrays, plan, low, bars) -> Case:
    """A case of the network `build(lib)` in what `low` makes of it; its float32 is one more way of ours."""
    calls, weights, flops = {}, None, 0.0
    for lib in libraries(plan):
        lib.module.manual_seed(0)       # a few draws of int8 weights round beyond the bars
        network = build(lib.module).eval()
        weights = weights_of(network) if weights is None else weights
        lib.load(network, weights)
        inputs = [lib.tensor(a) for a in arrays]
        for label, way in lib.ways.items():
            calls[label] = quiet(lib.module, way(low(lib.module, network)), inputs)
        if lib.module is ingot:
            flops = direct_flops(network, inputs)
            calls[FLOAT32] = quiet(ingot, jit.trace(network), inputs)
    return Case(name, calls, flops=flops, tolerance=3e-2, bars=bars,
                note="the peak is that of float32")


def perceptron(plan):
    """1024-4096-4096-1024 on batches of 256."""
    batch, sizes = plan.pick((256, (1024, 4096, 4096, 1024)), (256, (1024, 2048, 2048, 1024)), (3, (8, 9, 10, 4)))
    yield low_case(f"MLP {sizes[1]} batch {batch}, bfloat16", lambda lib: mlp(lib, *sizes), [randoms(batch, sizes[0])], plan,
                   in_bfloat16, BARS)


def gpt2_bfloat16(plan):
    """GPT-2 small blocks, batch 1, length 256."""
    depth, width, heads, length = plan.pick((12, 768, 12, 256), (2, 768, 12, 256), (2, 8, 2, 7))

    def build(lib):
        return transformer_stack(lib, depth, width, heads)

    yield low_case(f"GPT-2 small {depth} layers, length {length}, bfloat16", build, [randoms(1, length, width)], plan,
                   in_bfloat16, BARS)


def mlp_int8(plan):
    """Layers of 4096 and of 768, batch 1: the time goes into reading weights."""
    for sizes in plan.pick(((4096, 4096, 4096), (768, 3072, 768)), ((768, 3072, 768),), ((8, 9, 4),)):
        yield low_case(f"MLP {sizes} batch 1, int8", lambda lib, sizes=sizes: mlp(lib, *sizes), [randoms(1, sizes[0])], plan,
                       in_int8, INT8_BARS)


WORKLOADS = {"mlp_bfloat16": perceptron, "gpt2_bfloat16": gpt2_bfloat16, "mlp_int8": mlp_int8, **quantized.WORKLOADS}
