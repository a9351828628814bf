"""Generated Triton source compiles for real GPUs (sm_80 and sm_90) on machines without one: no spills, shared memory within
limits, whole vectors loaded, the parameter layout that launches rely on, correctly rounded instructions.
"""

import importlib.util
import inspect
import itertools
import re
import struct

import pytest

from covering import thinned
from ingot.ir import config
from ingot.ir import dtype as dt
from ingot.ir.kernel.kernel_builder import KernelBuilder
from ingot.passes.codegen import rejection_kernels, row_kernels, scalars
from ingot.passes.codegen.triton.contract import matmul
from ingot.passes.codegen.triton.ir.source import POINTER, SIZE, Source
from ingot.passes.codegen.triton.linalg import small_matrices
from ingot.passes.codegen.triton.loops import configs, elementwise, reduction_loops
from ingot.passes.codegen.triton.loops import multi_tensor as list_texts
from ingot.runtime.cpu.loops import kernels as host_kernels
from ingot.runtime.cuda.compiler import compile as compiler
from ingot.runtime.cuda.compiler import kernels
from ingot.runtime.cuda.ops.index import draws
from ingot.runtime.cuda.ops.math import multi_tensor
from ingot.runtime.cuda.ops.products.batched_launch import UNITS, BatchedLaunch
from ingot.runtime.optim import Adam
from ingot.runtime.optim.update_rules import kernel_of
from tests.passes.codegen.triton.loops.test_loop_kernels import ARITY, FLOATING, crossing, function_kernel, reduction

pytestmark = pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="Triton is not installed")
ARCHS = (80, 90)
SHARED = {80: 166912, 89: 101376, 90: 232448, 120: 101376}
FLOATS = dt.float32, dt.float64, dt.bfloat16, dt.float16


@pytest.fixture(autouse=True)
def caches(tmp_path, monkeypatch):
    """Nothing is found in a cache, neither ours nor Triton's."""
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "triton"))
    with config.override(cache_dir=str(tmp_path)):
        yield


def variant(one, sizes, arch, wide=False, aligned=True):
    known = {i for i, p in enumerate(one.source.parameters)
             if (p.kind == POINTER and aligned) or (p.kind == SIZE and sizes[p.name] % 16 == 0)}
    return compiler.Variant(one.source, one.constants, one.warps, arch, wide, frozenset(known), one.stages)


def built(one, sizes, arch, spills=0, **how):
    """(machine code, PTX) of a launch, within the limits of the GPU."""
    v = variant(one, sizes, arch, **how)
    made = compiler._run_triton(v)
    binary = compiler._binary(v, made)
    assert binary.spills <= spills, f"{binary.name} spills {binary.spills} bytes per thread"
    assert binary.shared <= SHARED[arch] and 0 < binary.registers <= 255
    assert binary.code[:4] == b"\x7fELF" and binary.threads == 32 * one.warps
    return binary, made.asm["ptx"]


def loads(ptx):
    return re.findall(r"(?:ld|st)\.global[\w.:]*", ptx)


def approximate(ptx):
    """Instructions that do not round correctly, or lose what is subnormal."""
    return set(re.findall(r"\b\w+(?:\.\w+)*\.(?:approx|ftz|full)[\w.]*", ptx))


def double(kind, rank=1):
    k = KernelBuilder("double")
    for d in range(rank):
        k.parallel(f"d{d}", f"n{d}")
    strides = [*(f"s{d}" for d in range(rank - 1)), 1]
    x, y = k.input("x", kind, strides), k.output("y", kind, strides)
    with k.point():
        k.store((k.load(x).to(dt.float32) * 2.0).to(kind), y)
    return k.build()


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("kind", [dt.float32, dt.bfloat16], ids=str)
def test_elementwise_loads_whole_vectors(kind, arch):
    for rank, sizes in ((1, {"n0": 1 << 20}), (2, {"n0": 512, "n1": 2048, "s0": 2048})):
        one, = configs.launches(double(kind, rank), sizes)
        _, ptx = built(one, sizes, arch)
        assert set(loads(ptx)) == {"ld.global.v4.b32", "st.global.v4.b32"}, f"{rank} {kind}"


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("kind", [dt.uint8, dt.bfloat16, dt.float32, dt.float64], ids=str)
def test_orders_that_cross_load_and_store_whole_vectors(kind, arch):
    kernel, *_ = crossing(kind, (2, 3, 4), 1)
    sizes = {"n0": 64, "n1": 256, "n2": 3136, "x0": 256 * 3136, "x2": 256, "y0": 256 * 3136, "y1": 3136}
    one, = configs.launches(kernel, sizes)
    binary, ptx = built(one, sizes, arch)
    wide = [x[:2] for x in loads(ptx) if x.endswith("v2.b64" if kind is dt.float64 else "v4.b32")]
    each = dict(one.constants)["ROWS"] * dict(one.constants)["COLS"] * kind.itemsize // (16 * binary.threads)
    assert wide.count("ld") >= wide.count("st") == each == sum(x[:2] == "st" for x in loads(ptx))
    assert one.how == (False, 1) and binary.registers <= 64


