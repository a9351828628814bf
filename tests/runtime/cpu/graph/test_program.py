"""Whole graphs as one native call: every operator with a step gives the result of eager mode, errors included."""

import threading

import numpy as np
import pytest

import ingot
from graphs import graph_of, same_bits
from ingot.ir import dtype as dt
from ingot.ir.errors import DimError
from ingot.ir.graph.graph import Builder, Value
from ingot.ir.opdef.aval import Aval
from ingot.ir.opdef.op import OPS
from ingot.passes.schedule.plan_steps import Run
from ingot.runtime.core.dispatch import kernel_of
from ingot.runtime.cpu.calls import pool
from ingot.runtime.cpu.calls.step_list import Table
from ingot.runtime.cpu.compiler import compile as compiler
from ingot.runtime.cpu.graph.program import CompiledGraph

F, I = np.float32, np.int64


def rng(seed=0):
    return np.random.default_rng(seed)


def normal(*shape, kind=F):
    return rng(1).standard_normal(shape).astype(kind)


def numbers(high, *shape, low=0):
    return rng(2).integers(low, high, shape)


def of_each(*kinds, args, **params):
    """Return cases of one call with arrays of several dtypes."""
    return [(tuple([a.astype(kind) if a.dtype == F else a for a in args]), params) for kind in kinds]


FLOATS = (F, np.float64, np.float16, dt.bfloat16.np)
IMAGES, PLANES = normal(2, 3, 8, 6), ((1, 1), (0, 2))


def resampled(args, **sizes):
    """Return resampling by all kinds of tables."""
    return [case for mode in ("nearest", "linear", "cubic", "area", "linear-smooth") for case in
            of_each(*FLOATS, args=args, mode=mode, align_corners=False, scales=(None, None), **sizes)]


def divided():
    """Return integers of all dtypes, with the ends of their ranges, by arrays, by a number, and a number by arrays."""
    found = []
    for kind in (np.int8, np.int16, np.int32, np.int64, np.uint8):
        least, most = np.iinfo(kind).min, np.iinfo(kind).max
        x = np.array([[0, 1, 7, -7, least, most, least, 100]] * 5, np.int64).astype(kind)
        y = np.array([[3], [-3], [-1], [most], [1]], np.int64).astype(kind) * np.ones_like(x)
        found += [((x, y), {}), ((x, 3), {}), ((x, most), {}), ((100, y), {})] + [((x, -3), {})] * (least < 0)
    return found


