"""`ingot.as_torch`: programs with `import torch` run on ingot, in this process, child processes, and by command."""

import itertools
import os
import subprocess
import sys

import pytest

from ingot.torch_version import TorchVersion

HERE = "import ingot.as_torch; "
NAMES = ("nn.functional", "optim.lr_scheduler", "utils.data", "distributed.fsdp", "fx", "nn.utils.weight_norm", "linalg")
PROGRAM = """
import multiprocessing, sys
import torch
from torch import nn

def work(queue):
    queue.put(float(torch.full((2,), 21.0).sum()))

if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=work, args=(queue,))
    process.start()
    print(queue.get(timeout=60), sys.argv[1:], type(nn.Linear(2, 2)).__module__)
    process.join()
"""


def python(*arguments, **environment):
    """Return the output of a new Python; its errors fail the test."""
    ran = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, env={**os.environ, **environment})
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.strip()


@pytest.mark.parametrize("name", NAMES)
def test_a_module_is_the_same_by_both_names(name):
    parent, _, last = ("." + name).rpartition(".")
    look = (f"import sys, torch.{name}, ingot.{name}; assert sys.modules['torch.{name}'] is sys.modules['ingot.{name}']; "
            f"from torch{parent} import {last} as a; from ingot{parent} import {last} as b; "
            f"assert a is b, (a, b); print(torch.nn.Module is ingot.nn.Module)")
    assert python("-c", HERE + look) == "True"


def test_importing_a_file_keeps_the_function_of_its_name():
    assert python("-c", HERE + "import torch; import torch.nn.utils.weight_norm as m; "
                  "print(callable(torch.nn.utils.weight_norm), callable(m))") == "True True"


@pytest.mark.parametrize("first", ["", "import ingot, ingot.nn; "])
def test_classes_of_tensors_say_whose_they_are(first):
    look = ("import io, pickle, torch; from torch import nn; p = nn.Parameter(torch.ones(2)); "
            "assert {type(t).__module__.partition('.')[0] for t in (p, p.detach(), p.shape, nn.Buffer(p))} == {'torch'}; "
            "assert type(p).__module__ == 'torch.nn.parameter' and type(pickle.loads(pickle.dumps(p))) is nn.Parameter; "
            "file = io.BytesIO(); torch.save([p, p.detach(), nn.Linear(2, 2)], file); file.seek(0); "
            "again = torch.load(file); assert [type(x) for x in again] == [nn.Parameter, torch.Tensor, nn.Linear]; "
            "Own = type('Own', (torch.Tensor,), {}); print(type(p.detach().as_subclass(Own) + 1) is Own)")
    assert python("-c", first + HERE + look) == "True"


def test_metadata_of_an_installed_pytorch():
    ask = ("import importlib.util, importlib.metadata; found = importlib.util.find_spec('torch') is not None; "
           "version = importlib.metadata.version('torch'); import torch; "
           "assert torch.version.__version__ == torch.__version__; "
           "print(found, str(torch.__version__).split('+')[0] == version, torch.__version__ >= (2, 0))")
    assert python("-c", HERE + ask) == "True True True"
    assert python("-c", ask, PYTHONPATH=python("-m", "ingot.as_torch", "--path")) == "True True True"


SHOWN = ("repr(torch.float32)", "repr(torch.Size([2]))", "repr(torch.strided)", "repr(torch.channels_last)",
         "repr(torch.qint8)", "torch.ones(2).type()", "torch.ones(2).long().type()", "torch.eye(2).to_sparse().type()",
         "torch.ones(2).storage().type()", "repr(torch.eye(2).max(0))[:22]")


def test_transforms_are_found_by_their_first_name():
    look = ("from functorch import jacrev, make_functional, make_fx, vmap; import functorch, torch; "
            "assert vmap is torch.vmap and functorch.__version__ == torch.__version__; "
            "f, params = make_functional(torch.nn.Linear(2, 3)); print(tuple(jacrev(f)(params, torch.ones(2))[0].shape))")
    assert python("-c", HERE + look) == "(3, 3, 2)"
    assert python("-c", look, PYTHONPATH=python("-m", "ingot.as_torch", "--path")) == "(3, 3, 2)"


