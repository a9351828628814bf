"""Shapes: against NumPy, views or copies, and errors."""

import itertools

import numpy as np
import pytest

import ingot

A = np.arange(24.0).reshape(2, 3, 4)
V = np.arange(5.0)
M = np.arange(12.0).reshape(3, 4)

AGAINST_NUMPY = [
    ("reshape", lambda x: x.reshape(4, -1), lambda a: a.reshape(4, -1), A),
    ("reshape of a transposed", lambda x: x.permute(2, 0, 1).reshape(6, 4), lambda a: a.transpose(2, 0, 1).reshape(6, 4), A),
    ("flatten", lambda x: x.flatten(1), lambda a: a.reshape(2, 12), A),
    ("flatten 0-d", lambda x: x[0, 0, 0].flatten(), lambda a: a[:1, 0, 0], A),
    ("unflatten", lambda x: x.unflatten(-1, (2, -1)), lambda a: a.reshape(2, 3, 2, 2), A),
    ("ravel", lambda x: x.mT.ravel(), lambda a: a.swapaxes(1, 2).ravel(), A),
    ("ravel with steps", lambda x: x[0, :, 1].ravel().as_strided((3,), (1,)), lambda a: a[0, :, 1], A),
    ("squeeze", lambda x: x[:, :1].squeeze(), lambda a: a[:, 0], A),
    ("squeeze dim", lambda x: x[:1, :1].squeeze((0, 2)), lambda a: a[0, :1], A),
    ("squeeze dims", lambda x: x[:1, :1].squeeze(0, 2), lambda a: a[0, :1], A),
    ("unsqueeze", lambda x: x.unsqueeze(-1).unsqueeze(0), lambda a: a[None, ..., None], A),
    ("permute", lambda x: x.permute(-1, 0, 1), lambda a: a.transpose(2, 0, 1), A),
    ("permute dims=", lambda x: x.permute(dims=(2, 1, 0)), lambda a: a.T, A),
    ("transpose", lambda x: ingot.transpose(x, 0, -1), lambda a: a.swapaxes(0, 2), A),
    ("transpose to an order", lambda x: ingot.transpose(x, (2, 0, -2)), lambda a: a.transpose(2, 0, 1), A),
    ("swapaxes axis=", lambda x: ingot.swapaxes(x, axis0=0, axis1=1), lambda a: a.swapaxes(0, 1), A),
    ("movedim", lambda x: x.movedim((0, 1), (-1, 0)), lambda a: np.moveaxis(a, (0, 1), (-1, 0)), A),
    ("t", lambda x: x.t(), lambda a: a.T, M),
    ("expand", lambda x: x[:, :1].expand(2, -1, 4), lambda a: np.broadcast_to(a[:, :1], (2, 3, 4)), M),
    ("broadcast_to sizes", lambda x: x.broadcast_to(2, 5), lambda a: np.broadcast_to(a, (2, 5)), V),
    ("broadcast_to", lambda x: ingot.broadcast_to(x, (2, 5)), lambda a: np.broadcast_to(a, (2, 5)), V),
    ("narrow", lambda x: x.narrow(2, -3, 2), lambda a: a[..., 1:3], A),
    ("diagonal", lambda x: x.diagonal(1, -1, 0), lambda a: np.diagonal(a, 1, 2, 0), A),
    ("diag of a vector", lambda x: x.diag(-1), lambda a: np.diag(a, -1), V),
    ("diag of a matrix", lambda x: x.diag(1), lambda a: np.diag(a, 1), M),
    ("diagflat", lambda x: x.diagflat(1), lambda a: np.diagflat(a, 1), M),
    ("diag_embed", lambda x: x.diag_embed(dim1=0, dim2=2)[:, 1], lambda a: np.diag(a[1]), M),
    ("tril", lambda x: x.tril(-1), lambda a: np.tril(a, -1), A),
    ("triu", lambda x: x.triu(1), lambda a: np.triu(a, 1), A),
    ("unfold", lambda x: x.unfold(0, 2, 2), lambda a: np.stack([a[0:2], a[2:4]]), V),
    ("flip", lambda x: x.flip(0, -1), lambda a: a[::-1, :, ::-1], A),
    ("flip dims=", lambda x: ingot.flip(x, dims=[1]), lambda a: a[:, ::-1], A),
    ("flip axis=", lambda x: ingot.flip(x, axis=[1]), lambda a: a[:, ::-1], A),
    ("fliplr", lambda x: x.fliplr(), np.fliplr, M),
    ("flipud", lambda x: x.flipud(), np.flipud, M),
    ("roll", lambda x: x.roll((1, -1), (0, 2)), lambda a: np.roll(a, (1, -1), (0, 2)), A),
    ("roll flat", lambda x: x.roll(5), lambda a: np.roll(a, 5), A),
    ("rot90", lambda x: x.rot90(), np.rot90, M),
    ("rot90 k", lambda x: x.rot90(-1, (2, 0)), lambda a: np.rot90(a, -1, (2, 0)), A),
    ("repeat", lambda x: x.repeat(2, 1, 3), lambda a: np.tile(a, (2, 1, 3)), M),
    ("tile", lambda x: x.tile(2), lambda a: np.tile(a, 2), M),
    ("tile dims=", lambda x: ingot.tile(x, dims=(2, 1, 1, 1)), lambda a: np.tile(a, (2, 1, 1, 1)), A),
    ("repeat_interleave", lambda x: x.repeat_interleave(2, 1), lambda a: a.repeat(2, 1), M),
    ("repeat_interleave flat", lambda x: x.repeat_interleave(3), lambda a: a.repeat(3), M),
    ("repeat_interleave each", lambda x: x.repeat_interleave(ingot.tensor([0, 2, 1]), dim=0),
     lambda a: a.repeat([0, 2, 1], 0), M),
    ("cat", lambda x: ingot.cat([x, x[:, :1]], dim=1), lambda a: np.concatenate([a, a[:, :1]], 1), A),
    ("cat axis=", lambda x: ingot.cat([x, x], axis=-1), lambda a: np.concatenate([a, a], -1), A),
    ("stack", lambda x: ingot.stack([x, x + 1], -1), lambda a: np.stack([a, a + 1], -1), M),
    ("hstack", lambda x: ingot.hstack([x, x]), lambda a: np.hstack([a, a]), M),
    ("vstack", lambda x: ingot.vstack([x, x]), lambda a: np.vstack([a, a]), V),
    ("dstack", lambda x: ingot.dstack([x, x]), lambda a: np.dstack([a, a]), V),
    ("column_stack", lambda x: ingot.column_stack([x, x]), lambda a: np.column_stack([a, a]), V),
    ("atleast_3d of a vector", ingot.atleast_3d, np.atleast_3d, V),
    ("atleast_3d of a matrix", ingot.atleast_3d, np.atleast_3d, M),
    ("atleast_2d", ingot.atleast_2d, np.atleast_2d, V),
]