KEY = np.array([5, 7], np.uint64)
CASES = {
    "matmul": [((normal(5, 7), normal(7, 33)), {}), ((normal(2, 3, 40, 9), normal(2, 3, 9, 20)), {}),
               ((normal(70, 300, kind=np.float64), normal(300, 65, kind=np.float64)), {}),
               ((normal(2, 20, 31).astype(dt.bfloat16.np), normal(2, 31, 40).astype(dt.bfloat16.np)), {})],
    "linear": [(tuple([normal(*shape, kind=dt.bfloat16.np) for shape in shapes]), {})
               for shapes in (((2, 20, 31), (40, 31), (40,)), ((3, 64), (9, 64), (9,)), ((7, 33), (1, 33), (1,)))] +
              [((normal(5, 30, kind=np.float16), normal(8, 30, kind=np.float16), None), {})],
    "cat": [((normal(3, 4), normal(3, 5)), {"dim": 1}), ((normal(2, 3, 4), normal(1, 3, 4)), {"dim": 0}),
            ((numbers(9, 4, 1), numbers(9, 4, 6)), {"dim": 1})],
    "pad": [((normal(3, 4),), {"low": (1, 0), "high": (0, 2), "interior": (0, 0), "value": 1.5}),
            ((normal(5, 6),), {"low": (-1, 2), "high": (-2, -3), "interior": (0, 0)}),
            ((normal(4, 3),), {"low": (-3, 1), "high": (2, -1), "interior": (2, 1)}),
            ((numbers(9, 5),), {"low": (2,), "high": (1,), "interior": (0,), "value": -3})],
    "flip": [((normal(3, 4, 5),), {"dims": (0, 2)}), ((normal(7) > 0,), {"dims": (0,)})],
    "roll": [((normal(3, 8),), {"shifts": (2, -3), "dims": (0, 1)}),
             ((normal(6, kind=np.float16),), {"shifts": (4,), "dims": (0,)})],
    "embedding": [((normal(20, 33), numbers(20, 4, 7)), {"padding_idx": None, "by_frequency": False}),
                  ((normal(20, 300), numbers(20, 300).astype(np.int32)), {"padding_idx": None, "by_frequency": False})],
    "index": [((normal(20, 3, 5), numbers(20, 9, low=-20)), {}), ((normal(50), numbers(50, 3, 2)), {}),
              ((normal(6, 5, 4), numbers(6, 7, 1), numbers(5, 3, low=-5)), {}), ((normal(6, 5, 4), None, numbers(5, 9)), {}),
              ((normal(6, 5, 4), None, numbers(5, 2, 3, low=-5).astype(np.int8), numbers(4, 3)), {}),
              ((numbers(9, 3, 4, 5), *[numbers(n, 8, low=-n) for n in (3, 4, 5)]), {}),
              ((normal(3, 2, 4, 5) + 1j * normal(3, 2, 4, 5), None, None, numbers(4, 1), None), {})],
    **{name: divided() for name in ("floor_divide", "trunc_divide", "remainder", "fmod")},
    "row_sums": [((normal(30, 17), numbers(6, 30)), {"rows": 6})],
    "bag_sums": [((normal(30, 17), numbers(30, 9), np.array([0, 2, 2, 7])), {}),
                 ((normal(30, 3), numbers(30, 5).astype(np.int32), np.array([0])), {})],
    "scaled_bag_sums": [((normal(30, 17), numbers(30, 9), np.array([0, 2, 2, 7]), normal(9)), {}),
                        ((normal(30, 3), numbers(30, 5).astype(np.int32), np.array([0]), normal(5)), {})],
    "index_put": [((normal(9, 4), normal(30, 4), numbers(9, 30, low=-9)), {"accumulate": True})],
    "gather": [((normal(6, 40), numbers(40, 6, 9)), {"dim": 1}), ((normal(7, 3, 5), numbers(7, 4, 3, 5)), {"dim": 0}),
               ((normal(3, 7, 5), numbers(7, 3, 9, 5)), {"dim": 1})],
    "scatter": [((normal(6, 40), numbers(40, 6, 90), normal(6, 90)), {"dim": 1, "mode": "add"}),
                ((numbers(9, 7, 3, 5), numbers(7, 4, 3, 5), numbers(9, 4, 3, 5)), {"dim": 0, "mode": "add"}),
                ((normal(3, 7, 5) > 0, numbers(7, 3, 9, 5), normal(3, 9, 5) > 0), {"dim": 1, "mode": "set"})],
    "uniform": [((KEY,), {"shape": (3, 50), "dtype": dt.float32}), ((KEY,), {"shape": (9,), "dtype": dt.float64})],
    "normal": [((KEY,), {"shape": (3, 50), "dtype": dt.float32}), ((KEY,), {"shape": (33,), "dtype": dt.bfloat16})],
    "bernoulli_mask": [((KEY,), {"shape": (40, 9), "p": 0.3}), ((KEY,), {"shape": (8,), "p": 1.0})],
    "mask_below": [((np.array([*KEY, 1 << 30, 0], np.uint64),), {"shape": (40, 9)}),
                   ((np.array([*KEY, 1 << 32, 0], np.uint64),), {"shape": (8,)})],
    "attention": [((normal(2, 4, 9, 8), normal(2, 4, 11, 8), normal(2, 4, 11, 5), None), {"causal": False, "scale": 0.3}),
                  ((normal(2, 4, 9, 8), normal(2, 2, 9, 8), normal(2, 2, 9, 8), normal(9, 9) > 0),
                   {"causal": True, "scale": 0.3})],
    "argsort": [((normal(5, 700),), {"dim": 1, "descending": True}),
                ((numbers(5, 4, 50),), {"dim": 1, "descending": False}),
                ((normal(70, 3, 80),), {"dim": 0, "descending": False}),
                ((normal(5, 9, 2).astype(dt.bfloat16.np),), {"dim": 1, "descending": True})],
    "arg_topk": [((normal(5, 3000),), {"dim": 1, "k": 7, "largest": True}),
                 ((normal(40),), {"dim": 0, "k": 30, "largest": False}),
                 ((normal(3, 900, 5),), {"dim": 1, "k": 4, "largest": True})],
    "resample": resampled((IMAGES,), size=(5, 9)) + of_each(F, args=(numbers(9, 2, 3, 4, 5),), size=(8, 10),
                                                                        mode="nearest", align_corners=False, scales=(2.0, 2.0)),
    "resample_grad": resampled((normal(2, 3, 5, 9),), size=(8, 6)),
    "border_pad": [case for mode in ("reflect", "replicate", "circular")
                   for low, high in (((0, 0, 2, 3), (0, 0, 5, 0)), ((0, 0, 0, 4), (0, 0, 0, 5)), ((0, 1, -2, 1), (0, 0, 1, -1)))
                   for case in of_each(F, dt.bfloat16.np, args=(IMAGES,), mode=mode, low=low, high=high)] +
                  of_each(F, args=(numbers(9, 3, 5),), mode="circular", low=(0, 12), high=(0, 7)) +
                  of_each(F, args=(normal(2, 5) + 1j * normal(2, 5),), mode="reflect", low=(0, 3), high=(0, 2)),
    "border_pad_grad": [case for mode in ("reflect", "replicate", "circular") for case in of_each(
        *FLOATS, args=(normal(2, 3, 9, 8),), mode=mode, low=(0, 0, 2, 3), high=(0, 0, 1, 0))],
    "max_pool": of_each(*FLOATS, args=(IMAGES,), kernel=(3, 2), stride=(2, 1), padding=PLANES, dilation=(1, 2)),
    "adaptive_max_pool": of_each(*FLOATS, args=(IMAGES,), size=(4, 2)),
    "avg_pool": [case for counted, divisor in ((PLANES, None), (((0, 0), (0, 0)), None), (PLANES, 5))
                 for case in of_each(*FLOATS, args=(IMAGES,), kernel=(3, 3), stride=(2, 1), padding=PLANES, counted=counted,
                                     divisor=divisor)],
    "avg_pool_grad": of_each(*FLOATS, args=(normal(2, 3, 4, 6),), size=(8, 6), kernel=(3, 3), stride=(2, 1), padding=PLANES,
                             counted=PLANES, divisor=None) +
                     of_each(*FLOATS, args=(normal(2, 3, 2, 1),), size=(8, 6), kernel=(4, 6), stride=(4, 6),
                             padding=((0, 0), (0, 0)), counted=((0, 0), (0, 0)), divisor=None),
    "plane_put": of_each(*FLOATS, args=(normal(2, 3, 4, 5), numbers(48, 2, 3, 4, 5)), size=(8, 6), accumulate=True),
    "plane_take": of_each(*FLOATS, args=(IMAGES, numbers(48, 2, 3, 4, 5))),
    "im2col": of_each(*FLOATS, args=(IMAGES,), kernel=(3, 2), stride=(2, 1), padding=PLANES, dilation=(1, 2)) +
              of_each(np.uint8, F, args=(IMAGES,), kernel=(4, 3), stride=(4, 3), padding=((0, 0), (0, 0)), dilation=(1, 1)),
    "col2im": of_each(*FLOATS, args=(normal(2, 18, 24),), size=(8, 6), kernel=(3, 2), stride=(2, 1), padding=PLANES,
                      dilation=(1, 2)) +
              of_each(*FLOATS, args=(normal(2, 36, 4),), size=(8, 6), kernel=(4, 3), stride=(4, 3), padding=((0, 0), (0, 0)),
                      dilation=(1, 1)),
    "fold_windows": of_each(*FLOATS, args=(normal(2, 4, 5, 3),), shape=(2, 9, 5), dim=1, step=2) +
                    of_each(F, args=(normal(2, 4, 5, 2),), shape=(2, 9, 5), dim=1, step=2),
    "strided_scatter": of_each(*FLOATS, args=(normal(3, 4),), size=(5, 9), strides=(10, 2), offset=3),
    "diagonal_embed": of_each(F, np.float16, np.bool_, args=(normal(2, 3),), shape=(4, 2, 5), offset=2, dim1=0, dim2=2) +
                      of_each(F, args=(normal(2, 3),), shape=(4, 2, 5), offset=-1, dim1=0, dim2=2),
    "cumsum": [((normal(20, 33),), {"dim": 1}), ((normal(4, 9, 70),), {"dim": 1}), ((numbers(9, 33),), {"dim": 0})],
    "class_index": [((numbers(4, 6, 2),), {"classes": 4, "ignore_index": -100})],
}
ALL = [(name, i) for name, cases in CASES.items() for i in range(len(cases))]


