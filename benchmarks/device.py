"""Cases for a GPU: calls that queue, results that are fetched to be compared, and the ceilings of the card.

torch runs as those run it who want it quick: its fused Adam, images with their channels last where tensor cores multiply them,
cuDNN's convolutions chosen by trial.
"""

import statistics
from collections.abc import Callable
from functools import cache

import ingot

from .cases import bound, randoms
from .harness import Case, Queued, seconds_of
from .libraries import Library, libraries
from .result import Result

LOW = "bfloat16"
GRAPHS, ONE_GRAPH = "torch.compile graphs", "torch, one graph"
FUSED, IN_GRAPHS = {"fused": True}, {"fused": True, "capturable": True}
ADAM = {"torch": FUSED, "torch.compile": FUSED, GRAPHS: IN_GRAPHS, ONE_GRAPH: IN_GRAPHS}     # its options, by ways
WARM = 2                # calls before the one that is captured


def on_device(work: Callable) -> Callable:
    """The workload, or where there is no device one row that says what is missing."""
    def workload(plan):
        if ingot.cuda.is_available():
            yield from work(plan)
        else:
            yield Result(work.__name__, {}, note=f"not run: {ingot.cuda.why_not_available()}")
    workload.__doc__ = work.__doc__
    return workload


class Fetched(tuple):
    """Results on the device, which are copied when somebody looks at them."""

    def __new__(cls, out):
        return super().__new__(cls, out if isinstance(out, (tuple, list)) else (out,))

    def __iter__(self):
        return (x.detach().float().cpu() if x.dtype.is_floating_point else x.cpu() for x in super().__iter__())


def queued(lib: Library, call: Callable) -> Queued:
    """A call whose work goes on when it returns; its results stay on the device."""
    return Queued(lambda: Fetched(call()), lib.module.cuda.synchronize)


def in_graphs(libraries: list[Library]) -> list[Library]:
    """The libraries, torch also in its ways for work that launches cost more than computing: torch.compile's mode with CUDA
    graphs, and all of a call as one graph that the user captures."""
    for lib in libraries:
        if "torch.compile" in lib.ways:
            lib.ways[GRAPHS] = compiled_into_graphs
        if lib.name == "torch":
            lib.ways[ONE_GRAPH] = captured_by_hand
    return libraries


def compiled_into_graphs(fn):
    """A torch function by torch.compile with CUDA graphs, told where steps begin: results of the last one may go."""
    import torch

    compiled = torch.compile(fn, mode="reduce-overhead", dynamic=False)

    def run(*args):
        torch.compiler.cudagraph_mark_step_begin()
        return compiled(*args)

    return run


def captured_by_hand(fn):
    """A torch function as one CUDA graph, as PyTorch's notes on them have it: some calls on another stream first. Arguments
    must be the tensors of the first calls, whose memory the graph reads; its results are overwritten by the next call."""
    import torch

    side, graph, known = torch.cuda.Stream(), torch.cuda.CUDAGraph(), []

    def run(*args):
        if len(known) < WARM:
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                known.append(fn(*args))
            torch.cuda.current_stream().wait_stream(side)
            return known[-1]
        if len(known) == WARM:
            with torch.cuda.graph(graph):
                known.append(fn(*args))
        graph.replay()
        return known[-1]

    return run


def with_attention_of_cudnn(libraries: list[Library]) -> list[Library]:
    """The libraries, torch also with cuDNN's attention, which it may not choose by itself."""
    for lib in libraries:
        if lib.name == "torch":
            lib.ways["torch cuDNN"] = through_cudnn
    return libraries


def through_cudnn(fn):
    """A torch function whose attention is cuDNN's."""
    from torch.nn.attention import SDPBackend, sdpa_kernel

    def run(*args):
        with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
            return fn(*args)

    return run


def last(lib: Library, what):
    """Put an image, or a network for images, into channels-last layout for torch. ingot chooses that layout itself."""
    is_plain = lib.name != "torch" or getattr(what, "ndim", 4) != 4
    return what if is_plain else what.to(memory_format=lib.module.channels_last)