@pytest.mark.parametrize("name, ours, theirs, a", AGAINST_NUMPY, ids=[row[0] for row in AGAINST_NUMPY])
def test_against_numpy(name, ours, theirs, a):
    for array in (a, np.ascontiguousarray(a.T).T):
        got = ours(ingot.tensor(array))
        want = theirs(array)
        assert got.shape == want.shape
        np.testing.assert_array_equal(got.numpy(), want)


VIEWS = {
    "reshape": lambda x: x.reshape(-1),
    "view": lambda x: x.view(4, 6),
    "select": lambda x: x[1],
    "slice": lambda x: x[:, 1:],
    "transpose": lambda x: x.transpose(0, 1),
    "expand": lambda x: x.expand(2, 2, 3, 4),
    "diagonal": lambda x: x.diagonal(),
    "unsqueeze": lambda x: x.unsqueeze(0),
    "squeeze": lambda x: x[:1].squeeze(0),
    "narrow": lambda x: x.narrow(0, 0, 1),
    "unbind": lambda x: x.unbind(1)[2],
    "split": lambda x: x.split(2, 1)[1],
    "chunk": lambda x: x.chunk(2)[1],
    "unfold": lambda x: x.unfold(2, 2, 1),
    "T": lambda x: x.mT,
    "detach": lambda x: x.detach(),
    "view_as": lambda x: x.view_as(x),
    "as_strided": lambda x: x.as_strided((2, 2), (1, 2), 3),
    "bits": lambda x: x.view(ingot.int32),
    "flatten": lambda x: x.flatten(),
    "ellipsis": lambda x: x[...],
    "hsplit": lambda x: x.hsplit(3)[0],
    "tensor_split": lambda x: x.tensor_split(3, 2)[1],
}
COPIES = {
    "clone": lambda x: x.clone(),
    "flip": lambda x: x.flip(0),
    "roll": lambda x: x.roll(1),
    "repeat": lambda x: x.repeat(1, 1, 1),
    "reshape across strides": lambda x: x.mT.reshape(-1),
    "index": lambda x: x[[0, 1]],
    "contiguous": lambda x: x.mT.contiguous(),
    "cat": lambda x: ingot.cat([x]),
    "to copy": lambda x: x.to(x.dtype, copy=True),
    "diag": lambda x: x[0].diag(),
}


