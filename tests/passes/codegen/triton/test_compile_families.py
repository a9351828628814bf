"""Hand-shaped GPU kernels compiled for sm_80 and sm_90 on a machine without one: no spills, shared memory within limits, tensor
core instructions where they are due.
"""

import importlib.metadata
import importlib.util
import re
from dataclasses import replace

import pytest

from covering import thinned
from ingot.ir import dtype as dt
from ingot.ir.reference import philox
from ingot.passes.codegen.triton.attention import attention, attention_configs, attention_split_kv
from ingot.passes.codegen.triton.contract import grouped_matmul
from ingot.passes.codegen.triton.conv import conv, conv_channels_last, conv_depthwise, conv_packed, pooling
from ingot.passes.codegen.triton.index import linear_maps, row_indexing, row_scans, scans, sorting
from ingot.passes.codegen.triton.index.value_checks import check_values
from ingot.passes.codegen.triton.ir.source import SIZE
from ingot.passes.codegen.triton.linalg import cholesky, fourier, householder, lu, triangular
from ingot.passes.codegen.triton.loops import configs
from ingot.passes.codegen.triton.sequence import class_targets, ctc
from ingot.runtime.cuda.compiler import compile as compiler
from tests.passes.codegen.triton.test_compile_loops import ARCHS, SHARED, built, loads, variant

FOUND = importlib.util.find_spec("triton") is not None
pytestmark = [pytest.mark.skipif(not FOUND, reason="Triton is not installed"), pytest.mark.drawn]


def compiled(source, constants, warps, arch, stages=3, size=1024, spills=0):
    sizes = {p.name: size for p in source.parameters if p.kind == SIZE}
    return built(configs.Launch(source, constants, warps, (1, 1, 1), stages=stages), sizes, arch, spills)


ROWS = {"numbers": row_indexing.row_numbers((dt.int64, dt.int32), 2, True), "take": row_indexing.move_rows(4, False),
        "put": row_indexing.move_rows(2, True), "add": row_indexing.merge_rows(dt.bfloat16, "add"),
        "paired": row_indexing.merge_rows(dt.bfloat16, "add", True), "bools": row_indexing.merge_rows(dt.bool_, "add"),
        "complex": row_indexing.merge_rows(dt.complex64, "amax")}


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("name", ROWS)
def test_rows(name, arch):
    constants, warps, _ = row_indexing.tile(4096, 768, 1)
    constants = (("BLOCK", 1024), ("SLOT", 0)) if name == "numbers" else constants
    if name == "complex":       # whose columns are parts of rows
        constants, warps, _ = row_indexing.tile(4096, 1, 1)
    compiled(ROWS[name], constants, warps, arch)


TRANSFORMS = {
    "rows": fourier.Transform(dt.float32, (16, 16, 16), False, 1.0, "complex", "complex", 1, frozenset(), (False,) * 3),
    "columns": fourier.Transform(dt.float32, (20, 10), True, 0.5, "complex", "complex", 8, frozenset(("x", "t", "out")),
                                 (True,) * 3),
    "held columns": fourier.Transform(dt.float32, (8, 8, 4), True, 0.5, "complex", "complex", 8, frozenset(("x", "t", "out")),
                                      (True,) * 3),
    "real": fourier.Transform(dt.float32, (16, 8), False, 1.0, "complex", "halves", 8, frozenset(), (False,) * 3),
    "to real": fourier.Transform(dt.float32, (10, 10), True, 1.0, "halves", "complex", 16, frozenset(), (False,) * 3),
    "matrix": fourier.Transform(dt.float64, (16, 16), False, 1.0, "complex", "turns", 8, frozenset(("x", "t", "out")),
                                (True,) * 3),
    "odd": fourier.Transform(dt.float64, (9, 5), False, 1.0, "real", "half", 32, frozenset(), (False,) * 3, "t")}


@pytest.mark.parametrize("name", ["real", *[pytest.param(n, marks=pytest.mark.slow) for n in TRANSFORMS if n != "real"]])
def test_transforms(name):
    how = TRANSFORMS[name]
    binary, ptx = compiled(fourier.rows(how), (), how.warps, 80 if name in ("real", "odd") else 90)
    assert binary.registers <= 65536 // (32 * how.warps) and (how.part is dt.float64 or "ld.global.b64" in loads(ptx))
    if not how.waits:
        written = sum({"": 1, ".v2": 2}[v] for v in re.findall(r"st\.global(\.v2|)\.b64", ptx))
        assert written * 32 * how.warps == how.items * how.size * (2 if how.part is dt.float64 else 1), "nothing but results"
    else:
        assert ptx.count("bar.sync") >= 2 * len(how.radices) - 3, "all have loaded before any stores"


