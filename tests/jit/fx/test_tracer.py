"""Tracers of `ingot.fx`: methods to override, arguments of user classes, metadata of nodes."""

import copy
import importlib
from dataclasses import dataclass

import pytest

import ingot
import private_names  # noqa: F401
from ingot import fx, jit, nn
from ingot.fx.immutable_collections import immutable_dict, immutable_list
from ingot.ir.errors import ArgumentError
from ingot.utils import _pytree as pytree

X = ingot.tensor([1.0, 2.0, -3.0])


@dataclass
class Output:
    logits: ingot.Tensor
    more: list


class Pair:
    """An argument that describes itself in a graph."""

    def __init__(self, a, b):
        self.a, self.b = a, b

    def __fx_create_arg__(self, tracer):
        return tracer.create_node("call_function", Pair, (tracer.create_arg(self.a), tracer.create_arg(self.b)), {})


@fx.wrap
def use_pair(pair):
    return pair.a - pair.b


class Ways(nn.Module):
    def forward(self, x, y):
        return x + y

    def minus(self, x, y):
        return x - y


class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.PascalCase, self.weight = nn.Linear(3, 3), nn.Parameter(ingot.ones(3, 3))

    def forward(self, x):
        return self.PascalCase(x) + ingot.relu(x) if self.weight.nelement() > 2 else x