@pytest.mark.parametrize("name", VIEWS)
def test_views_share_memory(name):
    x = ingot.zeros(2, 3, 4)
    y = VIEWS[name](x)
    x.fill_(5)
    assert y._version == x._version == 1
    assert np.all(y.numpy() != 0)


@pytest.mark.parametrize("name", COPIES)
def test_copies_do_not(name):
    x = ingot.zeros(2, 3, 4)
    y = COPIES[name](x)
    x.fill_(5)
    assert y._version == 0 and np.all(y.numpy() == 0)


@pytest.mark.parametrize("call, error, words", [
    (lambda x: x.view(-1, 5), ValueError, "does not divide 24 elements"),
    (lambda x: x.view(-1, -1), ValueError, "only one size"),
    (lambda x: x.mT.view(24), RuntimeError, "use reshape"),
    (lambda x: x.reshape(5, 5), RuntimeError, "24 elements, but the shape .5, 5. has 25"),
    (lambda x: x.reshape(2.5), TypeError, "integers"),
    (lambda x: x.permute(0, 1), RuntimeError, "each dimension once"),
    (lambda x: x.permute(0, 0, 1), RuntimeError, "twice"),
    (lambda x: x.transpose(0, 3), IndexError, "out of range"),
    (lambda x: x.transpose(1), TypeError, "two dimensions, or the order"),
    (lambda x: x.expand(3, 3, 4), RuntimeError, "may only grow from 1"),
    (lambda x: x.expand(4), RuntimeError, "fewer"),
    (lambda x: x.expand(2, 2, 3, 4).add_(1), RuntimeError, "share one place in memory"),
    (lambda x: x.unfold(2, 3, 1).mul_(2), RuntimeError, "share one place in memory"),
    (lambda x: x.unfold(2, 9, 1), RuntimeError, "size 9"),
    (lambda x: x.narrow(0, 1, 2), IndexError, "leave dim 0 of size 2"),
    (lambda x: x.t(), RuntimeError, "at most 2"),
    (lambda x: x.unsqueeze(5), IndexError, "out of range"),
    (lambda x: x.split([1, 2], 0), RuntimeError, "add up to 2"),
    (lambda x: x.chunk(0), ValueError, "positive"),
    (lambda x: ingot.cat([x, x[0]]), RuntimeError, "equal sizes"),
    (lambda x: ingot.cat([]), ValueError, "at least one"),
    (lambda x: ingot.cat([x, 3]), TypeError, "element 1 is a int"),
    (lambda x: ingot.stack([x, x[:1]]), RuntimeError, r"tensors\[1\] is float32\[1, 3, 4\]"),
    (lambda x: x.as_strided((5, 5), (5, 1), 3), RuntimeError, "reaches element"),
    (lambda x: x.diagonal(0, 1, 1), RuntimeError, "same dimension"),
    (lambda x: x[0].tril().triu()[0].tril(), RuntimeError, "at least 2 dimensions"),
    (lambda x: x.flatten(2, 1), RuntimeError, "comes after"),
    (lambda x: x.repeat(2), RuntimeError, "fewer"),
    (lambda x: x.size(4), IndexError, "out of range"),
])
def test_errors(call, error, words):
    with pytest.raises(error, match=words) as caught:
        call(ingot.zeros(2, 3, 4))
    assert isinstance(caught.value, ingot.IngotError)