def test_odd_sizes_compile_with_narrow_loads():
    one, = configs.launches(double(dt.float32), {"n0": 5001})
    _, ptx = built(one, {"n0": 5001}, 90, aligned=False)
    assert "v4" not in "".join(loads(ptx))


def test_wide_addresses():
    one, = configs.launches(double(dt.float32), {"n0": 1 << 32})
    binary, _ = built(one, {"n0": 1 << 32}, 90, wide=True)
    assert binary.layout == "<QQqQQ"


WAYS = (False, True), (128, 1 << 17), ARCHS       # (whether columns are folded, their length, the chip)
REDUCTIONS = [*thinned(("sum", "argmax", "spread", "exp_sum"), *WAYS, strength=3),
              *[pytest.param("max", *row, marks=pytest.mark.slow) for row in itertools.product(*WAYS)]]


@pytest.mark.parametrize("kind, across, cols, arch", REDUCTIONS)
def test_reductions(kind, across, cols, arch):
    sizes = {"outer": 1, "rows": 256, "cols": cols, "far": 256 * cols}
    for one in configs.launches(reduction(kind, dt.float32, across), sizes):
        _, ptx = built(one, sizes, arch)
        if kind in ("sum", "spread", "exp_sum") and not across and one.source.name == f"{kind}_f32":
            assert "ld.global.v4.b32" in loads(ptx) or cols == 128


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("length", [64, pytest.param(8192, marks=pytest.mark.slow), 20000])
def test_softmax(length, arch):
    kernel = row_kernels.ROW_KERNELS["softmax"]("softmax", dt.bfloat16, row_kernels.ROWS)
    sizes = {"A": 512, "R": length}
    one, = configs.launches(kernel, {s: sizes[s] for s in kernel.symbols})
    _, ptx = built(one, sizes, arch)
    assert "div.rn.f32" in ptx and approximate(ptx) == {"ex2.approx.ftz.f32"}


@pytest.mark.parametrize("name", ["layer_norm", "rms_norm", "log_softmax"])
def test_row_kernels(name):
    kernel = row_kernels.ROW_KERNELS[name](name, dt.float32, row_kernels.ROWS)
    sizes = dict.fromkeys(kernel.symbols, 1024)
    for one in configs.launches(kernel, sizes):
        built(one, sizes, 90)


# Functions that special units compute.
BY_UNITS = ("exp", "exp2", "tanh", "sigmoid", "log_sigmoid", "softplus", "silu", "mish", "gelu", "gelu_slope", "gelu_tanh")


@pytest.mark.parametrize("name", ["exp", "pow", "sin", "nextafter", "gelu_slope"])
def test_functions_compile(name):
    compile_function(name, dt.float32)


@pytest.mark.parametrize("kind", [dt.float32, dt.float64], ids=str)
@pytest.mark.parametrize("name", [n if n == "gammainc" else pytest.param(n, marks=pytest.mark.slow)
                                  for n in sorted(scalars.ITERATED)])
def test_functions_of_many_turns_compile(name, kind):
    compile_function(name, kind)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [dt.float32, dt.float64, dt.bfloat16], ids=str)
@pytest.mark.parametrize("name", FLOATING)
def test_every_function_compiles(name, kind):
    compile_function(name, kind)


