"""Programs as graphs: tracing, printing, interpretation, changes, copies and pickles keep the program's results."""

import copy
import math
import operator
import pickle
import random

import numpy as np
import pytest

import ingot
import ingot.nn.functional as F
import private_names  # noqa: F401
from ingot import fx, jit, nn, optim
from ingot.fx.passes.shape_prop import ShapeProp
from ingot.fx.passes.split_module import split_module
from ingot.utils import _pytree


@fx.wrap
def rows(x):
    """A leaf that reads values, so it is one node."""
    return [float(v) for v in x[0]]


class Net(nn.Module):
    """Layers, a parameter and a buffer of its own, a sequence, arguments of all kinds."""

    def __init__(self):
        super().__init__()
        self.lin, self.scale = nn.Linear(4, 4), nn.Parameter(ingot.ones(4))
        self.seq = nn.Sequential(nn.ReLU(), nn.Linear(4, 6))
        self.register_buffer("shift", ingot.arange(4.0))

    def forward(self, x, y=None, *rest, factor=2.0, **more):
        x = self.lin(x) * self.scale + self.shift
        a, b = self.seq(x).split(3, dim=-1)
        return {"sum": a + b * factor, "rest": (a[:, None, ..., 1:], x.shape[0])}


PROGRAMS = {
    "arithmetic": lambda x: (2 - x) / (x * x + 3) ** -1 // 2 % 3 - -x,
    "comparisons": lambda x: ((x > 0) & ~(x == 1)) | (x <= -1),
    "methods": lambda x: x.view(-1).sum(dim=0, keepdim=True).expand(3),
    "functions": lambda x: ingot.cat([x, ingot.relu(x)], dim=1).clamp(min=0.1),
    "functional": lambda x: F.softmax(F.gelu(x, approximate="tanh"), -1),
    "attributes": lambda x: x.T @ x + x.shape[0] + x.mT.ndim,
    "indices": lambda x: x[0, :2] + x[..., None][1, 2:, 0] + x[:, [0, 1]].sum(),
    "constant table": lambda x: ingot.arange(8.0)[x.argmax(dim=1)] + ingot.ones(3)[x.argmin() % 3],
    "constants": lambda x: x + ingot.arange(4.0) @ x.new_ones(4, 4),
    "constant first": lambda x: ingot.ones(4) - x + ingot.full((2, 1), 3.0) / x,
    "dtypes": lambda x: x.to(ingot.float64).mul(float("inf")).nan_to_num(posinf=1.0),
    "unpacked": lambda x: operator.add(*(p for p in (x[0], x[1]))) + [x, 2 * x][1].sum(),
    "nested": lambda x: {"a": (x, [x + 1, {"b": -x}], slice(x, None)), "n": (1, None, "text", ..., math.pi)},
    "number from a size": lambda x: x * math.sqrt(x.size(-1)),
    "numpy's number": lambda x: np.float64(2.0) * x + np.float32(1.5),
    "in place": lambda x: x.clone().add_(1).mul_(x),
    "operators in place": lambda x: operator.iadd(x * 1, 2),
    "set item": lambda x: operator.setitem(y := x * 2, (0, slice(None)), 7.0) or y,
    "wrapped": lambda x: rows(x * 2),
    "result twice": lambda x: (x, x),
    "nothing": lambda x: None,
    "any arguments": lambda *xs: xs[0] * 2,
    "linalg": lambda x: ingot.linalg.norm(x, dim=1) + ingot.fft.fft(x).abs().sum(),
    "net": Net(),
    "layers": nn.Sequential(nn.Linear(4, 4), nn.Sequential(nn.Tanh(), nn.LayerNorm(4)), nn.Linear(4, 1, bias=False)),
}


