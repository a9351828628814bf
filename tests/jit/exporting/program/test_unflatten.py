"""Exported programs know the modules that they were made of: graphs, explanations and ONNX models name them, `unflatten` makes
modules of them again."""

import copy

import numpy as np
import pytest

import ingot
import private_names  # noqa: F401
from ingot import export, jit, nn
from ingot.ir.errors import ArgumentError, DTypeError, ShapeError
from ingot.ir.graph.text import parse, show

Dim = export.Dim


class Half(nn.Module):
    """A dictionary of what it makes and what it was given, with an option."""

    def __init__(self):
        super().__init__()
        self.line = nn.Linear(4, 4)

    def forward(self, x, scale=None):
        y = self.line(x)
        return {"y": y * 2 if scale is None else y * scale, "x": x}


class Shared(nn.Module):
    """One module under two names, a counter, a container."""

    def __init__(self):
        super().__init__()
        self.a = Half()
        self.seq = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.BatchNorm1d(4).eval())
        self.b = self.a
        self.register_buffer("count", ingot.zeros(1))
        self.register_buffer("passing", ingot.ones(4), persistent=False)
        self.unread = nn.Parameter(ingot.ones(2))

    def forward(self, x):
        self.count += 1
        y = self.seq(self.a(x)["y"])
        return self.b(y)["y"] + self.count + self.passing


