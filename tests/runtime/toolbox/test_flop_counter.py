"""FLOPs of contractions against the defining sums; FLOPs of programs."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import ingot
from ingot import library
from ingot.ir.dtype import float32
from ingot.ir.errors import ArgumentError
from ingot.ir.opdef.aval import Aval
from ingot.ir.opdef.op import OPS, operations
from ingot.ir.ops.packed import blocked as _blocked  # noqa: F401  (its records are among those below)
from ingot.utils.flop_counter import FORMULAS, FlopCounterMode, register_flop_formula

WINDOW = {"stride": (1, 1), "padding": ((1, 1), (1, 1)), "dilation": (1, 1), "groups": 2}
CONV = 2 * (3 * 8 * 5 * 7) * (4 // 2 * 9)      # each result is a sum over half of the channels and 3x3 positions
ROWS = [
    ("matmul", [(6, 5, 4), (6, 4, 3)], [(6, 5, 3)], {}, 2 * 6 * 5 * 3 * 4),
    ("linear", [(5, 4), (3, 4), (3,)], [(5, 3)], {}, 2 * 5 * 3 * 4),
    ("conv", [(3, 4, 5, 7), (8, 2, 3, 3), None], [(3, 8, 5, 7)], WINDOW, CONV),
    ("conv_input_grad", [(3, 8, 5, 7), (8, 2, 3, 3)], [(3, 4, 5, 7)], WINDOW, CONV),
    ("conv_weight_grad", [(3, 4, 5, 7), (3, 8, 5, 7)], [(8, 2, 3, 3)], WINDOW, CONV),
    ("conv_blocked", [(3, 1, 5, 7, 16), (144,)], [(3, 1, 5, 7, 16)], {"filters": (8, 2, 3, 3)}, CONV),
    ("attention", [(2, 4, 5, 16), (2, 4, 9, 16), (2, 4, 9, 8), None], [(2, 4, 5, 8), (2, 4, 5)], {},
     2 * 2 * 4 * 5 * 9 * (16 + 8)),
    ("lstm_sequence", [(6, 2, 32), None, (2, 8), (2, 8), (32, 8), None], [(6, 2, 8)], {}, 2 * 6 * 2 * 32 * 8),
    ("add", [(5, 4), (5, 4)], [(5, 4)], {}, 20),
    ("reshape", [(5, 4)], [(20,)], {}, 0),
]


@pytest.mark.parametrize("name, args, outs, params, expected", ROWS, ids=[r[0] for r in ROWS])
def test_operations_of_a_record(name, args, outs, params, expected):
    args = [None if s is None else Aval(s, float32) for s in args]
    assert operations(OPS[name], args, [Aval(s, float32) for s in outs], params) == expected


def test_a_summary_counts_with_the_records():
    assert ingot.nn.summary(ingot.nn.Linear(4, 3), ingot.ones(5, 4)).flops == 2 * 5 * 3 * 4


def test_a_module_under_a_summary_makes_tensors_of_arrays():
    class Scaled(ingot.nn.Module):
        def forward(self, x):
            return ingot.from_numpy(x) * ingot.tensor([2.0]) + ingot.as_tensor(x) + float(f"{ingot.ones(()):.1f}")

    found = ingot.nn.summary(Scaled(), np.ones((2, 3), np.float32))
    assert "[2, 3]" in str(found) and found.flops == 18


# utils.flop_counter: counts of programs.

class Net(ingot.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = ingot.nn.Sequential(ingot.nn.Conv2d(3, 4, 3, padding=1), ingot.nn.ReLU(), ingot.nn.Flatten())
        self.head = ingot.nn.Linear(4 * 36, 5)

    def forward(self, x):
        return self.head(self.body(x))


BODY, HEAD = 2 * (2 * 4 * 36) * 27, 2 * 2 * 5 * 144
IMAGE = (2, 3, 6, 6)


def backward(model, x):
    model(x).square().sum().backward()


def attended(train):
    q = ingot.randn(2, 4, 5, 16, requires_grad=train)
    out = ingot.nn.functional.scaled_dot_product_attention(q, ingot.randn(2, 4, 9, 16), ingot.randn(2, 4, 9, 16))
    if train:
        out.sum().backward()


def per_sample_gradients():
    ingot.func.vmap(ingot.func.grad(lambda w, x: (w @ x).sin().sum()), (None, 0))(ingot.randn(4, 3), ingot.randn(6, 3))


def again(early_stop):
    layer, x = ingot.nn.Linear(6, 6), ingot.randn(3, 6, requires_grad=True)
    ingot.utils.checkpoint.checkpoint(layer, x, use_reentrant=False, early_stop=early_stop).sin().sum().backward()


def under_a_profile():
    with ingot.profiler.profile():
        ingot.mm(ingot.ones(2, 3), ingot.ones(3, 4))


def twice_differentiated():
    x = ingot.randn(3, 3, requires_grad=True)
    g, = ingot.autograd.grad((x @ x).sin().sum(), x, create_graph=True)
    ingot.autograd.grad(g.sum(), x)


COUNTED = [
    ("forward", lambda: Net()(ingot.ones(IMAGE)), BODY + HEAD),
    ("backward", lambda: backward(Net(), ingot.ones(IMAGE)), 2 * BODY + 3 * HEAD),
    ("backward to an input", lambda: backward(Net(), ingot.ones(IMAGE, requires_grad=True)), 3 * BODY + 3 * HEAD),
    ("einsum", lambda: ingot.einsum("bij,bkj->bik", ingot.ones(2, 3, 4), ingot.ones(2, 5, 4)), 2 * 2 * 3 * 5 * 4),
    ("attention", lambda: attended(False), 2 * 2 * 4 * 5 * 9 * 32),
    ("its gradient", lambda: attended(True), 2 * 2 * 4 * 5 * 9 * (32 + 3 * 16 + 2 * 16)),
    ("recurrent", lambda: ingot.nn.LSTM(6, 8)(ingot.ones(4, 2, 6)), 2 * 4 * 2 * 32 * (6 + 8)),
    ("vmap counts whole batches", lambda: ingot.vmap(lambda x: x @ ingot.ones(3, 4))(ingot.ones(6, 2, 3)), 2 * 6 * 2 * 3 * 4),
    ("gradients of samples", per_sample_gradients, 2 * 6 * 4 * 3),           # (outer products are no contractions)
    ("a checkpoint computes again", lambda: again(False), 4 * 2 * 3 * 6 * 6),
    ("a checkpoint has what it needs", lambda: again(True), 3 * 2 * 3 * 6 * 6),
    ("a profile inside", under_a_profile, 2 * 2 * 3 * 4),
    ("two derivatives", twice_differentiated, 9 * 2 * 27),
    ("elements only", lambda: ingot.ones(3, 4).exp().sum(), 0),
]


def gradients_of_all_kinds():
    """Return parameter gradients of a program with a user rule, a joint rule, a sparse one, a complex one and a hook."""
    ingot.manual_seed(0)
    table, w = ingot.nn.Embedding(5, 4, sparse=True), ingot.randn(4, 4, requires_grad=True)
    norm, z = ingot.nn.LayerNorm(4), ingot.randn(4, dtype=ingot.complex64, requires_grad=True)
    x = norm(table(ingot.tensor([1, 3, 1]))) @ w
    x.register_hook(lambda g: 2 * g)
    values, _ = ingot.max(Doubled.apply(x), 0)
    (ingot.view_as_real(values * z) ** 2).sum().backward()
    return [p.grad for p in (table.weight, w, z, *norm.parameters())]


class Doubled(ingot.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2


def test_gradients_are_the_same_bits():
    plain = gradients_of_all_kinds()
    with FlopCounterMode(display=False):
        counted = gradients_of_all_kinds()
    for a, b in zip(plain, counted, strict=True):
        assert type(a) is type(b)
        a, b = [t.to_dense() if t.is_sparse else t for t in (a, b)]
        assert a.numpy().tobytes() == b.numpy().tobytes()


@pytest.mark.parametrize("run, expected", [row[1:] for row in COUNTED], ids=[row[0] for row in COUNTED])
def test_flops_of_programs(run, expected):
    with FlopCounterMode(display=False) as counted:
        run()
    assert counted.get_total_flops() == expected
    before = counted.get_flop_counts()
    run()
    assert counted.get_flop_counts() == before      # code after the block does not count


def test_modules_get_their_operators_and_gradients():
    net = Net()
    with FlopCounterMode(display=False) as counted:
        backward(net, ingot.ones(IMAGE))
    totals = {name: sum(c.values()) for name, c in counted.get_flop_counts().items()}
    assert totals == {"Global": 2 * BODY + 3 * HEAD, "Net": 2 * BODY + 3 * HEAD, "Net.body": 2 * BODY, "Net.body.0": 2 * BODY,
                      "Net.head": 3 * HEAD}
    assert counted.get_flop_counts()["Net.body"] == {"conv": BODY, "conv_weight_grad": BODY}


def test_traces_count_like_eager_code():
    net, x = Net(), ingot.randn(IMAGE)

    @ingot.jit.trace
    def step(x):
        net.zero_grad()
        backward(net, x)

    found = []
    step(x)
    step(x)         # gradients exist from now on
    compiles = step.stats()["compiles"]
    for _ in range(4):
        with FlopCounterMode(display=False) as counted:
            step(x)
        found.append(counted.get_total_flops())
    step(x)
    assert found == [2 * BODY + 3 * HEAD] * 4
    assert step.stats()["compiles"] == compiles + 1      # one for calls under a counter, whose hooks modules call

    forward = ingot.jit.trace(net)
    for _ in range(2):
        with FlopCounterMode(display=False) as counted:
            y = forward(x)
            assert counted.get_total_flops() == BODY + HEAD       # the recorded backward has not run
            y.square().sum().backward()
            assert counted.get_total_flops() == 2 * BODY + 3 * HEAD


def test_counters_inside_of_each_other_and_in_other_threads():
    with FlopCounterMode(display=False) as outer:
        ingot.mm(ingot.ones(2, 3), ingot.ones(3, 4))
        with FlopCounterMode(display=False) as inner, ThreadPoolExecutor(1) as others:
            others.submit(lambda: ingot.jit.trace(Net())(ingot.ones(IMAGE))).result()
            ingot.mm(ingot.ones(5, 3), ingot.ones(3, 4))
        Net()(ingot.ones(IMAGE))
    assert inner.get_flop_counts() == {"Global": {"matmul": 2 * 5 * 3 * 4}}
    assert outer.get_total_flops() == 2 * 7 * 3 * 4 + BODY + HEAD and "Net" in outer.get_flop_counts()


def test_an_error_leaves_nothing_behind():
    counted = FlopCounterMode(display=False)
    with pytest.raises(ingot.IngotError), counted:
        Net()(ingot.ones(1))
    with counted:
        ingot.mm(ingot.ones(2, 3), ingot.ones(3, 4))
    assert counted.get_flop_counts() == {"Global": {"matmul": 48}}


def test_formulas_of_the_user():
    @library.custom_op("flops::twice", mutates_args=())
    def twice(x: ingot.Tensor, k: int) -> ingot.Tensor:
        return x @ x * k

    x = ingot.ones(3, 3)
    with FlopCounterMode(display=False) as counted:
        twice(x, 2)
    assert counted.get_flop_counts()["Global"] == {"matmul": 54}
    own = {twice: lambda shape, k, out_shape: shape[0] * out_shape[1] * k, "sin": lambda shape, out_shape: 7}
    with FlopCounterMode(display=False, custom_mapping=own) as counted:
        twice(x, 2).sin()
    assert counted.get_flop_counts()["Global"] == {"flops::twice": 18, "sin": 7}

    @register_flop_formula(twice, get_raw=True)
    def formula(x, k, out_val):
        return x.numel() + out_val.numel()

    try:
        with FlopCounterMode(display=False) as counted:
            twice(x, k=2)
        assert counted.get_flop_counts()["Global"] == {"flops::twice": 18}
    finally:
        del FORMULAS["flops::twice"]
    with pytest.raises(ArgumentError, match="name of its record"):
        register_flop_formula("no_operator")


TABLE = """\
Module         FLOP    % Total
----------  -------  ---------
Net         18.432K    100.00%
 - conv     15.552K     84.38%
 - linear    2.880K     15.62%
 Net.body   15.552K     84.38%
  - conv    15.552K     84.38%
 Net.head    2.880K     15.62%
  - linear   2.880K     15.62%
