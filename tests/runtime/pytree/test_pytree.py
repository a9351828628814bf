"""Trees: the same as PyTorch's `torch.utils._pytree`, and registered nodes in traced functions."""

from collections import OrderedDict, defaultdict, deque, namedtuple
from dataclasses import dataclass

import pytest

import ingot
import private_names  # noqa: F401
from ingot.ir.errors import IngotError
from ingot.utils import _pytree as pytree

Pair = namedtuple("Pair", "a b")


class Box:
    def __init__(self, tensor, label):
        self.tensor, self.label = tensor, label


pytree.register_pytree_node(Box, lambda b: ([b.tensor], b.label), lambda xs, label: Box(xs[0], label))
TREES = [1, None, [], {}, (1, [2, {"b": 3, "a": (4,)}]), Pair(1, [2, 3]), OrderedDict(z=1, y=[2]), deque([1, (2, 3)], maxlen=4),
         defaultdict(list, {"k": 1}), [None, {"x": None}]]


@pytest.mark.parametrize("tree", TREES, ids=repr)
def test_flatten_and_unflatten_round_trip(tree):
    leaves, spec = pytree.tree_flatten(tree)
    back = pytree.tree_unflatten(leaves, spec)
    assert back == tree and type(back) is type(tree) and spec.num_leaves == len(leaves)
    assert pytree.tree_structure(back) == spec
    assert pytree.tree_leaves(pytree.tree_map(lambda x: (x,), tree, is_leaf=lambda x: x is None)) == leaves


@pytest.mark.peer
@pytest.mark.parametrize("tree", TREES, ids=repr)
def test_leaves_and_paths_are_those_of_the_peer(tree):
    torch_tree = pytest.importorskip("torch").utils._pytree
    leaves, spec = pytree.tree_flatten(tree)
    theirs = torch_tree.tree_flatten(tree)
    assert theirs[0] == leaves and theirs[1].num_nodes == spec.num_nodes
    ours = [pytree.keystr(p) for p, _ in pytree.tree_leaves_with_path(tree)]
    assert ours == [torch_tree.keystr(p) for p, _ in torch_tree.tree_flatten_with_path(tree)[0]]


@pytest.mark.parametrize("tree", TREES, ids=repr)
def test_structures_as_text(tree):
    spec = pytree.tree_structure(tree)
    assert pytree.treespec_loads(pytree.treespec_dumps(spec)) == spec


def test_structures_that_have_no_text():
    for tree, match in ((Box(1, "x"), "class Box"), ({(1, 2): 3}, "keys that are text"),
                        (defaultdict(lambda: 1, a=2), "builtin type")):
        with pytest.raises(ValueError, match=match):
            pytree.treespec_dumps(pytree.tree_structure(tree))
    for text, match in (('[2, null]', "protocol 2"), ('[1, ["namedtuple", "os:system", []]]', "named tuple 'os:system'"),
                        ('[1, ["namedtuple", "nowhere:Pair", []]]', "no module that is imported")):
        with pytest.raises(ValueError, match=match):
            pytree.treespec_loads(text)


def test_maps():
    assert pytree.tree_map(lambda a, b: a + b, {"x": 1, "y": [2]}, {"y": [3], "x": 4}) == {"x": 5, "y": [5]}
    assert pytree.tree_map_only(int, lambda x: x + 1, [1, "a", (2,)]) == [2, "a", (3,)]
    assert pytree.tree_any(lambda x: x > 1, [1, [2]]) and not pytree.tree_all_only(int, lambda x: x > 1, [1, "a"])
    with pytest.raises(IngotError, match="2 leaves"):
        pytree.tree_unflatten([1], pytree.tree_structure([1, 2]))
    with pytest.raises(IngotError, match="list"):
        pytree.tree_map(lambda a, b: a, [1, 2], (1, 2))


def test_registered_nodes_are_arguments_and_results_of_traced_functions():
    runs = []

    @ingot.jit.trace
    def double(box):
        runs.append(box.label)
        return Box(box.tensor * 2, box.label + "!")

    for value in (1.0, 2.0, 3.0):
        found = double(Box(ingot.full((3,), value), "a"))
        assert found.tensor.tolist() == [2 * value] * 3 and found.label == "a!" and type(found) is Box
    assert double(Box(ingot.ones(3), "b")).label == "b!"
    assert ingot.func.vmap(lambda b: b.tensor.sum())(Box(ingot.ones(4, 2), "c")).tolist() == [2.0] * 4


