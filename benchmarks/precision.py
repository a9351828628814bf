"""Networks bound by matrix products under autocast to bfloat16, beside their own float32 and torch's autocast."""

import ingot
from ingot import jit

from .cases import direct_flops, quiet, randoms
from .harness import Case
from .libraries import libraries, weights_of
from .result import FLOAT32
from .sequences import mlp, transformer_stack

MEAN_BAR = None
BARS = {FLOAT32: 1.6, "best": 1.0, "eager": 1.0}


def in_bfloat16(module, network):
    """A function that runs a network under autocast; its results are float32 again, so that they can be compared."""
    def run(*inputs):
        with module.autocast("cpu", dtype=module.bfloat16):
            return network(*inputs).float()

    return run


def autocast_case(name, build, arrays, plan) -> Case:
    """A case of the network `build(lib)`, whose float32 is one more way of ours."""
    calls, weights, flops = {}, None, 0.0
    for lib in libraries(plan):
        network = build(lib.module).eval()
        weights = weights_of(network) if weights is None else weights
        lib.load(network, weights)
        inputs = [lib.tensor(a) for a in arrays]
        for label, way in lib.ways.items():
            calls[label] = quiet(lib.module, way(in_bfloat16(lib.module, network)), inputs)
        if lib.module is ingot:
            flops = direct_flops(network, inputs)
            calls[FLOAT32] = quiet(ingot, jit.trace(network), inputs)
    return Case(name, calls, flops=flops, tolerance=3e-2, bars=BARS,
                note="the peak is that of float32")


def perceptron(plan):
    """1024-4096-4096-1024 on batches of 256."""
    batch, sizes = plan.pick((256, (1024, 4096, 4096, 1024)), (256, (1024, 2048, 2048, 1024)), (3, (8, 9, 10, 4)))
    yield autocast_case(f"MLP {sizes[1]} batch {batch}, bfloat16", lambda lib: mlp(lib, *sizes),
                        [randoms(batch, sizes[0])], plan)


def gpt2_bfloat16(plan):
    """GPT-2 small blocks, batch 1, length 256."""
    depth, width, heads, length = plan.pick((12, 768, 12, 256), (2, 768, 12, 256), (2, 8, 2, 7))
    yield autocast_case(f"GPT-2 small {depth} layers, length {length}, bfloat16",
                        lambda lib: transformer_stack(lib, depth, width, heads), [randoms(1, length, width)], plan)


WORKLOADS = {"mlp_bfloat16": perceptron, "gpt2_bfloat16": gpt2_bfloat16}