def test_joining_promotes_and_skips_empty_vectors():
    assert ingot.cat([ingot.ones(2, dtype=ingot.int32), ingot.ones(1)]).dtype is ingot.float32
    assert ingot.cat([ingot.zeros(0), ingot.ones(2, 2)], 1).tolist() == [[1, 1], [1, 1]]
    assert ingot.stack([ingot.tensor(1), ingot.tensor(2.5)]).tolist() == [1, 2.5]


def test_pieces():
    x = ingot.arange(7)
    assert [p.tolist() for p in x.split(3)] == [[0, 1, 2], [3, 4, 5], [6]]
    assert [p.tolist() for p in x.split([2, 5])] == [[0, 1], [2, 3, 4, 5, 6]]
    assert [p.tolist() for p in x.chunk(3)] == [[0, 1, 2], [3, 4, 5], [6]]
    assert [p.tolist() for p in x.tensor_split(3)] == [[0, 1, 2], [3, 4], [5, 6]]
    assert [p.tolist() for p in x.tensor_split([2, 9, 4])] == [[0, 1], [2, 3, 4, 5, 6], [], [4, 5, 6]]
    assert len(ingot.zeros(0).chunk(3)) == 3
    x.chunk(2)[1].mul_(10)
    assert x.tolist() == [0, 1, 2, 3, 40, 50, 60]


def test_grids():
    a, b = ingot.arange(2), ingot.arange(3)
    for indexing in ("ij", "xy"):
        for got, want in zip(ingot.meshgrid(a, b, indexing=indexing), np.meshgrid(a.numpy(), b.numpy(), indexing=indexing)):
            np.testing.assert_array_equal(got.numpy(), want)
    assert ingot.cartesian_prod(a, b).tolist() == [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]]
    assert ingot.combinations(b).tolist() == [[0, 1], [0, 2], [1, 2]]
    assert ingot.combinations(a, with_replacement=True).tolist() == [[0, 0], [0, 1], [1, 1]]
    for n, r, again in itertools.product(range(7), range(1, 5), (False, True)):
        choose = itertools.combinations_with_replacement if again else itertools.combinations
        assert ingot.combinations(ingot.arange(n), r, again).tolist() == [list(row) for row in choose(range(n), r)]
    assert ingot.combinations(ingot.arange(24), 23).shape == (24, 23) and ingot.combinations(b, 0).shape == (0,)
    assert ingot.block_diag(ingot.ones(1, 2), ingot.tensor(3.0)).tolist() == [[1, 1, 0], [0, 0, 3]]
    assert ingot.block_diag(ingot.ones(1, 2, dtype=ingot.uint8), ingot.tensor(3, dtype=ingot.int16)).dtype is ingot.uint8


def test_strides_and_formats():
    x = ingot.zeros(2, 3, 4, 5)
    assert x.stride() == (60, 20, 5, 1) and x.stride(-2) == 5 and x.permute(3, 0, 1, 2).stride() == (1, 60, 20, 5)
    assert x[1, :, 2:].storage_offset() == 70 and x.is_contiguous() and not x.mT.is_contiguous()
    y = x.contiguous(memory_format=ingot.channels_last)
    assert y.stride() == (60, 1, 15, 3) and y.is_contiguous(memory_format=ingot.channels_last) and y.shape == x.shape
    assert x.contiguous() is x and y.contiguous().stride() == x.stride()
    assert (x.dim(), x.numel(), x.nbytes, x.element_size(), x.itemsize) == (4, 120, 480, 4, 4)
    assert x[0].data_ptr() == x.data_ptr() and x[1].data_ptr() - x.data_ptr() == 240


