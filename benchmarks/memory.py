"""The most memory that networks need, traced and eager, beside torch; each in a process of its own."""

import importlib

import ingot
from ingot import jit

from . import training
from .cases import randoms
from .harness import Plan
from .libraries import as_it_is, present
from .result import Result
from .sequences import transformer_stack
from .subprocesses import started
from .vision import resnet18

MEAN_BAR = None


def way_of(library):
    """(module, how it runs a function) of a label."""
    return (ingot, jit.trace if library == "ingot" else as_it_is) if library.startswith("ingot") else \
        (importlib.import_module(library), as_it_is)


def answering(build, *shape):
    """Makes calls of a network at inference."""
    def make(lib, way):
        run, x = way(build(lib).eval()), lib.tensor(randoms(*shape))

        def call():
            with lib.no_grad():
                return run(x)
        return call
    return make


def learning(task):
    """Makes training steps of a task of `training`, in the sizes of quick runs."""
    def make(lib, way):
        work = task(Plan(quick=True))
        _, step = work.fitting(lib)
        run, inputs = way(step), [lib.tensor(a) for a in work.arrays]
        return lambda: run(*inputs)
    return make


WORK = {
    "ResNet-18 inference": answering(resnet18, 1, 3, 224, 224),
    "transformer inference": answering(lambda lib: transformer_stack(lib, 4, 768, 12), 1, 256, 768),
    "MLP training": learning(training.mlp_adam),
    "MNIST CNN training": learning(training.mnist_sgd),
    "ResNet-18 32x32 training": learning(training.resnet_momentum),
    "GPT training": learning(training.gpt_adamw),
}


def needed(work, library, plan) -> float:
    """Bytes; of ingot those of a second process, which finds compiled what the first has compiled."""
    runs = [started("peak_memory", plan, work=work, library=library)["bytes"] for _ in range(2 if library == "ingot" else 1)]
    return float(runs[-1])


def peak(plan):
    """Resident memory at most, beyond that of the process before."""
    names = plan.pick(list(WORK), ["MLP training"], ["MLP training"])
    for name in names:
        libraries = ["ingot", "ingot eager", *(["torch"] if "torch" in present(plan) else [])]
        found = {library: needed(name, library, plan) for library in libraries}
        yield Result(f"peak memory, {name}", found, unit="B", bars={"best": 1.0})


WORKLOADS = {"peak_memory": peak}
