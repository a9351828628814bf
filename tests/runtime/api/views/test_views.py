"""Views: sharing of memory, and random programs of views and writes, values and gradients."""

import copy
import gc
import pickle
import weakref

import numpy as np
import pytest

import ingot
from view_programs import make_program, run_numpy, run_tensors, weights_of

LEAVES = [((4, 3), (3,)), ((2, 3, 4),), ((6,), (2, 3)), ((2, 2, 2), (4, 2))]


def leaves_of(seed):
    rng = np.random.default_rng([seed, 11])
    shapes = LEAVES[seed % len(LEAVES)]
    return rng, shapes, [np.round(rng.standard_normal(s), 2) for s in shapes]


def without_detach(steps):
    return all(s.name != "detach" for s in steps)


@pytest.mark.parametrize("block", range(8))
def test_programs_agree_with_numpy(block):
    for seed in range(block * 40, block * 40 + 40):
        rng, shapes, values = leaves_of(seed)
        steps = make_program(rng, shapes)
        want = run_numpy(steps, values)
        leaves = [ingot.tensor(v).requires_grad_() for v in values]
        got = run_tensors(steps, leaves)
        for i, (w, g) in enumerate(zip(want, got)):
            np.testing.assert_allclose(g.detach().numpy(), w, rtol=1e-12, atol=1e-12, err_msg=f"seed {seed} value {i}: {steps}")
        if without_detach(steps):
            check_gradients(seed, steps, rng, values, leaves, got)


def check_gradients(seed, steps, rng, values, leaves, pool):
    weights = weights_of(rng, pool)
    total = sum((t * ingot.tensor(w)).sum() for t, w in zip(pool, weights))
    grads = ingot.autograd.grad(total, leaves, allow_unused=True)
    direction = [rng.standard_normal(v.shape) for v in values]
    slope = sum(float((g.numpy() * d).sum()) for g, d in zip(grads, direction) if g is not None)

    def value(eps):
        moved = run_numpy(steps, [v + eps * d for v, d in zip(values, direction)])
        return sum(float((a * w).sum()) for a, w in zip(moved, weights))

    numeric = (value(1e-6) - value(-1e-6)) / 2e-6
    assert abs(slope - numeric) <= 1e-5 * max(1.0, abs(numeric)), f"seed {seed}: {slope} != {numeric} for {steps}"


def described(pool, grads):
    return [(t.tolist(), t.requires_grad) for t in pool], [None if g is None else g.tolist() for g in grads]


@pytest.mark.parametrize("block", range(4))
def test_traced_programs_agree_with_eager_ones(block):
    for seed in range(2000 + block * 8, 2008 + block * 8):
        rng, shapes, values = leaves_of(seed)
        steps = make_program(rng, shapes)
        weights = [ingot.tensor(w) for w in weights_of(rng, run_numpy(steps, values))]

        def run(*leaves, steps=steps, weights=weights):
            pool = run_tensors(steps, leaves)
            total = sum((t * w).sum() for t, w in zip(pool, weights))
            return pool, ingot.autograd.grad(total, leaves, allow_unused=True)

        traced = ingot.jit.trace(run)
        for scale in (1, 2):
            leaves = [ingot.tensor(v * scale).requires_grad_() for v in values]
            assert described(*traced(*leaves)) == described(*run(*leaves)), f"seed {seed}: {steps}"
        assert traced.stats()["compiles"] == 1


def test_a_trace_turns_its_own_tensors_but_no_views_from_outside():
    def resized(x):
        y, z = x[0], (x * 2).data
        y.unsqueeze_(1).add_(1)
        return y, z.resize_(3, 2), ingot.zeros(2).unsqueeze_(0).set_(x.T)

    traced = ingot.jit.trace(resized)
    for i in range(3):
        mine, theirs = (ingot.arange(6.0).reshape(2, 3) + i for _ in range(2))
        assert [t.tolist() for t in traced(mine)] == [t.tolist() for t in resized(theirs)] and mine.tolist() == theirs.tolist()
    kept = ingot.ones(4, 3)[1:]
    with pytest.raises(ingot.jit.TraceError, match="that is a view"):
        ingot.jit.trace(lambda x: x + kept.unsqueeze_(0))(ingot.ones(2, 3))


