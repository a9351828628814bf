"""Fusion: the operations that become one kernel, and those that do not."""

import numpy as np
import pytest

import ingot
from graphs import arrays_for, check_same_meaning, graph_of, graph_of_sizes, random_graph
from ingot import jit
from ingot.ir.graph.graph import live_nodes
from ingot.passes.fusion import fuse as fusion
from ingot.passes.fusion.fuse import GroupOrder, Move, fuse, own_results
from ingot.passes.rewrite.kernel_body import Body, can_fuse, is_free
from ingot.passes.simplify.decompose import decompose


def test_counters_are_one_kernel_where_launches_count():
    rows = "".join(f"      %{n}: i64[] = add(%c{n}, 1)\n" for n in range(30))
    text = (f"graph g({', '.join(f'%c{n}: i64[]' for n in range(30))}, %x: f32[4]) {{\n{rows}      %30: f32[4] = exp(%x)\n"
            f"      return {', '.join(f'%{n}' for n in range(31))}\n}}")
    graph = graph_of(text)
    sizes = [[len(g.nodes) for g in fuse(graph, frozenset(graph.outputs[:late]), launches=launches)]
             for late, launches in ((30, True), (30, False), (0, True))]
    assert sizes == [[1, 20, 10], [1] * 31, [1] * 31], "as many as a kernel has buffers for"


def names(text):
    """Return the operators of each group, calls in brackets."""
    return [" ".join(n.op.name for n in g.nodes) if g.is_kernel else [g.nodes[0].op.name] for g in fuse(graph_of(text))]


JOINED = {
    "a chain": ("""
        graph g(%x: f32[4,5], %y: f32[4,5]) {
          %0: f32[4,5] = mul(%x, %y)
          %1: f32[4,5] = exp(%0)
          return %1
        }""", ["mul exp"]),
    "through views": ("""
        graph g(%x: f32[4,5], %b: f32[4]) {
          %0: f32[4,5] = exp(%x)
          %1: f32[5,4] = permute(%0, dims=(1, 0))
          %2: f32[5,4] = expand(%b, shape=(5, 4))
          %3: f32[5,4] = add(%1, %2)
          return %3
        }""", ["exp add"]),
    "behind views that undo each other": ("""
        graph g(%x: f32[4,5,6]) {
          %0: f32[5,4,6] = permute(%x, dims=(1, 0, 2))
          %1: f32[5,4,6] = contiguous(%0)
          %2: f32[20,6] = reshape(%1, shape=(20, 6))
          %3: f32[20,6] = exp(%2)
          return %3
        }""", ["contiguous exp"]),
    "a reduction with its neighbours": ("""
        graph g(%x: f32[4,5]) {
          %0: f32[4,5] = exp(%x)
          %1: f32[4,1] = sum(%0, dim=(1,), keepdim=True)
          %2: f32[4,1] = log(%1)
          %3: f32[4,5] = expand(%2, shape=(4, 5))
          %4: f32[4,5] = sub(%x, %3)
          return %4
        }""", ["exp sum log sub"]),
    "neighbours that read the same": ("""
        graph g(%x: f32[4,5]) {
          %0: f32[4] = sum(%x, dim=(1,), keepdim=False)
          %1: f32[4] = amax(%x, dim=(1,), keepdim=False)
          return %0, %1
        }""", ["sum amax"]),
    "around a call": ("""
        graph g(%x: f32[4,4]) {
          %0: f32[4,4] = exp(%x)
          %1: f32[4,4] = matmul(%0, %x)
          %2: f32[4,4] = relu(%1)
          return %2
        }""", ["exp", ["matmul"], "relu"]),
}