def test_libraries_walk_trees_by_the_table_of_nodes():
    def walk(tree):
        kind = pytree._get_node_type(tree)
        if kind not in pytree.SUPPORTED_NODES:
            return [tree], pytree.LeafSpec()
        children, context = pytree.SUPPORTED_NODES[kind].flatten_fn(tree)
        parts = [walk(c) for c in children]
        return [x for leaves, _ in parts for x in leaves], pytree.TreeSpec(kind, context, [s for _, s in parts])

    tree = {"x": [1, (2, 3)], "y": Pair(4, [5])}
    leaves, spec = walk(tree)
    assert leaves == [1, 2, 3, 4, 5] and pytree.tree_unflatten([10 * x for x in leaves], spec) == {
        "x": [10, (20, 30)], "y": Pair(40, [50])}


def test_named_tuples_constants_and_paths():
    assert [pytree.is_namedtuple_class(c) for c in (Pair, tuple, Pair(1, 2))] == [True, False, False]
    assert [pytree.is_namedtuple_instance(x) for x in (Pair(1, 2), (1, 2), Pair)] == [True, False, False]
    assert pytree.is_namedtuple(Pair) and pytree.is_namedtuple(Pair(1, 2)) and not pytree.is_namedtuple((1, 2))

    @dataclass(frozen=True)
    class Mode:
        name: str

    pytree.register_constant(Mode)
    leaves, spec = pytree.tree_flatten([1, Mode("fast"), Pair(2, {"x": 3})])
    assert leaves == [1, 2, 3] and spec == pytree.tree_structure([0, Mode("fast"), Pair(0, {"x": 0})])
    assert spec != pytree.tree_structure([0, Mode("slow"), Pair(0, {"x": 0})])
    assert pytree.tree_unflatten(leaves, spec)[1] == Mode("fast") and isinstance(spec, pytree.PyTreeSpec)
    tree = {"k": [5, Pair(6, 7)]}
    assert [pytree.key_get(tree, path) for path, _ in pytree.tree_leaves_with_path(tree)] == [5, 6, 7]
    assert pytree.arg_tree_leaves(1, [2], x=(3, 4)) == [1, 2, 3, 4]


KINDS = {"tuple": (1, 2), "list": [1, 2], "dict": {"b": 1, "a": 2}, "ordereddict": OrderedDict(b=1, a=2),
         "odict": OrderedDict(b=1, a=2), "defaultdict": defaultdict(list, {"b": 1, "a": 2}), "deque": deque([1, 2], 3),
         "namedtuple": Pair(1, 2)}


@pytest.mark.parametrize("name", KINDS)
def test_kinds_of_containers_are_known_by_name(name):
    tree = KINDS[name]
    children, context = getattr(pytree, f"_{name}_flatten")(tree)
    back = getattr(pytree, f"_{name}_unflatten")(children, context)
    assert list(children) == [1, 2] and back == tree and type(back) is type(tree)
    pairs, same = getattr(pytree, f"_{name}_flatten_with_keys")(tree)
    assert [child for _, child in pairs] == [1, 2] and same == context and pairs[0][0].get(tree) == 1


def test_older_names_and_structures_built_by_hand():
    class Own(list):
        pass

    pytree._register_pytree_node(Own, pytree._list_flatten, lambda xs, _: Own(xs))
    assert pytree.tree_leaves(Own([1, [2]])) == [1, 2] and pytree.SUPPORTED_NODES[Own].flatten_with_keys_fn is None
    pytree._deregister_pytree_node(Own)
    assert pytree._is_leaf(Own([1])) and not pytree._is_leaf([1])
    made = pytree.treespec_tuple([pytree.treespec_leaf(), pytree.treespec_dict(a=pytree.treespec_leaf())])
    assert made == pytree.tree_structure((1, {"a": 2})) and pytree.treespec_pprint(made) == "(*, {'a': *})"
    assert pytree._broadcast_to_and_flatten((0, 1), made) == [0, 1]
    assert pytree._broadcast_to_and_flatten(3, made) == [3, 3] and pytree._broadcast_to_and_flatten((0,), made) is None
    assert list(map(pytree.map_only(int)(lambda x: x + 1), [1, "a"])) == [2, "a"]
    assert list in pytree.BUILTIN_TYPES and OrderedDict in pytree.STANDARD_DICT_TYPES