@pytest.mark.slow
def test_frequencies_of_long_rows():
    for source in (fourier.parted(dt.float32, 1.0), fourier.joined(dt.float64)):
        compiled(source, (("BLOCK", 1024),), 4, 90)


CLASSES = {"checked": class_targets.checked(dt.int64), "weights": class_targets.weights(dt.int32, dt.bfloat16, True),
           "taken": class_targets.taken(dt.int64, dt.float32), "put": class_targets.put(dt.int64, dt.bfloat16),
           "joined": row_indexing.concatenate(2, 16)}


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("name", CLASSES)
def test_classes_and_joining(name, arch):
    marked = (("SLOT", 0),) if "SLOT" in CLASSES[name].constants else ()
    compiled(CLASSES[name], (("BLOCK", 1024), *marked), 4, arch)


ONE_LANE = {"map": linear_maps.map_source(dt.bfloat16, True), "map_wide": linear_maps.map_source(dt.float64, True, True),
            "bits": linear_maps.map_source(dt.bool_, False), "zeros": check_values(dt.int64, "divisor"),
            "negatives": check_values(dt.int8, "length"), "chances": check_values(dt.bfloat16, "probability"),
            "whole": check_values(dt.float64, "count"), "found": scans.nonzero_positions(3),
            "recurrence": scans.recurrence(dt.bfloat16), "recurrence_wide": scans.recurrence(dt.float64),
            "log_sums": scans.log_sums(dt.float16), "log_sums_wide": scans.log_sums(dt.float64),
            "running_max": scans.extreme(dt.bfloat16, ">"), "running_min_of_integers": scans.extreme(dt.int64, "<"),
            "running_max_of_bools": scans.extreme(dt.bool_, ">")}


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("name", ONE_LANE)
def test_maps_and_scans(name, arch):
    marked = (("SLOT", 0),) if "SLOT" in ONE_LANE[name].constants else ()
    compiled(ONE_LANE[name], (("BLOCK", 128), *marked), 4, arch)


@pytest.mark.parametrize("name", ONE_LANE)
def test_maps_and_scans_of_more_than_32_bits_address(name):
    """Counters of places have the type of addresses."""
    marked = (("SLOT", 0),) if "SLOT" in ONE_LANE[name].constants else ()
    one = configs.Launch(ONE_LANE[name], (("BLOCK", 128), *marked), 4, (1, 1, 1))
    built(one, {p.name: 1024 for p in ONE_LANE[name].parameters if p.kind == SIZE}, 90, wide=True)


ROW_SCANS = {"running_max": row_scans.extreme(dt.bfloat16, ">"), "running_min_of_integers": row_scans.extreme(dt.int64, "<"),
             "running_max_of_bools": row_scans.extreme(dt.bool_, ">"), "log_sums": row_scans.log_sums(dt.float32),
             "log_sums_wide": row_scans.log_sums(dt.float64)}


@pytest.mark.parametrize("name, how", thinned(ROW_SCANS, [row_scans.WHOLE, row_scans.ENDS, row_scans.PARTS], strength=1))
def test_scans_along_rows_load_whole_vectors(name, how):
    source = row_scans.source(ROW_SCANS[name], how)
    given = {"ROWS": 1, "COLS": 1024, "PART": 4096, "WIDTH": 64}
    one = configs.Launch(source, tuple([(n, given[n]) for n in source.constants if n in given]), 4, (1, 1, 1))
    spills = 8 if name == "log_sums_wide" else 0        # (which the chip's functions of doubles put aside)
    for arch, wide in ((80, False), (90, False), (90, True)):
        _, ptx = built(one, {p.name: 1 << 16 for p in source.parameters if p.kind == SIZE}, arch, spills, wide=wide)
        assert {"ld.global.v4.b32", "ld.global.v2.b64", "ld.global.v2.b32"} & set(loads(ptx))