APART = {
    "what lies between would be cut": ("""
        graph g(%x: f32[4,4]) {
          %0: f32[4,4] = exp(%x)
          %1: f32[4,4] = matmul(%0, %0)
          %2: f32[4,4] = add(%0, %1)
          return %2
        }""", ["exp", ["matmul"], "add"]),
    "dear work would be repeated": ("""
        graph g(%x: f32[4], %y: f32[9,4]) {
          %0: f32[4] = exp(%x)
          %1: f32[9,4] = expand(%0, shape=(9, 4))
          %2: f32[9,4] = mul(%1, %y)
          return %2
        }""", ["exp", "mul"]),
    "other dims are reduced": ("""
        graph g(%x: f32[4,5]) {
          %0: f32[4] = sum(%x, dim=(1,), keepdim=False)
          %1: f32[5] = sum(%x, dim=(0,), keepdim=False)
          return %0, %1
        }""", ["sum", "sum"]),
    "a reduced run is broken by a broadcast": ("""
        graph g(%x: f32[4,5], %b: f32[5]) {
          %0: f32[4,5] = expand(%b, shape=(4, 5))
          %1: f32[4,5] = mul(%x, %0)
          %2: f32[] = sum(%1, dim=(0, 1), keepdim=False)
          return %2
        }""", ["mul", "sum"]),
    "sums over other dims compute what rows would store": ("""
        graph g(%x: bf16[4,5], %y: f32[4,5]) {
          %0: f32[4,5] = cast(%x, dtype=f32)
          %1: f32[4,1] = sum(%y, dim=(1,), keepdim=True)
          %2: f32[4,5] = expand(%1, shape=(4, 5))
          %3: f32[4,5] = sub(%y, %2)
          %4: f32[4,5] = mul(%0, %3)
          %5: f32[5] = sum(%4, dim=(0,), keepdim=False)
          return %1, %5
        }""", ["sum", "cast sub mul sum"]),
    "long rows are swept several times": ("""
        graph g(%x: f32[100000]) {
          %0: f32[1] = sum(%x, dim=(0,), keepdim=True)
          %1: f32[100000] = expand(%0, shape=(100000,))
          %2: f32[100000] = div(%x, %1)
          return %2
        }""", ["sum", "div"]),
}


@pytest.mark.parametrize("what", JOINED)
def test_operations_that_fuse(what):
    text, wanted = JOINED[what]
    assert names(text) == wanted


@pytest.mark.parametrize("what", APART)
def test_operations_that_do_not_fuse(what):
    text, wanted = APART[what]
    assert names(text) == wanted
    assert any(g.refused for g in fuse(graph_of(text)))


def test_cheap_work_is_repeated_rather_than_stored():
    assert names("""
        graph g(%x: f32[4], %y: f32[9,4]) {
          %0: f32[4] = neg(%x)
          %1: f32[9,4] = expand(%0, shape=(9, 4))
          %2: f32[9,4] = mul(%1, %y)
          return %2
        }""") == ["neg mul"]


UPDATED = """
    graph g(%g: f32[64,64], %a: f32[64,64], %b: f32[64]) {
      %0: f32[64] = sum(%g, dim=(0,), keepdim=False)
      %1: f32[64] = sub(%b, %0)
      %2: f32[64,64] = matmul(%g, %a)
      return %2, %1
    }"""


def groups_of(text, late, launches=False):
    g = graph_of(text)
    return [" ".join(n.op.name for n in group.nodes) for group in fuse(g, frozenset([g.outputs[i] for i in late]), launches)]


def test_sums_do_not_wait_for_the_updates_that_take_them():
    assert groups_of(UPDATED, [1]) == ["sum", "matmul", "sub"]
    assert groups_of(UPDATED, []) == ["sum sub", "matmul"]
    assert groups_of(UPDATED, [1], launches=True) == ["matmul", "sum sub"]
    assert groups_of(UPDATED.replace("f32[64,64]", "f32[4,4]").replace("f32[64]", "f32[4]"), [1]) == ["matmul", "sum sub"]


@pytest.mark.parametrize("dim, launches, wanted", [(0, False, ["exp tanh", "sum"]), (1, False, ["exp tanh sum"]),
                                                   (0, True, ["exp tanh sum"])])
def test_expensive_functions_do_not_fuse_into_column_sums(dim, launches, wanted):
    assert groups_of(f"""
        graph g(%x: f32[64,64]) {{
          %0: f32[64,64] = exp(%x)
          %1: f32[64,64] = tanh(%0)
          %2: f32[64] = sum(%1, dim=({dim},), keepdim=False)
          return %2
        }}""", [], launches) == wanted