def test_shapes_changed_in_place():
    x = ingot.arange(6.0).reshape(1, 2, 3)
    first = x[0, 0]
    x.squeeze_().t_()
    assert x.shape == (3, 2) and x.tolist() == [[0, 3], [1, 4], [2, 5]]
    x.mul_(2)
    assert first.tolist() == [0, 2, 4]
    x.unsqueeze_(0).transpose_(0, 2)
    assert x.shape == (2, 3, 1)
    with pytest.raises(RuntimeError, match="leaf tensor that requires grad"):
        ingot.zeros(2, 2, requires_grad=True).t_()


def test_gradients_after_shapes_changed_in_place():
    x = ingot.arange(6.0).requires_grad_()
    y = x.view(2, 3) * 2
    part = y[:, 1]
    y.t_()
    part.mul_(10)
    y[0] = 7
    (y * ingot.tensor([[1.0, 2], [3, 4], [5, 6]])).sum().backward()
    assert x.grad.tolist() == [0, 60, 10, 0, 80, 12]


@pytest.mark.parametrize("change", [lambda x: x.unsqueeze_(0), lambda x: x.t_(), lambda x: x.as_strided_((3, 2), (1, 3))])
def test_a_shape_changed_under_no_grad_keeps_the_history(change):
    x = ingot.arange(6.0).reshape(2, 3).requires_grad_()
    y = x * 1
    with ingot.no_grad():
        change(y)
    z = change(ingot.arange(6.0).reshape(2, 3))
    (y * z).sum().backward()
    assert x.grad.tolist() == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.parametrize("mode", [ingot.enable_grad, ingot.no_grad])
@pytest.mark.parametrize("change", [lambda x: x.unsqueeze_(0), lambda x: x.t_(), lambda x: x.transpose_(0, 1),
                                    lambda x: x.squeeze_()])
def test_hooks_see_gradients_of_views_made_before_the_shape_changed(change, mode):
    x, seen = ingot.arange(6.0).reshape(2, 3).requires_grad_(), []
    y = x * 1
    part = y[1]
    with mode():
        change(y)
    y.register_hook(lambda g: seen.append(g.reshape(-1).sort()[0].tolist()))
    (part * ingot.tensor([1.0, 2, 3])).sum().backward()
    assert seen == [[0, 0, 0, 1, 2, 3]]
    assert x.grad.tolist() == [[0, 0, 0], [1, 2, 3]]


def test_a_shape_changed_in_place_leaves_a_tensor_without_views_the_root():
    x = ingot.ones(1, 3).requires_grad_()
    y = (x * 2).squeeze_()
    assert y._base is None
    assert not y.detach_().requires_grad and y.shape == (3,)


def test_swapped_dims_of_a_tensor_without_dims():
    x = ingot.tensor(1 + 2j)
    assert x.mT.equal(x) and x.mH.equal(x.conj()) and x.adjoint().equal(x.conj())
    with pytest.raises(ValueError, match="at least 2 dimensions"):
        ingot.adjoint(ingot.zeros(2))


def test_retain_grad_follows_a_shape_changed_in_place():
    x = ingot.arange(6.0).reshape(2, 3).requires_grad_()
    y = x * 1
    y.retain_grad()
    y.unsqueeze_(0)
    (y * 2).sum().backward()
    assert y.grad.tolist() == [[[2, 2, 2]] * 2]


