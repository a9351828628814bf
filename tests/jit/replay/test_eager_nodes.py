"""The grad_fn of a replay's results: attributes, metadata, hooks and edges are those of the eager node behind each result."""

import pytest

import ingot
from ingot import jit
from ingot.ir.errors import AutogradError


class Scaled(ingot.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.save_for_backward(x)
        ctx.factor, ctx.given = factor, x
        return x * factor

    @staticmethod
    def backward(ctx, g):
        _, = ctx.saved_tensors          # (which no rule of the recording reads)
        return g * ctx.factor, None


class Watching:
    """A hook that no replay can make again."""

    def __call__(self, *gradients):
        return None


def two(x):
    h = x.sin()
    return h, (h * x).sum()


def chained(x):
    h = x * x
    return h, h.tanh(), (h * x).sum()


def scaled(x):
    return Scaled.apply(x, 2.0), x.sum()


def tagged(x):
    y, z = x.sin() * 2, x.sum()
    y.grad_fn.tag = "a tag"
    y.grad_fn.parts = [1, (x.sum().item(), y)]
    z.grad_fn.metadata["count"] = 3
    return y, z


def hooked(x):
    y = x.sin() * 2
    y.grad_fn.register_hook(lambda grads, given: tuple([g if g is None else g * 3 for g in grads]))
    return y, y.sum()


def with_ctx_changed(x):
    y = Scaled.apply(x, 2.0)
    y.grad_fn.factor = 7.0
    y.grad_fn.note = "later"
    return y, y.sum()


def in_place(x):
    y = x * 2
    y.mul_(x)
    return y, y.exp()


PROGRAMS = [two, chained, scaled, tagged, hooked, with_ctx_changed, in_place]


def attributes(i, x, results):
    for n, t in enumerate(results):
        t.grad_fn.tag_of = n, i
    return [(getattr(t.grad_fn, "tag_of", None), getattr(t.grad_fn, "tag", None)) for t in results]


def metadata(i, x, results):
    results[0].grad_fn.metadata["call"] = i
    return [dict(t.grad_fn.metadata) for t in results]


def identities(i, x, results):
    nodes = [t.grad_fn for t in results]
    return [(type(node).__name__, node.name(), [node is other for other in nodes], t.grad_fn is node, t.output_nr)
            for t, node in zip(results, nodes)]


def edges(i, x, results):
    def walked(node, depth=0):
        return node and (node.name(), depth < 6 and [(walked(n, depth + 1), at) for n, at in node.next_functions])
    return [walked(t.grad_fn) for t in results], [walked((t * 2).grad_fn) for t in results]


def node_hooks(i, x, results):
    seen = []
    results[0].grad_fn.register_prehook(lambda grads: tuple([g * 3 for g in grads]))
    for t in results:
        t.grad_fn.register_hook(lambda grads, given: seen.append((grads, given)))
    sum([t.sum() for t in results]).backward(retain_graph=True)
    return seen


def tensor_hooks(i, x, results):
    """A hook changes the gradient of a result from which others may be computed."""
    for t in results:
        t.register_hook(lambda g: g * 2)
    return ingot.autograd.grad(sum([t.sum() for t in results]), [x, results[0]], retain_graph=True)


def hooks_of_both_kinds(i, x, results):
    handle = results[0].register_hook(lambda g: g * 5)
    results[0].grad_fn.register_prehook(lambda grads: tuple([g + 1 for g in grads]))
    results[0].register_hook(lambda g: g * g)
    if i % 2:
        handle.remove()
    sum([(t * t).sum() for t in results]).backward(retain_graph=True)


def gradient_edges(i, x, results):
    edge = ingot.autograd.graph.get_gradient_edge(results[0])
    return ingot.autograd.grad(sum([(t * 2).sum() for t in results]), [edge, x], retain_graph=True)


def gradients_of_gradients(i, x, results):
    results[0].grad_fn.tag = i
    g, = ingot.autograd.grad(results[0].square().sum(), x, create_graph=True)
    g.sum().backward()


def used_up(i, x, results):
    """Nodes that a backward has used up still take attributes."""
    sum([t.sum() for t in results]).backward()
    results[0].grad_fn.tag = i
    found = [results[0].grad_fn.tag, results[1].grad_fn.metadata.get("count"), results[1].grad_fn.next_functions[0][0].name()]
    with pytest.raises(AutogradError, match="second time"):
        results[0].sum().backward()
    return found


def ctx_of_functions(i, x, results):
    node = results[0].grad_fn
    if not hasattr(node, "factor"):
        return None
    found = node.factor, node.saved_tensors, node.given, getattr(node, "note", None)
    node.factor = node.factor * 2 + i
    sum([t.sum() for t in results]).backward(retain_graph=True)
    return found


def nothing_but_a_backward(i, x, results):
    sum([t.sum() for t in results]).backward()


AFTER = [attributes, metadata, identities, edges, node_hooks, tensor_hooks, hooks_of_both_kinds, gradient_edges,
         gradients_of_gradients, used_up, ctx_of_functions, nothing_but_a_backward]


def plain(x):
    if isinstance(x, ingot.Tensor):
        return x.tolist()
    if isinstance(x, dict):
        return {k: plain(v) for k, v in x.items()}
    return [*map(plain, x)] if isinstance(x, (list, tuple)) else x


def life(wrap, program, after):
    step, found = wrap(program), []
    for i in range(3):
        x = ingot.tensor([0.5, -1.0, 2.0 + i], dtype=ingot.float64, requires_grad=True)
        results = step(x)
        try:
            found.append(plain(after(i, x, results)))
        except Exception as error:
            found.append(type(error).__name__)
        found.append((plain(results), plain(x.grad)))
    return found


@pytest.mark.parametrize("after", AFTER, ids=lambda f: f.__name__)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_users_meet_the_nodes_of_eager_code(program, after):
    got, want = life(lambda fn: jit.trace(fn, fullgraph=True), program, after), life(lambda fn: fn, program, after)
    if after is used_up and program in (tagged, scaled, with_ctx_changed):      # what these hold of the call is freed, too
        assert got[0] == want[0] and got[2::2] == ["AutogradError"] * 2
    else:
        assert got == want


def lasting(x):
    y = x.sin() * 2
    y.grad_fn.register_hook(Watching())
    return y, y.sum()


@pytest.mark.parametrize("use", [
    lambda node: setattr(node, "tag", 1), lambda node: node.metadata, lambda node: node.register_hook(print),
    lambda node: node.register_prehook(print)])
def test_a_node_that_stands_for_several_refuses_what_belongs_to_one(use):
    step = jit.trace(lasting, fullgraph=True)
    for _ in range(2):
        y, _ = step(ingot.ones(3, requires_grad=True))
    with pytest.raises(AutogradError, match="a Watching that calls could not make again"):
        use(y.grad_fn)
    assert not hasattr(y.grad_fn, "tag")
    y.sum().backward()


def reads_name(x):
    return x * 2 if x.grad_fn is not None and x.grad_fn.name().startswith("Mul") else x + 1


def test_the_name_of_the_grad_fn_of_an_argument_counts():
    step = jit.trace(reads_name)
    w = ingot.ones(2, requires_grad=True)
    for _ in range(4):
        for x in (w * 3, w + 3, w.detach()):
            assert step(x).tolist() == reads_name(x).tolist()


def reads_attribute(x):
    return x * x.grad_fn.mark


def asks_for_attribute(x):
    return x * 2 if hasattr(x.grad_fn, "mark") else x + 1


def reads_metadata(x):
    return x * x.grad_fn.metadata.get("mark", 2)


def reads_ctx(x):
    return Scaled.apply(x, 1.0) * x.grad_fn.factor


def sets_attribute(x):
    x.grad_fn.mark = 1
    return x * 2


def sets_ctx(x):
    x.grad_fn.factor = 1
    return x * 2


def walks(x):
    return x * len(x.grad_fn.next_functions)


@pytest.mark.parametrize("is_replayed", [False, True])
@pytest.mark.parametrize("made", [lambda w: w * 3, lambda w: Scaled.apply(w, 3.0)], ids=["operator", "function"])
@pytest.mark.parametrize("program", [
    reads_attribute, asks_for_attribute, reads_metadata, reads_ctx, sets_attribute, sets_ctx, walks], ids=lambda f: f.__name__)
def test_histories_from_outside_are_refused_or_as_in_eager_code(program, made, is_replayed):
    made = jit.trace(made) if is_replayed else made

    def life(step):
        found = []
        for i in range(5):
            x = made(ingot.ones(2, requires_grad=True))
            if i % 2:
                x.grad_fn.mark = i
            try:
                found.append((step(x).tolist(), getattr(x.grad_fn, "mark", None), getattr(x.grad_fn, "factor", None)))
            except jit.TraceError as error:
                assert "the grad_fn of a tensor from outside" in str(error)
                return found
            except AttributeError:
                found.append("missing")
        return found

    got, want = life(jit.trace(program)), life(program)
    assert got == want[:len(got)]