def compile_function(name, kind):
    out = dt.bool_ if name in scalars.FUNCTIONS and name.startswith("is") else kind
    kernel = function_kernel(name, [kind] * ARITY[name], out)
    one, = configs.launches(kernel, {"n": 4096})
    _, ptx = built(one, {"n": 4096}, 80, 8 if kind is dt.float64 else 0)     # (Triton 3.9 puts one double of cosh aside)
    instructions = set(re.findall(r'asm_elementwise\("([\w.]+) ', one.source.text))
    assert approximate(ptx) == instructions, "an instruction that rounds otherwise, or takes what is subnormal for 0"
    assert instructions <= {"ex2.approx.ftz.f32", "rcp.approx.ftz.f32"}
    assert not instructions or (name in BY_UNITS and kind is not dt.float64)
    if "fma" not in elementwise.write(kernel).text:
        # (sm_80 has no other arithmetic on bfloat16: a sum is a * 1 + b, a product a * b - 0)
        assert not re.search(r"fma\.rn\.f(32|64)", ptx), "nothing is contracted"


def complex_kernel(name, kind):
    """A function of complex numbers over one dim."""
    part, arity = dt.PARTS[kind], len(inspect.signature(scalars.COMPLEX[name]).parameters) - 1
    return function_kernel(name, [part if name == "complex" else kind] * arity, part if name in ("modulus", "real") else kind)


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("name", ["mul", "div", "real", "complex", "modulus"])
def test_complex_numbers_come_in_whole_vectors(name, arch):
    one, = configs.launches(complex_kernel(name, dt.complex64), {"n": 4096})
    binary, ptx = built(one, {"n": 4096}, arch)
    assert {"v2.b64", "v4.b32"} >= {x.split(".", 2)[2] for x in loads(ptx)} and binary.registers < 100


@pytest.mark.parametrize("name", ["exp", "atan", pytest.param("pow", marks=pytest.mark.slow),
                                  *[pytest.param(n, marks=pytest.mark.slow) for n in ("sqrt", "log", "tanh", "asin", "sinc")]])
def test_complex_functions_compile(name):
    for kind, arch in ((dt.complex64, 90), (dt.complex128, 80)):
        one, = configs.launches(complex_kernel(name, kind), {"n": 4096})
        built(one, {"n": 4096}, arch, 8 if kind is dt.complex128 else 0)


@pytest.mark.parametrize("kind", ["sum", "prod"])
def test_complex_reductions(kind):
    for across in (False, True):
        sizes = {"outer": 1, "rows": 256, "cols": 1 << 17, "far": 256 << 17}
        for one in configs.launches(reduction(kind, dt.complex64, across), sizes):
            built(one, sizes, 90)


def test_random_numbers_compile():
    k = KernelBuilder("draw")
    k.parallel("i", "n")
    seed, call, y = k.input("seed", dt.int64, (0,)), k.input("call", dt.int64, (0,)), k.output("y", dt.float32, (1,))
    with k.point():
        k.store(k.append("random_uniform", dt.float32, (k.index("i"), k.load(seed), k.load(call))), y)
    one, = configs.launches(k.build(), {"n": 4096})
    _, ptx = built(one, {"n": 4096}, 90)
    assert "mul.hi.u32" in ptx or "mul.wide.u32" in ptx


@pytest.mark.parametrize("write, count", [(rejection_kernels.poisson, 1), (rejection_kernels.standard_gamma, 1),
                                          pytest.param(rejection_kernels.binomial, 2, marks=pytest.mark.slow)])
def test_numbers_by_rejection_compile(write, count):
    for kind, arch in ((dt.float32, 90), (dt.float64, 80)):
        one, = configs.launches(draws._kernel(write, (), kind, 2, (kind,) * count), {"n": 4096})
        built(one, {"n": 4096}, arch)


def test_running_folds_compile():
    k = KernelBuilder("scan")
    k.parallel("i", "rows")
    k.reduce("k", "cols")
    x, y = k.input("x", dt.float32, ("cols", 1)), k.output("y", dt.float32, ("cols", 1))
    with k.sweep():
        k.store(k.scan("sum", k.load(x)), y)
    sizes = {"rows": 64, "cols": 4096}
    one, = configs.launches(k.build(), sizes)
    built(one, sizes, 90)


@pytest.mark.parametrize("how, units, arch", thinned([(dt.bfloat16, "ieee"), (dt.float32, "tf32"), (dt.float32, "ieee")],
                                                     [(False, True), (True, False)], ARCHS), ids=str)
def test_products(how, units, arch):
    kind, precision = how
    fast = kind.itemsize == 2 or precision == "tf32"
    chosen = matmul.tiles(kind, 4096, 4096, 4096, fast, SHARED[arch])
    source = matmul.source(kind, precision, units, (False, True))
    sizes = {p.name: 4096 for p in source.parameters if p.kind == SIZE}
    one = configs.Launch(source, chosen.constants, chosen.warps, (1, 1, 1), stages=chosen.stages)
    _, ptx = built(one, sizes, arch)
    if fast:
        assert ("wgmma" if arch == 90 else "mma.sync") in ptx


