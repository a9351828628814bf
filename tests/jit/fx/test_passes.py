"""Passes over graphs, pass managers, and pattern search."""

import itertools

import pytest

import ingot
from ingot import fx, nn
from ingot.fx.passes.infra.pass_base import PassBase, PassResult
from ingot.fx.passes.infra.pass_manager import PassManager, pass_result_wrapper, this_before_that_pass_constraint
from ingot.fx.passes.utils.matcher_utils import InternalMatch, SubgraphMatcher
from ingot.ir.errors import ArgumentError


class Swap(PassBase):
    """A pass that replaces one function by another."""

    def __init__(self, old, new):
        self.old, self.new, self.heard = old, new, []

    def requires(self, graph_module):
        self.heard.append("requires")

    def call(self, graph_module):
        self.heard.append("call")
        found = [n for n in graph_module.graph.nodes if n.target is self.old]
        for n in found:
            n.target = self.new
        return PassResult(graph_module, bool(found))

    def ensures(self, graph_module):
        self.heard.append("ensures")


def traced():
    return fx.symbolic_trace(lambda x, y: ingot.add(x, y))


@pytest.mark.parametrize("steps, modified, runs", [(None, True, 1), (1, True, 1), (5, True, 2)])
def test_passes_run_until_nothing_changes(steps, modified, runs):
    swap, checked = Swap(ingot.add, ingot.mul), []
    manager = PassManager([swap], steps=steps, run_checks_after_each_pass=True)
    manager.add_checks(lambda module: checked.append(module))
    result = manager(traced())
    assert result.modified is modified and swap.heard == ["requires", "call", "ensures"] * runs and len(checked) == 1 + runs
    assert result.graph_module(ingot.tensor(3.0), ingot.tensor(4.0)).item() == 12
    assert not PassManager([Swap(ingot.sub, ingot.mul)])(traced()).modified


def test_wrapped_functions_are_passes():
    def changes(module):
        next(n for n in module.graph.nodes if n.op == "call_function").target = ingot.sub

    other = traced()
    passes = [pass_result_wrapper(f) for f in (changes, lambda module: other, lambda module: PassResult(module, False))]
    assert passes[0].__name__ == "changes" and pass_result_wrapper(None) is None
    assert passes[0](traced()).graph_module is not other
    assert PassManager(passes)(traced()) == (other, True)
    with pytest.raises(TypeError, match="changes gives NoneType"):
        PassManager([changes])(traced())


@pytest.mark.parametrize("order", [*itertools.permutations(range(4))])
def test_constraints_give_an_order(order):
    passes = [lambda module, i=i: PassResult(module, False) for i in range(4)]
    wanted = [(3, 0), (0, 2)]
    constraints = [this_before_that_pass_constraint(passes[a], passes[b]) for a, b in wanted]
    manager = PassManager([passes[i] for i in order], constraints)
    is_met = all(order.index(a) < order.index(b) for a, b in wanted)
    if not is_met:
        with pytest.raises(ArgumentError, match="runs before"):
            manager.validate_constraints()
    manager.solve_constraints()
    manager.validate_constraints()
    assert sorted(map(passes.index, manager.passes)) == [0, 1, 2, 3]
    assert not is_met or [*map(passes.index, manager.passes)] == [*order]
    manager.add_constraint(this_before_that_pass_constraint(passes[2], passes[3]))
    with pytest.raises(ArgumentError, match="no order"):
        manager(traced())


@pytest.mark.parametrize("suppress", [False, True])
def test_checks_that_fail(suppress):
    def check(module):
        raise ValueError("not so")

    manager = PassManager([Swap(ingot.add, ingot.mul)], suppress_check_failures=suppress)
    manager.add_checks(check)
    with pytest.warns(UserWarning, match="check failed: not so") if suppress else pytest.raises(ValueError, match="not so"):
        manager(traced())
    with pytest.raises(TypeError, match="one argument"):
        manager.add_checks(lambda: None)


