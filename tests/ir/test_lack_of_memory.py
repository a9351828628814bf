"""Memory that runs out: the error says so, nothing is half done, and the call works once there is memory again."""

import contextlib
import errno
import importlib
import itertools
import os
import re
import subprocess
import sys

import pytest

import ingot
import scarce_memory
from ingot.ir.errors import is_lack_of_memory
from ingot.ir.tracebacks import explain_lack_of_memory
from ingot.runtime.cpu.compiler import compile as compiler
from ingot.runtime.cpu.memory import alloc, heap
from ingot.runtime.nn import functional as F

SIZES = itertools.count(301, 2)         # of arrays that are large enough for the heap; kernels of a new size may be compiled
WORDS = "no memory"


def caused(error, cause):
    error.__cause__ = cause
    return error


def handled(error, context):
    error.__context__ = context
    return error


LOADER = "libx.so: failed to map segment from shared object"
ERRORS = {
    "of Python": (MemoryError(), True),
    "of the system": (OSError(errno.ENOMEM, os.strerror(errno.ENOMEM)), True),
    "of the loader": (OSError(LOADER), True),
    "of the loader of extensions": (ImportError(LOADER), True),
    "of threads' data": (OSError("libx.so: cannot allocate memory in static TLS block"), True),
    "under another error": (handled(OSError("could not load"), OSError(LOADER)), True),
    "as the cause": (caused(ValueError("no"), MemoryError()), True),
    "a missing file": (OSError(errno.ENOENT, "no such file"), False),
    "a missing package": (ModuleNotFoundError("No module named 'llvmlite'"), False),
    "a text of a user": (ValueError(LOADER), False),
}


@pytest.mark.parametrize("case", ERRORS)
def test_a_lack_of_memory_is_told_from_other_errors(case):
    error, expected = ERRORS[case]
    assert is_lack_of_memory(error) is expected


@pytest.mark.parametrize(("error", "expected"), [
    (handled(OSError("could not find or load libllvmlite.so"), OSError(LOADER)), "no memory is left to load LLVM"),
    (MemoryError(), "no memory is left to load LLVM"),
    (handled(OSError("could not find or load libllvmlite.so"), OSError("libz.so: no such file")), "cannot be loaded: libz.so"),
    (ModuleNotFoundError("No module named 'llvmlite'"), "is not installed"),
])
def test_a_compiler_that_cannot_be_loaded_says_why(error, expected, monkeypatch):
    def fail(name):
        raise error

    monkeypatch.setattr(importlib, "import_module", fail)
    with pytest.raises(ingot.IngotError, match=expected) as caught:
        compiler._binding()
    assert isinstance(caught.value, ingot.OutOfMemoryError) is is_lack_of_memory(error)


def test_an_empty_error_gets_a_note_where_it_met_ingot_alone(monkeypatch):
    def fail(self, size):
        raise MemoryError

    with monkeypatch.context() as patch, pytest.raises(MemoryError) as caught:
        alloc.empty_cache()
        patch.setattr(heap.Heap, "take", fail)
        ingot.zeros(300, 300)
    assert not caught.value.args and ["no memory is left" in note for note in caught.value.__notes__] == [True]
    explain_lack_of_memory(caught.value)
    assert len(caught.value.__notes__) == 1
    try:
        raise MemoryError
    except MemoryError as error:
        explain_lack_of_memory(error)
        assert not hasattr(error, "__notes__")


# Each request for memory fails once.


def drawn(*shape):
    return ingot.randn(*shape, generator=ingot.Generator().manual_seed(5))


def trained(n):
    layer = ingot.nn.Linear(n, 300)
    layer(drawn(300, n)).square().sum().backward()
    return layer.weight.grad


CALLS = {
    "add": lambda n: drawn(n, 300) + 1,
    "product": lambda n: drawn(n, 300) @ drawn(300, n),
    "cdist": lambda n: ingot.cdist(drawn(n, 9), drawn(n, 9)),
    "unique": lambda n: drawn(n, 300).round().unique(),
    "sort": lambda n: drawn(n, 300).sort().values,
    "softmax": lambda n: drawn(n, 300).softmax(1),
    "tolist": lambda n: ingot.tensor((drawn(n, 300) * 2).tolist()),
    "conv2d": lambda n: F.conv2d(drawn(1, 2, n, 300), drawn(3, 2, 3, 3)),
    "index": lambda n: drawn(n, 300)[ingot.arange(n).flip(0)],
    "einsum": lambda n: ingot.einsum("ij,kj->ik", drawn(n, 300), drawn(n, 300)),
    "vmap": lambda n: ingot.vmap(lambda row: row.cumsum(0))(drawn(n, 300)),
    "backward": trained,
}