def case(name, make: Callable, arrays, plan, *, dtype="float32", compiled=True, precision="highest", grads=False, small=False,
         images=False, more: Callable = list, **facts) -> Case:
    """A case of the function `make(lib)` of tensors on the device; floats are cast to `dtype`. `precision` is that of float32
    products, `small` work also runs in torch's CUDA graphs, `images` lie as each library likes them best, and `more` gives
    libraries further ways."""
    calls, found = {}, more(libraries(plan, compiled))
    for lib in in_graphs(found) if small else found:
        set_precision(lib, precision)
        kind = getattr(lib.module, dtype)
        for label, way in lib.ways.items():
            given = [lib.tensor(a).cuda() for a in arrays]
            given = [last(lib, t) for t in given] if images else given
            given = [t.to(kind).requires_grad_(grads) if t.dtype.is_floating_point else t for t in given]
            calls[label] = queued(lib, bound(way(make(lib.module)), given))
    exact = dtype == "float32" and precision == "highest"
    return Case(name, calls, peaks=ceilings(plan), **({"tolerance": 2e-3 if exact else 2e-2} | facts))


def set_precision(lib: Library, precision: str):
    """How float32 is multiplied from now on: "highest" rounds as float32 does, "high" takes TF32 where a chip has it. And torch
    tries which of cuDNN's convolutions are quickest."""
    lib.module.set_float32_matmul_precision(precision)
    lib.module.backends.cudnn.allow_tf32 = precision != "highest"
    lib.module.backends.cudnn.benchmark = True


def training(name, build: Callable, arrays, plan, *, precision="highest", low=False, small=False, images=False,
             **facts) -> Case:
    """A case of whole training steps of a classifier with Adam; every way has a network of its own, and the losses of three
    steps are compared. With `low`, the forward pass is under autocast to bfloat16; `images` as above."""
    calls, weights, found = {}, None, libraries(plan)
    for lib in in_graphs(found) if small else found:
        set_precision(lib, precision)
        for label, way in lib.ways.items():
            network = build(lib.module)
            if weights is None:
                weights = {k: v.numpy().copy() for k, v in network.state_dict().items()}
            lib.load(network, weights).to("cuda")
            given = [lib.tensor(a).cuda() for a in arrays]
            if images:
                network, given = last(lib, network), [last(lib, t) for t in given]
            calls[label] = queued(lib, bound(way(fitting(lib.module, network, low, ADAM.get(label, {}))), given))
    return Case(name, calls, checks=3, peaks=ceilings(plan), **({"tolerance": 5e-2 if low else 1e-2} | facts))


def fitting(lib, network, low, how=None) -> Callable:
    """A training step; `how` are options of Adam."""
    optimizer = lib.optim.Adam(network.parameters(), lr=1e-3, **(how or {}))

    def step(x, y):
        optimizer.zero_grad()
        with lib.amp.autocast("cuda", dtype=getattr(lib, LOW), enabled=low):
            logits = network(x)
            loss = lib.nn.functional.cross_entropy(logits.reshape(-1, logits.shape[-1]), y.reshape(-1))
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step


def inference(lib, network) -> Callable:
    """The network without gradients, on the device."""
    network = network.to("cuda").eval()

    def run(x):
        with lib.no_grad():
            return network(x)

    return run


@cache
def ceilings(plan) -> dict[str, float]:
    """The most bytes a second that a copy of one library reaches on this card, read and written, and the most multiplications
    and additions a second of its bfloat16 products (cuBLAS, where torch is here)."""
    found = {"bytes": 0.0, "flops": 0.0}
    for lib in libraries(plan, compiled=False):
        for kind, work, call in ceiling_calls(lib, plan):
            found[kind] = max(found[kind], work / best_of(queued(lib, call), plan))
    return found


def ceiling_calls(lib: Library, plan) -> list:
    """(which ceiling, its work, the call that does it) of a library."""
    n, count = plan.pick(8192, 4096, 16), plan.pick(1 << 28, 1 << 26, 64)
    x, y = lib.module.zeros(count, device="cuda"), lib.module.zeros(count, device="cuda")
    a, b = (lib.tensor(randoms(n, n, seed=s)).cuda().to(getattr(lib.module, LOW)) for s in (0, 1))
    return [("bytes", 8 * count, lambda: y.copy_(x)), ("flops", 2 * n ** 3, lambda: a @ b)]


def best_of(call: Queued, plan) -> float:
    """Seconds of a call, in the median of some timings of several."""
    seconds_of(call, 3)
    rounds, count = plan.pick((7, 10), (5, 5), (1, 1))
    return statistics.median(seconds_of(call, count) for _ in range(rounds)) / count