def graph_and_arrays(name, number, turned=False):
    """Return one operator on inputs, which may be views of others."""
    args, params = CASES[name][number]
    b, arrays, given = Builder("g"), [], []
    for n, a in enumerate(args):
        if not isinstance(a, np.ndarray):
            given.append(a)
            continue
        turn = turned and a.ndim > 1
        arrays.append(np.ascontiguousarray(a.swapaxes(0, 1)) if turn else a)
        v = b.input(f"x{n}", Aval(arrays[-1].shape, dt.from_numpy(a.dtype)))
        order = (1, 0, *range(2, a.ndim))
        given.append(OPS["permute"](v, dims=order) if turn else v)
    made = OPS[name](*given, **params) if any(type(v) is Value for v in given) else None
    return b.finish(list(made) if type(made) is tuple else [made]), arrays, args, params


@pytest.mark.drawn
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("name, number", ALL)
def test_steps_give_the_results_of_eager_mode(name, number, turned):
    g, arrays, args, params = graph_and_arrays(name, number, turned)
    made = CompiledGraph(g, kernel_of, frozenset(range(len(g.outputs))))
    assert [type(s) for s in made.plan.steps] == [Run], f"{name} is called by Python"
    with np.errstate(over="ignore"):        # (of the lowest number by -1)
        want = kernel_of(OPS[name])(*args, **params)
    for _ in range(2):
        for a, b in zip(want if type(want) is tuple else (want,), made.run(arrays), strict=True):
            near = 1e-1 if b.dtype == dt.bfloat16.np else 1e-4
            rounded = name in ("matmul", "attention")      # another layout may take another road
            same = np.allclose(a.astype(F), b.astype(F), near, near) if rounded else same_bits(np.asarray(a), b)
            assert same, f"{name} {params}, seeds 1 and 2"