def test_an_error_says_which_pass_ran():
    def fails(module):
        raise KeyError("x")

    with pytest.raises(KeyError) as error:
        PassManager([Swap(ingot.add, ingot.mul), fails])(traced())
    assert error.value.__notes__ == ["while the pass fails ran, after ['Swap']"]


def names(nodes):
    return [n.name for n in nodes]


@pytest.mark.parametrize("program, count", [
    (lambda x, w: ingot.relu(x @ w) + 1, ["relu"]),
    (lambda x, w: ingot.relu(x @ w) + ingot.relu(w @ x), ["relu", "relu_1"]),
    (lambda x, w: ingot.relu(m := x @ w) + m, []),                # it has another user
    (lambda x, w: ingot.relu(x) @ w, [])], ids=range(4))
def test_a_matcher_finds_patterns(program, count):
    pattern = fx.symbolic_trace(lambda a, b: ingot.relu(a @ b))
    matches = SubgraphMatcher(pattern.graph).match(fx.symbolic_trace(program).graph)
    assert names(m.anchors[0] for m in matches) == count and all(type(m) is InternalMatch for m in matches)
    for m in matches:
        assert names(m.returning_nodes) == names(m.anchors) and m.anchor is m.anchors[0]
        assert sorted(names(m.placeholder_nodes)) == ["w", "x"]
        assert m.nodes_map.keys() == {n for n in pattern.graph.nodes if n.op != "output"}


def test_overlapping_matches_and_names():
    graph = fx.symbolic_trace(lambda x: x.neg().neg().neg()).graph
    pattern = fx.symbolic_trace(lambda x: x.neg().neg()).graph
    assert [len(SubgraphMatcher(pattern, remove_overlapping_matches=r).match(graph)) for r in (True, False)] == [1, 2]
    assert len(SubgraphMatcher(pattern).match(graph, node_name_match="neg_2")) == 1
    assert len(SubgraphMatcher(fx.symbolic_trace(lambda x: x + 9).graph, ignore_literals=True).match(
        fx.symbolic_trace(lambda x: x + 3).graph)) == 1
    for how in ("match_output", "match_placeholder"):
        with pytest.raises(ArgumentError, match="stand for anything"):
            SubgraphMatcher(pattern, **{how: True})


def test_filters_and_callbacks_of_replacements():
    module = fx.symbolic_trace(lambda x: ingot.relu(x) + ingot.relu(x * 2))
    done = fx.subgraph_rewriter.replace_pattern_with_filters(
        module, lambda x: ingot.relu(x), lambda x: ingot.sigmoid(x), [lambda m, g, p: m.anchors[0].name == "relu_1"])
    assert names(d.anchor for d in done) == ["relu_1"] and module.code.count("sigmoid(") == 1
    seen = []

    def instead(match, graph, pattern):
        seen.append(match.anchors[0].name)
        return fx.symbolic_trace(lambda x: x.tanh() if len(seen) == 1 else x.exp()).graph

    module = fx.symbolic_trace(lambda x: ingot.relu(x) + ingot.relu(x * 2))
    fx.subgraph_rewriter.replace_pattern_with_filters(module, lambda x: ingot.relu(x), replacement_callback=instead)
    x = ingot.tensor([0.5, -1.0])
    assert seen == ["relu", "relu_1"] and module(x).equal(x.tanh() + (x * 2).exp())
    with pytest.raises(ArgumentError, match="a replacement, or"):
        fx.subgraph_rewriter.replace_pattern_with_filters(module, lambda x: ingot.relu(x))


def test_modules_without_a_use_go_with_their_pattern():
    class Body(nn.Module):
        def __init__(self, last):
            super().__init__()
            self.linear = nn.Linear(2, 2)
            setattr(self, last, nn.ReLU() if last == "relu" else nn.Tanh())
            self.last = last

        def forward(self, x):
            return getattr(self, self.last)(self.linear(x))

    module = fx.symbolic_trace(Body("relu"))
    fx.replace_pattern(module, Body("relu"), Body("tanh"))
    assert sorted(name for name, _ in module.named_children()) == ["linear", "tanh"]
