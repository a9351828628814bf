"""The rewriting machinery: patterns, conditions, rounds; invariants of every graph pass, on random graphs."""

import numpy as np
import pytest

from graph_interpreter import interpret
from graphs import check_rewrite, check_same_meaning, check_untouched, graph_of, random_graph
from ingot.ir.errors import GraphError
from ingot.ir.graph.text import parse
from ingot.ir.graph.verify import verify
from ingot.ir.ops.core.elementwise import add, exp, log, mul, neg, sub
from ingot.ir.ops.core.shape import reshape
from ingot.passes.pipelines import PIPELINE
from ingot.passes.rewrite.rewrite import Rule, apply, needed, prune, rebuild, subgraph

LOG_EXP = Rule("log of exp", find=lambda x: log(exp(x)), make=lambda x: x)


def with_rules(*rules):
    return lambda g: apply(g, rules)


@pytest.mark.parametrize("one", dict.fromkeys(PIPELINE), ids=lambda p: p.__name__)
@pytest.mark.parametrize("seed", range(60))
def test_every_pass_keeps_the_meaning(one, seed):
    g = random_graph(np.random.default_rng([3, seed]), 25)
    after = verify(one(g))
    assert [v.name for v in after.inputs] == [v.name for v in g.inputs], "inputs are never dropped"
    assert one(after) is after, f"seed {seed}: a second run changed something"
    check_same_meaning(g, after, seed)


def test_a_rule_rewrites_everywhere_until_nothing_fits():
    g = graph_of("""
        graph g(%x: f32[2]) {
          %0: f32[2] = exp(%x)
          %1: f32[2] = exp(%0)
          %2: f32[2] = log(%1)
          %3: f32[2] = log(%2)
          %4: f32[2] = neg(%3)    # a.py:5
          return %4, %0
        }""")
    assert apply(g, [LOG_EXP]) == graph_of("""
        graph g(%x: f32[2]) {
          %0: f32[2] = exp(%x)
          %1: f32[2] = neg(%x)
          return %1, %0
        }""")


def test_new_nodes_carry_the_line_of_the_node_they_replace():
    rule = Rule("neg as a product", find=lambda x: neg(x), make=lambda x: mul(x, -1))
    after = apply(graph_of("""
        graph g(%x: f32[2]) {
          %0: f32[2] = neg(%x)    # deep.py:5
          return %0
        }"""), [rule])
    assert after.nodes[0].line == ("deep.py", 5)


def test_commutative_operands_match_in_either_order():
    rule = Rule("x - x", find=lambda x, y: add(neg(y), x), make=lambda x, y: sub(x, y))
    for text in ("add(%x, %0)", "add(%0, %x)"):
        check_rewrite(with_rules(rule), f"""
            graph g(%x: f32[2], %y: f32[2]) {{
              %0: f32[2] = neg(%y)
              %1: f32[2] = {text}
              return %1
            }}""", """
            graph g(%x: f32[2], %y: f32[2]) {
              %0: f32[2] = sub(%x, %y)
              return %0
            }""")


def test_one_variable_stands_for_one_value():
    rule = Rule("x + x", find=lambda x: add(x, x), make=lambda x: mul(x, 2))
    check_rewrite(with_rules(rule), """
        graph g(%x: f32[2], %y: f32[2]) {
          %0: f32[2] = add(%x, %x)
          return %0
        }""", """
        graph g(%x: f32[2], %y: f32[2]) {
          %0: f32[2] = mul(%x, 2)
          return %0
        }""")
    check_untouched(with_rules(rule), """
        graph g(%x: f32[2], %y: f32[2]) {
          %0: f32[2] = add(%x, %y)
          return %0
        }""")


def test_variables_bind_parameters_and_conditions_see_them():
    rule = Rule("flat", find=lambda x, s: reshape(x, shape=s), where=lambda s, out: len(s) == 1 and out.shape == s,
                make=lambda x: x)
    flat = graph_of("graph g(%x: f32[4]) {\n  %0: f32[4] = reshape(%x, shape=(4,))\n  return %0\n}")
    assert len(apply(flat, [rule])) == 0
    check_untouched(with_rules(rule), "graph g(%x: f32[4]) {\n  %0: f32[2,2] = reshape(%x, shape=(2, 2))\n  return %0\n}")