@pytest.mark.parametrize("kind, arch", thinned((dt.float32, dt.float64), ARCHS, strength=1), ids=str)
def test_factors(kind, arch):
    """As the runtime launches them; small matrices without waiting for other warps."""
    for side in (16, 32, 64):
        warps = cholesky.warps(kind, side)
        _, ptx = compiled(cholesky.whole(kind), (("BN", side),), warps, arch)
        assert warps > 1 or "bar.sync" not in ptx
    compiled(cholesky.block(kind), (("BN", 64),), cholesky.warps(kind, 64), arch)
    compiled(cholesky.finished(kind), (("BLOCK", 1024),), 4, arch)
    for columns in (1, triangular.COLUMNS[kind]):
        compiled(triangular.solved(kind, columns == 1, False), (("BN", 64), ("BC", columns)), 1, arch)
    for m, n in ((64, 64), (64, 16), (16, 64)):
        constants, warps, _ = triangular.tile(kind, m, n)
        _, ptx = compiled(triangular.taken_off(kind, m == n), constants, warps, arch, 2)
        assert kind is dt.float64 or "fma.rn.f32" in ptx, "products that round as float32 does"


@pytest.mark.parametrize("kind, arch", thinned((dt.float32, dt.float64), ARCHS, strength=1), ids=str)
def test_lu_factors(kind, arch):
    for rows, columns in ((16, 16), (32, 32), (lu.WHOLE, lu.WHOLE), (lu.HELD[kind] // lu.PANEL, lu.PANEL)):
        constants, warps = lu.tile(kind, rows, columns)
        compiled(lu.held(kind, rows == columns), constants, warps, arch)
    compiled(lu.tall(kind), (("BM", lu.TALL[kind]), ("BN", lu.PANEL)), 8, arch)
    for pivots, columns in ((lu.PANEL, 64), (lu.EXCHANGED, 64), (lu.EXCHANGED, 1)):
        compiled(lu.exchanged(kind.itemsize), (("BN", pivots), ("BC", columns)), 4, arch)


@pytest.mark.parametrize("kind, arch", thinned((dt.float32, dt.float64), ARCHS, strength=1), ids=str)
def test_reflections(kind, arch):
    for rows, columns in ((16, 16), (32, 32), (householder.HELD[kind] // householder.PANEL, householder.PANEL)):
        how = (("BM", rows), ("BN", columns)), householder.warps(kind, rows, columns)
        compiled(householder.held(kind), *how, arch)
    compiled(householder.tall(kind), (("BM", householder.TALL[kind]), ("BN", householder.PANEL)), 8, arch)


def test_factors_of_more_than_32_bits_address():
    square, long = (("BM", 32), ("BN", 32)), (("BM", 256), ("BN", 32))
    for source, constants, warps in (
            (cholesky.whole(dt.float32), square[1:], 1), (cholesky.block(dt.float32), square[1:], 1),
            (cholesky.finished(dt.float32), (("BLOCK", 1024),), 4), (lu.exchanged(4), (("BN", 32), ("BC", 64)), 4),
            (triangular.solved(dt.float32, True, False), (("BN", 64), ("BC", 16)), 1),
            (triangular.taken_off(dt.float32, True), triangular.tile(dt.float32, 64, 64)[0], 4),
            (lu.held(dt.float32, False), square, 1), (lu.tall(dt.float32), long, 8),
            (householder.held(dt.float32), square, 2), (householder.tall(dt.float32), long, 8)):
        one = configs.Launch(source, constants, warps, (1, 1, 1), stages=2)
        built(one, {p.name: 1024 for p in source.parameters if p.kind == SIZE}, 90, wide=True)


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("key", [dt.uint32, dt.uint64], ids=str)
def test_sorting(key, arch):
    digits = (("BLOCK", sorting.BLOCK), ("SHIFT", 4))
    compiled(sorting.counted(key), digits, 8, arch)
    compiled(sorting.spread(key, False), digits, 8, arch)
    compiled(sorting.ranked(key), (("LENGTH", sorting.SHORT), ("STEP", sorting.TOGETHER)), 4, arch)
    compiled(sorting.added(), (("BLOCK", sorting.BLOCK),), 4, arch)
    compiled(sorting.searched(key, True, False), (("BLOCK", sorting.BLOCK),), 4, arch)


@pytest.mark.parametrize("arch", ARCHS)
def test_merging(arch):
    compiled(sorting.blocks(dt.uint64, sorting.HIGH, True), (("LENGTH", sorting.RUN),), sorting.RUN // 256, arch)
    compiled(sorting.blocks(dt.uint32, sorting.WHOLE, False), (("LENGTH", 512),), 2, arch)
    runs = (("BLOCK", sorting.BLOCK), ("LENGTH", sorting.RUN), ("STEPS", sorting.RUN.bit_length()))
    for last, composed in ((False, False), (True, True)):
        compiled(sorting.merged(last, composed), runs, 4, arch)


@pytest.mark.parametrize("kind", [dt.float32, dt.bfloat16, dt.int64, dt.uint8, dt.bool_], ids=str)
def test_keys(kind):
    compiled(sorting.keys(kind, True), (("BLOCK", sorting.BLOCK),), 4, 90)


IS_NEW = tuple(map(int, importlib.metadata.version("triton").split(".")[:2])) >= (3, 9) if FOUND else False

ATTENTION = ((attention.FORWARD, attention.forward, ("q", "k", "v", "out")),
             (attention.QUERIES, lambda how: attention.query_grad(how, False), ("q", "k", "v", "g", "gq")),
             (attention.KEYS, attention.key_grad, ("q", "k", "v", "g", "gk", "gv")))


@pytest.mark.parametrize("arch, full", [(80, False), (90, True), pytest.param(90, False, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind, size", [(dt.bfloat16, 64), pytest.param(dt.bfloat16, 128, marks=pytest.mark.slow),
                                        pytest.param(dt.bfloat16, 256, marks=pytest.mark.slow),
                                        pytest.param(dt.float32, 64, marks=pytest.mark.slow)], ids=str)
def test_attention(kind, size, arch, full):
    """Lengths that fill their tiles, with operands and results that have strides; others, with those that take them then.
    (In the gradient of keys, 128 wide, Triton 3.6 puts up to 120 bytes aside; on an H200 that takes nine tenths of the time of
    the quickest tile that has registers for all.)"""
    how = attention.Kind(kind, attention.NO_MASK, True, even=True, full=full, late=True)
    for part, write, names in ATTENTION:
        names = [n for n in names
                 if full or part == attention.FORWARD or attention_configs.takes_strides(how, n, size, size, arch)]
        source = write(replace(how, strided=tuple(names)))
        constants, warps, stages = attention_configs.tiles(how, size, size, size ** -0.5, part, arch)
        rows = tuple([(attention.strides_of(n)[2], 768 if n in ("g", "out") else 2304) for n in names])
        few = 120 if full and part == attention.KEYS and size == 128 and not IS_NEW else 0
        _, ptx = compiled(source, (*constants, *rows), warps, arch, stages, spills=few)
        if kind.itemsize == 2:
            groups = arch == 90 and (size <= 128 or part != attention.KEYS)      # (registers hold no tile of 64 keys then)
            assert ("wgmma" if groups else "mma.sync") in ptx and "cp.async" in ptx


@pytest.mark.parametrize("kind, precision, size, arch, spills", [
    (dt.float32, "tf32", 128, 89, 0), (dt.bfloat16, "ieee", 64, 120, 24)], ids=str)
def test_gradients_of_attention_on_cards(kind, precision, size, arch, spills):
    """Cards have less shared memory, and no warp groups. (With 128 registers the assembler spills some bytes; with the tiles of
    large chips it was a hundred with all 255.)"""
    how = attention.Kind(kind, attention.NO_MASK, True, precision, even=True, late=True)
    for part, write, _ in ATTENTION[1:]:
        constants, warps, stages = attention_configs.tiles(how, size, size, size ** -0.5, part, arch)
        compiled(write(how), constants, warps, arch, stages, spills=spills)


@pytest.mark.parametrize("size, arch", thinned((32, 64), ARCHS, strength=1) + [
    pytest.param(128, arch, marks=pytest.mark.slow) for arch in ARCHS])
def test_exact_attention_over_transposed_keys(size, arch):
    depths = attention_configs.depths(dt.float32, "ieee", size, size, attention_configs.LEAST_WORK)
    how = attention.Kind(dt.float32, attention.NO_MASK, True, even=True, full=arch == 90, late=True, depths=depths)
    for part, write, _ in ATTENTION:
        constants, warps, stages = attention_configs.tiles(how, size, size, size ** -0.5, part, arch)
        compiled(write(how), constants, warps, arch, stages)


FEW = [(dt.bfloat16, "ieee", attention.NO_MASK), (dt.bfloat16, "ieee", attention.ADDED), (dt.float16, "ieee", attention.BOOLS),
       (dt.float32, "ieee", attention.NO_MASK), (dt.float32, "tf32", attention.BOOLS)]


@pytest.mark.parametrize("few, size, arch", thinned(FEW, (64, 128, 256), ARCHS, strength=1))
def test_attention_of_few(few, size, arch):
    """Of one row, and of as many as a tile holds; keys and values where they lie in a cache. Vectors are loaded whole."""
    kind, precision, mask = few
    how = attention.Kind(kind, mask, False, precision, even=True, late=mask != attention.ADDED, strided=("k", "v"))
    for rows in (1, 16, attention_split_kv.most_rows(how)):
        constants, warps, stages = attention_split_kv.tiles(how, size, size, size ** -0.5, rows)
        strides = tuple([(attention.strides_of(n)[2], 12 * size) for n in how.strided])
        made, ptx = compiled(attention_split_kv.partial_attention(how, rows == 1), (*constants, *strides), warps, arch, stages)
        assert ("mma" in ptx) == (rows > 1 and (kind.itemsize == 2 or precision == "tf32"))
        assert arch == 90 or made.shared <= SHARED[89]
        assert "cp.async.cg" in ptx if rows > 1 else loads(ptx).count("ld.global.v4.b32") >= 4
    compiled(attention_split_kv.join(attention.Kind(kind, attention.NO_MASK, False)), attention_split_kv.tile_of_join(size), 4,
             arch)


@pytest.mark.parametrize("mask", [attention.BOOLS, attention.ADDED])
def test_masked_attention(mask):
    how = attention.Kind(dt.bfloat16, mask, False, even=True, late=mask == attention.BOOLS)
    constants, warps, stages = attention_configs.tiles(how, 64, 64, 0.125, attention.FORWARD, 90)
    compiled(attention.forward(how), constants, warps, 90, stages)


@pytest.mark.parametrize("arch, drops, mask", [
    (90, attention.ALIGNED_DRAWS, attention.NO_MASK), (80, attention.SHIFTED_DRAWS, attention.NO_MASK),
    *[pytest.param(arch, drops, mask, marks=pytest.mark.slow) for arch, drops, mask in (
        (80, attention.ALIGNED_DRAWS, attention.NO_MASK), (90, attention.SHIFTED_DRAWS, attention.NO_MASK),
        (90, attention.SHIFTED_DRAWS, attention.BOOLS), (90, attention.ALIGNED_DRAWS, attention.ADDED),
        (80, attention.SHIFTED_DRAWS, attention.BOOLS), (80, attention.ALIGNED_DRAWS, attention.ADDED))]])
@pytest.mark.parametrize("size", [64, pytest.param(128, marks=pytest.mark.slow)])
def test_attention_with_dropout(size, arch, drops, mask):
    """Ten rounds of two products draw four elements, or, where rows begin within a block of Philox, two on the average. (Before
    3.9 each thread drew what it reads: two, or four, drew the same.)"""
    full = arch == 90 and drops == attention.ALIGNED_DRAWS
    how = attention.Kind(dt.bfloat16, mask, mask == attention.NO_MASK, even=True, full=full, late=mask != attention.ADDED,
                         drops=drops)
    for part, write, names in ATTENTION:
        names = [n for n in names
                 if full or part == attention.FORWARD or attention_configs.takes_strides(how, n, size, size, arch)]
        constants, warps, stages = attention_configs.tiles(how, size, size, size ** -0.5, part, arch)
        rows = tuple([(attention.strides_of(n)[2], 768 if n in ("g", "out") else 2304) for n in names])
        _, ptx = compiled(write(replace(how, strided=tuple(names))), (*constants, *rows), warps, arch, stages)
        tile = dict(constants)
        words = tile["BM"] * tile["BN"] // (32 * warps) * (2 if drops == attention.SHIFTED_DRAWS else 1)
        factors = [str(m) for m in (philox.M0, philox.M1, philox.M0 - 2 ** 32, philox.M1 - 2 ** 32)]
        products = len(re.findall(rf"mul\.\S+ .*, (?:{'|'.join(factors)});", ptx))
        rounds = 2 * philox.ROUNDS * words // attention.DRAW_WORDS
        assert 0.9 * rounds <= products <= (1.1 if IS_NEW else 4) * rounds, (part, products, rounds)


@pytest.mark.slow
@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("size", [64, 128])
@pytest.mark.parametrize("drops", [attention.ALIGNED_DRAWS, attention.SHIFTED_DRAWS])
def test_attention_with_dropout_in_tf32(drops, size, arch):
    how = attention.Kind(dt.float32, attention.NO_MASK, True, "tf32", even=True, late=True, drops=drops)
    for part, write, _ in ATTENTION:
        constants, warps, stages = attention_configs.tiles(how, size, size, size ** -0.5, part, arch)
        compiled(write(how), constants, warps, arch, stages, spills=0 if IS_NEW else 40)


SPILLS = {(attention.KEYS, 128): 128, (attention.FORWARD, 128): 96}     # bytes, of tiles that the tuner then leaves out


@pytest.mark.parametrize("part, causal", thinned(attention_configs.COPY_TILES, [False, True], strength=1))
@pytest.mark.parametrize("size", [64, pytest.param(128, marks=pytest.mark.slow)])
def test_attention_by_bulk_copies(part, size, causal):
    """Each road of Hopper chips: copies by the chip's engine, asked for by warps of their own where that was asked for."""
    write = {attention.FORWARD: attention.forward, attention.QUERIES: lambda k: attention.query_grad(k, False),
             attention.KEYS: attention.key_grad}[part]
    for *tile, warps, stages, strategy in attention_configs.COPY_TILES[part]:
        source = write(attention.Kind(dt.bfloat16, attention.NO_MASK, causal, even=True, late=True, strategy=strategy))
        constants = attention_configs.constants(size, size, size ** -0.5, *tile)
        one = configs.Launch(source, constants, warps, (1, 1, 1), stages=stages)
        v = variant(one, {p.name: 1024 for p in source.parameters if p.kind == SIZE}, 90)
        made = compiler._run_triton(v)
        binary, ptx = compiler._binary(v, made), made.asm["ptx"]
        assert binary.spills <= SPILLS.get((part, size), 0) and binary.shared <= 232448 and binary.scratch, (tile, strategy)
        assert "cp.async.bulk.tensor" in ptx and "wgmma" in ptx
        assert binary.threads == 32 * warps, (tile, strategy)


WINDOW = tuple(zip(conv.WINDOW, (1, 3, 3, 1, 1, 1, 0, 1, 1, 1, 1, 1)))


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("kind", [dt.bfloat16, pytest.param(dt.float32, marks=pytest.mark.slow),
                                  pytest.param(dt.float64, marks=pytest.mark.slow)], ids=str)
def test_convolutions(kind, arch):
    tile, warps, stages = conv.tiles(kind, "ieee", 50000, 128, 1152)
    constants = (*WINDOW, *zip(conv.TILE, tile), ("GROUPS", 1))
    for source in (conv.forward(kind, "ieee", True), conv.input_grad(kind, "ieee"), conv.weight_grad(kind, "ieee")):
        more = (("PARTS", 4),) if "PARTS" in source.constants else ()
        _, ptx = compiled(source, (*constants, *more), warps, arch, stages, size=128)
        if kind.itemsize == 2:
            assert ("wgmma" if arch == 90 else "mma.sync") in ptx


ON_TENSOR_CORES = thinned(((dt.bfloat16, "ieee"), (dt.float32, "tf32")), ARCHS, strength=1)


@pytest.mark.parametrize("kind_and_precision, arch", ON_TENSOR_CORES, ids=str)
def test_convolutions_over_many_channels_load_whole_vectors(kind_and_precision, arch):
    """On tensor cores, by asynchronous copies of 16 bytes, whatever the planes are (of 4 where TF32 goes across the depth)."""
    kind, precision = kind_and_precision
    narrow = kind is dt.float32 and arch == 90
    for source, rows in ((conv_channels_last.product(kind, precision, False, True), 12544),
                         (conv_channels_last.product_last(kind, precision, False, True), 12544),
                         (conv_channels_last.product_last(kind, precision, True, transposed=narrow), 12544),
                         (conv_channels_last.weight_grad(kind, precision, True), 256),
                         (conv_channels_last.weight_grad(kind, precision), 256),
                         (conv_channels_last.point_weight_grad(kind, precision), 256)):
        crossed = narrow and "weight_grad" in source.name and "point" not in source.name
        tile, warps, stages = conv_channels_last.candidates(kind, rows, 256, SHARED[arch], crossed)[0]
        given = dict(WINDOW) | dict(zip(conv.TILE, tile)) | {"GROUPS": 1, "PARTS": 4} | dict(PHASES)
        constants = tuple([(n, given[n]) for n in source.constants if n not in ("INDEX", "LAST")])
        _, ptx = compiled(source, constants, warps, arch, stages, size=256)
        assert "st.global.b16" not in ptx or source.name.startswith("conv_last_b"), "planes are written pixel by pixel"
        assert ptx.count("ld.global.b16") <= ("bias" in source.name) and "cp.async.c" in ptx, "a bias is one number a lane"
        assert (kind.itemsize == 4 and ("weight" in source.name or arch == 80)) or "cp.async.ca" not in ptx, source.name
        assert ("wgmma" if arch == 90 and not crossed else "mma.sync") in ptx


@pytest.mark.parametrize("columns", [3, pytest.param(21, marks=pytest.mark.slow), pytest.param(70, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind_and_precision, arch", ON_TENSOR_CORES, ids=str)
def test_convolutions_that_make_few_channels_load_whole_vectors(kind_and_precision, arch, columns):
    """All tiles that a tuner may take: narrow ones of tensor cores, by copies of 16 bytes."""
    kind, precision = kind_and_precision
    for source in (conv_channels_last.product(kind, precision, False, True), conv_channels_last.product(kind, precision, True),
                   conv_channels_last.product_last(kind, precision, True, transposed=True)):
        for tile, warps, stages in conv_channels_last.candidates(kind, 12544, columns, SHARED[arch]):
            given = dict(WINDOW) | dict(zip(conv.TILE, tile)) | {"GROUPS": 1} | dict(PHASES)
            constants = tuple([(n, given[n]) for n in source.constants if n not in ("INDEX", "LAST")])
            _, ptx = compiled(source, constants, warps, arch, stages, size=64)
            copies = re.findall(r"cp.async.c[ag].shared.global \[.*?\], \[.*?\], (?:0x)?(\d+)", ptx)
            found = {int(n, 16) for n in copies}
            assert max(found) == 16 and min(found) >= 8, (source.name, tile, found)
            assert ("wgmma" if arch == 90 else "mma.sync") in ptx


@pytest.mark.parametrize("channels, arch", thinned((4, 8), ARCHS, strength=1), ids=str)
@pytest.mark.parametrize("kind, precision", [(dt.bfloat16, "ieee"), pytest.param(dt.float32, "tf32", marks=pytest.mark.slow)],
                         ids=str)
def test_convolutions_over_few_channels_load_whole_vectors(kind, precision, channels, arch):
    """All tiles that a tuner may take: copies as wide as the channels are, on tensor cores."""
    stem = dict(zip(conv.WINDOW, (1, 7, 7, 1, 2, 2, 0, 0, 0, 1, 1, 1))) | {"PACK": channels, "PARTS": 4}
    for source in (conv_packed.product(kind, precision, True), conv_packed.product(kind, precision, False, True),
                   conv_packed.weight_grad(kind, precision, True), conv_packed.weight_grad(kind, precision, False)):
        back = "weight_grad" in source.name
        sizes = (49 * channels, 128, 12544) if back else (12544, 128, 49 * channels)
        for tile, warps, stages in conv_packed.candidates(kind, channels, sizes, SHARED[arch], back):
            given = stem | dict(zip(conv.TILE, tile))
            constants = tuple([(n, given[n]) for n in source.constants if n not in ("INDEX", "LAST")])
            few_words = 16 if arch == 80 and tile[:2] == (64, 64) else 0         # (Triton 3.6, of its smallest tiles)
            _, ptx = compiled(source, constants, warps, arch, stages, size=128, spills=few_words)
            groups = arch == 90 and warps >= 4         # (of warps: TF32 that lies across the depth is none for them)
            assert ("wgmma" if groups else "mma.sync") in ptx and "ld.global.b16" not in ptx, (source.name, tile)
            wide = min(16, channels * kind.itemsize)
            copies = set(re.findall(r"cp.async.c[ag].shared.global \[.*?\], \[.*?\], (?:0x)?(\d+)", ptx))
            crossed = back and kind.itemsize == 4      # (the image is turned on its way: lanes copy neighbours one by one)
            assert copies and (max if crossed else min)(int(n, 16) for n in copies) >= wide, (source.name, tile, copies)


PHASES = tuple(conv.phases((1, 3, 3), (1, 1, 1), (0, 1, 1), (1, 1, 1), (1, 14, 14))[0][0].items())
GATHERED = {"forward": (lambda kind: conv.forward(kind, "ieee", True), ()),
            "input_grad": (lambda kind: conv.input_grad(kind, "ieee"), ()),
            "phase_grad": (lambda kind: conv.phase_grad(kind, "ieee"), PHASES),
            "weight_grad": (lambda kind: conv.weight_grad(kind, "ieee"), (("PARTS", 4),))}


@pytest.mark.parametrize("kind", [dt.bfloat16, pytest.param(dt.float32, marks=pytest.mark.slow)], ids=str)
@pytest.mark.parametrize("name", GATHERED)
def test_lanes_read_neighbouring_pixels(name, kind):
    """Also where a plane's size says nothing (14 by 14): neighbouring lanes of what is read and of images that are written."""
    write, more = GATHERED[name]
    source, tile = write(kind), (128, 64, 32)
    one = configs.Launch(source, (*WINDOW, *zip(conv.TILE, tile), ("GROUPS", 1), *more), 4, (1, 1, 1), stages=3)
    text = compiler._run_triton(variant(one, {p.name: 14 for p in source.parameters if p.kind == SIZE}, 90)).asm["ttgir"]
    lanes = dict(re.findall(r"^#(\w+) = #ttg.blocked<.*threadsPerWarp = \[([\d, ]+)\]", text, re.M))
    found = re.findall(r"(tt\.load|async_copy_global|tt\.store).*tensor<(\d+)x(\d+)x!tt.ptr<\w+>, #(\w+)>", text)
    pixels = tile[2] if name == "weight_grad" else tile[0]
    for what, rows, columns, layout in [f for f in found if f[3] in lanes]:
        along = dict(zip((int(rows), int(columns)), map(int, lanes[layout].split(", "))))
        assert along.get(pixels, 32) == 32, f"{what} {rows}x{columns}: {lanes[layout]}"
    assert sum(str(pixels) in f[1:3] for f in found) >= 2, found


@pytest.mark.parametrize("arch", ARCHS)
def test_phases_and_depthwise(arch):
    tile, warps, stages = conv.tiles(dt.bfloat16, "ieee", 50000, 128, 1152)
    phase, _ = conv.phases((1, 3, 3), (1, 2, 2), (0, 1, 1), (1, 1, 1), (1, 56, 56))[3]
    window = tuple(zip(conv.WINDOW, (1, 3, 3, 1, 2, 2, 0, 1, 1, 1, 1, 1)))
    constants = (*window, *zip(conv.TILE, tile), ("GROUPS", 1), *phase.items())
    compiled(conv.phase_grad(dt.bfloat16, "ieee"), constants, warps, arch, stages, size=128)
    for kind in (dt.bfloat16, dt.float32):
        each = (*window, ("GROUPS", 64))
        compiled(conv_depthwise.forward(kind, True), (*each, ("BLOCK", 256)), 4, arch, size=128)
        compiled(conv_depthwise.input_grad(kind), (*each, ("BLOCK", 256)), 4, arch, size=128)
        compiled(conv_depthwise.weight_grad(kind), (*each, *conv_depthwise.weight_tile(9), ("PARTS", 8)), 4, arch, size=128)


def test_pools():
    """Few places are known in advance, many are not."""
    counted, tile = tuple([(n, 0) for n in pooling.COUNTED]), tuple(zip(pooling.TILE, pooling.tile(56)))
    for short in (False, True):
        for even in (False, True):
            compiled(pooling.maximum(dt.bfloat16, short, even), (*WINDOW, *tile), 4, 90)
        compiled(pooling.drawn_maximum(dt.bfloat16, short, dt.float32, 2), (*WINDOW, *tile), 4, 80)
        compiled(pooling.maximum_grad(dt.bfloat16, short), (*WINDOW, *tile), 4, 90)
        for write in (pooling.average, pooling.average_grad):
            for divisor in (False, True):
                compiled(write(dt.float32, short, divisor), (*WINDOW, *counted, ("DIVISOR", 9), *tile), 4, 90)


ALONG, DOWN = (False, True), (True, False)        # which of the last two strides is 1


@pytest.mark.parametrize("laid, precision, arch", thinned(
    [(False, ALONG, ALONG), (False, ALONG, DOWN), (True, DOWN, ALONG)], ["bf16", "tf32", "ieee"], ARCHS))
def test_products_of_groups(laid, precision, arch):
    depth, x, y = laid
    kind, how = (dt.bfloat16, "ieee") if precision == "bf16" else (dt.float32, precision)
    fast, units = precision != "ieee", (x, y, ALONG)
    tile, *_ = grouped_matmul.candidates(kind, (4096, 2048, 2048), 8, depth, fast, SHARED[arch])
    source = grouped_matmul.source(kind, dt.int32, how, units, depth)
    _, ptx = compiled(source, (*tile.constants, ("SLOT", 0), ("GROUPS", 16)), tile.warps, arch, tile.stages, size=2048)
    if precision == "bf16":
        assert ("wgmma" if arch == 90 else "mma.sync") in ptx and "cp.async.cg.shared.global" in ptx


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("states", [64, 512])
def test_alignments(states, arch):
    """States get their neighbours' numbers from other lanes, those of one warp without shared memory."""
    constants = ("AT_ONCE", 256), ("STATES", states), ("SLOT", 0)
    for gradient in (False, True):
        source = ctc.sequences(dt.float32, dt.int64, True, gradient)
        binary, ptx = compiled(source, constants, max(1, states // 128), arch, size=64)
        assert ("shfl.sync.idx" in ptx and not binary.shared) if states == 64 else "bar.sync" in ptx
    compiled(ctc.taken(dt.float32, dt.int64, True), (*constants[:2], ("BLOCK", 128)), 4, arch, size=64)