@pytest.mark.parametrize("arch", ARCHS)
def test_sizes_that_are_no_multiples_of_16_are_loaded_in_shorter_vectors(arch):
    """Planes of 14x14 pixels have 196: vectors of 4, by asynchronous copies, where nothing would be known of an odd size."""
    m, n, k = 256, 196, 1024
    chosen = matmul.tiles(dt.bfloat16, m, n, k, True, SHARED[arch], 64)
    source = matmul.source(dt.bfloat16, "ieee", (False, True), (False, True))
    sizes = {"M": m, "N": n, "K": k, "s_xb": 0, "s_xm": k, "s_yb": n * k, "s_yk": n}
    one = configs.Launch(source, chosen.constants, chosen.warps, (4, 64, 1), stages=chosen.stages)
    made = kernels.PreparedLaunch(one, sizes, source.pointers)
    form, units = made.form, made.form.units(made.template)
    assert {unit for _, unit in form.even(units)} == {4}
    aligned = form.aligned(units) | set(form.pointers)
    ptx = compiler._run_triton(compiler.Variant(source, chosen.constants, chosen.warps, arch, False, aligned, chosen.stages,
                                                form.even(units))).asm["ptx"]
    assert not [x for x in loads(ptx) if x.endswith("b16")] and "cp.async.ca.shared.global" in ptx


def test_resources_are_read_from_the_machine_code():
    """A kernel made to spill is seen to."""
    kernel = row_kernels.ROW_KERNELS["softmax"]("softmax", dt.float32, row_kernels.ROWS)
    source = reduction_loops.write(kernel, whole=True)
    one = configs.Launch(source, (("ROWS", 4), ("COLS", 2048)), 1, (1, 1, 1))
    v = variant(one, {"A": 16, "R": 2048}, 90)
    binary = compiler.build(v)
    assert binary.spills > 0 and binary.registers > 0


def test_a_second_process_needs_no_triton(tmp_path, monkeypatch):
    one, = configs.launches(double(dt.float32), {"n0": 64})
    v = variant(one, {"n0": 64}, 90)
    made = compiler.compiled(v)
    monkeypatch.setattr(compiler, "_binaries", compiler.DriverCache())
    monkeypatch.setattr(compiler, "_run_triton", lambda v: pytest.fail("compiled again"))
    assert compiler.compiled(v) == made
    monkeypatch.setattr(compiler, "_binaries", compiler.DriverCache())
    monkeypatch.setattr(compiler, "_version", lambda: "")
    assert compiler.compiled(v) == made


def test_compile_errors_say_why():
    text = "import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef broken():\n    tl.no_such_thing()\n"
    broken = configs.Launch(Source("broken", text, ()), (), 4, (1, 1, 1))
    with pytest.raises(RuntimeError, match=r"Triton could not compile kernel broken for sm_90(.|\n)*no_such_thing"):
        compiler.build(variant(broken, {}, 90))


def test_the_error_without_triton_names_the_package(monkeypatch):
    monkeypatch.setattr(compiler, "_version", lambda: "")
    one, = configs.launches(double(dt.float32), {"n0": 64})
    with pytest.raises(RuntimeError, match="needs Triton: pip install \"triton"):
        compiler.build(variant(one, {"n0": 64}, 90))


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("kind", [dt.float32, dt.float64], ids=str)
def test_updates_of_many_arrays_load_whole_vectors(kind, arch):
    """Without known addresses and sizes, kernels load single elements."""
    update = kernel_of(Adam._rule, ("exp_avg", "exp_avg_sq", "max_exp_avg_sq"),
                       ("shrink", "grow", "keep", "add", "root", "eps", "rate"))
    step = host_kernels.elementwise("adam", (kind,) * 12, (kind,) * 4, update)
    made, (unknown, even), _ = multi_tensor._prepared_batch(step, 4, 1, (False,) * 7)
    whole, single = f"v{16 // kind.itemsize}.b{8 * kind.itemsize}", f"b{8 * kind.itemsize}"
    for is_whole, known, width in ((True, even, whole), (False, unknown, single)):
        variant = made.variant(arch, is_whole, known)
        compiled = compiler._run_triton(variant)
        binary = compiler._binary(variant, compiled)
        assert set(loads(compiled.asm["ptx"])) == {f"ld.global.{width}", f"st.global.{width}"}
        assert binary.spills == 0 < binary.registers <= 160 and struct.calcsize(binary.layout) < 1024


