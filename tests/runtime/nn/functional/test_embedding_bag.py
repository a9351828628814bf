"""Embedding bags: offsets and ends of bags, for kernels and composites."""

import itertools

import numpy as np
import pytest

import ingot
from ingot import nn

F = nn.functional
INDEX = [3, 1, 0, 3]
WAYS = {"plain": {}, "narrow": {"dtype": ingot.float16}, "padding": {"padding_idx": 1}, "scaled": {"per_sample_weights": True},
        "sparse": {"sparse": True}, "by frequency": {"scale_grad_by_freq": True}}
KINDS = [(mode, way) for mode, way in itertools.product(("sum", "mean", "max"), WAYS)
         if (way != "scaled" or mode == "sum") and (mode != "max" or way not in ("sparse", "by frequency"))]


def bags(mode, way, offsets, index=INDEX, **more):
    options = dict(WAYS[way])
    table = ingot.arange(15.0).reshape(5, 3).to(options.pop("dtype", ingot.float32)).requires_grad_()
    if options.pop("per_sample_weights", False):
        options["per_sample_weights"] = ingot.arange(1.0, 5.0)[:len(index)]
    index, offsets = ingot.tensor(index, dtype=ingot.int64), ingot.tensor(offsets, dtype=ingot.int64)
    return F.embedding_bag(index, table, offsets, mode=mode, **options, **more)


@pytest.mark.parametrize(("mode", "way"), KINDS)
@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize("offsets", [[1, 2], [-1, 2], [0, 3, 2], [0, 2, 5], [0, 5], []])
def test_offsets_that_are_no_bags_are_refused(mode, way, offsets, traced):
    def run(at):
        return bags(mode, way, at)

    with pytest.raises(RuntimeError, match=r"begin with 0 and never go down, got \["):
        (ingot.jit.trace(run) if traced else run)(offsets)


@pytest.mark.parametrize(("mode", "way"), KINDS)
@pytest.mark.parametrize("offsets", [[0, 4], [0, 2], [0, 2, 3], [0, 0, 3], [0, 0], [0]])
def test_the_last_offset_ends_the_last_bag(mode, way, offsets):
    """Indices behind the last offset belong to no bag: the result ignores them."""
    got = bags(mode, way, offsets, include_last_offset=True)
    want = bags(mode, way, offsets[:-1], INDEX[:offsets[-1]])
    np.testing.assert_array_equal(got.detach().numpy(), want.detach().numpy())
    assert tuple(got.shape) == (len(offsets) - 1, 3)


@pytest.mark.parametrize("mode", [0, 1, 2])
def test_embedding_bag_operator_returns_bags_and_sizes(mode):
    """PyTorch's operator lists the bag of each index, and one more bag for indices behind the last offset."""
    table, offsets = ingot.arange(15.0).reshape(5, 3), ingot.tensor([0, 2, 3])
    _, bag, sizes, largest = ingot.embedding_bag(table, ingot.tensor(INDEX), offsets, mode=mode, include_last_offset=True)
    assert (bag.tolist(), sizes.tolist()) == ([0, 0, 1, 2], [2, 1])
    assert largest.tolist() == ([[3] * 3, [0] * 3] if mode == 2 else [2, 1])


def test_offsets_with_an_end_are_one_at_least():
    with pytest.raises(RuntimeError, match="one offset at least"):
        bags("sum", "plain", [], include_last_offset=True)


@pytest.mark.parametrize("dtype", [ingot.float64, ingot.float16, ingot.int64])
def test_scales_of_another_dtype_are_refused(dtype):
    with pytest.raises(RuntimeError, match="per_sample_weights of the table's dtype"):
        F.embedding_bag(ingot.tensor(INDEX), ingot.ones(5, 3), ingot.tensor([0]), mode="sum",
                        per_sample_weights=ingot.ones(4, dtype=dtype))


@pytest.mark.parametrize("cls", [nn.Embedding, nn.EmbeddingBag])
@pytest.mark.parametrize("padding_idx", [-6, -5, 4, 5, 25])
def test_padding_is_a_row_of_the_table(cls, padding_idx):
    if -5 <= padding_idx < 5:
        assert cls(5, 2, padding_idx=padding_idx).padding_idx == padding_idx % 5
    else:
        with pytest.raises(ValueError, match=f"padding_idx {padding_idx} is not a row of a table of 5"):
            cls(5, 2, padding_idx=padding_idx)


@pytest.mark.parametrize(("rows", "width"), [(0, 0), (5, 0), (0, 3)])
@pytest.mark.parametrize("cls", [nn.Embedding, nn.EmbeddingBag])
def test_sparse_gradients_of_tables_without_elements(cls, rows, width):
    layer = cls(rows, width, sparse=True)
    index = ingot.zeros((2, 3) if rows else (2, 0), dtype=ingot.int64)
    layer(index).sum().backward()
    assert layer.weight.grad.is_sparse and tuple(layer.weight.grad.shape) == (rows, width)