def random_program(seed):
    """Return a random function of a matrix made of operators, methods, functions and layers."""
    choose = random.Random(seed)
    layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(2)])
    pool = [lambda a, b: a + b, lambda a, b: a * b - 1, lambda a, b: ingot.where(a > b, a, b), lambda a, b: F.relu(a - b),
            lambda a, b: ingot.stack([a, b]).mean(0), lambda a, b: layers[0](a) + b, lambda a, b: a.sigmoid() @ b.T @ a / 10,
            lambda a, b: layers[1](a.tanh() + 0 * b), lambda a, b: ingot.cat((a, b), 1)[:, ::2],
            lambda a, b: 3 - a.abs() / (b * b + 1)]
    steps = [(choose.choice(pool), choose.random(), choose.random()) for _ in range(12)]

    class Program(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = layers

        def forward(self, x):
            values = [x, x * 0.5]
            for step, i, j in steps:
                values.append(step(values[int(i * len(values))], values[int(j * len(values))]))
            return values[-1], values[choose_last]

    choose_last = choose.randrange(3, 12)
    return Program()


PROGRAMS |= {f"random {seed}": random_program(seed) for seed in range(12)}


def same(a, b):
    left, right = _pytree.tree_leaves(a), _pytree.tree_leaves(b)
    assert len(left) == len(right)
    for x, y in zip(left, right, strict=True):
        if isinstance(x, ingot.Tensor):
            assert x.dtype == y.dtype and x.shape == y.shape and np.array_equal(x.detach().numpy(), y.detach().numpy())
        elif isinstance(x, slice):
            same([x.start], [y.start])
        else:
            assert x == y and type(x) is type(y)


WAYS = {
    "traced": lambda g: g,
    "copied": copy.copy,
    "deep copy": copy.deepcopy,
    "interpreter": lambda g: fx.Interpreter(g).run,
    "kept values": lambda g: fx.Interpreter(g, garbage_collect_values=False).run,
    "transformer": lambda g: fx.Transformer(g).transform(),
    "shapes": lambda g: ShapeProp(g).propagate,
    "split": lambda g: split_module(g, None, halves(g)),
    "made again": lambda g: fx.GraphModule({n.target: at(g, n.target) for n in g.graph.nodes
                                            if n.op in ("call_module", "get_attr")}, copy.deepcopy(g.graph)),
    "copied graph": lambda g: fx.GraphModule(g, graph_copy(g.graph)),
    "traced again": fx.symbolic_trace,
}


def halves(g):
    """Split the nodes into two parts."""
    nodes = list(g.graph.nodes)
    first = set(nodes[:len(nodes) // 2])
    return lambda node: int(node not in first)


def at(module, path):
    return operator.attrgetter(path)(module) if all(p.isidentifier() for p in path.split(".")) else module.get_submodule(path)


def graph_copy(other):
    graph = fx.Graph()
    graph.output(graph.graph_copy(other, {}))
    return graph


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_graph_gives_what_the_program_gives(name, way):
    program = PROGRAMS[name]
    x = ingot.randn(2, 4)
    traced = fx.symbolic_trace(program)
    traced.graph.lint()
    if way == "split" and not any(n.op.startswith("call") for n in traced.graph.nodes):
        pytest.skip("nothing to split")
    found = WAYS[way](traced)
    same(found(x), program(x))
    y = ingot.randn(2, 4)
    same(found(y), program(y))


@pytest.mark.parametrize("name", PROGRAMS)
def test_node_names_are_identifiers_and_text_is_python(name):
    g = fx.symbolic_trace(PROGRAMS[name])
    names = [n.name for n in g.graph.nodes]
    assert len(set(names)) == len(names) == len(g.graph.nodes) and g.code.startswith("def forward(self")
    assert str(g.graph).count("\n") == len(names) and g.code in str(g) and repr(g)
    assert [n.name for n in reversed(g.graph.nodes)] == names[::-1]


@pytest.mark.parametrize("name", [n for n in PROGRAMS if n in ("net", "layers") or n.startswith("random")])
def test_gradients_traces_and_pickles(name):
    net = PROGRAMS[name]
    g, x = fx.symbolic_trace(net), ingot.randn(2, 4, requires_grad=True)

    def gradients(module):
        net.zero_grad()
        x.grad = None
        sum(t.double().sum() for t in _pytree.tree_leaves(module(x)) if isinstance(t, ingot.Tensor)).backward()
        return [None if p.grad is None else p.grad.clone() for p in (x, *net.parameters())]

    same(gradients(g), gradients(net))
    own = dict(net.named_parameters())
    assert all(p is own[name] for name, p in g.named_parameters())
    compiled = jit.trace(g)
    for _ in range(3):
        for a, b in zip(_pytree.tree_leaves(compiled(x)), _pytree.tree_leaves(g(x)), strict=True):
            assert ingot.allclose(a, b, atol=1e-5) if isinstance(a, ingot.Tensor) else a == b
    again = pickle.loads(pickle.dumps(g))
    same(again(x), net(x))
    assert again.code == g.code and list(again.state_dict()) == list(g.state_dict()) and isinstance(again, fx.GraphModule)
    assert all(a.data_ptr() != b.data_ptr() for a, b in zip(again.parameters(), g.parameters(), strict=True))


def test_a_whole_training_step():
    net = fx.symbolic_trace(nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.0), nn.Linear(8, 2)))
    opt = optim.SGD(net.parameters(), lr=0.5)

    @jit.trace
    def step(x, y):
        opt.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        opt.step()
        return loss

    x = ingot.randn(32, 4)
    losses = [step(x, (x[:, 0] > 0).long()).item() for _ in range(30)]
    assert losses[-1] < losses[0] / 2 and net.state_dict()["1.num_batches_tracked"].item() == 30


# Tracing.


def test_arguments():
    g = fx.symbolic_trace(Net())
    x = ingot.randn(2, 4)
    assert g.code.splitlines()[0] == "def forward(self, x, y = None, *rest, factor = 2.0, **more):"
    same(g(x, None, 1, 2, factor=3.0, other=1)["sum"], g(x, factor=3.0)["sum"])
    keyword = fx.symbolic_trace(keyword_only)
    assert keyword.code.splitlines()[0] == "def forward(self, x, y = 1, *, z):" and keyword(1, z=5) == 7


def keyword_only(x, y=1, *, z):
    return x + y + z


def branching(x, double=False, how="sum"):
    y = x * 2 if double else x + 1
    return y.sum() if how == "sum" else y


@pytest.mark.parametrize("values", [{"double": True}, {"double": False, "how": "none"}, {"how": "sum", "double": True}])
def test_concrete_arguments(values):
    g, x = fx.symbolic_trace(branching, concrete_args={"how": "sum", **values}), ingot.randn(3)
    same(g(x), branching(x, **values))
    g.graph.eliminate_dead_code()
    g.recompile()
    same(g(x, **values), branching(x, **values))
    with pytest.raises(ingot.IngotError, match=r"double was .* when this program was traced, and has to be, got 3"):
        g(x, double=3)
    with pytest.raises(ingot.IngotError, match="has other, which the program does not take"):
        fx.symbolic_trace(branching, {"other": 1})


class Leafy(fx.Tracer):
    """A tracer that traces only into the root."""

    def is_leaf_module(self, m, module_qualified_name):
        self.seen = [*getattr(self, "seen", []), module_qualified_name]
        return True


def test_tracers_of_the_users():
    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = Net()
            self.twice = self.inner

        def forward(self, x):
            return self.inner(x)["sum"] + self.twice(x)["sum"]

    net, tracer = Outer(), Leafy()
    graph = tracer.trace(net)
    assert [n.target for n in graph.nodes if n.op == "call_module"] == tracer.seen == ["inner", "inner"]
    g, x = fx.GraphModule(tracer.root, graph, "Named"), ingot.randn(2, 4)
    same(g(x), net(x))
    assert type(g).__name__ == "Named" and "class Named(ingot.nn.Module)" in g.print_readable(print_output=False)
    looked_into = fx.symbolic_trace(net)
    assert "inner.seq.1" in [n.target for n in looked_into.graph.nodes] and "inner_lin" in looked_into.code
    same(looked_into(x), net(x))


def test_wrapped_functions_are_nodes():
    x = ingot.randn(2, 4)
    g = fx.symbolic_trace(lambda x: rows(x * 2))
    assert [n.target for n in g.graph.nodes if n.op == "call_function"] == [operator.mul, rows]
    assert g(x) == rows(x * 2) and rows.__name__ == "rows"
    autowrapped = fx.Tracer(autowrap_functions=(keyword_only,)).trace(lambda x: keyword_only(x, z=3))
    assert [n.target for n in autowrapped.nodes if n.op == "call_function"] == [keyword_only]
    assert math.sqrt(4.0) == 2.0 and nn.Linear(2, 2)(ingot.ones(1, 2)).shape == (1, 2)       # as before


def test_random_numbers_are_drawn_at_each_call():
    g = fx.symbolic_trace(lambda x: x + ingot.rand(4))
    x = ingot.zeros(4)
    assert not g(x).equal(g(x))
    ingot.manual_seed(3)
    a = g(x)
    ingot.manual_seed(3)
    assert a.equal(ingot.rand(4))


def test_state_is_read_at_each_call():
    net = Net()
    g, x = fx.symbolic_trace(net), ingot.randn(2, 4)
    net.shift.add_(1)
    net.load_state_dict({k: v * 2 for k, v in net.state_dict().items()})
    same(g(x), net(x))


REFUSED = {
    "if": (lambda x: x if x.sum() > 0 else -x, "the truth of Proxy.gt. is asked.* where"),
    "and": (lambda x: x and 1, "the truth of Proxy.x. is asked"),
    "for": (lambda x: [y + 1 for y in x], "iterated over.*Index it"),
    "star": (lambda x: operator.add(*x), "iterated over"),
    "len": (len, "len.. of Proxy.x. is asked.*x.shape"),
    "int": (int, "the int.. of Proxy.x."),
    "float": (float, "the float.. of Proxy.x."),
    "range": (lambda x: list(range(x.shape[0])), "the whole number of Proxy"),
    "in": (lambda x: 1 in x, "is `in` the values"),
    "key": (lambda x: {x: 1}, "key of a dictionary"),
    "set attribute": (lambda x: setattr(x, "grad", None), "attribute 'grad' of a value that is traced is set"),
    "numpy": (lambda x: np.sin(np.asarray(x)), "numpy array of Proxy"),
    "object": (lambda x: ingot.add(x, object()), "an argument of the class object"),
    "written constant": (lambda x: ingot.ones(3).add_(x), "written into a tensor that is made anew"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_unknown_values_are_refused_at_the_users_line(name):
    program, words = REFUSED[name]
    with pytest.raises(fx.TraceError, match=words) as caught:
        fx.symbolic_trace(lambda x: program(x))
    assert "test_graph_module.py" in str(caught.value)
    assert fx.symbolic_trace(lambda x: x + 1)(1) == 2, "left as it was"


def test_a_module_that_nobody_has():
    with pytest.raises(NameError, match="the Linear that is called is no submodule"):
        fx.symbolic_trace(lambda x: nn.Linear(2, 2)(x))


# Changing graphs.


def test_nodes_know_their_users():
    graph = fx.Graph()
    x, y = graph.placeholder("x"), graph.placeholder("y", default_value=3)
    a = graph.call_function(operator.add, (x, y))
    b = graph.call_method("mul", (a, [x, {"k": a}]), {"other": (y,)})
    out = graph.output((b, a))
    assert list(a.users) == [b, out] and b.all_input_nodes == [a, x, y] and graph.output_node() is out
    b.update_arg(0, x)
    b.update_kwarg("other", 2)
    b.insert_arg(1, 5)
    assert b.args == (x, 5, [x, {"k": a}]) and b.kwargs == {"other": 2} and b in a.users and b not in y.users
    assert a.replace_all_uses_with(y) == [b, out] and not a.users and b.args[2] == [x, {"k": y}]
    graph.erase_node(a)
    graph.lint()
    assert [n.name for n in graph.nodes] == ["x", "y", "mul", "output"] and a not in x.users
    with pytest.raises(TypeError, match="does not take writes"):
        b.args[2].append(1)
    with pytest.raises(ingot.IngotError, match="mul is used by output"):
        graph.erase_node(b)
    with graph.inserting_before(b):
        c = graph.call_function(operator.neg, (x,))
    with graph.inserting_after(b):
        d = graph.call_function(operator.neg, (b,))
    assert [n.name for n in graph.nodes] == ["x", "y", c.name, "mul", d.name, "output"] and c.next is b and b.prev is c
    d.append(b)
    with pytest.raises(ingot.IngotError, match="uses mul, which runs after it"):
        graph.lint()
    assert [n.name for n in graph.find_nodes(op="call_function", target=operator.neg)] == [c.name, d.name]


def test_dead_code_goes_and_effects_stay():
    def program(x):
        y = x.clone()
        x.exp() * ingot.relu(x)
        ingot.rand(2)
        y.add_(1)
        y[0] = 5.0
        ingot.nn.functional.dropout(x, 0.5)
        return y

    g, x = fx.symbolic_trace(program), ingot.randn(3)
    before = len(g.graph.nodes)
    assert g.graph.eliminate_dead_code() and not g.graph.eliminate_dead_code()
    g.recompile()
    assert before - len(g.graph.nodes) == 3 and "exp" not in g.code and "rand" in g.code
    same(g(x), program(x))


def test_a_changed_graph_is_another_program_for_traces_too():
    g, x = fx.symbolic_trace(lambda x: ingot.relu(x) * 2), ingot.randn(5)
    compiled = jit.trace(g)
    for _ in range(3):
        same(compiled(x), ingot.relu(x) * 2)
    for node in g.graph.find_nodes(op="call_function", target=ingot.relu):
        node.target = ingot.tanh
    g.recompile()
    for _ in range(3):
        assert ingot.allclose(compiled(x), ingot.tanh(x) * 2) and ingot.allclose(g(x), ingot.tanh(x) * 2)


def test_operands_of_a_product_are_arguments_one_by_one():
    x, y = ingot.randn(2, 3), ingot.randn(3, 4)
    made = fx.symbolic_trace(lambda x, y: ingot.einsum("ab,bc->ac", [x, y]))
    product = next(node for node in made.graph.nodes if node.target is ingot.einsum)
    assert [str(a) for a in product.args] == ["ab,bc->ac", "x", "y"] and ingot.allclose(made(x, y), x @ y)


def test_a_module_that_is_its_own_root():
    class Scaled(fx.GraphModule):
        def __init__(self, factor):
            super().__init__(self, fx.Graph())
            self.factor = nn.Parameter(ingot.tensor(factor))
            graph = fx.Graph()
            x = graph.placeholder("x")
            graph.output(graph.call_function(ingot.mul, (x, graph.get_attr("factor"))))
            self.graph = graph

    double, triple = Scaled(2.0), Scaled(3.0)
    assert double(ingot.ones(2)).tolist() == [2, 2] and triple(ingot.ones(2)).tolist() == [3, 3]
    assert [name for name, _ in double.named_parameters()] == ["factor"]


def test_modules_below():
    g, x = fx.symbolic_trace(Net()), ingot.randn(2, 4)
    assert g.add_submodule("extra.inner", nn.ReLU()) and isinstance(g.get_submodule("extra.inner"), nn.ReLU)
    before = g(x)["sum"]
    node = g.graph.find_nodes(op="call_module", target="seq.0")[0]
    node.target = "extra.inner"
    g.recompile()
    g.delete_all_unused_submodules()
    same(g(x)["sum"], before)
    assert sorted(n for n, _ in g.named_modules()) == ["", "extra", "extra.inner", "lin", "seq", "seq.1"]
    assert g.delete_submodule("lin") and not g.delete_submodule("lin")


def test_the_user_s_place_in_errors():
    net = fx.symbolic_trace(nn.Sequential(nn.Linear(4, 4), nn.ReLU()))
    with pytest.raises(ingot.IngotError) as caught:
        fx.Interpreter(net).run(ingot.ones(2, 3))
    assert "While executing %_0" in caught.value.__notes__[0] and len(caught.value.__notes__) == 1
    g = fx.symbolic_trace(lambda x: x.view(7))
    assert "test_graph_module.py" in g.graph.find_nodes(op="call_method")[0].stack_trace


class Swaps(fx.Transformer):
    """A transformer from tanh to sigmoid."""

    def call_function(self, target, args, kwargs):
        return super().call_function(ingot.sigmoid if target is ingot.tanh else target, args, kwargs)

    def call_method(self, target, args, kwargs):
        return args[0].sigmoid() * 2 if target == "tanh" else super().call_method(target, args, kwargs)


def test_transformers():
    g, x = fx.symbolic_trace(lambda x: ingot.tanh(x) + x.tanh()), ingot.randn(4)
    same(Swaps(g).transform()(x), ingot.sigmoid(x) + x.sigmoid() * 2)


PATTERNS = {      # program, pattern, replacement, number of matches, result
    "functions": (lambda x, y: ingot.relu(x + y) * ingot.relu(y + x), lambda a, b: ingot.relu(a + b),
                  lambda a, b: ingot.relu(a) - b, 2,
                  lambda x, y: (ingot.relu(x) - y) * (ingot.relu(y) - x)),
    "in a row": (lambda x, y: (x.neg().neg().neg()) + y, lambda a: a.neg().neg(), lambda a: a * 2, 1,
                 lambda x, y: (x * 2).neg() + y),
    "used inside": (lambda x, y: (t := x + y) * ingot.relu(t), lambda a, b: ingot.relu(a + b), lambda a, b: a, 0,
                    lambda x, y: (t := x + y) * ingot.relu(t)),
    "literal": (lambda x, y: x.sum(dim=0) + y.sum(dim=1), lambda a: a.sum(dim=1), lambda a: a.mean(dim=1), 1,
                lambda x, y: x.sum(dim=0) + y.mean(dim=1)),
    "same argument": (lambda x, y: x * x + x * y, lambda a: a * a, lambda a: a.square() + 1, 1,
                      lambda x, y: x.square() + 1 + x * y),
    "result": (lambda x, y: ingot.tanh(x), lambda a: ingot.tanh(a), lambda a: a + 5, 1, lambda x, y: x + 5),
    "two results": (lambda x, y: (x + y) * (x - y), lambda a, b: (a + b, a - b), lambda a, b: (a * b, a / b), 1,
                    lambda x, y: (x * y) * (x / y)),
}


@pytest.mark.parametrize("name", PATTERNS)
def test_patterns(name):
    program, pattern, replacement, count, want = PATTERNS[name]
    g, x, y = fx.symbolic_trace(lambda x, y: program(x, y)), ingot.randn(3, 3), ingot.randn(3, 3)
    found = fx.replace_pattern(g, pattern, replacement)
    g.graph.lint()
    assert len(found) == count
    same(g(x, y), want(x, y))


def test_patterns_of_layers():
    class Pair(nn.Module):
        def __init__(self):
            super().__init__()
            self.act = nn.ReLU()

        def forward(self, x):
            return self.act(x)

    class Other(nn.Module):
        def __init__(self):
            super().__init__()
            self.gate = nn.Linear(4, 4)

        def forward(self, x):
            return self.gate(x).sigmoid()

    g, new = fx.symbolic_trace(nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4), nn.ReLU())), Other()
    x = ingot.randn(2, 4)
    assert len(fx.replace_pattern(g, Pair(), new)) == 2 and g.gate is new.gate and "relu" not in g.code.lower()
    same(g(x), new(getattr(g, "2")(new(getattr(g, "0")(x)))))


def test_parts_that_need_each_other_are_refused():
    g = fx.symbolic_trace(lambda x: (x + 1).relu() * 2)
    names = {}
    with pytest.raises(ingot.IngotError, match="cannot run one after the other"):
        split_module(g, None, lambda n: (n.target == "relu" and "a") or "b")
    parts = split_module(fx.symbolic_trace(Net()), None, lambda n: n.target == "lin", names)
    assert names["submod_True.lin"] == "lin" and sorted(n for n, _ in parts.named_children()) == ["submod_False", "submod_True"]


# Files, tables.


def test_files_hold_no_programs(tmp_path):
    g, x = fx.symbolic_trace(nn.Sequential(nn.Linear(4, 2), nn.ReLU())), ingot.randn(3, 4)
    ingot.save(g, tmp_path / "whole.ingot")
    with pytest.raises(ingot.IngotError, match=r"rebuild_graph_module, which is not data that ingot loads"):
        ingot.load(tmp_path / "whole.ingot")
    ingot.save(g.state_dict(), tmp_path / "state.ingot")
    other = fx.symbolic_trace(nn.Sequential(nn.Linear(4, 2), nn.ReLU()))
    other.load_state_dict(ingot.load(tmp_path / "state.ingot"))
    same(other(x), g(x))
    jit.export(g, (x,), tmp_path / "model.ingot")
    assert ingot.allclose(jit.load(tmp_path / "model.ingot")(x), g(x))
    with pytest.raises(ingot.IngotError, match=r"jit\.export"):
        g.to_folder(tmp_path)


def test_tables(capsys):
    g = fx.symbolic_trace(lambda x: ingot.relu(x) + 1)
    g.graph.print_tabular()
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["opcode", "name", "target", "args", "kwargs"] and "ingot.relu" in lines[3] and len(lines) == 6
    line = "%relu : [num_users=1] = call_function[target=ingot.relu](args = (%x,), kwargs = {})"
    assert str(g.graph).splitlines()[2].strip() == line
    ShapeProp(g).propagate(ingot.ones(2, 3))
    meta = g.graph.find_nodes(op="call_function")[0].meta["tensor_meta"]
    assert meta.shape == (2, 3) and meta.dtype is ingot.float32 and meta.stride == (3, 1)


def test_sizes_of_parameters_may_be_numbers():
    class Sized(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(ingot.ones(3, 2))

        def forward(self, x):
            return x @ self.w if self.w.shape[0] == 3 and self.w.size(1) == 2 and self.w.dim() == 2 else x

    net, x = Sized(), ingot.randn(2, 3)
    with pytest.raises(fx.TraceError, match="truth"):
        fx.symbolic_trace(net)
    graph = fx.Tracer(param_shapes_constant=True).trace(net)
    same(fx.GraphModule(net, graph)(x), net(x))


def test_classes_whose_making_is_a_node():
    class Pair(metaclass=fx.ProxyableClassMeta):
        def __init__(self, a, b):
            self.sum = a + b

    g = fx.symbolic_trace(lambda x: Pair(x, 2).sum * 3)
    assert g(ingot.ones(2)).tolist() == [9, 9] and Pair(1, 2).sum == 3
