"""Graphs: building, equality, uses, verification, the interpreter, gradients, the switches."""

import copy
import threading

import numpy as np
import pytest

import ingot  # noqa: F401  (fills the table of operators)
from graph_gradients import grad_graph, vjp_graph
from graph_interpreter import interpret
from graphs import arrays_for, random_graph, same_bits
from ingot.ir import config
from ingot.ir import dtype as dt
from ingot.ir.errors import ArgumentError, GraphError, IngotError, ShapeError
from ingot.ir.graph.graph import Builder, Graph, Node, Update, Value, live_nodes
from ingot.ir.graph.verify import problems, verify
from ingot.ir.opdef.aval import Aval
from ingot.ir.opdef.op import BINDERS, NO_GRAD, OPS, Op
from ingot.ir.ops.core import elementwise as ew
from ingot.ir.ops.core import reduce, shape
from ingot.ir.ops.linalg import products
from samples import (
    SAMPLES,
    rows,
    table,  # noqa: F401  (fills SAMPLES)
)

F32 = dt.float32
SEEDS = range(40)


def small(line=None):
    """Return x * 2 + b, with b broadcast; b is then overwritten with its double."""
    b = Builder("small")
    b.line = line
    x, bias = b.input("x", Aval((2, 3), F32)), b.input("b", Aval((3,), F32))
    out = ew.add(ew.mul(x, 2.0), bias)
    b.update(bias, ew.mul(bias, 2.0))
    return b.finish([out])


# Building.


def test_broadcasting_becomes_an_expand():
    g = small()
    assert [n.op for n in g.nodes] == [ew.mul, shape.expand, ew.add, ew.mul]
    assert g.nodes[1].params == {"shape": (2, 3)}


def test_promotion_becomes_a_cast():
    b = Builder()
    x, i, zero_d = b.input("x", Aval((2,), F32)), b.input("i", Aval((2,), dt.int64)), b.input("z", Aval((), dt.float64))
    assert ew.add(x, i).dtype is F32
    assert ew.add(x, zero_d).dtype is F32, "a 0-d value of the same category does not widen"
    assert ew.add(i, zero_d).dtype is dt.float64, "a 0-d value of a higher category does"
    assert sum(n.op is ew.cast for n in b.nodes) == 3


def test_numbers_stay_numbers_and_small_arrays_become_literals():
    b = Builder()
    x = b.input("x", Aval((3,), F32))
    ew.add(1, x)
    ew.add(x, np.array([1, 2, 3], np.float32))
    ew.add(x, np.ones(3, np.float32))
    add, literal, _, full, _ = b.nodes
    assert add.inputs == (1, x)
    assert literal.params["values"] == (1.0, 2.0, 3.0)
    assert full.op is shape.full and full.params["value"] == 1.0


def test_large_arrays_are_inputs_not_literals():
    b = Builder()
    x = b.input("x", Aval((1000,), F32))
    with pytest.raises(GraphError, match="too large for a literal"):
        ew.add(x, np.arange(1000, dtype=np.float32))


def test_names_of_inputs_are_printable_and_unique():
    b = Builder()
    names = [b.input(n, Aval((), F32)).name for n in ("x", "x", "layer1.weight", "a b", "", "0")]
    assert names == ["x", "x_1", "layer1.weight", "a_b", "arg", "_0"]


def test_parameters_are_plain_data():
    b = Builder()
    x = b.input("x", Aval((2, 3), F32))
    v = shape.reshape(x, shape=[np.int64(3), 2])
    assert v.node.params == {"shape": (3, 2)} and type(v.node.params["shape"][0]) is int
    with pytest.raises(GraphError, match="plain data"):
        b.append(shape.full, (None,), {"shape": (2,), "value": {1}, "dtype": F32})


def test_wrong_calls_raise_when_nodes_are_appended():
    b, other = Builder(), Builder()
    x = b.input("x", Aval((2, 3), F32))
    with pytest.raises(ShapeError):
        products.matmul(x, x)
    with pytest.raises(GraphError, match="another graph"):
        ew.add(x, other.input("y", Aval((2, 3), F32)))
    with pytest.raises(GraphError, match="takes 2 operands"):
        b.append(ew.mul, (x,), {})
    with pytest.raises(GraphError, match="same type"):
        b.update(x, ew.cast(x, dtype=dt.float64))
    g = b.finish([x])
    with pytest.raises(GraphError, match="finished"):
        ew.neg(g.inputs[0])