def test_delayed_values_follow_their_token_and_stay_apart():
    assert groups_of("""
        graph g(%x: f32[4,4]) {
          %0: f32[4,4] = exp(%x)
          %1: f32[4,4] = matmul(%0, %x)
          %2: f32[4,4] = later(%x, %1)
          %3: f32[4,4] = neg(%2)
          return %1, %3, %0
        }""", []) == ["exp", "matmul", "neg"]


def test_kernels_that_replace_inputs_come_last():
    g = graph_of("""
        graph g(%x: f32[4,4], %w: f32[4,4]) {
          %0: f32[4,4] = neg(%w)
          %1: f32[4,4] = matmul(%x, %w)
          return %1, %0
        }""")
    assert [n.nodes[0].op.name for n in fuse(g)] == ["neg", "matmul"]
    assert [n.nodes[0].op.name for n in fuse(g, frozenset([g.outputs[1]]))] == ["matmul", "neg"]


def test_owned_results_are_values_of_their_own():
    g = graph_of("""
        graph g(%x: f32[4,3]) {
          %0: f32[3,4] = permute(%x, dims=(1, 0))
          %1: f32[4,3] = exp(%x)
          return %x, %0, %1, %1
        }""")
    assert own_results(g, frozenset([2])) is g
    owned = own_results(g, frozenset(range(4)))
    assert len(set(owned.outputs)) == 4
    assert not any(v.is_input or is_free(v) for v in owned.outputs)
    check_same_meaning(g, owned, seed=1)


@pytest.mark.parametrize("seed", range(40))
def test_groups_hold_every_operation_once_in_an_order_that_runs(seed):
    g = decompose(random_graph(np.random.default_rng(seed)))
    arrays_for(g, np.random.default_rng(seed))
    done = set(g.inputs)
    groups = fuse(g)
    for group in groups:
        for n in group.nodes:
            for x in n.inputs:
                assert not hasattr(x, "aval") or x in done or is_free(x) or x.node in group.nodes, f"seed {seed}"
        done.update(v for n in group.nodes for v in n.outputs)
        assert not group.is_kernel or all(map(can_fuse, group.nodes))
    held = [n for group in groups for n in group.nodes]
    assert len(held) == len(set(held))
    assert {n for n in live_nodes(g) if not is_free(n.outputs[0])} <= set(held), f"seed {seed}"


@pytest.mark.parametrize("seed", range(8))
def test_simple_operations_fuse_without_a_trial_body(seed):
    graph = decompose(random_graph(np.random.default_rng([21, seed]), 60))
    found = [n for n in graph.nodes if can_fuse(n) and not is_free(n.outputs[0]) and fusion.Fuser._surely_fits(n)]
    for n in found:
        assert len(Body([n], n.output.shape, (), n.outputs).results) == 1
    assert found


def test_symbolic_sizes_need_a_trial_body():
    graph = decompose(graph_of_sizes())
    assert graph.nodes and not any(fusion.Fuser._surely_fits(n) for n in graph.nodes if can_fuse(n))


def test_a_long_chain_is_one_kernel_without_a_trial_for_each_join(monkeypatch):
    made = []
    body = fusion.Body
    monkeypatch.setattr(fusion, "Body", lambda *args: made.append(len(args[0])) or body(*args))
    lines = [f"%{i}: f32[4,5] = {'exp' if i % 2 else 'neg'}(%{i - 1 if i else 'x'})" for i in range(60)]
    groups = fuse(graph_of("graph g(%x: f32[4,5]) {\n" + "\n".join(lines) + "\nreturn %59\n}"))
    assert [len(g.nodes) for g in groups] == [60] and len(groups[0].body.terms) == 61
    assert sum(made) <= 60, "the terms of the chain were made again and again"


class Points:
    """Random points with edges from lower to higher numbers; sets of numbers are groups."""

    def __init__(self, rng, count):
        self.edges = {(int(a), int(b)) for a, b in np.sort(rng.integers(0, count, (2 * count, 2)), 1) if a != b}
        self.group = {i: frozenset([i]) for i in range(count)}

    def followers(self, group):
        return dict.fromkeys([self.group[b] for a, b in sorted(self.edges) if a in group and b not in group])

    def leaders(self, group):
        return dict.fromkeys([self.group[a] for a, b in sorted(self.edges) if b in group and a not in group])

    def leads(self, start, end):
        """Return whether a path leads from one group to another through a third, by exhaustive search."""
        waiting = [g for g in self.followers(start) if g != end]
        seen = set(waiting)
        while waiting:
            g = waiting.pop()
            if end in self.followers(g):
                return True
            more = [f for f in self.followers(g) if f not in seen and f != start]
            seen.update(more)
            waiting += more
        return False

    def merge(self, first, second):
        joined = first | second
        self.group.update(dict.fromkeys(joined, joined))
        return joined


