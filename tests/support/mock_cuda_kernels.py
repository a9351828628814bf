"""Kernels of the mock driver: their source runs on numpy through `mock_cuda_triton`, or, where it was compiled, what Triton
made of it through `tools.ptx`.
"""

import ctypes
import struct

import numpy as np

import mock_cuda_tiles
import mock_cuda_triton
from ingot.tools import ptx
from mock_cuda_rules import Violation


def parameters(kernel, address) -> list:
    """The values of a launch's parameters, from the array of their addresses."""
    kinds = kernel["kinds"]
    places = (ctypes.c_void_p * len(kinds)).from_address(address)
    return [_PARAMETER[k].from_address(p).value for k, p in zip(kinds, places)]


def run(driver, kernel, grid, values, arrays, device):
    """Runs a kernel of a device. Pointers become places in arrays: `arrays` holds (address, bytes) of each that is meant."""
    given: list = []
    for kind, value, array in zip(kernel["kinds"], values, arrays):
        number = kind.replace("fp", "f"), value
        given.append(_numbers(driver, kind, value, array, device, kernel["name"]) if array else number)
    if "ptx" in kernel:
        ptx.launch(kernel["ptx"], grid, kernel["threads"], kernel["shared"], struct.pack(kernel["layout"], *values),
                   {array[0]: numbers.view(np.uint8) for (numbers, _), array in zip(given, arrays) if array})
        return
    constants = dict(kernel["constants"])
    constants["INDEX"] = np.int64 if kernel["wide"] else np.int32
    if "LAST: tl.constexpr, " in kernel["text"]:
        constants["LAST"] = driver.lanes_go_last
    mock_cuda_triton.run(kernel["text"], kernel["name"], grid, given, constants)


def _numbers(driver, kind, address, array, device, name):
    """(numbers of the array that an address points into, which of them that is)"""
    for start, (home, block) in driver.blocks.items():
        if start <= address < start + block.nbytes:
            if home != device:
                raise Violation(f"{name} runs on device {device} and is given memory of device {home}")
            dtype = np.dtype(mock_cuda_triton.DTYPES[_NAMES[kind[1:]]])
            low, size = array
            if (address - low) % dtype.itemsize:
                raise Violation(f"{name}: an address that is no multiple of {dtype.itemsize}")
            held = block[low - start:low - start + size // dtype.itemsize * dtype.itemsize]
            return held.view(dtype), (address - low) // dtype.itemsize
    raise Violation(f"{name} is given {address:#x}, which is no device memory")


_PARAMETER = {"i32": ctypes.c_int32, "i64": ctypes.c_int64, "fp32": ctypes.c_float, "fp64": ctypes.c_double,
              "i8": ctypes.c_int8, "i16": ctypes.c_int16, "u8": ctypes.c_uint8, "u16": ctypes.c_uint16,
              "u32": ctypes.c_uint32, "u64": ctypes.c_uint64}
_NAMES = {"fp16": "float16", "bf16": "bfloat16", "fp32": "float32", "fp64": "float64", "i8": "int8", "i16": "int16",
          "i32": "int32", "i64": "int64", "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64",
          "fp8e4nv": "float8e4nv", "fp8e5": "float8e5"}
_PARAMETER.update({"*" + k: ctypes.c_uint64 for k in _NAMES})


mock_cuda_tiles.as_library(globals())
for _module in (ptx.text, ptx.operations, ptx.memory, ptx.warps, ptx.bulk, ptx.instructions, ptx.machine):
    mock_cuda_tiles.as_library(vars(_module))