@pytest.mark.parametrize("name", CALLS)
def test_a_call_says_that_memory_ran_out_and_works_once_there_is_some(name, monkeypatch):
    call = CALLS[name]
    for steps in itertools.count():
        n = next(SIZES)
        with scarce_memory.memory_for(monkeypatch, steps) as requests:
            try:
                ingot.manual_seed(0)
                call(n)
            except MemoryError as error:
                assert type(error) is ingot.OutOfMemoryError and WORDS in str(error), steps
        if not requests.failed:
            break
        ingot.manual_seed(0)
        again = call(n)
        ingot.manual_seed(0)
        assert ingot.equal(again, call(n)), steps
    assert steps


NORMS = {          # layer and sizes of an input behind that of the batch
    "BatchNorm1d": (lambda: ingot.nn.BatchNorm1d(3), (3, 400)),
    "BatchNorm2d": (lambda: ingot.nn.BatchNorm2d(3), (3, 20, 20)),
    "mean over all batches": (lambda: ingot.nn.BatchNorm2d(3, momentum=None), (3, 20, 20)),
    "no parameters": (lambda: ingot.nn.BatchNorm3d(3, affine=False), (3, 4, 10, 10)),
    "float64": (lambda: ingot.nn.BatchNorm2d(3, dtype=ingot.float64), (3, 20, 20)),
    "bfloat16": (lambda: ingot.nn.BatchNorm2d(3, dtype=ingot.bfloat16), (3, 20, 20)),
    "InstanceNorm2d": (lambda: ingot.nn.InstanceNorm2d(3, track_running_stats=True), (3, 20, 20)),
    "many channels": (lambda: ingot.nn.BatchNorm1d(50_000), (50_000,)),
    "many channels, no momentum": (lambda: ingot.nn.BatchNorm1d(50_000, momentum=None), (50_000,)),
}


@pytest.mark.parametrize("name", NORMS)
def test_statistics_stay_where_a_batch_norm_has_no_memory(name, monkeypatch):
    make, shape = NORMS[name]
    for steps in itertools.count():
        layer = make()
        x = drawn(next(SIZES) if shape[0] == 3 else 3 + steps, *shape).to(layer.running_mean.dtype)
        before = {key: value.clone() for key, value in layer.state_dict().items()}
        with scarce_memory.memory_for(monkeypatch, steps), contextlib.suppress(MemoryError):
            layer(x)
            break
        changed = [key for key, value in layer.state_dict().items() if not ingot.equal(value, before[key])]
        assert not changed, steps


# A limit of the system, in a process of its own.


SPARE = "100007", "1000003", "30000017", "90000049"          # bytes that a process may take before the call

PROGRAM = """
import re, resource, sys
import ingot

CALLS = {
    "compiles": lambda n: ingot.cdist(x[:n], x[:n]),
    "tolist": lambda n: ingot.zeros(n * 2000).tolist(),
    "trains": lambda n: (ingot.nn.functional.gelu(x[:n]) @ x[:n].T.detach()).sum().backward(),
}
x = ingot.rand(3000, 8, requires_grad=True)
call, free = CALLS[sys.argv[1]], resource.RLIM_INFINITY
for spare in map(int, sys.argv[2:]):
    taken = int(re.search(r"VmSize:\\s+(\\d+)", open("/proc/self/status").read())[1]) << 10
    resource.setrlimit(resource.RLIMIT_AS, (taken + spare, free))
    try:
        call(1500 + spare % 1000)
        said = "nothing"
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
    resource.setrlimit(resource.RLIMIT_AS, (free, free))
    print(spare, said.splitlines()[0])
call(1500)
print("works")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("call", ["compiles", "tolist", "trains"])
def test_a_process_at_its_limit_says_that_memory_ran_out(call, tmp_path):
    environment = {**os.environ, "INGOT_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", PROGRAM, call, *SPARE],
                          env=environment, capture_output=True, text=True, timeout=120, check=False)
    *said, last = done.stdout.splitlines()
    assert last == "works" and len(said) == len(SPARE), done.stderr
    assert call != "tolist" or said[-1].startswith(f"{SPARE[-1]} OutOfMemoryError: tolist"), said
    told = [line for line in said if not line.endswith("nothing")]
    assert told and all(re.search("Memory", line) and re.search("memory", line) for line in told), said