class Twice(nn.Module):
    """Calls that do different things; weights of another module."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(7, 4)
        self.part = Half()
        self.head = nn.Linear(4, 7, bias=False)
        self.head.weight = self.table.weight

    def forward(self, i):
        x = self.part(self.table(i), scale=3.0)["y"]
        y = self.part(x)["y"] + self.part(x)["y"]
        return self.head(y), (x, {"sum": y.sum(0), "none": None})


class Deep(nn.Module):
    """Layers in a list, of which each calls what it got from outside; sizes as numbers."""

    class Layer(nn.Module):
        def __init__(self, act):
            super().__init__()
            self.norm, self.act = nn.LayerNorm(4), act

        def forward(self, x, mask):
            return x + self.act(self.norm(x)) * mask.sum() / x.shape[0]

    def __init__(self):
        super().__init__()
        self.act = nn.PReLU()
        self.layers = nn.ModuleList([Deep.Layer(self.act) for _ in range(3)])

    def forward(self, x, *, mask):
        x = x.reshape(x.shape[0] * 2, 2).reshape(-1, 4)
        for layer in self.layers:
            x = layer(x, mask)
        return [x.flip(0), x.new_zeros(x.shape[0] + 1)]


class Writes(nn.Module):
    """A module inside writes to what it is given."""

    class Inner(nn.Module):
        def forward(self, x):
            x.add_(1)

    def __init__(self):
        super().__init__()
        self.inner = Writes.Inner()

    def forward(self, x):
        x = x.clone()
        self.inner(x)
        return x * 2


def shared_inputs(n):
    return (ingot.randn(n, 4),), {}


def words(n):
    return (ingot.randint(0, 7, (n,)),), {}


def deep_inputs(n):
    return (ingot.randn(n, 4),), {"mask": ingot.randn(n)}


PROGRAMS = {"shared": (Shared, shared_inputs, {"x": {0: Dim("n")}}), "twice": (Twice, words, {"i": {0: Dim("n")}}),
            "deep": (Deep, deep_inputs, {"x": {0: Dim("n")}, "mask": {0: Dim("n")}}),
            "writes": (Writes, shared_inputs, {"x": {0: Dim("n")}})}


def leaves(x):
    return [t.detach().numpy() for t in ingot.utils._pytree.tree_leaves(x) if isinstance(t, ingot.Tensor)]


def same(a, b):
    return [np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-6) for x, y in zip(leaves(a), leaves(b), strict=True)]


@pytest.fixture(scope="module", params=PROGRAMS)
def case(request):
    make, inputs, dims = PROGRAMS[request.param]
    ingot.manual_seed(1)
    model = make()
    args, kwargs = inputs(5)
    program = export.export(model, args, kwargs, dynamic_shapes=dims)
    return model, inputs, program


def test_the_modules_compute_what_the_model_does(case):
    model, inputs, program = case
    again = export.unflatten(program)
    for n in (5, 2, 9, 1):
        args, kwargs = inputs(n)
        same(model(*args, **kwargs), again(*args, **kwargs))
    same(dict(model.named_buffers()), {name: dict(again.named_buffers())[name] for name, _ in model.named_buffers()})


def test_modules_have_the_state_and_its_sharing(case):
    model, inputs, program = case
    again = export.unflatten(program)
    assert {name for name in again.state_dict() if "@" not in name} == set(model.state_dict())
    again.load_state_dict(model.state_dict(), strict=False)
    assert {n for n, _ in again.named_parameters()} == {n for n, _ in model.named_parameters()}
    assert all(p.requires_grad for p in again.parameters())
    args, kwargs = inputs(3)
    again = copy.deepcopy(again)
    same(model(*args, **kwargs), again(*args, **kwargs))


def test_gradients_go_to_the_same_parameters():
    ingot.manual_seed(3)
    model = Twice()
    again = export.unflatten(export.export(model, *words(5)))
    i = words(5)[0][0]
    for m in (model, again):
        m(i)[0].square().sum().backward()
    for name, p in model.named_parameters():
        same(p.grad, dict(again.named_parameters())[name].grad)


def test_the_flat_graph_computes_the_same_and_names_modules(case):
    model, inputs, program = case
    flat, signature = program.graph_module, program.graph_signature
    args, kwargs = inputs(4)
    weights = {**program.constants, **dict(model.named_parameters()), **dict(model.named_buffers())}
    given = [weights[s.target] if s.target is not None else t for s, t in
             zip(signature.input_specs, [*[None] * sum(s.target is not None for s in signature.input_specs),
                                         *ingot.utils._pytree.tree_leaves((args, kwargs))], strict=True)]
    with ingot.no_grad():
        found = flat(*given)
        wanted = leaves(model(*args, **kwargs))
    for a, b in zip(wanted, leaves(list(found[len(signature.buffers_to_mutate):])), strict=False):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
    stacks = [node.meta["nn_module_stack"] for node in flat.graph.nodes if "nn_module_stack" in node.meta]
    paths = {tuple(path for path, _ in stack.values()) for stack in stacks}
    called = {name for name, m in model.named_modules() if not list(m.children())}
    assert {p[-1] for p in paths} <= {name for name, _ in model.named_modules()}
    assert all(p[0] == "" for p in paths)
    assert called & {p[-1] for p in paths}


def test_a_program_from_a_file_is_the_same(case, tmp_path):
    _model, inputs, program = case
    export.save(program, tmp_path / "program.ingot")
    again = export.load(tmp_path / "program.ingot")
    assert str(again.graph_module.graph) == str(program.graph_module.graph)
    args, kwargs = inputs(6)
    same(export.unflatten(program)(*args, **kwargs), export.unflatten(again)(*args, **kwargs))


def test_modules_called_in_several_ways_exist_several_times():
    again = export.unflatten(export.export(Twice(), *words(5)))
    names = [name for name, _ in again.named_modules()]
    assert "part" in names
    assert "part@1" in names
    assert "part@2" not in names
    assert dict(again.named_modules())["part@1"].line is again.part.line
    assert again.head.weight is again.table.weight


def test_a_preserved_signature_is_that_of_the_module():
    ingot.manual_seed(5)
    model = Shared()
    program = export.export(model, *shared_inputs(5), preserve_module_call_signature=("a",))
    again = export.unflatten(program)
    x = shared_inputs(5)[0][0]
    same(model.a(x), again.a(x))
    entries = {entry.fqn: entry.signature for entry in program.module_call_graph}
    assert [*entries] == ["", "a", "a.line", "seq", "seq.0", "seq.1", "seq.2"]
    assert entries["a"].inputs == [export.graph_signature.TensorArgument(name=entries["a"].inputs[0].name)]
    assert entries["a"].out_spec == ingot.utils._pytree.tree_structure({"y": 0, "x": 0})
    assert entries[""].in_spec == program.call_spec.in_spec
    assert entries["seq"] is None

    class Other(nn.Module):
        def forward(self, x, scale=None):
            return {"y": x * 10, "x": x}

    swapped = export._swap._swap_modules(program, {"a": Other()})
    want = model.seq(x * 10) * 10 + swapped.count + 1 + model.passing
    same(want, swapped(x))
    assert isinstance(swapped.b, Other)
    with pytest.raises(ArgumentError, match="signature of 'seq' was not kept"):
        export._swap._swap_modules(program, {"seq": Other()})


def test_sizes_inside_of_a_module_come_from_its_own_arguments():
    class Sized(nn.Module):
        def forward(self, x, y):
            return x.reshape(x.shape[0] * 2, 2) * y.shape[0] + x.shape[0]

    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = Sized()

        def forward(self, x, y):
            return self.inner(x + 1, y[1:]) * 2

    model, dims = Outer(), {"x": {0: Dim("n")}, "y": {0: Dim("m") + 1}}
    program = export.export(model, (ingot.randn(3, 4), ingot.randn(6)), dynamic_shapes=dims,
                            preserve_module_call_signature=("inner",))
    again = export.unflatten(program)
    for n, m in ((3, 6), (5, 4), (2, 9)):
        x, y = ingot.randn(n, 4), ingot.randn(m)
        same(model(x, y), again(x, y))
        same(model.inner(x, y), again.inner(x, y))


@pytest.mark.parametrize(("make", "inputs", "path", "why"), [
    (Writes, shared_inputs, "inner", "read otherwise than by its result"),
    (Twice, words, "part", "is called in several ways"),
    (Twice, words, "nowhere", "there is no module at nowhere")])
def test_signatures_that_cannot_be_preserved(make, inputs, path, why):
    with pytest.raises(ArgumentError, match=why):
        export.unflatten(export.export(make(), *inputs(5), preserve_module_call_signature=(path,)))


def test_other_arguments_are_refused_or_adapted():
    class Adapter(export.FlatArgsAdapter):
        def adapt(self, target_spec, input_spec, input_args, metadata=None, obj=None):
            assert target_spec.num_leaves == 1
            return [ingot.stack(input_args)]

    program = export.export(Shared(), *shared_inputs(5), dynamic_shapes={"x": {0: Dim("n")}})
    x = ingot.randn(2, 4)
    with pytest.raises(DTypeError, match="arguments differ"):
        export.unflatten(program)(x[0], x[1])
    same(export.unflatten(program)(x), export.unflatten(program, Adapter())(x[0], x[1]))
    with pytest.raises(ShapeError):
        export.unflatten(program)(ingot.randn(2, 5))


def test_small_sizes_that_are_another_program_are_refused():
    class Special(nn.Module):
        def forward(self, x):
            return x * 2 if x.shape[0] == 1 else x + 1

    program = export.export(Special(), (ingot.randn(3, 2),), dynamic_shapes={"x": {0: Dim("n")}})
    again = export.unflatten(program)
    x = ingot.randn(1, 2)
    same(x * 2, program.module()(x))
    for fn in (again, program.graph_module):
        same(ingot.utils._pytree.tree_leaves(fn(ingot.ones(4, 2)))[0], ingot.full((4, 2), 2.0))
        with pytest.raises(ShapeError, match="something else than for larger sizes"):
            fn(x)


def test_printed_graphs_and_explanations_name_modules():
    model = Shared().eval()
    traced = jit.trace(model.seq)
    traced(ingot.randn(3, 4)), traced(ingot.randn(3, 4))
    text = show(next(iter(traced.graphs.values()))["recorded"])
    assert " in Sequential.0" in text
    assert " in Sequential.1" in text
    assert show(parse(text)) == text
    assert "in Sequential.0" in traced.explain()

    def step(x):
        return nn.functional.relu(model.seq(x)).sum()

    traced = jit.trace(step)
    traced(ingot.randn(3, 4))
    lines = str(next(iter(traced.graphs.values()))["recorded"]).splitlines()
    assert " in Sequential.0" in next(line for line in lines if "linear" in line)
    assert " in " not in next(line for line in lines if "sum(" in line)


def test_onnx_models_name_modules():
    onnx = pytest.importorskip("onnx")
    data = jit.to_onnx(Deep(), {"x": ingot.randn(3, 4), "mask": ingot.randn(3)})
    nodes = onnx.load_from_string(data).graph.node
    node = next(n for n in nodes if n.name.startswith("/layers/1/norm/"))
    metadata = {p.key: p.value for p in node.metadata_props}
    assert metadata["pkg.torch.onnx.name_scopes"].startswith("['', 'layers.1', 'layers.1.norm', ")
    assert "Deep.Layer/layers.1.norm: ingot." in metadata["namespace"]
    assert node.doc_string.endswith(" in Deep.layers.1.norm")


def test_buffers_that_are_views_have_their_names():
    class Scaled(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("mean", ingot.tensor([1.0, 2.0])[:, None])

        def forward(self, x):
            return x - self.mean

    program = export.export(Scaled(), (ingot.ones(2, 3),))
    assert [*program.state_dict] == ["mean"]
    assert not program.constants
    again = export.unflatten(program)
    again.load_state_dict({"mean": ingot.zeros(2, 1)})
    same(again(ingot.ones(2, 3)), ingot.ones(2, 3))