@pytest.mark.peer
@pytest.mark.parametrize("block", range(4))
def test_programs_agree_with_the_peer(block):
    torch = pytest.importorskip("torch")
    compared = 0
    for seed in range(1000 + block * 60, 1060 + block * 60):
        rng, shapes, values = leaves_of(seed)
        steps = make_program(rng, shapes, 12)
        theirs = [torch.tensor(v, requires_grad=True) for v in values]
        try:
            want = run_tensors(steps, theirs)
            weights = weights_of(rng, [w.detach().numpy() for w in want])
            total = sum((t * torch.tensor(w)).sum() for t, w in zip(want, weights))
            want_grads = torch.autograd.grad(total, theirs, allow_unused=True)
        except RuntimeError:   # programs that the peer refuses
            continue
        ours = [ingot.tensor(v).requires_grad_() for v in values]
        got = run_tensors(steps, ours)
        for i, (w, g) in enumerate(zip(want, got)):
            label = f"seed {seed} value {i}: {steps}"
            np.testing.assert_allclose(g.detach().numpy(), w.detach().numpy(), rtol=1e-12, atol=1e-12, err_msg=label)
            assert g.requires_grad == w.requires_grad, label
        grads = ingot.autograd.grad(sum((t * ingot.tensor(w)).sum() for t, w in zip(got, weights)), ours, allow_unused=True)
        for w, g in zip(want_grads, grads):
            assert (w is None) == (g is None), f"seed {seed}: {steps}"
            if w is not None:
                np.testing.assert_allclose(g.numpy(), w.numpy(), rtol=1e-9, atol=1e-9, err_msg=f"seed {seed}: {steps}")
        compared += 1
    assert compared > 20


def test_views_of_parts_of_memory_in_another_order():
    """Memory of one owner in neither row-major nor column-major order."""
    a = np.arange(24.0).reshape(2, 3, 4).transpose(1, 0, 2).copy(order="K")
    assert not a.flags.forc
    t = ingot.from_numpy(a)
    assert np.array_equal(t[..., 1:2].expand(3, 2, 5).numpy(), np.broadcast_to(a[..., 1:2], (3, 2, 5)))
    windows = np.lib.stride_tricks.sliding_window_view(a[1:], 2, 2)
    assert np.array_equal(t[1:].unfold(2, 2, 1).numpy(), windows)


def test_windows_over_memory_that_is_seen_as_another_dtype():
    x = ingot.ones(4).view(ingot.int32)
    assert x.as_strided((2,), (2,)).tolist() == [0x3F800000] * 2
    halves = ingot.ones(4, dtype=ingot.float64).view(ingot.float32)[2:]
    assert halves.storage_offset() == 2 and halves.as_strided((2,), (1,)).tolist() == halves[:2].tolist()


def test_windows_over_all_of_the_memory_that_a_tensor_was_detached_from():
    z = ingot.arange(10.0)
    w = z[3:].detach()
    assert w.storage_offset() == 3 and w.as_strided((2,), (1,), 0).tolist() == [0, 1]
    assert z[::2].detach().as_strided((2,), (1,)).tolist() == [0, 1]
    assert z.view(2, 5)[:, 1:3].data.as_strided((2, 2), (5, 1)).tolist() == [[1, 2], [6, 7]]
    assert z[2:].detach().detach()[1:].storage_offset() == 3
    w.as_strided((1,), (1,), 0).fill_(7)
    assert z[0] == 7
    leaf = z[3:].detach().requires_grad_()
    leaf.as_strided((2,), (2,)).sum().backward()
    assert leaf.grad.tolist() == [1, 0, 1, 0, 0, 0, 0]


PARTS = {
    "a parameter": lambda z: ingot.nn.Parameter(z[3:7]),
    "a parameter of a part that was detached": lambda z: ingot.nn.Parameter(z[1:].detach()[2:6], requires_grad=False),
    "a tensor that was given the memory": lambda z: setattr(p := ingot.nn.Parameter(ingot.zeros(4)), "data", z[3:7]) or p,
    "one that was given it again": lambda z: setattr(p := ingot.zeros(4), "data", ingot.nn.Parameter(z[3:7]).data) or p,
    "a view of one": lambda z: ingot.nn.Parameter(z[2:8])[1:5],
    "what looks at it from now on": lambda z: ingot.empty(0).set_(z.detach()[3:7]),
    "a squeezed one": lambda z: ingot.nn.Parameter(z[3:7].view(1, 4), requires_grad=False).squeeze_(0)}