def test_several_results_are_a_tuple():
    def infer(x):
        return x, x.with_dtype(dt.int64)

    split = Op("split_for_test", infer, lambda x: (x, x.astype(np.int64)), NO_GRAD, ew.neg.lower)
    b = Builder()
    both = split(b.input("x", Aval((2,), F32)))
    assert [v.dtype for v in both] == [F32, dt.int64] and both[1].index == 1


# Equality.


def test_equality_ignores_names_and_lines_only():
    assert small() == small(line=("a.py", 3)) and hash(small()) == hash(small(line=("a.py", 3)))
    g = small()
    inputs = tuple(Value(v.aval, name=f"other_{v.name}") for v in g.inputs)
    assert Graph("other", inputs, (), ()) == Graph("g", g.inputs, (), ())
    assert Graph("g", g.inputs, g.nodes, g.outputs) != g, "an update counts"
    assert Graph("g", g.inputs, g.nodes, (), g.updates) != g, "an output counts"
    assert Graph("g", g.inputs[::-1], g.nodes, g.outputs, g.updates) != g, "the order of inputs counts"


@pytest.mark.parametrize("a, b", [(0.0, -0.0), (1, 1.0), (True, 1), (2.0, float(np.nextafter(2, 3))), (np.inf, -np.inf)])
def test_literals_differ_by_type_and_bits(a, b):
    def graph(number):
        builder = Builder()
        return builder.finish([ew.mul(builder.input("x", Aval((2,), F32)), number)])

    assert graph(a) != graph(b) and graph(a) == graph(a)
    assert graph(float("nan")) == graph(float("nan"))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_copy_is_equal(seed):
    g = random_graph(np.random.default_rng(seed))
    b = Builder("copy")
    assert b.finish_like(g, b.inline(g, b.copy_inputs(g))) == g
    assert copy.deepcopy(g) is g


def test_uses_and_liveness():
    b = Builder()
    x = b.input("x", Aval((2,), F32))
    y = ew.exp(x)
    z = ew.mul(y, y)
    dead = ew.neg(y)
    g = b.finish([z])
    assert g.uses[y] == (z.node, z.node, dead.node) and g.uses[z] == ()
    assert g.results == {z} and live_nodes(g) == {y.node, z.node}


def test_results_have_the_order_of_outputs_and_then_of_updates():
    b = Builder()
    x = b.input("x", Aval((2,), F32))
    made = [ew.mul(x, float(i)) for i in range(9)]
    b.update(x, made[4])
    g = b.finish([*made[5:], made[0], *made[1:3]])
    assert list(g.results) == [*made[5:], *made[:3], made[4]]


# The rules.


def broken_graphs():
    g = small()
    x, bias = g.inputs
    mul, expand, add, double = g.nodes
    wrong = Node(ew.mul, (x, 2.0), {}, [Aval((2, 4), F32)], multi=False, line=("model.py", 7))
    foreign = Node(Op("nowhere", *[None] * 4), (x,), {}, [x.aval], multi=False)
    yield "used before it is defined", Graph("g", g.inputs, (add, mul, expand), (add.output,))
    yield r"declared type float32\[2, 4\].*model.py:7", Graph("g", g.inputs, (wrong,), (wrong.output,))
    yield r"the update of %b: float32\[3\] takes a value of type float32\[2, 3\]", Graph(
        "g", g.inputs, g.nodes, g.outputs, (Update(bias, mul.output),))
    yield "defined twice", Graph("g", g.inputs, (mul, mul), (mul.output,))
    yield "nowhere is not recorded", Graph("g", g.inputs, (foreign,), (foreign.output,))
    yield "takes 1 operand, got 2", Graph("g", g.inputs, (Node(ew.neg, (x, x), {}, [x.aval], multi=False),), ())
    yield "not a value, a number or None", Graph("g", g.inputs, (Node(ew.neg, ("x",), {}, [x.aval], multi=False),), ())
    yield "plain data", Graph("g", g.inputs, (Node(shape.reshape, (x,), {"shape": {1}}, [x.aval], multi=False),), ())
    yield "canonical", Graph("g", g.inputs, (Node(shape.reshape, (x,), {"shape": [2, 3]}, [x.aval], multi=False),), ())
    misfit = Node(shape.reshape, (x,), {"shape": (5,)}, [x.aval], multi=False)
    yield "does not take these operands", Graph("g", g.inputs, (misfit,), ())
    yield "gives one result", Graph("g", g.inputs, (Node(ew.neg, (x,), {}, [x.aval], multi=True),), ())
    yield "output 0 is not a value", Graph("g", g.inputs, (), (mul.output,))
    yield "which is not an input", Graph("g", g.inputs, (mul,), (), (Update(mul.output, x),))
    yield "takes a value of type", Graph("g", g.inputs, (), (), (Update(bias, x),))
    yield "not in the graph", Graph("g", g.inputs, (), (), (Update(bias, double.output),))
    yield "updated twice", Graph("g", g.inputs, (double,), (), (Update(bias, double.output),) * 2)
    yield "one name", Graph("g", (x, Value(x.aval, name="x")), (), ())
    yield "no name", Graph("g", (Value(x.aval),), (), ())
    yield "made by a node", Graph("g", (mul.output,), (), ())