@pytest.mark.parametrize("seed", range(60))
def test_joins_make_no_cycle_and_keep_a_runnable_order(seed):
    rng = np.random.default_rng(seed)
    count = int(rng.integers(3, 24))
    points = Points(rng, count)
    order = GroupOrder(points.group.values(), points.followers, points.leaders)
    for _ in range(3 * count):
        a, b = (points.group[int(i)] for i in rng.integers(0, count, 2))
        if a == b:
            continue
        first, second = sorted((a, b), key=order.rank.__getitem__)
        move = order.move_for(first, second)
        assert (move is None) == points.leads(first, second), f"seed {seed}"
        if move is None or rng.random() < 0.2:              # some joins are refused for other reasons
            continue
        order.join(first, second, points.merge(first, second), move)
        assert set(order.rank) == {None, *points.group.values()}
        for x, y in points.edges:
            x, y = points.group[x], points.group[y]
            assert x == y or order.rank[x] < order.rank[y], f"seed {seed}"


def test_ranks_are_renumbered_when_exhausted():
    order, last = GroupOrder(range(200), lambda g: {}, lambda g: {}), 199
    for i in range(99):                     # something moves behind each join, into half of the room that is left
        order.join(i, last, -1 - i, Move([100 + i], behind=True))
        last = -1 - i
    ranks = [order.rank[g] for g in (99, last, *range(198, 99, -1))]
    assert ranks == sorted(set(ranks)) and len(order.rank) == 1 + len(ranks)


def test_the_gradient_of_a_long_loop_is_fused_in_linear_time(monkeypatch):
    seen = []

    def count(self, g, original=fusion.Fuser._followers):
        seen.append(g)
        return original(self, g)

    monkeypatch.setattr(fusion.Fuser, "_followers", count)
    w = ingot.randn(4, 4, requires_grad=True)

    def step(x):
        h = ingot.zeros(2, 4)
        for row in x:
            h = ingot.tanh(row + h @ w) * 0.9 + h * 0.1
        loss = h.sum()
        loss.backward()
        return loss

    taken = []
    for length in (50, 100):
        traced, x = jit.trace(step), ingot.randn(length, 2, 4)
        seen.clear()
        for _ in range(2):
            w.grad = None
            traced(x)
        taken.append(len(seen))
    assert taken[0] > 0 and taken[1] < 2.5 * taken[0]


@pytest.mark.parametrize("seed", range(60))
def test_effects_keep_their_order_and_no_operation_is_lost(seed):
    rng, lines = np.random.default_rng(seed), []
    values = ["%x", "%y"]
    for n in range(int(rng.integers(4, 24))):
        a, b = rng.choice(values, 2)
        op = rng.choice(["mul", "exp", "host_call"], p=[0.4, 0.3, 0.3])
        operands = {"mul": f"{a}, {b}", "exp": a, "host_call": f"{a}, function='f', results=(((4,), 'float32'),)"}[op]
        lines.append(f"          %{n}: f32[4] = {op}({operands})")
        values.append(f"%{n}")
    lines.append(f"          return {', '.join(values[-3:])}")
    graph = graph_of("\n".join(["graph g(%x: f32[4], %y: f32[4]) {", *lines, "}"]))
    done = [n for g in fuse(graph) for n in g.nodes]
    place = {n: i for i, n in enumerate(done)}
    assert place.keys() == {n for n in live_nodes(graph) if not is_free(n.outputs[0])}, f"seed {seed}"
    assert all(place[v.node] < place[n] for n in done for v in n.inputs if v.node is not None), f"seed {seed}"
    effects = [place[n] for n in graph.nodes if n.has_effect]
    assert effects == sorted(effects), f"seed {seed}"
