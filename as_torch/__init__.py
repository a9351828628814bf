"""ingot under the name `torch`: after `import ingot.as_torch`, programs written for PyTorch import ingot.

`python -m ingot.as_torch program.py` does this for an unchanged program. Modules have one identity under both names: `torch.nn`
is `ingot.nn`. Child processes do the same, since the folder `name` comes first in PYTHONPATH. `private_names.py` is the table
of PyTorch's private names; they exist only after this import, and nothing outside this folder imports it.
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
from .private_names import put_in_place

RELEASE = "2.9.1"                       # version of PyTorch that libraries see; `name` holds its metadata
FOLDER = str(Path(__file__).parent / "name")
_INGOT = __package__.rpartition(".")[0]


class _SameModule(SameModule):
    """Loader of the module of ingot behind a name of PyTorch."""

    def exec_module(self, module):
        module.__spec__ = self.own_spec
        below = self.real + "."
        for name, file in list(sys.modules.items()):      # importing a file keeps the function of its name
            child = name.removeprefix(below)
            if name.startswith(below) and getattr(module, child, file) is not file:
                sys.modules.setdefault(f"{self.name}.{child}", file)


class TorchNames(MetaPathFinder):
    """Finder of `torch.nn.functional` as `ingot.nn.functional`."""

    def find_spec(self, name, path=None, target=None):
        head, _, tail = name.partition(".")
        if head != "torch":
            return None
        real = f"{_INGOT}.{tail}" if tail else _INGOT
        spec = importlib.util.find_spec(real)
        if spec is None:
            message = f"No module named {name!r}: ingot stands for PyTorch here, and has no {real!r}"
            raise ModuleNotFoundError(message, name=name)
        if name.endswith(".__main__"):                     # `python -m` runs a copy
            return importlib.util.spec_from_loader(name, spec.loader, origin=spec.origin)
        return importlib.util.spec_from_loader(name, _SameModule(name, real), is_package=True)


def install():
    """Make `torch` a name of ingot in this process and its children, and add PyTorch's private names, once."""
    ingot, there = sys.modules[_INGOT], sys.modules.get("torch")
    if there is ingot:
        return
    if there is not None and os.path.realpath(os.path.dirname(there.__file__ or "")) != os.path.realpath(FOLDER):
        raise ImportError("PyTorch has been imported already; `import ingot.as_torch` must come before")
    put_in_place()
    sys.meta_path.insert(0, TorchNames())
    sys.modules["torch"] = ingot
    version = TorchVersion(f"{RELEASE}+ingot.{VERSION}")
    call("torch")
    ingot.__name__ = "torch"                               # libraries read it; modules use `__package__`
    vars(ingot)["__version__"] = vars(importlib.import_module(f"{_INGOT}.version"))["__version__"] = version
    inherited = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    for folders in (sys.path, inherited):
        if FOLDER not in folders:
            folders.insert(0, FOLDER)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, inherited))


install()