@pytest.mark.parametrize("message, graph", list(broken_graphs()), ids=lambda x: x if isinstance(x, str) else "")
def test_verify_names_the_broken_rule(message, graph):
    with pytest.raises(GraphError, match=message):
        verify(graph)


@pytest.mark.parametrize("seed", SEEDS)
def test_built_graphs_keep_the_rules(seed):
    g = random_graph(np.random.default_rng(seed))
    assert problems(g) == [], f"seed {seed}"


# Every operator of the tables, as a graph of one node.


def one_node(op, sample):
    """Return the graph that calls `op` on a sample's arrays, and those arrays."""
    b = Builder("one")
    args = [b.input(f"a{i}", Aval(a.shape, dt.from_numpy(a.dtype))) if isinstance(a, np.ndarray) else a
            for i, a in enumerate(sample.args)]
    result = b.append(op, args, sample.params)
    return b.finish(result if isinstance(result, tuple) else [result]), [a for a in sample.args if isinstance(a, np.ndarray)]


def first_dtype(sample) -> dt.DType:
    """Return a dtype for the sample's float64 arrays: float64 where allowed."""
    if isinstance(sample.dtypes, str):
        return dt.int64 if sample.dtypes in ("int", "integral") else dt.float64
    return dt.by_name("float64" if "float64" in sample.dtypes else sample.dtypes[0])


def graphs_of(name):
    """Yield one graph per sample of an operator, and its arrays."""
    for s in rows(name):
        s.args = tuple(s.cast(first_dtype(s)))
        yield s, *one_node(OPS[name], s)


@pytest.mark.parametrize("name", sorted(set(SAMPLES) & set(OPS)))
def test_every_operator_runs_as_a_graph(name):
    for s, g, arrays in graphs_of(name):
        verify(g)
        given = interpret(g, arrays).outputs
        values = [a for a in s.args if a is not None and not isinstance(a, (bool, int, float, complex))]
        if "random" in OPS[name].traits or not all(isinstance(a, np.ndarray) for a in values) or g.nodes[0].op.broadcasts:
            continue
        with np.errstate(all="ignore"):
            expected = OPS[name].ref(*s.args, **s.params)
        for a, b in zip(given, expected if isinstance(expected, tuple) else (expected,), strict=True):
            assert same_bits(a, np.asarray(b)), g


@pytest.mark.parametrize("name", sorted(n for n in set(SAMPLES) & set(OPS) if OPS[n].vjp is not NO_GRAD))
def test_every_gradient_rule_runs_on_values(name):
    for s, g, arrays in graphs_of(name):
        if not s.grad or not any(v.dtype.is_inexact for v in g.inputs):
            continue
        backward = verify(vjp_graph(g))
        seeds = [np.ones(v.shape, v.dtype.np) for v in g.outputs if v.dtype.is_inexact]
        found = interpret(backward, arrays + seeds).outputs
        assert [f.shape for f in found] == [v.shape for v in g.inputs if v.dtype.is_inexact]


# Running.


def test_the_interpreter_leaves_its_inputs_alone_and_returns_the_updates():
    x, b = np.ones((2, 3), np.float32), np.arange(3, dtype=np.float32)
    ran = interpret(small(), [x, b])
    np.testing.assert_array_equal(ran.outputs[0], x * 2 + b)
    np.testing.assert_array_equal(ran.updates["b"], b * 2)
    np.testing.assert_array_equal(b, np.arange(3))


def test_the_interpreter_checks_its_inputs():
    with pytest.raises(GraphError, match="takes 2 arrays"):
        interpret(small(), [])
    with pytest.raises(GraphError, match=r"%b of graph small is float32\[3\], got an array of float64\[3\]"):
        interpret(small(), [np.ones((2, 3), np.float32), np.ones(3)])


def test_a_failing_node_names_itself_and_the_users_line(monkeypatch):
    def broken(x):
        raise ValueError("no luck")

    fails = Op("fails_for_test", lambda x: x, broken, NO_GRAD, ew.neg.lower)
    b = Builder()
    b.line = ("model.py", 12)
    g = b.finish([fails(b.input("x", Aval((2,), F32)))])
    with pytest.raises(GraphError, match=r"at model.py:12 failed: no luck\n.*%0: f32\[2\] = fails_for_test\(%x\)"):
        interpret(g, [np.ones(2, np.float32)])


