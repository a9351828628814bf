"""PyTorch's private paths for tests: `import ingot.as_torch`, and `torch` stays free for PyTorch.

Importing this module makes `ingot._dynamo`, `ingot._C` and the like importable in this process, and undoes the rest.
"""

import os
import sys

import ingot
from ingot import version
from ingot.ir.package_name import call


def _install_without_name():
    pytorch = {name: sys.modules.pop(name) for name in [*sys.modules] if name.partition(".")[0] == "torch"}
    saved = ingot.__version__, version.__version__, ingot.__name__, [*sys.path], os.environ.get("PYTHONPATH")
    finders = [*sys.meta_path]
    from ingot import as_torch
    sys.meta_path[:] = [f for f in sys.meta_path if f in finders or type(f) is not as_torch.TorchNames]
    ingot.__version__, version.__version__, ingot.__name__, sys.path[:], inherited = saved
    if inherited is None:
        os.environ.pop("PYTHONPATH", None)
    else:
        os.environ["PYTHONPATH"] = inherited
    call("ingot")
    for name in [name for name in sys.modules if name.partition(".")[0] == "torch"]:
        del sys.modules[name]
    sys.modules.update(pytorch)


_install_without_name()
