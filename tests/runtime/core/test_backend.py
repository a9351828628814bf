"""The Protocols of backends, and what the runtime asks of backends."""

import re

import pytest

import ingot.func  # noqa: F401  (enters the backend of vmap)
from ingot.runtime.core import backend
from ingot.runtime.core.device_array import BACKENDS
from ingot.runtime.cuda import backend as cuda
from ingot.runtime.distributed.tensor import mesh_backend  # noqa: F401  (enters its backend)
from this_checkout import ROOT

OF_MESHES = {"filled_like", "item", "laid_like", "map_parts"}       # asked of parts on a mesh alone

def members(protocol) -> set:
    """Return the names of a Protocol and of its bases."""
    return {name for cls in protocol.__mro__ if getattr(cls, "_is_protocol", False)
            for name in (*vars(cls), *vars(cls).get("__annotations__", ())) if not name.startswith("_")}


@pytest.mark.parametrize("kind", BACKENDS)
def test_each_backend_of_arrays_has_all_functions(kind):
    assert [name for name in members(backend.ArrayBackend) if not hasattr(BACKENDS[kind], name)] == []


@pytest.mark.parametrize("entered", [backend.HOST, cuda, BACKENDS["meta"]])
def test_traces_have_what_they_need(entered):
    assert [name for name in members(backend.Backend) if not hasattr(entered, name)] == []


def test_the_cpu_has_all_functions():
    assert [name for name in members(backend.HostBackend) if not hasattr(backend.HOST, name)] == []


def test_a_driver_has_all_functions():
    assert [name for name in members(backend.DeviceBackend) if not hasattr(cuda, name)] == []


def test_the_runtime_calls_only_functions_of_the_protocol():
    """Outside of `ingot.cuda`, whose functions are those of CUDA alone."""
    call = re.compile(r"(?:BACKENDS\[[^]]*\]|\.backend)\.([a-zA-Z_]+)")
    used = {name: path for folder in ("core", "autograd", "api", "foreach", "memo")
            for path in (ROOT / "runtime" / folder).rglob("*.py")
            for name in call.findall(path.read_text(encoding="utf-8"))}
    assert len(used) > 10
    assert {name: str(path) for name, path in used.items() if name not in members(backend.DeviceBackend) | OF_MESHES} == {}