WRONG = {
    "embedding": ("index 20 is out of range", (normal(20, 3), np.array([0, 20])), {"padding_idx": None, "by_frequency": False}),
    "index": ("index -21 is out of range", (normal(20, 3), np.array([0, -21])), {}),
    "index of two": ("index 5 is out of range for dim 1", (normal(6, 5), np.array([0, 2]), np.array([0, 5])), {}),
    "floor_divide": ("floor_divide: integer division by zero", (numbers(9, 4), np.array([1, 2, 0, 4])), {}),
    "row_sums": ("row_sums", (normal(2, 3), np.array([0, 5])), {"rows": 5}),
    "bag_sums": ("never go down", (normal(9, 3), np.array([0, 5, 1]), np.array([0, 2, 1])), {}),
    "bag_sums of rows": ("index 9 is out of range", (normal(9, 3), np.array([0, 9]), np.array([0, 1])), {}),
    "bag_sums after the start": ("begin with 0", (normal(9, 3), np.array([0, 5]), np.array([1])), {}),
    "scaled_bag_sums": ("index 9 is out of range", (normal(9, 3), np.array([0, 9]), np.array([0, 1]), normal(2)), {}),
    "bag_sums past the end": ("begin with 0", (normal(9, 3), np.array([0, 5]), np.array([0, 3])), {}),
    "gather": ("index 9 is out of range", (normal(2, 9), np.array([[0, 9], [1, 1]])), {"dim": 1}),
    "scatter": ("index 9 is out of range", (normal(2, 9), np.array([[0, 9], [1, 1]]), normal(2, 2)), {"dim": 1, "mode": "add"}),
    "class_index": ("target 3 is out of bounds", (np.array([1, 3]),), {"classes": 3, "ignore_index": -100}),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_indices_stop_the_run_before_anything_is_overwritten(name):
    said, args, params = WRONG[name]
    b = Builder("g")
    values = [b.input(f"x{n}", Aval(a.shape, dt.from_numpy(a.dtype))) for n, a in enumerate(args)]
    w = b.input("w", Aval((3,), dt.float32))
    out = OPS[name.split()[0]](*values, **params)
    out = out[0] if type(out) is tuple else out
    made = CompiledGraph(b.finish([out, OPS["neg"](w)]), kernel_of, frozenset([0, 1]), {1: len(args)})
    assert made.in_place == {1}
    kept = np.ones(3, np.float32)
    with pytest.raises((DimError, ingot.IngotError, IndexError, ValueError), match=said):
        made.run([*args, kept])
    assert (kept == 1).all()


CHAIN = """
    graph g(%x: f32[64,64], %i: i64[64]) {
      %0: f32[64,64] = matmul(%x, %x)
      %1: f32[64,64] = index(%0, %i)
      %2: f32[64,64] = tanh(%1)
      %3: f32[64,64] = permute(%2, dims=(1, 0))
      %4: f32[64,64] = matmul(%3, %0)
      %5: f32[64,64] = cumsum(%4, dim=1)
      return %5
    }"""


def chain():
    made = CompiledGraph(graph_of(CHAIN), kernel_of)
    assert len(made.steps) == 1
    return made, [normal(64, 64) / 8, numbers(64, 64)]


@pytest.mark.parametrize("kind, values", [
    ("i64", "(5, -7, 9)"), ("f32", "(1.5, -0.0, nan)"), ("bool", "(True, False, True)"), ("bf16", "(1.5, 2.0, inf)"),
    ("c64", "(complex(0.0, 1.0), complex(2.0, 1.0), complex(0.0, 0.0))")])
def test_literals_are_part_of_the_list(kind, values):
    name = {"i64": "int64", "f32": "float32", "bool": "bool", "bf16": "bfloat16", "c64": "complex64"}[kind]
    g = graph_of(f"""
        graph g(%x: {kind}[3]) {{
          %0: {kind}[3] = constant(None, dtype={name}, shape=(3,), values={values})
          %1: {kind}[6] = cat(%x, %0, dim=0)
          return %1
        }}""")
    made, x = CompiledGraph(g, kernel_of), np.zeros(3, dt.BY_NAME[name].np)
    assert [type(s) for s in made.plan.steps] == [Run]
    want = g.nodes[0].op.ref(None, **g.nodes[0].params)
    assert same_bits(made.run([x])[0], np.concatenate([x, want]))


def test_steps_are_rebuilt_for_another_number_of_threads():
    """They are made once, also for a caller with an old `run`."""
    made, arrays = chain()
    before, run = pool.get_num_threads(), made.run
    want, = run(arrays)
    try:
        for count in (1, 3, 2):
            pool.set_num_threads(count)
            got, = run(arrays)
            assert made.threads == count
            assert same_bits(want, got)
            steps = made.steps
            run(arrays)
            assert made.steps is steps, "made again though the number is the same"
    finally:
        pool.set_num_threads(before)


def test_many_threads_run_one_graph():
    made, arrays = chain()
    want, = made.run(arrays)
    wrong = []

    def work():
        for _ in range(50):
            got, = made.run(arrays)
            if not same_bits(want, got):
                wrong.append(got)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_all_addresses_of_a_list_are_relocations():
    made, _ = chain()
    steps = made.steps[0].list
    assert steps.relocations
    for at, address in steps.relocations:
        assert steps.words[at] == address
        key, symbol = compiler.origin(address)
        assert symbol
        assert compiler.object_of(key)
    start = steps.words.ctypes.data
    for at, first in steps.tables:
        assert steps.words[at] == start + 8 * first


def test_tables_are_part_of_the_list():
    table = Table([3, 1, 2])
    assert table == table.array.ctypes.data
    b = Builder("g")
    x, y = (b.input(n, Aval(s, dt.float32)) for n, s in (("x", (2, 1, 4, 5)), ("y", (1, 3, 5, 6))))
    x, y = (OPS["expand"](v, shape=(2, 3, *v.shape[2:])) for v in (x, y))
    made = CompiledGraph(b.finish([OPS["matmul"](x, y)]), kernel_of)
    assert made.steps[0].list.tables
    arrays = normal(2, 1, 4, 5), normal(1, 3, 5, 6)
    assert np.allclose(made.run(list(arrays))[0], arrays[0] @ arrays[1], atol=1e-5)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU"])
def test_recurrent_layers_train_in_one_call(kind, bias):
    ingot.manual_seed(0)
    layer = getattr(ingot.nn, kind)(5, 7, num_layers=2, bidirectional=True, bias=bias)
    x = ingot.tensor(normal(6, 3, 5), requires_grad=True)

    def step(x):
        out = layer(x)[0]
        return (out, *ingot.autograd.grad((out * out).sum(), [x, *layer.parameters()]))

    traced = ingot.jit.trace(step)
    want = step(x)
    for _ in range(3):
        got = traced(x)
    for a, b in zip(want, got, strict=True):
        assert np.allclose(a.detach().numpy(), b.detach().numpy(), 1e-4, 1e-5), f"{kind}, seed 1"
    assert traced.stats()["other_calls"] == 0, traced.explain()


def test_orders_sums_and_losses_train_in_one_call():
    table = ingot.tensor(normal(30, 16), requires_grad=True)
    index, target = ingot.tensor(numbers(30, 12)), ingot.tensor(numbers(16, 12))

    def step(table, index, target):
        x = ingot.nn.functional.embedding(index, table)
        x = ingot.cat([x.cumsum(1)[:, :8], x.flip(1)[:, :8]], 1).sort(1).values
        loss = ingot.nn.functional.cross_entropy(ingot.nn.functional.dropout(x, 0.5), target)
        return (loss, *ingot.autograd.grad(loss, [table]))

    ingot.manual_seed(3)
    want = [step(table, index, target) for _ in range(3)]
    ingot.manual_seed(3)
    traced = ingot.jit.trace(step)
    for each in want:
        for a, b in zip(each, traced(table, index, target), strict=True):
            assert same_bits(a.detach().numpy(), b.detach().numpy())
    assert traced.stats()["native_calls"] == 1