def test_names_are_shown_as_pytorch_has_them():
    look = (HERE + f"import torch; print([{', '.join(SHOWN)}]); "
            "assert torch.ones(2).type('torch.LongTensor').dtype is torch.int64")
    assert python("-W", "ignore", "-c", look) == str([
        "torch.float32", "torch.Size([2])", "torch.strided", "torch.channels_last", "torch.qint8",
        "torch.FloatTensor", "torch.LongTensor", "torch.sparse.FloatTensor", "torch.FloatStorage", "torch.return_types.max"])


def test_missing_names_are_named():
    output = python("-c", HERE + "\ntry:\n import torch.no_such\nexcept ModuleNotFoundError as e: print(e, '|', e.name)")
    assert "'torch.no_such'" in output and "ingot stands for PyTorch" in output and output.endswith("| torch.no_such")


def test_the_folder_is_found_by_another_spelling_of_its_path(tmp_path):
    other = tmp_path / "link"
    other.symlink_to(python("-m", "ingot.as_torch", "--path"))
    ask = "import torch; import ingot; print(torch is ingot, torch.__name__)"
    assert python("-c", ask, PYTHONPATH=str(other)) == "True torch"


def test_as_torch_refuses_after_an_import_of_pytorch():
    output = python("-c", "import sys, types; there = types.ModuleType('torch'); there.__file__ = '/else/torch.py'; "
                    "sys.modules['torch'] = there\ntry:\n import ingot.as_torch\nexcept ImportError as e: print(e)")
    assert "imported already" in output


def test_a_program_runs_as_it_is(tmp_path):
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    (tmp_path / "beside.py").write_text("import torch\nX = torch.ones(3).sum().item()\n")
    for command in (["-m", "ingot.as_torch", str(file)], ["-m", "ingot.as_torch", "-m", "program"]):
        output = python(*command, "-m", "--path", PYTHONPATH=str(tmp_path))
        assert output == "42.0 ['-m', '--path'] ingot.runtime.nn.layers.linear"
    other = tmp_path / "other.py"
    other.write_text("import subprocess, sys, beside\nprint(beside.X, flush=True)\n"
                     "subprocess.run([sys.executable, '-c', 'import torch; print(torch.__name__)'], check=True)\n")
    assert python("-m", "ingot.as_torch", str(other)).split() == ["3.0", "torch"]


def test_commands_of_pytorch_are_found():
    assert "nproc-per-node" in python("-m", "ingot.as_torch", "-m", "torch.distributed.run", "--help")


GROWING = ("2.9.0.dev20251101", "2.9.0a1", "2.9.0b2", "2.9.0rc1", "2.9.0rc2", "2.9", "2.9.0+cpu", "2.9.0+cpu.2", "2.9.0+cu130",
           "2.9.0+7", "2.9.0.post1", "2.9.1", "2.10", "3", "1!0.1")


@pytest.mark.parametrize("older, newer", list(itertools.combinations(GROWING, 2)))
def test_versions_compare_as_versions(older, newer):
    a, b = TorchVersion(older), TorchVersion(newer)
    assert a < b and a <= newer and newer > a and b > older and b >= a and a != newer and not b < a and not a > older
    packaging = pytest.importorskip("packaging.version")
    assert packaging.Version(older) < packaging.Version(newer) and b > packaging.Version(older)


def test_versions_compare_with_tuples_and_text():
    v = TorchVersion("2.9.1+ingot.0.1.0")
    assert v >= (2, 9) and v < (2, 10) and v > "2.9.1" and v == "2.9.1+ingot-0.1.0" and v != "2.9.1"
    assert TorchVersion("2.9") == (2, 9, 0) and v.startswith("2.9")
    assert v > "0 no version" and v != "no version" and v not in (None, 2)
