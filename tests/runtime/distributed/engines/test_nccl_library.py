"""The NCCL library: that of a wheel where one is installed, without a GPU, and a mock that shall have the same functions."""

import ctypes
import os
import re

import numpy as np
import pytest

import mock_cuda
import mock_nccl
from ingot import distributed as dist
from ingot.runtime.distributed.engines import nccl_library
from ingot.runtime.distributed.engines.reduce_op import ReduceOp


@pytest.fixture(scope="module")
def real():
    library = nccl_library.find()
    if library is None or not os.path.exists(nccl_library.path()):
        pytest.skip("there is no wheel of NCCL here")
    return library


@pytest.fixture(scope="module")
def header(real):
    with open(os.path.join(os.path.dirname(nccl_library.path()), "..", "include", "nccl.h")) as f:
        return re.sub(r"/\*.*?\*/|//[^\n]*", "", f.read(), flags=re.DOTALL)


def test_it_answers_without_a_gpu(real):
    assert real.version >= nccl_library.OLDEST and real.words(5).startswith("invalid usage")
    names = {real.unique_id() for _ in range(2)}
    assert len(names) == 2 and {len(n) for n in names} == {nccl_library.UNIQUE_ID_BYTES}


def test_parameters_are_those_of_the_header(header):
    """Every function takes as many parameters as in the header, integers and pointers at the same places."""
    for name, types in nccl_library.FUNCTIONS.items():
        said = re.search(rf"\b{name}\(([^)]*)\)", header).group(1)
        parameters = [p.strip() for p in said.split(",") if p.strip()]
        assert len(parameters) == len(types), name
        for parameter, kind in zip(parameters, types):
            is_address = "*" in parameter or parameter.split()[-2].endswith(("Comm_t", "Stream_t"))
            want = ctypes.c_void_p if is_address else nccl_library.UniqueId if "UniqueId" in parameter else \
                ctypes.c_size_t if "size_t" in parameter else ctypes.c_int
            if "ncclConfig_t" in parameter:
                want = ctypes.POINTER(nccl_library.Config)
            assert kind is want, (name, parameter)


def test_numbers_are_those_of_the_header(header):
    def number(name):
        return int(re.search(rf"\bnccl{name}\s*=\s*(\d+)", header).group(1))

    kinds = {"float8_e4m3fn": "Float8e4m3", "float8_e5m2": "Float8e5m2", "bool": "Uint8", "complex64": "Float32",
             "complex128": "Float64"}
    for name, value in nccl_library.TYPES.items():
        assert value == number(kinds.get(name, name.capitalize())), name
    for op, name in ((ReduceOp.SUM, "Sum"), (ReduceOp.PRODUCT, "Prod"), (ReduceOp.MAX, "Max"), (ReduceOp.MIN, "Min")):
        assert nccl_library.REDUCTIONS[op] == number(name)
    assert number("InProgress") == nccl_library.IN_PROGRESS and number("Int8") == nccl_library.BYTES
    assert f"NCCL_UNIQUE_ID_BYTES {nccl_library.UNIQUE_ID_BYTES}" in header and "NCCL_API_MAGIC 0xcafebeef" in header


def test_settings_begin_as_those_of_the_header(header):
    """The struct of an older version is the beginning of that of the header."""
    fields = re.search(r"typedef struct ncclConfig_v\d+ \{(.*?)\}", header, re.DOTALL).group(1).split(";")
    names = [f.split()[-1].lstrip("*").lower() for f in fields if f.strip()]
    ours = [name.replace("_", "") for name, _ in nccl_library.Config._fields_]
    assert names[:len(ours)] == ours and nccl_library.Config.split_share.offset == 40


def test_an_absent_library_names_the_package():
    before = nccl_library.replace(None)
    try:
        for ask in (nccl_library.get, nccl_library.get):
            with pytest.raises(dist.DistBackendError, match=r'pip install "nvidia-nccl-cu12>=2\.18"'):
                ask()
        assert "nccl-cu13" in nccl_library.why_not()
    finally:
        nccl_library.restore(before)


def test_a_search_that_fails_is_said(monkeypatch):
    before = nccl_library.replace(None)
    monkeypatch.setattr(nccl_library._State, "searched", False)
    monkeypatch.setattr(nccl_library, "path", lambda: "libnothing_like_it.so.2")
    try:
        with pytest.raises(dist.DistBackendError, match=r"libnothing_like_it.*|pip install"):
            nccl_library.get()
    finally:
        nccl_library.restore(before)


def test_an_old_library_is_refused(tmp_path):
    with mock_cuda.installed() as cuda, mock_nccl.installed(cuda, tmp_path) as nccl:
        nccl.version = 21700
        with pytest.raises(dist.DistBackendError, match=r"2\.18"):
            nccl_library.replace(nccl)


def test_a_unique_id_is_checked(tmp_path):
    with mock_cuda.installed() as cuda, mock_nccl.installed(cuda, tmp_path):
        library = nccl_library.get()
        assert len(library.unique_id()) == 128
        with pytest.raises(dist.DistBackendError, match="127 bytes"):
            library.join(library.unique_id()[:127], 0, 1)
        with pytest.raises(dist.DistBackendError, match="invalid argument"):
            library.join(bytes(128), 0, 1)


@pytest.mark.parametrize("dtype, op, want", [
    ("bool", ReduceOp.SUM, (1, 2)), ("bool", ReduceOp.BAND, (1, 3)), ("complex64", ReduceOp.SUM, (7, 0)),
    ("float16", ReduceOp.AVG, (6, 0)), ("int16", ReduceOp.SUM, None), ("int32", ReduceOp.BXOR, None),
    ("complex64", ReduceOp.MAX, None), ("bool", ReduceOp.BXOR, None)])
def test_reductions(dtype, op, want):
    if want is None:
        with pytest.raises(TypeError, match=f"no reduction {op.name} of {dtype}"):
            nccl_library.reduction_of(op, np.dtype(dtype))
    else:
        assert nccl_library.reduction_of(op, np.dtype(dtype)) == want
