"""Multiplication and addition rounded once, compiled: numpy has none, and spelled in its operations it takes ten times as
long."""

import ctypes
import functools
import re

import llvmlite.binding as llvm
import numpy as np

import mock_cuda_tiles
from ingot.ir import dtype as dt
from ingot.passes.codegen import scalars

_TEXT = """
define void @of(i64 %count, ptr %a, ptr %b, ptr %c, ptr %out) {
start:
  %any = icmp ne i64 %count, 0
  br i1 %any, label %more, label %end
more:
  %i = phi i64 [0, %start], [%next, %more]
  %pa = getelementptr T, ptr %a, i64 %i
  %pb = getelementptr T, ptr %b, i64 %i
  %pc = getelementptr T, ptr %c, i64 %i
  %po = getelementptr T, ptr %out, i64 %i
  %x = load T, ptr %pa
  %y = load T, ptr %pb
  %z = load T, ptr %pc
  %sum = call T @llvm.fma(T %x, T %y, T %z)
  store T %sum, ptr %po
  %next = add i64 %i, 1
  %done = icmp uge i64 %next, %count
  br i1 %done, label %end, label %more
end:
  ret void
}
declare T @llvm.fma(T, T, T)
"""
_KINDS = {np.dtype(np.float32): ("float", "llvm.fma.f32"), np.dtype(np.float64): ("double", "llvm.fma.f64")}


@functools.cache
def _compiled(kind):
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    name, function = _KINDS[kind]
    machine = llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten())
    text = re.sub(r"\bT\b", name, _TEXT.replace("llvm.fma", function))
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(text), machine)
    engine.finalize_object()
    call = ctypes.CFUNCTYPE(None, ctypes.c_int64, *[ctypes.c_void_p] * 4)(engine.get_function_address("of"))
    call.engine = engine
    return call


def rounded_once(kind, a, b, c):
    """a * b + c, of arrays of a dtype."""
    tiles = (a, b, c) if a.shape == b.shape == c.shape else np.broadcast_arrays(a, b, c)
    tiles = [np.asarray(t, order="C") for t in tiles]
    out = np.empty(tiles[0].shape, kind)
    _compiled(kind)(out.size, *[t.ctypes.data for t in (*tiles, out)])
    return out


class Builder(scalars.NumpyBuilder):
    """Evaluates scalar functions on numpy arrays, with that instruction."""

    def _fma(self, dtype, a, attr):
        kind = np.dtype(np.float64 if dtype is dt.float64 else np.float32)
        return rounded_once(kind, *[np.asarray(x, kind) for x in a])


mock_cuda_tiles.as_library(globals())