@pytest.mark.parametrize("case", PARTS)
def test_leaves_over_parts_of_memory_know_their_offset(case):
    z = ingot.arange(10.0)
    part = PARTS[case](z)
    assert part.storage_offset() == part[1:].storage_offset() - 1 == part.detach().storage_offset() == 3
    assert part.data_ptr() == z.data_ptr() + 3 * z.element_size()
    assert part.as_strided((2,), (1,)).tolist() == [3, 4] and part.as_strided((2,), (2,), 4).tolist() == [4, 6]
    assert part.detach().as_strided((3,), (4,), 0).tolist() == [0, 4, 8]
    if part.requires_grad and part.is_leaf:
        part.as_strided((2,), (2,), 4).sum().backward()
        assert part.grad.tolist() == [0, 1, 0, 1]
        for size, stride, offset in (((2,), (1,), 2), ((2,), (1,), 6)):
            with pytest.raises(RuntimeError, match="leaves the part of the memory that this tensor has"):
                part.as_strided(size, stride, offset)
    for same in (copy.copy(part), copy.deepcopy(part.detach()), pickle.loads(pickle.dumps(part.detach()))):
        assert same.as_strided((2,), (1,)).tolist() == [3, 4]
    part.data = ingot.ones(4)
    assert part.storage_offset() == 0 and part.as_strided((4,), (1,), 0).tolist() == [1] * 4


def test_windows_past_a_leaf_count_its_writes():
    z, w = ingot.arange(4.0), ingot.ones(2, requires_grad=True)
    leaf = ingot.zeros(2)
    leaf.data = z[1:3]
    y = w * leaf
    leaf.as_strided((4,), (1,), 0).fill_(7)
    assert z.tolist() == [7] * 4
    with pytest.raises(RuntimeError, match="version"):
        y.sum().backward()


def test_traces_tell_parts_that_begin_elsewhere_apart():
    fn = ingot.jit.trace(lambda x: x * x.storage_offset() + x.as_strided((2,), (1,), 4))
    z = ingot.arange(10.0)
    for part in (z[2:6].detach(), z[3:7].detach(), ingot.nn.Parameter(z[3:5], requires_grad=False)):
        assert fn(part[:2]).tolist() == (part[:2] * part.storage_offset() + z[4:6]).tolist()


def test_parts_that_were_detached_keep_no_history_alive():
    x = ingot.ones(3, requires_grad=True)
    y = x * 2
    gone = weakref.ref(y.grad_fn)
    part = y[1:].detach()
    del y
    gc.collect()
    assert gone() is None and part.storage_offset() == 1


def test_windows_of_detached_parts_in_a_trace():
    fn = ingot.jit.trace(lambda x: (x * 1.0)[3:].detach().as_strided((2,), (1,), 0) + x[4:].data.as_strided((2,), (1,)))
    for _ in range(3):
        x = ingot.randn(10)
        assert fn(x).tolist() == (x[:2] + x[4:6]).tolist()


@pytest.mark.parametrize("equation, shapes, dtype", [
    ("ij,k->i", [(3, 200), (3,)], "int64"), ("ii,j->j", [(3, 3), (3,)], "int64"), ("i,j->", [(3,), (200,)], "int64"),
    ("ij,j->i", [(2, 3), (3,)], "uint8"), ("i,i->", [(3,), (3,)], "uint8"), ("ij,jk,kl->il", [(2, 3), (3, 3), (3, 2)], "uint8"),
], ids=str)
def test_sums_of_small_integers_in_einsum_count_in_int64(equation, shapes, dtype):
    arrays = [np.full(s, 3, np.uint8) for s in shapes]
    found = ingot.einsum(equation, *map(ingot.tensor, arrays))
    expected = np.einsum(equation, *[a.astype(np.int64) for a in arrays])
    assert str(found.dtype).endswith(dtype) and (found.numpy() == expected.astype(dtype)).all()
