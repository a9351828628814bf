"""Choice among several configurations of a kernel.

By default it is the first one, the same in every process. With INGOT_CUDA_TUNE=1 child processes compile all of them. Those
that need too much shared memory or spill registers (the first may) are dropped, and the rest are timed on the device with
events. The result is cached on disk by kernel, sizes and chip, for later processes that tune.
"""

import hashlib
import json
import os
import pickle
import subprocess
import sys
from collections.abc import Callable

from ....ir import config
from ....ir.errors import DeviceError
from ....ir.locks import new_rlock
from ...cpu.compiler import cache
from ..driver import context as contexts
from ..driver import streams
from ..driver.driver_state import DriverCache
from . import compile as compiler
from .kernels import launch, variant
from .launch import function

_WARM, _ROUNDS, _LAUNCHES = 2, 3, 5
_MOST_CHILDREN = 8
_CHILD = "import sys; from {package} import compile; sys.exit(compile.build_all(sys.stdin.buffer))"
_chosen = DriverCache()
measured = DriverCache()     # (key, first candidate) -> (seconds, candidate) of each, the quickest first
_lock = new_rlock()


def best(key: tuple, candidates: list, prepare: Callable, device: int):
    """Return the best candidate.

    `prepare(candidate)` returns (variant, run): the variant that it compiles, and a launch on data that may be overwritten.
    """
    if len(candidates) == 1 or not config.current().cuda_tune:
        return candidates[0]
    digest = hashlib.sha256(repr((key, candidates, contexts.context(device).name)).encode()).hexdigest()
    found = _chosen.get((device, digest))
    if found is None and not streams.is_current_stream_capturing():
        with _lock:
            found = _chosen.get((device, digest))
            if found is None:
                found = _stored(key, digest, candidates) or _timed(key, digest, candidates, prepare, device)
                _chosen[device, digest] = found
    return candidates[0] if found is None else found


def launch_best(mark: tuple, candidates: list, device: int, source, arrays, sizes, how: Callable):
    """Launch a hand-written kernel with the best candidate.

    `how(candidate)` returns ((constants, warps, grid), stages); other arguments are those of `kernels.launch`. `mark` tells
    launches of one source and the same sizes apart.
    """
    def prepare(candidate):
        given = device, source, arrays, sizes, *how(candidate)
        return variant(*given), lambda: launch(*given)

    key = source.name, source.text, *mark, *sizes.items()
    launch(device, source, arrays, sizes, *how(best(key, candidates, prepare, device)))


def _stored(key, digest, candidates):
    """Return the result of an earlier process, or None."""
    entry = cache.load(digest, "tuned")
    times = json.loads(entry[0]) if entry is not None and entry[0][:1] == b"[" else []
    return _quickest(key, candidates, times) if len(times) == len(candidates) else None


def _quickest(key, candidates, times):
    """Return the candidate with the least time (None: unfit), or the first one."""
    fit = sorted((seconds, number) for number, seconds in enumerate(times) if seconds is not None)
    measured[key, candidates[0]] = [(seconds, candidates[number]) for seconds, number in fit]
    return candidates[fit[0][1]] if fit else candidates[0]


def _timed(key, digest, candidates, prepare, device):
    """Time the candidates, store the times on disk, and return the quickest."""
    runs = [(c, *prepare(c)) for c in candidates]
    compile_together([variant for _, variant, _ in runs])
    times = [_seconds(run, device) if _is_fit(variant, device, n == 0) else None for n, (_, variant, run) in enumerate(runs)]
    found = _quickest(key, candidates, times)
    if any(t is not None for t in times):
        cache.store(digest, json.dumps(times).encode(), kind="tuned")
    if config.current().debug >= 1:
        print(f"cuda: {found} of {len(candidates)} for {runs[0][1].source.name}", file=sys.stderr)
    return found


def _is_fit(variant, device, may_spill) -> bool:
    """Return whether the chip has the shared memory and registers that a variant needs."""
    try:
        binary = compiler.compiled(variant)
        return (binary.shared <= contexts.context(device).shared_memory and (may_spill or not binary.spills)
                and bool(function(device, binary)))
    except DeviceError:
        return False


def _seconds(run, device) -> float:
    stream = streams.current(device)
    for _ in range(_WARM):
        run()
    found = []
    for _ in range(_ROUNDS):
        start, end = streams.Event(True), streams.Event(True)
        start.record(stream)
        for _ in range(_LAUNCHES):
            run()
        end.record(stream)
        end.synchronize()
        found.append(start.elapsed_time(end))
    return min(found) / _LAUNCHES / 1e3


def compile_together(variants):
    """Compile missing variants in several child processes; their failures are left to this process."""
    wanted = [v for v in dict.fromkeys(variants) if not compiler.is_there(v)]
    count = min(_MOST_CHILDREN, len(wanted), max(1, (os.cpu_count() or 2) // 2))
    if count < 2:
        return
    command = [sys.executable, "-c", _CHILD.format(package=__package__)]
    children = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                for _ in range(count)]
    for n, child in enumerate(children):
        assert child.stdin is not None
        child.stdin.write(pickle.dumps(wanted[n::count]))
        child.stdin.close()
    for child in children:
        child.wait()