def test_memory_changed_in_place():
    x = ingot.arange(4.0)
    x.resize_(2, 3)
    assert x.tolist() == [[0, 1, 2], [3, 0, 0]]
    x.resize_(2)
    assert x.tolist() == [0, 1]
    y = ingot.zeros(3)
    y.set_(x)
    x[0] = 9
    assert y.tolist() == [9, 1] and y._version == 1
    with pytest.raises(RuntimeError, match="resized"):
        (ingot.zeros(2, requires_grad=True) * 2).resize_(3)
    out = ingot.zeros(0)
    ingot.cat([y, y], out=out)
    assert out.tolist() == [9, 1, 9, 1]


def test_conversions():
    x = ingot.tensor([1.6, -2.0])
    assert x.to(ingot.int64).tolist() == [1, -2] and x.long().dtype is ingot.int64
    assert x.to("cpu", ingot.float64).dtype is ingot.float64 and x.to(x) is x and x.to(device="cpu", copy=True) is not x
    assert x.type() == "ingot.FloatTensor" and x.type(ingot.int32).dtype is ingot.int32
    assert x.type("torch.DoubleTensor").dtype is ingot.float64 and x.half().float().tolist()[1] == -2
    assert ingot.tensor([1]).type_as(x).dtype is ingot.float32 and x.cpu() is x
    with pytest.raises(RuntimeError, match="not available"):
        x.to("cuda:7")
    assert x.is_floating_point() and not x.long().is_floating_point() and ingot.is_tensor(x)


def test_bits():
    x = ingot.tensor([1.0, -2.0])
    assert x.view(ingot.int32).tolist() == [0x3F800000, -0x40000000]
    assert x.view(ingot.uint8).shape == (8,) and x.view(ingot.float64).shape == (1,)
    x.view(ingot.int32)[0] = 0
    assert x.tolist() == [0, -2]
    with pytest.raises(RuntimeError, match="whole number"):
        ingot.zeros(3).view(ingot.float64)


def test_tensors_broadcast_against_each_other():
    x, y, z = ingot.arange(3), ingot.tensor([[1], [2]]), ingot.tensor(5)
    for found in (ingot.broadcast_tensors(x, y, z), ingot.broadcast_tensors([x, y, z])):
        assert [t.tolist() for t in found] == [[[0, 1, 2]] * 2, [[1] * 3, [2] * 3], [[5] * 3] * 2]
    assert [t.tolist() for t in ingot.broadcast_tensors(x)] == [[0, 1, 2]]
    with pytest.raises(RuntimeError, match="broadcast"):
        ingot.broadcast_tensors(x, ingot.ones(2))


def test_diagonals_written_and_sums_to_a_shape():
    assert ingot.zeros(2, 3).fill_diagonal_(5).tolist() == [[5, 0, 0], [0, 5, 0]]
    assert ingot.zeros(5, 2).fill_diagonal_(1, wrap=True).tolist() == [[1, 0], [0, 1], [0, 0], [1, 0], [0, 1]]
    assert ingot.ones(2, 3, 4).sum_to_size(3, 1).tolist() == [[8], [8], [8]]
    with pytest.raises(ValueError, match="does not broadcast"):
        ingot.ones(2, 3).sum_to_size(2)


OWN_PARTS = {
    "window": lambda x: x.set_(x[:1]),
    "window on a detached one": lambda x: x.set_(x[:1].detach()),
    "data": lambda x: setattr(x, "data", x[:1].data),
    "all data": lambda x: setattr(x, "data", x.view(3, 2).data),
    "data of a view": lambda x: setattr(x, "data", x.view(3, 2)),
}


@pytest.mark.parametrize("change", OWN_PARTS.values(), ids=OWN_PARTS)
def test_a_tensor_that_gets_a_part_of_its_own_memory(change):
    x = ingot.arange(6.0).view(2, 3).clone()
    older, detached = x[1:], x[1:].detach()
    change(x)
    x.mul_(2)
    assert x._base is not x and x.untyped_storage().nbytes() == 24
    assert x.flatten()[:3].tolist() == [0, 2, 4] and older.flatten()[0] == (3 if x.numel() == 3 else 6)
    for t in (x, older, detached):
        assert t.as_strided((3,), (1,), 0).tolist() == [0, 2, 4]