# Gradients.


@pytest.mark.parametrize("seed", range(25))
def test_gradients_of_random_graphs_match_a_difference_quotient(seed):
    rng = np.random.default_rng([7, seed])
    g = random_graph(rng, 12, updates=False, smooth=True)
    arrays = arrays_for(g, rng, special=False)
    weights = [rng.standard_normal(v.shape) for v in g.outputs]
    directions = [rng.standard_normal(v.shape) for v in g.inputs]

    def along(t):
        outputs = interpret(g, [a + t * d for a, d in zip(arrays, directions)]).outputs
        return sum(float((w * o).sum()) for w, o in zip(weights, outputs))

    backward = verify(vjp_graph(g))
    found = interpret(backward, arrays + weights).outputs
    slope = sum(float((f * d).sum()) for f, d in zip(found, directions))
    step = 1e-5
    quotient = (8 * (along(step) - along(-step)) - (along(2 * step) - along(-2 * step))) / (12 * step)
    assert slope == pytest.approx(quotient, rel=1e-5, abs=1e-6), f"seed {seed}\n{g}"


def test_gradients_of_gradients():
    b = Builder()
    x = b.input("x", Aval((3,), dt.float64))
    g = b.finish([reduce.sum_(ew.mul(ew.mul(x, x), x), dim=(0,), keepdim=False)])
    first = grad_graph(g)
    total = Builder()
    env = total.inline(first, total.copy_inputs(first))
    second = grad_graph(total.finish([reduce.sum_(env[first.outputs[1]], dim=(0,), keepdim=False)]))
    a = np.array([1.0, -2.0, 3.0])
    np.testing.assert_allclose(interpret(first, [a]).outputs[1], 3 * a**2)
    np.testing.assert_allclose(interpret(second, [a]).outputs[1], 6 * a)


def test_gradients_are_zero_without_a_path_and_stop_at_operators_without_derivative():
    b = Builder()
    x, y = b.input("x", Aval((3,), dt.float64)), b.input("y", Aval((2,), dt.float64))
    g = b.finish([ew.mul(x, ew.cast(ew.gt(x, 0.0), dtype=dt.float64))])
    found = interpret(vjp_graph(g), [np.array([1.0, -1.0, 2.0]), np.ones(2), np.ones(3)]).outputs
    np.testing.assert_array_equal(found[0], [1, 0, 1])
    np.testing.assert_array_equal(found[1], [0, 0])
    assert y.is_input


# Binding.


def test_records_called_on_values_append_nodes():
    assert BINDERS[Value] is not BINDERS[np.ndarray]
    b = Builder()
    assert isinstance(ew.sub(1.0, b.input("x", Aval((2,), F32))), Value)


# Switches.


def test_switches_are_read_from_the_environment():
    s = config.from_environment({"INGOT_DEBUG": "3", "INGOT_VERIFY": "0", "INGOT_PRINT": "cse,dce", "INGOT_FUEL": "",
                                 "INGOT_NUMERICS": "strict", "INGOT_CACHE_SIZE": "1.5", "PATH": "x"})
    assert (s.debug, s.verify, s.print, s.fuel, s.numerics, s.cache_size) == (3, False, "cse,dce", -1, "strict", 1.5)


@pytest.mark.parametrize("name, text", [("DEBUG", "lots"), ("VERIFY", "perhaps"), ("NUMERICS", "sloppy")])
def test_a_wrong_switch_is_an_error_that_names_it(name, text):
    with pytest.raises(ArgumentError, match=f"INGOT_{name}"):
        config.from_environment({f"INGOT_{name}": text})


def test_override_is_scoped_to_the_block_and_the_thread():
    seen = []
    before = config.current().debug
    with config.override(debug=5):
        thread = threading.Thread(target=lambda: seen.append(config.current().debug))
        thread.start()
        thread.join()
        with config.override(fuel=3):
            assert (config.current().debug, config.current().fuel) == (5, 3)
        assert config.current().debug == 5
    assert config.current().debug == before and seen == [before]
    with pytest.raises(IngotError, match="no switch"), config.override(loud=True):
        pass
    with pytest.raises(IngotError, match="is a int"), config.override(debug="3"):
        pass


def test_every_switch_is_described():
    text = config.describe()
    for field in config.fields(config.Settings):
        assert f"INGOT_{field.name.upper()}=" in text and field.metadata["doc"]