def multi_tensor_kernels(kernel, sizes, slots, arch, is_whole, **how):
    """(machine code, PTX) of a kernel for many sets of operands, of each of its launches."""
    for one in configs.launches(kernel, sizes, among=True, **how):
        shared = frozenset([p.name for p in one.source.parameters if p.kind == POINTER and p.name not in ("b0", "x", "y")])
        count = len([p for p in one.source.parameters if p.name in shared])
        own = [p for p in one.source.parameters if p.kind == SIZE]
        made = BatchedLaunch(configs.multi_tensor(kernel, frozenset(), one, slots, shared), count, slots, (UNITS,) * len(own))
        variant = made.variant(arch, is_whole, (UNITS[0] * is_whole,) * len(own))
        compiled = compiler._run_triton(variant)
        yield compiler._binary(variant, compiled), compiled.asm["ptx"]


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("is_whole", [True, False])
def test_kernels_for_many_sets(is_whole, arch):
    """Elements in one dim and in two, rows that are held, and each launch of rows that are cut."""
    sizes = {"n0": 512, "n1": 2048, "s0": 2048}
    cases = [(double(dt.bfloat16), {"n0": 4096}), (double(dt.float32, 2), sizes)]
    cases += [(reduction("sum", dt.float32, across), {"outer": 1, "rows": n, "cols": m, "far": n * m})
              for n, m, across in ((64, 1024, False), (3, 1 << 20, False), (768, 8192, True))]
    for kernel, values in cases:
        for binary, ptx in multi_tensor_kernels(kernel, values, 16, arch, is_whole):
            assert binary.spills == 0 < binary.registers <= 128, f"{binary.name} {binary.registers} {binary.spills}"
            assert struct.calcsize(binary.layout) <= 4096
            if is_whole and "double" in binary.name:
                assert set(loads(ptx)) == {"ld.global.v4.b32", "st.global.v4.b32"}


FOLDS = "square", "size", "wrong"


@pytest.mark.parametrize("kind, what, arch, is_whole", thinned(FLOATS, FOLDS, ARCHS, (True, False)), ids=str)
def test_folds_of_many_arrays(kind, what, arch, is_whole):
    known = (max(4, 16 // kind.itemsize) * is_whole, 0)
    variant = multi_tensor._parts(what, kind).variant(arch, is_whole, known)
    compiled = compiler._run_triton(variant)
    binary = compiler._binary(variant, compiled)
    assert binary.spills == 0 < binary.registers <= 128
    assert not is_whole or any(".v4." in x or "v2.b64" in x for x in loads(compiled.asm["ptx"]))


@pytest.mark.parametrize("kind, what, arch", thinned(FLOATS, FOLDS, ARCHS), ids=str)
def test_folds_of_the_parts_of_arrays(kind, what, arch):
    source = list_texts.combined(what, list_texts.wide(kind), kind)
    one = configs.Launch(source, (("COLS", 256),), 4, (1, 1, 1))
    built(one, dict.fromkeys([p.name for p in source.parameters], 1), arch)


@pytest.mark.parametrize("case, arch", thinned([("svd", dt.float64, ((4, 4),)), ("eigh", dt.float32, ((4, 4),)),
                                                ("solve", dt.float64, ((4, 4), (4, 4)))], ARCHS, strength=1), ids=str)
def test_matrices_of_a_few_rows(case, arch):
    """The largest of them stay in registers."""
    routine, kind, shapes = case
    one = configs.Launch(small_matrices.source(routine, kind, shapes), (("BLOCK", 64),), 2, (10, 1, 1))
    built(one, {"N": 640}, arch)


def test_a_kernel_whose_aligned_loads_triton_fails_on_is_compiled_without_them(monkeypatch):
    """Triton 3.6 fails in its layout pass on some kernels that load vectors of several widths."""
    triton = pytest.importorskip("triton")
    given, real = [], triton.compile

    def compile(source, **options):
        given.append(source.attrs)
        if source.attrs:
            raise RuntimeError("PassManager::run failed")
        return real(source, **options)

    monkeypatch.setattr(triton, "compile", compile)
    sizes = {"n0": 4096}
    one, = configs.launches(double(dt.float32), sizes)
    assert compiler._run_triton(variant(one, sizes, 90)).asm["cubin"] and given[0] and not given[1]