"""
BESIDE = """\
Module         FLOP    % Total
----------  -------  ---------
Global      30.960K    100.00%
 - linear   15.408K     49.77%
 - conv     15.552K     50.23%
 Net        18.432K     59.53%
  - conv    15.552K     50.23%
  - linear   2.880K      9.30%
"""


def test_tables(capsys):
    with FlopCounterMode():
        Net()(ingot.ones(IMAGE))
    shown = capsys.readouterr().out
    with FlopCounterMode(depth=1):
        ingot.nn.functional.linear(ingot.ones(58, 9), ingot.ones(12, 9))
        Net()(ingot.ones(IMAGE))
    assert (shown, capsys.readouterr().out) == (TABLE, BESIDE)
    with FlopCounterMode():
        pass
    assert capsys.readouterr().out.splitlines()[-1].split() == ["Global", "0", "0%"]


def test_a_traced_function_cannot_open_a_counter():
    @ingot.jit.trace
    def f(x):
        with FlopCounterMode(display=False):
            return x @ x

    with pytest.raises(ingot.jit.TraceError, match="outside of the function"):
        f(ingot.ones(2, 2))


def test_names_of_pytorchs_are_records_or_refused():
    aten, x = ingot.ops.aten, ingot.ones(4, 5)
    for target in (aten.add, aten.add.Tensor):
        with FlopCounterMode(display=False, custom_mapping={target: lambda *args, out_shape: 5}) as counted:
            x + x
        assert counted.get_total_flops() == 5
    with pytest.raises(ArgumentError, match=r"by the name of its record"):
        FlopCounterMode(custom_mapping={aten.mm: lambda *args, out_shape: 5})
    with FlopCounterMode(display=False) as counted:
        x @ x.T
    assert counted.flop_counts["Global"]["conv"] == 0
    with pytest.raises(KeyError, match=r"aten\.mm.*here 'matmul'"):
        counted.flop_counts["Global"][aten.mm]
