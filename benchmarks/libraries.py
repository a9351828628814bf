"""The libraries that are compared: ingot, and its peers where they are installed.

ingot and torch share one manner of writing (`lib.nn.Linear`, `lib.softmax`), so work is written once against a module `lib`.
Each has several *ways* to run a function: as it is, traced, compiled.
"""

import importlib.util
import io
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np

import ingot
from ingot import jit

PACKAGES = {"numpy": "numpy", "torch": "torch", "torch.compile": "torch", "torch.jit": "torch", "jax": "jax",
            "onnxruntime": "onnxruntime", "openvino": "openvino"}
NEEDED = {"onnxruntime": ("torch", "onnx"), "openvino": ("torch",)}     # what makes the model that they run
PROGRAMS = {"IMB": "IMB-MPI1"}                                          # peers that are no packages
SLOW_TO_COMPILE = ("torch.compile",)                                    # left out of quick runs


@cache
def installed(name: str) -> bool:
    """Whether all packages, or the program, that a peer needs are there."""
    if name in PROGRAMS:
        return shutil.which(PROGRAMS[name]) is not None
    return all(importlib.util.find_spec(p) is not None for p in (PACKAGES[name], *NEEDED.get(name, ())))


def present(plan) -> list[str]:
    """The peers of a run that are installed."""
    return [p for p in plan.peers if installed(p) and not (plan.quick and p in SLOW_TO_COMPILE)]


def environment(threads: int) -> dict[str, str]:
    """Variables that hold every library to a number of threads; some look at them only when they are loaded."""
    count = str(threads)
    names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "INGOT_NUM_THREADS", "NPROC")
    several = str(threads > 1).lower()
    return dict.fromkeys(names, count) | {"JAX_PLATFORMS": "cpu", "TF_CPP_MIN_LOG_LEVEL": "2",
                                          "XLA_FLAGS": f"--xla_cpu_multi_thread_eigen={several}"}


def set_threads(plan):
    """Holds the libraries of this process that can be told so to a number of threads."""
    ingot.set_num_threads(min(plan.threads, os.cpu_count() or 1))
    if "torch" in present(plan):
        import torch

        torch.set_num_threads(plan.threads)


@dataclass(frozen=True)
class Library:
    """A library in PyTorch's manner: its module, and the ways in which it runs a function."""

    name: str
    module: ModuleType
    ways: dict[str, Callable]

    def tensor(self, array: np.ndarray, requires_grad: bool = False):
        """A tensor with the values of an array, in memory of its own."""
        made = self.module.tensor(array)
        return made.requires_grad_() if requires_grad else made

    def load(self, network, weights: dict[str, np.ndarray]):
        """Copies weights into a network, which is given back."""
        network.load_state_dict({k: self.tensor(v) for k, v in weights.items()})
        return network


def libraries(plan, compiled: bool = True) -> list[Library]:
    """ingot, and torch if this run has it. Without `compiled`, torch is left as it is: where compiling changes nothing."""
    found = [Library("ingot", ingot, {"ingot": jit.trace, "ingot eager": as_it_is})]
    peers = present(plan)
    if "torch" in peers:
        import torch

        ways = {"torch": as_it_is}
        if compiled and "torch.compile" in peers:
            torch.compiler.reset()      # which gives up on functions of one text after a few of them
            ways["torch.compile"] = lambda fn: torch.compile(fn, dynamic=False)
        found.append(Library("torch", torch, ways))
    return found


def as_it_is(fn):
    """No compilation."""
    return fn


def weights_of(network, seed: int = 0) -> dict[str, np.ndarray]:
    """The state of an ingot network as arrays. Running statistics get values that tell a right affine map from a wrong one."""
    rng = np.random.default_rng(seed)
    found = {k: v.clone().numpy() for k, v in network.state_dict().items()}
    for key, value in found.items():
        if key.endswith("running_var"):
            value[...] = rng.uniform(0.5, 1.5, value.shape)
        elif key.endswith("running_mean"):
            value[...] = rng.normal(0, 0.1, value.shape)
    return found


# Other ways to run a finished torch model. Each gives a function of no arguments, made when it is first called.


def later(make: Callable[[], Callable]) -> Callable:
    """A function that is made at its first call, so that what fails to be made is found where calls are checked."""
    made: list[Callable] = []

    def call() -> Any:
        if not made:
            made.append(make())
        return made[0]()

    return call


def frozen_torch(model, inputs):
    """torch.jit, frozen and optimised for inference."""
    import torch

    with torch.no_grad():
        ready = torch.jit.optimize_for_inference(torch.jit.freeze(torch.jit.trace(model, inputs, check_trace=False)))
    return without_gradients(ready, inputs)


def channels_last_torch(model, inputs):
    """torch with images and filters in the other memory format; changes the model."""
    import torch

    model = model.to(memory_format=torch.channels_last)
    return without_gradients(model, [x.contiguous(memory_format=torch.channels_last) for x in inputs])


def without_gradients(model, inputs):
    """A function that calls a torch model."""
    import torch

    def call():
        with torch.inference_mode():
            return model(*inputs)

    return call


def onnxruntime_session(model, inputs, threads):
    """ONNX Runtime on the exported model."""
    import onnxruntime
    import torch

    file = io.BytesIO()
    torch.onnx.export(model, tuple(inputs), file, dynamo=False)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(file.getvalue(), options, providers=["CPUExecutionProvider"])
    given = {i.name: x.numpy() for i, x in zip(session.get_inputs(), inputs)}
    return lambda: session.run(None, given)


def openvino_model(model, inputs, threads):
    """OpenVINO on the converted model, in float32 and for latency."""
    import openvino

    converted = openvino.convert_model(model, example_input=tuple(inputs))
    ready = openvino.compile_model(converted, "CPU", {"INFERENCE_PRECISION_HINT": "f32", "PERFORMANCE_HINT": "LATENCY",
                                                      "INFERENCE_NUM_THREADS": threads})
    request, given = ready.create_infer_request(), [x.numpy() for x in inputs]
    return lambda: list(request.infer(given, share_inputs=True, share_outputs=True).values())