def test_literals_match_by_value_and_sign():
    rule = Rule("minus zero", find=lambda x: add(x, -0.0), make=lambda x: x)
    text = "graph g(%x: f32[4]) {{\n  %0: f32[4] = add(%x, {})\n  return %0\n}}"
    assert len(apply(graph_of(text.format("-0.0")), [rule])) == 0
    for other in ("0.0", "0", "False", "1.0"):
        check_untouched(with_rules(rule), text.format(other))
    one = Rule("one", find=lambda x: mul(x, 1), make=lambda x: x)
    for number in ("1", "1.0", "True", "complex(1.0, 0.0)"):
        assert len(apply(graph_of(text.replace("add", "mul").format(number)), [one])) == 0


def test_once_refuses_values_that_others_read():
    rule = Rule("log of exp", find=lambda x: log(exp(x)), make=lambda x: x, once=True)
    text = "graph g(%x: f32[4]) {{\n  %0: f32[4] = exp(%x)\n  %1: f32[4] = log(%0)\n  %2: f32[4] = neg(%0)\n  return {}\n}}"
    check_untouched(with_rules(rule), text.format("%1, %2"))
    check_untouched(with_rules(rule), text.format("%1, %0"))
    assert len(apply(prune(graph_of(text.format("%1"))), [rule])) == 0


def test_rules_that_undo_each_other_are_named():
    there = Rule("there", find=lambda x, y: add(x, y), make=lambda x, y: sub(x, neg(y)))
    back = Rule("back", find=lambda x, y: sub(x, neg(y)), make=lambda x, y: add(x, y))
    with pytest.raises(GraphError, match=r"undo each other.*back, there"):
        apply(graph_of("graph g(%x: f32[4]) {\n  %0: f32[4] = add(%x, %x)\n  return %0\n}"), [there, back])


def test_a_rewrite_may_not_change_a_type():
    rule = Rule("wrong", find=lambda x: neg(x), make=lambda x: reshape(x, shape=(2, 2)))
    with pytest.raises(GraphError, match=r"rewrite of neg gave float32\[2, 2\] in place of float32\[4\]"):
        apply(graph_of("graph g(%x: f32[4]) {\n  %0: f32[4] = neg(%x)\n  return %0\n}"), [rule])


def test_rebuilding_without_changes_gives_the_same_graph():
    g = random_graph(np.random.default_rng(5), 20)
    assert rebuild(g, lambda b, node, operands: None) is g


GRAPH = """graph whole(%a: f32[3], %b: f32[3], %unused: f32[3]) {
  %0: f32[3] = mul(%a, %b)
  %1: f32[3] = exp(%a)
  %2: f32[3] = add(%0, %1)
  %3: f32[3] = neg(%2)
  return %3, %1
}
"""
ARRAYS = [np.array([1, 2, 3], np.float32), np.array([4, 5, 6], np.float32), np.zeros(3, np.float32)]


def value(graph, number):
    return graph.nodes[number].output


@pytest.mark.parametrize(("wanted", "known_at", "names"), [
    ((3,), (), ["mul", "exp", "add", "neg"]), ((1,), (), ["exp"]), ((3,), (2,), ["neg"]), ((3,), (0,), ["exp", "add", "neg"]),
    ((2,), (2,), []), ((), (), []),
])
def test_needed_nodes_of_values(wanted, known_at, names):
    graph = parse(GRAPH)
    inside = needed([value(graph, i) for i in wanted], {value(graph, i) for i in known_at})
    assert [n.op.name for n in graph.nodes if n in inside] == names


@pytest.mark.parametrize(("wanted", "known_at", "keep", "inputs"), [
    ((3,), (), (), (0, 1)), ((1,), (), (), (0,)), ((1,), (), (2,), (0, 2)), ((3,), (0,), (), (0,)), ((3, 1), (2,), (), (0,)),
])
def test_subgraphs_give_the_results_of_the_whole(wanted, known_at, keep, inputs):
    graph = parse(GRAPH)
    there = dict(zip([v for n in graph.nodes for v in n.outputs], [ARRAYS[0] * ARRAYS[1], np.exp(ARRAYS[0])]))
    there[value(graph, 2)] = there[value(graph, 0)] + there[value(graph, 1)]
    there[value(graph, 3)] = -there[value(graph, 2)]
    known = [value(graph, i) for i in known_at]
    goal = [value(graph, i) for i in wanted]
    made, taken = subgraph(graph, "some", needed(goal, set(known)), goal, known, frozenset(keep))
    assert taken == inputs and made.name == "some"
    results = interpret(verify(made), [*[ARRAYS[i] for i in taken], *[there[v] for v in known]]).outputs
    for result, v in zip(results, goal):
        np.testing.assert_allclose(result, there[v], rtol=1e-6)
