"""PyTorch's name for ingot: after `import ingot.as_torch`, `import torch` gives ingot, so programs and libraries that were
written for PyTorch run as they are. `python -m ingot.as_torch program.py` does it for a program whose text stays untouched.

Modules have one identity, whichever name they came by: `torch.nn` is `ingot.nn`. Programs that such a program starts, and the
processes of its workers, find the same, for the folder `name` is put in front of PYTHONPATH.
"""

import importlib
import importlib.util
import os
import sys
from importlib.abc import MetaPathFinder
from pathlib import Path

from ..ir.package_name import call
from ..ir.version import VERSION
from ..paths import SameModule
from ..runtime.namespaces.torch_version import TorchVersion

RELEASE = "2.9.1"                       # of PyTorch, which libraries ask for; `name` holds what installers would say of it
FOLDER = str(Path(__file__).parent / "name")
_INGOT = __package__.rpartition(".")[0]


class _SameModule(SameModule):
    """Hands out the module of ingot that stands behind a name of PyTorch's."""

    def exec_module(self, module):
        module.__spec__ = self.own_spec
        below = self.real + "."
        for name, file in list(sys.modules.items()):      # importing a file must not replace a function that has its name
            child = name.removeprefix(below)
            if name.startswith(below) and getattr(module, child, file) is not file:
                sys.modules.setdefault(f"{self.name}.{child}", file)


class TorchNames(MetaPathFinder):
    """Finds `torch.nn.functional` as `ingot.nn.functional`."""

    def find_spec(self, name, path=None, target=None):
        head, _, tail = name.partition(".")
        if head != "torch":
            return None
        real = f"{_INGOT}.{tail}" if tail else _INGOT
        spec = importlib.util.find_spec(real)
        if spec is None:
            said = f"No module named {name!r}: ingot stands for PyTorch here, and has no {real!r}"
            raise ModuleNotFoundError(said, name=name)
        if name.endswith(".__main__"):                     # what `python -m` runs is read under its own name, not shared
            return importlib.util.spec_from_loader(name, spec.loader, origin=spec.origin)
        return importlib.util.spec_from_loader(name, _SameModule(name, real), is_package=True)


def install():
    """Makes `torch` a name of ingot's in this process and those that it starts; once is enough."""
    ingot, there = sys.modules[_INGOT], sys.modules.get("torch")
    if there is ingot:
        return
    if there is not None and os.path.realpath(os.path.dirname(there.__file__ or "")) != os.path.realpath(FOLDER):
        raise ImportError("PyTorch has been imported already; `import ingot.as_torch` must come before")
    sys.meta_path.insert(0, TorchNames())
    sys.modules["torch"] = ingot
    version = TorchVersion(f"{RELEASE}+ingot.{VERSION}")
    call("torch")
    ingot.__name__ = "torch"                               # libraries look: modules find their own by `__package__`
    vars(ingot)["__version__"] = vars(importlib.import_module(f"{_INGOT}.version"))["__version__"] = version
    inherited = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    for folders in (sys.path, inherited):
        if FOLDER not in folders:
            folders.insert(0, FOLDER)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, inherited))


install()
