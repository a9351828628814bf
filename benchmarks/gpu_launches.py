"""Drivers that do nothing: a quick one, and one that records what kernels of a step were launched with. A module of its
own: what `python -m` runs counts as a user's, and calls of a user's driver amid a step keep it from being traced.
"""

import ctypes

from ingot.runtime.cuda.compiler import compile as compiler
from ingot.runtime.cuda.compiler import kernels, launch
from ingot.runtime.cuda.offline import cost_model


class Unwatched(cost_model.Ledger):
    """The ledger's driver, which does nothing, without the ledger, whose looking on takes time."""

    def __enter__(self):
        entered = super().__enter__()
        self._watching = kernels.OBSERVERS.pop(), kernels.LISTENERS.pop()
        return entered

    def __exit__(self, *exc):
        for found, one in zip((kernels.OBSERVERS, kernels.LISTENERS), self._watching):
            found.append(one)
        super().__exit__(*exc)

    def cuStreamEndCapture(self, stream, out):
        """Return a handle; the driver records no nodes of the graph."""
        return self._handle(out)

    def cuGraphInstantiateWithFlags(self, out, graph, flags):
        """The graph, ready to run."""
        return self._handle(out)


class Launches(cost_model.Ledger):
    """A ledger that numbers kernels by what they were launched with: `launched_by_name[name]` is (variant, grid, block of
    parameters)."""

    def __init__(self, arch):
        super().__init__(arch)
        self.launched_by_name: dict = {}
        self._known: dict = {}

    def cuLaunchKernelEx(self, config, function, parameters, extra):
        """A launch."""
        code = self.modules[function]
        variant, binary = next((v, b) for v, b in compiler.binaries().items() if b.code == code)
        block = ctypes.string_at(ctypes.c_void_p.from_address(parameters).value, binary.offsets[-1] + 8)
        grid, pointers = launch.grid_of(config), [k[0] == "*" for k in variant.signature().values() if k != "constexpr"]
        numbers = tuple([block[o:o + 8] for o, is_pointer in zip(binary.offsets, pointers) if not is_pointer])
        name = self._known.setdefault((code, grid, numbers), f"{binary.name} {len(self._known)}")
        self.launched_by_name.setdefault(name, (variant, grid, block))
        return self._log(name, grid, 0, 0)