class Outer(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.ALL_CAPS = Inner(), nn.ReLU()

    def forward(self, x):
        return self.ALL_CAPS(self.body(x)) * 2


class Branching(nn.Module):
    def forward(self, x, twice):
        return x * 2 if twice else x


class WithoutSelf(nn.Module):
    def forward(*args):
        return args[1]


@pytest.mark.parametrize("method, expected", [("forward", X + X * 3), ("minus", X - X * 3)])
def test_any_method_is_traced(method, expected):
    tracer, net = fx.Tracer(), Ways()
    tracer.traced_func_name = method
    assert ingot.equal(fx.GraphModule(net, tracer.trace(net))(X, X * 3), expected)
    tracer.traced_func_name = "times"
    with pytest.raises(ArgumentError, match="no method 'times'"):
        tracer.trace(net)


def test_objects_of_dataclasses_are_made_by_nodes():
    made = fx.symbolic_trace(lambda x: Output(logits=ingot.relu(x), more=[x, {"half": x / 2}]))(X)
    assert type(made) is Output and ingot.equal(made.logits, ingot.relu(X)) and ingot.equal(made.more[1]["half"], X / 2)


def test_arguments_say_what_they_are():
    assert ingot.equal(fx.symbolic_trace(lambda x: use_pair(Pair(x, x * 3)))(X), X - X * 3)


@pytest.mark.parametrize("depth", [0, 1, 2])
def test_proxies_are_refused_as_keys_at_any_depth(depth):
    def program(x):
        found = {x: 1}
        for _ in range(depth):
            found = [found]
        return found

    with pytest.raises(fx.TraceError, match="key of a dictionary"):
        fx.symbolic_trace(program)


def test_nodes_know_names_modules_and_lines():
    graph = fx.Tracer(param_shapes_constant=True).trace(Outer())
    known = {n.name: list(n.meta.get("nn_module_stack", {}).values()) for n in graph.nodes
             if n.op not in ("get_attr", "output")}
    inner = ("body", Inner)
    assert known == {"x": [], "body_pascal_case": [inner, ("body.PascalCase", nn.Linear)], "relu": [inner], "add": [inner],
                     "all_caps": [("ALL_CAPS", nn.ReLU)], "mul": []}
    assert all("test_tracer.py" in n.stack_trace for n in graph.nodes if n.op != "output")
    assert all(graph.node_copy(n).stack_trace == n.stack_trace for n in list(graph.nodes))


def test_other_values_than_those_traced_for_are_assertions_that_fail():
    program = fx.symbolic_trace(Branching(), concrete_args={"twice": True})
    assert ingot.equal(program(X, True), X * 2)
    for kind in (AssertionError, ArgumentError):
        with pytest.raises(kind, match="twice was True"):
            program(X, False)


def test_a_method_that_names_no_module_is_refused():
    with pytest.raises(ArgumentError, match=r"\*args cannot be traced"):
        fx.symbolic_trace(WithoutSelf())


def test_a_tracer_is_copied():
    tracer = fx.Tracer()
    tracer.trace(Ways())
    other = copy.deepcopy(tracer)
    assert type(other) is fx.Tracer and other.graph is not tracer.graph
    assert [str(n) for n in other.graph.nodes] == ["x", "y", "add", "output"]
    assert ingot.equal(fx.GraphModule(Ways(), other.trace(Ways()))(X, X), X * 2)


@pytest.mark.parametrize("tree", [immutable_list([1, [2, X]]), immutable_dict({"a": 1, "b": immutable_list([2, X])})])
def test_immutable_containers_are_nodes_of_trees(tree):
    leaves, spec = pytree.tree_flatten(tree)
    assert leaves[:2] == [1, 2] and leaves[2] is X
    again = pytree.tree_unflatten(leaves, spec)
    assert type(again) is type(tree) and again == tree


def test_a_tensor_of_a_pattern_stands_for_any():
    class Scaled(nn.Module):
        def __init__(self, name, size):
            super().__init__()
            setattr(self, name, nn.Parameter(ingot.full((size,), 2.0)))
            self.name = name

        def forward(self, x):
            return ingot.relu(x * getattr(self, self.name))

    program = fx.symbolic_trace(Scaled("scale", 3))
    found = fx.replace_pattern(program, Scaled("other", 1), lambda x: ingot.sigmoid(x))
    assert len(found) == 1 and ingot.equal(program(X), ingot.sigmoid(X))


def test_names_of_functions_and_types():
    assert ingot.typename(ingot.log_).endswith(".log_") and ingot.typename(nn.Linear).endswith(".Linear")
    assert ingot.typename(X) == "ingot.FloatTensor" and ingot.typename(3) == "int" and ingot.typename(len) == "len"


class OwnLoop(fx.Tracer):
    """A tracer with its own loop over PyTorch's private names, as copies in libraries have."""

    def trace(self, root, concrete_args=None):
        own = importlib.import_module("ingot.fx._symbolic_trace")
        self.root, self.graph, cache = root, fx.Graph(tracer_cls=type(self)), {}
        self.tensor_attrs = {p: name for name, p in root.named_parameters()}
        self.submodule_paths = {module: name for name, module in root.named_modules()}
        fn, args = self.create_args_for_root(type(root).forward, True, concrete_args)

        def finding(module, name):
            return self.getattr(name, own._orig_module_getattr(module, name), cache)

        def calling(module, *args, **kwargs):
            own._autowrap_check(patcher, module.forward.__globals__, self._autowrap_function_ids)
            return self.call_module(module, lambda *a, **k: own._orig_module_call(module, *a, **k), args, kwargs)

        with own._Patcher() as patcher:
            patcher.patch_method(nn.Module, "__getattr__", finding, deduplicate=False)
            patcher.patch_method(nn.Module, "__call__", calling, deduplicate=False)
            own._patch_wrapped_functions(patcher)
            for module in self._autowrap_search:
                own._autowrap_check(patcher, vars(module), self._autowrap_function_ids)
            self.create_node("output", "output", (self.create_arg(fn(*args)),), {})
        return self.graph


def test_tracers_that_go_through_a_program_themselves():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer, self.scale = nn.Linear(3, 3), nn.Parameter(ingot.tensor([1.0, 2.0, 3.0]))

        def forward(self, x):
            return self.layer(x).relu() * self.scale

    net, x, before = Net(), ingot.randn(2, 3), (nn.Module.__call__, nn.Module.__getattr__)
    graph = OwnLoop().trace(net)
    assert before == (nn.Module.__call__, nn.Module.__getattr__)
    assert [(n.op, str(n.target)) for n in graph.nodes if n.op in ("get_attr", "call_module")] == [
        ("call_module", "layer"), ("get_attr", "scale")]
    assert ingot.equal(fx.GraphModule(net, graph)(x), net(x))


def test_an_insertion_point_holds_without_a_block():
    graph = fx.Graph()
    x = graph.placeholder("x")
    graph.output(x)
    graph.inserting_after(x)
    first = graph.call_function(ingot.relu, (x,))
    with graph.inserting_before(first):
        graph.call_function(ingot.neg, (x,))
    last = graph.call_function(ingot.exp, (x,))
    assert [n.name for n in graph.nodes] == ["x", "neg", first.name, last.name, "output"]


@pytest.mark.parametrize("wrap", (jit.trace, ingot.compile))
@pytest.mark.parametrize("called", (0, 3))
def test_traced_and_compiled_modules_are_traced_into_as_plain_ones(wrap, called):
    x = ingot.ones(2, 3)
    for make in (nn.Linear, lambda i, o: nn.Sequential(nn.Linear(i, o), nn.ReLU())):
        net = make(3, 3)
        wrapped = wrap(net)
        for _ in range(called):
            wrapped(x)
        found, expected = fx.symbolic_trace(wrapped), fx.symbolic_trace(net)
        assert [n.target for n in found.graph.nodes] == [n.target for n in expected.graph.nodes]
        assert (found(x) == net(x)).all() and found.state_dict().keys() == net.state_dict().keys()
        outer = fx.symbolic_trace(nn.Sequential(wrapped, nn.Tanh()))
        assert (outer(x) == net(x).tanh()).all()
