"""The table of PyTorch's private names: each row has a target, and names exist only after `import ingot.as_torch`."""

import importlib
import subprocess
import sys

import pytest

import ingot
import private_names  # noqa: F401
from ingot import paths
from ingot.as_torch import private_names as table

ROWS = [(path, name) for path, names in table.NAMES.items() for name in names]


@pytest.mark.parametrize("path", table.MODULES)
def test_each_module_is_found(path):
    assert importlib.import_module(f"ingot.{path}").__name__ == f"ingot.{table.MODULES[path]}"


@pytest.mark.parametrize("path, name", ROWS)
def test_each_name_is_found(path, name):
    found = getattr(importlib.import_module(f"ingot.{path}"), name)
    if type(table.NAMES[path][name]) is table.NoOp:
        assert found(1, key=2) is None and found.__name__ == name


def test_no_private_path_is_a_public_one():
    assert not set(table.MODULES) & set(paths.PUBLIC)
    assert set(paths.PRIVATE) == set(table.MODULES) and ingot.utils._pytree is ingot.runtime.pytree.pytree


def test_private_names_need_as_torch():
    code = ("import ingot, importlib.util\n"
            "assert not hasattr(ingot, '_dynamo') and not hasattr(ingot.optim.optimizer, '_get_value')\n"
            "assert importlib.util.find_spec('ingot._C') is None and not hasattr(ingot.Tensor, '_cdata')\n"
            "import ingot.as_torch\n"
            "print(ingot._dynamo.is_compiling(), ingot.optim.optimizer._get_value(3), ingot.utils._pytree.__name__)")
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ran.stdout.split() == ["False", "3", "ingot.runtime.pytree.pytree"], ran.stderr
